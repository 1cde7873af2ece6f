"""Figures of several runs in the same axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.base.drawing import Drawing, any_value, is_narrow, latency_ticks, line, time_axes
from wordline.base.palette import PAPER, SERIES
from wordline.report import distributions, divisions, figures
from wordline.results import causes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from wordline.report.compare import Run

    Panels = Sequence[tuple[str, str]]

LOOKS = tuple(zip(SERIES, ("-", "--", "-.", ":", (0, (6, 1)), (0, (1, 1))), strict=False))
"""Colour and style of each run."""

THROUGHPUT = (("read MiB/s", "read_mib_s"), ("write MiB/s", "write_mib_s"))
"""Panels of throughput over time: label and key of the series."""


def all_of(runs: Sequence[Run]) -> dict[str, Drawing]:
    """The figures by their place in the page."""
    found = {
        "distribution": distribution(runs),
        "where": where(runs),
        "latency": latency_over_time(runs),
        "throughput": over_time(
            runs,
            "Throughput over time",
            "Requests completed by each run.",
            THROUGHPUT,
        ),
    }
    return {place: figure for place, figure in found.items() if figure is not None}


def distribution(runs: Sequence[Run]) -> Drawing | None:
    """Latency distributions to the tail, a panel for each operation."""
    panels_of = {}
    for op in distributions.OP_LOOKS:
        curves = {n: distributions.curve(run.result.get("cdf") or {}, op) for n, run in enumerate(runs)}
        curves = {n: points for n, points in curves.items() if points}
        if curves:
            panels_of[op] = curves
    if not panels_of:
        return None
    rows = (len(panels_of) + 1) // 2

    def plot(figure: Figure) -> None:
        for axes, (op, curves) in zip(_panels(figure, len(panels_of)), panels_of.items(), strict=False):
            for n, points in curves.items():
                colour, style = LOOKS[n]
                distributions.tail(axes, points, color=colour, linestyle=style)
            distributions.nines(axes, curves.values())
            axes.set_title(units.plural(op), loc="left", fontsize=10)
        legend_of(figure, runs)

    words = "Share of requests completed within a latency. Each step up is ten times rarer: the slowest are at the top."
    return Drawing("Latency distributions", words, plot, 0.2 + 1.1 * rows, tall=len(panels_of) / rows)


def _panels(figure: Figure, count: int) -> list[Axes]:
    """So many panels, two side by side where there is room."""
    shape = (count, 1) if is_narrow(figure) or count == 1 else ((count + 1) // 2, 2)
    every = list(figure.subplots(*shape, squeeze=False).flat)
    for spare in every[count:]:
        spare.set_visible(False)
    return every[:count]


def legend_of(figure: Figure, runs: Sequence[Run]) -> None:
    """The names of the runs, above all panels."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=colour, linestyle=style) for (colour, style), _ in zip(LOOKS, runs, strict=False)]
    figure.legend(
        handles, [run.name for run in runs], loc="outside upper left", ncols=1 if is_narrow(figure) else 3,
    )  # fmt: skip


def where(runs: Sequence[Run]) -> Drawing | None:
    """Mean latency of each run, divided by cause."""
    panels_of = {op: [list(causes.shares(run.result, op)) for run in runs] for op in causes.OPS}
    panels_of = {op: bars for op, bars in panels_of.items() if any(bars)}
    if not panels_of:
        return None
    rows = (len(panels_of) + 1) // 2

    def plot(figure: Figure) -> None:
        named: dict[str, Any] = {}
        for axes, (op, bars) in zip(_panels(figure, len(panels_of)), panels_of.items(), strict=True):
            named |= _means(axes, op, bars, runs)
        divisions.cause_legend(figure, named)

    words = "Mean latency by cause. The parts of a bar add up to the mean."
    height = 0.35 + (0.2 + 0.1 * len(runs)) * rows
    return Drawing("Where the time went", words, plot, height, tall=1 + 0.5 * len(panels_of) / rows)


