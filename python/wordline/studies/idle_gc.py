"""Collections of log blocks and idle periods: drives, stand-ins and runs of both studies of jung13's chapter 7."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wordline.api.runs import Run
from wordline.studies.catalogue import parsed
from wordline.studies.context import Context
from wordline.studies.packages import KIB, resolved

Result = dict[str, Any]

L_FTL, H_FTL, P_FTL, AGC, DGC, BOTH = "L-FTL", "H-FTL", "P-FTL", "AGC", "DGC", "AGC+DGC"
SYSTEMS = (L_FTL, H_FTL, P_FTL, AGC, DGC, BOTH)
FULL, ANY = "full", "any"
"""Log blocks that AGC compacts."""
LOW, HIGH = (0, 1, 2, 3), (4, 5)
"""Disks of 6SSDs-RAID-LO and 6SSDs-RAID-HI."""
PAIRS = ((0, 1), (2, 5), (3, 4))
"""Disks of each SSD of 3SSDs-RAID."""
DISKS = (*LOW, *HIGH)
OPEN = ("idle", "places", "scale")
"""What the chapter leaves open for every run, beside those whose choices are used."""
PARTS = ("latency_us", "cdf", "by_op", "log_blocks", "scheduled_merges", "flash", "gc", "simulated_s", "config")
"""Parts of a result that the studies need."""
SECOND = 1e6
"""In microseconds."""
PACKAGES = 16
"""Of an SSD of 6SSDs-RAID, each of one plane."""
KEPT = 3
"""Blocks of each chip beside the paper's, if it collects on its own: a merge needs them, however few there are."""
PAGES = 128
"""Of a block."""
BLOCK = PAGES * 4 * KIB
"""Bytes of a block."""
CAUSES = ("on_demand", "look_ahead", "proactive", "retroactive")


@dataclass(frozen=True)
class Point:
    """A run: an SSD in place of a disk, or of several; a translation layer, and its collection."""

    system: str
    disks: tuple[int, ...]
    threshold: int | None = None
    """Free blocks below which AGC compacts; those of the chapter if absent."""
    compacts: str = ""
    """What AGC compacts; what the study has chosen if empty."""
    bursts: int = 0
    """Mean requests of a burst; what the study has chosen if 0."""
    extent: float = 100
    """Percent of the drive that requests are spread over."""

    @property
    def is_double(self) -> bool:
        """True for an SSD of 3SSDs-RAID, of twice the size and with four times the packages."""
        return len(self.disks) > 1


@dataclass(frozen=True)
class Gaps:
    """Gaps of a stand-in, in microseconds."""

    mean: float
    inside: float
    """Mean of those inside bursts."""
    between: float
    """Mean of those between bursts."""
    burst: float
    """Mean requests of a burst; 0 if there are none."""

    @property
    def median(self) -> float:
        """The median of both kinds together."""
        if not self.burst:
            return self.mean * math.log(2)
        low, high = 0.0, self.mean
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            above = math.exp(-middle / self.inside) * (1 - 1 / self.burst)
            above += math.exp(-middle / self.between) / self.burst
            low, high = (middle, high) if above > 1 / 2 else (low, middle)
        return high


def gaps(mean: float, idle: float, burst: float) -> Gaps:
    """Gaps with a part of their time in those longer than a second.

    :param mean: the mean gap in microseconds; above a second there are no bursts.
    :param idle: that part, 0 to 1.
    :param burst: mean requests of a burst.
    """
    if mean > SECOND:
        return Gaps(mean, mean, mean, 0)
    wanted = idle * burst * mean
    low, high = 0.0, burst * mean
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        # The time in exponential gaps that are longer than a second.
        long = (middle + SECOND) * math.exp(-SECOND / middle)
        low, high = (middle, high) if long < wanted else (low, middle)
    return Gaps(mean, (burst * mean - high) / (burst - 1), high, burst)


