"""Families that decide about data and blocks: where data lie, what is collected and moved, what protects them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

from wordline.policy.base import Policy

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy
    from numpy.typing import NDArray

Place = int | tuple[Literal["channel", "die", "plane"], int] | None
"""Where a write may go: a plane by its number, a pair such as ``("die", 3)`` or ``("channel", 0)``; None: anywhere."""


class Placement(Policy):
    """Says where each write of the host may go.

    It has one of three methods: :meth:`place`, :meth:`place_for` with the request, or :meth:`pattern`, which fixes a
    plane for each page. The first two do not place moved data: with ``collect.scope = "plane"`` they stay in their
    plane, with ``"drive"`` they go to any die, as the mapping table does. A policy that ties pages to dies or planes
    needs ``"plane"``, and should spread them evenly, or have a method :meth:`passed_over`: a die filled beyond its
    share has no block left for the next write. A message ends the run then.

    Where blocks form superblocks, the first two name planes of the open ones, and their answers are wishes: a plane may
    be one superblock ahead of the others. A write goes to any die if its place has no page left until others are
    written. So a placement can neither stop the drive, nor has to spread pages evenly. The other methods do not go with
    superblocks.
    """

    family = "placement"

    def place(self, page: int) -> Place:
        """Where a page may go; if not to one plane, the engine chooses the first die of these that is ready.

        Called for each mapping unit when it is ready to be written, so several times for a page of several units, and
        again with each rewrite, also while the drive is filled. The answers may differ: they fix nothing. Any answer
        but a place of the drive, or None, ends the run.

        :param page: the logical address divided by the page size.
        """
        raise NotImplementedError

    def place_for(self, page: int, request: int | None) -> Place:
        """As :meth:`place`, in its stead, with the request that writes. Needs ``buffer.policy = "none"``.

        :param request: a number that the request keeps until it ends, and that later ones use again; None while the
            drive is filled.
        """
        raise NotImplementedError

    def begins(self, request: int) -> None:
        """A write request of the host begins; its pages are placed afterwards. Called with :meth:`place_for` alone."""

    def passed_over(self) -> None:
        """The plane named last has no room: the next call is for the same page, and may name another.

        With this method each answer must name a plane. If all planes that are named are full, one of them takes the
        write. It takes two spare blocks more in each plane, since planes fill unevenly.
        """

    def pattern(self) -> Sequence[int] | None:
        """The planes that consecutive pages visit in turn, asked when the drive is built: page n keeps plane
        ``pattern[n % len(pattern)]``, also when it is moved. None: the method :meth:`place` decides.

        It must have each plane as often as the others: once, or several times. One as long as the drive has pages
        decides about each of them.
        """
        return None


class VictimView(NamedTuple):
    """The closed blocks of a domain (the drive or a plane) that may be collected: with ``collect.blocks_per_die``,
    those of dies that may have another victim.

    The arrays have an entry for each block, ordered by valid logical pages, fewest first; among equals, the block that
    has had that count longest comes first. They are read-only, and never change afterwards. Where blocks form
    superblocks, each is one entry: the number of its first block, and the figures of all its blocks together.
    """

    domain: int
    """The domain, from 0 on."""
    units_per_block: int
    """Logical pages (mapping units) in a block; of data in a superblock."""
    units_per_page: int
    """Logical pages in a page, or in all pages that are programmed together (``geometry.pages_per_program``): a block
    with fewer invalid ones frees none and must not be chosen. With superblocks, as many for each of its blocks."""
    blocks: NDArray[numpy.int64]
    """Their numbers."""
    valid: NDArray[numpy.int64]
    """Their valid logical pages. Blocks of an SLC cache of fixed size count those that they lack for a full block, too:
    erasing them makes room in the cache alone."""
    erases: NDArray[numpy.int64]
    """P/E cycles of each."""
    age: NDArray[numpy.int64]
    """Pages programmed in the domain since a logical page of the block was last invalidated, or it was closed."""
    aligned_reads: NDArray[numpy.int64] | None = None
    """Reads of the host that wait for other planes of the die of each block, at the page offset of one of its valid
    pages: with ``pack.join_gc`` they can share a command of GC. None unless :attr:`Victim.sees_reads`."""


class Victim(Policy):
    """Selects the victim block of garbage collection."""

    family = "victim"
    sees_reads: ClassVar[bool] = False
    """True to see the reads that fit each block, which takes longer. Needs ``collect.scope = "plane"``."""

    def choose(self, view: VictimView) -> int | None:
        """The number of the block to collect, one of ``view.blocks`` that frees a page; None for none now."""
        raise NotImplementedError

    def closed(self, block: int) -> None:
        """Called when a block is closed: it may be collected from now on. No cost unless overridden.

        With superblocks, it is the first block of one that is closed.
        """


class SpaceView(NamedTuple):
    """The free space of a domain (the drive or a plane)."""

    domain: int
    """The domain, from 0 on."""
    free: int
    """Its free blocks."""
    running: int
    """Its blocks being collected; each becomes free."""
    rested: bool
    """True if the host has had no request in the drive for the time of :meth:`Collect.after_rest`."""


class CandidateView(NamedTuple):
    """A victim block that the victim policy has chosen, before its collection starts."""

    domain: int
    """The domain, from 0 on."""
    free: int
    """Free blocks of the domain."""
    rested: bool
    """True if the host has had no request in the drive for the time of :meth:`Collect.after_rest`."""
    until_next_us: float | None
    """Time until the next request of the host, in microseconds, while the host rests and the workload tells it; else
    None. No drive knows it: an ideal to compare with."""
    time_us: float
    """Time of its page reads, its programs and its erase in the array, one after the other, in microseconds."""


class Schedule(NamedTuple):
    """Which merges of log blocks leave busy periods, or go in steps."""

    ahead: bool = False
    """True if log blocks are merged ahead, in idle periods of the host."""
    delayed: bool = False
    """True if merges that the host would wait for are delayed to idle periods, while there are free blocks."""
    compacts: Literal["full", "any"] = "full"
    """What ``has_full`` of the view means: log blocks that are full, or those that are merged first on demand."""
    steps_below: int | None = None
    """Free blocks of a domain below which merges go in steps, each of which moves a page or erases a block; more than
    ``collect.start_blocks``. None: they do not."""
    steps_per_page: int = 1
    """Steps that a page written to a log block pays for, 1 to 1,000."""


class IdleView(NamedTuple):
    """An idle period of the host, and what may be merged in it, of one domain."""

    domain: int
    """The domain, from 0 on."""
    free: int
    """Its free blocks."""
    rested: bool
    """True if the host has had no request in the drive for the time of :meth:`Collect.after_rest`."""
    period_us: float | None
    """Length of the period, from the end of the last request to the start of the next, in microseconds, if the workload
    tells it."""
    left_us: float | None
    """What is left of it."""
    has_delayed: bool
    """True if a merge was delayed, and can start."""
    needed_us: float | None
    """Time of the merge that the next request will have to wait for; None if it needs none, or is not known."""
    has_full: bool
    """True if there are log blocks as :attr:`Schedule.compacts` says, and they can be merged."""


class StepView(NamedTuple):
    """A victim block and its die before the next step of the collection: a page read, or the erase."""

    domain: int
    """The domain, from 0 on."""
    die: int
    """The die of the block."""
    free: int
    """Free blocks of the domain."""
    running: int
    """Blocks being collected in the domain, this one and those on hold included."""
    unread: int
    """Valid logical pages (mapping units) of the block that are still to be read."""
    on_the_way: int
    """Logical pages of the block that are being read, wait to be written, or are being written."""
    host_reads: int
    """Page reads of the host that wait for the die; if the dispatch policy gives dies a depth, those sent to it."""
    host_writes: int
    """Writes of the host, in logical pages, that wait for the die, or for any die, and that it could serve now; if the
    dispatch policy gives dies a depth, those sent to it."""
    host_has_room: bool
    """False if no write of the host finds a page in the domain until garbage collection makes room, or in a plane whose
    die waits for the turn of this one (``redundancy.policy = "ttflash"``)."""
    host_rests: bool
    """True if the host has no request in the drive."""
    erases: bool
    """True if the next step is the erase; otherwise it is a page read."""
    die_works: bool
    """True while the die runs a command."""
    die_serves_host: bool
    """True while that command is of the host."""
    takes_along: bool
    """True if commands of garbage collection take operations of the host along (``pack.join_gc``), and the next step is
    no erase."""
    joining_reads: int
    """Of ``host_reads``: those that the next move could take along, since they wait for another plane of the die at the
    offset of the page that it reads."""
    joining_writes: int
    """Of ``host_writes``: those that the next move could take along, since they can go to another plane of the die
    whose next page is that of garbage collection; 0 if the domain is the drive."""


class MoveView(NamedTuple):
    """A logical page (mapping unit) that was read from a victim block, before it waits to be written."""

    domain: int
    """The domain: 0, the drive."""
    unit: int
    """The logical page (mapping unit), from 0 on. Those behind the host's are of the mapping table."""
    block: int
    """The victim block."""
    die: int
    """Its die, from 0 on."""
    channel: int
    """The channel of the die, from 0 on."""
    valid: int
    """Valid logical pages that the block still has, this one and those on their way included."""
    erases: int
    """P/E cycles of the block."""
    free: int
    """Free blocks of the drive."""
    of_table: bool
    """True for a part of the mapping table."""


