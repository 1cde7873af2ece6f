"""The figures of the tests, each from one definition for page and files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.base.drawing import (
    Drawing,
    apart,
    is_narrow,
    latency_ticks,
    legend,
    plain_latency,
)
from wordline.base.palette import BLUE, FAINT, GRID, INK, SERIES, TEAL
from wordline.pts import steady
from wordline.report.figures import rate_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = tuple(zip(SERIES, ("-", "--", "-.", ":", "-.", "--", "-"), strict=True))
"""Colour and style of each mix, from reads to writes."""

MARKS = "osv^D<>"

MUCH = 20
"""Values whose largest is more than so many times the smallest are drawn on a logarithmic axis."""


def every(result: dict[str, Any]) -> list[Drawing]:
    """The figures of all tests."""
    return [drawing for one in result["tests"] for drawing in of_test(one)]


def of_test(one: dict[str, Any]) -> list[Drawing]:
    """The figures of a test, without those that would show nothing."""
    if "points" in one:
        return [_series(one)] if one["points"] else []
    if not one["rounds"]:
        return []
    result = {"iops": [_matrix], "mean_us": [_latencies]}.get(one["figure"], [])
    return [draw(one) for draw in (*result, _convergence, _window)]


def _figure_axis(axes: Axes, one: dict[str, Any], values: Sequence[float]) -> None:
    """The axis of a test's own figure: logarithmic if ``values`` differ much, and else from nought on."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    latency = one["unit"] == "µs"
    axes.set_ylabel("latency" if latency else one["unit"])
    if min(values) > 0 and max(values) > MUCH * min(values):
        axes.set_yscale("log")
        axes.yaxis.set_minor_locator(NullLocator())
        if latency:
            latency_ticks(axes.yaxis, min(values), max(values))
            return
    else:
        axes.set_ylim(0, 1.1 * max(values))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: _tick(v, latency)))


def _tick(value: float, latency: bool) -> str:
    if latency:
        return plain_latency(value) if value else "0"
    return f"{value / 1e3:g} k" if value >= 1e4 else f"{value:g}"


def _matrix(one: dict[str, Any]) -> Drawing:
    """IOPS over the size of requests, a line for each mix."""
    cells = one["cells"]

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        mixes = list(dict.fromkeys(cell["mix"] for cell in cells))
        for (colour, style), mark, mix in zip(LOOKS, MARKS, mixes, strict=False):
            line = sorted((cell["size_bytes"], cell["iops"]) for cell in cells if cell["mix"] == mix)
            axes.plot(*zip(*line, strict=True), color=colour, linestyle=style, marker=mark, markersize=4, label=mix)
        _block_axis(axes, cells)
        _figure_axis(axes, one, [cell["iops"] for cell in cells])
        if is_narrow(figure):
            legend(axes, 3)
        else:
            axes.legend(title="R/W", loc="center left", bbox_to_anchor=(1, 0.5))

    words = "IOPS by size of requests and share of reads and writes, means over the measurement window."
    return Drawing(f"{one['title']} by block size and mix", words, plot, height=1.25)


def _block_axis(axes: Axes, cells: Sequence[dict[str, Any]]) -> None:
    from matplotlib.ticker import NullLocator

    sizes = sorted({cell["size_bytes"] for cell in cells})
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{size / 1024:g}" for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("KiB a request")


