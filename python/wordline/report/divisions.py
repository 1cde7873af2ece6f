"""Latency divided by its causes: of all requests, and of those around each percentile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    bars = {op: [(cause, share) for cause, _, share in causes.shares(result, op)] for op in causes.SHOWN}
    bars = {op: parts for op, parts in bars.items() if parts}
    if not bars:
        return None

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        named = stacks(axes, list(bars.values()))
        axes.set_yticks(range(len(bars)), list(bars))
        cause_legend(figure, named)

    words = "Of all the latency of an operation, the share that each cause took. The parts add up to the whole."
    return Drawing("Where the time went", words, plot, 0.5 + 0.2 * len(bars), tall=1.4)


def bands(result: dict[str, Any]) -> Drawing | None:
    """Requests around each percentile and the slowest, divided by the causes of their latency."""
    told = (result.get("time_of") or {}).get("bands") or {}
    panels_of = {op: [band for band in told.get(op) or [] if any(band["parts"].values())] for op in causes.SHOWN}
    panels_of = {op: some for op, some in panels_of.items() if some}
    if not panels_of:
        return None

    def plot(figure: Figure) -> None:
        rows = [len(some) for some in panels_of.values()]
        panels = figure.subplots(len(rows), 1, sharex=True, squeeze=False, height_ratios=rows)[:, 0]
        named: dict[str, Any] = {}
        for axes, (op, some) in zip(panels, panels_of.items(), strict=True):
            named |= stacks(axes, [list(_of_band(band)) for band in some])
            axes.set_yticks(range(len(some)), [units.percentile(band["name"]) for band in some])
            axes.set_title(units.plural(op), loc="left", fontsize=10)
            for row, band in enumerate(some):
                _behind(axes, row, band)
        cause_legend(figure, named)

    # Bars as long as their means would hide all but the slowest: it takes thousands of times as long as p50.
    words = (
        "The latency of the requests around each percentile, and of the slowest, divided by its causes; behind a bar "
        f"stand their mean and how many they are. {_ranges(panels_of)}"
    )
    height = 0.4 + 0.17 * sum(map(len, panels_of.values())) + 0.12 * len(panels_of)
    return Drawing("Causes by percentile", words, plot, height, tall=1.2)


def _of_band(band: dict[str, Any]) -> Iterable[tuple[Cause, float]]:
    whole = sum(band["parts"].values())
    for cause in causes.CAUSES:
        if band["parts"].get(cause.key):
            yield cause, band["parts"][cause.key] / whole


def _behind(axes: Axes, row: int, band: dict[str, Any]) -> None:
    """Behind a bar: mean latency, and fainter the number of requests."""
    text = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points", "va": "center", "fontsize": 9}
    axes.annotate(units.latency(band["mean_us"]), (1, row), (5, 5), **text)
    axes.annotate(units.short(band["requests"]), (1, row), (5, -5), color=FAINT, **text)


def _ranges(panels_of: dict[str, Sequence[dict[str, Any]]]) -> str:
    """Which requests the bands hold, fastest first; once if that is the same for all operations."""
    told = {
        op: ", ".join(
            f"{units.percentile(band['name'])} {100 * band['from']:.6g} % to {100 * band['to']:.6g} %" for band in some
        )
        for op, some in panels_of.items()
    }
    if len(set(told.values())) == 1:
        return f"From fast to slow: {next(iter(told.values()))}."
    return "From fast to slow: " + "; ".join(f"{units.plural(op)} {text}" for op, text in told.items()) + "."


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
