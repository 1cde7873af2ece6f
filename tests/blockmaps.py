"""Maps of blocks for tests: packed as by the engine, and of a small drive with overwrites and GC."""

from __future__ import annotations

import base64
import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

Rows = Sequence[Sequence[int]]


def packed(rows: Rows) -> str:
    """Bytes of cells by moment, each as the difference from the previous moment."""
    before, out = [0] * len(rows[0]), bytearray()
    for row in rows:
        out += bytes((now - then) % 256 for now, then in zip(row, before, strict=True))
        before = list(row)
    return base64.b64encode(zlib.compress(bytes(out), 9)).decode()


@cache
def share(count: int, of: int) -> int:
    """A share in 255ths: 0 is exactly none, 255 exactly all."""
    nearest = (2 * 255 * count + of) // (2 * of)
    return nearest if count in (0, of) else min(254, max(1, nearest))


def told(
    geometry: dict[str, int],
    at_s: Sequence[float],
    valid: Rows,
    erases: Rows,
    states: dict[str, Rows],
    step: float = 1.0,
) -> dict[str, Any]:
    """A ``map`` of a result, of rows of bytes."""
    return {
        **geometry,
        "at_s": list(at_s),
        "valid": packed(valid),
        "erases": {"least": 0.0, "step": step, "data": packed(erases)},
        "states": {name: packed(rows) for name, rows in states.items() if any(map(any, rows))},
    }


@dataclass
class Drive:
    """Planes that place pages in turn, each with one open block, and collect the block with the fewest valid pages."""

    channels: int = 4
    dies_per_channel: int = 2
    planes_per_die: int = 2
    blocks_per_plane: int = 64
    pages: int = 32
    spare: float = 0.18
    bad: frozenset[int] = frozenset()
    rng: random.Random = field(default_factory=lambda: random.Random(1))

    def __post_init__(self) -> None:
        self.planes = self.channels * self.dies_per_channel * self.planes_per_die
        blocks = self.planes * self.blocks_per_plane
        self.valid: list[set[int]] = [set() for _ in range(blocks)]
        self.filled = [0] * blocks
        """How many pages of each block are valid."""
        self.erases = [0] * blocks
        self.state = ["bad" if block in self.bad else "free" for block in range(blocks)]
        self.open: list[tuple[int, int]] = []
        self.victim: list[int | None] = [None] * self.planes
        self.where: dict[int, int] = {}
        self.free = [sum(self.state[block] == "free" for block in self._blocks(n)) for n in range(self.planes)]
        self.logical = int(blocks * self.pages * (1 - self.spare))
        self.turn = 0
        self.open = [(self._take(plane), 0) for plane in range(self.planes)]

    def _blocks(self, plane: int) -> range:
        return range(plane * self.blocks_per_plane, (plane + 1) * self.blocks_per_plane)

    def _take(self, plane: int) -> int:
        free = [block for block in self._blocks(plane) if self.state[block] == "free"]
        # Of several with as few erases, the first.
        block = min(free, key=self.erases.__getitem__)
        self.state[block] = "open"
        self.free[plane] -= 1
        return block

    def _put(self, plane: int, page: int) -> None:
        block, at = self.open[plane]
        if at == self.pages:
            self.state[block] = "closed"
            block, at = self._take(plane), 0
        before = self.where.get(page)
        if before is not None:
            self.valid[before].discard(page)
            self.filled[before] -= 1
        self.where[page] = block
        self.valid[block].add(page)
        self.filled[block] += 1
        self.open[plane] = block, at + 1

    def write(self, page: int) -> None:
        """Writes a page, and moves a page of the plane's victim."""
        plane = self.turn = (self.turn + 1) % self.planes
        self._put(plane, page)
        victim = self.victim[plane]
        if victim is None and self.free[plane] < 4:
            closed = [block for block in self._blocks(plane) if self.state[block] == "closed"]
            victim = self.victim[plane] = min(closed, key=self.filled.__getitem__)
            self.state[victim] = "victim"
        for _ in range(6):
            if victim is None:
                return
            if not self.valid[victim]:
                self.state[victim] = "free"
                self.free[plane] += 1
                self.erases[victim] += 1
                self.victim[plane] = victim = None
            else:
                self._put(plane, min(self.valid[victim]))

    def geometry(self, blocks_per_cell: int = 1) -> dict[str, int]:
        """The sizes, as in a map."""
        keys = ("channels", "dies_per_channel", "planes_per_die", "blocks_per_plane")
        return {**{key: getattr(self, key) for key in keys}, "blocks_per_cell": blocks_per_cell}


STATES = ("free", "open", "victim", "spare", "bad")


def collected(drive: Drive, moments: int = 24, blocks_per_cell: int = 1, end_s: float = 334.09) -> dict[str, Any]:
    """The map of a drive that is filled and then overwritten at random, its first fifth more often."""
    parts = [
        drive._blocks(plane)[first : first + blocks_per_cell]
        for plane in range(drive.planes)
        for first in range(0, drive.blocks_per_plane, blocks_per_cell)
    ]
    groups = [(slice(part.start, part.stop), len(part)) for part in parts]
    valid, erases, states = [], [], {name: [] for name in STATES}
    for moment in range(moments):
        for n in range(drive.logical if moment == 0 else drive.logical // 20):
            few = drive.rng.random() < 0.6
            drive.write(n if moment == 0 else drive.rng.randrange(drive.logical // 5 if few else drive.logical))
        valid.append([share(sum(drive.filled[group]), drive.pages * size) for group, size in groups])
        erases.append([round(sum(drive.erases[group]) / size) for group, size in groups])
        for name, rows in states.items():
            rows.append([share(drive.state[group].count(name), size) for group, size in groups])
    at = [round(end_s * n / max(1, moments - 1), 3) for n in range(moments)]
    return told(drive.geometry(blocks_per_cell), at, valid, erases, states)
