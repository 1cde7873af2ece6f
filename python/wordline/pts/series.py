"""Tests over time: write saturation, and recovery after a change of workload."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from wordline.pts.bench import Bench, Load
from wordline.pts.matrix import KIB, Cell

STEP = 0.05
"""A point of a series: this share of the capacity is written."""

LATE = 0.25
"""The last part of a workload, by points: the settled level."""

BAND = 0.10
"""Within this share of the settled level, the drive has recovered from the previous workload."""

AROUND = 2
"""Points on each side that belong to a median."""

SEQUENTIAL = ("1024 KiB sequential writes", Load(Cell(0, 1024 * KIB), random=False, depth=32))
RANDOM = ("8 KiB random writes", Load(Cell(0, 8 * KIB), random=True, depth=32))
SMALL = ("4 KiB random writes", Load(Cell(0, 4 * KIB), random=True, depth=32))


def saturation(bench: Bench, capacities: float) -> dict[str, Any]:
    """4 KiB random writes on an empty drive, until ``capacities`` times its size is written."""
    return _phases(bench, "Write saturation", "iops", "IOPS", [SMALL], capacities)


def recovery(bench: Bench, capacities: float) -> dict[str, Any]:
    """Sequential, random, and sequential writes again; each load ``capacities`` times the drive's size."""
    loads = [SEQUENTIAL, RANDOM, SEQUENTIAL]
    return _phases(bench, "Cross-stimulus recovery", "mib_s", "MiB/s", loads, capacities)


def _phases(
    bench: Bench, title: str, figure: str, unit: str, loads: Sequence[tuple[str, Load]], capacities: float
) -> dict[str, Any]:
    points: list[dict[str, Any]] = []
    phases: list[dict[str, Any]] = []
    steps = max(1, round(capacities / STEP))
    time_s = 0.0
    with bench.kept():
        for n, (name, load) in enumerate(loads, 1):
            count = max(1, int(bench.drive.capacity * capacities / steps) // load.cell.size)
            bench.stage(f"{title}, {name}", steps)
            mine: list[dict[str, Any]] = []
            for step in range(steps):
                measured = bench.measure(load, requests=count)
                time_s += measured["simulated_s"]
                share = (step + 1) * capacities / steps
                point = {"phase": n, "load": name, "capacities": share, "time_s": time_s, **measured}
                mine.append(point)
                points.append(point)
            phases.append({"phase": n, "load": name, **settling(mine, figure)})
    told = {"title": title, "figure": figure, "unit": unit, "stopped": bench.stopped}
    return {**told, "phases": phases, "points": points}


def settling(points: Sequence[dict[str, Any]], figure: str) -> dict[str, Any]:
    """The settled level of a workload, and the time to reach it.

    ``settled`` is the mean of ``figure`` over the last quarter of its points. ``recovery_s`` and
    ``recovery_capacities`` are the time and amount after which the figure stays within a tenth of it; they are absent
    if it does not before that quarter. Each point is the median of five around it, to reduce noise.
    """
    values = [point[figure] for point in points]
    late = max(1, round(len(values) * LATE))
    level = sum(values[-late:]) / late
    smooth = [median(values[max(0, n - AROUND) : n + AROUND + 1]) for n in range(len(values))]
    at = len(values)
    while at > 0 and abs(smooth[at - 1] - level) <= BAND * level:
        at -= 1
    began = points[0]["time_s"] - points[0]["simulated_s"]
    before = points[at - 1] if at else {"time_s": began, "capacities": 0.0}
    known = at <= len(values) - late
    amplifications = [point["write_amplification"] for point in points[-late:]]
    return {
        "first": values[0],
        "settled": level,
        "recovery_s": before["time_s"] - began if known else None,
        "recovery_capacities": before["capacities"] if known else None,
        "write_amplification": None if None in amplifications else sum(amplifications) / late,
    }
