"""The drive of AutoSSD in the simulated size, its traces, and the systems that it is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wordline.base.errors import FAILED, Trouble
from wordline.studies.catalogue import parsed
from wordline.studies.context import Context
from wordline.studies.packages import KIB, resolved

ENTRY_BYTES, UNIT_BYTES = 4, 4096
CONTROLLED = {"shares.policy": "feedback"}
"""Shares as AutoSSD controls them, with the default gains."""
MILLION = 1e6
GIB = 1 << 30
US_PER_MS = 1000.0


class Drive:
    """The paper's drive in the simulated size."""

    def __init__(self, context: Context) -> None:
        """Takes the choices of the chapter."""
        self.context = context
        self.chapter = parsed(context.study.folder.parent / f"{context.study.chapter}.toml")
        config = resolved(self.chapter["preset"])
        geometry, capacity = config["geometry"], config["capacity"]["raw_over_logical"]
        self.planes = geometry["channels"] * geometry["packages_per_channel"] * geometry["planes_per_die"]
        self.blocks = self.planes * context.choice("blocks")
        # Blocks that GC keeps free do not shrink with the drive; the others keep their ratio to the logical capacity.
        free, whole = config["collect"]["stop_blocks"], self.planes * geometry["blocks_per_plane"]
        self.logical_blocks = (self.blocks - free) * (whole / capacity) / (whole - free)
        self.block_bytes = geometry["pages_per_block"] * geometry["page_kib"] * KIB

    def cache_kib(self, percent: float) -> int:
        """The map cache that holds this part of the mapping table."""
        return int(percent / 100 * self.logical_blocks * self.block_bytes / UNIT_BYTES * ENTRY_BYTES / KIB)

    def sets(self, blocks_per_plane: int | None = None) -> dict[str, Any]:
        """Overrides of the preset for the simulated size, with the paper's map cache.

        :param blocks_per_plane: more than the chosen number, for the same logical capacity.
        """
        choice = self.context.choice
        per_plane = blocks_per_plane or choice("blocks")
        cached = self.cache_kib(self.chapter["cache_percent"])
        return {
            "geometry.blocks_per_plane": per_plane,
            "capacity.raw_over_logical": per_plane * self.planes / self.logical_blocks,
            "mapping": {"policy": "cached", "unit_kib": UNIT_BYTES // KIB, "cache_kib": cached},
            "pack": {"policy": choice("planes")},
            "processor.policy": choice("processor"),
            "victim.cost": choice("victim-cost"),
        }


@dataclass(frozen=True)
class Trace:
    """A row of Table 2: requests in millions, mean sizes in KB, interarrival times in ms."""

    name: str
    writes: float
    reads: float
    write_kib: float
    read_kib: float
    gap_ms: float
    median_gap_ms: float

    @property
    def write_part(self) -> float:
        """Writes among the requests."""
        return self.writes / (self.writes + self.reads)


VANILLA, RAIN, QOSFC, AUTO = "Vanilla", "RAIN", "QoSFC", "AutoSSD"
SYSTEMS = (VANILLA, RAIN, QOSFC, AUTO)
"""The systems of 5.2."""

Runs = dict[tuple[str, str], dict[str, Any]]
"""Results by system and trace."""

Also = Mapping[tuple[str, str], dict[str, Any]]
"""More keys of experiments, by system and trace."""


class Traced:
    """The drive under stand-ins of the traces."""

    def __init__(
        self,
        context: Context,
        faster: float = 1.0,
        requests: int | None = None,
        also: Also | None = None,
        needed: int = 1000,
        reads_before: int | None = None,
        burst: int | None = None,
    ) -> None:
        """Takes the choices of the chapter.

        :param faster: divides the times of requests.
        :param requests: of each run; those of the chapter if absent.
        :param also: more keys of some experiments.
        :param needed: small reads that a true trace must have at least: 1,000 for their 99 %.
        :param reads_before: the most earlier reads of a block; those of the chapter if absent.
        :param burst: the mean number of requests of a burst; that of the chapter if absent.
        """
        self.burst = burst
        self.also = also or {}
        self.needed = needed
        self.context = context
        self.drive = Drive(context)
        self.chapter = self.drive.chapter
        self.reads_before = self._reads_before() if reads_before is None else reads_before
        self.faster = faster
        self.usual = requests
        for key in ("trace-warm-up", "trace-length", "trace-tail"):
            context.choice(key)

    def _reads_before(self) -> int:
        chosen: int = self.context.choice("reads-before")
        if self.context.full and "reads-before" not in self.context.instead:
            # Long enough for what read scrubbing moves at the start, as in the paper.
            chosen = self.chapter["whole_reads_before"]
        return chosen

    def traces(self, names: Iterable[str] = ()) -> list[Trace]:
        """The rows of Table 2.

        :param names: these alone.
        """
        return [Trace(name, **self.chapter["trace"][name]) for name in names or self.chapter["trace"]]

    def requests(self, trace: Trace) -> int:
        """Requests of a run."""
        whole = (trace.writes + trace.reads) * MILLION
        if self.usual:
            return self.context.requests(self.usual)
        if self.context.full:
            return round(whole)
        written = self.chapter["gib_written"] * GIB / (trace.write_kib * KIB) / trace.write_part
        return round(min(whole, written))

    def stand_in(self, trace: Trace) -> dict[str, Any]:
        """A trace with the statistics of a row."""
        choice = self.context.choice
        choice("trace-sizes")
        offsets, burst = choice("offsets"), self.burst or choice("bursts")
        extent = offsets["part"] * self.drive.logical_blocks * self.drive.block_bytes
        return {
            "requests": self.requests(trace),
            "write_percent": 100 * trace.write_part,
            "read_size": f"{trace.read_kib}k",
            "write_size": f"{trace.write_kib}k",
            "random_percent": offsets["random_percent"],
            # Whole blocks, so that the last request ends within the drive.
            "extent": (int(extent // self.drive.block_bytes) - 1) * self.drive.block_bytes,
            "gap_mean_us": trace.gap_ms * US_PER_MS / self.faster,
            "gap_median_us": trace.median_gap_ms * US_PER_MS / self.faster,
            **({"burst_requests": burst} if burst else {}),
        }

    def job(self, trace: Trace) -> dict[str, Any]:
        """The replay of the true trace, or else of its stand-in."""
        part = self.context.recorded(trace.name, UNIT_BYTES, self.requests(trace))
        return {"stand_in": self.stand_in(trace)} if part is None else part.job(speed=self.faster)

    def system(self, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """A compared system: overrides that change the shape of its drive, and others.

        :raises KeyError: if there is none of that name.
        """
        return {
            VANILLA: lambda: ({}, {"dispatch.policy": "one-queue"}),
            RAIN: self._rain,
            QOSFC: lambda: ({}, {"dispatch.policy": "weighted-fair", **self.fixed(self.context.choice("weights"))}),
            AUTO: lambda: ({}, self.auto()),
        }[name]()

    def _rain(self) -> tuple[dict[str, Any], dict[str, Any]]:
        parity = {"redundancy": {"policy": "rain", "rebuild_reads": self.context.choice("rebuild")}}
        dies = self.drive.planes // resolved(self.chapter["preset"])["geometry"]["planes_per_die"]
        per_plane = round(self.context.choice("blocks") * dies / (dies - 1))
        added = self.drive.sets(per_plane) if self.context.choice("parity") == "added" else {}
        return {**added, **parity}, {"dispatch.policy": "priority"}

    def auto(self) -> dict[str, Any]:
        """AutoSSD: debit scheduling with controlled shares."""
        choice = self.context.choice
        tasks = ("gc", "refresh")
        return {
            "dispatch.policy": "debit",
            **CONTROLLED,
            "shares.p": dict.fromkeys(tasks, choice("gains")),
            "shares.i": dict.fromkeys(tasks, choice("decay")),
            "shares.interval_ms": choice("interval"),
            "shares.least": choice("least-share"),
            "shares.most": choice("most-share"),
        }

    def fixed(self, percent: float) -> dict[str, Any]:
        """Fixed shares of GC and read scrubbing."""
        return {"shares.policy": "fixed", "shares.percent": dict.fromkeys(("gc", "refresh"), percent)}

    def runs(self, systems: Sequence[str], names: Iterable[str] = ()) -> Runs:
        """The traces on each system.

        :param names: these traces alone.
        """
        return self.each({name: self.system(name) for name in systems}, self.traces(names))

    def each(self, systems: Mapping[str, tuple[dict[str, Any], dict[str, Any]]], traces: Iterable[Trace]) -> Runs:
        """The same of any systems, each given by its overrides.

        :raises Trouble: if a true trace has too few small reads for the percentiles that are compared.
        """
        traces = list(traces)
        for trace in traces:
            self.check(trace)
        # System by system, so that each is warmed up once; those of another shape last, so that the rest are
        # preconditioned once.
        in_turn = sorted(systems.items(), key=lambda it: bool(it[1][0]))
        return self.context.drives(
            {
                (name, trace.name): self.experiment(shape, then, trace) | self.also.get((name, trace.name), {})
                for name, (shape, then) in in_turn
                for trace in traces
            }
        )

    def check(self, trace: Trace) -> None:
        """Refuses a true trace with too few small reads."""
        part = self.context.recorded(trace.name, UNIT_BYTES, self.requests(trace))
        if part is not None and part.small_reads < self.needed:
            of = f"{part.small_reads:,} of the {part.requests:,} requests that are replayed are reads of at most 64 KiB"
            raise Trouble(f"{part.source}: {of}; their percentiles need {self.needed:,}; give a longer trace", FAILED)

    def experiment(self, shape: Mapping[str, Any], then: Mapping[str, Any], trace: Trace) -> dict[str, Any]:
        """An experiment of :meth:`Context.drives`: a system, warmed up by random writes, that runs a trace."""
        warm = {
            "rw": "randwrite",
            "bs": "4k",
            "iodepth": 256,
            "rate_iops": self.chapter["warm_iops"],
            "rate_process": "poisson",
            "number_ios": self.chapter["warm_requests"],
        }
        return {
            "drive": self.chapter["preset"],
            "sets": {
                **self.drive.sets(),
                "refresh.policy": "scrub",
                "precondition.block_reads": self.reads_before,
                **shape,
            },
            "precondition": {},
            "then": {"collect.window_pages": self.context.choice("moves"), **then},
            "warm": warm,
            "jobs": [self.job(trace)],
        }


def small(result: Mapping[str, Any]) -> Mapping[str, float]:
    """Response times of reads of at most 64 KB, in microseconds."""
    return result["latency_by_size_us"]["read"]["up_to_64k"]


def six_nines(result: Mapping[str, Any]) -> float:
    """The 99.9999 % response time of small reads; the largest one where a run has too few reads for it."""
    told = small(result)
    return told["p99_9999"] or told["max"]
