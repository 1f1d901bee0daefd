"""What a run is about, as arguments, as objects, and as the short text inside a replay string."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote_to_bytes

from rheo_verify.errors import InputError

if TYPE_CHECKING:
    from rheo_verify.drafting.design import TreeDesign
    from rheo_verify.models.model import Model
    from rheo_verify.verification.layer import LayerRule

DEFAULTS: dict[str, Any] = {
    "model": None,
    "vocab": 4,
    "seed": 0,
    "support": None,
    "m": 1,
    "k": 3,
    "beam": 3,
    "depth": 3,
    "budget": 6,
    "proxy": "rheo",
    "epsilon": "0",
    "rule": "rheo",
    "ties": "position",
    "verification": "sampling",
}
_NUMBERS = ("vocab", "seed", "support", "m", "k", "beam", "depth", "budget")


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """--model FILE, or --vocab V --seed S; --support S."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model", metavar="FILE", help="a model file (docs/model-files.md), or the name of a shipped one"
    )
    group.add_argument("--vocab", type=int, metavar="V", help="random tables over V tokens (default: 4)")
    group.add_argument("--seed", type=int, metavar="S", help="seed of the random tables (default: 0)")
    group.add_argument("--support", type=int, metavar="S", help="truncate the sampling draft to its S best tokens")


def add_tree_arguments(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """The sizes of the tree."""
    group = parser.add_argument_group(title)
    number: dict[str, Any] = {"type": int, "metavar": "N"}
    group.add_argument("--m", help="lead tokens before the sampled one (default: 1)", **number)
    group.add_argument("--k", help="candidates of an expanded context, K (default: 3)", **number)
    group.add_argument("--beam", help="contexts expanded at each depth, W (default: 3)", **number)
    group.add_argument("--depth", help="depth of the tree, D (default: 3)", **number)
    group.add_argument("--budget", help="nodes kept, R (default: 6)", **number)
    return group


def add_design_arguments(parser: argparse.ArgumentParser) -> None:
    """The parameters of the tree and the rule."""
    group = add_tree_arguments(parser, "tree and verification (SPEC 1.1 to 1.3)")
    group.add_argument("--proxy", metavar="P", help="the sampled slot's factor: rheo, raw, or a constant like 1/4")
    group.add_argument("--epsilon", metavar="E", help="added to q(x1) when m = 0, a rational (default: 0)")
    rules = ("rheo", "rrsw", "topk", "optimal-transport")
    group.add_argument("--rule", choices=rules, help="verification rule (default: rheo)")
    group.add_argument("--ties", choices=("position", "token"), help="how score ties are broken (default: position)")
    group.add_argument(
        "--verification",
        choices=("sampling", "ranking"),
        help="whose q~ verification uses: the sampling draft's, or (broken) the ranking draft's (default: sampling)",
    )


@dataclass(frozen=True)
class Settings:
    """One run's model, tree design and rule, with the values they were made from."""

    values: dict[str, Any]
    model: Model
    design: TreeDesign
    rule: LayerRule

    def text(self) -> str:
        """``vocab=6,m=2``: what differs from the defaults, with a digest of the model file."""
        from rheo_verify.models.shipped import find_model
        from rheo_verify.models.table_file import digest

        parts = []
        for key, value in self.values.items():
            if key == "model" and value is not None:
                parts.append(f"model={quote(os.fsencode(value), safe='/._-')}@{digest(find_model(value))}")
            elif value != DEFAULTS[key]:
                parts.append(f"{key}={quote(str(value), safe='/')}")
        return ",".join(parts) or "default"


def from_arguments(args: argparse.Namespace) -> Settings:
    """Settings from parsed arguments. Raises `InputError`."""
    given = {key: getattr(args, key) for key in DEFAULTS if getattr(args, key, None) is not None}
    if given.get("model") == "":
        raise InputError("RV106", "--model needs the name of a file")
    if "model" in given and ("vocab" in given or "seed" in given):
        raise InputError("RV106", "--model and --vocab/--seed exclude each other: give one of them")
    return _build({**DEFAULTS, **given})


def from_text(written: str) -> Settings:
    """The inverse of `Settings.text`. Raises `InputError` RV109 when it does not fit, or its model file has changed."""
    from rheo_verify.models.shipped import find_model
    from rheo_verify.models.table_file import digest

    values = dict(DEFAULTS)
    for part in written.split(",") if written != "default" else []:
        key, equals, value = part.partition("=")
        if key not in DEFAULTS or not equals:
            raise InputError("RV109", f"{part!r} in the replay string is not a setting like m=1")
        values[key] = os.fsdecode(unquote_to_bytes(value))
        if key in _NUMBERS:
            values[key] = _number(key, value)
    if values["model"] is not None:
        values["model"], at, expected = values["model"].rpartition("@")
        if not at or not values["model"]:
            raise InputError("RV109", "a model in a replay string is written FILE@DIGEST, as enumerate prints it")
        found = digest(find_model(values["model"]))
        if found != expected:
            message = f"{values['model']} has changed since the replay string was made ({expected}, now {found})"
            raise InputError("RV109", message)
    return _build(values)


def _number(key: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or len(value) > 9:
        raise InputError("RV109", f"{key}={value} in the replay string is not a number")
    return int(value)


def _build(values: dict[str, Any]) -> Settings:
    from rheo_verify.drafting.design import TreeDesign
    from rheo_verify.models.model import truncate_sampling
    from rheo_verify.models.random_tables import random_model
    from rheo_verify.models.shipped import find_model
    from rheo_verify.models.table_file import load_model
    from rheo_verify.probability.rationals import exact

    design = TreeDesign(
        lead=values["m"],
        pool=values["k"],
        beam=values["beam"],
        depth=values["depth"],
        budget=values["budget"],
        proxy=values["proxy"] if values["proxy"] in ("rheo", "raw") else exact(values["proxy"], "--proxy"),
        epsilon=exact(values["epsilon"], "--epsilon"),
        ties=values["ties"],
        verification=values["verification"],
    )
    if values["model"] is not None:
        model = load_model(find_model(values["model"]))
    else:
        model = random_model(values["vocab"], values["seed"])
    if values["support"] is not None:
        model = truncate_sampling(model, values["support"])
    return Settings(values, model, design, _rule(values["rule"]))


def _rule(name: str) -> LayerRule:
    from rheo_verify.checks.optimal import optimal_rule
    from rheo_verify.verification.rules import layer_rule

    return optimal_rule() if name == "optimal-transport" else layer_rule(name)
