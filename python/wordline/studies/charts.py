"""The figures of a result page: SVG files that follow the reader's light or dark colours."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from wordline.base.drawing import BLUE, FAINT, GREEN, ORANGE, PAPER, svg
from wordline.studies.outcome import Bars, Figure, Lines, Stack, Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

LIGHT = "--paper:#fff;--ink:#1b2230;--faint:#6b7484;--grid:#d9dde4;--blue:#0067a5;--orange:#c65102;--green:#00755a"
DARK = "--paper:#12161d;--ink:#e4e8ee;--faint:#98a2b3;--grid:#333c4a;--blue:#5cb3f0;--orange:#f5a04c;--green:#3fc9a0"
LETTERS = "--letters:system-ui,'DejaVu Sans',sans-serif"
LOOK = f":root{{{LIGHT};{LETTERS}}}@media (prefers-color-scheme:dark){{:root{{{DARK}}}}}svg{{background:var(--paper)}}"

INCHES = (8.0, 3.4)
PIXELS_AN_INCH = 96

SERIES = (BLUE, ORANGE, GREEN, FAINT)
HATCHES = ("", "//", "..", "xx")
"""A second mark of a series, for those who see no colours; the second four take other ones than the first."""

STAGES = {
    "CLE": FAINT,
    "ALE": FAINT,
    "wait": FAINT,
    "TIR": BLUE,
    "TOR": BLUE,
    "TIN": ORANGE,
    "TON": ORANGE,
    "BER": ORANGE,
    "WAIT": FAINT,
    "DUMMY": GREEN,
    "REGISTER": GREEN,
}
"""Colours of the stages: what the bus does, what the cells do, and the short ones. Others are green."""


def draw(figure: Figure, salt: str) -> str:
    """The text of an SVG file. ``salt`` keeps its inner names the same from run to run."""

    def plot(canvas: Canvas) -> None:
        axes = canvas.subplots()
        if isinstance(figure, Timeline):
            _timeline(axes, figure)
        elif isinstance(figure, Lines):
            _lines(axes, figure)
        else:
            _bars(axes, figure)

    width, height = INCHES
    if isinstance(figure, Timeline):
        height = 1.2 + 0.32 * len(figure.lanes)
    text = svg(plot, (width, height), f"{salt}-{figure.name}")
    head, body = text.split(">", 1)
    size = f' width="{width * PIXELS_AN_INCH:.0f}" height="{height * PIXELS_AN_INCH:.0f}"'
    return f"{head}{size}><title>{figure.title}</title><style>{LOOK}</style>{body}\n"


def _looks(count: int) -> list[tuple[str, str]]:
    """Colour and hatch of each of ``count`` series."""
    return [(SERIES[n % len(SERIES)], HATCHES[(n + n // len(SERIES)) % len(HATCHES)]) for n in range(count)]


def _legend(axes: Axes, entries: int) -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=min(entries, 6), borderaxespad=0.2, columnspacing=1.2)


def _steps(axes: Axes, steps: Sequence[str]) -> None:
    axes.set_xticks(range(len(steps)), steps)
    axes.grid(visible=False, axis="x")


def _bars(axes: Axes, figure: Bars | Stack) -> None:
    """Bars beside each other, or on top of each other."""
    stacked = isinstance(figure, Stack)
    width = 0.6 if stacked else 0.8 / len(figure.series)
    floor = [0.0] * len(figure.groups)
    for n, ((name, given), (colour, hatch)) in enumerate(
        zip(figure.series.items(), _looks(len(figure.series)), strict=True)
    ):
        shift = 0.0 if stacked else (n - (len(figure.series) - 1) / 2) * width
        values = [value or 0.0 for value in given]
        places = [group + shift for group in range(len(figure.groups))]
        axes.bar(
            places,
            values,
            width * 0.95,
            bottom=floor if stacked else 0.0,
            # A stage has the colour that it has in a timeline too.
            color=STAGES.get(name, colour) if stacked else colour,
            hatch=hatch,
            edgecolor=PAPER,
            linewidth=0,
            label=name,
        )
        if stacked:
            floor = [low + value for low, value in zip(floor, values, strict=True)]
    _steps(axes, figure.groups)
    axes.set_ylabel(figure.y)
    if len(figure.series) > 1:
        _legend(axes, len(figure.series))


def _lines(axes: Axes, figure: Lines) -> None:
    styles = cycle(("-", "--", ":", "-."))
    marks = cycle("osD^vP")
    for (name, given), (colour, _) in zip(figure.series.items(), _looks(len(figure.series)), strict=True):
        points = [(at, value) for at, value in enumerate(given) if value is not None]
        axes.plot(
            [at for at, _ in points],
            [value for _, value in points],
            color=colour,
            linestyle=next(styles),
            marker=next(marks),
            markersize=4,
            label=name,
        )
    _steps(axes, figure.steps)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(figure.x)
    axes.set_ylabel(figure.y)
    _legend(axes, len(figure.series))


def _timeline(axes: Axes, figure: Timeline) -> None:
    lanes = {lane: -n for n, lane in enumerate(figure.lanes)}
    shown: set[str] = set()
    for lane, stage, start, end in figure.spans:
        colour = STAGES.get(stage, GREEN)
        label = stage if stage not in shown else None
        shown.add(stage)
        axes.barh(lanes[lane], end - start, left=start, height=0.62, color=colour, linewidth=0, label=label)
    axes.set_yticks(list(lanes.values()), list(lanes))
    axes.grid(visible=False, axis="y")
    axes.set_xlim(left=0)
    axes.set_xlabel("time (µs)")
    _legend(axes, len(shown))
