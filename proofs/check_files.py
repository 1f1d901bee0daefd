"""What the three checkers share: how a file is read, the form of each kind of certificate, and the exit codes.

A certificate has the fields of its form and no others, each of the type that stands there; what the numbers must be is
for the checkers to say. Standard library only, and nothing of the package.
"""

import json
import pathlib
import re
import sys
from fractions import Fraction

NUMBER = "0|[1-9][0-9]*"
TOKENS = f"(({NUMBER})( ({NUMBER}))*)?"  # ids with blanks between them
CODE = "RV[0-9]{3}"
FRACTION = "[0-9]+(/[0-9]+)?"
RULE, VERDICT = "rheo|rrsw|topk", "VERIFIED|REFUTED"
RATES = ("rheo", "rrsw", "top_k", "upper_bound", "optimal", "single_sampled", "single_top1")
SIZES = dict.fromkeys(("lead", "pool", "beam", "depth", "budget"), int)
ROWS = {TOKENS: [Fraction]}
TABLES = {"target": ROWS, "draft": ROWS, "sampling_draft": ROWS}
TYPES = {"ties": "position|token", "verification": "sampling|ranking", "proxy": ("rheo|raw", Fraction)}
PLAN = {"set": [int], "probability": Fraction, "flow": {NUMBER: Fraction}}
LAYER = {"lead": int, "candidates": int, "rates": dict.fromkeys(RATES, Fraction), "plan": [PLAN], "cut": [int]}
# A form: a type (whole numbers are at least zero), a number, a pattern of words, None, a tuple of forms to choose from,
# a list of one form for all entries or of one for each, an object of these keys or of any that fit one of the patterns.
FORMS = {
    "rheo_verify/certificate": {
        "schema": str,
        "version": 1,
        "vocab": int,
        "design": {**SIZES, **TYPES, "epsilon": Fraction},
        "rule": RULE,
        "growth": "eager|lazy",
        "verdict": VERDICT,
        "total_variation": Fraction,
        "budgets": [Fraction],
        "tokens_per_cycle": Fraction,
        "rows": TABLES,
        "classes": [{"probability": Fraction, "nodes": [[[int], [int], "lead|sampled|fill"]]}],
        "emitted": {TOKENS: Fraction},
    },
    "rheo_verify/acceptance-certificate": {
        "schema": str,
        "version": 1,
        "vocab": int,
        "rows": TABLES,
        "layer": (None, LAYER),
        "cycles": [{"rule": RULE, "design": SIZES, "trees": int, "tokens_per_cycle": Fraction}],
    },
    "rheo_verify/paths-certificate": {
        "schema": str,
        "version": 2,
        "name": str,
        "way": "verifier|sampler|decoder|coins",
        "verdict": VERDICT,
        "scope": str,
        "cases_in_all": int,
        "cases": [
            {
                "given": str,
                "vocab": int,
                "length": int,
                "drafts": int,
                "target": ROWS,
                "draft": ROWS,
                "total_variation": Fraction,
                "threshold": Fraction,
                "findings": {CODE: Fraction},
                "paths": [[Fraction, [int], (None, [int]), [CODE]]],
            }
        ],
    },
}


def problem(it, form, at):
    """What does not have the form, and where; empty if all has it."""
    if isinstance(form, tuple):
        found = [problem(it, one, at) for one in form]
        return "" if "" in found else found[-1]
    if isinstance(form, list):
        if type(it) is not list or len(form) not in (1, len(it)):
            return f"{at} is no list" + (f" of {len(form)}" if len(form) > 1 else "")
        return first(problem(one, form[place % len(form)], f"{at}[{place}]") for place, one in enumerate(it))
    if isinstance(form, dict):
        if type(it) is not dict:
            return f"{at} is no object"
        forms = {key: one for key in it for pattern, one in form.items() if re.fullmatch(pattern, key)}
        wrong = sorted(it.keys() - forms.keys()) + sorted(form.keys() - it.keys() - {NUMBER, TOKENS, CODE})
        at = at + "." if at else ""
        return first([f"{at}{key} is missing, or unknown" for key in wrong]) or first(
            problem(one, forms[key], f"{at}{key}") for key, one in it.items()
        )
    return "" if is_one(it, form) else f"{at} cannot be {it!r:.60}"


def first(found):
    return next(filter(None, found), "")


def is_one(it, form):
    if form is int:
        return type(it) is int and it >= 0
    if form is Fraction:  # in lowest terms
        return type(it) is str and re.fullmatch(FRACTION, it) and str(Fraction(it)) == it
    if type(form) is str:
        return type(it) is str and re.fullmatch(form, it)
    return type(it) is form or (type(it) is type(form) and it == form)


def expect(data, kind):
    """Raise an error unless this is a certificate of that kind, in all its fields."""
    what = problem(data, FORMS[kind], "") if type(data) is dict and data.get("schema") == kind else "another schema"
    if what:
        raise ValueError(what)


def read(path):
    """The data of a JSON file in which no key stands twice."""

    def once(pairs):
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a key stands twice")
        return dict(pairs)

    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"), object_pairs_hook=once)


def main(check, usage):
    """Check the files that the command line names, up to the first that is not right."""
    if len(sys.argv) == 1 or {"-h", "--help"} & {*sys.argv}:
        print(usage)
        sys.exit(2 if len(sys.argv) == 1 else 0)
    sys.set_int_max_str_digits(0)
    for path in sys.argv[1:]:
        try:
            data = read(path)
        except (OSError, ValueError, RecursionError) as error:
            print(f"{path}: cannot be read: {error}", file=sys.stderr)
            sys.exit(2)
        try:
            print(f"{path}: every number holds{check(data)}")
        except Exception as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error) or repr(error)
            sys.exit(f"{path}: REJECTED: {what}")