class Collect(Policy):
    """Decides when to collect blocks. Besides its own options it has those of ``on-demand``, for pacing."""

    family = "collect"

    def wants(self, view: SpaceView) -> bool:
        """True to collect another block now. Called when a block is opened or erased, and after a rest of the host."""
        raise NotImplementedError

    def after_rest(self) -> float | None:
        """Time without a request of the host, in microseconds from 0 to 1e12, after which ``wants`` is called, too.

        None if rests of the host mean nothing to it. Asked once, after ``__init__``. The end of a workload is no rest.
        """
        return None

    def takes(self, view: CandidateView) -> bool:
        """True if the block that the victim policy has chosen is collected now. No cost unless overridden.

        Called after each True of :meth:`wants`. After False nothing is collected until that is called again. Merges of
        log blocks are not asked about.
        """
        return True

    def schedule(self) -> Schedule | None:
        """Which merges of log blocks leave busy periods, or go in steps; None if they are done when they are wanted.

        Asked once, after ``__init__``. It needs a mapping with log blocks. Any other answer is refused.
        """
        return None

    def idle_work(self, view: IdleView) -> Literal["retroactive", "look-ahead", "proactive"] | None:
        """What to merge in an idle period, if the schedule uses these; None for nothing.

        ``"retroactive"`` is the merge that was delayed first, ``"look-ahead"`` the one that the next request will need,
        ``"proactive"`` that of the log blocks that :attr:`Schedule.compacts` names. Called when the host rests and no
        merge runs in the domain, again after each merge, and when the rest has lasted for :meth:`after_rest`. A merge
        that there is not ends the run. A merge makes way for the host after each operation.
        """
        raise NotImplementedError("its schedule uses idle periods: write the method 'idle_work'")

    def step(self, view: StepView) -> bool:
        """True if a victim block takes its next step, False to put it on hold. No cost unless overridden.

        Called before each page read of a victim block and before its erase. One on hold is asked about again when a
        command at its die has ended, when a block of the drive was opened, when another victim block has been erased,
        and when the host leaves; also once in the moment in which it was put on hold. If writes find no room and
        nothing moves, all go on to their ends without being asked; so they do when the drive becomes idle. A policy
        with this method does not go with block mapping.
        """
        return True

    def place(self, view: MoveView) -> int | tuple[Literal["channel", "die"], int] | None:
        """Where a moved logical page is to be written: a die, ``("channel", n)``, or None for any die. No cost unless
        overridden.

        Called for each logical page that was read from a victim block and is still valid, also while the drive is
        filled. The pages of a place wait for each other to fill a program, while blocks that they came from are still
        being read; those that are left over go to any die, and so do all whose place has no room. A number that the
        drive does not have ends the run. A policy with this method needs ``collect.scope = "drive"``; copyback, static
        placement, superblocks and block mapping do not go with it.
        """
        return None


