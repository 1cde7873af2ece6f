"""Where the time of requests went: the causes of a result's ``time_of``, named and explained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from wordline.base import palette

STRIPES, DOTS = "//", ".."
"""Hatches: of waits for a wire or a turn, and of waits for the write buffer."""


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
        stripes = f"repeating-linear-gradient(135deg, {colour} 0 3px, var(--paper) 3px 4px)"
        return stripes if self.hatch else colour


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
        "link wait",
        "waiting for the link",
        "Waiting for the link between host and drive, in both directions.",
        palette.HOST[1],
        STRIPES,
    ),
    Cause("link", "link", "on the link", "Command, data and completion on the link to the host.", palette.HOST[3]),
    Cause(
        "wait_dispatch",
        "dispatch",
        "waiting to be taken up",
        "In the drive, waiting to be taken up.",
        palette.HOST[0],
        STRIPES,
    ),
    Cause(
        "wait_buffer_gc",
        "buffer, GC",
        "waiting for the write buffer while garbage collection held the dies that drain it",
        "Waiting for room in the write buffer, while garbage collection held the dies that the data there waited for.",
        palette.GC,
        DOTS,
    ),
    Cause(
        "wait_buffer_read",
        "buffer, reads",
        "waiting for the write buffer while reads held the dies that drain it",
        "The same, while reads of the host held these dies, or old data of partial writes were read.",
        palette.BUFFER[0],
        DOTS,
    ),
    Cause(
        "wait_buffer_bus",
        "buffer, bus",
        "waiting for the write buffer while its data used the bus of a channel or waited for it",
        "The same, while writes of the host were on the bus of a channel or waited for it.",
        palette.BUFFER[2],
        DOTS,
    ),
    Cause(
        "wait_buffer_program",
        "buffer, programs",
        "waiting for the write buffer while its data were programmed",
        "The same, while the dies programmed writes of the host.",
        palette.BUFFER[1],
        DOTS,
    ),
    Cause(
        "wait_buffer_space",
        "buffer, idle dies",
        "waiting for the write buffer while the dies that drain it were idle",
        "The same, while these dies were idle: the data waited for a page, for company to fill one, or for a turn.",
        palette.BUFFER[3],
        DOTS,
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
    Cause(
        "wait_space",
        "page or turn",
        "waiting for a free page, for company or for a turn",
        "Waiting while the die was idle: for a free page, for company to fill a page, or for its turn.",
        palette.DIE[2],
    ),
    Cause(
        "wait_bus",
        "bus wait",
        "waiting for the bus of a channel",
        "The command waiting for its channel's bus.",
        palette.FLASH[0],
        STRIPES,
    ),
    Cause("bus", "bus", "on the bus of a channel", "Commands and data on the channel's bus.", palette.FLASH[2]),
    Cause("array_read", "cells, read", "reading the flash cells", "The cells being read.", palette.FLASH[3]),
    Cause(
        "array_program",
        "cells, program",
        "programming the flash cells",
        "The cells being programmed.",
        palette.FLASH[1],
    ),
    Cause(
        "die_other",
        "registers",
        "in the registers of a die",
        "In the die, but neither on the bus nor in the cells: registers, the page before in cache mode, a suspension.",
        palette.FLASH[4],
    ),
    Cause(
        "other",
        "other",
        "beginning to wait anew",
        "The rest: above all, the data had moved while the request waited, and it began to wait anew.",
        palette.HOST[4],
    ),
)
"""All causes, in the order of a request's way.

Each place has a hue (host and link, write buffer, die, bus and cells), and each cause a lightness of its own there;
what waits for garbage collection has the colour of that.
"""

BUFFER = tuple(cause.key for cause in CAUSES if cause.key.startswith("wait_buffer"))
"""The causes of a wait for the write buffer."""

OPS = ("read", "write")
"""The operations whose latency is divided."""


def shares(result: dict[str, Any], op: str) -> Iterator[tuple[Cause, float, float]]:
    """The causes on which requests of ``op`` spent time: the cause, seconds in all, and its share of all their time."""
    spent = (result.get("time_of") or {}).get(op) or {}
    total = sum(spent.values())
    if total <= 0:
        return
    for cause in CAUSES:
        if spent.get(cause.key):
            yield cause, spent[cause.key], spent[cause.key] / total
