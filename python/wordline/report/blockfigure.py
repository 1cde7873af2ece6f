"""The blocks of a drive as a picture: the layout of cells, and the last moment for paper and files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

from wordline.base import drawing, units
from wordline.base.drawing import Drawing, is_narrow
from wordline.results import blockmap
from wordline.results.blockmap import BlockMap

if TYPE_CHECKING:
    import numpy
    from matplotlib.figure import Figure

GAPS = (0.0, 0.5, 1.25, 2.0)
"""Between cells, planes, dies and channels, in sides of a cell."""

ROOM = {"wide": (820, 430), "narrow": (340, 400)}
"""Width and height that a map may take, in pixels."""

LARGEST = 22
"""Pixels of the side of a cell at most."""

AS_GOOD = 0.6
"""The layout with a row for each channel is used if its cells have at least this share of the best side."""

PALE = 0.12
"""Colour strength of a written cell without valid data; an erased one has none."""

PIXELS = 8
"""Of the side of a cell in a picture."""

EDGE = (128, 136, 150)
"""Red, green and blue of edges of erased and open blocks: visible on white and on black."""


@dataclass(frozen=True)
class Layout:
    """Channels, dies of a channel, planes of a die and cells of a plane that are side by side."""

    channels: int
    dies: int
    planes: int
    cells: int

    def size(self, of: BlockMap) -> tuple[float, float]:
        """Width and height of the whole, in sides of a cell."""
        return self._steps(of)[-1]

    def places(self, of: BlockMap) -> Iterator[tuple[float, float]]:
        """Where the upper left corner of each cell is, in sides of a cell."""
        steps = self._steps(of)
        for cell in range(of.cells):
            x = y = 0.0
            rest = cell
            for (count, columns, _), (across, down) in zip(self._levels(of), steps, strict=False):
                rest, n = divmod(rest, count)
                x, y = x + n % columns * across, y + n // columns * down
            yield x, y

    def _steps(self, of: BlockMap) -> list[tuple[float, float]]:
        """Distance between items of each level, across and down; last the size of the whole."""
        width = height = 1.0
        steps = []
        for count, columns, gap in self._levels(of):
            across, down = width + gap, height + gap
            steps.append((across, down))
            width, height = min(count, columns) * across - gap, -(-count // columns) * down - gap
        return [*steps, (width, height)]

    def _levels(self, of: BlockMap) -> list[tuple[int, int, float]]:
        """From cells up to channels: how many there are, how many side by side, and the gap between them."""
        counts = (of.cells_per_plane, of.planes_per_die, of.dies_per_channel, of.channels)
        columns = (self.cells, self.planes, self.dies, self.channels)
        return list(zip(counts, columns, GAPS, strict=True))

    def side(self, of: BlockMap, room: tuple[int, int]) -> float:
        """Pixels of the side of a cell, if the whole is to fit into a room."""
        width, height = self.size(of)
        return min(room[0] / width, room[1] / height, LARGEST)


def layout(of: BlockMap, room: tuple[int, int]) -> Layout:
    """The layout with the largest cells. A row for each channel with all its dies is taken if it is nearly as good."""

    def best(channels: list[int], dies: list[int]) -> Layout:
        every = (
            Layout(c, d, p, k)
            for c in channels
            for d in dies
            for p in _columns(of.planes_per_die)
            for k in _columns(of.cells_per_plane)
        )
        return max(every, key=lambda one: one.side(of, room))

    rows = best([1], [of.dies_per_channel])
    free = best(_columns(of.channels), _columns(of.dies_per_channel))
    return rows if rows.side(of, room) >= AS_GOOD * free.side(of, room) else free


def _columns(count: int) -> list[int]:
    """Possible numbers of columns for so many items, without an empty row."""
    return sorted({-(-count // rows) for rows in range(1, count + 1)})


def of_page(result: dict[str, Any]) -> str:
    """Data for the page's viewer of blocks: JSON for a script element; empty without a map. It stays packed.

    :raises ValueError: if the map is inconsistent.
    """
    of = blockmap.of(result)
    if of is None:
        return ""
    told = {
        "map": result["map"],
        "words": f"The blocks of the drive over the run, at {units.some(len(of.at_s), 'moment')}. {_order(of)}",
        "end": result.get("simulated_s") or of.at_s[-1],
        "gaps": GAPS,
        "largest": LARGEST,
        "pale": PALE,
        "layouts": {name: astuple(layout(of, room)) for name, room in ROOM.items()},
    }
    return json.dumps(told, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def last_moment(result: dict[str, Any]) -> Drawing | None:
    """The share of valid data in each cell at the last moment of the map."""
    of = blockmap.of(result)
    if of is None:
        return None

    def plot(figure: Figure) -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import LinearSegmentedColormap, Normalize
        from matplotlib.patches import Patch

        narrow = is_narrow(figure)
        chosen = layout(of, ROOM["narrow" if narrow else "wide"])
        axes = figure.subplots()
        axes.imshow(_picture(of, chosen), interpolation="none")
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_xticks([])
        _name_rows(axes, of, chosen)
        strong = drawing.MAPS[drawing.MAP]
        ramp = LinearSegmentedColormap.from_list("valid", [(*_rgb(strong), PALE), (*_rgb(strong), 1.0)])
        bar = figure.colorbar(ScalarMappable(Normalize(0, 100), ramp), ax=axes, shrink=0.7, pad=0.01)
        bar.set_label("valid data")
        bar.set_ticks([0, 50, 100], labels=["0 %", "50 %", "100 %"])
        edge = tuple(part / 255 for part in EDGE)
        marks = [
            Patch(facecolor="none", edgecolor=(*edge, 0.5), label="erased"),
            Patch(facecolor=(*_rgb(strong), 0.6), edgecolor=edge, linewidth=1.6, label="open"),
            Patch(facecolor="none", edgecolor=drawing.MAPS[drawing.MAP_GC], linewidth=2, label="being collected"),
        ]
        figure.legend(handles=marks, loc="outside lower left", ncols=3, handlelength=1.2)

    words = (
        f"Share of valid data in the blocks of the drive at the end of the run, {units.duration(of.at_s[-1])} after "
        f"its start. {_order(of)}"
    )
    return Drawing("Blocks of the drive", words, plot, height=_height(of))


def _height(of: BlockMap) -> float:
    """How high the figure is, relative to the usual, so that the cells fill it at either width."""
    needed = []
    for name, (inches, usual) in (("wide", drawing.WIDE), ("narrow", drawing.NARROW)):
        wide, tall = layout(of, ROOM[name]).size(of)
        # Row names and scale are beside the cells, the legend below.
        needed.append(((inches - 1.6) * tall / wide + 0.7) / usual)
    return max(0.5, *needed)


def _order(of: BlockMap) -> str:
    """What a cell is and how the cells lie, in words."""
    group = of.blocks_per_cell
    cell = "A cell is a block." if group == 1 else f"A cell is the mean of {group} neighbouring blocks of a plane."
    if of.channels * of.dies_per_channel == 1:
        return cell
    layouts = [layout(of, room) for room in ROOM.values()]
    if all((one.channels, one.dies) == (1, of.dies_per_channel) for one in layouts):
        return f"{cell} Each row is a channel, with its dies side by side."
    return f"{cell} Planes are grouped by die, and dies by channel."


def _name_rows(axes: Any, of: BlockMap, chosen: Layout) -> None:  # noqa: ANN401
    """Names the rows, if each is a channel."""
    from matplotlib.ticker import FixedFormatter, FixedLocator

    if chosen.channels > 1:
        axes.set_yticks([])
        return
    places = list(chosen.places(of))
    of_channel = of.cells // of.channels
    tops = [places[n * of_channel][1] for n in range(of.channels)]
    bottoms = [max(y for _, y in places[n * of_channel : (n + 1) * of_channel]) + 1 for n in range(of.channels)]
    every = math.ceil(of.channels / 16)
    shown = range(0, of.channels, every)
    axes.yaxis.set_major_locator(FixedLocator([PIXELS * (tops[n] + bottoms[n]) / 2 - 0.5 for n in shown]))
    axes.yaxis.set_major_formatter(FixedFormatter([f"channel {n}" for n in shown]))
    axes.tick_params(axis="y", length=0)


def _rgb(colour: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)


def _picture(of: BlockMap, chosen: Layout) -> numpy.ndarray:
    """The cells of the last moment as pixels: red, green, blue and opacity."""
    import numpy

    last = len(of.at_s) - 1
    free, opened = of.state("free", last), of.state("open", last)
    victim, bad = of.state("victim", last), of.state("bad", last)
    strong, loud = ([round(255 * part) for part in _rgb(drawing.MAPS[name])] for name in (drawing.MAP, drawing.MAP_GC))
    width, height = chosen.size(of)
    pixels = numpy.zeros((round(PIXELS * height), round(PIXELS * width), 4), dtype="u1")
    for cell, (x, y) in enumerate(chosen.places(of)):
        top, left = round(PIXELS * y), round(PIXELS * x)
        tile = pixels[top : top + PIXELS - 1, left : left + PIXELS - 1]
        if bad[cell] == blockmap.WHOLE:
            tile[:] = (*EDGE, 255)
        elif free[cell] == blockmap.WHOLE:
            _frame(tile, 1, (*EDGE, 110))
        else:
            share = of.valid[last, cell] / blockmap.WHOLE
            tile[:] = (*strong, round(255 * (PALE + (1 - PALE) * share)))
        if victim[cell]:
            _frame(tile, 2, (*loud, 255))
        elif opened[cell]:
            _frame(tile, 1, (*EDGE, 255))
    return pixels


def _frame(tile: numpy.ndarray, thick: int, colour: tuple[int, ...]) -> None:
    """The edge of a cell in a colour."""
    tile[:thick] = tile[-thick:] = colour
    tile[:, :thick] = tile[:, -thick:] = colour
