"""Figures of several replays in the same axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wordline.base.drawing import Drawing, line, over_axes
from wordline.report.comparefigures import LOOKS, legend_of
from wordline.report.lifefigures import WRITTEN, count_axis, is_line
from wordline.results import lifetimes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from wordline.report.compare import Run

PANELS = {
    "mean": "erases of\na block",
    "stddev": "standard\ndeviation",
    "rolling": "write\namplification",
}
"""Curves over the life, with what their axes say."""


def all_of(runs: Sequence[Run]) -> dict[str, Drawing]:
    """The figures by their place in the page."""
    drawn = [run for run in runs if is_line(run.result)]
    return {"life": over_life(runs)} if drawn else {}


def curve(result: dict[str, Any], key: str) -> list[float | None]:
    """A curve of a replay at the points of its life."""
    if key == "rolling":
        return lifetimes.amplification(result).rolling
    return [point[key] for point in result["lifetime"]]


def over_life(runs: Sequence[Run]) -> Drawing:
    """Mean and standard deviation of the erases of a block, and write amplification."""

    def plot(figure: Figure) -> None:
        panels = figure.subplots(len(PANELS), 1, sharex=True)
        longest = 0.0
        for run, (colour, style) in zip(runs, LOOKS, strict=False):
            if not is_line(run.result):
                continue
            x = lifetimes.drive_writes(run.result)
            longest = max(longest, x[-1])
            for axes, key in zip(panels, PANELS, strict=True):
                line(axes, x, curve(run.result, key), color=colour, linestyle=style)
        for axes, label in zip(panels, PANELS.values(), strict=True):
            count_axis(axes)
            axes.set_ylabel(label)
        over_axes(figure, panels, longest, WRITTEN)
        legend_of(figure, runs)

    words = (
        "Mean over all blocks of their erases since the drive was new, the standard deviation, and write amplification "
        f"rolling over one part in {lifetimes.WINDOWS} of what each wrote."
    )
    return Drawing("Over the life", words, plot, height=2.0)
