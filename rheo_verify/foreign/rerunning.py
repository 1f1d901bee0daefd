"""Run what a replay string names: one case, with the options it was found with, and one path walked through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rheo_verify.errors import InputError
from rheo_verify.foreign.coin_strata import Strata, check_strata
from rheo_verify.foreign.coins import check_coins
from rheo_verify.foreign.decoder import DecoderScope, check_decoder
from rheo_verify.foreign.processing import PROCESSING, Processing
from rheo_verify.foreign.recipes import Recipe
from rheo_verify.foreign.reports import CheckReport
from rheo_verify.foreign.sampler import check_sampler
from rheo_verify.foreign.verifier import check_verifier

CHECKS: dict[str, Callable[..., CheckReport]] = {
    "verifier": check_verifier,
    "sampler": check_sampler,
    "decoder": check_decoder,
    "coins": check_coins,
}


def mended(check: Callable[[str | None], CheckReport], path: str | None) -> CheckReport:
    """The report of ``check(path)``; where the case holds by now, its old path may be none: then the walk says so."""
    try:
        return check(path)
    except InputError as error:
        if error.code != "RV109" or path is None:
            raise
        answer = check(None)
        if answer.findings:
            raise
        return replace(answer, walk=f"the path is no longer one of this code: {error}\n")


def rerun(code: Any, recipe: Recipe, name: str | None = None) -> CheckReport:
    """The report on the one case of `recipe`. Raises as the check does; `InputError` RV109 on a path that is none."""
    return mended(lambda path: _rerun(code, recipe, path, name), recipe.path)


def _rerun(code: Any, recipe: Recipe, path: str | None, name: str | None) -> CheckReport:
    options = {**recipe.settings, "case": recipe.case, "path": path, "name": name}
    processing = Processing(**{option: options.pop(option) for option in PROCESSING if option in options})
    if recipe.way == "huggingface":
        return _generated(recipe, path, processing)
    if recipe.way == "verifier":
        return check_verifier(code, **options)
    if recipe.way == "sampler":
        return check_sampler(code, processing=processing, **options)
    if recipe.way == "strata":
        del options["path"]
        parts = {part: options.pop(part) for part in ("cells", "changes", "within", "most") if part in options}
        return check_strata(code, strata=Strata(**parts), **options)
    if recipe.way == "coins":
        return check_coins(code, **options)
    scope = DecoderScope.read("", options.pop("batch", 1), options.pop("length", None))
    return check_decoder(code, processing=processing, scope=scope, **options)


def _generated(recipe: Recipe, path: str | None, processing: Processing) -> CheckReport:
    from rheo_verify.foreign.huggingface import check_generate, read_options

    given = {name: value for name, value in recipe.settings.items() if name not in PROCESSING}
    given["options"] = read_options(given["options"]) if "options" in given else {}
    if "length" not in given:
        raise InputError("RV109", "the replay string says no length")
    return check_generate(recipe.case, **given, processing=processing, path=path)
