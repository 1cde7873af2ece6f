"""The figures of a run, each from one definition for page and files: all of them, and those over simulated time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.base.drawing import (
    Drawing,
    any_value,
    interval_words,
    latency_ticks,
    legend,
    line,
    time_axes,
)
from wordline.base.palette import BLUE, FAINT, INK, PAPER
from wordline.report import blockfigure, divisions, maps, partbars, sharing
from wordline.report.distributions import OP_LOOKS, distribution
from wordline.results import amplification, causes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LATENCIES = (
    ("slowest", "latency_max_us", FAINT, ":"),
    ("p99", "latency_p99_us", INK, "--"),
    ("mean", "latency_mean_us", BLUE, "-"),
)
"""Curves of latency by interval: name, key, colour and style."""

ALL = "latency"
"""The panel of all requests together, for results without latency by operation."""


def all_of(result: dict[str, Any]) -> dict[str, Drawing]:
    """The figures by the section they belong to, in the order of the page; without those that would show nothing."""
    series, busy = result.get("series") or {}, result.get("utilisation") or {}
    timed = series if series.get("start_s") else {}
    activity = result.get("activity") or {}
    found = {
        "distribution": distribution(result.get("cdf") or {}),
        "where": divisions.where_time_went(result),
        "bands": divisions.bands(result),
        "latency": latency_over_time(timed, end(result)) if timed else None,
        "latencies": maps.latency_map(result.get("latency_over_time") or {}, end(result)),
        "throughput": throughput_over_time(timed, end(result)) if timed else None,
        "causes": causes_over_time(result),
        "space": space_over_time(result) if timed else None,
        "stage": sharing.over_time(result, end(result)),
        "dies-map": maps.dies_map(activity, end(result)),
        "channels-map": maps.channels_map(activity, end(result)),
        "blocks": blockfigure.last_moment(result),
        "channels": partbars.utilisation(busy.get("channels") or [], "channel"),
        "dies": partbars.utilisation(busy.get("dies") or [], "die"),
        "wear": partbars.wear(result.get("wear") or {}),
    }
    return {section: figure for section, figure in found.items() if figure is not None}


def end(result: dict[str, Any]) -> float:
    """The common end of all time axes."""
    return result.get("simulated_s") or 0.0


def latency_panels(series: dict[str, Any]) -> dict[str, list[tuple[str, str, str, str]]]:
    """The curves of latency over time that have a value, by the panel in which they are drawn."""
    by_op = {op: _curves(series, f"{op}_") for op in OP_LOOKS}
    panels_of = {units.plural(op): curves for op, curves in by_op.items() if curves}
    if not panels_of and (curves := _curves(series, "")):
        return {ALL: curves}
    return panels_of


def latency_over_time(series: dict[str, Any], end_s: float) -> Drawing | None:
    """Mean, p99 and largest latency of each interval: a panel for each operation that occurs.

    Results without latency by operation have one panel, of all requests.
    """
    panels_of = latency_panels(series)
    if not panels_of:
        return None
    whose = "All requests" if ALL in panels_of else "Each operation by itself"

    def plot(figure: Figure) -> None:
        panels = figure.subplots(len(panels_of), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, (title, curves) in zip(panels, panels_of.items(), strict=True):
            for name, key, colour, style in curves:
                positive = [value if value else None for value in series[key]]
                line(axes, middles(series), positive, color=colour, linestyle=style, label=name)
            axes.set_yscale("log")
            axes.set_ylabel(title)
        every = [value for curves in panels_of.values() for _, key, _, _ in curves for value in series[key] if value]
        latency_ticks(panels[0].yaxis, min(every), max(every))
        time_axes(figure, panels, end_s)
        most = max(panels, key=lambda axes: len(axes.get_lines()))
        handles, names = most.get_legend_handles_labels()
        legend(panels[0], len(names), handles=handles, labels=names)

    words = f"{whose}, in intervals of {interval_words(series)}; p99 where an interval has 1,000 or more requests."
    return Drawing("Latency over time", words, plot, height=0.45 + 0.55 * len(panels_of))


def _curves(series: dict[str, Any], prefix: str) -> list[tuple[str, str, str, str]]:
    return [
        (name, f"{prefix}{key}", colour, style)
        for name, key, colour, style in LATENCIES
        if any_value(series.get(f"{prefix}{key}"))
    ]


def middles(series: dict[str, Any]) -> list[float]:
    """The middle of each interval, where its value is drawn."""
    return [start + series["interval_s"] / 2 for start in series["start_s"]]


def throughput_over_time(series: dict[str, Any], end_s: float) -> Drawing | None:
    """Reads and writes: bandwidth above, requests below."""
    looks = [(op, *OP_LOOKS[op]) for op in ("read", "write")]
    rows = [
        [(op, f"{op}_{unit}", colour, style) for op, colour, style in looks if any_value(series.get(f"{op}_{unit}"))]
        for unit in ("mib_s", "iops")
    ]
    if not any(rows):
        return None

    def plot(figure: Figure) -> None:
        both = figure.subplots(2, 1, sharex=True)
        for axes, row, label in zip(both, rows, ("MiB/s", "requests/s"), strict=True):
            for op, key, colour, style in row:
                line(axes, middles(series), series[key], color=colour, linestyle=style, label=op)
            rate_axis(axes, label)
        time_axes(figure, both, end_s)
        if rows[0]:
            legend(both[0], len(rows[0]))

    words = f"Requests completed, in intervals of {interval_words(series)}."
    return Drawing("Throughput over time", words, plot, height=1.4)


def rate_axis(axes: Axes, label: str) -> None:
    """An axis of rates, from nought on."""
    from matplotlib.ticker import FuncFormatter

    axes.set_ylim(bottom=0)
    axes.set_ylabel(label)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: units.short(round(v, 6)) if v >= 1e4 else f"{v:g}"))


def space_over_time(result: dict[str, Any]) -> Drawing | None:
    """Free blocks above, write amplification below: since the start, and over the last while."""
    series, told = result["series"], amplification.over_time(result)
    free = series.get("free_blocks") or []
    free = free if any(value is not None for value in free) else []
    if not free and not told:
        return None
    count = bool(free) + bool(told)

    def plot(figure: Figure) -> None:
        panels = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
        if free:
            _free_blocks(panels[0], middles(series), free)
        if told:
            _amplification(panels[-1], middles(series), told)
            legend(panels[-1], 2)
        time_axes(figure, panels, end(result))

    words = []
    if free:
        words.append(f"Erased blocks ready for data, in intervals of {interval_words(series)}.")
    if told:
        words.append(
            "Write amplification: pages programmed per page written by the host, since the start and rolling over "
            f"{units.duration(told.window_s)}. The rolling figure is omitted where the host wrote less than "
            f"{units.percent(amplification.LITTLE)} of the mean for such a window."
        )
    names = ["free space"] * bool(free) + ["write amplification"] * bool(told)
    title = " and ".join(names) + " over time"
    return Drawing(f"{title[0].upper()}{title[1:]}", " ".join(words), plot, height=0.75 * count)


def _free_blocks(axes: Axes, x: list[float], free: list[float | None]) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    line(axes, x, free, color=BLUE)
    axes.set_ylim(0, max(1, 1.08 * max(value for value in free if value is not None)))
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: units.short(v)))
    axes.set_ylabel("free blocks")


def _amplification(axes: Axes, x: list[float], told: amplification.Amplification) -> None:
    line(axes, x, told.rolling, color=BLUE, label="rolling")
    line(axes, x, told.since_start, color=INK, linestyle="--", label="since the start")
    values = [value for value in (*told.rolling, *told.since_start) if value is not None] or [1.0]
    axes.set_ylim(min(1, *values) - 0.02, max(1.1, max(values) + 0.1 * (max(values) - 1)))
    axes.axhline(1, color=FAINT, linewidth=0.8)
    axes.set_ylabel("write\namplification")


def causes_over_time(result: dict[str, Any]) -> Drawing | None:
    """Causes of latency in each interval, as shares."""
    told = (result.get("time_of") or {}).get("series") or {}
    panels_of = [(op, told.get(op) or {}) for op in causes.OPS if told.get(op)]
    if not panels_of:
        return None
    interval = told["interval_s"]

    def plot(figure: Figure) -> None:
        panels = figure.subplots(len(panels_of), 1, sharex=True, squeeze=False)[:, 0]
        names: dict[str, Any] = {}
        for axes, (op, spent) in zip(panels, panels_of, strict=True):
            names |= _shares(axes, spent, interval)
            axes.set_ylabel(units.plural(op))
        time_axes(figure, panels, end(result))
        divisions.cause_legend(figure, names, above=True)

    words = f"Share of each cause in the latency of requests, in intervals of {interval_words(told)}."
    return Drawing("Causes of latency over time", words, plot, 0.75 + 0.5 * len(panels_of), tall=1.25)


def _shares(axes: Axes, spent: dict[str, list[float]], interval_s: float) -> dict[str, Any]:
    """The causes of an operation on top of each other; a mark of each by its key."""
    import numpy
    from matplotlib.ticker import PercentFormatter

    shown = [cause for cause in causes.CAUSES if cause.key in spent]
    values = numpy.array([spent[cause.key] for cause in shown], dtype=float)
    total = values.sum(axis=0)
    shares = numpy.divide(values, total, out=numpy.zeros_like(values), where=total > 0)
    edges = numpy.arange(values.shape[1] + 1) * interval_s
    floor = numpy.zeros(values.shape[1])
    named = {}
    for cause, share in zip(shown, shares, strict=True):
        top = floor + share
        named[cause.key] = axes.fill_between(
            edges, numpy.append(floor, floor[-1]), numpy.append(top, top[-1]), step="post", linewidth=0,
            facecolor=cause.colour, hatch=cause.hatch, edgecolor=PAPER,
        )  # fmt: skip
        floor = top
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    return named
