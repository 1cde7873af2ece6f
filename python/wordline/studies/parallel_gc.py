"""GC that takes waiting host operations along: drive, stand-ins and runs that both studies of choi18 share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordline.base.errors import FAILED, Trouble
from wordline.studies.catalogue import parsed
from wordline.studies.context import Context
from wordline.studies.outcome import Bars, Published, Table
from wordline.studies.packages import KIB, mean, resolved
from wordline.studies.traces import Recorded

BASELINE, PAR, VIC, IDEAL = "baseline", "GC-PAR", "GC-VIC", "Ideal-No-GC"
PARALLEL = (PAR, VIC)
"""The schemes of the paper."""
JOINED = {"pack.join_gc": True}
OPENED = {"collect.into": "paired-blocks"}
PAIRED = {**JOINED, **OPENED}
SYSTEMS: dict[str, dict[str, Any]] = {
    BASELINE: {},
    PAR: PAIRED,
    VIC: {**PAIRED, "victim.policy": "read-aligned"},
    IDEAL: {"collect.instant": True},
}
"""The systems of section 5 and of figure 3, as overrides of the preset."""

ALIGN = 4 * KIB
"""Addresses and sizes of the traces are multiples of it."""
PAGE_BYTES = 16 * KIB
US_PER_MS = 1000.0
OPS = ("read", "write")
NEAR_ENOUGH = 0.05
"""The search for an intensity ends within this part of the published share of requests delayed by GC."""
LEAST = 1e-6
"""Stands for a share of nothing, which has no logarithm."""
TRIALS = 4
"""The most runs of that search."""

Runs = dict[tuple[str, str], dict[str, Any]]
"""Results by system and volume."""


@dataclass(frozen=True)
class Volume:
    """A row of Table 2."""

    name: str
    write_percent: float
    write_kib: float
    affected_percent: float
    """Share of its requests that GC delays in the paper's baseline."""