class Runs:
    """Runs of SSDs under the stand-ins of their disks."""

    def __init__(self, context: Context) -> None:
        """Takes the choices of the study."""
        self.context = context
        self.chapter = parsed(context.study.folder.parent / f"{context.study.chapter}.toml")
        for key in OPEN:
            context.choice(key)
        self.compacts = context.choice("compacts")
        self.scope = context.choice("domains")
        self.bursts = context.choice("bursts")
        self.written_kb = context.choice("digit")
        """Of disk 0."""

    def blocks(self, point: Point) -> int:
        """Blocks of an SSD, without the buffer of P-FTL."""
        return PACKAGES * int(self.chapter["blocks_per_plane"]) * (2 if point.is_double else 1)

    def packages(self, point: Point) -> int:
        """Packages of an SSD."""
        return PACKAGES * (4 if point.is_double else 1)

    def share(self, point: Point, percent: float) -> int:
        """Blocks that are so many percent of those of an SSD, the same number in each package."""
        packages = self.packages(point)
        return round(self.blocks(point) * percent / 100 / packages) * packages

    def free(self, point: Point) -> int:
        """Free blocks (7.6): below them full blocks are compacted, or merged in steps."""
        return self.share(point, self.chapter["free_percent"])

    def buffer(self, point: Point) -> int:
        """Blocks of P-FTL's buffer."""
        return round(self.blocks(point) * self.chapter["buffer_gb"] / self.chapter["ssd_gb"])

    def logical_blocks(self, point: Point) -> int:
        """Blocks of data."""
        return self.blocks(point) - self.free(point)

    def sets(self, point: Point) -> dict[str, Any]:
        """The SSD as overrides of the preset."""
        packages = self.packages(point)
        extra = self.buffer(point) if point.system == P_FTL else 0
        log_blocks = self.free(point) - self.share(point, self.chapter["gc_percent"])
        mapping: dict[str, Any] = {"policy": "bast"}
        if point.system == H_FTL:
            mapping = {"policy": "sast", "group_blocks": 2, "group_log_blocks": 8}
        elif point.system == P_FTL:
            mapping = {"policy": "pftl"}
        mapping["log_blocks"] = log_blocks + extra
        collect: dict[str, Any] = {"policy": "on-demand", "window_pages": 1}
        if point.system in (AGC, DGC, BOTH):
            collect = {"policy": point.system.lower().replace("+", "-")}
        if point.system in (AGC, BOTH):
            collect |= {
                "threshold_blocks": point.threshold or self.free(point),
                "compacts": point.compacts or self.compacts,
            }
        if point.system == P_FTL:
            collect = {"policy": "partial", "threshold_blocks": self.free(point)}
        kept, domains = 0, 1
        if self.scope == "plane":
            kept, domains = KEPT, packages
            extra += kept * packages
        mapping["log_blocks"] = round(mapping["log_blocks"] / domains)
        if "threshold_blocks" in collect:
            collect["threshold_blocks"] = round(collect["threshold_blocks"] / domains) + kept
        # The block that a merge writes to, and one more.
        collect |= {"scope": self.scope, "reserve_blocks": 1, "start_blocks": 2}
        return {
            **({"geometry.channels": 8, "geometry.packages_per_channel": 8} if point.is_double else {}),
            "geometry.blocks_per_plane": (self.blocks(point) + extra) // packages,
            # A little less: rounding must not cost the last page.
            "capacity.raw_over_logical": (1 - 1e-9) * (self.blocks(point) + extra) / self.logical_blocks(point),
            "placement.policy": "static" if self.scope == "plane" else "least-busy",
            **{f"mapping.{key}": value for key, value in mapping.items()},
            **{f"collect.{key}": value for key, value in collect.items()},
        }

    def told(self, disk: int) -> dict[str, float]:
        """The row of a disk in the tables."""
        row: dict[str, float] = dict(self.chapter["disk"][str(disk)])
        return {**row, "written_kb": self.written_kb} if disk == 0 else row

    def stand_in(self, disk: int, extent: int, bursts: float) -> dict[str, Any]:
        """The stand-in of a disk over so many bytes, as ``wordline trace synth`` takes it."""
        told = self.told(disk)
        all_of = told["writes"] + told["reads"]
        requests = max(2, self.context.requests(round(all_of / self.chapter["part"])))
        apart = gaps(self.chapter["days"] * 86_400 * SECOND / all_of, told["idle"] / 100, bursts)
        random = told["writes"] * told["random_writes"] + told["reads"] * told["random_reads"]
        of_reads = told["total_kb"] - told["written_kb"]
        sizes = {"write_size": size(told["written_kb"] * KIB, told["writes"], self.chapter["write_align"])}
        if told["reads"]:
            sizes["read_size"] = size(of_reads * KIB, told["reads"], self.chapter["write_align"])
        return {
            "requests": requests,
            "write_percent": 100 * told["writes"] / all_of,
            **sizes,
            "align": self.chapter["write_align"],
            "random_percent": random / all_of,
            "extent": extent,
            "gap_mean_us": apart.mean,
            **({"gap_median_us": apart.median, "burst_requests": apart.burst} if apart.burst else {}),
        }

    def written(self) -> dict[str, float]:
        """What disks write: GB in all, KB in a write of disk 3; and the time in which a block is written, in ms."""
        kb = {str(disk): self.told(disk)["written_kb"] for disk in DISKS}
        pairs = {f"{one} and {other}": kb[str(one)] + kb[str(other)] for one, other in PAIRS}
        return {
            **{f"written GB, {disks}": amount / 1e6 for disks, amount in (kb | pairs).items()},
            "write KB, 3": kb["3"] / self.told(3)["writes"],
            "block ms": PAGES * resolved(self.chapter["preset"])["nand"]["program_us"] / 1000,
        }

    def of(self, points: Iterable[Point]) -> dict[Point, Result]:
        """Results of runs."""
        return self.context.drives({point: self.experiment(point) for point in points}, PARTS)

    def experiment(self, point: Point) -> dict[str, Any]:
        """A filled drive, which gets its stand-in."""
        extent = round(self.logical_blocks(point) * BLOCK * point.extent / 100 / len(point.disks)) // BLOCK * BLOCK
        bursts = point.bursts or self.bursts
        whole = [
            {"of": self.stand_in(disk, extent, bursts), "at": nth * extent} for nth, disk in enumerate(point.disks)
        ]
        job = {"stand_ins": whole, "replay": {}}
        return {
            "drive": self.chapter["preset"],
            "sets": self.sets(point),
            "precondition": {"overwrites": 0},
            "then": {},
            "jobs": [job],
        }

    def excess(self, result: Result) -> float:
        """The percentage of the requests of a run that have excess waiting time (7.6.3)."""
        return 100 * Run(result).excess_waiting(1000 * self.chapter["marginal_ms"]).share

    def excess_of(self, results: Sequence[Result]) -> float:
        """The same of all requests of several runs."""
        requests = [sum(told["requests"] for told in result["by_op"].values()) for result in results]
        beyond = sum(self.excess(result) * count for result, count in zip(results, requests, strict=True))
        return beyond / sum(requests)


def size(amount: float, requests: float, align: int) -> str | int:
    """The mean size of requests as a stand-in takes it; not below a page."""
    mean = amount / requests
    return round(mean) if mean > align else f"{align // KIB}k:100"


def worst_ms(result: Mapping[str, Any]) -> float:
    """The longest request of a run, in milliseconds."""
    return float(result["latency_us"]["all"]["max"]) / 1000


def share_ahead(results: Iterable[Mapping[str, Any]]) -> float:
    """The percentage of merges that AGC started, in short and long idle periods."""
    found = [result["scheduled_merges"] for result in results]
    ahead = sum(told["look_ahead"] + told["proactive"] for told in found)
    return 100 * ahead / sum(told[cause] for told in found for cause in CAUSES)


def collection_s(result: Mapping[str, Any]) -> float:
    """Time of the page moves and erases of collections of a run, one after the other, in seconds."""
    nand = result["config"]["nand"]
    moves = result["gc"]["moved_pages"] * (nand["read_us"] + nand["program_us"])
    return float(moves + result["flash"]["erases"] * nand["erase_us"]) / SECOND
