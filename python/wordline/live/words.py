"""A view in words: the same on the terminal and in ``wordline ctl … status``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wordline.base import units

OPS = ("read", "write", "trim", "flush")


def title(view: dict[str, Any]) -> str:
    """What is shown: the drive, and its export or run."""
    if "live" in view:
        name = f", export '{view['live']['export']}'" if view["live"]["export"] else ""
        return f"{view['drive']['name']} as a disk{name}"
    return view["run"].get("title", "run")


def course(view: dict[str, Any]) -> str:
    """The course of time: ``12.3 s simulated, at 0.1 of real time``."""
    if "live" in view:
        live = view["live"]
        parts = [f"{units.duration(live['clock_s'])} on its clock"]
        if live["pace"] is None:
            parts.append("time jumps from event to event")
        elif live["pace"] != 1:
            parts.append(f"{units.three(live['pace'])} simulated seconds a second")
        if live["paused"]:
            parts.append("paused")
        if live["swapping"]:
            parts.append("draining for a swap")
        if live["fault"]:
            parts.append(f"failed: {live['fault']}")
        return ", ".join(parts)
    run = view["run"]
    parts = [f"{units.duration(run['simulated_s'])} simulated"]
    if run["paused"]:
        parts.append("paused")
    elif run["pace"] is None:
        parts.append("as fast as it goes")
    else:
        parts.append(pace(run["pace"]))
        if run["behind_s"] > 0.5 * run["pace"]:
            parts.append("slower, since the simulation takes longer")
    return ", ".join(parts)


def pace(of: float) -> str:
    """A pace in words: ``1,000 times as slow as real time``."""
    if of == 1:
        return "in real time"
    return (
        f"{units.three(1 / of)} times as slow as real time"
        if of < 1
        else f"{units.three(of)} times as fast as real time"
    )


def facts(view: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and texts, in the order of showing."""
    yield "Time", course(view)
    over = view["over"]
    if over is not None:
        rates = [f"{units.short(rate)} {units.plural(op)}/s" for op, rate in over["iops_by_op"].items() if rate]
        moved = f"{units.bandwidth(over['read_mib_s'])} read, {units.bandwidth(over['write_mib_s'])} written"
        yield "Now", f"{', '.join(rates)}; {moved}" if rates else "no request completed"
    elif is_still(view):
        yield "Now", "time stands still"
    if "live" in view:
        yield "Clients", clients(view["live"])
    queue = view["queue"]
    waits = [
        f"{units.count(queue[key])} {words}"
        for key, words in (
            ("queued", "wait to be served"),
            ("await_buffer", "wait for the write buffer"),
            ("flushing", "wait for a flush"),
        )
        if queue[key]
    ]
    taken = f"{units.count(queue['in_flight'])} of {units.count(queue['slots'])} slots taken"
    yield "Queue", "; ".join([taken, *waits, f"{units.some(queue['operations'], 'flash operation')} under way"])
    yield "Flash", flash(view)
    free = view["free_blocks"]
    fewest = f"; fewest in a plane {units.count(free['least_in_plane'])} of {units.count(free['blocks_per_plane'])}"
    yield "Free", f"{units.count(free['total'])} of {units.some(free['blocks'], 'block')}{fewest}"
    yield "GC", gc(view)
    yield "Writes", amplification(view)
    wear = view["wear"]
    yield "Wear", f"{units.three(wear['mean'])} P/E cycles on average, {wear['least']} to {wear['most']}"


def is_still(view: dict[str, Any]) -> bool:
    """True while simulated time does not go on."""
    return bool(view.get("live", view.get("run", {})).get("paused"))


def clients(live: dict[str, Any]) -> str:
    """Who uses the disk, and how well its delays are kept."""
    server = live["server"]
    requests = sum(server["commands"].values())
    text = (
        f"{units.some(live['clients'], 'client')}, {units.short(requests)} commands, {live['in_progress']} in progress"
    )
    if server["errors"]:
        text += f", {units.some(server['errors'], 'error')}"
    late = server["reply_late_us"]
    if late["p50"] is not None:
        text += f"; replies {units.latency(late['p50'])} late"
    if live["lag_now_us"] >= 1000:
        text += f"; behind the clock by {units.latency(live['lag_now_us'])}"
    return text


def flash(view: dict[str, Any]) -> str:
    """How busy dies and channels are."""
    doing, busy = view["dies"]["doing"], view["channels"]["busy"]
    dies, channels = units.some(len(doing), "die"), units.some(len(busy), "channel")
    text = f"{sum(map(bool, doing))} of {dies} and {sum(busy)} of {channels} busy"
    if view["over"] is not None:
        held = [sum(shares) for shares in zip(*view["over"]["dies"].values(), strict=True)]
        used = view["over"]["channels"]
        text += (
            f"; lately {units.percent(sum(held) / len(held))} and {units.percent(sum(used) / len(used))} of the time"
        )
    return text


def gc(view: dict[str, Any]) -> str:
    """What garbage collection does, and the other tasks that move blocks."""
    jobs = view["jobs"]
    victims = jobs.get("gc", 0)
    text = f"{units.some(victims, 'victim block')} being emptied; " if victims else ""
    did = view["gc"]
    text += f"{units.some(did['collections'], 'victim block')} so far, {units.count(did['moved_pages'])} pages moved"
    others = [f"{name} {count}" for name, count in jobs.items() if name != "gc" and count]
    return f"{text}; blocks in other tasks: {', '.join(others)}" if others else text


def amplification(view: dict[str, Any]) -> str:
    """Write amplification so far and lately."""
    if view["write_amplification"] is None:
        return "the host wrote nothing to flash yet"
    text = f"write amplification {view['write_amplification']:.2f}"
    lately = view["over"] and view["over"]["write_amplification"]
    return f"{text}, lately {lately:.2f}" if lately else text


def latencies(view: dict[str, Any]) -> Iterator[list[str]]:
    """Rows of the table of latencies: operation, requests, mean, percentiles, largest."""
    for op in OPS:
        row = view["latency"].get(op)
        if row is not None:
            times = [units.latency(row[f"{key}_us"]) for key in ("mean", "p50", "p90", "p99", "p99_9", "max")]
            yield [op, units.count(row["requests"]), *times]


LATENCY_HEADS = ["Latency", "requests", "mean", "p50", "p90", "p99", "p99.9", "max"]
