"""The lifetime curve of a replay: write amplification along it, and the points that stand for all of it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

Result = dict[str, Any]

WINDOWS = 16
"""The rolling write amplification is over this part of what was written: one in so many."""

PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Where the table of the curve has its rows, as shares of what was written."""

HISTOGRAMS = (0.0, 0.5, 1.0)
"""The same of the histograms."""


@dataclass(frozen=True)
class Amplification:
    """Write amplification at each point of the curve; None where nothing was written."""

    since_start: list[float | None]
    rolling: list[float | None]
    """From a point one part in ``WINDOWS`` earlier on, or from the beginning."""


def drive_writes(result: Result) -> list[float]:
    """What the host had written at each point, in capacities of the drive."""
    capacity = result["drive"]["logical_bytes"]
    return [point["host_bytes"] / capacity for point in result["lifetime"]]


def amplification(result: Result) -> Amplification:
    """Bytes programmed per byte written by the host, at each point."""
    points, page = result["lifetime"], result["drive"]["page_bytes"]
    host = [point["host_bytes"] for point in points]
    window = host[-1] / WINDOWS

    def between(before: int, now: int) -> float | None:
        written = host[now] - host[before]
        return (points[now]["programs"] - points[before]["programs"]) * page / written if written else None

    # The last point at least a window earlier; else the first.
    earlier = [max(0, bisect_right(host, bytes_ - window) - 1) for bytes_ in host]
    every = range(len(points))
    return Amplification([between(0, n) for n in every], [between(earlier[n], n) for n in every])


def at(result: Result, share: float) -> int:
    """The number of the point that is nearest to a share of what was written; of equally near ones the later."""
    host = [point["host_bytes"] for point in result["lifetime"]]
    return min(range(len(host)), key=lambda n: (abs(host[n] - share * host[-1]), -n))


def picked(result: Result, shares: tuple[float, ...]) -> list[int]:
    """The numbers of the points at some shares of what was written, each once."""
    return sorted({0 if share == 0 else at(result, share) for share in shares})


def has_bad_blocks(result: Result) -> bool:
    """True if blocks are bad at some point, or were held back to replace bad ones."""
    return any(point["bad_blocks"] or point["spare_blocks"] for point in result["lifetime"])


def wears(result: Result) -> bool:
    """True if a block has ever been erased."""
    return bool(result["lifetime"][-1]["most"])
