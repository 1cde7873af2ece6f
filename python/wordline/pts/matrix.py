"""The matrices of tests with rounds: cells of read share and block size, and the tracked cell."""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024


@dataclass(frozen=True)
class Cell:
    """One measurement of a round: percentage of reads, and bytes of a request."""

    reads: int
    size: int

    @property
    def mix(self) -> str:
        """``65/35``, reads before writes."""
        return f"{self.reads}/{100 - self.reads}"

    @property
    def block(self) -> str:
        """``0.5 KiB``."""
        return f"{self.size / KIB:g} KiB"


@dataclass(frozen=True)
class Matrix:
    """A test of rounds: ``cells`` in their order, ``tracked`` for steady state by ``figure`` of a measurement."""

    title: str
    figure: str
    unit: str
    cells: tuple[Cell, ...]
    tracked: Cell
    random: bool
    depth: int


def _cells(reads: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[Cell, ...]:
    return tuple(Cell(share, size) for share in reads for size in sizes)


_SIZES = (1024 * KIB, 128 * KIB, 64 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, KIB // 2)
IOPS = Matrix(
    "IOPS", "iops", "IOPS", _cells((100, 95, 65, 50, 35, 5, 0), _SIZES), Cell(0, 4 * KIB), random=True, depth=32
)
LAT = Matrix(
    "Latency",
    "mean_us",
    "µs",
    _cells((100, 65, 0), (8 * KIB, 4 * KIB, KIB // 2)),
    Cell(0, 4 * KIB),
    random=True,
    depth=1,
)


def throughput(size: int) -> Matrix:
    """The throughput test at one block size, which has a drive of its own."""
    return Matrix(
        f"Throughput, {size // KIB} KiB",
        "mib_s",
        "MiB/s",
        _cells((100, 0), (size,)),
        Cell(0, size),
        random=False,
        depth=32,
    )


TP = (throughput(1024 * KIB), throughput(128 * KIB))
