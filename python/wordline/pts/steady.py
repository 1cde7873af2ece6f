"""The steady-state criterion of the standard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

WINDOW = 5
"""Rounds of the measurement window."""
RANGE = 0.20
"""Largest allowed range of the tracked value, as a share of its mean."""
SLOPE = 0.10
"""Largest allowed rise or fall of the best-fit line over the window, as a share of the mean."""


def state(values: Sequence[float]) -> dict[str, Any]:
    """The criterion on the last five of ``values``.

    ``mean``, ``range`` and ``excursion`` (the last two as shares of the mean), ``slope`` a round, and whether it is
    ``steady``; with fewer rounds it never is. Without any the figures are absent.
    """
    last = list(values[-WINDOW:])
    n = len(last)
    if not n:
        return {"steady": False, "rounds": 0, "mean": None, "range": None, "slope": None, "excursion": None}
    mean = sum(last) / n
    middle = (n - 1) / 2
    spread = sum((x - middle) ** 2 for x in range(n))
    slope = sum((x - middle) * y for x, y in enumerate(last)) / spread if spread else 0.0
    span = (max(last) - min(last)) / mean if mean else 0.0
    excursion = abs(slope) * (n - 1) / mean if mean else 0.0
    steady = n == WINDOW and mean > 0 and span <= RANGE and excursion <= SLOPE
    return {"steady": steady, "rounds": n, "mean": mean, "range": span, "slope": slope, "excursion": excursion}
