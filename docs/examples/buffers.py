"""Write buffers in Python: which logical pages stay, and which leave."""

from typing import Annotated

from wordline.policy import Buffer, BufferView


class _Sized(Buffer):
    """A buffer of a given size."""

    size_kib: Annotated[int, "Size of the buffer in KiB."] = 8_192

    def __init__(self) -> None:
        self.begin_measuring()

    def capacity_kib(self) -> int:
        """As ``buffer.capacity_kib`` of ``fifo``."""
        return self.size_kib

    def begin_measuring(self) -> None:
        """Figures are those of the measured part of a run."""
        self.left = 0

    def figures(self) -> dict[str, int]:
        """How many logical pages were chosen to leave."""
        return {"chosen": self.left}


class Fifo(_Sized):
    """As ``fifo``: nothing is kept, all goes to its die at once."""

    name = "python-fifo"

    def keeps(self, page: int) -> bool:
        """Never."""
        return False

    def evict(self, view: BufferView) -> list[int]:
        """Nothing is ever kept, so this is never called."""
        return []


class Lru(_Sized):
    """The logical pages that were not written for the longest time leave, as soon as too little room is left."""

    name = "python-lru"
    spare_percent: Annotated[float, "Room for what comes, in percent of the buffer."] = 25.0

    def evict(self, view: BufferView) -> list[int]:
        """As many as are missing; what is leaving already makes room by itself."""
        spare = (len(view.pages) + view.leaving + view.room) * self.spare_percent / 100
        missing = max(int(spare) - view.room - view.leaving, int(view.waits and view.leaving == 0))
        oldest = view.written.argsort()[:missing]
        self.left += len(oldest)
        return view.pages[oldest].tolist()


class ReadCache(_Sized):
    """Keeps what was read, and of that the logical pages read last. What is written goes to its die at once."""

    name = "python-read-cache"

    def keeps(self, page: int) -> bool:
        """Of what is written, nothing."""
        return False

    def keeps_read(self, page: int) -> bool:
        """Of what is read, all."""
        return True

    def evict(self, view: BufferView) -> list[int]:
        """The page that was not read for the longest time makes room for the next, or for a write."""
        if view.comes is None and not view.waits:
            return []
        self.left += 1
        return [int(view.pages[view.read.argmin()])]


class Whole(_Sized):
    """Logical blocks leave as a whole, the one first that was not written for the longest time: as BPLRU orders them.

    Source: Kim and Ahn, BPLRU (FAST 2008), without page padding and LRU compensation.
    """

    name = "python-blocks"

    def evict(self, view: BufferView) -> list[int]:
        """One logical block, of as many pages as a block of the flash has, when a write waits for room."""
        if not view.waits or view.leaving:
            return []
        blocks = view.pages // (self.drive.pages_per_block * self.drive.units_per_page)
        # The block with the oldest of the last writes to each.
        last = {block: int(view.written[blocks == block].max()) for block in set(blocks.tolist())}
        leaves = view.pages[blocks == min(last, key=last.__getitem__)]
        self.left += len(leaves)
        return sorted(leaves.tolist())


class Hot(Lru):
    """As the LRU buffer above, but only for logical pages that were written before, and so may be written again.

    It remembers as many of the last written pages as the buffer holds, as a list of ghosts.
    """

    name = "python-hot"

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[int, None] = {}

    def keeps(self, page: int) -> bool:
        """True if it is among the last that came."""
        known = page in self.seen
        self.seen.pop(page, None)
        self.seen[page] = None
        if len(self.seen) > self.size_kib * 1024 * self.drive.units_per_page // self.drive.page_bytes:
            del self.seen[next(iter(self.seen))]
        return known
