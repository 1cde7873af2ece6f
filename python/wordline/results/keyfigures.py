"""The main figures of a run: their keys in a result, their names, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from wordline.base import units
from wordline.results import limits, tasks

Result = dict[str, Any]


def value_of(result: Result, key: str) -> float | None:
    """The figure at a dotted key; of a list the mean of its values, of ``activity.dies_gc`` that over the run."""
    if key == "activity.dies_gc":
        return limits.held_by_gc(result) if result.get("activity") else None
    value: Any = result
    for word in key.split("."):
        value = value.get(word) if isinstance(value, dict) else None
    if isinstance(value, list):
        return sum(value) / len(value) if value else None
    return value


@dataclass(frozen=True)
class KeyFigure:
    """A main figure."""

    name: str
    key: str
    """Where it is in a result (see :func:`value_of`)."""
    text: Callable[[Any], str]
    """How a value of it is written."""
    good: str = ""
    """The better direction, ``MORE`` or ``LESS``; empty if there is none."""
    total: bool = False
    """True for a total over the run, comparable only between runs of as many requests."""


MORE, LESS = "more", "less"

LATENCIES = {
    "mean": "mean",
    **{key: units.percentile(key) for key in ("p50", "p99", "p99_9", "p99_99")},
    "max": "slowest",
}

FIGURES = (
    KeyFigure("requests", "requests", units.count),
    KeyFigure("simulated time", "simulated_s", units.duration),
    KeyFigure("requests/s", "iops", units.short, MORE),
    KeyFigure("bandwidth", "bandwidth_mib_s", units.bandwidth, MORE),
    *(
        KeyFigure(f"{op} {label}", f"latency_us.{op}.{key}", units.latency, LESS)
        for op in ("read", "write")
        for key, label in LATENCIES.items()
    ),
    KeyFigure("write amplification", "write_amplification", units.three, LESS),
    KeyFigure("map look-ups in memory", "mapping_table.hit_rate", units.percent, MORE),
    KeyFigure("reads rebuilt", "superblocks.rebuilt_reads", units.count),
    KeyFigure("reads rebuilt from parity of pages", "parity.rebuilt_reads", units.count),
    KeyFigure("victim blocks", "gc.collections", units.count),
    KeyFigure("blocks erased", "flash.erases", units.count, LESS, total=True),
    KeyFigure("delayed by GC", "gc_affected_requests", units.count, LESS, total=True),
    KeyFigure("dies busy", "utilisation.dies", units.percent),
    KeyFigure("channels busy", "utilisation.channels", units.percent),
    KeyFigure("dies held by GC", "activity.dies_gc", units.percent, LESS),
    KeyFigure("energy", "energy_j", lambda joules: f"{units.three(joules)} J", LESS, total=True),
)
"""Figures of comparisons and of the summary of repeats."""


def of_policies(results: Iterable[Result]) -> list[KeyFigure]:
    """The figures that policies in Python tell of themselves in any of the results, of those that are one number."""
    found = {}
    for result in results:
        for family, figures in (result.get("policy_figures") or {}).items():
            for name, value in figures.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    key = f"policy_figures.{family}.{name}"
                    found[key] = KeyFigure(f"{family}: {name}", key, units.number)
    return list(found.values())


@cache
def replayed() -> tuple[KeyFigure, ...]:
    """Figures of comparisons of replays."""
    return (
        KeyFigure("capacities written", "replay.drive_writes", units.three),
        KeyFigure("write amplification", "write_amplification", units.three, LESS),
        KeyFigure("pages programmed", "flash.programs", units.short, LESS, total=True),
        KeyFigure("blocks erased", "flash.erases", units.short, LESS, total=True),
        KeyFigure("pages moved by GC", "gc.moved_pages", units.short, LESS, total=True),
        KeyFigure("merges of log blocks", "log_blocks.merges", units.short, LESS, total=True),
        *(
            KeyFigure(f"{kind} merges of logical blocks", f"log_blocks.{kind}_merges", units.short)
            for kind in ("switch", "partial", "full")
        ),
        *(
            KeyFigure(f"blocks erased by {title}", f"tasks.{name}.erases", units.short, LESS, total=True)
            for name, title in tasks.others().items()
        ),
        KeyFigure("erases of a block, mean", "wear.mean", units.three, LESS, total=True),
        KeyFigure("erases of a block, most", "wear.max", units.short, LESS, total=True),
        KeyFigure("standard deviation of erases", "wear.stddev", units.three, LESS, total=True),
        KeyFigure("bad blocks", "reliability.bad_blocks", units.count, LESS, total=True),
    )
