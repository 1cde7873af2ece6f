"""The main figures of a run: their keys in a result, their names, and how they are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wordline import limits, units

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
class Figure:
    """A main figure."""

    name: str
    key: str
    """Where it is in a result (see :func:`value_of`)."""
    text: Callable[[Any], str]
    """How a value of it is written."""


LATENCIES = {
    "mean": "mean",
    "p50": "50 %",
    "p99": "99 %",
    "p99_9": "99.9 %",
    "p99_99": "99.99 %",
    "max": "slowest",
}

FIGURES = (
    Figure("requests", "requests", units.count),
    Figure("simulated time", "simulated_s", units.duration),
    Figure("requests/s", "iops", units.short),
    Figure("bandwidth", "bandwidth_mib_s", units.bandwidth),
    *(
        Figure(f"{op} {label}", f"latency_us.{op}.{key}", units.latency)
        for op in ("read", "write")
        for key, label in LATENCIES.items()
    ),
    Figure("write amplification", "write_amplification", units.three),
    Figure("blocks collected", "gc.collections", units.count),
    Figure("blocks erased", "flash.erases", units.count),
    Figure("held up by GC", "gc_affected_requests", units.count),
    Figure("dies busy", "utilisation.dies", units.percent),
    Figure("channels busy", "utilisation.channels", units.percent),
    Figure("dies held by GC", "activity.dies_gc", units.percent),
    Figure("energy", "energy_j", lambda joules: f"{units.three(joules)} J"),
)
"""What the comparison shows of each run, and the summary of repeats."""