class FreeView(NamedTuple):
    """The free blocks of a plane, one of which is opened now.

    The arrays have an entry for each of them, the one of the lowest rank first. They are read-only, and never change
    afterwards. Where blocks form superblocks, each is one entry: its first block.
    """

    plane: int
    """The plane, from 0 on."""
    task: str
    """For whose data it is opened, such as ``"host"`` or ``"gc"``. What tasks move shares one open block of a plane, so
    later ones may write to it, too."""
    slc: bool
    """True if it is opened in SLC mode."""
    blocks: NDArray[numpy.int64]
    """Their numbers."""
    erases: NDArray[numpy.int64]
    """P/E cycles of each."""
    ranks: NDArray[numpy.uint64]
    """Their ranks."""


class FreeBlock(Policy):
    """Selects the erased block of a plane to write next.

    It is the one that :meth:`choose` names when it is opened, or the one with the lowest rank; among equals, the lowest
    number. A policy needs one of these methods.
    """

    family = "free_block"

    def rank(self, erases: int, order: int) -> int:
        """The rank of a block that becomes free, from 0 to 2**64 - 1, valid until the block is written.

        Called once for each block that becomes free, and for all blocks, plane by plane, when the drive is made. A
        drive that takes over the state of another, from a snapshot or by a fork with overrides, calls it again for free
        blocks. Without this method, the rank is ``order``.

        :param erases: P/E cycles of the block, this erase included.
        :param order: number of blocks that became free in its plane before; at first, the block's index in the plane.
        """
        return order

    def choose(self, view: FreeView) -> int | None:
        """The number of the block to open, one of ``view.blocks``; None for the first. No cost unless overridden.

        Called each time that a block of a plane is opened, also while the drive is filled, but not where moved data
        open the most worn block (``opens_worn`` of a background task). Any other answer ends the run.
        """
        return None


