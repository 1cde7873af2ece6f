"""A result in plain words: the sentences shared by summary and report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from wordline.base import units
from wordline.results import arrays, tasks

Result = dict[str, Any]

SATURATED = 0.9
"""A part whose busy share is above this limits throughput."""


ROUNDS = 5
"""Rounds, each a fifth of the capacity, that steady state takes."""

EVEN = 0.05
"""If one part is saturated and the mean is this close to saturation, all of them limit throughput."""


UNEVEN = 1.25
"""Load is uneven if the busiest part exceeds the mean by this factor, and by ``APART``."""

APART = 0.05

MOST_LISTED = 3
"""Saturated parts listed one by one, at most."""


def load_name(result: Result) -> str:
    """The workload: the trace's file name, the names of the jobs, or the clients of a live disk."""
    workload = result.get("workload") or {}
    names = []
    trace = workload.get("trace")
    if isinstance(trace, dict) and trace.get("file"):
        mark = " (a stand-in)" if trace.get("stand_in") else ""
        names.append(PurePath(trace["file"]).name + mark)
    names += [f"job {job['name']}" for job in workload.get("jobs") or [] if job.get("name")]
    if "live" in workload:
        return "clients"
    if len(names) > 3:
        names = [*names[:2], f"{len(names) - 2} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names) or "the workload"


def drive_name(result: Result) -> str:
    """The name of the drive."""
    return (result.get("drive") or {}).get("name") or "the drive"


def partial(result: Result) -> str:
    """Why the result is partial; empty if it is complete."""
    if not result.get("partial"):
        return ""
    repeats = result.get("repeats")
    if repeats and result["seed"] in repeats["seeds"]:
        return f"the run was interrupted after {repeats['n']} of {repeats['asked']} seeds"
    if (result.get("precondition") or {}).get("interrupted"):
        return "the run was interrupted while the drive was being preconditioned, before its first request"
    if (result.get("live") or {}).get("fault"):
        return "the drive failed while it was served; the figures cover the part before that"
    return "the run was interrupted; the figures cover the part before that"


NAMES = {
    "dies": "dies",
    "channels": "channels",
    "link_in": "inbound host interface",
    "link_out": "outbound host interface",
}
"""Parts with a utilisation in the result."""


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


def holders(by: dict[str, Any]) -> dict[str, str]:
    """What may occupy a die, of ``activity.saturated.dies_by``, with its name in sentences."""
    names = {"read": "reads", "write": "writes", "gc": "garbage collection"} | tasks.others()
    return {holder: name for holder, name in names.items() if by.get(holder)}


def part_name(result: Result, key: str, index: int) -> str:
    """``die 5``, or on an array ``die 1 of member 2``."""
    return arrays.place(result, key, index) or f"{MEMBERS[key]} {index}"


def imbalance(result: Result, key: str) -> str:
    """How far the busiest die or channel was above the mean; empty if load was even."""
    shares = (result.get("utilisation") or {}).get(key) or []
    if len(shares) < 2:
        return ""
    mean, most = sum(shares) / len(shares), max(shares)
    if most < UNEVEN * mean or most - mean < APART:
        return ""
    one = part_name(result, key, shares.index(most))
    return (
        f"load across {key} was uneven: {one} was busy {units.percent(most)} of the time, "
        f"the mean was {units.percent(mean)}"
    )


def verdict(result: Result) -> str:
    """The part of the drive that limited throughput, over the whole run or part of it."""
    busy = parts(result)
    if not busy:
        return ""
    if busy[0].mean >= SATURATED:
        return f"the {busy[0].name} limited throughput"
    uneven = max(busy, key=lambda part: part.most)
    at_times = saturated(result)
    if uneven.most >= SATURATED:
        if uneven.mean >= SATURATED - EVEN:
            return f"the {uneven.name} limited throughput"
        key = next(key for key, name in NAMES.items() if name == uneven.name)
        shares = result["utilisation"][key]
        one = part_name(result, key, shares.index(max(shares)))
        if measured := imbalance(result, key):
            return f"{one} limited throughput; {measured}"
        return at_times or f"{one} was saturated"
    return at_times or "no part was saturated"


def saturated(result: Result) -> str:
    """Parts that were saturated in some intervals, in how many, and for dies by what; empty if none was."""
    told = (result.get("activity") or {}).get("saturated") or {}
    if not (whole := told.get("intervals")):
        return ""
    by = told.get("dies_by") or {}
    dies = [sum(counts) for counts in zip(*(by[holder] for holder in holders(by)), strict=True)]
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
    for key, name in (("link_in", "inbound host interface"), ("link_out", "outbound host interface")):
        if told.get(key):
            found.append(f"the {name} was saturated {_intervals(told[key], whole, told)}")
    return "; ".join(found)


def _intervals(count: int, whole: int, told: dict[str, Any]) -> str:
    if whole == 1:
        return "all of the time"
    return f"in {count} of {whole} intervals of {units.duration(told['interval_s'])}"


def _held_by(by: dict[str, list[int]], die: int) -> str:
    """What saturated a die: the cause with most intervals first, the others with their counts."""
    counts = {words: by[holder][die] for holder, words in holders(by).items() if by[holder][die]}
    order = sorted(counts, key=lambda words: -counts[words])
    if len(order) == 1:
        return f", by {order[0]}"
    return "".join(f", by {words} in {counts[words]}" for words in order)


def left_out(told: dict[str, int]) -> Iterator[tuple[str, str]]:
    """Trace requests skipped or changed while reading: the action, and the requests."""
    for key, fate, one, why in (
        ("skipped", "Left out", "request", "of zero bytes"),
        ("clamped", "Moved", "request", "whose time ran backwards"),
        ("unreadable", "Left out", "line", "that could not be read"),
        ("wrapped", "Left out", "request", "with a time stamp that wrapped"),
    ):
        if told.get(key):
            yield fate, f"{units.some(told[key], one)} {why}"


def left_out_of(result: Result) -> list[tuple[str, str]]:
    """Requests left out of the replayed trace."""
    trace = (result.get("workload") or {}).get("trace") or {}
    return list(left_out(trace.get("left_out") or {}))


def fresh(result: Result) -> str:
    """A warning that the drive was not preconditioned when measuring began; empty if GC had run."""
    start = result.get("at_start")
    if not start:
        return ""
    if not start["filled"]:
        return f"The {arrays.noun(result)} was empty when measuring began."
    if start["erases"]:
        return ""
    return (
        f"The {arrays.noun(result)} was only filled: when measuring began, {units.percent(start['filled'])} of its "
        "capacity held data and no block had ever been erased, so garbage collection had not begun."
    )


def wrote(result: Result) -> str:
    """The share of the capacity written, and whether the run ended in steady state; empty if unknown."""
    written = result.get("written")
    if not written:
        return ""
    if written["steady"] is None:
        return "wrote nothing"
    share = written["of_capacity"]
    much = f"{units.percent(share)} of the capacity" if share < 0.995 else f"{units.three(share)} times the capacity"
    collected = f"GC started on {units.some(result['gc']['collections'], 'block')}"
    return f"wrote {much}, {collected}, {'in' if written['steady'] else 'not in'} steady state"


def unsteady(result: Result) -> str:
    """Why the run was not in steady state; empty if it was, or wrote nothing."""
    written = result.get("written") or {}
    if written.get("steady") is not False:
        return ""
    if len(written["rounds"]) < ROUNDS:
        return "this needs at least one write of the whole capacity"
    rounds = ", ".join(units.three(value) for value in written["rounds"])
    if not result["gc"]["collections"]:
        return "garbage collection was never needed"
    return f"write amplification over the last {ROUNDS} fifths of the capacity: {rounds}"


def headline(result: Result) -> str:
    """One sentence: workload, drive, requests and simulated time."""
    done = f"{units.some(result['requests'], 'request')} in {units.duration(result['simulated_s'])} of simulated time"
    return f"{load_name(result)} on {drive_name(result)}: {done}"


def opening(result: Result) -> list[str]:
    """Opening sentences: a drive without preconditioning, the workload, and how much was written."""
    told = [text for text in (fresh(result),) if text]
    told += [
        f"{drive_name(result)} ran {load_name(result)}: {units.some(result['requests'], 'request')} in "
        f"{units.duration(result['simulated_s'])} of simulated time, {units.short(result['iops'])} requests/s, "
        f"{units.bandwidth(result['bandwidth_mib_s'])}."
    ]
    written = wrote(result)
    if written:
        why = unsteady(result)
        told.append(f"It {written}{f' ({why})' if why else ''}.")
    return told


def paragraph(result: Result) -> list[str]:
    """The result in a few sentences."""
    told = opening(result)
    repeats = result.get("repeats")
    if repeats:
        told.append(
            f"These figures are from seed {result['seed']}, the first of {units.some(repeats['asked'], 'seed')}."
        )
    told += [f"{fate} while the trace was read: {text}." for fate, text in left_out_of(result)]
    told += _latency(result["latency_us"]["all"])
    told += _flash(result)
    return told


def afterwards(result: Result) -> str:
    """Background work after the last completion, which no other figure counts."""
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
    rest = f"in the {units.duration(after['simulated_s'])} until the drive was idle; not counted above"
    return f"{', '.join(did)} {rest}"


def _latency(all_of: dict[str, Any]) -> list[str]:
    if not all_of.get("count") or all_of.get("p50") is None:
        return []
    tail = next((key for key in ("p99_99", "p99_9") if all_of.get(key) is not None), None)
    keys = [key for key in ("p50", "p99", tail) if key and all_of.get(key) is not None]
    told = ", ".join(f"{units.percentile(key)} {units.latency(all_of[key])}" for key in keys)
    return [f"Latency of all requests: {told}, maximum {units.latency(all_of['max'])}."]


def _flash(result: Result) -> list[str]:
    told = []
    amplification = result.get("write_amplification")
    if amplification is not None:
        told.append(f"Write amplification was {units.three(amplification)}.")
    collections, affected = result["gc"]["collections"], result.get("gc_affected_requests")
    if collections:
        text = f"Garbage collection began to empty {units.some(collections, 'block')}"
        if affected is not None and result["requests"]:
            text += f" and delayed {units.percent(affected / result['requests'])} of the requests"
        told.append(text + ".")
    else:
        told.append("Garbage collection was never needed.")
    return told
