"""Heat maps over simulated time, each with its scale: utilisation of parts, and latencies of requests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.base.drawing import MAP, MAP_GC, Drawing, interval_words, plain_latency, time_axes
from wordline.base.palette import GRID
from wordline.results import tasks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Values = Sequence[Sequence[float]]

OPS = ("read", "write", "flush", "trim")

LEAST = 0.15
"""Colour strength of a single request: the tail has few."""

ROWS_AN_OCTAVE = 8
"""Rows of pixels in a doubling of latency."""

SHARES = ((0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %"))
"""The scale of shares: always 0 to 100 %, so that an idle part looks idle."""


def heat(axes: Axes, strength: Values, extent: tuple[float, float, float, float], colour: str) -> None:
    """A picture of values from 0 to 1 within ``extent`` (left, right, bottom, top). Nought is the page itself."""
    import numpy
    from matplotlib.colors import to_rgb

    values = numpy.asarray(strength, dtype=float)
    pixels = numpy.zeros((*values.shape, 4))
    pixels[..., :3] = to_rgb(colour)
    pixels[..., 3] = numpy.clip(values, 0, 1)
    axes.imshow((255 * pixels).round().astype("uint8"), aspect="auto", interpolation="none", extent=extent)
    axes.grid(visible=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(True)


def scale(figure: Figure, panel: int, colour: str, ticks: Sequence[tuple[float, str]], least: float = 0.0) -> None:
    """The colour scale of a panel: a bar beside it, with ``ticks`` at places from 0 to 1."""
    axes = figure.add_axes((0, 0, 0.01, 0.01))
    axes.set_gid(f"scale-time{panel}")
    steps = [[least + (1 - least) * (1 - n / 63)] for n in range(64)]
    heat(axes, steps, (0, 1, 0, 1), colour)
    axes.set_xticks([])
    axes.yaxis.tick_right()
    axes.set_yticks([at for at, _ in ticks], [text for _, text in ticks], fontsize=8)
    axes.tick_params(axis="y", length=2)
    for spine in axes.spines.values():
        spine.set_edgecolor(GRID)


def _largest(rows: Values) -> float:
    return max((share for row in rows for share in row), default=0.0)


def _parts(axes: Axes, rows: Values, interval_s: float, colour: str, name: str) -> None:
    """A row for each numbered part, the first above, and a column for each interval."""
    from matplotlib.ticker import MaxNLocator

    heat(axes, rows, (0, len(rows[0]) * interval_s, len(rows) - 0.5, -0.5), colour)
    axes.yaxis.set_major_locator(MaxNLocator(min(len(rows), 6), integer=True))
    axes.set_ylabel(name)


def dies_map(activity: dict[str, Any], end_s: float) -> Drawing | None:
    """Die × time: array busy, and below it dies held by each background task."""
    maps = [
        ("array busy", activity.get("dies") or [], MAP),
        ("held by GC", activity.get("dies_gc") or [], MAP_GC),
        *((f"held by {title}", activity.get(f"dies_{name}") or [], MAP) for name, title in tasks.others().items()),
    ]
    drawn = [(name, rows, colour) for name, rows, colour in maps if any(any(row) for row in rows)]
    if not drawn:
        return None

    def plot(figure: Figure) -> None:
        panels = figure.subplots(len(drawn), 1, sharex=True, squeeze=False)[:, 0]
        for n, (axes, (name, rows, colour)) in enumerate(zip(panels, drawn, strict=True)):
            _parts(axes, rows, activity["interval_s"], colour, "die")
            axes.set_title(name, loc="left", fontsize=10)
            scale(figure, n, colour, SHARES)
        time_axes(figure, panels, end_s)

    most = ", ".join(f"{name} {units.percent(_largest(rows))}" for name, rows, _ in drawn)
    by_name = {"GC": "garbage collection (GC)"}
    held = [by_name.get(by, by) for name, _, _ in drawn if (by := name.removeprefix("held by ")) != name]
    words = (
        f"Share of each interval of {interval_words(activity)} in which a die's array was busy"
        + "".join(f", and in which {by} held the die" for by in held)
        + f". Largest: {most}."
    )
    return Drawing("Dies over time", words, plot, height=0.3 + 0.65 * len(drawn))


def channels_map(activity: dict[str, Any], end_s: float) -> Drawing | None:
    """Channel × time: utilisation of the buses."""
    rows = activity.get("channels") or []
    most = _largest(rows)
    if not most:
        return None

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        _parts(axes, rows, activity["interval_s"], MAP, "channel")
        scale(figure, 0, MAP, SHARES)
        time_axes(figure, [axes], end_s)

    words = (
        f"Share of each interval of {interval_words(activity)} in which a channel's bus was in use. "
        f"Largest: {units.percent(most)}."
    )
    return Drawing("Channels over time", words, plot, height=0.75)


@dataclass(frozen=True)
class Counts:
    """Requests of each interval by latency class, for the classes that occur."""

    interval_s: float
    columns: dict[str, list[list[int]]]
    """By operation and interval, the requests of each class from the fastest on; zeros at the end are left out."""
    edges_us: list[float]
    """Where the classes begin and end."""
    is_open: bool
    """True if the first class also holds all faster requests; its lower edge is then arbitrary."""
    most: int
    """The largest count."""


def counts(told: dict[str, Any]) -> Counts | None:
    """The data of a map of latencies; None without requests.

    :param told: ``latency_over_time`` of a result.
    """
    drawn = {op: told[op] for op in OPS if any(any(column) for column in told.get(op) or [])}
    if not drawn:
        return None
    # Classes without any request would only squeeze the others.
    used = [row for columns in drawn.values() for column in columns for row, count in enumerate(column) if count]
    first, last = min(used), max(used)
    return Counts(
        told["interval_s"],
        {op: [column[first:] for column in columns] for op, columns in drawn.items()},
        _edges(told["up_to_us"])[first : last + 2],
        first == 0,
        round(max(_largest(columns) for columns in drawn.values())),
    )


def latency_map(told: dict[str, Any], end_s: float) -> Drawing | None:
    """Latency × time, a panel for each operation: requests of an interval by latency.

    :param told: ``latency_over_time`` of a result.
    """
    shown = counts(told)
    if shown is None:
        return None
    classes = len(shown.edges_us) - 1

    def plot(figure: Figure) -> None:
        panels = figure.subplots(len(shown.columns), 1, sharex=True, squeeze=False)[:, 0]
        for n, (axes, (op, columns)) in enumerate(zip(panels, shown.columns.items(), strict=True)):
            whole = [[*column, *[0] * (classes - len(column))] for column in columns]
            _latencies(axes, whole, shown.edges_us, shown.interval_s, shown.most)
            axes.set_title(units.plural(op), loc="left", fontsize=10)
            scale(figure, n, MAP, _decades(shown.most), LEAST)
        time_axes(figure, panels, end_s)

    words = (
        f"Number of requests by latency, in intervals of {interval_words(told)}; the lowest row includes all faster "
        f"ones. The scale is logarithmic: pale is one request, full colour {units.some(shown.most, 'request')}."
    )
    return Drawing("Latencies over time", words, plot, height=0.3 + 0.65 * len(shown.columns))


def _edges(up_to_us: Sequence[float]) -> list[float]:
    """Where classes of latency begin and end. The first holds all that is faster; it is drawn like a quarter octave."""
    return [up_to_us[0] / 2**0.25, *up_to_us]


def _latencies(axes: Axes, columns: Values, edges_us: Sequence[float], interval_s: float, most: float) -> None:
    """Rows of equal height on a logarithmic axis; each shows the row of the result that its middle lies in."""
    import numpy
    from matplotlib.ticker import FixedLocator, FuncFormatter

    counts = numpy.asarray(columns, dtype=float).T
    low, high = math.log10(edges_us[0]), math.log10(edges_us[-1])
    height = max(1, round((high - low) / math.log10(2) * ROWS_AN_OCTAVE))
    middles = 10 ** (low + (numpy.arange(height) + 0.5) * (high - low) / height)
    rows = numpy.clip(numpy.searchsorted(edges_us, middles, side="right") - 1, 0, len(edges_us) - 2)
    logs = numpy.log(numpy.maximum(counts, 1)) / (math.log(most) if most > 1 else 1.0)
    strength = numpy.where(counts > 0, LEAST + (1 - LEAST) * (logs if most > 1 else 1.0), 0.0)
    heat(axes, strength[rows][::-1], (0, counts.shape[1] * interval_s, low, high), MAP)
    axes.yaxis.set_major_locator(FixedLocator(list(range(math.ceil(low), math.floor(high) + 1))))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda power, _: plain_latency(10**power)))
    axes.set_ylabel("latency")


def _decades(most: float) -> list[tuple[float, str]]:
    """Ticks of a logarithmic scale of counts from 1 to ``most``."""
    if most <= 1:
        return [(1.0, "1")]
    powers = [10**n for n in range(math.floor(math.log10(most)) + 1)]
    return [(math.log(power) / math.log(most), units.short(power)) for power in powers]
