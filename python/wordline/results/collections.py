"""Garbage collection (GC) in words: what it moved, whom it delayed, and who shared its commands and dies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wordline.base import units


def summed_up(result: dict[str, Any]) -> str:
    """Collections, and the requests that they delayed, in a sentence."""
    gc = result["gc"]
    if not gc["collections"]:
        return "none needed"
    affected = result.get("gc_affected_requests")
    delayed = f"; delayed {units.some(affected, 'request')}" if affected is not None else ""
    return f"{units.some(gc['collections'], 'collection')} moved {units.some(gc['moved_pages'], 'page')}{delayed}"


def shared(result: dict[str, Any]) -> str:
    """Host pages in commands of GC, in a sentence; empty if there are none."""
    gc = result["gc"]
    reads, writes = gc.get("joined_reads") or 0, gc.get("joined_writes") or 0
    if not reads and not writes:
        return ""
    busy = gc.get("plane_utilisation")
    planes = "" if busy is None else f"; {units.percent(busy)} of the planes of collecting dies busy"
    joined = f"{units.some(reads, 'page read')} and {units.some(writes, 'page write')}"
    return f"its commands took {joined} of the host along{planes}"


def listed(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The same, with the latency of the requests delayed, as rows of a table."""
    gc = result["gc"]
    yield "Blocks collected by GC", units.count(gc["collections"])
    yield "Pages moved by GC", units.count(gc["moved_pages"])
    if gc.get("holds"):
        yield "Page reads and erases of GC put on hold", units.count(gc["holds"])
    for key, name in (
        ("joined_reads", "Host reads in commands of GC"),
        ("joined_writes", "Host writes in commands of GC"),
    ):
        if gc.get(key):
            yield name, units.some(gc[key], "page")
    if gc.get("plane_utilisation") is not None:
        yield "Planes busy in dies with GC under way", units.percent(gc["plane_utilisation"])
    if result.get("gc_affected_requests") is not None:
        yield "Requests delayed by GC", units.count(result["gc_affected_requests"])
    for op, latency in (result.get("gc_affected_us") or {}).items():
        if latency["count"]:
            mean = units.latency(latency["mean"])
            yield f"Mean latency of the {units.some(latency['count'], op)} among them", mean