def _means(axes: Axes, op: str, bars: list[Any], runs: Sequence[Run]) -> dict[str, Any]:
    """A bar for each run; a mark of each cause by its key."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    named = {}
    for row, (parts, run) in enumerate(zip(bars, runs, strict=True)):
        left = 0.0
        for cause, seconds, _ in parts:
            mean = 1e6 * seconds / run.result["latency_us"][op]["count"]
            named[cause.key] = axes.barh(
                row, mean, left=left, height=0.62, color=cause.colour, hatch=cause.hatch, edgecolor=PAPER, linewidth=0.5
            )
            left += mean
    axes.set_yticks(range(len(runs)), [run.name for run in runs])
    axes.set_ylim(len(runs) - 0.5, -0.5)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda us, _: units.latency(us) if us else "0"))
    axes.grid(visible=False, axis="y")
    axes.set_title(units.plural(op), loc="left", fontsize=10)
    return named


def panels(runs: Sequence[Run]) -> list[tuple[str, Panels]]:
    """Panels over time, by their place in the page."""
    return [("latency", latency_panels(runs)), ("throughput", THROUGHPUT)]


def latency_panels(runs: Sequence[Run]) -> Panels:
    """The tail, by operation where all results have it; the mean where too few intervals have a tail."""
    told = [run.result.get("series") or {} for run in runs]
    by_op = [op for op in distributions.OP_LOOKS if all(any_value(one.get(f"{op}_latency_mean_us")) for one in told)]
    named = [(units.plural(op), f"{op}_latency") for op in by_op] or [(figures.ALL, "latency")]
    stat = "p99" if all(_mostly_known(one, f"{named[0][1]}_p99_us") for one in told) else "mean"
    return [(label, f"{key}_{stat}_us") for label, key in named]


def _mostly_known(series: dict[str, Any], key: str) -> bool:
    """Whether at least half of the intervals have a value: fewer would be dots without a line."""
    values = series.get(key) or []
    return bool(values) and 2 * sum(value is not None for value in values) >= len(values)


def latency_over_time(runs: Sequence[Run]) -> Drawing | None:
    """The tail or the mean of all runs over time."""
    shown = latency_panels(runs)
    label, key = shown[0]
    whose = "of all operations" if label == figures.ALL else "of an operation"
    if key.endswith("p99_us"):
        words = f"p99 of the requests {whose} in an interval, where it has 1,000 or more."
        return over_time(runs, "p99 over time", words, shown)
    return over_time(runs, "Mean latency over time", f"Mean latency of the requests {whose} in an interval.", shown)


def is_latency(key: str) -> bool:
    """True of the key of a series of latencies: of all requests, or of an operation."""
    return "latency_" in key


def over_time(runs: Sequence[Run], title: str, words: str, panels: Panels) -> Drawing | None:
    """Series of all runs, a panel for each kind, over the longest of the runs."""
    drawn = [
        (label, key)
        for label, key in panels
        if any(any_value((run.result.get("series") or {}).get(key)) for run in runs)
    ]
    if not drawn:
        return None

    def plot(figure: Figure) -> None:
        axes_of = figure.subplots(len(drawn), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (label, key) in zip(axes_of, drawn, strict=True):
            values = []
            for (colour, style), run in zip(LOOKS, runs, strict=False):
                series = run.result.get("series") or {}
                column = [value or None for value in series.get(key) or []]
                if is_latency(key):
                    values += [value for value in column if value]
                else:
                    column = [value or 0.0 for value in column]
                if column:
                    line(axes, figures.middles(series), column, color=colour, linestyle=style)
            if values:
                axes.set_yscale("log")
                latency_ticks(axes.yaxis, min(values), max(values))
                axes.set_ylabel(label)
            else:
                figures.rate_axis(axes, label)
        time_axes(figure, axes_of, max(figures.end(run.result) for run in runs))
        legend_of(figure, runs)

    return Drawing(title, words, plot, height=0.5 + 0.65 * len(drawn))
