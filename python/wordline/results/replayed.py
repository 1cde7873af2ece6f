"""A replay without time, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.results import log_blocks

if TYPE_CHECKING:
    from rich.console import Console


def show(console: Console, result: dict[str, Any]) -> None:
    """Prints the summary of a replay."""
    from rich.text import Text

    from wordline.base.console import facts, hanging

    console.print(Text(headline(result), style="bold"))
    if result["partial"]:
        hanging(
            console,
            Text("PARTIAL: the replay was interrupted; the figures cover what was done.", style="bold red"),
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
    return (
        f"End of life {after}: plane {end['plane']} has used up its {spares}, {units.count(end['bad_blocks'])} are bad."
    )


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
