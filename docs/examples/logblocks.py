"""The block mappings that come with Wordline, rewritten in Python: block, BAST, SAST, FAST, P-FTL; and one besides."""

from typing import Annotated

from wordline.policy import LogBlocks, Mapping, MergeView, SequenceView


class Block(Mapping):
    """No log blocks: a page that is written again goes to a replacement block."""

    name = "python-block"

    def scheme(self) -> LogBlocks:
        """None at all."""
        return LogBlocks(log_blocks=0)


class _Logs(Mapping):
    """The options that all schemes with log blocks have; 0 stands for none."""

    log_blocks: Annotated[int, "Log blocks of a GC domain at most; 0: all blocks that are spare."] = 0
    zone_blocks: Annotated[int, "Logical blocks of a map zone; 0: the drive is not cut into zones."] = 0
    zone_tables: Annotated[int, "Tables of map zones that memory holds."] = 0

    def scheme(self) -> LogBlocks:
        """All logical blocks share all log blocks."""
        most, blocks, tables = self.log_blocks or None, self.zone_blocks or None, self.zone_tables or None
        return LogBlocks(log_blocks=most, zone_blocks=blocks, zone_tables=tables)


class Bast(_Logs):
    """A log block for each logical block that is updated."""

    name = "python-bast"

    def scheme(self) -> LogBlocks:
        """Groups of one logical block and one log block."""
        own = {"group_blocks": 1, "group_log_blocks": 1, "merge_first": "least-recently-written"}
        return super().scheme()._replace(**own)


class Sast(_Logs):
    """Up to K log blocks for N neighbouring logical blocks."""

    name = "python-sast"
    group_blocks: Annotated[int, "Logical blocks of a group (N)."] = 16
    group_log_blocks: Annotated[int, "Log blocks of a group at most (K)."] = 32
    whole_groups: Annotated[bool, "All log blocks of a group are merged together."] = True

    def scheme(self) -> LogBlocks:
        """Groups of N logical blocks and K log blocks."""
        own = {"group_blocks": self.group_blocks, "group_log_blocks": self.group_log_blocks}
        merges = {"one_by_one": not self.whole_groups, "merge_first": "least-recently-written"}
        return super().scheme()._replace(**own, **merges)


class Fast(_Logs):
    """All log blocks for all logical blocks, and one for pages in order."""

    name = "python-fast"

    def scheme(self) -> LogBlocks:
        """The oldest log block is merged."""
        return super().scheme()._replace(sequential=True, one_by_one=True)


class Sequences(Fast):
    """As FAST, but a first page takes the sequential log block only if several pages of its block wait in order.

    Single writes of a first page then do not end a sequence of another logical block. With 1 it is FAST.
    """

    name = "python-sequences"
    least_pages: Annotated[int, "Pages in order that must wait."] = 4

    def starts_sequence(self, view: SequenceView) -> bool:
        """Anything will do while no logical block has it."""
        return view.holder is None or view.pages >= self.least_pages


class Pftl(_Logs):
    """A buffer of log blocks for all logical blocks."""

    name = "python-pftl"

    def scheme(self) -> LogBlocks:
        """The oldest log block is merged."""
        return super().scheme()._replace(one_by_one=True)


class Cheapest(Pftl):
    """As P-FTL, but merged is the log block whose pages belong to the fewest logical blocks.

    Each of these is brought together with all its other pages, so a merge costs about as much as it has.
    """

    name = "cheapest"

    def __init__(self) -> None:
        self.merges = self.logical_blocks = 0

    def merge(self, view: MergeView) -> int:
        """Among equals, the oldest."""
        at = view.logical_blocks.argmin()
        self.merges += 1
        self.logical_blocks += view.logical_blocks[at]
        return view.blocks[at]

    def begin_measuring(self) -> None:
        """What was merged before does not count."""
        self.merges = self.logical_blocks = 0

    def figures(self) -> dict[str, float | None]:
        """How many logical blocks a merge has on average."""
        return {"merges": self.merges, "logical_blocks": self.logical_blocks / self.merges if self.merges else None}
