"""The causes of latency in a result's ``time_of``, named and explained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from wordline.base import palette
from wordline.results import tasks

STRIPES, DOTS, CROSSES = "//", "..", "xx"
"""Hatches: waits for a bus or for dispatch, waits for the write buffer, and waits for other background tasks."""


@dataclass(frozen=True)
class Cause:
    """A cause of time spent."""

    key: str
    name: str
    doing: str
    """As in "reads spent their time …"."""
    words: str
    colour: str
    hatch: str = ""

    @property
    def css(self) -> str:
        """Its colour and hatch in a page."""
        colour = palette.of_page(self.colour)
        if self.hatch == DOTS:
            return f"radial-gradient(circle, var(--paper) 0.7px, {colour} 1px) 0 0 / 4px 4px"
        lines = [f"repeating-linear-gradient({angle}deg, {colour} 0 3px, var(--paper) 3px 4px)" for angle in (135, 45)]
        if self.hatch == CROSSES:
            # The upper layer has lines alone, or it would cover the lower one.
            return f"{lines[0].replace(colour, 'transparent')}, {lines[1]}"
        return lines[0] if self.hatch else colour


def _of_tasks(place: str, part: str, verb: str, words: str) -> list[Cause]:
    """Causes of the background tasks besides garbage collection, which has its own."""
    return [
        Cause(
            f"{part}_{name}",
            f"{place} held by {title}",
            f"{verb} that {title} held",
            f"{words} while {title} held it.",
            palette.HOST[at % len(palette.HOST)],
            CROSSES,
        )
        for at, (name, title) in enumerate(tasks.others().items())
    ]


CAUSES = (
    Cause(
        "waiting",
        "queue slot",
        "waiting for a queue slot",
        "Waiting at the host for a free queue slot.",
        palette.HOST[2],
    ),
    Cause(
        "wait_link",
        "interface wait",
        "waiting for the host interface",
        "Waiting for the host interface, in both directions.",
        palette.HOST[1],
        STRIPES,
    ),
    Cause(
        "link",
        "host interface",
        "on the host interface",
        "Transfer of command, data and completion on the host interface.",
        palette.HOST[3],
    ),
    Cause(
        "wait_dispatch",
        "dispatch",
        "waiting for dispatch",
        "Waiting in the drive for dispatch.",
        palette.HOST[0],
        STRIPES,
    ),
    Cause(
        "wait_buffer_gc",
        "buffer, GC",
        "waiting for the write buffer while garbage collection held the dies that drain it",
        "Waiting for room in the write buffer while garbage collection held the dies that drain it.",
        palette.GC,
        DOTS,
    ),
    *_of_tasks(
        "buffer, dies",
        "wait_buffer",
        "waiting for the write buffer at dies",
        "Waiting for room in the write buffer at a die that drains it",
    ),
    Cause(
        "wait_buffer_read",
        "buffer, reads",
        "waiting for the write buffer while reads held the dies that drain it",
        "The same, while host reads held these dies, or old data of partial writes were read.",
        palette.BUFFER[0],
        DOTS,
    ),
    Cause(
        "wait_buffer_bus",
        "buffer, bus",
        "waiting for the write buffer while its data used or awaited a channel bus",
        "The same, while host writes used a channel bus or waited for it.",
        palette.BUFFER[2],
        DOTS,
    ),
    Cause(
        "wait_buffer_program",
        "buffer, programs",
        "waiting for the write buffer while its data were programmed",
        "The same, while the dies programmed host writes.",
        palette.BUFFER[1],
        DOTS,
    ),
    Cause(
        "wait_buffer_space",
        "buffer, idle dies",
        "waiting for the write buffer while the dies that drain it were idle",
        "The same, while these dies were idle: the data waited for allocation, for more data in a page, or for a turn.",
        palette.BUFFER[3],
        DOTS,
    ),
    Cause(
        "processor",
        "computing",
        "in the firmware's processor",
        "Computing time of the firmware, for the request or for those before it.",
        palette.DIE[2],
        STRIPES,
    ),
    Cause(
        "wait_map",
        "mapping table",
        "waiting for the mapping table",
        "Waiting for entries of the mapping table that were read from flash.",
        palette.DIE[0],
        STRIPES,
    ),
    Cause(
        "wait_die_own",
        "die, own pages",
        "waiting for dies that held other pages of the same request",
        "Waiting in the queue of a die while other pages of the same request held it.",
        palette.DIE[3],
    ),
    Cause(
        "wait_die_read",
        "die reads",
        "waiting for dies that other requests' reads held",
        "Waiting in the queue of a die while reads of other requests held it.",
        palette.DIE[1],
    ),
    Cause(
        "wait_die_write",
        "die writes",
        "waiting for dies that other requests' writes held",
        "Waiting in the queue of a die while writes of other requests held it.",
        palette.DIE[0],
    ),
    Cause(
        "wait_die_gc",
        "die held by GC",
        "waiting for dies that garbage collection held",
        "Waiting in the queue of a die while garbage collection held it.",
        palette.GC,
    ),
    *_of_tasks("die", "wait_die", "waiting for dies", "Waiting in the queue of a die"),
    Cause(
        "wait_space",
        "allocation",
        "waiting for allocation",
        "Waiting for allocation while the die was idle: for a free page, for more data to fill a page, or for a turn.",
        palette.DIE[2],
    ),
    Cause(
        "wait_bus",
        "bus wait",
        "waiting for the channel bus",
        "The command waiting for the channel bus.",
        palette.FLASH[0],
        STRIPES,
    ),
    Cause("bus", "bus", "on the channel bus", "Commands and data on the channel bus.", palette.FLASH[2]),
    Cause("array_read", "array read", "in array reads", "Array busy with a read (tR).", palette.FLASH[3]),
    Cause(
        "array_program",
        "array program",
        "in array programs",
        "Array busy with a program (tPROG).",
        palette.FLASH[1],
    ),
    Cause(
        "die_other",
        "registers",
        "in the registers of a die",
        "In the die, but neither on the bus nor in the array: registers, the page before in cache mode, a suspension.",
        palette.FLASH[4],
    ),
    Cause(
        "other",
        "other",
        "in other steps",
        "The rest: mostly requests that waited again because their data had moved.",
        palette.HOST[4],
    ),
)
"""All causes, in the order of a request's path.

Each place has a hue (host and host interface, write buffer, die, bus and array), and each cause there its own
lightness. Waits for garbage collection have the colour of garbage collection.
"""

BUFFER = tuple(cause.key for cause in CAUSES if cause.key.startswith("wait_buffer"))
"""The causes of a wait for the write buffer."""

OPS = ("read", "write")
"""The operations whose latency is split by cause."""


def shares(result: dict[str, Any], op: str) -> Iterator[tuple[Cause, float, float]]:
    """The causes on which requests of ``op`` spent time: the cause, seconds in all, and its share of all their time."""
    spent = (result.get("time_of") or {}).get(op) or {}
    total = sum(spent.values())
    if total <= 0:
        return
    for cause in CAUSES:
        if spent.get(cause.key):
            yield cause, spent[cause.key], spent[cause.key] / total
