"""A result in plain words: the sentences that summary and report share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from wordline import units

Result = dict[str, Any]

SATURATED = 0.9
"""A part that is busy for more of the time than this sets the pace."""


ROUNDS = 5
"""Rounds of a fifth of the capacity that a steady state takes."""

EVEN = 0.05
"""Parts whose mean is as near as this to the busiest of them share the load evenly."""


def load_name(result: Result) -> str:
    """What was run: the trace's file name, or the names of the jobs."""
    workload = result.get("workload") or {}
    names = []
    trace = workload.get("trace")
    if isinstance(trace, dict) and trace.get("file"):
        mark = " (a stand-in)" if trace.get("stand_in") else ""
        names.append(PurePath(trace["file"]).name + mark)
    names += [f"job {job['name']}" for job in workload.get("jobs") or [] if job.get("name")]
    if len(names) > 3:
        names = [*names[:2], f"{len(names) - 2} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names) or "the load"


def drive_name(result: Result) -> str:
    """The name of the drive."""
    return (result.get("drive") or {}).get("name") or "the drive"


def partial(result: Result) -> str:
    """Why the result is not whole; nothing if it is."""
    if not result.get("partial"):
        return ""
    repeats = result.get("repeats")
    if repeats and result["seed"] in repeats["seeds"]:
        return f"the run was interrupted after {repeats['n']} of {repeats['asked']} seeds"
    if (result.get("precondition") or {}).get("interrupted"):
        return "the run was interrupted while the drive was being aged, before its first request"
    return "the run was interrupted; the figures cover what was done until then"


NAMES = {"dies": "dies", "channels": "channels", "link_in": "inbound link", "link_out": "outbound link"}
"""The parts whose utilisation a result has."""


@dataclass(frozen=True)
class Part:
    """How busy a part of the drive was; shares of simulated time, 0 to 1."""

    name: str
    mean: float
    least: float
    most: float

    def words(self) -> str:
        """``dies 12 % (5 % to 19 %)``."""
        return f"{self.name} {units.percent(self.mean)}{self.range()}"

    def range(self) -> str:
        """`` (5 % to 19 %)`` if there are several and they differ."""
        least, most = units.percent(self.least), units.percent(self.most)
        return "" if least == most else f" ({least} to {most})"


def parts(result: Result) -> list[Part]:
    """The parts of the drive, the busiest first."""
    utilisation = result.get("utilisation") or {}
    found = []
    for key, name in NAMES.items():
        shares = utilisation.get(key)
        values = shares if isinstance(shares, list) else [] if shares is None else [shares]
        if values:
            mean = sum(values) / len(values)
            found.append(Part(name, mean, min(values), max(values)))
    return sorted(found, key=lambda part: -part.mean)


def verdict(busy: list[Part]) -> str:
    """What set the pace, if any part of the drive did."""
    if not busy:
        return ""
    if busy[0].mean >= SATURATED:
        return f"the {busy[0].name} set the pace"
    uneven = max(busy, key=lambda part: part.most)
    if uneven.most >= SATURATED:
        if uneven.mean >= SATURATED - EVEN:
            return f"the {uneven.name} set the pace"
        return f"some of the {uneven.name} set the pace, unevenly loaded"
    return "no part was saturated"


def left_out(told: dict[str, int]) -> Iterator[tuple[str, str]]:
    """What of a trace was left out or changed while it was read, each with the word for what became of it."""
    for key, fate, one, why in (
        ("skipped", "Left out", "request", "of zero bytes"),
        ("clamped", "Moved", "request", "whose time ran backwards"),
        ("unreadable", "Left out", "line", "that could not be read"),
        ("wrapped", "Left out", "request", "with a time stamp that wrapped"),
    ):
        if told.get(key):
            yield fate, f"{units.some(told[key], one)} {why}"


def left_out_of(result: Result) -> list[tuple[str, str]]:
    """What was left out of the trace that a run replayed."""
    trace = (result.get("workload") or {}).get("trace") or {}
    return list(left_out(trace.get("left_out") or {}))


def fresh(result: Result) -> str:
    """That the drive was not worn in when measuring began; nothing if garbage collection had been at work."""
    start = result.get("at_start")
    if not start:
        return ""
    if not start["filled"]:
        return "The drive was empty when measuring began."
    if start["erases"]:
        return ""
    return (
        f"The drive was only filled: when measuring began, {units.percent(start['filled'])} of its capacity held data "
        "and no block had ever been erased, so garbage collection had not begun."
    )


def wrote(result: Result) -> str:
    """How much of the capacity the run wrote, and whether it ended in steady state; nothing if that is not known."""
    written = result.get("written")
    if not written:
        return ""
    if written["steady"] is None:
        return "wrote nothing"
    share = written["of_capacity"]
    much = f"{units.percent(share)} of the capacity" if share < 0.995 else f"{units.three(share)} times the capacity"
    collected = f"GC collected {units.some(result['gc']['collections'], 'block')}"
    return f"wrote {much}, {collected}, {'in' if written['steady'] else 'not in'} steady state"


def unsteady(result: Result) -> str:
    """What speaks against a steady state; nothing where there is one, or no writes."""
    written = result.get("written") or {}
    if written.get("steady") is not False:
        return ""
    if len(written["rounds"]) < ROUNDS:
        return "that takes the capacity written once at least"
    rounds = ", ".join(units.three(value) for value in written["rounds"])
    if not result["gc"]["collections"]:
        return "garbage collection was never needed"
    return f"write amplification of the last {ROUNDS} fifths of the capacity: {rounds}"


def headline(result: Result) -> str:
    """One sentence: what ran, and for how long."""
    done = f"{units.some(result['requests'], 'request')} in {units.duration(result['simulated_s'])} of simulated time"
    return f"{load_name(result)} on {drive_name(result)}: {done}"


def opening(result: Result) -> list[str]:
    """What must be known of a run before any figure: a drive that was not worn in, what ran, and how much it wrote."""
    told = [text for text in (fresh(result),) if text]
    told += [
        f"{drive_name(result)} ran {load_name(result)}: {units.some(result['requests'], 'request')} in "
        f"{units.duration(result['simulated_s'])} of simulated time, which is {units.short(result['iops'])} requests a "
        f"second or {units.bandwidth(result['bandwidth_mib_s'])}."
    ]
    written = wrote(result)
    if written:
        why = unsteady(result)
        told.append(f"It {written}{f' ({why})' if why else ''}.")
    return told


def paragraph(result: Result) -> list[str]:
    """A few sentences that tell what was done."""
    told = opening(result)
    repeats = result.get("repeats")
    if repeats:
        told.append(f"These figures are of seed {result['seed']}, the first of {units.some(repeats['asked'], 'seed')}.")
    told += [f"{fate} while the trace was read: {text}." for fate, text in left_out_of(result)]
    told += _latency(result["latency_us"]["all"])
    told += _flash(result)
    return told


def _latency(all_of: dict[str, Any]) -> list[str]:
    if not all_of.get("count") or all_of.get("p50") is None:
        return []
    text = f"Half of the requests were done within {units.latency(all_of['p50'])}"
    tail = next((name for name in ("p99_99", "p99_9", "p99", "p90") if all_of.get(name) is not None), None)
    if all_of.get("p99") is not None:
        text += f", 99 % within {units.latency(all_of['p99'])}"
    if tail in ("p99_9", "p99_99"):
        text += f", {tail[1:].replace('_', '.')} % within {units.latency(all_of[tail])}"
    return [f"{text}; the slowest took {units.latency(all_of['max'])}."]


def _flash(result: Result) -> list[str]:
    told = []
    amplification = result.get("write_amplification")
    if amplification is not None:
        told.append(f"For every page that the host wrote, {units.three(amplification)} were programmed.")
    collections, affected = result["gc"]["collections"], result.get("gc_affected_requests")
    if collections:
        text = f"Garbage collection freed {units.some(collections, 'block')}"
        if affected is not None and result["requests"]:
            text += f" and held up {units.percent(affected / result['requests'])} of the requests"
        told.append(text + ".")
    else:
        told.append("Garbage collection was never needed.")
    return told
