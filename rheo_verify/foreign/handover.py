"""RV411 where candidates are handed over with their logits, as transformers does: is each drawn from the row beside it?

Over all paths, the law of the next candidate, given the cycle and the candidates before it, must be that row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rheo_verify.foreign.forms import exact_float
from rheo_verify.foreign.judging import path_text
from rheo_verify.models.model import Context
from rheo_verify.probability.distributions import Row, total_variation
from rheo_verify.probability.laws import Law
from rheo_verify.probability.rationals import ZERO, Rational

Key = tuple[int, Context]


class Ledger:
    """What was handed over on the path under way, and over all paths: for each cycle and context a row and a law."""

    def __init__(self) -> None:
        self.now: list[tuple[Key, int, Row]] = []
        self.cycles = 0
        self.rows: dict[Key, Row] = {}
        self.laws: dict[Key, Law[int]] = {}
        self.paths: dict[Key, str] = {}

    def start(self) -> None:
        """A path begins."""
        self.now, self.cycles = [], 0

    def around(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """`make` builds a candidate generator; the one built by the result writes down what it hands over."""

        def built(*args: Any, **kwargs: Any) -> Any:
            generator = make(*args, **kwargs)
            real = generator.get_candidates

            def get_candidates(input_ids: Any, **options: Any) -> Any:
                ids, logits = real(input_ids, **options)
                if logits is not None and len(ids) == 1:
                    self._handed(input_ids.shape[1], ids[0].tolist(), logits[0].softmax(-1).tolist())
                return ids, logits

            generator.get_candidates = get_candidates
            return generator

        return built

    def _handed(self, start: int, tokens: list[int], rows: list[list[float]]) -> None:
        self.cycles += 1
        for place, row in zip(range(start, len(tokens)), rows, strict=False):
            key = self.cycles, tuple(tokens[:place])
            self.now.append((key, tokens[place], tuple(exact_float(value) for value in row)))

    def add(self, probability: Rational, choices: Any) -> None:
        """A path ends."""
        for key, token, row in self.now:
            self.rows.setdefault(key, row)
            self.paths.setdefault(key, path_text(choices))
            law = self.laws.setdefault(key, {})
            law[token] = law.get(token, ZERO) + probability

    def breach(self, threshold: float) -> tuple[str, Rational, str] | None:
        """The first context whose candidates are not drawn from their row: message, its probability, and a path."""
        for (cycle, context), law in self.laws.items():
            mass = sum(law.values(), ZERO)
            row = self.rows[cycle, context]
            drawn = tuple(law.get(token, ZERO) / mass for token in range(len(row)))
            if total_variation(row, drawn) > threshold:
                shown = (", ".join(f"{float(p):.6g}" for p in each) for each in (row, drawn))
                given, found = shown
                where = f"cycle {cycle}, after ({', '.join(map(str, context))})"
                message = f"{where}: candidates are drawn from ({found}), but handed over with ({given})"
                return message, mass, self.paths[cycle, context]
        return None
