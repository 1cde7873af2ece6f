"""Merges of log blocks, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wordline.base import units
from wordline.results import excess

KINDS = ("switch", "partial", "full")
CAUSES = {
    "on_demand": "on demand",
    "look_ahead": "look-ahead",
    "proactive": "proactive",
    "retroactive": "retroactive",
    "partial": "in steps",
}
"""Why a merge started, where the collect policy schedules merges over idle periods or divides them into steps."""


def summed_up(result: dict[str, Any]) -> str:
    """Merges of log blocks in a sentence; empty if the mapping has none, or nothing was merged."""
    told = result.get("log_blocks")
    if not told or not told["merges"]:
        return ""
    logical = [f"{units.count(told[f'{kind}_merges'])} {kind}" for kind in KINDS]
    merges, took = units.some(told["merges"], "merge"), units.duration(told["mean_us"] / 1e6)
    return f"{merges} of log blocks, {took} on average; of logical blocks {', '.join(logical)}"


def scheduled(result: dict[str, Any]) -> str:
    """Why merges started, what became of those in idle periods or in steps, and what requests waited in excess.

    Empty if none started.
    """
    told = result.get("scheduled_merges")
    if not told or not sum(told[cause] for cause in CAUSES):
        return ""
    started = ", ".join(f"{units.count(told[cause])} {words}" for cause, words in CAUSES.items())
    interrupted, blocks = (
        units.some(told["interruptions"], "interruption"),
        units.some(told["delay_blocks"], "delay block"),
    )
    pressed = units.count(told["pressed"])
    went_on = f"{interrupted} by the host, {pressed} went on since a write waited"
    return f"merges started: {started}; {went_on}; {blocks}; {excess.told(excess.of(result))}"


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
    schedule = result.get("scheduled_merges")
    if not schedule:
        return
    for cause, words in CAUSES.items():
        yield f"Merges started: {words}", units.count(schedule[cause])
    yield "Interruptions of merges by the host", units.count(schedule["interruptions"])
    yield "Such merges that went on since a write waited", units.count(schedule["pressed"])
    yield "Log blocks in place of a delayed merge", units.count(schedule["delay_blocks"])
    if "latency_us" not in result:
        # A replay has no times.
        return
    waited = excess.of(result)
    marginal = units.duration(waited.marginal_us / 1e6)
    yield f"Requests with excess waiting time, above {marginal}", units.percent(waited.share)
    yield "Largest excess waiting time", units.duration(waited.worst_us / 1e6)