def _latencies(one: dict[str, Any]) -> Drawing:
    """Mean latency, a bar for each cell, and the largest, a mark for each.

    The largest differ by factors of thousands, so their axis is logarithmic, where bars make no sense.
    """
    cells = one["cells"]
    mixes = list(dict.fromkeys(cell["mix"] for cell in cells))
    blocks = list(dict.fromkeys(cell["block"] for cell in cells))
    places = {
        (mix, block): x + 0.27 * (n - (len(mixes) - 1) / 2)
        for n, mix in enumerate(mixes)
        for x, block in enumerate(blocks)
    }

    def plot(figure: Figure) -> None:
        panels = figure.subplots(*((2, 1) if is_narrow(figure) else (1, 2)))
        mean, largest = panels
        for mix, mark, colour in zip(mixes, MARKS, SERIES, strict=False):
            mine = [cell for cell in cells if cell["mix"] == mix]
            x = [places[mix, cell["block"]] for cell in mine]
            mean.bar(x, [cell["mean_us"] for cell in mine], width=0.25, color=colour, label=f"R/W {mix}")
            largest.plot(x, [cell["max_us"] for cell in mine], color=colour, marker=mark, linewidth=0, markersize=7)
        _figure_axis(mean, one, [0, *(cell["mean_us"] for cell in cells)])
        values = [cell["max_us"] for cell in cells]
        largest.set_yscale("log")
        largest.set_ylim(min(values) / 2, 2 * max(values))
        latency_ticks(largest.yaxis, min(values), max(values))
        for axes, name in zip(panels, ("mean", "largest"), strict=True):
            axes.set_xticks(range(len(blocks)), blocks)
            axes.set_xlim(-0.6, len(blocks) - 0.4)
            axes.grid(visible=False, axis="x")
            axes.set_ylabel(f"{name} latency")
        handles, names = mean.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=len(mixes), handlelength=1.2, columnspacing=1.0)

    words = "Mean latency of one request at a time over the measurement window, and the largest, on a logarithmic axis."
    return Drawing(f"{one['title']} by block size and mix", words, plot, height=1.1, tall=1.5)


def _convergence(one: dict[str, Any]) -> Drawing:
    """What each round measured, for all cells that differ from the tracked one in size (throughput: in direction)."""
    tracked, cells = one["tracked"], one["cells"]
    blocks = {cell["block"] for cell in cells}
    lines = [cell for cell in cells if cell["mix"] == tracked["mix"] or len(blocks) == 1]
    first = max(1, one["rounds"] - steady.WINDOW + 1)

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        rounds = range(1, one["rounds"] + 1)
        if one["rounds"] > 1:
            axes.axvspan(first, one["rounds"], color=GRID, alpha=0.5, linewidth=0)
        looks = [(BLUE, 2.2) if _same(cell, tracked) else (FAINT, 1.4) for cell in lines]
        for cell, (colour, width) in zip(lines, looks, strict=True):
            axes.plot(rounds, cell["values"], marker="o", markersize=4, color=colour, linewidth=width, zorder=1 + width)
        _figure_axis(axes, one, [value for cell in lines for value in cell["values"]])
        _round_axis(axes, 1, one["rounds"])
        names = [cell["block"] if len(blocks) > 1 else f"R/W {cell['mix']}" for cell in lines]
        _at_ends(axes, one["rounds"], [cell["values"][-1] for cell in lines], names, [colour for colour, _ in looks])

    what = f"R/W {tracked['mix']} at each size" if len(blocks) > 1 else "Reads and writes"
    words = f"{what}, round by round; the thick line is tracked, and the measurement window is shaded."
    return Drawing(f"{one['title']}, convergence", words, plot, height=1.15)


def _same(cell: dict[str, Any], tracked: dict[str, Any]) -> bool:
    return (cell["block"], cell["mix"]) == (tracked["block"], tracked["mix"])


LABEL_POINTS = 11.0
"""Height of a label's line."""


def _at_ends(axes: Axes, x: float, values: Sequence[float], names: Sequence[str], colours: Sequence[str]) -> None:
    """A name behind the end of each line, none over another."""
    low, high = axes.get_ylim()
    scale = axes.yaxis.get_transform().transform
    bottom, top, *ends = scale([low, high, *values])
    # The panel takes some three quarters of the figure's height; the layout says how much when all is in its place.
    points = 0.75 * 72 * axes.figure.get_figheight()
    ideal = [points * (end - bottom) / (top - bottom) for end in ends]
    for value, name, colour, at, place in zip(values, names, colours, ideal, apart(ideal, LABEL_POINTS), strict=True):
        axes.annotate(
            name, (x, value), (8, place - at), textcoords="offset points", va="center", fontsize=9,
            color=INK if colour == FAINT else colour, annotation_clip=False,
        )  # fmt: skip


