"""The figures of a result page: SVG files that follow the reader's light or dark colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from wordline.base import drawing, palette
from wordline.base.drawing import svg
from wordline.base.palette import BUFFER, DIE, FLASH, HOST, INK, PAPER
from wordline.studies.outcome import Bars, Course, Figure, Lines, LogLines, Stack, Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

LETTERS = ":root{--letters:system-ui,'DejaVu Sans',sans-serif}"
LOOK = f"{palette.css()}{LETTERS}svg{{background:var(--paper)}}"

INCHES = (8.0, 3.4)
PIXELS_AN_INCH = 96

SERIES = palette.SERIES
HATCHES = ("", "//", "..", "xx")
"""A second mark of a series, for colour-blind readers; the second round of colours has other hatches than the first."""

STAGES = {
    "CLE": HOST[3],
    "ALE": HOST[4],
    "WAIT": HOST[1],
    "TIR": DIE[1],
    "TOR": DIE[3],
    "TIN": FLASH[1],
    "TON": FLASH[3],
    "BER": FLASH[0],
    "DUMMY": BUFFER[1],
    "REGISTER": BUFFER[2],
}
"""Colours of the stages: hues for bus, array, and short stages."""

OTHER_STAGE = BUFFER[0]


def draw(figure: Figure, salt: str) -> str:
    """The text of an SVG file. ``salt`` keeps its inner names the same from run to run."""

    def plot(canvas: Canvas) -> None:
        axes = canvas.subplots()
        if isinstance(figure, Timeline):
            _timeline(axes, figure)
        elif isinstance(figure, Lines):
            _lines(axes, figure)
        elif isinstance(figure, Course):
            _course(axes, figure)
        else:
            _bars(axes, figure)
        if isinstance(figure, Bars | Lines) and figure.published:
            _published(canvas, axes, figure)

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
    """The legend above the figure, in as many columns as fit."""
    for columns in range(min(entries, 6), 0, -1):
        legend = axes.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2, columnspacing=1.2
        )
        # The rest of the width is that of the labels beside the axis.
        if legend.get_window_extent().width <= 0.92 * axes.figure.bbox.width:
            return


CROWDED = 60
"""Letters below an axis from which on they are smaller, so that neighbours stay apart."""

TOO_CROWDED = 80
"""Letters below an axis from which on they stand upright."""


def _steps(axes: Axes, steps: Sequence[str]) -> None:
    letters = sum(map(len, steps))
    axes.set_xticks(range(len(steps)), steps, fontsize="small" if letters > CROWDED else None)
    if letters > TOO_CROWDED:
        axes.tick_params("x", labelrotation=90)
    axes.grid(visible=False, axis="x")


def _bars(axes: Axes, figure: Bars | Stack) -> None:
    """Bars beside each other, or on top of each other."""
    stacked = isinstance(figure, Stack)
    width = _bar_width(figure)
    floor = [0.0] * len(figure.groups)
    for (name, given), (colour, hatch) in zip(figure.series.items(), _looks(len(figure.series)), strict=True):
        shift = 0.0 if stacked else _shift(figure, name)
        values = [value or 0.0 for value in given]
        places = [group + shift for group in range(len(figure.groups))]
        axes.bar(
            places,
            values,
            width * 0.95,
            bottom=floor if stacked else 0.0,
            # A stage has the same colour as in a timeline.
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


def _bar_width(figure: Bars | Stack) -> float:
    return 0.6 if isinstance(figure, Stack) else 0.8 / len(figure.series)


def _shift(figure: Bars, series: str) -> float:
    """Offset of the bars of a series from the middle of their group."""
    return (list(figure.series).index(series) - (len(figure.series) - 1) / 2) * _bar_width(figure)


PUBLISHED = ("D", "s", "o", "^")
"""Marks of published figures, hollow, to distinguish them from measured ones."""


def _published(canvas: Canvas, axes: Axes, figure: Bars | Lines) -> None:
    """Published figures at their places: a hollow mark, and for a range a line between its ends."""
    from matplotlib.patheffects import withStroke

    # A border separates a mark from a bar of its colour; of two marks at one place, the second is larger.
    apart = [withStroke(linewidth=4, foreground=PAPER)]
    kinds = {words: n for n, words in enumerate(dict.fromkeys(it.words for it in figure.published))}
    handles = {}
    for it in figure.published:
        kind = kinds[it.words]
        x = it.at + (_shift(figure, it.series) if isinstance(figure, Bars) and it.series else 0.0)
        ends = sorted({it.low, it.high})
        axes.plot([x] * len(ends), ends, color=INK, linewidth=1.6, path_effects=apart, zorder=4)
        (handles[it.words],) = axes.plot(
            [x] * len(ends), ends, linewidth=0, marker=PUBLISHED[kind % len(PUBLISHED)], markersize=6 + 3 * kind,
            markerfacecolor=PAPER, markeredgecolor=INK, markeredgewidth=1.4, path_effects=apart, zorder=6 - 0.1 * kind,
        )  # fmt: skip
    shown = [value for values in figure.series.values() for value in values if value is not None]
    axes.set_ylim(top=1.08 * max(*shown, *(it.high for it in figure.published)))
    canvas.legend(handles.values(), handles.keys(), loc="outside lower left", ncols=1)


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
    if isinstance(figure, LogLines):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(figure.x)
    axes.set_ylabel(figure.y)
    _legend(axes, len(figure.series))


def _course(axes: Axes, figure: Course) -> None:
    """Lines over time; dots where most values are missing, since lines between a few neighbours would mislead."""
    given = [value for values in figure.series.values() for value in values]
    sparse = given.count(None) > len(given) / 2
    styles = cycle(("-", "--", ":", "-."))
    marks = cycle("osD^vP")
    for (name, values), (colour, _) in zip(figure.series.items(), _looks(len(figure.series)), strict=True):
        style, mark = next(styles), next(marks)
        if sparse:
            dots = [math.nan if value is None else value for value in values]
            axes.plot(figure.at, dots, color=colour, linewidth=0, marker=mark, markersize=4.5, label=name)
        else:
            drawing.line(axes, figure.at, values, color=colour, linestyle=style, label=name)
    # Also without values at the ends, so that figures of one window have the same axis.
    axes.set_xlim(min(figure.at), max(figure.at))
    if figure.from_zero:
        axes.set_ylim(bottom=0)
    # Counts that hardly change would have the common part of their ticks above the axis.
    axes.ticklabel_format(axis="y", useOffset=False)
    axes.set_xlabel(figure.x)
    axes.set_ylabel(figure.y)
    if len(figure.series) > 1:
        _legend(axes, len(figure.series))


def _timeline(axes: Axes, figure: Timeline) -> None:
    lanes = {lane: -n for n, lane in enumerate(figure.lanes)}
    shown: set[str] = set()
    for lane, stage, start, end in figure.spans:
        colour = STAGES.get(stage.upper(), OTHER_STAGE)
        label = stage if stage not in shown else None
        shown.add(stage)
        axes.barh(lanes[lane], end - start, left=start, height=0.62, color=colour, linewidth=0, label=label)
    axes.set_yticks(list(lanes.values()), list(lanes))
    axes.grid(visible=False, axis="y")
    axes.set_xlim(left=0)
    axes.set_xlabel("time (µs)")
    _legend(axes, len(shown))
