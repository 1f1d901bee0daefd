"""`TableLM`: a real transformers model whose logits come from a table, so that its `generate` runs unmodified.

transformers is imported on first use. Its sampling casts logits to float32: the bound is that of single precision.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import InputError, not_installed
from rheo_verify.foreign.answering import Answering, answering
from rheo_verify.foreign.cases import Case
from rheo_verify.foreign.checking import Outcome
from rheo_verify.foreign.decoder import decoder_row
from rheo_verify.foreign.handover import Ledger
from rheo_verify.foreign.judging import Tally, findings, target_law
from rheo_verify.foreign.processing import Processing
from rheo_verify.foreign.reports import CheckReport, Finding, threshold_for
from rheo_verify.foreign.walking import walk
from rheo_verify.foreign.watching import Watch
from rheo_verify.models.model import Context
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.enumeration import enumerate_paths
from rheo_verify.words import count

if TYPE_CHECKING:
    import torch

_CLASS: Any = None


def table_lm(row: Callable[[Context], Row], vocab: int) -> Any:
    """A `PreTrainedModel` whose next-token law after `context` (all tokens so far) is ``row(context)``.

    Its logits, [batch, T, V], are logarithms of the probabilities (the smallest float where one is zero). It reads
    all tokens at every step: the key-value cache that `generate` hands around stays empty.
    """
    global _CLASS
    if _CLASS is None:
        _CLASS = _define()
    return _CLASS(row, vocab)


def _installed() -> None:
    """Raises `CannotRun` RV600 unless torch and transformers are."""
    try:
        importlib.import_module("torch")
        importlib.import_module("transformers")
    except ImportError as error:
        raise not_installed(error.name, "torch", "TableLM") from None


def _define() -> Any:
    _installed()
    import torch

    transformers: Any = importlib.import_module("transformers")
    output: Any = importlib.import_module("transformers.modeling_outputs").CausalLMOutputWithPast
    cache_name = "cache" if "cache" in output.__dataclass_fields__ else "past_key_values"

    class TableConfig(transformers.PretrainedConfig):  # type: ignore[misc]
        model_type = "rheo_verify_table"

    class TableLM(transformers.PreTrainedModel, transformers.GenerationMixin):  # type: ignore[misc]
        config_class = TableConfig
        main_input_name = "input_ids"
        _supports_cache_class = True

        def __init__(self, row: Callable[[Context], Row], vocab: int) -> None:
            config = TableConfig(vocab_size=vocab, num_hidden_layers=1, is_encoder_decoder=False, use_cache=True)
            super().__init__(config)
            self.row, self.vocab = row, vocab
            self.anchor = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64), requires_grad=False)
            self.generation_config = transformers.GenerationConfig(
                use_cache=True, pad_token_id=0, do_sample=True, top_k=0
            )
            self._rows: dict[Context, torch.Tensor] = {}

        def _logits(self, context: Context) -> torch.Tensor:
            found = self._rows.get(context)
            if found is None:
                row = torch.tensor([float(p) for p in self.row(context)], dtype=torch.float64)
                found = self._rows[context] = row.log().clamp(min=-1e30)
            return found

        def forward(
            self,
            input_ids: torch.Tensor,
            attention_mask: Any = None,
            cache: Any = None,
            past_key_values: Any = None,
            **_: Any,
        ) -> Any:
            batch = input_ids.tolist()
            rows = [[self._logits(tuple(ids[: end + 1])) for end in range(len(ids))] for ids in batch]
            logits = torch.stack([torch.stack(each) for each in rows])
            held = {cache_name: cache if cache_name == "cache" else past_key_values}
            return output(logits=logits, **held)

        def prepare_inputs_for_generation(self, input_ids: torch.Tensor, **kwargs: Any) -> dict[str, Any]:
            return {"input_ids": input_ids, cache_name: kwargs.get(cache_name)}

        @classmethod
        def can_generate(cls) -> bool:
            return True

    return TableLM


class GenerateTrial:
    """transformers' own `generate` on one case: a run is one generation of `length` tokens after the prompt (0)."""

    def __init__(
        self, case: Case, length: int, assistant: bool, processing: Processing, options: dict[str, Any]
    ) -> None:
        _installed()
        import torch

        self.door: Answering
        self.case, self.length, self.processing = case, length, processing
        depth, vocab = case.drafts, case.vocab
        self.row = decoder_row(case.target, depth, 0, vocab)
        self.draft_row = decoder_row(case.draft, max(0, depth - 1), 0, vocab)
        self.target = table_lm(self.row, vocab)
        self.extra = dict(options)
        if assistant:
            draft = table_lm(self.draft_row, vocab)
            draft.generation_config.num_assistant_tokens = self.extra.pop("num_assistant_tokens", 2)
            draft.generation_config.num_assistant_tokens_schedule = "constant"
            draft.generation_config.assistant_confidence_threshold = self.extra.pop(
                "assistant_confidence_threshold", 0.0
            )
            self.extra["assistant_model"] = draft
        self.extra |= {"top_k": 0, **processing.options()}
        self.prompt = torch.zeros((1, 1), dtype=torch.int64)
        self.mask = torch.ones_like(self.prompt)
        self.ledger = Ledger()
        self.target._get_candidate_generator = self.ledger.around(self.target._get_candidate_generator)

    def run(self, chance: Chance) -> Outcome:
        """One generation."""
        self.ledger.start()
        call: Callable[[], tuple[int, ...]] = self._generate
        if isinstance(chance, Watch):
            call = chance.attached(self.door, call)
        return self.door.run(chance, call), ()

    def _generate(self) -> tuple[int, ...]:
        out = self.target.generate(
            self.prompt.clone(),
            attention_mask=self.mask,
            max_new_tokens=self.length,
            do_sample=True,
            **self.extra,
        )
        return tuple(out[0, 1:].tolist())

    def target_at(self, context: Context) -> Row:
        """See `watching.Watched`."""
        return self.processing.apply(self.row((0, *context)))

    def drafts_at(self, context: Context) -> list[tuple[str, Row]]:
        """See `watching.Watched`."""
        return [("the draft row", self.draft_row((0, *context)))]


