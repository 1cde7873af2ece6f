"""Wear leveling beside log blocks: disk, stand-ins and runs that both studies of chang11's LCTES paper share."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wordline.studies.catalogue import parsed
from wordline.studies.context import Context
from wordline.studies.packages import KIB

NONE, LAZY, STATIC = "none", "lazy", "static"
SCHEMES: dict[str, dict[str, Any]] = {
    NONE: {"wear": {"policy": "none"}},
    LAZY: {"wear": {"policy": "lazy"}},
    STATIC: {"wear": {"policy": "recency"}},
}
"""The schemes of 5.1, with a threshold of 16 each."""
MAPPINGS = ("bast", "sast", "fast")
NOTEBOOK = "notebook"
OPEN = ("locality", "order", "sizes", "scale", "static", "merges")
"""What the paper leaves open; the file of the chapter has the choices."""
PARTS = ("config", "wear", "wear_leveling", "gc", "tasks", "flash", "write_amplification", "lifetime", "replay")
"""Parts of the result of a replay that the studies need."""
TIMED = ("config", "iops", "requests", "wear_leveling")
"""The same of a run in time."""

Result = dict[str, Any]


@dataclass(frozen=True)
class Disk:
    """A disk of 5.1 and 5.2.3: mapping, pages and blocks, over-provisioning."""

    mapping: str = "fast"
    page_kib: int = 4
    block_kib: int = 512
    spare_percent: float = 2.5
    logical_blocks: int = 0
    """0: those of the chapter."""

    def __str__(self) -> str:
        """Its geometry, as the paper writes it."""
        block = f"{self.block_kib // KIB}MB" if self.block_kib >= KIB else f"{self.block_kib}KB"
        return f"{self.page_kib}KB/{block}"


@dataclass(frozen=True)
class Point:
    """A disk that is worn by a workload, with wear leveling."""

    disk: Disk
    workload: str
    wear: str | tuple[tuple[str, Any], ...]
    """A scheme of 5.1, or the keys of ``[wear]`` of lazy wear leveling."""


class Runs:
    """Runs of disks under the stand-ins."""

    def __init__(self, context: Context) -> None:
        """Takes the choices of the study."""
        self.context = context
        self.chapter = parsed(context.study.folder.parent / f"{context.study.chapter}.toml")
        for key in OPEN:
            context.choice(key)
        self.workloads: dict[str, dict[str, Any]] = dict(self.chapter["workload"])

    @property
    def replays(self) -> int:
        """How often the notebook's trace is replayed (5.1)."""
        return int(self.chapter["replays"])

    def written_mib(self, disk: Disk) -> int:
        """What a replay writes to a disk: 5.2.2, as many capacities with each workload."""
        blocks = disk.logical_blocks or self.chapter["logical_blocks"]
        return round(blocks * disk.block_kib / KIB * self.chapter["replayed"])

    def sets(self, point: Point) -> dict[str, Any]:
        """The disk, and its wear leveling, as overrides of the preset."""
        disk = point.disk
        blocks = disk.logical_blocks or self.chapter["logical_blocks"]
        wear = SCHEMES[point.wear] if isinstance(point.wear, str) else {"wear": {"policy": "lazy", **dict(point.wear)}}
        return {
            "geometry.blocks_per_plane": blocks + round(blocks * disk.spare_percent / 100),
            "geometry.pages_per_block": disk.block_kib // disk.page_kib,
            "geometry.page_kib": disk.page_kib,
            "capacity.raw_over_logical": 1 + disk.spare_percent / 100,
            "mapping": {"policy": disk.mapping},
            **wear,
        }

    def experiment(self, point: Point, **job: Any) -> dict[str, Any]:  # noqa: ANN401
        """The run, as :meth:`Context.drives` takes it, with further options of its job."""
        job = {**self.workloads[point.workload], "name": point.workload, "norandommap": True, "iodepth": 1, **job}
        return {
            "drive": self.chapter["preset"],
            "sets": self.sets(point),
            "precondition": {"fill": True, "overwrites": 0},
            "then": {},
            "jobs": [job],
        }

    def worn(self, points: Iterable[Point], replays: int | None = None) -> dict[Point, Result]:
        """The results of replays without time.

        :param replays: how many; as many as in the paper (5.1) if absent.
        """
        times = replays or self.replays
        every = {
            it: {**self.experiment(it, io_size=f"{self.written_mib(it.disk)}m"), "replays": times} for it in points
        }
        return self.context.drives(every, PARTS)

    def in_time(self, points: Iterable[Point]) -> dict[Point, Result]:
        """The results of runs in time, each of a number of writes on a new disk."""
        return self.context.drives(
            {it: self.experiment(it, number_ios=self.chapter["timed_writes"]) for it in points}, TIMED
        )


def deviations(result: Result, steps: int) -> list[float]:
    """The standard deviation of P/E cycles at equal steps of what is written; the last one is that at the end.

    Between two points of the lifetime curve it goes straight.

    :param result: of a replay.
    """
    points = result["lifetime"]
    written, values = [it["host_bytes"] for it in points], [it["stddev"] for it in points]
    return [between(written, values, written[-1] * (step + 1) / steps) for step in range(steps)]


def between(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    """The value at ``x`` of a line through points.

    :param xs: rising, from at most ``x`` to at least ``x``.
    """
    after = min(bisect_left(xs, x), len(xs) - 1)
    if after == 0:
        return ys[0]
    part = (x - xs[after - 1]) / (xs[after] - xs[after - 1])
    return ys[after - 1] + part * (ys[after] - ys[after - 1])


def stable_interval(values: Sequence[float]) -> int:
    """The longest time in which the standard deviation comes back to where it was (5.4), in steps.

    :param values: one for each step; between them it goes straight.
    """
    longest = 0
    for start, value in enumerate(values):
        for end in range(len(values) - 1, start + longest, -1):
            if (values[end] - value) * (values[end - 1] - value) <= 0:
                longest = end - start
                break
    return longest


def increase_percent(results: Mapping[Any, Result], point: Any, base: Any) -> float:  # noqa: ANN401
    """How much larger the mean of the P/E cycles is than in another run, in percent."""
    return float(100 * (results[point]["wear"]["mean"] / results[base]["wear"]["mean"] - 1))
