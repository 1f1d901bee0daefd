"""A model pair: what the verifier needs to know of a target and its drafter.

A context is the tuple of token ids that came before; a row is the exact next-token distribution there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from rheo_verify.errors import InputError
from rheo_verify.probability.distributions import Row, temper, truncate
from rheo_verify.words import count

Context: TypeAlias = tuple[int, ...]
NextToken: TypeAlias = Callable[[Context], Row]


@dataclass(frozen=True)
class Model:
    """A target p, the draft q that ranks, and the draft q-hat that is sampled from (SPEC 1).

    `target`, `draft` and `sampling_draft` map a context to a row of `vocab` probabilities, and raise `InputError`
    RV105 where they have none. `tokens` names the tokens for people; `source` says where the model is from;
    `tabled`, that the target's rows come from a finite table, so that some context may have none.
    """

    vocab: int
    target: NextToken
    draft: NextToken
    sampling_draft: NextToken
    tokens: tuple[str, ...]
    source: str
    tabled: bool = False

    def name(self, token: int) -> str:
        """The name of a token, for reports."""
        return self.tokens[token]

    def phrase(self, context: Context) -> str:
        """A context for reports: its token names, or ``(empty)``."""
        return " ".join(self.tokens[token] for token in context) if context else "(empty)"


def require_target(model: Model, context: Context, length: int) -> None:
    """Raise `InputError` RV105 unless the target has a row wherever up to `length` tokens after `context` can lead.

    The comparison of SPEC 1.4 extends every output by draws from the target, so it needs all of these rows.
    """
    if not model.tabled:
        return
    reachable = [context]
    for _ in range(length + 1):
        reachable = [(*here, token) for here in reachable for token, p in enumerate(model.target(here)) if p]


def token_names(vocab: int) -> tuple[str, ...]:
    """Names for tokens that have none: A, B, C, … up to 26 tokens, else their ids."""
    return tuple(chr(ord("A") + token) if vocab <= 26 else str(token) for token in range(vocab))


def from_functions(
    vocab: int, target: NextToken, draft: NextToken, sampling_draft: NextToken | None = None, source: str = "functions"
) -> Model:
    """A model from functions of the context; `sampling_draft` is `draft` unless given."""
    return Model(vocab, target, draft, sampling_draft or draft, token_names(vocab), source)


def context_free(target: Row, draft: Row, sampling_draft: Row | None = None, source: str = "one row") -> Model:
    """A model whose rows do not depend on the context."""
    sampling = draft if sampling_draft is None else sampling_draft
    if not len(target) == len(draft) == len(sampling):
        lengths = f"target has {count(len(target), 'token')}, draft {len(draft)}, sampling draft {len(sampling)}"
        raise InputError("RV104", lengths)
    return from_functions(len(target), lambda _: target, lambda _: draft, lambda _: sampling, source)


def truncate_sampling(model: Model, support: int) -> Model:
    """The same model, sampling from q-hat truncated to its `support` best tokens (claim `support-truncation`).

    The model as it is where it has no more tokens.
    """
    if support < 1:
        raise InputError("RV106", f"support {support} must be at least 1")
    if support >= model.vocab:
        return model
    cut = cached(lambda context: truncate(model.sampling_draft(context), support))
    return replace(model, sampling_draft=cut, source=f"{model.source}, q-hat truncated to {count(support, 'token')}")


def temper_model(model: Model, inverse_temperature: int) -> Model:
    """Target and sampling draft at temperature 1/k; the ranking draft is left as it is (paper, section 5.4)."""
    target = cached(lambda context: temper(model.target(context), inverse_temperature))
    sampling = cached(lambda context: temper(model.sampling_draft(context), inverse_temperature))
    return replace(
        model, target=target, sampling_draft=sampling, source=f"{model.source}, temperature 1/{inverse_temperature}"
    )


def cached(function: NextToken) -> NextToken:
    """The same function, each row computed once."""
    rows: dict[Context, Row] = {}

    def row(context: Context) -> Row:
        found = rows.get(context)
        if found is None:
            found = rows[context] = function(context)
        return found

    return row
