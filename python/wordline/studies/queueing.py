"""Device queues by virtual and by physical addresses: what the studies of jung13's chapter 6 share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wordline.studies.catalogue import parsed
from wordline.studies.context import Context
from wordline.studies.packages import KIB, resolved

VAQ, PAQ0, PAQ1, PAQ2 = "VAQ", "PAQ0", "PAQ1", "PAQ2"
PAQS = (PAQ0, PAQ1, PAQ2)
"""The schemes of the chapter."""
OTHER, FREE = "PAQ2, other package rule", "out of order"
"""Not in the chapter: PAQ2 with the other rule for packages, and reads that go whenever their die is free."""

PAGE_BYTES = 2 * KIB
OPS = ("read", "write")
MS_PER_S = 1000.0
US_PER_MS = 1000.0

Result = Mapping[str, Any]
Runs = dict[tuple[str, str], dict[str, Any]]
"""Results by system and trace."""


class Queueing:
    """The chapter's drive, in a smaller size, and its workloads."""

    def __init__(self, context: Context) -> None:
        """Takes the choices of the chapter."""
        self.context = context
        self.chapter = parsed(context.study.folder.parent / f"{context.study.chapter}.toml")
        config = resolved(self.chapter["preset"])
        geometry, collect = config["geometry"], config["collect"]
        blocks = self.chapter["blocks_per_plane"]
        self.start = math.ceil(collect["start_blocks"] * blocks / geometry["blocks_per_plane"])
        self.pages = math.prod(
            geometry[key] for key in ("packages_per_channel", "dies_per_package", "planes_per_die", "pages_per_block")
        )
        """Pages of a channel in one block of each plane."""
        self.planes = self.pages // geometry["pages_per_block"]
        """Planes of a channel."""
        self.channels = geometry["channels"]
        self.logical = blocks / config["capacity"]["raw_over_logical"]
        self.sets = {
            "geometry.blocks_per_plane": blocks,
            "collect.start_blocks": self.start,
            "collect.stop_blocks": self.start + collect["stop_blocks"] - collect["start_blocks"],
            **context.choice("placement"),
            **context.choice("bus"),
        }
        self.interleaves = context.choice("package")
        for key in ("sizes", "pace", "blocks", "length"):
            context.choice(key)

    def keys(self, more: Mapping[str, Any]) -> dict[str, Any]:
        """The keys of the drive, with others in place of some. Those of another placement replace all of it."""
        kept = {
            key: value
            for key, value in self.sets.items()
            if "placement.policy" not in more or not key.startswith("placement.")
        }
        keys = {**kept, **more}
        if keys.get("collect.scope") == "drive":
            # Free blocks are counted over the drive then, not in each plane.
            planes = self.planes * keys.get("geometry.channels", self.channels)
            keys["collect.start_blocks"] *= planes
            keys["collect.stop_blocks"] = keys["collect.start_blocks"] + 1
        return keys

    def systems(self) -> dict[str, dict[str, Any]]:
        """The schemes of 6.5.2 and the two beside them, as overrides of the drive."""
        paq = {"dispatch.policy": "paq", "dispatch.interleave": self.interleaves}
        return {
            VAQ: {"dispatch.policy": "vaq"},
            PAQ0: {"dispatch.policy": "paq", "dispatch.clumps": False},
            PAQ1: {**paq, "dispatch.packing": False},
            PAQ2: paq,
            OTHER: {**paq, "dispatch.interleave": not self.interleaves},
            FREE: {"dispatch.policy": "out-of-order"},
        }

    def job(self, name: str, outstanding: int, channels: int, gap_us: float | None = None) -> dict[str, Any]:
        """The true trace or its stand-in, with so many requests outstanding, or at a mean interarrival time."""
        row = self.chapter["trace"][name]
        replay: dict[str, Any] = {} if gap_us else {"pace": "asap", "iodepth": outstanding}
        count = row["writes"] + row["reads"]
        requests = min(count, self.context.requests(self.chapter["most_requests"]))
        part = self.context.recorded(name, PAGE_BYTES, requests)
        if part is not None:
            return part.job(**({"speed": part.gap_us / gap_us} if gap_us else replay))
        return {"stand_in": self.stand_in(name, requests, channels, gap_us), "replay": replay}

    def stand_in(self, name: str, requests: int, channels: int, gap_us: float | None = None) -> dict[str, Any]:
        """So many requests with the statistics of a trace."""
        row = self.chapter["trace"][name]
        count = row["writes"] + row["reads"]
        random = (row["writes"] * row["random_writes"] + row["reads"] * row["random_reads"]) / count
        return {
            "requests": requests,
            "write_percent": 100 * row["writes"] / count,
            "read_size": f"{row['read_kib']}k",
            "write_size": f"{row['write_kib']}k",
            "align": PAGE_BYTES,
            "random_percent": random,
            "extent": int(self.logical * 0.98) * self.pages * channels * PAGE_BYTES,
            # As fast as possible, times play no part.
            "gap_mean_us": gap_us or 1000,
        }

    def runs(
        self,
        systems: Iterable[str],
        names: Sequence[str],
        outstanding: int,
        sets: Mapping[str, Any] | None = None,
        gaps: Mapping[str, float] | None = None,
    ) -> Runs:
        """The workloads on each system.

        :param sets: other keys of the drive.
        :param gaps: the mean interarrival time of each workload, in µs; without it, requests come as fast as possible.
        """
        more = dict(sets or {})
        channels = more.get("geometry.channels", self.channels)
        overwrites = self.context.choice("spare")
        known = self.systems()
        return self.context.drives(
            {
                (system, name): {
                    "drive": self.chapter["preset"],
                    "sets": self.keys(more),
                    "precondition": {"overwrites": overwrites},
                    "then": known[system],
                    "jobs": [self.job(name, outstanding, channels, gaps[name] if gaps else None)],
                }
                for name in names
                for system in systems
            }
        )


def latency_ms(result: Result) -> float:
    """The mean latency of all requests."""
    return result["latency_us"]["all"]["mean"] / US_PER_MS


def idle_s(result: Result) -> float:
    """The time in which a die serves nothing, mean of the dies."""
    used = result["utilisation"]["dies"]
    return result["simulated_s"] * (1 - sum(used) / len(used))


def contention_ms(result: Result) -> float:
    """The time that requests spend in waiting for a bus, a request."""
    return MS_PER_S * sum(result["time_of"][op]["wait_bus"] for op in OPS) / result["requests"]


def change(values: Mapping[tuple[str, str], float], system: str, name: str) -> float:
    """The value of a system against that of VAQ, in percent."""
    return 100 * (values[system, name] / values[VAQ, name] - 1)
