"""The figures of a run, each from one definition for page and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.base.drawing import (
    BLUE,
    FAINT,
    GREEN,
    MAP_BLUE,
    MAP_ORANGE,
    ORANGE,
    PAPER,
    Drawing,
    any_value,
    heat,
    interval_words,
    is_narrow,
    latency_ticks,
    legend,
    line,
    time_axes,
)
from wordline.report import blockfigure
from wordline.results import causes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OP_LOOKS = {"read": (BLUE, "-"), "write": (ORANGE, "--"), "trim": (GREEN, ":"), "flush": (FAINT, "-.")}
"""Colour and style of the operations."""

LATENCIES = (
    ("slowest", "latency_max_us", FAINT, ":"),
    ("p99", "latency_p99_us", ORANGE, "--"),
    ("mean", "latency_mean_us", BLUE, "-"),
)
"""What is drawn of the latency in each interval: name, key, colour and style."""


def all_of(result: dict[str, Any]) -> dict[str, Drawing]:
    """The figures by the section they belong to, in the order of the page; without those that would show nothing."""
    series, busy = result.get("series") or {}, result.get("utilisation") or {}
    timed = series if series.get("start_s") else {}
    activity = result.get("activity") or {}
    found = {
        "distribution": distribution(result.get("cdf") or {}),
        "where": where_time_went(result),
        "latency": latency_over_time(timed, end(result)) if timed else None,
        "throughput": throughput_over_time(timed, end(result)) if timed else None,
        "causes": causes_over_time(result),
        "space": space_over_time(timed, end(result)) if timed else None,
        "dies-map": dies_map(activity, result),
        "channels-map": channels_map(activity, result),
        "blocks": blockfigure.last_moment(result),
        "channels": utilisation(busy.get("channels") or [], "channel"),
        "dies": utilisation(busy.get("dies") or [], "die"),
        "wear": wear(result.get("wear") or {}),
    }
    return {section: figure for section, figure in found.items() if figure is not None}


def end(result: dict[str, Any]) -> float:
    """Where all axes of time end, so that they can be compared."""
    return result.get("simulated_s") or 0.0


def distribution(cdf: dict[str, list[list[float]]]) -> Drawing | None:
    """Latency distribution to the tail: the share of requests slower than a latency, both logarithmic."""
    curves = {op: [(us, 1 - q) for us, q in cdf.get(op) or [] if us > 0 and q < 1] for op in OP_LOOKS}
    curves = {op: points for op, points in curves.items() if len(points) > 1}
    if not curves:
        return None

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        for op, points in curves.items():
            colour, style = OP_LOOKS[op]
            tail(axes, points, color=colour, linestyle=style, label=op)
        nines(axes, curves.values())
        legend(axes, len(curves))

    words = "Share of requests done within a latency. Each step up is ten times rarer: the slowest are at the top."
    return Drawing("Latency distribution", words, plot, height=1.15)


def tail(axes: Axes, points: Sequence[tuple[float, float]], **how: Any) -> None:  # noqa: ANN401
    """A curve of latencies in µs and the shares of requests that are slower."""
    axes.plot([us for us, _ in points], [max(p, 1e-9) for _, p in points], **how)


def nines(axes: Axes, curves: Iterator[Any] | Any) -> None:  # noqa: ANN401
    """The axes of a distribution: latency, and the nines upwards."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    every = [point for points in curves for point in points]
    axes.set_xscale("log")
    axes.set_yscale("log")
    latency_ticks(axes.xaxis, min(us for us, _ in every), max(us for us, _ in every))
    axes.set_ylim(1.2, max(min(p for _, p in every), 1e-9) * 0.7)
    axes.yaxis.set_major_locator(FixedLocator([0.5, *(10.0**-n for n in range(1, 10))]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda p, _: f"{100 * (1 - p):.7g} %"))
    axes.set_xlabel("latency")
    axes.set_ylabel("requests as fast or faster")