def check_generate(
    case: Case,
    *,
    length: int,
    assistant: bool = True,
    processing: Processing | None = None,
    options: dict[str, Any] | None = None,
    limit: int = 100_000,
    path: str | None = None,
) -> CheckReport:
    """Enumerate transformers' own ``generate(do_sample=True, assistant_model=…)`` on one case.

    The joint law of the `length` new tokens after the prompt (0) is compared with the processed target's, and the law
    of the candidates with the logits that are handed over with them (RV411). `options` go to `generate`; `path` is
    walked through. INCONCLUSIVE when there are more than `limit` paths. Raises `InputError` RV600 without transformers,
    RV109 on a path that is none.
    """
    processing = processing or Processing()
    tally, found, whole = Tally(), list[Finding](), True
    trial = GenerateTrial(case, length, assistant, processing, options or {})
    with answering() as door:
        trial.door = door
        for each in enumerate_paths(trial.run):
            tally.add(*each.result, each.probability, each.choices)
            trial.ledger.add(each.probability, each.choices)
            if tally.paths >= limit:
                whole = False
                break
        threshold = threshold_for(door.dtypes)
        walked = "" if path is None else walk(trial, path)
    if whole:
        expected = target_law(length, trial.target_at)
        found = findings(tally, expected, tally.law, threshold, case.text(), case.data())
        handed = trial.ledger.breach(threshold)
        if handed is not None:
            found = [Finding("RV411", handed[0], case.text(), case.data(), *handed[1:]), *found]
    verdict = Verdict.INCONCLUSIVE if not whole else Verdict.REFUTED if found else Verdict.VERIFIED
    name = "transformers generate" + (" with an assistant model" if assistant else "")
    settings = {"length": length} | ({} if assistant else {"assistant": False}) | processing.options()
    settings |= {"options": _written(options)} if options else {}
    return CheckReport(
        name,
        "huggingface",
        verdict,
        f"the joint law of {count(length, 'token')} on one case of {count(case.vocab, 'token')}"
        + ("" if whole else f"; stopped after {count(limit, 'path')}"),
        1,
        tally.paths,
        threshold,
        tuple(found),
        (),
        "other models, lengths and options; differences below the threshold",
        tuple(settings.items()),
        walked,
    )


def _written(options: dict[str, Any]) -> str | None:
    """Options as one word; None where they are no plain values, so that a command cannot give them."""
    try:
        written = json.dumps(options, sort_keys=True)
    except (TypeError, ValueError):
        return None
    return quote(written, safe="") if json.loads(written) == options else None


def read_options(written: str) -> dict[str, Any]:
    """The inverse of what a replay string has. Raises `InputError` RV109."""
    try:
        found = json.loads(unquote(written))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InputError("RV109", f"replay string: options cannot be {written!r}")
    return found