def _round_axis(axes: Axes, first: int, last: int) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    margin = 0.06 * max(1, last - first)
    axes.set_xlim(first - margin, last + 2.4 * margin)
    axes.set_xlabel("round")


def _window(one: dict[str, Any]) -> Drawing:
    """The tracked value in the measurement window, with what is allowed."""
    found, tracked = one["steady_state"], one["tracked"]
    count, mean = found["rounds"], found["mean"]
    rounds = list(range(one["rounds"] - count + 1, one["rounds"] + 1))
    fitted = [mean + found["slope"] * (n - (count - 1) / 2) for n in range(count)]

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        values = tracked["values"][-count:]
        half = steady.RANGE / 2
        axes.plot(rounds, values, color=BLUE, marker="o", markersize=5, linewidth=0, label="measured")
        axes.plot(rounds, fitted, color=TEAL, linestyle="--", label="best fit")
        axes.axhline(mean, color=INK, linewidth=1, label="mean")
        for share, name in ((1 - half, "mean ± 10 %"), (1 + half, None)):
            axes.axhline(share * mean, color=FAINT, linestyle=":", linewidth=1.2, label=name)
        _figure_axis(axes, one, [0, *values])
        axes.set_ylim(min(*values, (1 - half) * mean) - 0.05 * mean, max(*values, (1 + half) * mean) + 0.05 * mean)
        _round_axis(axes, rounds[0], rounds[-1])
        legend(axes, 2 if is_narrow(figure) else 4)

    words = (
        f"R/W {tracked['mix']}, {tracked['block']}: the last {units.some(count, 'round')}, and the limits of a range "
        "of 20 %."
    )
    return Drawing(f"{one['title']}, steady-state window", words, plot)


def _series(one: dict[str, Any]) -> Drawing:
    """Rate, latency and write amplification over the workloads; phases side by side."""
    points = one["points"]
    starts = [n for n, point in enumerate(points) if n == 0 or points[n - 1]["phase"] != point["phase"]]

    def plot(figure: Figure) -> None:
        rate, latency, amplification = figure.subplots(3, 1, sharex=True)
        # Each load from nought on, one behind another.
        offsets: dict[int, float] = {}
        for n, start in enumerate(starts):
            offsets[points[start]["phase"]] = (
                points[start - 1]["capacities"] + offsets[points[start - 1]["phase"]] if n else 0.0
            )
        for n, start in enumerate(starts):
            mine = points[start : starts[n + 1] if n + 1 < len(starts) else len(points)]
            x = [offsets[point["phase"]] + point["capacities"] for point in mine]
            colour = SERIES[n % 3]
            marker = "." if len(mine) < 30 else None
            rate.plot(x, [point[one["figure"]] for point in mine], color=colour, marker=marker, label=mine[0]["load"])
            latency.plot(x, [point["mean_us"] for point in mine], color=colour, marker=marker, label="mean")
            latency.plot(
                x, [point["max_us"] for point in mine], color=colour, linestyle=":", marker=marker, label="max"
            )
            amplification.plot(x, [point["write_amplification"] for point in mine], color=colour, marker=marker)
        for axes in (rate, latency, amplification):
            for start in starts[1:]:
                axes.axvline(offsets[points[start]["phase"]], color=FAINT, linewidth=0.8)
        rate_axis(rate, one["unit"])
        latency.set_yscale("log")
        values = [point[key] for point in points for key in ("mean_us", "max_us")]
        latency_ticks(latency.yaxis, min(values), max(values))
        latency.set_ylabel("latency")
        amplification.set_ylabel("write\namplification")
        amplification.set_ylim(bottom=0)
        amplification.set_xlim(left=0)
        amplification.set_xlabel("written, in capacities of the drive")
        legend(rate, 1 if is_narrow(figure) else len(starts))

    words = (
        f"{one['unit']}, latency (mean, and dotted the largest) and write amplification; a point is the mean over 5 % "
        "of the capacity."
    )
    return Drawing(one["title"], words, plot, height=1.9)
