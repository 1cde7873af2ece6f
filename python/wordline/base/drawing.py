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
    "--purple": "#01020a",
    "--gold": "#01020b",
    "--red": "#01020c",
    "--teal": "#01020d",
}
"""The page's colours by their CSS names, each with the stand-in that is drawn and then replaced."""

LIGHT = {
    "--ink": "#1b2230",
    "--faint": "#5f6878",
    "--grid": "#d9dde4",
    "--blue": "#0067a5",
    "--orange": "#c65102",
    "--green": "#00755a",
    "--paper": "#ffffff",
    "--purple": "#7a4fb0",
    "--gold": "#8a6a00",
    "--red": "#b3261e",
    "--teal": "#007a87",
}
"""The same for a page or file on white; the page's style has those for dark."""

MAPS = {"wordline map blue": "#2b8ad4", "wordline map orange": "#e07b2a"}
"""Colours of heat maps, which are pictures and cannot follow the page: they can be told from white and from black."""


def _name(variable: str) -> str:
    return f"wordline {variable[2:]}"


# Names and not values, so that one definition is drawn in the page's stand-ins or in the colours of a file.
INK, FAINT, GRID, BLUE, ORANGE, GREEN, PAPER, PURPLE, GOLD, RED, TEAL = map(_name, COLOURS)
MAP_BLUE, MAP_ORANGE = MAPS

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

FORMATS = ("svg", "png", "pdf")
"""What figures can be written as."""

DPI = 200
"""Of PNG files."""

NO_DATE = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""The same figure is the same file whenever it is written."""

Plot = Callable[["Figure"], None]


@dataclass(frozen=True)
class Drawing:
    """The definition of a figure, with what it shows in words."""

    title: str
    words: str
    plot: Plot
    height: float = 1.0
    """Relative to the usual."""
    what: str = ""
    """Figures to be read: what a reader who cannot see it should know."""

    @property
    def key(self) -> str:
        """Its name in files and pages."""
        return re.sub(r"\W+", "-", self.title.lower()).strip("-")

    @property
    def wide(self) -> str:
        """The SVG element for a desktop."""
        return self._svg(WIDE)

    @property
    def narrow(self) -> str:
        """The SVG element for a telephone."""
        return self._svg(NARROW)

    def _svg(self, inches: tuple[float, float]) -> str:
        width, height = inches
        return svg(self.plot, (width, height * self.height), f"{self.key}-{width}")

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
            with aside(path) as file:
                figure.savefig(file, format=form, dpi=DPI, facecolor=PAPER, metadata=NO_DATE[form])


@contextmanager
def colours(values: dict[str, str]) -> Iterator[None]:
    """Gives the names of colours their values while something is drawn."""
    from matplotlib.colors import get_named_colors_mapping

    known = get_named_colors_mapping()
    for variable, value in values.items():
        known[_name(variable)] = value
    known.update(MAPS)
    # The cache of colours is kept by name; only setting one by one empties it.
    known["wordline"] = values["--ink"]
    yield


def svg(plot: Plot, inches: tuple[float, float], salt: str) -> str:
    """The SVG element that ``plot`` draws. ``salt`` keeps its identifiers apart from other figures' in the page."""
    import matplotlib
    from matplotlib.figure import Figure

    with colours(COLOURS), matplotlib.rc_context({**STYLE, "svg.hashsalt": salt}):
        figure = Figure(figsize=inches, layout="constrained")
        plot(figure)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata=NO_DATE["svg"])
    return for_page(out.getvalue())


def for_page(text: str) -> str:
    """Fits an SVG file into a page: no prologue, no fixed size, the page's colours and letters."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = text.replace('<g id="on-colour"', '<g class="on-colour"')
    # Names such as "axes_1" repeat in every figure; references go to hashed names only.
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r"font: ([\d.]+)px 'DejaVu Sans'", r"font-size: \1px; font-family: var(--letters)", text)
    for name, stand_in in COLOURS.items():
        text = text.replace(stand_in, f"var({name})")
    # A hundredth of a point is finer than any screen.
    text = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), text)
    return re.sub(r">\s+<", "><", text).strip()


def is_narrow(figure: Figure) -> bool:
    """True for the telephone's width."""
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
    """Gives panels one above another the axis of simulated time, from 0 to ``end_s``."""
    from matplotlib.ticker import MaxNLocator

    for axes in panels:
        axes.set_xlim(0, end_s or 1)
        axes.xaxis.set_major_locator(MaxNLocator(5 if is_narrow(figure) else 10))
        if axes is not panels[-1]:
            axes.tick_params(labelbottom=False)
    panels[-1].set_xlabel("simulated time (s)")


def legend(axes: Axes, entries: int) -> None:
    """The legend, in one row above the figure."""
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=entries, borderaxespad=0.2, handlelength=1.8, columnspacing=1.2
    )


def line(axes: Axes, x: Sequence[float], y: Sequence[float | None], **how: Any) -> None:  # noqa: ANN401
    """A line with gaps where there is no value, and dots where a value stands alone."""
    values = [math.nan if v is None else v for v in y]
    known = [False, *(not math.isnan(v) for v in values), False]
    alone = [at for at in range(len(values)) if known[at : at + 3] == [False, True, False]]
    axes.plot(x, values, marker="." if alone else None, markevery=alone or None, **how)


def heat(axes: Axes, rows: Sequence[Sequence[float]], interval_s: float, colour: str, most: float) -> None:
    """A map of shares, 0 to ``most``: a row for each part, a column for each interval. Nought is the page itself."""
    import numpy
    from matplotlib.colors import to_rgb

    shares = numpy.asarray(rows, dtype=float)
    pixels = numpy.zeros((*shares.shape, 4))
    pixels[..., :3] = to_rgb(colour)
    pixels[..., 3] = numpy.clip(shares / most, 0, 1)
    height, width = shares.shape
    axes.imshow(
        (255 * pixels).round().astype("uint8"),
        aspect="auto",
        interpolation="none",
        extent=(0, width * interval_s, height - 0.5, -0.5),
    )
    axes.grid(visible=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(True)


def any_value(values: Sequence[float | None] | None) -> bool:
    """True if there is something to draw that is not nought throughout."""
    return any(values or [])