def latency_panels(series: dict[str, Any]) -> dict[str, list[tuple[str, str, str, str]]]:
    """The curves of latency over time that have a value, by the panel in which they are drawn."""
    drawn = [curve for curve in LATENCIES if any_value(series.get(curve[1]))]
    return {"latency": drawn} if drawn else {}


def latency_over_time(series: dict[str, Any], end_s: float) -> Drawing | None:
    """Mean, 99th percentile and largest latency of each interval."""
    drawn = latency_panels(series).get("latency")
    if not drawn:
        return None

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        for name, key, colour, style in drawn:
            positive = [v if v else None for v in series[key]]
            line(axes, middles(series), positive, color=colour, linestyle=style, label=name)
        axes.set_yscale("log")
        values = [v for _, key, _, _ in drawn for v in series[key] if v]
        latency_ticks(axes.yaxis, min(values), max(values))
        axes.set_ylabel("latency")
        time_axes(figure, [axes], end_s)
        legend(axes, len(drawn))

    return Drawing("Latency over time", f"All requests, in intervals of {interval_words(series)}.", plot)


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

    words = f"What the drive completed, in intervals of {interval_words(series)}."
    return Drawing("Throughput over time", words, plot, height=1.4)


def rate_axis(axes: Axes, label: str) -> None:
    """An axis of rates, from nought on."""
    from matplotlib.ticker import FuncFormatter

    axes.set_ylim(bottom=0)
    axes.set_ylabel(label)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: units.short(round(v, 6)) if v >= 1e4 else f"{v:g}"))


def space_over_time(series: dict[str, Any], end_s: float) -> Drawing | None:
    """Free blocks above, write amplification below."""
    rows = [
        ("free blocks", "free_blocks", GREEN),
        ("write\namplification", "write_amplification", BLUE),
    ]
    drawn = [row for row in rows if any(v is not None for v in series.get(row[1]) or [])]
    if not drawn:
        return None

    def plot(figure: Figure) -> None:
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        panels = figure.subplots(len(drawn), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (label, key, colour) in zip(panels, drawn, strict=True):
            line(axes, middles(series), series[key], color=colour)
            top = max(v for v in series[key] if v is not None)
            if key == "free_blocks":
                axes.set_ylim(0, max(1, 1.08 * top))
                axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
                axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: units.short(v)))
            else:
                least = min(v for v in series[key] if v is not None)
                axes.set_ylim(min(1, least) - 0.02, max(1.1, top + 0.1 * (top - 1)))
                axes.axhline(1, color=FAINT, linewidth=0.8)
            axes.set_ylabel(label)
        time_axes(figure, panels, end_s)

    words = "Blocks that are erased and wait for data, and pages programmed for each page that the host wrote."
    return Drawing("Free space and write amplification over time", words, plot, height=0.7 * len(drawn))


def where_time_went(result: dict[str, Any]) -> Drawing | None:
    """A bar for reads and one for writes, divided by the causes of their latency."""
    bars = {op: list(causes.shares(result, op)) for op in causes.OPS}
    bars = {op: parts for op, parts in bars.items() if parts}
    if not bars:
        return None

    def plot(figure: Figure) -> None:
        from matplotlib.ticker import PercentFormatter

        axes = figure.subplots()
        named = set()
        for row, parts in enumerate(bars.values()):
            left = 0.0
            for cause, _, share in parts:
                label = None if cause.key in named else cause.name
                named.add(cause.key)
                axes.barh(
                    row, share, left=left, height=0.62, color=cause.colour, hatch=cause.hatch, edgecolor=PAPER,
                    linewidth=0.6, label=label,
                )  # fmt: skip
                if share >= (0.12 if is_narrow(figure) else 0.05) and not cause.hatch:
                    axes.text(
                        left + share / 2,
                        row,
                        units.percent(share),
                        ha="center",
                        va="center",
                        color=PAPER,
                        gid="on-colour",
                    )
                left += share
        axes.set_yticks(range(len(bars)), list(bars))
        axes.set_ylim(len(bars) - 0.5, -0.5)
        axes.set_xlim(0, 1)
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
        axes.grid(visible=False, axis="y")
        columns = 3 if is_narrow(figure) else 6
        figure.legend(loc="outside lower left", ncols=columns, handlelength=1.2, columnspacing=1.0)

    words = "Of the latency of all reads and all writes, the share that each cause took. The parts add up to the whole."
    return Drawing("Where the time went", words, plot, height=0.5 + 0.2 * len(bars))


