"""Figures of replays: wear over what the host has written, blocks by their erases, and merges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.base.drawing import Drawing, is_narrow, legend, line, over_axes
from wordline.base.palette import BLUE, FAINT, GRID, INK, TEAL
from wordline.results import lifetimes, log_blocks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Result = dict[str, Any]

WRITTEN = "written by the host, in capacities of the drive"
"""The axis that all of these figures over the life have."""


def all_of(result: Result) -> dict[str, Drawing]:
    """The figures by their place in the page."""
    found = {
        "life": wear_over_life(result),
        "amplification": amplification_over_life(result),
        "bad": bad_blocks_over_life(result),
        "blocks": blocks_by_erases(result),
        "merges": merges(result),
    }
    return {place: figure for place, figure in found.items() if figure is not None}


def is_line(result: Result) -> bool:
    """True if the curve has more than the points at its ends, and something was written between them."""
    return len(result["lifetime"]) > 1 and result["lifetime"][-1]["host_bytes"] > 0


def wear_over_life(result: Result) -> Drawing | None:
    """Erases of a block above: mean, least and most; their standard deviation below."""
    if not is_line(result) or not lifetimes.wears(result):
        return None
    x, points = lifetimes.drive_writes(result), result["lifetime"]

    def column(key: str) -> list[float]:
        return [point[key] for point in points]

    def plot(figure: Figure) -> None:
        upper, lower = figure.subplots(2, 1, sharex=True)
        upper.fill_between(x, column("least"), column("most"), facecolor=GRID, linewidth=0, label="least to most")
        upper.plot(x, column("mean"), color=BLUE, label="mean")
        upper.set_ylabel("erases of\na block")
        legend(upper, 2)
        lower.plot(x, column("stddev"), color=INK)
        lower.set_ylabel("standard\ndeviation")
        for axes in (upper, lower):
            count_axis(axes)
        over_axes(figure, (upper, lower), x[-1], WRITTEN)

    last = points[-1]
    what = (
        f"At the end {units.three(last['mean'])} erases of a block on average, {units.count(last['least'])} to "
        f"{units.count(last['most'])}, standard deviation {units.three(last['stddev'])}."
    )
    words = "Erases of a block since the drive was new: mean over all blocks with the range, and their deviation."
    return Drawing("Wear over the life", words, plot, height=1.4, what=f"{words} {what}")


def amplification_over_life(result: Result) -> Drawing | None:
    """Write amplification since the start, and over the last while."""
    told = lifetimes.amplification(result)
    if not is_line(result) or told.since_start[-1] is None:
        return None
    x = lifetimes.drive_writes(result)

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        line(axes, x, told.rolling, color=BLUE, label="rolling")
        line(axes, x, told.since_start, color=INK, linestyle="--", label="since the start")
        count_axis(axes)
        axes.axhline(1, color=FAINT, linewidth=0.8)
        axes.set_ylabel("write\namplification")
        legend(axes, 2)
        over_axes(figure, [axes], x[-1], WRITTEN)

    words = (
        "Bytes programmed per byte written by the host, since the start and rolling over one part in "
        f"{lifetimes.WINDOWS} of what was written."
    )
    return Drawing("Write amplification over the life", words, plot, height=0.75)


def bad_blocks_over_life(result: Result) -> Drawing | None:
    """Bad blocks, and those that are held back to replace them."""
    if not is_line(result) or not lifetimes.has_bad_blocks(result):
        return None
    x, points = lifetimes.drive_writes(result), result["lifetime"]

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        for key, name, colour, style in (
            ("spare_blocks", "held back", TEAL, "--"),
            ("bad_blocks", "bad", INK, "-"),
        ):
            axes.step(x, [point[key] for point in points], where="post", color=colour, linestyle=style, label=name)
        count_axis(axes, integer=True)
        axes.set_ylabel("blocks")
        legend(axes, 2)
        over_axes(figure, [axes], x[-1], WRITTEN)

    words = "Bad blocks, with those from the factory, and blocks held back to replace bad ones."
    return Drawing("Bad and spare blocks over the life", words, plot, height=0.75)


def blocks_by_erases(result: Result) -> Drawing | None:
    """Blocks by their erases at the beginning, in the middle and at the end, one above the other."""
    if not lifetimes.wears(result):
        return None
    numbers = lifetimes.picked(result, lifetimes.HISTOGRAMS)
    shown = [result["lifetime"][n] for n in numbers]
    written = [lifetimes.drive_writes(result)[n] for n in numbers]

    def plot(figure: Figure) -> None:
        panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
        for axes, point, amount in zip(panels, shown, written, strict=True):
            histogram(axes, point["histogram"])
            axes.set_title(f"at {units.three(amount)} times the capacity", loc="left", fontsize=10)
            axes.set_ylabel("blocks")
        panels[-1].set_xlabel("erases since new")

    widths = {point["histogram"]["width"] for point in shown}
    wide = f"bars of {spoken(sorted(widths))}" if widths != {1} else "a bar for each number"
    words = f"Number of blocks by erases since the drive was new, preconditioning included; {wide}."
    return Drawing("Blocks by their erases", words, plot, height=0.3 + 0.5 * len(shown))


def spoken(widths: Sequence[int]) -> str:
    """Widths of bars, from the first panel with it on: ``1, 4 or 9 erases``."""
    texts = [units.count(width) for width in widths]
    both = " or ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
    return f"{both} {'erase' if widths == [1] else 'erases'}"


def histogram(axes: Axes, bars: Result) -> None:
    """Blocks by their erases, as steps."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    edges = [bars["first"] + n * bars["width"] - 0.5 for n in range(len(bars["blocks"]) + 1)]
    axes.stairs(bars["blocks"], edges, color=BLUE, fill=True, linewidth=0)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: units.short(v)))
    axes.xaxis.set_major_locator(MaxNLocator(6 if is_narrow(axes.figure) else 12, integer=True))
    axes.grid(visible=False, axis="x")


def merges(result: Result) -> Drawing | None:
    """Merges of logical blocks by kind, on a drive with log blocks."""
    told = result.get("log_blocks")
    if not told or not told["merges"]:
        return None
    counts = [told[f"{kind}_merges"] for kind in log_blocks.KINDS]

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        axes.barh(range(len(counts)), counts, height=0.62, color=BLUE, linewidth=0)
        for row, count in enumerate(counts):
            axes.text(count, row, f" {units.count(count)}", va="center", color=INK)
        axes.set_yticks(range(len(counts)), log_blocks.KINDS)
        axes.set_ylim(len(counts) - 0.5, -0.5)
        axes.set_xlim(0, 1.18 * max(1, *counts))
        count_axis(axes, axes.xaxis, integer=True)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("merges of logical blocks")

    words = (
        "A switch merge makes a log block the data block, a partial one copies the rest behind what it holds in order, "
        "a full one copies all pages to a free block."
    )
    return Drawing("Merges by kind", words, plot, height=0.6)


def count_axis(axes: Axes, axis: Any = None, *, integer: bool = False) -> None:  # noqa: ANN401
    """An axis from nought on, with brief numbers: the upright one, if no other is given."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    if axis is None:
        axes.set_ylim(bottom=0)
        axis = axes.yaxis
    axis.set_major_locator(MaxNLocator(4, integer=integer))
    axis.set_major_formatter(FuncFormatter(lambda v, _: units.short(v) if v >= 1e4 else f"{v:g}"))
