"""What limited a run: busy parts, requests in flight, and the causes of latency."""

from __future__ import annotations

from itertools import chain, cycle
from operator import mul
from typing import Any

from wordline.base import units
from wordline.results import causes, story

Result = dict[str, Any]

LITTLE = 0.05
"""A share of time too small to mention."""

LARGE = 0.1
"""Causes with at least this share of the time are named."""

MOST_NAMED = 3

MOSTLY = 0.5
"""More than half of the time."""


def sentences(result: Result) -> list[str]:
    """The busiest part, what limited throughput, and what requests spent their time on."""
    told = []
    busy = story.parts(result)
    if busy:
        told.append(_busiest(result, busy[0]))
        told.append(pace(result))
    told += [text for op in causes.OPS if (text := spent(result, op))]
    return told


def _busiest(result: Result, part: story.Part) -> str:
    text = f"Busiest: the {part.name}, {units.percent(part.mean)} of the time{part.range()}"
    collector = held_by_gc(result)
    if collector >= LITTLE:
        text += f"; garbage collection held the dies for {units.percent(collector)} of the time"
    return text + "."


def held_by_gc(result: Result) -> float:
    """The share of time in which garbage collection held the dies, on average."""
    activity = result.get("activity") or {}
    rows, interval = activity.get("dies_gc") or [], activity.get("interval_s") or 0.0
    whole = activity.get("end_s") or 0.0
    if not rows or not rows[0] or not whole:
        return 0.0
    # The last interval may be cut off by the end.
    last = len(rows[0]) - 1
    lengths = [interval] * last + [max(0.0, whole - last * interval)]
    # Without a loop in Python: each point of a sweep has some thousand shares.
    held = sum(map(mul, chain.from_iterable(rows), cycle(lengths)))
    return min(1.0, held / len(rows) / whole)


def in_flight(result: Result) -> float:
    """Mean number of requests that hold a queue slot, by Little's law."""
    mean = (result["latency_us"]["all"].get("mean") or 0.0) - (result.get("waiting_us") or {}).get("mean", 0.0)
    return result["requests"] * mean / 1e6 / result["simulated_s"] if result.get("simulated_s") else 0.0


def is_closed(result: Result) -> bool | None:
    """Whether the host sent requests as fast as its depth allowed; None if that is not known."""
    workload = result.get("workload") or {}
    jobs = workload.get("jobs")
    if jobs:
        return all(job.get("rate_iops") is None for job in jobs)
    if (workload.get("trace") or {}).get("timed") is False:
        return True
    trace = (workload.get("options") or {}).get("trace") or {}
    return {"timestamps": False, "asap": True}.get(trace.get("pace"))


def pace(result: Result) -> str:
    """What limited throughput."""
    verdict = story.verdict(result)
    if "limited throughput" in verdict:
        return f"{verdict[0].upper()}{verdict[1:]}."
    told = f"On average {units.three(in_flight(result))} requests were in flight"
    if verdict.startswith("no part"):
        reason = _reason(result)
        return f"{told}, and {verdict}{reason}."
    # Saturated at times: that is the reason.
    return f"{told}; {verdict}."


def _reason(result: Result) -> str:
    """Why requests took their time though no part was saturated."""
    closed = is_closed(result)
    waited = sum(_share(result, "write", key) for key in causes.BUFFER)
    if waited >= MOSTLY:
        return "; the write buffer was full, so throughput was limited by its drain rate"
    if (share := queued(result)) >= MOSTLY:
        measured = story.imbalance(result, "dies")
        return f"; yet requests spent {units.percent(share)} of their time in die queues" + (
            f", and {measured}" if measured else ""
        )
    if closed:
        return ": the workload sends a request only when another completes, so latency limited throughput"
    if max(_share(result, op, "waiting") for op in causes.OPS) >= LITTLE:
        return "; yet requests waited for queue slots: they arrived in bursts"
    return ": the arrival times of the workload limited throughput" if closed is False else ""


def _share(result: Result, op: str, key: str) -> float:
    return next((share for cause, _, share in causes.shares(result, op) if cause.key == key), 0.0)


QUEUES = ("wait_die_read", "wait_die_write", "wait_die_gc", "wait_space")
"""Waits for a die behind other work than the request's own pages."""


def queued(result: Result) -> float:
    """The share of their time that reads and writes spent in die queues behind other work."""
    spent_on = (result.get("time_of") or {}).get
    whole = sum(sum((spent_on(op) or {}).values()) for op in causes.OPS)
    waited = sum((spent_on(op) or {}).get(key, 0.0) for op in causes.OPS for key in QUEUES)
    return waited / whole if whole else 0.0


def spent(result: Result, op: str) -> str:
    """What the requests of ``op`` spent their time on, largest share first."""
    parts = sorted(causes.shares(result, op), key=lambda part: -part[2])
    named = [(cause, share) for cause, _, share in parts[:MOST_NAMED] if share >= LARGE]
    if not named:
        return ""
    words = [f"{units.percent(share)} {cause.doing}" for cause, share in named]
    listed = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
    listed = listed.replace(" %", " % of their time", 1)
    return f"{op.capitalize()}s spent {listed}."
