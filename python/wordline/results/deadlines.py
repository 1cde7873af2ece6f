"""Deadlines of requests, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wordline.base import units

KINDS = {"read": "reads", "write": "writes", "flush": "flushes"}


def summed_up(result: dict[str, Any]) -> Iterator[str]:
    """How many requests missed their deadline, a sentence for each deadline; none if dispatch has no deadlines."""
    found = result.get("deadlines")
    if not found:
        return
    figures = [(name, found[kind]) for kind, name in KINDS.items()]
    figures += [(f"requests of stream {stream['stream']}", stream) for stream in found.get("streams", [])]
    for name, of in figures:
        if not of["requests"]:
            continue
        missed = f"{units.count(of['missed'])} of {units.count(of['requests'])} {name} missed"
        worst = f", by {units.latency(of['most_late_us'])} at most" if of["missed"] else ""
        yield f"{missed} their deadline of {units.latency(of['deadline_us'])}{worst}"
