"""Bars for each of many equal parts: utilisation and wear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.base.drawing import Drawing, is_narrow, legend
from wordline.base.palette import BLUE, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def utilisation(shares: list[float], name: str) -> Drawing | None:
    """How busy each of many equal parts was."""
    if not shares:
        return None
    mean = sum(shares) / len(shares)

    def plot(figure: Figure) -> None:
        from matplotlib.ticker import FuncFormatter

        axes = figure.subplots()
        bars(axes, shares, 0, name)
        axes.axhline(mean, color=INK, linestyle="--", linewidth=1.2, label=f"mean {units.percent(mean)}")
        axes.set_ylim(0, min(1.0, 1.15 * max(*shares, 0.001)) if max(shares) < 0.6 else 1.0)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.3g} %"))
        axes.set_ylabel("busy")
        legend(axes, 1)

    words = f"Share of simulated time in which each {name} was busy, for the host or for GC and other internal work."
    return Drawing(f"Utilisation of {units.plural(name)}", words, plot, height=0.75)


def bars(axes: Axes, values: Sequence[float], first: float, label: str, width: float = 1.0) -> None:
    """Bars side by side from ``first`` on; only the outline where a bar would be a pixel or less."""
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
        bars(left, found["blocks"], found["first"] + (width - 1) / 2, "P/E cycles since new", width)
        left.set_ylabel("blocks")
        left.yaxis.set_major_formatter(FuncFormatter(lambda v, _: units.short(v)))
        bars(right, planes, 0, "plane")
        right.set_ylabel("P/E cycles a block")
        right.yaxis.set_major_locator(MaxNLocator(5))

    words = (
        "Number of blocks by P/E cycles since the drive was new, preconditioning included; and the mean of each plane."
    )
    return Drawing("Wear of the blocks", words, plot, height=0.85)