class Drive:
    """The paper's drive, as far as the workloads can reach it, and its stand-in workloads."""

    def __init__(self, context: Context, shape: Mapping[str, int]) -> None:
        """Takes the choices of the chapter.

        :param shape: keys of ``geometry`` to change from the preset's.
        """
        self.context = context
        self.chapter = parsed(context.study.folder.parent / f"{context.study.chapter}.toml")
        config = resolved(self.chapter["preset"])
        geometry = {**config["geometry"], **shape}
        self.page_bytes = geometry["page_kib"] * KIB
        self.align = self.page_bytes if context.choice("partial") == "whole" else ALIGN
        """Requests are rounded outwards to multiples of it."""
        collect, whole = config["collect"], config["geometry"]["blocks_per_plane"]
        blocks = round(geometry["blocks_per_plane"] * context.choice("blocks"))
        # The rest of the logical capacity is never written, so its blocks are full and GC never takes them.
        written = blocks / config["capacity"]["raw_over_logical"] * context.choice("written") / 100
        spare = blocks * (1 - 1 / config["capacity"]["raw_over_logical"])
        self.blocks = round(written + spare)
        start = math.ceil(collect["start_blocks"] * blocks / whole)
        stop = start + context.choice("stop")
        self.sets = {
            **{f"geometry.{key}": value for key, value in shape.items()},
            "geometry.blocks_per_plane": self.blocks,
            "capacity.raw_over_logical": self.blocks / written,
            "collect.start_blocks": start,
            "collect.stop_blocks": stop,
            "collect.hold_below_blocks": stop,
            "queue.depth": self.chapter["outstanding"],
        }
        planes = math.prod(
            geometry[key] for key in ("channels", "packages_per_channel", "dies_per_package", "planes_per_die")
        )
        self.planes = planes
        for key in ("outstanding", "warm-up", "length"):
            context.choice(key)
        self.length = context.requests(self.chapter["page_writes"])
        """Page writes of a run."""
        self.pages = int(planes * geometry["pages_per_block"] * written)
        """Logical pages of the simulated drive."""

    def volumes(self) -> list[Volume]:
        """The rows of Table 2."""
        return [Volume(name, **row) for name, row in self.chapter["volume"].items()]

    def experiment(self, system: Mapping[str, Any], job: dict[str, Any]) -> dict[str, Any]:
        """An experiment of :meth:`Context.drives`: a system, warmed up by random writes, that runs ``job``."""
        warm = {
            "rw": "randwrite",
            "bs": str(self.page_bytes),
            "norandommap": True,
            "iodepth": self.chapter["outstanding"],
            "rate_iops": self.chapter["warm_pages_a_second"],
            "rate_process": "poisson",
            "number_ios": self.chapter["warm_pages"],
        }
        return {
            "drive": self.chapter["preset"],
            "sets": self.sets,
            "precondition": {"overwrites": self.chapter["overwrites"]},
            "then": dict(system),
            "warm": warm,
            "jobs": [job],
        }

    def touched(self, kib: float) -> float:
        """The mean number of pages that a request of this mean size, at random multiples of 4 KiB, touches."""
        return 1 + (kib * KIB - ALIGN) / self.page_bytes

    def stand_in(self, volume: Volume, gap_us: float, writes: int) -> dict[str, Any]:
        """A trace with the statistics of a volume: so many page writes, at this mean interarrival time."""
        self.context.choice("reads")
        sizes = {"write_size": self.rounded(volume.write_kib), "read_size": self.rounded(self.chapter["read_kib"])}
        # Within bursts the host takes the same time at any intensity.
        median = min(self.chapter["median_gap_us"], gap_us / 2)
        return {
            **{key: f"{kib:.2f}k" for key, kib in sizes.items()},
            "align": self.align,
            "requests": self.requests(volume, writes),
            "write_percent": volume.write_percent,
            "random_percent": self.chapter["random_percent"],
            "extent": self.pages * self.page_bytes,
            "gap_mean_us": gap_us,
            "gap_median_us": median,
            "burst_requests": self.context.choice("bursts"),
        }

    def rounded(self, kib: float) -> float:
        """The mean size that requests of this mean size have when they are rounded outwards, in KiB."""
        return kib if self.align == ALIGN else self.touched(kib) * self.page_bytes / KIB

    def requests(self, volume: Volume, writes: int) -> int:
        """The number of requests of a volume that write so many pages."""
        return math.ceil(writes / self.touched(volume.write_kib) / (volume.write_percent / 100))

    def recorded(self, volume: Volume) -> Recorded | None:
        """The true trace of a volume, with rounded requests; None if a stand-in replaces it."""
        return self.context.recorded(volume.name, self.align, self.requests(volume, self.length))

    def job(self, volume: Volume, gap_us: float) -> dict[str, Any]:
        """A volume at this mean interarrival time: its true trace, all times divided by one number, or its stand-in."""
        part = self.recorded(volume)
        if part is None:
            return {"stand_in": self.stand_in(volume, gap_us, self.length)}
        return part.job(speed=part.gap_us / gap_us)

    def gaps(self) -> dict[str, float]:
        """The mean interarrival time of each volume at which GC delays the published share of requests, in µs.

        Searched with runs of the baseline: the share grows with the intensity.
        """
        for volume in self.volumes():
            # All true traces are read before the first run.
            self.recorded(volume)
        return self.searched(self.volumes())

    def searched(self, volumes: Iterable[Volume]) -> dict[str, float]:
        """The same of some volumes. A trial of each goes side by side with those of the others."""
        left = {volume.name: volume for volume in volumes}
        gaps = {name: self._first_gap(volume) for name, volume in left.items()}
        tried: dict[str, dict[float, float]] = {name: {} for name in left}
        for _ in range(TRIALS):
            results = self.context.drives(
                {name: self.experiment(SYSTEMS[BASELINE], self.job(it, gaps[name])) for name, it in left.items()}
            )
            for name, result in results.items():
                ratio = max(affected(result) / left[name].affected_percent, LEAST)
                tried[name][gaps[name]] = ratio
                if abs(ratio - 1) < NEAR_ENOUGH:
                    del left[name]
                else:
                    gaps[name] = _next(tried[name], gaps[name])
        return {name: min(of, key=lambda it, of=of: abs(math.log(of[it]))) for name, of in tried.items()}

    def _first_gap(self, volume: Volume) -> float:
        pages = self.touched(volume.write_kib) * volume.write_percent / 100
        return 1e6 * pages / (self.chapter["first_pages_a_second"] * volume.affected_percent / 100)

    def runs(
        self, gaps: Mapping[str, float], systems: Mapping[str, Mapping[str, Any]], names: Iterable[str] = ()
    ) -> Runs:
        """The volumes at their intensities on each system.

        :param names: only these volumes.
        """
        faster = self.context.choice("intensity")
        results = self._each(systems, names, lambda it: self.job(it, gaps[it.name] / faster))
        for (system, name), result in results.items():
            if name in self.context.traces and system != IDEAL:
                _enough(self.context.traces[name], system, result)
        return results

    def at_full_speed(self, gaps: Mapping[str, float], systems: Mapping[str, Mapping[str, Any]]) -> Runs:
        """Half as many requests, as fast as the drive takes them."""
        length = self.length // 2
        replay = {"pace": "asap", "iodepth": self.context.choice("throughput")}

        def job(volume: Volume) -> dict[str, Any]:
            part = self.recorded(volume)
            if part is None:
                return {"stand_in": self.stand_in(volume, gaps[volume.name], length), "replay": replay}
            return part.job(limit=max(1, part.requests // 2), **replay)

        return self._each(systems, (), job)

    def _each(
        self,
        systems: Mapping[str, Mapping[str, Any]],
        names: Iterable[str],
        job: Callable[[Volume], dict[str, Any]],
    ) -> Runs:
        wanted = set(names)
        volumes = [it for it in self.volumes() if not wanted or it.name in wanted]
        # System by system, so that each is warmed up once.
        return self.context.drives(
            {
                (system, volume.name): self.experiment(sets, job(volume))
                for system, sets in systems.items()
                for volume in volumes
            }
        )


def _next(tried: Mapping[float, float], gap: float) -> float:
    """The next interarrival time to try: between the nearest ones on both sides, or beyond those on one side."""
    longer = [it for it in tried if tried[it] < 1]
    shorter = [it for it in tried if tried[it] > 1]
    if longer and shorter:
        low, high = max(shorter), min(longer)
        part = math.log(tried[low]) / math.log(tried[low] / tried[high])
        return low * (high / low) ** part
    return gap * min(4.0, max(0.25, tried[gap]))


def _enough(source: Path, system: str, result: Mapping[str, Any]) -> None:
    """Refuses a run of a true trace whose figures cannot be compared.

    :raises Trouble: if GC moved nothing, or delayed too few reads or writes for their percentiles.
    """
    late = result["gc_affected_us"]
    if not result["gc"]["moved_pages"] or any(late[op]["p90"] is None for op in OPS):
        counts = " and ".join(f"{late[op]['count']} {op}s" for op in OPS)
        too_few = f"GC of {system} delays {counts} among the {result['requests']} requests replayed, too few to compare"
        raise Trouble(f"{source}: {too_few}; a longer trace is needed, or --full", FAILED)


def affected(result: Mapping[str, Any], op: str = "") -> float:
    """Requests that GC delayed, in percent of all requests.

    :param op: only reads or only writes; still in percent of all requests.
    """
    count = result["gc_affected_us"][op]["count"] if op else result["gc_affected_requests"]
    return 100 * count / result["requests"]


def response_ms(result: Mapping[str, Any], op: str) -> float:
    """The mean response time of all requests of a kind."""
    return result["latency_us"][op]["mean"] / US_PER_MS


def caught_ms(context: Context, results: Runs, op: str, system: str, volume: str) -> float:
    """The mean response time of the requests of a kind that GC caught.

    Those that the system's own GC caught; or those that the baseline's GC caught, if all others take as long as there.
    """
    own = results[system, volume]["gc_affected_us"][op]
    if context.choice("caught") == "own":
        return own["mean"] / US_PER_MS
    base, other = (results[it, volume] for it in (BASELINE, system))
    them = base["gc_affected_us"][op]
    gained = base["latency_us"][op]["mean"] - other["latency_us"][op]["mean"]
    return (them["mean"] - gained * base["latency_us"][op]["count"] / them["count"]) / US_PER_MS


def utilisation(result: Mapping[str, Any]) -> float:
    """The planes of a die that are busy while GC is under way there, in percent."""
    return 100 * result["gc"]["plane_utilisation"]


def against(values: Mapping[tuple[str, str], float], system: str, volumes: Iterable[str]) -> list[float]:
    """The value of a system in percent of that of the baseline, by volume."""
    return [100 * values[system, it] / values[BASELINE, it] for it in volumes]


def with_mean(values: Sequence[float]) -> list[float]:
    """The values of the volumes, and their mean, which is what the paper gives."""
    return [*values, mean(values)]


def normalised(
    name: str,
    title: str,
    words: str,
    volumes: Sequence[str],
    values: Mapping[tuple[str, str], float],
    published: Sequence[tuple[str, str, float]],
) -> Bars:
    """Bars of the schemes in percent of the baseline, with the mean as the last group.

    :param published: claims, their schemes, and the published changes in percent.
    """
    return Bars(
        name,
        title,
        words,
        "% of the baseline",
        [*volumes, "mean"],
        {scheme: with_mean(against(values, scheme, volumes)) for scheme in PARALLEL},
        [
            Published(claim, "published mean", len(volumes), 100 + by, 100 + by, scheme)
            for claim, scheme, by in published
        ],
    )


def caught_table(volumes: Sequence[str], values: Mapping[str, Mapping[tuple[str, str], float]], note: str) -> Table:
    """Figure 9: response times of caught requests, by kind, system and volume."""
    systems = (BASELINE, *PARALLEL)
    head = ["volume", *(f"{op}s, {system}, ms" for op in OPS for system in systems)]
    rows = [[it, *(values[op][system, it] for op in OPS for system in systems)] for it in volumes]
    rows.append(["mean", *(mean(values[op][system, it] for it in volumes) for op in OPS for system in systems)])
    rows.append(
        [
            "mean change, %",
            *(
                None if system == BASELINE else mean(against(values[op], system, volumes)) - 100
                for op in OPS
                for system in systems
            ),
        ]
    )
    return Table("Response times of requests caught by GC", head, rows, note)


def company_table(volumes: Sequence[str], results: Runs) -> Table:
    """Figure 10: plane utilisation during GC, and what GC took along."""

    def row(volume: str) -> list[Any]:
        par, vic = (results[it, volume] for it in PARALLEL)
        return [
            volume,
            *(utilisation(results[it, volume]) for it in (BASELINE, *PARALLEL)),
            100 * par["gc"]["joined_writes"] / par["gc"]["moved_pages"],
            *(100 * it["gc"]["joined_reads"] / it["gc"]["moved_pages"] for it in (par, vic)),
            100 * along(results, PAR, volume, "read"),
            100 * along(results, PAR, volume, "write"),
        ]

    rows = [row(it) for it in volumes]
    means = ["mean", *(mean(column) for column in list(zip(*rows, strict=True))[1:])]
    return Table(
        "Plane utilisation during GC, and what GC takes along",
        (
            "volume",
            "baseline, %",
            f"{PAR}, %",
            f"{VIC}, %",
            f"writes a GC write, {PAR}, %",
            f"reads a GC read, {PAR}, %",
            f"reads a GC read, {VIC}, %",
            f"of caught reads, {PAR}, %",
            f"of caught writes, {PAR}, %",
        ),
        [*rows, means],
        "Pages of the host that shared a command with GC: in percent of the pages that GC moved, and of the pages of "
        "caught requests.",
    )


def planes_figure(volumes: Sequence[str], used: Mapping[str, Sequence[float]], claim: str, published: float) -> Bars:
    """Figure 10: plane utilisation by volume and system, in percent.

    :param claim: the claim of the published mean, which both schemes have.
    """
    return Bars(
        "planes",
        "Plane utilisation during GC",
        "Planes of a die that are busy while GC is under way there.",
        "% of planes",
        [*volumes, "mean"],
        {system: with_mean(values) for system, values in used.items()},
        [Published(claim, "published mean", len(volumes), published, published, it) for it in PARALLEL],
    )


def along(results: Runs, system: str, volume: str, op: str) -> float:
    """Pages of the host that shared a command with GC, over the pages of all requests that GC caught.

    A caught request is taken to have as many pages as others of its kind.
    """
    result = results[system, volume]
    pages = result["by_op"][op]["bytes"] / result["by_op"][op]["requests"] / PAGE_BYTES
    return result["gc"][f"joined_{op}s"] / (result["gc_affected_us"][op]["count"] * pages)
