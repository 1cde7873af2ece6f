"""The figures of a report: SVG text that takes its colours from the page, so that it follows light and dark."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wordline import units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "--ink": "#010203",
    "--faint": "#010204",
    "--grid": "#010205",
    "--blue": "#010206",
    "--orange": "#010207",
    "--green": "#010208",
    "--paper": "#010209",
}
"""The page's colours by their CSS names, each with the stand-in that is drawn and then replaced."""

INK, FAINT, GRID, BLUE, ORANGE, GREEN, PAPER = COLOURS.values()

STYLE = {
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GRID,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "none",
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "xtick.color": GRID,
    "ytick.color": GRID,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.minor.visible": False,
    "ytick.minor.visible": False,
}

WIDE, NARROW = (9.0, 3.2), (4.2, 3.2)
"""Inches, for a desktop and for a telephone: the same text size on both."""


@dataclass(frozen=True)
class Drawing:
    """A figure in both widths, with what it shows in words."""

    title: str
    words: str
    wide: str
    narrow: str


Plot = Callable[["Figure"], None]


def draw(title: str, words: str, plot: Plot, height: float = 1.0) -> Drawing:
    """Draws a figure in both widths; ``height`` is relative to the usual."""
    key = re.sub(r"\W+", "-", title.lower())
    wide, narrow = (svg(plot, (width, tall * height), f"{key}-{width}") for width, tall in (WIDE, NARROW))
    return Drawing(title, words, wide, narrow)


def svg(plot: Plot, inches: tuple[float, float], salt: str) -> str:
    """The SVG element that ``plot`` draws. ``salt`` keeps its identifiers apart from other figures' in the page."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**STYLE, "svg.hashsalt": salt}):
        figure = Figure(figsize=inches, layout="constrained")
        plot(figure)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return for_page(out.getvalue())


def for_page(text: str) -> str:
    """Fits an SVG file into a page: no prologue, no fixed size, the page's colours and letters."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    # Names such as "axes_1" repeat in every figure; references go to hashed names only.
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r"font: ([\d.]+)px 'DejaVu Sans'", r"font-size: \1px; font-family: var(--letters)", text)
    for name, stand_in in COLOURS.items():
        text = text.replace(stand_in, f"var({name})")
    return re.sub(r">\s+<", "><", text).strip()


def latency_ticks(axis: Any, low_us: float, high_us: float) -> None:  # noqa: ANN401
    """Ticks of a logarithmic latency axis: ``100 µs``, ``1 ms``."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    first, last = math.floor(math.log10(low_us)), math.ceil(math.log10(high_us))
    inner = (1, 2, 5) if last - first <= 2 else (1,)
    axis.set_major_locator(FixedLocator([m * 10.0**e for e in range(first, last + 1) for m in inner]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda us, _: plain_latency(us)))


def plain_latency(us: float) -> str:
    """A round latency without its zeros: ``1 ms`` for ``1.00 ms``."""
    for factor, name in ((1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns")):
        if us >= factor * 0.9999:
            return f"{us / factor:.3g} {name}"
    return f"{us:.3g} µs"


def time_axis(axes: Axes, narrow: bool) -> None:
    """The axis of simulated time."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(5 if narrow else 10))
    axes.set_xlabel("simulated time (s)")
    axes.margins(x=0.01)


def is_narrow(figure: Figure) -> bool:
    """True for the telephone's width."""
    return figure.get_figwidth() < 6


def legend(axes: Axes, entries: int) -> None:
    """The legend, in one row above the figure."""
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=entries, borderaxespad=0.2, handlelength=1.8, columnspacing=1.2
    )


def line(axes: Axes, x: Sequence[float], y: Sequence[float | None], **how: Any) -> None:  # noqa: ANN401
    """A line with gaps where there is no value, and dots where a value stands alone."""
    values = [math.nan if v is None else v for v in y]
    axes.plot(x, values, marker="." if len(values) < 3 else None, **how)


def any_value(values: Sequence[float | None] | None) -> bool:
    """True if there is something to draw that is not nought throughout."""
    return any(values or [])


def distribution(cdf: dict[str, list[list[float]]]) -> Drawing | None:
    """Latency distribution to the tail: the share of requests slower than a latency, both logarithmic."""
    looks = {"read": (BLUE, "-"), "write": (ORANGE, "--"), "trim": (GREEN, ":"), "flush": (FAINT, "-.")}
    curves = {op: [(us, 1 - q) for us, q in cdf.get(op) or [] if us > 0 and q < 1] for op in looks}
    curves = {op: points for op, points in curves.items() if len(points) > 1}
    if not curves:
        return None

    def plot(figure: Figure) -> None:
        from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

        axes = figure.subplots()
        for op, points in curves.items():
            colour, style = looks[op]
            slower = [max(p, 1e-9) for _, p in points]
            axes.plot([us for us, _ in points], slower, color=colour, linestyle=style, label=op)
        axes.set_xscale("log")
        axes.set_yscale("log")
        all_us = [us for points in curves.values() for us, _ in points]
        latency_ticks(axes.xaxis, min(all_us), max(all_us))
        least = min(p for points in curves.values() for _, p in points)
        axes.set_ylim(1.2, max(least, 1e-9) * 0.7)
        axes.yaxis.set_major_locator(FixedLocator([0.5, *(10.0**-n for n in range(1, 10))]))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda p, _: f"{100 * (1 - p):.7g} %"))
        axes.set_xlabel("latency")
        axes.set_ylabel("requests as fast or faster")
        legend(axes, len(curves))

    words = "Share of requests done within a latency. Each step up is ten times rarer: the slowest are at the top."
    return draw("Latency distribution", words, plot, height=1.15)


