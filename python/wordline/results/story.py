"""A result in plain words: the sentences that summary and report share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from wordline.base import units

Result = dict[str, Any]

SATURATED = 0.9
"""A part that is busy for more of the time than this sets the pace."""


ROUNDS = 5
"""Rounds of a fifth of the capacity that a steady state takes."""

EVEN = 0.05
"""Parts whose mean is as near as this to saturation set the pace together if one of them is saturated."""


UNEVEN = 1.25
"""Parts are unevenly loaded if the busiest is at work for so many times the mean of all, and ``APART`` more."""

APART = 0.05

MOST_LISTED = 3
"""So many saturated parts are told one by one."""


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


MEMBERS = {"dies": "die", "channels": "channel"}

HOLDERS = {"read": "reads", "write": "writes", "gc": "garbage collection"}
"""Who may hold a die, as in ``activity.saturated.dies_by``."""


def imbalance(result: Result, key: str) -> str:
    """How much more the busiest of the dies or channels had to do than the mean; nothing if they shared it evenly."""
    shares = (result.get("utilisation") or {}).get(key) or []
    if len(shares) < 2:
        return ""
    mean, most = sum(shares) / len(shares), max(shares)
    if most < UNEVEN * mean or most - mean < APART:
        return ""
    one = f"{MEMBERS[key]} {shares.index(most)}"
    return (
        f"the {key} were unevenly loaded: {one} was at work for {units.percent(most)} of the time, "
        f"the mean of all {units.percent(mean)}"
    )


def verdict(result: Result) -> str:
    """What set the pace, if any part of the drive did: over the whole time, or for some of it."""
    busy = parts(result)
    if not busy:
        return ""
    if busy[0].mean >= SATURATED:
        return f"the {busy[0].name} set the pace"
    uneven = max(busy, key=lambda part: part.most)
    at_times = saturated(result)
    if uneven.most >= SATURATED:
        if uneven.mean >= SATURATED - EVEN:
            return f"the {uneven.name} set the pace"
        key = next(key for key, name in NAMES.items() if name == uneven.name)
        shares = result["utilisation"][key]
        one = f"{MEMBERS[key]} {shares.index(max(shares))}"
        if measured := imbalance(result, key):
            return f"{one} set the pace; {measured}"
        return at_times or f"{one} was saturated"
    return at_times or "no part was saturated"


def saturated(result: Result) -> str:
    """Which parts were saturated in some intervals, in how many, and of dies by what; nothing if none was."""
    told = (result.get("activity") or {}).get("saturated") or {}
    if not (whole := told.get("intervals")):
        return ""
    by = told.get("dies_by") or {}
    dies = [sum(counts) for counts in zip(*(by.get(holder) or [] for holder in HOLDERS), strict=True)]
    found = []
    for name, counts in (("die", dies), ("channel", told.get("channels") or [])):
        some = sorted((n for n, count in enumerate(counts) if count), key=lambda n: -counts[n])
        if not some:
            continue
        each = [f"{name} {n}" for n in some] if len(some) <= MOST_LISTED and len(counts) > len(some) else []
        causes = [_held_by(by, n) if name == "die" else "" for n in some]
        if each:
            found += [
                f"{one} was saturated {_intervals(counts[n], whole, told)}{cause}"
                for one, n, cause in zip(each, some, causes, strict=True)
            ]
        else:
            number = f"all {len(counts)}" if len(some) == len(counts) else f"{len(some)} of {len(counts)}"
            who = f"{number} {name}s were" if len(counts) > 1 else f"the {name} was"
            times = _intervals(counts[some[0]], whole, told)
            when = f"at times, {name} {some[0]} most: {times}" if len(counts) > 1 else times
            found.append(f"{who} saturated {when}{causes[0]}")
    for key, name in (("link_in", "inbound link"), ("link_out", "outbound link")):
        if told.get(key):
            found.append(f"the {name} was saturated {_intervals(told[key], whole, told)}")
    return "; ".join(found)


def _intervals(count: int, whole: int, told: dict[str, Any]) -> str:
    if whole == 1:
        return "all of the time"
    return f"in {count} of {whole} intervals of {units.duration(told['interval_s'])}"


def _held_by(by: dict[str, list[int]], die: int) -> str:
    """By what a die was saturated: the one in most intervals, and another in how many."""
    counts = {words: by[holder][die] for holder, words in HOLDERS.items() if by[holder][die]}
    order = sorted(counts, key=lambda words: -counts[words])
    if len(order) == 1:
        return f", by {order[0]}"
    return "".join(f", by {words} in {counts[words]}" for words in order)


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


def afterwards(result: Result) -> str:
    """What the drive did by itself after the last completion, which no other figure counts."""
    after = result.get("afterwards") or {}
    did = [
        f"{units.some(after[key], one)} {verb}"
        for key, one, verb in (
            ("reads", "page", "read"),
            ("programs", "page", "programmed"),
            ("erases", "block", "erased"),
        )
        if after.get(key)
    ]
    if not did:
        return ""
    rest = f"in the {units.duration(after['simulated_s'])} until the drive was idle, counted nowhere above"
    return f"{', '.join(did)} {rest}"


def _latency(all_of: dict[str, Any]) -> list[str]:
    if not all_of.get("count") or all_of.get("p50") is None:
        return []
    tail = next((key for key in ("p99_99", "p99_9") if all_of.get(key) is not None), None)
    keys = [key for key in ("p50", "p99", tail) if key and all_of.get(key) is not None]
    told = ", ".join(f"{units.percentile(key)} {units.latency(all_of[key])}" for key in keys)
    return [f"The latency of all requests: {told}; the slowest took {units.latency(all_of['max'])}."]


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
