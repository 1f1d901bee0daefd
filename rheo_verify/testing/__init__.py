"""Floor 5: what other projects put into their own tests.

`assert_lossless`, `assert_sampler`, `assert_decoder` and `assert_coins` check foreign code and fail with a full report;
`strategies` holds Hypothesis strategies; `conformance` a ready test case; `plugin` the pytest plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rheo_verify.testing.assertions import assert_coins, assert_decoder, assert_lossless, assert_sampler
    from rheo_verify.testing.conformance import verifier_tests

_ASSERTIONS = ("assert_coins", "assert_decoder", "assert_lossless", "assert_sampler")
__all__ = ["assert_coins", "assert_decoder", "assert_lossless", "assert_sampler", "verifier_tests"]


def __getattr__(name: str) -> Any:
    """Load a name on first use, so that the pytest plugin costs nothing where it is not used."""
    import importlib

    if name in _ASSERTIONS:
        return getattr(importlib.import_module("rheo_verify.testing.assertions"), name)
    if name == "verifier_tests":
        return importlib.import_module("rheo_verify.testing.conformance").verifier_tests
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
