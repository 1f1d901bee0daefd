"""`acceptance`: what each rule accepts at a layer and per cycle, exactly, with the optimum next to it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rheo_verify.cli import settings
from rheo_verify.cli.certificates import add_certificate, check_name, write
from rheo_verify.cli.files import add_html_argument, check_output, write_output
from rheo_verify.cli.messages import note
from rheo_verify.cli.progress import ProgressBar
from rheo_verify.errors import InputError, LimitReached

if TYPE_CHECKING:
    from rheo_verify.checks.enumeration import Enumeration
    from rheo_verify.checks.optimal import Optimum
    from rheo_verify.checks.per_cycle import Cycle
    from rheo_verify.checks.temperature import AtTemperature, Tempered
    from rheo_verify.drafting.design import TreeDesign
    from rheo_verify.limits import Limits
    from rheo_verify.models.model import Context, Model
    from rheo_verify.probability.rationals import Rational
    from rheo_verify.report.acceptance import LayerAnswer

TEMPERATURES = "1,0.75,1/2,1/3,1/4,1/6,0"
EXAMPLES = """examples:
  rheo_verify acceptance --target 1,0,2,1 --draft 1,1,1,1 --m 1 --k 3
  rheo_verify acceptance --model weather --context "0 1" --json
  rheo_verify acceptance compare --vocab 6 --plot tau.svg
  rheo_verify acceptance compare --depth 2 --budget 12        (a static tree: the optimum per cycle too)
  rheo_verify acceptance --vocab 6 --certificate rates.json

