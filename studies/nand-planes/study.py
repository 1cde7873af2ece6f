"""Throughput of a die with one to eight planes."""

from __future__ import annotations

from typing import Any

from wordline.studies.context import Context
from wordline.studies.outcome import Outcome
from wordline.studies.scaling import scaling


def package(count: int, host: dict[str, Any]) -> dict[str, Any]:
    """A package with so many planes."""
    return {"planes": count, "host": {**host, "planes_per_command": count, "scheduler": "plane-first"}}


def run(context: Context) -> Outcome:
    """Bandwidth by planes."""
    return scaling(context, "plane", package, "a die with more planes gains once a transfer covers them")
