"""Assertions over the checks of `foreign`: they return the report, or fail with its whole text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rheo_verify.checks.verdict import Verdict
from rheo_verify.foreign.coins import check_coins
from rheo_verify.foreign.decoder import DecoderScope, check_decoder
from rheo_verify.foreign.processing import PROCESSING, Processing
from rheo_verify.foreign.reports import CheckReport
from rheo_verify.foreign.rerunning import mended
from rheo_verify.foreign.sampler import check_sampler
from rheo_verify.foreign.scope import Scope
from rheo_verify.foreign.texts import report_text
from rheo_verify.foreign.verifier import check_verifier
from rheo_verify.testing import session


class NotLossless(AssertionError):
    """A check did not end in VERIFIED. `report` is its whole answer; `code` is where the code is found, if it is."""

    def __init__(self, report: CheckReport, code: str = "") -> None:
        super().__init__("\n" + report_text(report, code))
        self.report = report


def assert_lossless(verifier: Callable[..., Any], *, scope: Scope | str | None = None, **options: Any) -> CheckReport:
    """Fail unless ``verifier(target, draft, tokens)`` is lossless over the scope (see `check_verifier` for options).

    `scope` may be a `Scope`, its text, or None: then the option ``--rheo-scope`` decides, else ``quick``.
    """
    return _assert("verifier", check_verifier, verifier, options, _scope(scope))


def assert_sampler(sampler: Callable[..., Any], *, scope: Scope | str | None = None, **options: Any) -> CheckReport:
    """Fail unless ``sampler(logits)`` has the law it claims; `temperature`, `top_k`, `top_p`, `min_p` say which."""
    return _assert("sampler", check_sampler, sampler, options, _scope(scope))


def assert_decoder(
    decoder: Callable[..., Any],
    *,
    scope: DecoderScope | str | None = None,
    batch: int = 1,
    length: int | None = None,
    **options: Any,
) -> CheckReport:
    """Fail unless ``decoder(target, draft, prompt, n)`` has the target's joint law (see `check_decoder`).

    `batch` and `length` set those of a scope that is given as text; options as for `assert_sampler`.
    """
    if isinstance(scope, DecoderScope):
        chosen = scope
    else:
        also = () if scope is not None else Scope.names()
        chosen = DecoderScope.read(scope or session.scope or "quick", batch, length, also)
    shape = {"batch": chosen.batch, "length": chosen.length}
    return _assert("decoder", check_decoder, decoder, options, chosen, shape)


def assert_coins(verifier: Callable[..., Any], *, scope: Scope | str | None = None, **options: Any) -> CheckReport:
    """Fail unless ``verifier(target, draft, tokens, uniforms)`` is lossless (see `check_coins` for options)."""
    return _assert("coins", check_coins, verifier, options, _scope(scope, "small"))


def _scope(scope: Scope | str | None, usual: str = "quick") -> Scope:
    if isinstance(scope, Scope):
        return scope
    also = () if scope is not None else DecoderScope.names()
    return Scope.read(scope or session.scope or usual, also)


def _assert(
    way: str,
    check: Callable[..., CheckReport],
    code: Callable[..., Any],
    options: dict[str, Any],
    scope: Any,
    shape: dict[str, Any] | None = None,
) -> CheckReport:
    named = {name: value for name, value in options.items() if name not in PROCESSING}
    if way in ("sampler", "decoder"):
        processed = {name: options[name] for name in PROCESSING if name in options}
        named["processing"] = named.get("processing") or Processing(**processed)
    else:
        named = dict(options)
    again = session.replayed(way, code)
    if again is not None:
        case, path = again
        report = mended(lambda path: check(code, scope=scope, **named | {"case": case, "path": path}), path)
    else:
        report = check(code, scope=scope, **named)
    if report.verdict is not Verdict.VERIFIED:
        session.record(report, code, options | (shape or {}))
        raise NotLossless(report, session.where(code) if session.importable(code) else "")
    return report