def causes_over_time(result: dict[str, Any]) -> Drawing | None:
    """The causes of latency in each interval, as shares."""
    told = (result.get("time_of") or {}).get("series") or {}
    panels_of = [(op, told.get(op) or {}) for op in causes.OPS if told.get(op)]
    if not panels_of:
        return None
    interval = told["interval_s"]

    def plot(figure: Figure) -> None:
        import numpy
        from matplotlib.ticker import PercentFormatter

        panels = figure.subplots(len(panels_of), 1, sharex=True, squeeze=False)[:, 0]
        names = {}
        for axes, (op, spent) in zip(panels, panels_of, strict=True):
            shown = [cause for cause in causes.CAUSES if cause.key in spent]
            values = numpy.array([spent[cause.key] for cause in shown], dtype=float)
            total = values.sum(axis=0)
            shares = numpy.divide(values, total, out=numpy.zeros_like(values), where=total > 0)
            edges = numpy.arange(values.shape[1] + 1) * interval
            floor = numpy.zeros(values.shape[1])
            for cause, share in zip(shown, shares, strict=True):
                top = floor + share
                names[cause.name] = axes.fill_between(
                    edges, numpy.append(floor, floor[-1]), numpy.append(top, top[-1]), step="post", linewidth=0,
                    facecolor=cause.colour, hatch=cause.hatch, edgecolor=PAPER,
                )  # fmt: skip
                floor = top
            axes.set_ylim(0, 1)
            axes.set_ylabel(op)
            axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
        time_axes(figure, panels, end(result))
        order = [cause.name for cause in causes.CAUSES if cause.name in names]
        figure.legend(
            [names[name] for name in order], order, loc="outside upper left", handlelength=1.2, columnspacing=1.0,
            ncols=3 if is_narrow(figure) else 6,
        )  # fmt: skip

    words = (
        f"Of the latency of the requests that ended in an interval of {interval_words(told)}, the share of each cause."
    )
    return Drawing("Causes of latency over time", words, plot, height=0.75 + 0.5 * len(panels_of))


def part_axis(axes: Axes, count: int, name: str, most: int = 6) -> None:
    """An axis of numbered parts, the first above."""
    from matplotlib.ticker import MaxNLocator

    axes.yaxis.set_major_locator(MaxNLocator(min(count, most), integer=True))
    axes.set_ylabel(name)


def _largest(rows: Iterable[Sequence[float]]) -> float:
    return max((share for row in rows for share in row), default=0.0)


