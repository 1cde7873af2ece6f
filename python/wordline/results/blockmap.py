"""The blocks of a drive over a run: ``map`` of a result, unpacked."""

from __future__ import annotations

import base64
import binascii
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

STATES = ("free", "spare", "open", "closed", "victim", "bad")
"""States of a block, in the order shown; closed means none of the others."""

MOST_MOMENTS, MOST_CELLS = 64, 4096
"""Bounds of a map: moments, and cells in each of them."""

WHOLE = 255
"""Shares are in 255ths."""


@dataclass(frozen=True)
class BlockMap:
    """The cells of a drive at several moments: by plane in the drive's numbering, in a plane by block."""

    channels: int
    dies_per_channel: int
    planes_per_die: int
    blocks_per_plane: int
    blocks_per_cell: int
    """Neighbouring blocks of a plane that form a cell; the last cell of a plane may have fewer."""
    at_s: list[float]
    """The moments, in seconds from the start of measuring."""
    valid: numpy.ndarray
    """For each moment and cell, the share of its logical pages that are valid, in 255ths."""
    erases: numpy.ndarray
    """For each moment and cell, the mean erases of its blocks since the drive was new."""
    states: dict[str, numpy.ndarray]
    """For each state that occurs, and each moment and cell, the share of its blocks that are in it, in 255ths."""

    @property
    def cells_per_plane(self) -> int:
        """Cells of a plane."""
        return -(-self.blocks_per_plane // self.blocks_per_cell)

    @property
    def planes(self) -> int:
        """Planes of the drive."""
        return self.channels * self.dies_per_channel * self.planes_per_die

    @property
    def cells(self) -> int:
        """Cells of the drive."""
        return self.planes * self.cells_per_plane

    def state(self, name: str, moment: int) -> numpy.ndarray:
        """The share of each cell's blocks that are in a state at a moment, in 255ths; 0 for a state that never occurs.

        Closed is the remainder, to a 255th for each other state.
        """
        import numpy

        if name != "closed":
            shares = self.states.get(name)
            return numpy.zeros(self.cells, dtype=int) if shares is None else shares[moment].astype(int)
        others = [shares[moment].astype(int) for shares in self.states.values()]
        return numpy.maximum(0, WHOLE - sum(others, numpy.zeros(self.cells, dtype=int)))


def of(result: dict[str, Any]) -> BlockMap | None:
    """The map of a result; None if it has none.

    :raises ValueError: if its contents do not match its description.
    """
    told = result.get("map")
    if not told or not told.get("at_s"):
        return None
    shape = [told[key] for key in ("channels", "dies_per_channel", "planes_per_die", "blocks_per_plane")]
    group = told["blocks_per_cell"]
    if not all(isinstance(part, int) and part > 0 for part in (*shape, group)):
        raise ValueError("the sizes of 'map' must be whole numbers above 0")
    channels, dies, planes, blocks = shape
    moments, cells = len(told["at_s"]), channels * dies * planes * -(-blocks // group)
    if moments > MOST_MOMENTS or cells > MOST_CELLS:
        raise ValueError(f"'map' has {moments} moments of {cells} cells; the most is {MOST_MOMENTS} of {MOST_CELLS}")
    erases = told["erases"]
    return BlockMap(
        channels,
        dies,
        planes,
        blocks,
        group,
        list(told["at_s"]),
        _unpacked("map.valid", told["valid"], moments, cells),
        erases["least"] + erases["step"] * _unpacked("map.erases.data", erases["data"], moments, cells),
        {
            name: _unpacked(f"map.states.{name}", told["states"][name], moments, cells)
            for name in STATES
            if told["states"].get(name)
        },
    )


def _unpacked(name: str, text: str, moments: int, cells: int) -> numpy.ndarray:
    """The bytes of a quantity: packed by zlib, each the difference from the same cell in the moment before."""
    import numpy

    try:
        packed = base64.b64decode(text, validate=True)
        # Bounded: a few bytes can unpack to any length.
        data = zlib.decompressobj().decompress(packed, moments * cells + 1)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"'{name}' cannot be unpacked: {error}") from None
    if len(data) != moments * cells:
        raise ValueError(f"'{name}' does not hold {moments} moments of {cells} cells")
    differences = numpy.frombuffer(data, dtype="u1").reshape(moments, cells)
    return differences.cumsum(axis=0, dtype="u1")
