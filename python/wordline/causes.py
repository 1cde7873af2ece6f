"""Where the time of requests went: the causes of a result's ``time_of``, named and explained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from wordline import drawing


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
        colour = f"var(--{self.colour.rpartition(' ')[2]})"
        stripes = f"repeating-linear-gradient(135deg, {colour} 0 3px, var(--paper) 3px 4px)"
        return stripes if self.hatch else colour


CAUSES = (
    Cause(
        "slot", "queue slot", "waiting for a queue slot", "Waiting at the host for a free queue slot.", drawing.FAINT
    ),
    Cause(
        "link_in",
        "link in",
        "on the link to the drive",
        "The command, and a write's data, on the way to the drive; waiting for the link included.",
        drawing.GREEN,
    ),
    Cause(
        "dispatch", "dispatch", "waiting to be taken up", "In the drive, waiting to be taken up.", drawing.FAINT, "//"
    ),
    Cause(
        "buffer",
        "buffer room",
        "waiting for room in the write buffer",
        "Waiting for room in the write buffer: the flash took data more slowly than they came.",
        drawing.PURPLE,
    ),
    Cause(
        "merge", "merge", "reading old data", "Reading old data to complete partly written units.", drawing.PURPLE, "//"
    ),
    Cause(
        "queue",
        "die queue",
        "in the queues of the dies behind other work of the host",
        "Waiting in the queue of a die for other work of the host, or for room or company.",
        drawing.GOLD,
    ),
    Cause(
        "queue_gc",
        "die held by GC",
        "waiting for dies that garbage collection held",
        "Waiting in the queue of a die while garbage collection held it.",
        drawing.ORANGE,
    ),
    Cause(
        "bus_wait",
        "bus wait",
        "waiting for the bus of a channel",
        "The command waiting for its channel's bus.",
        drawing.RED,
    ),
    Cause("bus", "bus", "on the bus of a channel", "Commands and data on the channel's bus.", drawing.TEAL),
    Cause("cells", "cells", "in the flash cells", "Reading or programming in the cells and registers.", drawing.BLUE),
    Cause(
        "flash",
        "flash",
        "in the flash",
        "Queue and command together, in drives whose commands overlap on a die.",
        drawing.BLUE,
        "//",
    ),
    Cause(
        "link_out",
        "link out",
        "on the link to the host",
        "Data and completion on the way to the host; waiting for the link included.",
        drawing.GREEN,
        "//",
    ),
)

OPS = ("read", "write")


def shares(result: dict[str, Any], op: str) -> Iterator[tuple[Cause, float, float]]:
    """The causes on which requests of ``op`` spent time: the cause, seconds in all, and its share of all their time."""
    spent = (result.get("time_of") or {}).get(op) or {}
    total = sum(spent.values())
    if total <= 0:
        return
    for cause in CAUSES:
        if spent.get(cause.key):
            yield cause, spent[cause.key], spent[cause.key] / total
