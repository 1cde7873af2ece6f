"""Wear leveling beside log blocks: disk, stand-ins and runs that both studies of chang11's LCTES paper share."""

from __future__ import annotations

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
PARTS = ("config", "wear", "wear_leveling", "gc", "tasks", "flash", "iops", "write_amplification", "simulated_s")
"""Parts of a result that the studies need."""

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
    """A run: a disk, a workload, wear leveling, and how many replays of the notebook's trace write as much."""

    disk: Disk
    workload: str
    wear: str | tuple[tuple[str, Any], ...]
    """A scheme of 5.1, or the keys of ``[wear]`` of lazy wear leveling."""
    replays: float


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

    def written_mib(self, point: Point) -> float:
        """What a run writes: 5.2.2, as many capacities with each workload."""
        blocks = point.disk.logical_blocks or self.chapter["logical_blocks"]
        return float(blocks * point.disk.block_kib / KIB * self.chapter["replayed"] * point.replays)

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

    def experiment(self, point: Point) -> dict[str, Any]:
        """The run, as :meth:`Context.drives` takes it."""
        job = {**self.workloads[point.workload], "name": point.workload, "norandommap": True, "iodepth": 1}
        return {
            "drive": self.chapter["preset"],
            "sets": self.sets(point),
            "precondition": {"fill": True, "overwrites": 0},
            "then": {},
            "jobs": [{**job, "io_size": f"{round(self.written_mib(point))}m"}],
        }

    def of(self, points: Iterable[Point]) -> dict[Point, Result]:
        """The results of runs."""
        return self.context.drives({point: self.experiment(point) for point in points}, PARTS)

    def watched(self, points: Iterable[Point], steps: int) -> dict[Point, Result]:
        """The same with the standard deviation of P/E cycles at equal steps of what is written, under ``deviations``.

        :param steps: how many values there are; the last one is that at the end.
        """
        every = f"{self.chapter['interval_s']}s"
        columns = ["writes", "wear_stddev"]
        found = self.context.drives(
            {it: {**self.experiment(it), "intervals": {"every": every, "columns": columns}} for it in points},
            (*PARTS, "intervals"),
        )
        for result in found.values():
            told = result["intervals"]
            result["deviations"] = sampled(told["writes"], told["wear_stddev"], steps)
        return found


def sampled(writes: Sequence[float], values: Sequence[float], steps: int) -> list[float]:
    """A value for each of equal steps of the writes: the one at the end of the interval in which the step ends.

    :param writes: those of each interval.
    :param values: one at the end of each interval.
    """
    total, done, found = sum(writes), 0.0, []
    for count, value in zip(writes, values, strict=True):
        done += count
        while len(found) < steps and done * steps >= total * (len(found) + 1) - 1e-9:
            found.append(value)
    return found


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
