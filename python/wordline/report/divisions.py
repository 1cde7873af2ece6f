"""Latency split by cause: of all requests, and of those around each percentile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.base.drawing import Drawing, is_narrow
from wordline.base.palette import FAINT, INK, PAPER
from wordline.results import causes
from wordline.results.causes import Cause

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CHARACTER = 0.082
"""Inches that a character of a label takes, and a little more."""

MOST_OF_A_BAR = 0.85
"""A label may take so much of its part of a bar."""


def where_time_went(result: dict[str, Any]) -> Drawing | None:
    """A bar for each operation, divided by the causes of its latency."""
    bars = {op: [(cause, share) for cause, _, share in causes.shares(result, op)] for op in causes.OPS}
    bars = {op: parts for op, parts in bars.items() if parts}
    if not bars:
        return None

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        named = stacks(axes, list(bars.values()))
        axes.set_yticks(range(len(bars)), list(bars))
        cause_legend(figure, named)

    words = "Share of each cause in the total latency of an operation. The parts add up to 100 %."
    return Drawing("Where the time went", words, plot, 0.5 + 0.2 * len(bars), tall=1.4)


@dataclass(frozen=True)
class Band:
    """Requests of about the same latency."""

    name: str
    """The percentiles among them: ``p99``."""
    requests: int
    seconds: dict[str, float]
    """Their total time by cause."""

    @property
    def parts(self) -> list[tuple[Cause, float]]:
        """Each cause with its share."""
        whole = sum(self.seconds.values())
        return [(cause, self.seconds[cause.key] / whole) for cause in causes.CAUSES if self.seconds.get(cause.key)]

    @property
    def mean_us(self) -> float:
        """Mean latency."""
        return 1e6 * sum(self.seconds.values()) / self.requests


PERCENTILES = {"p50": 0.5, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}

BEYOND = 10
"""A percentile is shown if so many requests are slower; the slowest are this many, if there are."""


def bands_of(classes: dict[str, list[float]]) -> list[Band]:
    """The latency class of each percentile, and the slowest, from fast to slow.

    :param classes: ``time_of.by_latency`` of an operation: ``requests`` of each class, and lists of seconds by cause.
    """
    requests = [round(number) for number in classes["requests"]]
    ends, whole, last = list(accumulate(requests)), sum(requests), len(requests) - 1
    names: dict[int, list[str]] = {}
    for key, share in PERCENTILES.items():
        # A share of all that is a whole number in decimals may be a little more in binary.
        if round((1 - share) * whole, 6) >= BEYOND:
            at = next(at for at, end in enumerate(ends) if end >= round(share * whole, 6))
            names.setdefault(at, []).append(units.percentile(key))
    if not names:
        return []
    slowest = last
    while slowest - 1 not in names and slowest not in names and sum(requests[slowest:]) < BEYOND:
        slowest -= 1
    names.setdefault(slowest, []).append("slowest")
    found = []
    for first, called in names.items():
        those = slice(first, last + 1 if first == slowest else first + 1)
        seconds = {cause.key: sum(classes.get(cause.key, [])[those]) for cause in causes.CAUSES}
        found.append(Band("\n".join(called), sum(requests[those]), seconds))
    return [band for band in found if any(band.seconds.values())]


def bands(result: dict[str, Any]) -> Drawing | None:
    """Requests around each percentile and the slowest, divided by the causes of their latency."""
    told = (result.get("time_of") or {}).get("by_latency") or {}
    panels_of = {op: some for op in causes.OPS if op in told and (some := bands_of(told[op]))}
    if not panels_of:
        return None
    rows = [len(some) for some in panels_of.values()]

    def plot(figure: Figure) -> None:
        panels = figure.subplots(len(rows), 1, sharex=True, squeeze=False, height_ratios=rows)[:, 0]
        named: dict[str, Any] = {}
        for axes, (op, some) in zip(panels, panels_of.items(), strict=True):
            named |= stacks(axes, [band.parts for band in some])
            axes.set_yticks(range(len(some)), [band.name for band in some])
            axes.set_title(units.plural(op), loc="left", fontsize=10)
            for row, band in enumerate(some):
                _behind(axes, row, band)
        cause_legend(figure, named)

    # Bars as long as their means would hide all but the slowest, which take thousands of times as long as p50.
    words = (
        "Latency by cause, for requests around each percentile (within a quarter of an octave) and the slowest. "
        "Beside each bar: their mean latency and their number."
    )
    return Drawing("Causes by percentile", words, plot, 0.5 + 0.19 * sum(rows) + 0.12 * len(rows), tall=1.2)


def _behind(axes: Axes, row: int, band: Band) -> None:
    """Beside a bar: mean latency, and fainter the number of requests."""
    text = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points", "va": "center", "fontsize": 9}
    axes.annotate(units.latency(band.mean_us), (1, row), (5, 5), **text)
    axes.annotate(units.short(band.requests), (1, row), (5, -5), color=FAINT, **text)


def stacks(axes: Axes, bars: Sequence[Iterable[tuple[Cause, float]]]) -> dict[str, Any]:
    """A bar of shares in each row, with the larger parts named in it; a mark of each cause, for the legend."""
    from matplotlib.ticker import PercentFormatter

    inches = axes.figure.get_figwidth() * 0.8
    named = {}
    for row, parts in enumerate(bars):
        left = 0.0
        for cause, share in parts:
            named[cause.key] = axes.barh(
                row,
                share,
                left=left,
                height=0.62,
                color=cause.colour,
                hatch=cause.hatch,
                edgecolor=PAPER,
                linewidth=0.6,
            )
            texts = (f"{cause.name} {units.percent(share)}", units.percent(share))
            text = next((text for text in texts if len(text) * CHARACTER < MOST_OF_A_BAR * share * inches), None)
            if text and share >= 0.03:
                _label(axes, left + share / 2, row, text)
            left += share
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    axes.grid(visible=False, axis="y")
    return named


def _label(axes: Axes, x: float, y: float, text: str) -> None:
    """A label on a coloured part: on a patch of paper, so that it can be read on any of them."""
    patch = {"boxstyle": "round,pad=0.2", "facecolor": PAPER, "edgecolor": "none"}
    axes.text(x, y, text, ha="center", va="center", color=INK, fontsize=8, bbox=patch)


def cause_legend(figure: Figure, named: dict[str, Any], above: bool = False) -> None:
    """The causes that were drawn, by their keys, in their order; below the figure, or above it."""
    shown = [cause for cause in causes.CAUSES if cause.key in named]
    figure.legend(
        [named[cause.key] for cause in shown], [cause.name for cause in shown],
        loc="outside upper left" if above else "outside lower left",
        ncols=2 if is_narrow(figure) else 6, handlelength=1.2, columnspacing=1.0,
    )  # fmt: skip