"""


def add(subparsers: Any) -> None:
    """Register the command."""
    from rheo_verify.cli.main import EXIT_CODES

    parser = subparsers.add_parser(
        "acceptance",
        help="exact acceptance rates and tokens per cycle, with the optimum",
        description="What rheo, rrsw and top-K accept at one layer, in closed form, next to the bound of Theorem 3 and "
        "the optimum with its certificate; and the expected tokens per cycle of the whole decoder. `compare` puts the "
        "rules side by side for m = 0 to 4.",
        epilog=EXAMPLES + EXIT_CODES,
    )
    parser.add_argument("mode", nargs="?", choices=("compare",), metavar="compare", help="rules side by side")
    settings.add_model_arguments(parser)
    group = parser.add_argument_group("one context instead of a model")
    group.add_argument("--target", metavar="ROW", help="p, as weights 5,3,2 or probabilities 1/2,3/10,1/5")
    group.add_argument("--draft", metavar="ROW", help="q, which ranks and, without --sampling-draft, is sampled from")
    group.add_argument("--sampling-draft", metavar="ROW", help="q-hat, which is sampled from")
    group = settings.add_tree_arguments(parser, "layer and tree (all n = K candidates of the layer survive)")
    group.add_argument("--context", default="", metavar="IDS", help='token ids before it, e.g. "0 2" (default: none)')
    group = parser.add_argument_group("temperature and output")
    group.add_argument("--temperature", default="1", metavar="T", help="1/k is exact, others are float64 (default: 1)")
    group.add_argument("--temperatures", metavar="LIST", help=f"compare: also by temperature, e.g. {TEMPERATURES}")
    group.add_argument("--layer-only", action="store_true", help="leave the cycle out (large vocabularies)")
    group.add_argument("--plot", metavar="FILE", help="compare: tau against m, temperature and with parts changed")
    add_html_argument(group)
    settings.add_time_limit(group)
    add_certificate(group, "the rates and tau")
    group.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from rheo_verify.checks.temperature import at_temperature
    from rheo_verify.probability.rationals import exact
    from rheo_verify.report.acceptance_plot import check_plot_file

    for name in ("plot", "temperatures"):
        if args.mode is None and getattr(args, name) is not None:
            raise InputError("RV106", f"--{name} belongs to `acceptance compare`")
    check_output("--html", args.html)
    if args.mode == "compare" and args.layer_only:
        raise InputError("RV106", "--layer-only does not belong to `acceptance compare`, which compares whole cycles")
    if args.plot is not None:
        check_plot_file(args.plot)
        check_output("--plot", args.plot)
    check_name(args.certificate)
    if args.certificate is not None and (args.plot is not None or args.temperatures is not None):
        raise InputError("RV701", "a certificate speaks of one temperature: leave --plot and --temperatures out")
    chosen = settings.from_arguments(args)
    base = _row_model(args) or chosen.model
    chosen.design.check_vocab(base.vocab)
    context = _context(args.context, base.vocab)
    tempered = at_temperature(base, exact(args.temperature, "--temperature"))
    with ProgressBar() as bar:
        limits = settings.limits_from(args, bar.update)
        if args.mode == "compare":
            return _compare(args, base, tempered, context, chosen.design, limits)
        return _layer(args, tempered, context, chosen.design, limits)


def _layer(args: argparse.Namespace, tempered: Tempered, context: Context, design: TreeDesign, limits: Limits) -> int:
    from rheo_verify.checks.acceptance import layer_at, layer_rates
    from rheo_verify.checks.optimal import optimal_acceptance
    from rheo_verify.checks.per_cycle import compare_cycles
    from rheo_verify.report.acceptance import LayerAnswer, layer_data, layer_text
    from rheo_verify.report.text import stdout_style

    limits.check_time()
    layer = layer_at(tempered.model, context, design.lead, design.pool)
    limits.check_time()
    optimum = optimal_acceptance(layer)
    limits.check_time()
    answer = LayerAnswer(tempered, context, layer, layer_rates(layer), optimum, design, None, None)
    stopped = None
    try:
        if not args.layer_only:
            cycles = compare_cycles(tempered.model, context, design, leads=(design.lead,), limits=limits)
            answer = replace(answer, cycles=cycles)
            answer = replace(answer, plan_check=_plan_check(answer, limits))
    except LimitReached as limit:
        stopped = limit
    if args.html is not None:
        from rheo_verify.report.html.acceptance import layer_html

        why = "" if stopped is None else str(stopped)
        write_output("--html", args.html, layer_html(answer, args.command_line, why))
        args.html = None
    if args.certificate is not None and stopped is None:
        _write_certificate(args.certificate, tempered.model, context, design, answer.cycles or (), answer.optimum)
        args.certificate = None
    written = json.dumps(layer_data(answer), indent=1) + "\n" if args.json else layer_text(answer, stdout_style())
    sys.stdout.write(written)
    if stopped is not None:
        raise stopped
    return 0


def _plan_check(answer: LayerAnswer, limits: Limits) -> Enumeration | None:
    """Whether optimal-transport is lossless in this tree, where its tau is not quoted; None if that cannot be known."""
    from rheo_verify.checks.per_cycle import optimum_where_pruned

    if any(row.best is not None for row in answer.cycles or ()) or answer.design.pool <= answer.design.lead:
        return None
    try:
        return optimum_where_pruned(answer.tempered.model, answer.context, answer.design, limits)
    except InputError as error:
        if error.code not in ("RV105", "RV502"):  # the target's table ends with the tree, or q-hat ranks unlike q
            raise
        return None


def _compare(
    args: argparse.Namespace, base: Model, tempered: Tempered, context: Context, design: TreeDesign, limits: Limits
) -> int:
    from rheo_verify.checks.per_cycle import each_cycle
    from rheo_verify.checks.temperature import each_temperature
    from rheo_verify.report.acceptance import compare_data, compare_text
    from rheo_verify.report.acceptance_plot import draw
    from rheo_verify.report.text import stdout_style
    from rheo_verify.words import count

    listed = args.temperatures or (TEMPERATURES if args.plot else "")
    temperatures = _temperatures(listed)
    leads = range(5) if args.m is None else (design.lead,)
    cycles: list[Cycle] = []
    points: list[AtTemperature] = []
    stopped = None
    try:
        limits.check_time()
        cycles.extend(each_cycle(tempered.model, context, design, leads=leads, limits=limits))
        pool = min(design.pool, base.vocab)
        few = [m for m in (leads if args.m is not None else (0, 1, 2)) if m < pool]
        points.extend(each_temperature(base, context, design, temperatures, leads=few, limits=limits))
    except LimitReached as limit:
        done = [count(len(cycles), "decoder"), *([count(len(points), "temperature")] if temperatures else [])]
        stopped = LimitReached(limit.code, limit.message, f"{' and '.join(done)} finished")
    if args.certificate is not None and stopped is None:
        _write_certificate(args.certificate, tempered.model, context, design, cycles)
        args.certificate = None
    if args.plot is not None and stopped is None:
        numbers = f"K={design.pool} W={design.beam} D={design.depth} R={design.budget}"
        title = f"{tempered.model.source}, {count(base.vocab, 'token')}, {numbers}"
        draw(cycles, points, title, args.plot, args.command_line)
        note(f"wrote {args.plot}")
        args.plot = None
    if args.html is not None and stopped is None:
        from rheo_verify.report.html.acceptance import compare_html

        page = compare_html(tempered, context, design, cycles, points, args.command_line)
        write_output("--html", args.html, page)
    if args.json:
        sys.stdout.write(json.dumps(compare_data(tempered, context, design, cycles, points, stopped), indent=1) + "\n")
    else:
        sys.stdout.write(compare_text(tempered, context, design, cycles, points, stdout_style(), stopped))
    if stopped is not None:
        raise stopped
    return 0


def _write_certificate(
    path: str,
    model: Model,
    context: Context,
    design: TreeDesign,
    cycles: Sequence[Cycle],
    optimum: Optimum | None = None,
) -> None:
    from rheo_verify.checks.rates_certificate import rates_certificate
    from rheo_verify.report.rates_certificate import to_json, to_rocq

    certificate = rates_certificate(model, context, design, cycles, optimum)
    write(path, lambda: to_json(certificate), lambda: to_rocq(certificate))


def _row_model(args: argparse.Namespace) -> Model | None:
    from rheo_verify.models.model import context_free

    written = {"--target": args.target, "--draft": args.draft, "--sampling-draft": args.sampling_draft}
    if all(row is None for row in written.values()):
        return None
    if args.target is None or args.draft is None:
        raise InputError("RV106", "--target and --draft are given together (and --sampling-draft if q-hat is not q)")
    for name in ("model", "vocab", "seed", "support"):
        if getattr(args, name) is not None:
            raise InputError("RV106", f"--target/--draft and --{name} exclude each other: give one of them")
    rows = [None if row is None else _row(row, name) for name, row in written.items()]
    assert rows[0] is not None
    assert rows[1] is not None
    return context_free(rows[0], rows[1], rows[2], source="rows from the command line")


def _row(written: str, name: str) -> Any:
    from rheo_verify.probability.distributions import distribution

    parts = _entries(written)
    if not all(parts):
        raise InputError("RV106", f"{name}: a row like 5,3,2 or 1/2,3/10,1/5 is expected, with no entry left empty")
    return distribution([int(p) if p.isascii() and p.isdigit() and len(p) < 1000 else p for p in parts], name)


def _entries(written: str) -> list[str]:
    """What stands between commas, or between spaces; an entry between two commas may be empty."""
    return [part for entry in written.split(",") for part in entry.split() or [""]]


def _context(written: str, vocab: int) -> tuple[int, ...]:
    tokens = []
    for part in written.split():
        token = int(part) if part.isascii() and part.isdigit() and len(part) < 10 else vocab
        if token >= vocab:
            raise InputError("RV106", f"--context: unknown token {part!r}; the tokens are 0 to {vocab - 1}")
        tokens.append(token)
    return tuple(tokens)


def _temperatures(written: str) -> list[Rational]:
    from rheo_verify.probability.rationals import exact

    return [exact(part, "--temperatures") for part in _entries(written)] if written else []
