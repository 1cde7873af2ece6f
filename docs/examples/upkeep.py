"""Read scrubbing and static wear leveling, rewritten in Python: they move exactly the blocks of the built-in ones."""

from typing import Annotated

import numpy as np
from wordline.policy import Refresh, UpkeepView, Wear


class Scrub(Refresh):
    """The most-read block, from one threshold of reads down to another."""

    name = "python-scrub"
    start_reads: Annotated[int, "Page reads of a block at which it starts."] = 100_000
    stop_reads: Annotated[int, "It goes on until every block has fewer page reads."] = 80_000

    def __init__(self) -> None:
        if not 1 <= self.stop_reads <= self.start_reads:
            raise ValueError(f"stop_reads must be 1 to start_reads = {self.start_reads}, not {self.stop_reads}")
        self.active = False

    def after_reads(self) -> int:
        """From the first threshold on."""
        return self.start_reads

    def next(self, view: UpkeepView) -> int | None:
        """The most-read block with data, of equals the one with the lowest number."""
        if not view.written.any():
            return None
        reads = np.where(view.written, view.reads, -1)
        most = reads.argmax()
        self.active = reads[most] >= (self.stop_reads if self.active else self.start_reads)
        return view.blocks[most] if self.active else None


class Static(Wear):
    """The least worn block with data that stay, from one difference in P/E cycles down to another."""

    name = "python-static"
    start_cycles: Annotated[int, "Difference in P/E cycles at which it starts."] = 16
    stop_cycles: Annotated[int, "It goes on until the difference is smaller."] = 12

    def __init__(self) -> None:
        if not 1 <= self.stop_cycles <= self.start_cycles:
            raise ValueError(f"stop_cycles must be 1 to start_cycles = {self.start_cycles}, not {self.stop_cycles}")
        self.active = False
        self.written = self.counted = 0
        blocks = self.drive.planes * self.drive.blocks_per_plane
        self.cycles, self.since = np.zeros(blocks, int), np.zeros(blocks, int)

    def next(self, view: UpkeepView) -> int | None:
        """The widest difference of a block that was not erased while the host wrote as much as the drive holds."""
        # The count of the view begins anew when measuring starts.
        self.written += view.host_units - (self.counted if view.host_units >= self.counted else 0)
        self.counted = view.host_units
        changed = self.cycles[view.blocks] != view.erases
        self.since[view.blocks[changed]] = self.written
        self.cycles[view.blocks] = view.erases
        stays = view.full & (self.written - self.since[view.blocks] >= len(view.blocks) * view.units_per_block)

        # By domain: the most P/E cycles of a block, and of a free one.
        domain = view.blocks // self.drive.blocks_per_plane if self.drive.domains > 1 else np.zeros_like(view.blocks)
        most, free = np.zeros(self.drive.domains, int), np.full(self.drive.domains, -1)
        np.maximum.at(most, domain, view.erases)
        np.maximum.at(free, domain[view.free], view.erases[view.free])
        difference = np.where(stays, most[domain] - view.erases, 0)
        least = self.stop_cycles if self.active else self.start_cycles
        self.active = bool(difference.max(initial=0) >= least)
        fit = stays & (difference >= least) & (free[domain] >= view.erases + self.stop_cycles)
        if not self.active or not fit.any():
            return None
        return view.blocks[np.where(fit, difference, -1).argmax()]
