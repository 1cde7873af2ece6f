"""How figures are drawn: one definition for a page that follows light and dark, and for SVG, PNG and PDF files."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordline.base.files import aside
from wordline.base.palette import GRID, INK, LIGHT, PAPER, called

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {variable: f"#0102{number:02x}" for number, variable in enumerate(LIGHT, 3)}
"""The page's colours by their CSS names, each with the stand-in that is drawn and then replaced."""

MAPS = {"wordline map": "#2b8ad4", "wordline map gc": "#e8590c"}
"""Colours of heat maps, which are pictures and cannot follow the page: they can be told from white and from black."""

MAP, MAP_GC = MAPS

STYLE = {
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
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
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,
    "figure.facecolor": "none",
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "hatch.linewidth": 0.6,
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

MARGINS, NARROW_MARGINS = (0.95, 0.8), (0.85, 0.6)
"""Inches left and right of all time axes, for labels."""

FORMATS = ("svg", "png", "pdf")
"""File formats of figures."""

DPI = 200
"""Resolution of PNG files."""

NO_DATE = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Metadata without dates: the same figure gives the same file."""

Plot = Callable[["Figure"], None]


@dataclass(frozen=True)
class Drawing:
    """The definition of a figure, with what it shows in words."""

    title: str
    words: str
    plot: Plot
    height: float = 1.0
    """Height relative to the usual."""
    tall: float = 1.0
    """Height factor on a phone, where panels are stacked and legends take more rows."""
    what: str = ""
    """Description for screen readers, with figures."""

    @property
    def key(self) -> str:
        """Its name in files and pages."""
        return re.sub(r"\W+", "-", self.title.lower()).strip("-")

    @property
    def wide(self) -> str:
        """The SVG element for a desktop."""
        return self._svg(WIDE, self.height)

    @property
    def narrow(self) -> str:
        """The SVG element for a phone."""
        return self._svg(NARROW, self.height * self.tall)

    def _svg(self, inches: tuple[float, float], times: float) -> str:
        width, height = inches
        return svg(self.plot, (width, height * times), f"{self.key}-{width}")

    def save(self, path: Path) -> None:
        """Writes it as a file on white, in the format of the name.

        :raises OSError: if the file cannot be written.
        """
        import matplotlib
        from matplotlib.figure import Figure

        form = path.suffix[1:]
        width, height = WIDE
        with colours(LIGHT), matplotlib.rc_context({**STYLE, "svg.hashsalt": self.key}):
            figure = Figure(figsize=(width, height * self.height), layout="constrained")
            self.plot(figure)
            line_up(figure)
            with aside(path) as file:
                figure.savefig(file, format=form, dpi=DPI, facecolor=PAPER, metadata=NO_DATE[form])


@contextmanager
def colours(values: dict[str, str]) -> Iterator[None]:
    """Defines the names of colours while something is drawn."""
    from matplotlib.colors import get_named_colors_mapping

    known = get_named_colors_mapping()
    for variable, value in values.items():
        known[called(variable)] = value
    known.update(MAPS)
    # The cache of colours is kept by name; only setting one by one empties it.
    known["wordline"] = values["--ink"]
    yield


def svg(plot: Plot, inches: tuple[float, float], salt: str) -> str:
    """The SVG element that ``plot`` draws. ``salt`` makes its identifiers unique in the page."""
    import matplotlib
    from matplotlib.figure import Figure

    with colours(COLOURS), matplotlib.rc_context({**STYLE, "svg.hashsalt": salt}):
        figure = Figure(figsize=inches, layout="constrained")
        plot(figure)
        line_up(figure)
        place(figure)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata=NO_DATE["svg"])
    return for_page(out.getvalue())


def line_up(figure: Figure) -> None:
    """Aligns all time axes horizontally, so that a moment is at the same place in every figure.

    Where they lie from top to bottom is left to the layout. Scales beside them go along.
    """
    panels = {axes.get_gid(): axes for axes in figure.axes if (axes.get_gid() or "").startswith("time")}
    if not panels:
        return
    # The layout alone: a complete drawing would double the time.
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine(None)
    left, right = NARROW_MARGINS if is_narrow(figure) else MARGINS
    inches = figure.get_figwidth()
    for axes in panels.values():
        box = axes.get_position()
        axes.set_position((left / inches, box.y0, 1 - (left + right) / inches, box.height))
    for scale in figure.axes:
        before, _, panel = (scale.get_gid() or "").partition("-")
        if before == "scale":
            box = panels[panel].get_position()
            scale.set_position((box.x1 + 0.1 / inches, box.y0, 0.12 / inches, box.height))


def place(figure: Figure) -> None:
    """Lays a figure out as its SVG file will be, unless ``line_up`` did.

    To save a figure that still has a layout engine takes a second drawing.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    layout = figure.get_layout_engine()
    if layout is None:
        return
    dpi = figure.dpi
    FigureCanvasSVG(figure)
    layout.execute(figure)
    # To measure for SVG sets another one.
    figure.dpi = dpi
    figure.set_layout_engine(None)


def for_page(text: str) -> str:
    """Fits an SVG file into a page: no prologue, no fixed size, the page's colours and letters."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    # Names such as "axes_1" and "time0" repeat in every figure; references go to hashed names only.
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r"font: ([\d.]+)px 'DejaVu Sans'", r"font-size: \1px; font-family: var(--letters)", text)
    for variable, stand_in in COLOURS.items():
        text = text.replace(stand_in, f"var({variable})")
    # A hundredth of a point is finer than any screen.
    text = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), text)
    return re.sub(r">\s+<", "><", text).strip()


def is_narrow(figure: Figure) -> bool:
    """True for the width of a phone."""
    return figure.get_figwidth() < 6


def latency_ticks(axis: Any, low_us: float, high_us: float) -> None:  # noqa: ANN401
    """Ticks of a logarithmic latency axis: ``100 µs``, ``1 ms``."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    first, last = math.floor(math.log10(low_us)), math.ceil(math.log10(high_us))
    inner = (1, 2, 5) if last - first <= 2 else (1,)
    axis.set_major_locator(FixedLocator([m * 10.0**e for e in range(first, last + 1) for m in inner]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda us, _: plain_latency(us)))


def interval_words(series: dict[str, Any]) -> str:
    """The length of the intervals of ``series``: ``64 ms``."""
    return plain_latency(1e6 * series["interval_s"])


def plain_latency(us: float) -> str:
    """A round latency without its zeros: ``1 ms`` for ``1.00 ms``."""
    for factor, name in ((1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns")):
        if us >= factor * 0.9999:
            return f"{us / factor:.3g} {name}"
    return f"{us:.3g} µs"


def time_axes(figure: Figure, panels: Sequence[Axes], end_s: float) -> None:
    """Gives panels one above another the axis of simulated time, from 0 to ``end_s``, and names for ``line_up``."""
    over_axes(figure, panels, end_s, "simulated time (s)")


def over_axes(figure: Figure, panels: Sequence[Axes], end: float, label: str) -> None:
    """The same with any axis from 0 to ``end``."""
    from matplotlib.ticker import MaxNLocator

    for n, axes in enumerate(panels):
        axes.set_gid(f"time{n}")
        axes.set_xlim(0, end or 1)
        axes.xaxis.set_major_locator(MaxNLocator(5 if is_narrow(figure) else 10))
        if axes is not panels[-1]:
            axes.tick_params(labelbottom=False)
    panels[-1].set_xlabel(label)


def legend(axes: Axes, entries: int, **of: Any) -> None:  # noqa: ANN401
    """The legend, in one row above the figure; ``of`` names handles and labels that are not those of ``axes``."""
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=entries,
        borderaxespad=0.2,
        handlelength=1.8,
        columnspacing=1.2,
        **of,
    )


def line(axes: Axes, x: Sequence[float], y: Sequence[float | None], **how: Any) -> None:  # noqa: ANN401
    """A line with gaps for missing values, and dots for isolated points."""
    values = [math.nan if v is None else v for v in y]
    known = [False, *(not math.isnan(v) for v in values), False]
    alone = [at for at in range(len(values)) if known[at : at + 3] == [False, True, False]]
    axes.plot(x, values, marker="." if alone else None, markevery=alone or None, **how)


def apart(places: Sequence[float], least: float) -> list[float]:
    """Places at least ``least`` apart, in the same order and as near as possible to the given ones.

    Labels at them do not overlap. Neighbours that are too close make room on both sides of their mean.
    """
    order = sorted(range(len(places)), key=places.__getitem__)
    # For each run of neighbours: their number, and the mean place of the first.
    runs: list[tuple[int, float]] = []
    for at, n in enumerate(order):
        run = (1, places[n] - at * least)
        while runs and runs[-1][1] > run[1]:
            before = runs.pop()
            count = before[0] + run[0]
            run = (count, (before[0] * before[1] + run[0] * run[1]) / count)
        runs.append(run)
    firsts = [first for count, first in runs for _ in range(count)]
    found = [0.0] * len(places)
    for at, n in enumerate(order):
        found[n] = firsts[at] + at * least
    return found


def any_value(values: Sequence[float | None] | None) -> bool:
    """True if there is a value other than 0."""
    return any(values or [])
