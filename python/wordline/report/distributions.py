"""Distributions of latency, to the tail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from wordline.base.drawing import Drawing, latency_ticks, legend
from wordline.base.palette import BLUE, INK, PLUM, TEAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OP_LOOKS = {"read": (BLUE, "-"), "write": (INK, "--"), "flush": (PLUM, "-."), "trim": (TEAL, ":")}
"""Colour and style of the operations."""


def distribution(cdf: dict[str, list[list[float]]]) -> Drawing | None:
    """Latency by operation, to the tail: the share of requests slower than a latency, both logarithmic."""
    curves = {op: points for op in OP_LOOKS if (points := curve(cdf, op))}
    if not curves:
        return None

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        for op, points in curves.items():
            colour, style = OP_LOOKS[op]
            tail(axes, points, color=colour, linestyle=style, label=op)
        nines(axes, curves.values())
        legend(axes, len(curves))

    words = "Share of requests completed within a latency. Each step up is ten times rarer: the slowest are at the top."
    return Drawing("Latency distribution", words, plot, height=1.15)


def curve(cdf: dict[str, list[list[float]]], op: str) -> list[tuple[float, float]]:
    """Latencies in µs of an operation, each with the share of requests that are slower; empty without a curve."""
    points = [(us, 1 - share) for us, share in cdf.get(op) or [] if us > 0 and share < 1]
    return points if len(points) > 1 else []


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
    axes.yaxis.set_major_formatter(FuncFormatter(lambda p, _: f"p{100 * (1 - p):.10g}"))
    axes.set_xlabel("latency")
    axes.set_ylabel("percentile")
