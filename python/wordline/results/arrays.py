"""An array of drives in words: its layout, its members side by side, and what parity took."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from wordline.base import units

if TYPE_CHECKING:
    from rich.console import Console

Result = dict[str, Any]

KINDS = {"raid0": "RAID-0", "join": "joined", "raid5": "RAID-5"}

COLUMNS = ("member", "requests", "share", "read p99", "write p99", "WAF", "GC", "busy")
"""Columns of :func:`rows`."""

MOST_SHOWN = 16
"""Drives that the summary shows; report and JSON have all."""


def of(result: Result) -> dict[str, Any] | None:
    """What a result has of its array; None for a drive."""
    return result.get("array")


def noun(result: Result) -> str:
    """What ran the workload."""
    return "array" if of(result) else "drive"


def name(row: dict[str, Any]) -> str:
    """``member 2``, ``member 2 (failed)`` or ``spare``."""
    if row["role"] == "spare":
        return "spare"
    return f"member {row['member']}" + ("" if row["role"] == "member" else f" ({row['role']})")


def rows(result: Result) -> Iterator[list[str]]:
    """A row a drive: what it did, how long that took, blocks that its GC began to empty, and how busy its dies were."""
    for row in (of(result) or {}).get("drives", []):
        latency = row.get("latency_us") or {}
        amplification = row.get("write_amplification")
        yield [
            name(row),
            units.count(row.get("requests") or 0),
            units.percent(row.get("share")),
            units.latency((latency.get("read") or {}).get("p99")),
            units.latency((latency.get("write") or {}).get("p99")),
            units.NOTHING if amplification is None else units.three(amplification),
            units.count((row.get("gc") or {}).get("collections") or 0),
            units.percent(row.get("dies_busy")),
        ]


def layout(array: dict[str, Any]) -> str:
    """``RAID-5 of 6 members of demo, stripes of 64 KiB on each``."""
    drives = list(dict.fromkeys(row["drive"] for row in array["drives"]))
    named = f" of {drives[0]}" if len(drives) == 1 else f": {', '.join(drives)}"
    spare = " and a spare" if any(row["role"] == "spare" for row in array["drives"]) else ""
    stripes = f"; stripes of {units.size(array['stripe_bytes'])} on each" if array.get("stripe_bytes") else ""
    return f"{KINDS[array['kind']]}, {units.some(array['members'], 'member')}{spare}{named}{stripes}"


def parity(result: Result) -> Iterator[str]:
    """What parity took, and what a failed member did, a sentence each without its full stop."""
    told = (of(result) or {}).get("parity")
    if not told:
        return
    writes = told["full_writes"] + told["modify_writes"] + told["reconstruct_writes"]
    if writes:
        text = f"{units.size(told['parity_written_bytes'])} of parity written"
        if reads := told["reads_for_writes"]:
            text += f"; {units.some(reads, 'read')} of members for it"
        yield text
    if told["failed_member"] is not None:
        when = units.duration(told["failed_at_s"]) if told["failed_at_s"] else ""
        text = f"member {told['failed_member']} failed" + (f" at {when}" if when else " before the run")
        if told["degraded_reads"]:
            made = units.size(told["degraded_bytes"])
            text += f"; {units.some(told['degraded_reads'], 'read')} made {made} of its data from the others"
        yield text
    if told["rebuild_begun_s"] is not None:
        if told["rebuild_ended_s"] is not None:
            took = units.duration(told["rebuild_ended_s"] - told["rebuild_begun_s"])
            yield f"rebuilt on the spare in {took}"
        else:
            yield f"{units.percent(told['rebuilt_share'])} rebuilt on the spare when the workload ended"


def listed(result: Result) -> Iterator[tuple[str, str]]:
    """Layout and parity as rows of a table."""
    array = of(result)
    if not array:
        return
    yield "Array", layout(array)
    for number, text in enumerate(parity(result)):
        yield "" if number else "Parity", text


def facts(result: Result) -> Iterator[tuple[str, str]]:
    """Counts of parity in full, for the report."""
    told = (of(result) or {}).get("parity")
    if not told:
        return
    for key, title in (
        ("full_writes", "Whole stripes written"),
        ("modify_writes", "Writes that read old data and old parity"),
        ("reconstruct_writes", "Writes that read the data that stay"),
        ("reads_for_writes", "Reads of members for these"),
        ("degraded_reads", "Reads made from the other members"),
        ("waits", "Work that waited for its stripe"),
    ):
        yield title, units.count(told[key])
    for key, title in (
        ("parity_written_bytes", "Parity written"),
        ("parity_read_bytes", "Parity read"),
        ("rebuilt_bytes", "Written to the spare by the rebuild"),
        ("untrimmed_bytes", "Trims of parts of stripes, not passed on"),
    ):
        yield title, units.size(told[key])


def place(result: Result, key: str, index: int) -> str:
    """Which die or channel of which member is at ``index`` of a list over all drives; empty for a drive.

    :param key: ``dies`` or ``channels``.
    """
    for row in (of(result) or {}).get("drives", []):
        count = row.get(key) or 0
        if index < count:
            whose = "the spare" if row["role"] == "spare" else f"member {row['member']}"
            return f"{key[:-1]} {index} of {whose}"
        index -= count
    return ""


def show(console: Console, result: Result) -> None:
    """Prints the members of an array side by side."""
    from rich.table import Table

    array = of(result)
    if not array:
        return
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    for n, head in enumerate(COLUMNS):
        left = n == 0
        table.add_column(
            head.capitalize() if left else head,
            style="cyan" if left else None,
            justify="left" if left else "right",
            no_wrap=True,
        )
    every = list(rows(result))
    for row in every[:MOST_SHOWN]:
        table.add_row(*row)
    console.print()
    console.print(table)
    if len(every) > MOST_SHOWN:
        console.print(f"and {len(every) - MOST_SHOWN} more, in the report and in the JSON", style="dim")
