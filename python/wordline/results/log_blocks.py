"""Merges of log blocks, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wordline.base import units

KINDS = ("switch", "partial", "full")


def summed_up(result: dict[str, Any]) -> str:
    """Merges of log blocks in a sentence; empty if the mapping has none, or nothing was merged."""
    told = result.get("log_blocks")
    if not told or not told["merges"]:
        return ""
    logical = [f"{units.count(told[f'{kind}_merges'])} {kind}" for kind in KINDS]
    merges, took = units.some(told["merges"], "merge"), units.duration(told["mean_us"] / 1e6)
    return f"{merges} of log blocks, {took} on average; of logical blocks {', '.join(logical)}"


def listed(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The same as rows of a table."""
    told = result.get("log_blocks")
    if not told:
        return
    yield "Merges of log blocks", units.count(told["merges"])
    if told["mean_us"] is not None:
        yield "Mean time of a merge", units.duration(told["mean_us"] / 1e6)
    for kind in KINDS:
        yield f"{kind.capitalize()} merges of logical blocks", units.count(told[f"{kind}_merges"])
