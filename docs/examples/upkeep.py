"""Read scrubbing, folding, four ways of wear leveling, rewritten in Python: they move the blocks of built-in ones."""

from typing import Annotated, Any

import numpy as np
from wordline.policy import Fold, Refresh, UpkeepView, Wear


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


class Recency(Wear):
    """Data leave a block that was not erased lately, when erases over those that were reach a ratio."""

    name = "python-recency"
    opens_worn = False
    goes_with_logs = True
    erases_per_block: Annotated[float, "Erases over blocks that were erased, from which on data are moved."] = 16.0

    def __init__(self) -> None:
        self.bits = np.zeros(self.drive.planes * self.drive.blocks_per_plane, bool)
        self.erases = self.at = 0

    def erased(self, view: UpkeepView, block: int, task: str) -> None:
        """Sets the bit of the block."""
        self.bits[block] = True
        self.erases += 1

    def next(self, view: UpkeepView) -> int | None:
        """The next full block without bit, round and round."""
        if not self.bits.any() or self.erases < self.erases_per_block * self.bits.sum():
            return None
        fit = view.blocks[view.full & ~self.bits[view.blocks]]
        if not len(fit):
            self.bits[:] = False
            self.erases = 0
            return None
        block = int(fit[np.searchsorted(fit, self.at) % len(fit)])
        self.at = (block + 1) % len(self.bits)
        return block


class HotCold(Wear):
    """The most and the least worn block of a domain exchange their data, when they differ by too much."""

    name = "python-hot-cold"
    goes_with_logs = True
    threshold_cycles: Annotated[int, "Difference in P/E cycles beyond which blocks are swapped."] = 16

    def __init__(self) -> None:
        # By domain: the block that data leave in the first half of a swap.
        self.leaving: dict[int, int] = {}

    def erased(self, view: UpkeepView, block: int, task: str) -> int | None:
        """What leaves its block now, if anything."""
        shape = self.drive
        domain = block // shape.blocks_per_plane if shape.domains > 1 else 0
        here = view.blocks // shape.blocks_per_plane == domain if shape.domains > 1 else np.ones(len(view.blocks), bool)
        may_move = here & view.full & (view.valid > 0)
        if not may_move.any():
            return None
        blocks, erases = view.blocks[may_move], view.erases[may_move]
        is_far = view.erases[view.blocks == block][0] - erases.min() > self.threshold_cycles
        if task == "wear" and self.leaving.get(domain) == block:
            # The second half.
            del self.leaving[domain]
            return blocks[erases.argmin()] if is_far else None
        worn = self.leaving.get(domain, block)
        is_under_way = worn != block and worn not in blocks and worn in view.blocks
        if task != "gc" or is_under_way:
            return None
        self.leaving.pop(domain, None)
        if not is_far or erases.max() == erases.min():
            return None
        self.leaving[domain] = int(blocks[erases.argmax()])
        return self.leaving[domain]


class Lazy(Wear):
    """When GC erases a block worn beyond the average by more than a threshold, data that stay move there.

    With ``lambda_percent`` the threshold is tuned after each session. Its figures are those of ``lazy``.
    """

    name = "python-lazy"
    goes_with_logs = True
    sees_stays = True
    delta_cycles: Annotated[float, "P/E cycles above the average of its domain from which on a block is worn."] = 16.0
    lambda_percent: Annotated[float, "Limit on the growth of the overhead, in percent per P/E cycle; 0: no tuning."] = (
        0.0
    )
    session_erases: Annotated[int, "Erases by wear leveling in a session."] = 1000

    def __init__(self) -> None:
        # By domain: the place at which the last search ended.
        self.at: dict[int, int] = {}
        self.delta = self.delta_cycles
        self.erases = {"gc": 0, "wear": 0}
        self.session = {"gc": 0, "wear": 0}
        # Of each session that is over: threshold, overhead, and standard deviation of the P/E cycles.
        self.sessions: list[tuple[float, float, float]] = []

    def figures(self) -> dict[str, Any]:
        """Those of ``wear_leveling`` in the result of a run with ``lazy``, since the drive was new."""
        deltas, overheads, deviations = zip(*self.sessions, strict=True) if self.sessions else ((), (), ())
        told = {"delta": self.delta, "gc_erases": self.erases["gc"], "wear_erases": self.erases["wear"]}
        return {**told, "session_delta": deltas, "session_overhead": overheads, "session_stddev": deviations}

    def count(self, task: str, erases: np.ndarray) -> None:
        """Takes note of an erase; at the end of a session it tunes the threshold."""
        if task not in self.erases:
            return
        self.erases[task] += 1
        self.session[task] += 1
        if task == "gc" or self.session["wear"] < self.session_erases or not self.session["gc"]:
            return
        overhead = self.session["wear"] / self.session["gc"]
        self.sessions.append((self.delta, overhead, float(erases.std())))
        self.session = {"gc": 0, "wear": 0}
        if self.lambda_percent:
            self.delta = (100.0 / -self.lambda_percent) ** 0.5 * (overhead * self.delta) ** 0.5

    def erased(self, view: UpkeepView, block: int, task: str) -> int | None:
        """The next data that stay in the domain, in the order of a permutation of all places."""
        self.count(task, view.erases)
        shape = self.drive
        here = view.blocks // shape.blocks_per_plane == block // shape.blocks_per_plane
        here |= shape.domains == 1
        average = (view.erases[here].sum() - 1) / here.sum()
        if task != "gc" or view.erases[view.blocks == block][0] - 1 - average <= self.delta:
            return None
        assert view.stays is not None, "it sees where data stay"
        domain = block // shape.blocks_per_plane if shape.domains > 1 else 0
        places, at = len(view.stays), self.at.get(domain, 0)
        mask = (1 << (places - 1).bit_length()) - 1
        for _ in range(places):
            while (at := at * 1_664_525 + 1_013_904_223 & mask) >= places:
                pass
            self.at[domain] = at
            found = int(view.stays[at])
            if found >= 0 and (shape.domains == 1 or found // shape.blocks_per_plane == domain):
                return found
        return None


class Coldest(Fold):
    """The SLC block whose data were overwritten longest ago, in rests of the host or while the cache is nearly full."""

    name = "python-coldest"
    sees_ages = True
    idle_us: Annotated[float, "Rest of the host after which the whole cache is folded."] = 10_000.0
    start_blocks: Annotated[int, "Blocks left for the cache in a domain below which folding starts."] = 0
    stop_blocks: Annotated[int, "It goes on until so many are left."] = 0

    def __init__(self) -> None:
        self.pressed = False

    def after_rest(self) -> float:
        """When it folds."""
        return self.idle_us

    def next(self, view: UpkeepView) -> int | None:
        """The oldest; of equals the one with the lowest number."""
        left = np.array(view.slc_left_by_domain)
        self.pressed = bool((left < (self.stop_blocks if self.pressed else self.start_blocks)).any())
        if not self.pressed and not view.host_rests:
            return None
        domain = view.blocks // self.drive.blocks_per_plane if self.drive.domains > 1 else np.zeros_like(view.blocks)
        fit = view.cached & (view.host_rests | (left[domain] < self.stop_blocks))
        assert view.age is not None, "it sees ages"
        return view.blocks[np.where(fit, view.age, -1).argmax()] if fit.any() else None
