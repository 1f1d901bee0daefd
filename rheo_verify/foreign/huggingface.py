"""`TableLM`: a real transformers model whose logits come from a table, so that its `generate` runs unmodified.

transformers is imported on first use. Its sampling casts logits to float32: the bound is that of single precision.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rheo_verify.checks.verdict import Verdict
from rheo_verify.errors import not_installed
from rheo_verify.foreign.answering import answering
from rheo_verify.foreign.cases import Case
from rheo_verify.foreign.decoder import decoder_row
from rheo_verify.foreign.handover import Ledger
from rheo_verify.foreign.judging import Tally, findings, target_law
from rheo_verify.foreign.processing import Processing
from rheo_verify.foreign.reports import CheckReport, Finding, threshold_for
from rheo_verify.models.model import Context
from rheo_verify.probability.chance import Chance
from rheo_verify.probability.distributions import Row
from rheo_verify.probability.enumeration import enumerate_paths

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


def _define() -> Any:
    try:
        import torch

        transformers: Any = importlib.import_module("transformers")
        output: Any = importlib.import_module("transformers.modeling_outputs").CausalLMOutputWithPast
    except ImportError as error:  # pragma: no cover - depends on the environment
        raise not_installed(error.name, "torch", "TableLM") from None

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


def check_generate(
    case: Case,
    *,
    length: int,
    assistant: bool = True,
    processing: Processing | None = None,
    options: dict[str, Any] | None = None,
    limit: int = 100_000,
) -> CheckReport:
    """Enumerate transformers' own ``generate(do_sample=True, assistant_model=…)`` on one case.

    The joint law of the `length` new tokens after the prompt (0) is compared with the processed target's, and the law
    of the candidates with the logits that are handed over with them (RV411). `options` go to `generate`.
    INCONCLUSIVE when there are more than `limit` paths. Raises `InputError` RV106 without transformers.
    """
    import torch

    processing = processing or Processing()
    depth, vocab = case.drafts, case.vocab
    target_row = decoder_row(case.target, depth, 0, vocab)
    target = table_lm(target_row, vocab)
    extra: dict[str, Any] = dict(options or {})
    if assistant:
        draft = table_lm(decoder_row(case.draft, max(0, depth - 1), 0, vocab), vocab)
        draft.generation_config.num_assistant_tokens = extra.pop("num_assistant_tokens", 2)
        draft.generation_config.num_assistant_tokens_schedule = "constant"
        draft.generation_config.assistant_confidence_threshold = extra.pop("assistant_confidence_threshold", 0.0)
        extra["assistant_model"] = draft
    extra |= {"top_k": 0, **processing.options()}
    prompt = torch.zeros((1, 1), dtype=torch.int64)

    def call() -> tuple[int, ...]:
        out = target.generate(
            prompt.clone(),
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=length,
            do_sample=True,
            **extra,
        )
        return tuple(out[0, 1:].tolist())

    ledger = Ledger()
    target._get_candidate_generator = ledger.around(target._get_candidate_generator)
    tally, found, whole = Tally(), list[Finding](), True
    with answering() as door:

        def run(chance: Chance) -> tuple[int, ...]:
            ledger.start()
            return door.run(chance, call)

        for path in enumerate_paths(run):
            tally.add(path.result, (), path.probability, path.choices)
            ledger.add(path.probability, path.choices)
            if tally.paths >= limit:
                whole = False
                break
        threshold = threshold_for(door.dtypes)
    if whole:
        expected = target_law(length, lambda c: processing.apply(target_row((0, *c))))
        found = findings(tally, expected, tally.law, threshold, case.text(), case.data())
        handed = ledger.breach(threshold)
        if handed is not None:
            found = [Finding("RV411", handed[0], case.text(), case.data(), *handed[1:]), *found]
    verdict = Verdict.INCONCLUSIVE if not whole else Verdict.REFUTED if found else Verdict.VERIFIED
    name = "transformers generate" + (" with an assistant model" if assistant else "")
    return CheckReport(
        name,
        "huggingface",
        verdict,
        f"the joint law of {length} tokens on one case of {vocab} tokens"
        + ("" if whole else f"; stopped after {limit} paths"),
        1,
        tally.paths,
        threshold,
        tuple(found),
        (),
        "other models, lengths and options; differences below the threshold",
    )