class UpkeepView(NamedTuple):
    """The blocks of the drive, but bad ones and those that replace them.

    The arrays have an entry for each block, ordered by number. They are read-only, and never change afterwards.
    """

    units_per_block: int
    """Logical pages (mapping units) in a block."""
    host_units: int
    """Logical pages that the host has written. Counted anew when measuring starts."""
    host_reads: int
    """Pages read for the host. Counted anew when measuring starts."""
    blocks: NDArray[numpy.int64]
    """Their numbers."""
    valid: NDArray[numpy.int64]
    """Their valid logical pages."""
    reads: NDArray[numpy.int64]
    """Page reads of each since its erase."""
    erases: NDArray[numpy.int64]
    """P/E cycles of each."""
    written: NDArray[numpy.bool_]
    """True for those with data that no task is moving: these may be chosen. One that is being written takes no more
    pages when it is moved; with superblocks, it is False until all of its superblock are full."""
    full: NDArray[numpy.bool_]
    """True for those of them that are full."""
    free: NDArray[numpy.bool_]
    """True for free ones."""
    cached: NDArray[numpy.bool_]
    """True for full blocks of the SLC cache that no task is moving; with superblocks, for the first of each."""
    host_rests: bool
    """True if the host has had no request in the drive for the time of :meth:`Fold.after_rest`."""
    slc_left: int
    """Blocks that can still be opened in SLC mode."""
    slc_left_by_domain: tuple[int, ...]
    """The same of each domain (the drive, or its planes)."""
    age: NDArray[numpy.int64] | None = None
    """Of each full block: pages programmed in its domain since a logical page of it was last invalidated, or it was
    full. None unless :attr:`Upkeep.sees_ages`."""
    stays: NDArray[numpy.int64] | None = None
    """By place: the block with data there that were not updated lately and can be moved, or -1. With log blocks a place
    is a logical block, and its data block is named if no page of it lies in a log block; elsewhere a place is a block,
    named if it is full and all in it is valid. None unless :attr:`Upkeep.sees_stays`."""


