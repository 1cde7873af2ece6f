"""Tests over time: write saturation, and recovery from one kind of load after another."""

from __future__ import annotations

from typing import Any

from wordline.pts.bench import Bench, Interrupted
from wordline.pts.matrix import KIB, Cell

STEP = 0.05
"""A point of a series: this share of the capacity is written or read."""


def saturation(bench: Bench, capacities: float) -> dict[str, Any]:
    """4 KiB random writes on an empty drive, until ``capacities`` times its size is written."""
    return _phases(bench, "Write saturation", [("4 KiB random writes", Cell(0, 4 * KIB), True, capacities)])


def recovery(bench: Bench, capacities: float) -> dict[str, Any]:
    """Sequential writes, random reads and writes two to one, sequential writes; each ``capacities`` times its size."""
    sequential = ("1024 KiB sequential writes", Cell(0, 1024 * KIB), False, capacities)
    random = ("8 KiB random, reads to writes 2:1", Cell(67, 8 * KIB), True, capacities)
    return _phases(bench, "Cross-stimulus recovery", [sequential, random, sequential])


def _phases(bench: Bench, title: str, phases: list[tuple[str, Cell, bool, float]]) -> dict[str, Any]:
    points: list[dict[str, Any]] = []
    partial = False
    size = bench.drive.capacity
    try:
        for n, (name, cell, random, capacities) in enumerate(phases, 1):
            steps = max(1, round(capacities / STEP))
            for step in range(steps):
                count = max(1, int(size * capacities / steps) // cell.size)
                # Sequential requests go on where the last point ended.
                start = 0 if random else int(size * (step * capacities / steps % 1)) // cell.size * cell.size
                length = {"number_ios": count, "offset": start}
                point = bench.measure(f"{title}, {name}", cell, random, 32, **length)
                points.append({"phase": n, "load": name, "capacities": (step + 1) * capacities / steps, **point})
    except Interrupted:
        partial = True
    return {"title": title, "partial": partial, "points": points}
