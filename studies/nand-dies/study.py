"""Throughput of a package with one to eight dies."""

from __future__ import annotations

from typing import Any

from wordline.studies.context import Context
from wordline.studies.outcome import Outcome
from wordline.studies.scaling import scaling


def package(count: int, host: dict[str, Any]) -> dict[str, Any]:
    """A package with so many dies."""
    return {"dies": count, "planes": 1, "host": {**host, "scheduler": "die-first"}}


def run(context: Context) -> Outcome:
    """Bandwidth by dies."""
    return scaling(context, "die", package, "more dies gain until the bus is full")