class Upkeep(Policy):
    """Common base of the policies that choose blocks whose data a background task moves."""

    blocks_at_once: Annotated[int, "Blocks that it moves at a time, 1 to 1,000."] = 1
    window_pages: Annotated[int, "Outstanding page moves per block, 1 to 65,535."] = 8
    opens_worn: Annotated[bool, "Moved data open the free block of a plane with the most P/E cycles."] = False
    goes_with_logs: ClassVar[bool] = False
    """True if it may be used where the mapping has log blocks. Then it must choose blocks with ``view.full`` alone."""
    sees_ages: ClassVar[bool] = False
    """True to see the age of each block, which takes longer."""
    sees_stays: ClassVar[bool] = False
    """True to see where data stay, which takes longer: with log blocks one pass over all logical pages."""

    def after_reads(self) -> int | None:
        """When to look for work, asked once, after ``__init__``. None (the default): with each erase of a block.

        A number, from 1 to 2**32 - 2: with each read of a block that has had this many page reads since its erase.
        """
        return None

    def after_rest(self) -> float | None:
        """None: rests of the host mean nothing to it. See :meth:`Fold.after_rest`."""
        return None

    def next(self, view: UpkeepView) -> int | None:
        """The number of the block to move next, one with ``view.written``; None for none now.

        Called at the time that :meth:`after_reads` names, when a block has been moved, and when one becomes free after
        there was no room to move another, while fewer than ``blocks_at_once`` blocks are being moved. The valid data of
        a block go elsewhere, and it is erased.
        A block that may not be moved ends the run. So does a policy that goes on for ever: that chooses twice as many
        blocks as the drive has while the host writes and reads nothing. A policy needs this method or :meth:`erased`.
        """
        return None

    def erased(self, view: UpkeepView, block: int, task: str) -> int | None:
        """The number of a block whose data move now that one was erased, one with ``view.written``; None for none.

        Called with each block that was erased and is free, before :meth:`next` is. No cost unless overridden. If the
        block that it names cannot be moved for want of room, its data stay. With log blocks its data go to the block
        that was erased, which must be of the same domain, elsewhere to where ``opens_worn`` says.

        :param block: the block that was erased; its P/E cycles count this erase.
        :param task: for which task, such as ``"gc"`` or ``"wear"``.
        """
        return None

    def error(self, view: UpkeepView) -> float:
        """How far the state that the task keeps is from its target, as a part of the target, 0 to 1e6: what a policy of
        ``shares`` is told of the task. No cost unless overridden.

        Called at each step of the control of shares (``shares.interval_ms``), and never with fixed shares. Unless
        overridden it is the page reads of the most-read block beyond :meth:`after_reads`, as a part of that number, and
        0 for a policy that looks for work at erases or after rests.
        """
        return 0.0


class Refresh(Upkeep):
    """Selects blocks to move because reads disturb their data."""

    family = "refresh"


class Wear(Upkeep):
    """Selects blocks to move because others wear faster."""

    family = "wear"
    opens_worn: Annotated[bool, "Moved data open the free block of a plane with the most P/E cycles."] = True


class Fold(Upkeep):
    """Selects blocks of the SLC cache whose data move to blocks with all bits of their cells."""

    family = "fold"

    def after_rest(self) -> float | None:
        """When to look for work, asked once, after ``__init__``.

        It is asked when a block of the cache is full, and after this time without a request of the host, in
        microseconds from 0 to 1e12.
        """
        return 10_000.0


