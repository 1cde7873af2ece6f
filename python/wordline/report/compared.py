"""A comparison as data, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wordline.report import compare
from wordline.report.compare import Run

SCHEMA = 1
"""A number that grows when a key changes its meaning."""


def document(runs: Sequence[Run]) -> dict[str, Any]:
    """The figures of runs side by side, their ratios to the first run, and the differing settings.

    Figures are in the units of a result, and are not rounded.
    """
    told = list(compare.rows(runs))
    return {
        "schema": SCHEMA,
        "runs": [
            {
                "name": run.name,
                "seed": run.result.get("seed"),
                "version": run.result.get("version"),
                "digest": run.result["digest"],
                "states": compare.said(run.result),
            }
            for run in runs
        ],
        "figures": [
            {
                "name": row.name,
                "key": row.key,
                "values": row.values,
                "ci95": row.ci95,
                "ratios": row.ratios,
                "beyond_chance": row.apart,
                "marks": [mark or None for mark in row.marks],
            }
            for row in told
        ],
        "chance": compare.noise(runs, told),
        "differences": [{"key": key, "values": texts} for key, texts in compare.differences(runs)],
    }
