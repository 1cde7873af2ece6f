"""The design space of dirik09: channels, banks and superblocks, with buses of several widths and speeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wordline.studies.catalogue import parsed
from wordline.studies.context import Context
from wordline.studies.packages import KIB, mean

PAGE_KIB = 2
US_PER_S = 1e6
US_PER_MS = 1e3
OPS = ("read", "write")
ALL = "all"
"""Reads and writes together."""
KEPT = ("latency_us", "utilisation", "banks")
"""What is kept of a result."""
FIRST_COME, READS_FIRST = "first-come", "reads-first"


@dataclass(frozen=True)
class Organisation:
    """How packages are put together."""

    channels: int = 1
    banks: int = 1
    """Of a channel."""
    gang: int = 1
    """Packages of a bank, in lockstep: a superblock."""

    @property
    def packages(self) -> int:
        """All packages."""
        return self.channels * self.banks * self.gang

    def __str__(self) -> str:
        """For tables and figures."""
        if self.gang > 1:
            return f"superblock of {self.gang}"
        banks = "1 bank" if self.banks == 1 else f"{self.banks} banks"
        return banks if self.channels == 1 else f"{self.channels} channels of {banks}"


@dataclass(frozen=True, order=True)
class Bus:
    """An I/O bus of a channel."""

    mb_s: int
    bits: int
    mhz: int

    def __str__(self) -> str:
        """For tables and figures."""
        return f"{self.bits} bits, {self.mhz} MHz"


def bus(bits: int, mhz: int) -> Bus:
    """The bus of a width and a speed."""
    return Bus(bits * mhz // 8, bits, mhz)


Key = tuple[Organisation, Bus, str, str]
"""A point of the design space: organisation, bus, trace, order of requests."""


class Space:
    """The design space of figures 6 to 10, under the workloads of 3.1."""

    def __init__(self, context: Context) -> None:
        """Takes the choices of the study."""
        self.context = context
        table = self.table = parsed(context.study.folder.parent / f"{context.study.chapter}.toml")
        choice = context.choice
        choice("size")
        self.traces = list(table["trace"])
        self.buses = sorted(bus(bits, mhz) for bits in table["bits"] for mhz in table["mhz"])
        self.banking = [Organisation(banks=banks) for banks in table["banks"]]
        self.superblocks = [Organisation(gang=gang) for gang in table["gangs"]]
        self.several = [
            Organisation(channels, banks) for channels in table["channels"] for banks in table["banks_of_channel"]
        ]
        self.sets = {
            "placement.fill_kib": choice("layout"),
            "precondition.overwrites": choice("cleaning"),
            "nand.load_whole_pages": choice("loading"),
            "pack.policy": choice("cache"),
            "queue.depth": choice("depth"),
        }
        self.whole_units = choice("mapping") == "superblock"
        self.jobs = {name: self.job(name) for name in self.traces}

    def job(self, name: str) -> dict[str, Any]:
        """The true trace, or its stand-in."""
        choice = self.context.choice
        requests = self.context.requests(choice("length"))
        stand_in = {
            "requests": requests,
            "write_percent": 50,
            **choice("sizes"),
            "align": 4 * KIB,
            "random_percent": choice("random"),
            "extent": f"{self.table['extent_mib']}m",
            "gap_mean_us": US_PER_S / self.table["trace"][name]["rate"],
            "gap_median_us": choice("gap"),
            "burst_requests": choice("groups"),
        }
        part = self.context.recorded(name, PAGE_KIB * KIB, requests)
        return part.job(past_end="wrap") if part is not None else {"stand_in": stand_in, "replay": {}}

    def point(
        self, key: Key, sets: Mapping[str, Any] | None = None, arrivals: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """A point, as :meth:`Context.sweep` takes it.

        :param sets: other overrides of the drive; a whole section replaces its keys.
        :param arrivals: other statistics of the stand-in; None leaves one out. A true trace stays as it is.
        """
        organisation, wires, trace, order = key
        job = self.jobs[trace]
        if arrivals and "stand_in" in job:
            changed = {**job["stand_in"], **arrivals}
            job = {**job, "stand_in": {name: value for name, value in changed.items() if value is not None}}
        of_point = {
            **self.sets,
            "geometry.channels": organisation.channels,
            "geometry.packages_per_channel": organisation.banks,
            "geometry.gang": organisation.gang,
            "geometry.blocks_per_plane": self.table["blocks"] // organisation.packages,
            "nand.bus_bits": wires.bits,
            "nand.cycle_ns": 1000 / wires.mhz,
            "dispatch.order": order,
        }
        if self.whole_units:
            of_point["mapping.unit_kib"] = PAGE_KIB * organisation.gang
        more = sets or {}
        kept = {name: value for name, value in of_point.items() if name.partition(".")[0] not in more}
        return {
            "drive": self.table["preset"],
            "sets": {**kept, **more},
            "precondition": {},
            "then": {},
            "jobs": [job],
        }

    def sweep(self, keys: Iterable[Key]) -> Measured:
        """All points, as one sweep."""
        return Measured(self.context.drives({key: self.point(key) for key in keys}, KEPT), self)


class Measured:
    """Results of the points of the design space."""

    def __init__(self, results: Mapping[Key, Mapping[str, Any]], space: Space) -> None:
        """Takes them."""
        self.results, self.space = results, space

    def us(self, organisation: Organisation, wires: Bus, trace: str, op: str, order: str = FIRST_COME) -> float:
        """Mean response time, in microseconds."""
        return self.results[organisation, wires, trace, order]["latency_us"][op]["mean"]

    def ms(self, organisation: Organisation, wires: Bus, op: str, order: str = FIRST_COME) -> float:
        """Mean response time in milliseconds, mean of the traces."""
        return mean(self.us(organisation, wires, it, op, order) for it in self.space.traces) / US_PER_MS

    def change(
        self,
        after: Organisation,
        before: Organisation,
        op: str,
        buses: Sequence[Bus] | None = None,
        traces: Sequence[str] | None = None,
    ) -> float:
        """Response time of an organisation against another, in percent: mean over buses and traces."""
        ratios = [
            self.us(after, wires, trace, op) / self.us(before, wires, trace, op)
            for wires in (self.space.buses if buses is None else buses)
            for trace in (self.space.traces if traces is None else traces)
        ]
        return 100 * (mean(ratios) - 1)

    def channels_used(self, organisation: Organisation, wires: Bus) -> float:
        """Share of time in which buses are in use, mean of the traces, in percent."""
        used = [
            self.results[organisation, wires, it, FIRST_COME]["utilisation"]["channels"] for it in self.space.traces
        ]
        return 100 * mean(mean(each) for each in used)