class LogBlocks(NamedTuple):
    """Block mapping with log blocks: which logical blocks share them, how many there are, which are merged first.

    A logical block has a data block, in which each logical page has its own place. A page that is not the next one
    there goes to a log block, in the order of its coming.
    """

    group_blocks: int | None = None
    """Logical blocks that form a group and share log blocks, neighbours in a domain; None: all of a domain do."""
    group_log_blocks: int | None = None
    """Log blocks of a group at most; None: only those of a domain are limited."""
    log_blocks: int | None = None
    """Log blocks of a domain at most, the sequential one included; None: all blocks that are spare. 0: no log blocks; a
    page that is written again goes to a replacement block, as with ``mapping.policy = "block"``."""
    sequential: bool = False
    """True if one more log block of each domain takes a logical block's pages from the first on, as long as they come
    in order."""
    one_by_one: bool = False
    """True if a merge empties the oldest log block of a group, not all of them."""
    merge_first: Literal["oldest", "least-recently-written"] = "oldest"
    """When log blocks run out: merged is the group that got its first log block before the others, or the one that was
    not written for the longest time."""
    zone_blocks: int | None = None
    """Logical blocks of a map zone, whose log blocks serve no other; None: the whole table is in memory."""
    zone_tables: int | None = None
    """Tables of map zones that memory holds; the others lie in flash. Needed with ``zone_blocks``."""


class SequenceView(NamedTuple):
    """A write of the first page of a logical block, which the sequential log block of its domain may take."""

    block: int
    """The logical block, from 0 on."""
    domain: int
    """Its domain (the drive or a plane), from 0 on."""
    pages: int
    """Pages of the logical block that wait in their order, from this one on: 1 if the next one has not come yet."""
    holder: int | None
    """The logical block that has the sequential log block; None if none has it. Taken from it, it is merged."""
    held_pages: int | None
    """How many pages of that logical block went there, in order, from its first on; None if there is none."""


class MergeView(NamedTuple):
    """What can be merged in a domain that lacks log blocks: those of a group, or any one if they are merged one by one.

    The arrays have an entry for each, in the order of :attr:`LogBlocks.merge_first`, of a group from the oldest on.
    They are read-only, and never change afterwards.
    """

    domain: int
    """The domain (the drive or a plane), from 0 on."""
    blocks: NDArray[numpy.int64]
    """The log block, or the oldest of those that are emptied together."""
    log_blocks: NDArray[numpy.int64]
    """How many are emptied together."""
    valid: NDArray[numpy.int64]
    """Their valid pages."""
    logical_blocks: NDArray[numpy.int64]
    """Logical blocks that have these pages, each of which is merged."""


class Mapping(Policy):
    """Selects the map unit (a part of the mapping table) that leaves the map cache, or gives a scheme of block mapping.

    Without a scheme, all else is as with ``mapping.policy = "cached"``, whose options it has besides its own: the table
    lies in flash, memory holds some of its map units, and one that leaves is written first if it has changed. A policy
    needs :meth:`evict` or :meth:`scheme`.
    """

    family = "mapping"
    shown_units: Annotated[int, "Map units that it is shown, those whose use is the longest ago; at least 1."] = 64

    def scheme(self) -> LogBlocks | None:
        """A scheme of block mapping; None for pages with a map cache. Asked once, when the drive is built.

        With a scheme, logical pages are flash pages, and the options of the map cache have no effect and are refused.
        :meth:`evict` and :meth:`used` are called for map zones only, if the class has its own :meth:`evict`: their map
        units are the tables of zones, and ``shown_units`` is refused without. Any other answer, and figures that the
        drive cannot have, are refused then.
        """
        return None

    def merge(self, view: MergeView) -> int | None:
        """The log block to merge, one of ``view.blocks``, where a domain lacks log blocks; None for the first. No cost
        unless overridden; it needs a scheme with log blocks.

        What must be merged is not asked about: a group that has as many log blocks as it may have, and a sequential log
        block that was given up. Nor are merges that a collect policy schedules. Any other answer ends the run.
        """
        return None

    def starts_sequence(self, view: SequenceView) -> bool:
        """True if a write of the first page of a logical block takes the sequential log block; False if it goes to a
        log block like all others. No cost unless overridden: then each does. It needs a scheme with ``sequential``.

        Called with each such write that does not go to its data block, and again while a True waits until the
        sequential log block can be taken. The next pages follow by themselves as long as they come in order.
        """
        return True

    def evict(self, oldest: list[tuple[int, bool]], coming: int) -> int:
        """The number of the map unit that leaves. Called when memory is full and gets another one.

        A map unit that memory does not hold ends the run; one that is not shown may leave, too.

        :param oldest: the map units that were used the longest ago, ``shown_units`` at most, the oldest use first; with
            each, whether it has changed, so that it must be written.
        :param coming: the map unit that comes.
        """
        raise NotImplementedError("without a scheme, a map unit leaves the map cache: write the method 'evict'")

    def used(self, map_unit: int) -> None:
        """Called when memory gets a map unit, and with each use of one that it holds. No cost unless overridden.

        A drive that takes over the state of another, from a snapshot or by a fork with overrides, calls it for each map
        unit that memory holds, the oldest use first.
        """


