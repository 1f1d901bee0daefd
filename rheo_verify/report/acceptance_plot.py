"""tau against m and temperature (the shapes of the paper's Figures 3 and 4) and with parts changed; exact values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rheo_verify.checks.per_cycle import Cycle, ablations
from rheo_verify.checks.temperature import AtTemperature
from rheo_verify.errors import InputError, not_installed

TAU = "tau, expected number of tokens per cycle"
FORMATS = (".svg", ".png")
# Okabe and Ito's palette, told apart by every common kind of colour vision; markers and dashes differ as well.
STYLES: dict[str, dict[str, Any]] = {
    "rheo": {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    "rrsw": {"color": "#D55E00", "marker": "s", "linestyle": "--"},
    "optimal-transport": {"color": "#CC79A7", "marker": "D", "linestyle": "-."},
    "best": {"color": "#009E73", "marker": "^", "linestyle": ":"},
    "topk": {"color": "#555555", "marker": "", "linestyle": (0, (5, 2))},
}
HOLLOW = {"markersize": 11, "markerfacecolor": "none"}
LEADS: list[dict[str, Any]] = [
    {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    {"color": "#E69F00", "marker": "s", "linestyle": "--"},
    {"color": "#009E73", "marker": "^", "linestyle": "-."},
    {"color": "#CC79A7", "marker": "D", "linestyle": ":"},
]


def check_plot_file(path: str) -> None:
    """Raises `InputError` RV106 unless the name ends in .svg or .png."""
    if Path(path).suffix.lower() not in FORMATS:
        raise InputError("RV106", f"--plot {path}: the name must end in {' or '.join(FORMATS)}")


def draw(
    cycles: Sequence[Cycle], temperatures: Sequence[AtTemperature], title: str, path: str, command: str = ""
) -> None:
    """Write the picture, with the command that made it in its metadata.

    Raises `InputError` RV122 where it cannot be written, RV600 without matplotlib.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise not_installed("matplotlib", "plot", "--plot") from None
    changed = ablations(cycles)
    panels = 1 + bool(temperatures) + bool(changed)
    with mpl.rc_context({"svg.hashsalt": "rheo_verify", "font.size": 10, "svg.fonttype": "path"}):
        figure = Figure(figsize=(5.2 * panels, 4.6), layout="constrained")
        axes = figure.subplots(1, panels, squeeze=False, sharey=False)[0]
        _against_lead(axes[0], cycles)
        if temperatures:
            _against_temperature(axes[1], temperatures)
        if changed:
            _changed(axes[-1], changed)
        figure.suptitle(title, fontsize=10)
        try:
            metadata = {"Title": title, "Description": f"made by: {command}"}
            undated = {"Date": None} if path.lower().endswith(".svg") else {}
            figure.savefig(path, dpi=150, metadata={**metadata, **undated})
        except OSError as error:
            raise InputError("RV122", f"--plot {path}: cannot be written ({error.strerror})") from None


def _against_lead(axes: Any, cycles: Sequence[Cycle]) -> None:
    best = [(row.lead, float(row.best)) for row in cycles if row.rule == "rheo" and row.best is not None]
    if best:
        axes.plot(*zip(*best, strict=True), label="best of layer rules", **STYLES["best"], **HOLLOW)
    for rule in ("optimal-transport", "rheo", "rrsw"):
        rows = [row for row in cycles if row.rule == rule and row.lead is not None]
        if rows:
            values = [float(row.tokens_per_cycle) for row in rows]
            axes.plot([row.lead for row in rows], values, label=rule, **STYLES[rule])
    for row in cycles:
        if row.rule == "topk":
            axes.axhline(float(row.tokens_per_cycle), label="top-K", **{**STYLES["topk"], "marker": None})
    axes.set_xticks(sorted({row.lead for row in cycles if row.lead is not None}))
    axes.set_xlabel("m, number of lead tokens before the sampled one")
    _finish(axes)


def _against_temperature(axes: Any, temperatures: Sequence[AtTemperature]) -> None:
    points = sorted(temperatures, key=lambda point: point.temperature)
    places = [float(point.temperature) for point in points]
    names = [row.name for row in points[0].cycles if row.rule in ("rheo", "topk")]
    for number, name in enumerate(names):
        style = {**STYLES["topk"], "marker": "x"} if name == "topk" else LEADS[number % len(LEADS)]
        values = [next(float(row.tokens_per_cycle) for row in point.cycles if row.name == name) for point in points]
        axes.plot(places, values, label="top-K" if name == "topk" else name, **style)
        rounded = [(place, value) for place, value, p in zip(places, values, points, strict=True) if not p.exact]
        for place, value in rounded:
            axes.plot([place], [value], marker=style["marker"], color=style["color"], markerfacecolor="white")
    note = "" if all(point.exact for point in points) else "; hollow: rows tempered in float64"
    axes.set_xlabel(f"temperature T, a pure number{note}")
    _finish(axes)


def _changed(axes: Any, changed: Sequence[tuple[str, Cycle]]) -> None:
    """Ablations: the design, and one part changed at a time. Hatches tell the bars apart as colours do."""
    names = [label for label, _ in changed]
    values = [float(row.tokens_per_cycle) for _, row in changed]
    bars = axes.barh(names, values, color="#CFE3F1", edgecolor="#0072B2")
    for bar, value, (_, row) in zip(bars, values, changed, strict=True):
        bar.set_hatch({"rrsw": "//", "topk": ".."}.get(row.rule, ""))
        axes.text(value, bar.get_y() + bar.get_height() / 2, f" {value:.4f}", va="center", fontsize=9)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.18 * max(values))
    axes.set_xlabel(TAU)
    axes.set_title("ablations: one part changed", fontsize=10)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _finish(axes: Any) -> None:
    axes.set_ylabel(TAU)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, fontsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
