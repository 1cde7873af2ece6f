"""Tests with rounds: all cells of a matrix, repeated until the tracked one is steady."""

from __future__ import annotations

from typing import Any

from wordline.pts import steady
from wordline.pts.bench import Bench, Load
from wordline.pts.matrix import Matrix

MOST_ROUNDS = 25

MEANS = ("iops", "mib_s", "mean_us", "p99_9_us", "p99_999_us")
"""Figures of a cell that are means over the window; percentiles only if each of its rounds has them."""


def test(bench: Bench, matrix: Matrix, round_s: float, most: int = MOST_ROUNDS) -> dict[str, Any]:
    """Preconditions the drive and does rounds until steady state, at most ``most``.

    A cell's figures are means over the window (its ``max_us`` the largest there), its ``values`` those of all rounds.
    ``stopped`` is the reason of an early end (see :meth:`Bench.kept`); only complete rounds count then.
    """
    rounds: list[list[dict[str, Any]]] = []
    at = matrix.cells.index(matrix.tracked)
    with bench.kept():
        bench.fill()
        while len(rounds) < most and not steady.state(_tracked(rounds, at, matrix))["steady"]:
            bench.stage(f"{matrix.title}, round {len(rounds) + 1} of at most {most}", len(matrix.cells))
            loads = [Load(cell, matrix.random, matrix.depth) for cell in matrix.cells]
            rounds.append([bench.measure(load, seconds=round_s) for load in loads])
    tracked = _tracked(rounds, at, matrix)
    written = sum(cell["written_bytes"] for cells in rounds for cell in cells)
    return {
        "title": matrix.title,
        "figure": matrix.figure,
        "unit": matrix.unit,
        "random": matrix.random,
        "depth": matrix.depth,
        "tracked": {"mix": matrix.tracked.mix, "block": matrix.tracked.block, "values": tracked},
        "rounds": len(rounds),
        "written_capacities": written / bench.drive.capacity,
        "steady_state": steady.state(tracked),
        "stopped": bench.stopped,
        "cells": _cells(matrix, rounds),
    }


def _tracked(rounds: list[list[dict[str, Any]]], at: int, matrix: Matrix) -> list[float]:
    return [cells[at][matrix.figure] for cells in rounds]


def _cells(matrix: Matrix, rounds: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    cells = []
    for n, cell in enumerate(matrix.cells if rounds else ()):
        row = [measured[n] for measured in rounds]
        window = row[-steady.WINDOW :]
        means = {key: _mean([one[key] for one in window]) for key in MEANS}
        cells.append(
            {"mix": cell.mix, "block": cell.block, "size_bytes": cell.size, **means}
            | {"max_us": max(one["max_us"] for one in window), "values": [one[matrix.figure] for one in row]}
        )
    return cells


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None