class SlcSize(NamedTuple):
    """The size of an SLC cache."""

    most_blocks: int | None = None
    """Blocks of the drive in SLC mode, at most: a multiple of the blocks of a superblock, if blocks form any, and with
    ``collect.scope = "plane"`` of the planes. None: no limit."""
    free_blocks: int | None = None
    """Free blocks (of the drive, or of each plane with ``collect.scope = "plane"``) that the cache leaves for others.
    None: as many as GC stops at, and one more, or a superblock."""
    set_aside: bool = False
    """True if the blocks are set aside for the cache, as part of the over-provisioning: then GC takes them only for the
    data that were overwritten in them. Needs ``most_blocks``."""


class SlcView(NamedTuple):
    """A domain (the drive, or a plane with ``collect.scope = "plane"``), as a limit of its SLC cache sees it."""

    domain: int
    """The domain, from 0 on."""
    slc_blocks: int
    """Its blocks in SLC mode, full, open or being emptied."""
    free: int
    """Its free blocks."""
    host_units: int
    """Logical pages (mapping units) that the host has written to it since measuring started, or since it was made."""
    time_us: float
    """Simulated time, in microseconds."""


class Slc(Policy):
    """Says how large the SLC cache is, and may limit it further during a run."""

    family = "slc"

    def size(self) -> SlcSize | None:
        """The size of the cache; None for no cache. Asked once, when the drive is built.

        Any other answer, and a size that the drive cannot have, is refused then.
        """
        raise NotImplementedError

    def limit(self, view: SlcView) -> int | None:
        """Blocks of a domain in SLC mode beyond which the host opens no more; None: as :meth:`size` says. No cost
        unless overridden.

        It may lower what :meth:`size` allows, not raise it; 0 lets the host's data go past the cache. Blocks that are
        in SLC mode stay so until their erase. Called for each domain when the drive is built, or takes over the state
        of another, and then whenever the engine asks about garbage collection in the domain, which it does each time
        that a block was opened or erased. While a drive is filled the cache is not used, whatever the limit.
        """
        return None

    def planes(self, view: SlcView) -> Iterable[int] | None:
        """The planes of a domain in which the host opens blocks in SLC mode from now on; None: as before, at first all.
        No cost unless overridden.

        Where the placement says which plane a write goes to, this says which writes go to the cache, and which past it:
        those to planes that are not named. A block that is open stays open; an empty list lets all data go past the
        cache. Called when :meth:`limit` is, after it. A plane that is not of the domain ends the run, as does any other
        answer. It does not go with superblocks, whose planes open their blocks together.
        """
        return None


class Trim(Policy):
    """Says what a deallocation (TRIM) does."""

    family = "trim"

    def invalidates(self, first: int, count: int) -> bool:
        """True if all logical pages of a request are unmapped at once; False if they keep their data.

        Called with each request that covers a logical page in full. Pages that it covers in part keep their data.

        :param first: the first of its logical pages (mapping units).
        :param count: how many there are.
        """
        raise NotImplementedError
