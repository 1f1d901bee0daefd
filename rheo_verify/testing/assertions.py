"""Assertions over the checks of `foreign`: they return the report, or fail with its whole text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rheo_verify.checks.verdict import Verdict
from rheo_verify.foreign.decoder import DecoderScope, check_decoder
from rheo_verify.foreign.processing import Processing
from rheo_verify.foreign.reports import CheckReport
from rheo_verify.foreign.sampler import check_sampler
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.texts import report_text
from rheo_verify.foreign.verifier import check_verifier
from rheo_verify.testing import session


class NotLossless(AssertionError):
    """A check did not end in VERIFIED. `report` is its whole answer."""

    def __init__(self, report: CheckReport) -> None:
        super().__init__("\n" + report_text(report))
        self.report = report


def assert_lossless(verifier: Callable[..., Any], *, scope: Scope | str | None = None, **options: Any) -> CheckReport:
    """Fail unless ``verifier(target, draft, tokens)`` is lossless over the scope (see `check_verifier` for options).

    `scope` may be a `Scope`, its text, or None: then the option ``--rheo-scope`` decides, else ``quick``.
    """
    chosen = scope if isinstance(scope, Scope) else Scope.read(scope or session.scope or "quick")
    case = session.replayed_case()
    if case is not None:
        options = {**options, "case": case}
    return _verified(check_verifier(verifier, scope=chosen, **options), verifier, options)


def assert_sampler(sampler: Callable[..., Any], *, scope: Scope | str | None = None, **options: Any) -> CheckReport:
    """Fail unless ``sampler(logits)`` has the law it claims; `temperature`, `top_k`, `top_p`, `min_p` say which."""
    chosen = scope if isinstance(scope, Scope) else Scope.read(scope or session.scope or "quick")
    options, processing = _processing(options)
    return _verified(check_sampler(sampler, scope=chosen, processing=processing, **options), sampler, options)


def assert_decoder(
    decoder: Callable[..., Any], *, scope: DecoderScope | str | None = None, **options: Any
) -> CheckReport:
    """Fail unless ``decoder(target, draft, prompt, n)`` has the target's joint law (see `check_decoder`)."""
    chosen = scope if isinstance(scope, DecoderScope) else DecoderScope.read(scope or "quick")
    options, processing = _processing(options)
    return _verified(check_decoder(decoder, scope=chosen, processing=processing, **options), decoder, options)


def _processing(options: dict[str, Any]) -> tuple[dict[str, Any], Processing]:
    names = ("temperature", "top_k", "top_p", "min_p")
    chosen = Processing(**{name: options[name] for name in names if name in options})
    return {name: value for name, value in options.items() if name not in names}, chosen


def _verified(report: CheckReport, code: Callable[..., Any], options: dict[str, Any]) -> CheckReport:
    if report.verdict is not Verdict.VERIFIED:
        session.record(report, code, options)
        raise NotLossless(report)
    return report
