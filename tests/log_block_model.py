"""What mappings with log blocks do for requests one after another, from their description in chang11 (LCTES, 2.2)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

SEQUENTIAL = -1


@dataclass
class Scheme:
    """`group` logical blocks share up to `logs` log blocks (all of them, any number, if 0), of `most` in the drive."""

    group: int
    logs: int
    most: int
    sequential: bool = False
    one_by_one: bool = False


@dataclass
class Model:
    """Data blocks, log blocks and what merging them takes."""

    scheme: Scheme
    pages: int
    where: dict[int, object] = field(default_factory=dict)
    """By logical page: its log block, or its data block."""
    written: dict[int, int] = field(default_factory=dict)
    """By logical block with a data block: pages programmed there."""
    groups: dict[int, list[list[int]]] = field(default_factory=dict)
    """Log blocks by group, the least recently written group first: the logical pages programmed in each."""
    in_order: list[int] | None = None
    done: Counter[str] = field(default_factory=Counter)

    def write(self, page: int) -> None:
        lot, offset = divmod(page, self.pages)
        if self.written.get(lot, 0) == offset:
            if not offset:
                self.open_data(lot)
            self.written[lot] = offset + 1
            self.where[page] = lot
        elif self.scheme.sequential and offset == 0:
            if self.in_order is not None:
                before, self.in_order = self.in_order, None
                self.merge([before], [before[0] // self.pages])
            self.make_room(SEQUENTIAL)
            self.in_order = []
            self.open_log(self.in_order)
            self.append(self.in_order, page)
        elif self.in_order and page == self.in_order[-1] + 1 and lot == self.in_order[0] // self.pages:
            self.append(self.in_order, page)
            if len(self.in_order) == self.pages:
                full, self.in_order = self.in_order, None
                self.merge([full], [lot])
        else:
            self.write_log(page, lot // self.scheme.group if self.scheme.group else 0)

    def write_log(self, page: int, group: int) -> None:
        logs = self.groups.get(group, [])
        if not logs or len(logs[-1]) == self.pages:
            self.make_room(group)
            logs = self.groups.setdefault(group, [])
            logs.append([])
            self.open_log(logs[-1])
        self.append(logs[-1], page)
        self.groups[group] = self.groups.pop(group)

    def append(self, log: list[int], page: int) -> None:
        log.append(page)
        self.where[page] = id(log), len(log) - 1

    def trim(self, page: int) -> None:
        self.where.pop(page, None)
        lot = page // self.pages
        if self.written.get(lot) and not any(each in self.where for each in self.of(lot)):
            del self.written[lot]
            self.erase(self.close_data(lot))

    def of(self, lot: int) -> range:
        return range(lot * self.pages, (lot + 1) * self.pages)

    def make_room(self, group: int) -> None:
        """Another log block may be opened afterwards."""
        scheme = self.scheme
        if scheme.logs and len(self.groups.get(group, [])) == scheme.logs:
            self.merge_group(group)
        kept = scheme.sequential and group != SEQUENTIAL and self.in_order is None
        while sum(map(len, self.groups.values())) + (self.in_order is not None) + kept >= scheme.most:
            self.merge_group(next(iter(self.groups)))

    def merge_group(self, group: int) -> None:
        logs = self.groups.pop(group)
        chosen = logs[:1] if self.scheme.one_by_one else logs
        if rest := logs[len(chosen) :]:
            # It keeps its place in the order of writing.
            self.groups = {group: rest, **self.groups}
        lots = {page // self.pages for log in chosen for page in self.valid(log)}
        self.merge(chosen, sorted(lots))

    def valid(self, log: list[int]) -> list[int]:
        return [page for at, page in enumerate(log) if self.where.get(page) == (id(log), at)]

    def merge(self, logs: list[list[int]], lots: list[int]) -> None:
        left = []
        for lot in lots:
            base = next((log for log in logs if log and self.valid(log) == list(self.of(lot))[: len(log)]), None)
            start = len(base) if base else 0
            rest = [page for page in self.of(lot)[start:] if page in self.where]
            if rest:
                # What is left so far is erased while the pages are copied.
                self.erase_all(left)
            end = rest[-1] + 1 - lot * self.pages if rest else start
            kind = ("partial" if rest else "switch") if base else "full"
            self.done.update({kind: 1, "copies": len(rest), "empty": end - start - len(rest)})
            replaces, self.written[lot] = lot in self.written, end
            self.where.update({page: lot for page in self.of(lot) if page in self.where})
            logs = [log for log in logs if log is not base]
            before = self.replace_data(lot, base)
            left += [before] * replaces
        left += [self.close_log(log) for log in reversed(logs)]
        self.erase_all(left)
        self.done["merges"] += 1

    def erase_all(self, blocks: list[int]) -> None:
        """Erases blocks in their order; afterwards the list is empty."""
        while blocks:
            self.erase(blocks.pop(0))

    # What is done with blocks. Who follows them by their numbers has more to do here.

    def open_data(self, lot: int) -> None:
        """A logical block gets its first data block."""

    def open_log(self, log: list[int]) -> None:
        """A log block is opened."""

    def replace_data(self, lot: int, log: list[int] | None) -> int:
        """A log block, or a free one, becomes the data block of a logical block; gives the one before."""
        return 0

    def close_data(self, lot: int) -> int:
        """A logical block has no data block any more; gives the one that it had."""
        return 0

    def close_log(self, log: list[int]) -> int:
        """A log block is not needed any more; gives its number."""
        return 0

    def erase(self, victim: int) -> None:
        """A block is erased."""
        self.done["erases"] += 1
