"""Lazy wear leveling beside log blocks, from its description in chang11 (LCTES, 3: Algorithm 1)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from log_block_model import Model


def places(count: int) -> Iterator[int]:
    """The numbers below ``count`` in the order in which logical blocks are visited, again and again: lbnNext.

    A linear congruential generator of full period modulo a power of two (Hull and Dobell 1962), which the source
    proposes without its numbers.
    """
    modulus, at = 1, 0
    while modulus < count:
        modulus *= 2
    while True:
        at = (1_664_525 * at + 1_013_904_223) % modulus
        if at < count:
            yield at


@dataclass
class LazyModel(Model):
    """The model of log blocks, which also follows the numbers of blocks and their erases, with lazy wear leveling."""

    delta: float = 16.0
    lots: int = 0
    """Logical blocks."""
    blocks: int = 0
    """Blocks. The free ones are taken in the order in which they were erased."""
    erases: list[int] = field(default_factory=list)
    """Of each block."""
    data: dict[int, int] = field(default_factory=dict)
    """By logical block: its data block."""
    log: dict[int, int] = field(default_factory=dict)
    """By the identity of a list of pages: the log block that has them."""
    waits: int | None = None
    """The logical block for which a write waits."""

    def __post_init__(self) -> None:
        self.erases = [0] * self.blocks
        self.free = deque(range(self.blocks))
        self.next = places(self.lots)

    def open_data(self, lot: int) -> None:
        self.data[lot] = self.free.popleft()

    def open_log(self, log: list[int]) -> None:
        self.log[id(log)] = self.free.popleft()

    def replace_data(self, lot: int, log: list[int] | None) -> int:
        before = self.data.get(lot, -1)
        self.data[lot] = self.free.popleft() if log is None else self.close_log(log)
        return before

    def close_data(self, lot: int) -> int:
        return self.data.pop(lot)

    def close_log(self, log: list[int]) -> int:
        return self.log.pop(id(log))

    def erase(self, victim: int) -> None:
        """Algorithm 1: the victim of a collection is erased, and the block that becomes free is it or a substitute."""
        is_elder = self.erases[victim] - sum(self.erases) / self.blocks > self.delta
        self.erase_block(victim)
        self.done["by GC"] += 1
        lot = self.staying() if is_elder else None
        self.free.append(victim if lot is None else self.move(lot, victim))

    def erase_block(self, block: int) -> None:
        self.erases[block] += 1
        self.done["erases"] += 1

    def staying(self) -> int | None:
        """The next logical block that sector mapping is not related to; none if there is none."""
        for _ in range(self.lots):
            lot = next(self.next)
            places = [self.where[page] for page in self.of(lot) if page in self.where]
            if places and not self.is_in_use(lot) and all(place == lot for place in places):
                return lot
        return None

    def is_in_use(self, lot: int) -> bool:
        """True if a write waits for a logical block, or the sequential log block is its own."""
        return lot == self.waits or (bool(self.in_order) and lot == self.in_order[0] // self.pages)

    def move(self, lot: int, elder: int) -> int:
        """The data of a logical block move to an erased block; the block that they leave is erased."""
        junior, self.data[lot] = self.data[lot], elder
        self.done.update({"moves": 1, "moved": sum(page in self.where for page in self.of(lot))})
        self.erase_block(junior)
        return junior

    def append(self, log: list[int], page: int) -> None:
        self.waits = None
        super().append(log, page)

    def step(self, op: str, page: int) -> None:
        """Carries out a write or a trim of a logical page."""
        self.waits = page // self.pages if op == "W" else None
        (self.write if op == "W" else self.trim)(page)
        self.waits = None

    def histogram(self, most_bars: int) -> dict[str, object]:
        """Blocks by their erases, in bars of equal width from the least on."""
        least, most = min(self.erases), max(self.erases)
        width = (most - least) // most_bars + 1
        bars = [0] * ((most - least) // width + 1)
        for erases in self.erases:
            bars[(erases - least) // width] += 1
        return {"first": least, "width": width, "blocks": bars}
