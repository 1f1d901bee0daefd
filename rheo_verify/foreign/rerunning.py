"""Run what a replay string names: one case, with the options it was found with, and one path walked through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rheo_verify.foreign.coins import check_coins
from rheo_verify.foreign.decoder import DecoderScope, check_decoder
from rheo_verify.foreign.processing import PROCESSING, Processing
from rheo_verify.foreign.recipes import Recipe
from rheo_verify.foreign.reports import CheckReport
from rheo_verify.foreign.sampler import check_sampler
from rheo_verify.foreign.verifier import check_verifier


def rerun(code: Callable[..., Any], recipe: Recipe, name: str | None = None) -> CheckReport:
    """The report on the one case of `recipe`. Raises as the check does; `InputError` RV109 on a path that is none."""
    options = {**recipe.settings, "case": recipe.case, "path": recipe.path, "name": name}
    processing = Processing(**{option: options.pop(option) for option in PROCESSING if option in options})
    if recipe.way == "verifier":
        return check_verifier(code, **options)
    if recipe.way == "sampler":
        return check_sampler(code, processing=processing, **options)
    if recipe.way == "coins":
        return check_coins(code, **options)
    scope = DecoderScope.read("", options.pop("batch", 1), options.pop("length", None))
    return check_decoder(code, processing=processing, scope=scope, **options)
