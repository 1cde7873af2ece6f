"""Tests of rounds: all cells of a matrix again and again, until the tracked one is steady."""

from __future__ import annotations

from typing import Any

from wordline.pts import steady
from wordline.pts.bench import Bench, Interrupted
from wordline.pts.matrix import Matrix

MOST_ROUNDS = 25


def test(bench: Bench, matrix: Matrix, round_s: float, most: int = MOST_ROUNDS) -> dict[str, Any]:
    """Preconditions the drive and does rounds until steady state, at most ``most``.

    A cell's figures are means over the window (its ``max_us`` the largest there). After Ctrl-C ``partial`` is true, and
    only whole rounds count.
    """
    rounds: list[list[dict[str, Any]]] = []
    partial = False
    at = matrix.cells.index(matrix.tracked)
    try:
        bench.fill()
        while len(rounds) < most and not steady.state(_tracked(rounds, at, matrix))["steady"]:
            phase = f"{matrix.title}, round {len(rounds) + 1} of at most {most}"
            options = {"time_based": True, "runtime_s": round_s}
            rounds.append([bench.measure(phase, cell, matrix.random, matrix.depth, **options) for cell in matrix.cells])
    except Interrupted:
        partial = True
    tracked = _tracked(rounds, at, matrix)
    return {
        "title": matrix.title,
        "figure": matrix.figure,
        "unit": matrix.unit,
        "tracked": {"mix": matrix.tracked.mix, "block": matrix.tracked.block, "values": tracked},
        "rounds": len(rounds),
        "steady_state": steady.state(tracked),
        "partial": partial,
        "cells": _cells(matrix, rounds[-steady.WINDOW :]),
    }


def _tracked(rounds: list[list[dict[str, Any]]], at: int, matrix: Matrix) -> list[float]:
    return [cells[at][matrix.figure] for cells in rounds]


def _cells(matrix: Matrix, window: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    cells = []
    for n, cell in enumerate(matrix.cells if window else ()):
        row = [measured[n] for measured in window]
        means = {key: sum(one[key] for one in row) / len(row) for key in ("iops", "mib_s", "mean_us")}
        cells.append(
            {"mix": cell.mix, "block": cell.block, "size_bytes": cell.size, **means}
            | {"max_us": max(one["max_us"] for one in row)}
        )
    return cells
