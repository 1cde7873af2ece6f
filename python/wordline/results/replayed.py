"""A replay without time, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.results import lifetimes, log_blocks, policies, tasks

if TYPE_CHECKING:
    from rich.console import Console

PARTIAL = "the replay was interrupted; the figures cover what was done"

STEADY = 0.05
"""A standard deviation at the end within this share of that at half of the writes has stayed as it was."""

UNEVEN = 1.05
"""The most worn block is told from this ratio of its erases to the mean on."""


def show(console: Console, result: dict[str, Any]) -> None:
    """Prints the summary of a replay."""
    from rich.text import Text

    from wordline.base.console import facts, hanging

    console.print(Text(headline(result), style="bold"))
    if result["partial"]:
        hanging(
            console,
            Text(f"PARTIAL: {PARTIAL}.", style="bold red"),
            0,
            0,
        )
    end = ending(result)
    if end:
        hanging(console, Text(end, style="bold yellow"), 0, 0)
    console.print()
    facts(console, rows(result), width=20)


def headline(result: dict[str, Any]) -> str:
    """Workload, drive and how often."""
    did = result["replay"]
    name = result["config"]["name"] or result["config"]["title"] or "the drive"
    return f"{workload(result)} on {name} without time, {often(did['times'])}"


def often(times: int) -> str:
    """How often the whole workload was carried out, in words."""
    return "not to its end" if not times else "once" if times == 1 else f"{units.count(times)} times"


def workload(result: dict[str, Any]) -> str:
    """The workload's name."""
    of = result["workload"]
    trace, jobs = of.get("trace"), of.get("jobs") or []
    names = ([trace["file"]] if trace else []) + [job["name"] for job in jobs]
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def ending(result: dict[str, Any]) -> str:
    """What ended the life of the drive, in a sentence; empty if it lives on."""
    end, did = result["replay"]["end_of_life"], result["replay"]
    if end is None:
        return ""
    after = f"after {units.size(did['host_bytes'])} of the host, {units.three(did['drive_writes'])} times its capacity"
    if end["cause"] == "worn-out":
        where = f"channel {end['channel']}, package {end['package']}, die {end['die']}, plane {end['plane']}"
        return (
            f"End of life {after}: block {end['block']} of {where} has had all its {units.count(end['erases'])} erases."
        )
    spares = units.some(end["replacement_blocks"], "replacement block")
    whose = "the drive" if result["drive"]["collection_domains"] == 1 else "the plane"
    bad = f"{units.some(end['bad_blocks'], 'block')} of {whose} {'is' if end['bad_blocks'] == 1 else 'are'} bad"
    return f"End of life {after}: plane {end['plane']} has used up its {spares}; {bad}."


def paragraph(result: dict[str, Any]) -> list[str]:
    """The result in a few sentences."""
    did, flash, last = result["replay"], result["flash"], result["lifetime"][-1]
    requests = sum(of["count"] for of in result["requests"].values())
    how = "not to its end" if not did["times"] else often(did["times"])
    told = [
        f"The workload {workload(result)} was carried out {how}, without time: {units.some(requests, 'request')}, "
        f"which wrote {units.size(did['host_bytes'])}, {units.three(did['drive_writes'])} times the capacity."
    ]
    if result["write_amplification"] is not None:
        told.append(
            f"Write amplification was {units.three(result['write_amplification'])}: "
            f"{units.some(flash['programs'], 'page')} programmed, {units.some(flash['erases'], 'block')} erased."
        )
    if not last["most"]:
        return [*told, "No block has ever been erased."]
    told.append(
        f"At the end a block has had {units.three(last['mean'])} erases on average, {units.count(last['least'])} to "
        f"{units.count(last['most'])}, with a standard deviation of {units.three(last['stddev'])}."
    )
    told += [text for text in (unevenness(last), drift(result), *moved(result), merged(result)) if text]
    return told


def unevenness(last: dict[str, Any]) -> str:
    """How far the most worn block is above the mean; empty if it hardly is."""
    if last["most"] < UNEVEN * last["mean"]:
        return ""
    return (
        f"The most worn block has had {units.three(last['most'] / last['mean'])} times the erases of the average one."
    )


def drift(result: dict[str, Any]) -> str:
    """How the standard deviation went on from half of what was written; empty without a point there."""
    points = result["lifetime"]
    half, last = points[lifetimes.at(result, 0.5)], points[-1]
    if half["host_bytes"] in (0, last["host_bytes"]) or not half["stddev"]:
        return ""
    ratio, at_half = last["stddev"] / half["stddev"], units.three(half["stddev"])
    when = f"at {units.percent(half['host_bytes'] / last['host_bytes'])} of the writes"
    if abs(ratio - 1) <= STEADY:
        return f"The deviation stayed as it was: it was {at_half} {when}."
    return f"The deviation {'grew' if ratio > 1 else 'fell'} from {at_half} {when}, to {units.three(ratio)} times that."


def moved(result: dict[str, Any]) -> Iterator[str]:
    """The share of background tasks in the erases."""
    erases = result["flash"]["erases"]
    for _, title, done in tasks.used(result):
        if erases and done.get("erases"):
            share = units.percent(done["erases"] / erases)
            yield f"{title[0].upper()}{title[1:]} erased {share} of the blocks: {units.count(done['erases'])}."


def merged(result: dict[str, Any]) -> str:
    """Merges of log blocks; empty without any."""
    told = result.get("log_blocks")
    if not told or not told["merges"]:
        return ""
    logical = [f"{units.count(told[f'{kind}_merges'])} {kind}" for kind in log_blocks.KINDS]
    return f"Log blocks were merged {often(told['merges'])}; merges of logical blocks: {', '.join(logical)}."


def rows(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The figures of a replay, each with its name."""
    did, requests = result["replay"], result["requests"]
    counts = [f"{units.count(of['count'])} {op}" for op, of in requests.items() if of["count"]]
    yield "Requests", ", ".join(counts) or "none"
    yield "Written", f"{units.size(did['host_bytes'])}, {units.three(did['drive_writes'])} times the capacity"
    if result["write_amplification"] is not None:
        yield "Write amplification", units.three(result["write_amplification"])
    flash = result["flash"]
    programs = f"{units.count(flash['programs'])} pages programmed, {units.count(flash['erases'])} blocks erased"
    yield "Flash", programs
    merges = result.get("log_blocks")
    if merges:
        kinds = ", ".join(f"{units.count(merges[f'{kind}_merges'])} {kind}" for kind in log_blocks.KINDS)
        yield "Merges", f"{units.count(merges['merges'])} of log blocks; of logical blocks {kinds}"
    yield from policies.summed_up(result)
    last = result["lifetime"][-1]
    spread = f"{units.count(last['least'])} to {units.count(last['most'])}"
    yield (
        "Erases of a block",
        f"{units.three(last['mean'])} on average, standard deviation {units.three(last['stddev'])}, {spread}",
    )
    if last["bad_blocks"] or last["spare_blocks"]:
        yield (
            "Bad blocks",
            f"{units.count(last['bad_blocks'])}; {units.count(last['spare_blocks'])} held back to replace them",
        )
    if result["cpu_s"]:
        rate = sum(of["count"] for of in requests.values()) / result["cpu_s"]
        yield "CPU time", f"{units.duration(result['cpu_s'])}, {units.short(rate)} requests/s"