def latency_over_time(series: dict[str, Any]) -> Drawing | None:
    """Mean, 99th percentile and largest latency of each interval."""
    curves = [
        ("slowest", "latency_max_us", FAINT, ":"),
        ("p99", "latency_p99_us", ORANGE, "--"),
        ("mean", "latency_mean_us", BLUE, "-"),
    ]
    drawn = [curve for curve in curves if any_value(series.get(curve[1]))]
    if not drawn:
        return None

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        for name, key, colour, style in drawn:
            positive = [v if v else None for v in series[key]]
            line(axes, series["start_s"], positive, color=colour, linestyle=style, label=name)
        axes.set_yscale("log")
        values = [v for _, key, _, _ in drawn for v in series[key] if v]
        latency_ticks(axes.yaxis, min(values), max(values))
        axes.set_ylabel("latency")
        time_axis(axes, is_narrow(figure))
        legend(axes, len(drawn))

    return draw("Latency over time", f"All requests, in intervals of {units.duration(series['interval_s'])}.", plot)


def throughput_over_time(series: dict[str, Any]) -> Drawing | None:
    """Reads and writes: bandwidth above, requests below."""
    looks = (("read", BLUE, "-"), ("write", ORANGE, "--"))
    rows = [
        [(op, f"{op}_{unit}", colour, style) for op, colour, style in looks if any_value(series.get(f"{op}_{unit}"))]
        for unit in ("mib_s", "iops")
    ]
    if not any(rows):
        return None

    def plot(figure: Figure) -> None:
        from matplotlib.ticker import FuncFormatter

        both = figure.subplots(2, 1, sharex=True)
        for axes, row, label in zip(both, rows, ("MiB/s", "requests/s"), strict=True):
            for op, key, colour, style in row:
                line(axes, series["start_s"], series[key], color=colour, linestyle=style, label=op)
            axes.set_ylim(bottom=0)
            axes.set_ylabel(label)
            axes.yaxis.set_major_formatter(
                FuncFormatter(lambda v, _: units.short(round(v, 6)) if v >= 1e4 else f"{v:g}")
            )
        time_axis(both[1], is_narrow(figure))
        if rows[0]:
            legend(both[0], len(rows[0]))

    words = f"What the drive completed, in intervals of {units.duration(series['interval_s'])}."
    return draw("Throughput over time", words, plot, height=1.4)


def space_over_time(series: dict[str, Any]) -> Drawing | None:
    """Free blocks above, write amplification below."""
    rows = [
        ("free blocks", "free_blocks", GREEN),
        ("write\namplification", "write_amplification", BLUE),
    ]
    drawn = [row for row in rows if any(v is not None for v in series.get(row[1]) or [])]
    if not drawn:
        return None

    def plot(figure: Figure) -> None:
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        panels = figure.subplots(len(drawn), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (label, key, colour) in zip(panels, drawn, strict=True):
            line(axes, series["start_s"], series[key], color=colour)
            top = max(v for v in series[key] if v is not None)
            if key == "free_blocks":
                axes.set_ylim(0, max(1, 1.08 * top))
                axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
                axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: units.short(v)))
            else:
                least = min(v for v in series[key] if v is not None)
                axes.set_ylim(min(1, least) - 0.02, max(1.1, top + 0.1 * (top - 1)))
                axes.axhline(1, color=FAINT, linewidth=0.8)
            axes.set_ylabel(label)
        time_axis(panels[-1], is_narrow(figure))

    words = "Blocks that are erased and wait for data, and pages programmed for each page that the host wrote."
    return draw("Free space and write amplification over time", words, plot, height=0.7 * len(drawn))


def utilisation(shares: list[float], name: str) -> Drawing | None:
    """How busy each of many equal parts was."""
    if not shares:
        return None
    mean = sum(shares) / len(shares)

    def plot(figure: Figure) -> None:
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        axes = figure.subplots()
        if len(shares) <= 128:
            axes.bar(range(len(shares)), shares, color=BLUE, width=0.8 if len(shares) < 64 else 0.7, linewidth=0)
        else:
            # Bars of a pixel or less would flicker: their outline says the same.
            edges = [n - 0.5 for n in range(len(shares) + 1)]
            axes.stairs(shares, edges, color=BLUE, fill=True, linewidth=0)
        axes.axhline(mean, color=ORANGE, linestyle="--", linewidth=1.2, label=f"mean {units.percent(mean)}")
        axes.set_ylim(0, min(1.0, 1.15 * max(*shares, 0.001)) if max(shares) < 0.6 else 1.0)
        axes.set_xlim(-0.7, len(shares) - 0.3)
        axes.xaxis.set_major_locator(MaxNLocator(6 if is_narrow(figure) else 12, integer=True))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.3g} %"))
        axes.grid(visible=False, axis="x")
        axes.set_xlabel(name)
        axes.set_ylabel("busy")
        legend(axes, 1)

    plural = {"die": "dies", "channel": "channels"}.get(name, f"{name}s")
    words = f"Share of simulated time in which each {name} was at work, for the host or for itself."
    return draw(f"Utilisation of {plural}", words, plot, height=0.75)