def dies_map(activity: dict[str, Any], result: dict[str, Any]) -> Drawing | None:
    """Die × time: cells at work, and below it what the collector held, on one scale."""
    maps = [
        ("at work", activity.get("dies") or [], MAP_BLUE),
        ("held by GC", activity.get("dies_gc") or [], MAP_ORANGE),
    ]
    drawn = [(name, rows, colour) for name, rows, colour in maps if any(any(row) for row in rows)]
    if not drawn:
        return None
    most = _largest(row for _, rows, _ in drawn for row in rows)

    def plot(figure: Figure) -> None:
        panels = figure.subplots(len(drawn), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (name, rows, colour) in zip(panels, drawn, strict=True):
            heat(axes, rows, activity["interval_s"], colour, most)
            part_axis(axes, len(rows), "die")
            axes.set_title(name, loc="left", fontsize=10)
        time_axes(figure, panels, end(result))

    words = (
        f"Share of each interval of {interval_words(activity)} in which a die's cells were at work"
        + (", and in which garbage collection held the die" if len(drawn) > 1 else "")
        + f". Full colour is the largest, {units.percent(most)}."
    )
    return Drawing("Dies over time", words, plot, height=0.3 + 0.65 * len(drawn))


def channels_map(activity: dict[str, Any], result: dict[str, Any]) -> Drawing | None:
    """Channel × time: how busy the buses were. In full colour is the busiest moment, since buses are rarely full."""
    rows = activity.get("channels") or []
    most = _largest(rows)
    if not most:
        return None

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        heat(axes, rows, activity["interval_s"], MAP_BLUE, most)
        part_axis(axes, len(rows), "channel")
        time_axes(figure, [axes], end(result))

    words = (
        f"Share of each interval of {interval_words(activity)} in which a channel's bus was in use. "
        f"Full colour is the largest, {units.percent(most)}."
    )
    return Drawing("Channels over time", words, plot, height=0.75)


def utilisation(shares: list[float], name: str) -> Drawing | None:
    """How busy each of many equal parts was."""
    if not shares:
        return None
    mean = sum(shares) / len(shares)

    def plot(figure: Figure) -> None:
        from matplotlib.ticker import FuncFormatter

        axes = figure.subplots()
        bars(axes, shares, 0, name)
        axes.axhline(mean, color=ORANGE, linestyle="--", linewidth=1.2, label=f"mean {units.percent(mean)}")
        axes.set_ylim(0, min(1.0, 1.15 * max(*shares, 0.001)) if max(shares) < 0.6 else 1.0)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.3g} %"))
        axes.set_ylabel("busy")
        legend(axes, 1)

    plural = {"die": "dies", "channel": "channels"}.get(name, f"{name}s")
    words = f"Share of simulated time in which each {name} was at work, for the host or for itself."
    return Drawing(f"Utilisation of {plural}", words, plot, height=0.75)


def bars(axes: Axes, values: Sequence[float], first: float, label: str, width: float = 1.0) -> None:
    """Bars side by side from ``first`` on; where they would be a pixel or less, their outline says the same."""
    from matplotlib.ticker import MaxNLocator

    count = len(values)
    if count <= 128:
        places = [first + n * width for n in range(count)]
        axes.bar(places, values, color=BLUE, width=0.8 * width, linewidth=0)
    else:
        edges = [first + (n - 0.5) * width for n in range(count + 1)]
        axes.stairs(values, edges, color=BLUE, fill=True, linewidth=0)
    axes.set_xlim(first - 0.7 * width, first + (count - 0.3) * width)
    axes.xaxis.set_major_locator(MaxNLocator(6 if is_narrow(axes.figure) else 12, integer=True))
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(label)


def wear(worn: dict[str, Any]) -> Drawing | None:
    """Blocks by their erases, and the mean of each plane."""
    found, planes = worn.get("histogram") or {}, worn.get("planes") or []
    if not found.get("blocks") or not worn.get("max"):
        return None
    width = found["width"]

    def plot(figure: Figure) -> None:
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        narrow = is_narrow(figure)
        left, right = figure.subplots(*((2, 1) if narrow else (1, 2)))
        bars(left, found["blocks"], found["first"] + (width - 1) / 2, "erases since new", width)
        left.set_ylabel("blocks")
        left.yaxis.set_major_formatter(FuncFormatter(lambda v, _: units.short(v)))
        bars(right, planes, 0, "plane")
        right.set_ylabel("erases a block")
        right.yaxis.set_major_locator(MaxNLocator(5))

    words = (
        "How many blocks have had how many erases since the drive was new, preconditioning included; "
        "and the mean of each plane."
    )
    return Drawing("Wear of the blocks", words, plot, height=0.85)
