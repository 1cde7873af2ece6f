"""Policies written in Python: a class, used by its name in a run.

A policy derives from the class of its family and decides in one method::

    import wordline

    class Youngest(wordline.policy.Victim):
        "Among blocks that free space, the one invalidated last."

        name = "youngest"
        at_most: float = 0.9

        def choose(self, view):
            fit = view.valid <= self.at_most * view.units_per_block
            return view.blocks[fit][view.age[fit].argmin()] if fit.any() else None

    wordline.run("demo", "load.toml", {"victim.policy": "youngest"}, policies=[Youngest])

Annotated attributes are its options, keys of its family's section in a drive file (``victim.at_most = 0.8``). Their
types are bool, int, float, str or a ``Literal`` of strings; the text in ``Annotated[float, "..."]`` documents one; an
option without a default is required. They are set before ``__init__``, which takes no arguments and may reject them.
Also set are ``self.drive``, a :class:`Shape`, and ``self.random``, a generator seeded by the run: other sources of
randomness would make runs irreproducible.

An exception of a policy ends the run and is passed on unchanged; after ``KeyboardInterrupt`` there is a partial result,
as after any Ctrl-C.
"""

from __future__ import annotations

import copy
import json
import random
import typing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

KINDS = {bool: "boolean", int: "integer", float: "number", str: "string"}
"""Types of options by their names in JSON."""


@dataclass(frozen=True)
class Shape:
    """Properties of the drive that a policy may use."""

    seed: int
    """Seed of the run."""
    domains: int
    """Domains of garbage collection: 1, or one a plane."""
    channels: int
    """Channels in the drive."""
    packages_per_channel: int
    """Packages (ways) on a channel."""
    dies_per_package: int
    """Dies in a package."""
    planes_per_die: int
    """Planes in a die; plane ``p`` is in die ``p // planes_per_die``."""
    planes: int
    """Planes in the drive."""
    blocks_per_plane: int
    """Blocks in a plane; block ``b`` is in plane ``b // blocks_per_plane``."""
    pages_per_block: int
    """Pages in a block."""
    units_per_page: int
    """Logical pages (mapping units) in a page."""

    @property
    def dies(self) -> int:
        """Dies in the drive."""
        return self.planes // self.planes_per_die

    @property
    def dies_per_channel(self) -> int:
        """Dies on a channel; die ``d`` is on channel ``d // dies_per_channel``, package by package."""
        return self.packages_per_channel * self.dies_per_package


class Policy:
    """Common base of policies; derive from one of the families."""

    family: ClassVar[str]
    """The family; also its section in a drive file."""
    name: ClassVar[str]
    """Its name, the value of ``policy``."""
    drive: Shape
    """The drive."""
    random: random.Random
    """Its random generator, the same in every run with the same seed."""


Place = int | tuple[Literal["channel", "die", "plane"], int] | None
"""Where a write may go: a plane by its number, a pair such as ``("die", 3)`` or ``("channel", 0)``; None: anywhere."""


class Placement(Policy):
    """Says where each write of the host may go.

    It does not place moved data: with ``collect.scope = "plane"`` they stay in their plane, with ``"drive"`` they go to
    any die, as the mapping table does. A policy that ties pages to dies or planes needs ``"plane"``, and should spread
    them evenly: a die filled beyond its share has no block left for the next write. A message ends the run then.
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


class Arbiter(Policy):
    """Selects the operation that a die serves next."""

    family = "arbiter"

    def choose(self, waiting: list[tuple[str, int]]) -> int:
        """The index in ``waiting`` of the operation to serve.

        Called when a die is free for an operation and at least two may be served; not when there is one alone.
        A running operation is not interrupted. An index beyond the list, or below 0, ends the run.

        :param waiting: the oldest operation of each class that the die could start now, in no order that means
            anything: its class, such as ``"host-read"``, ``"gc-write"`` or ``"gc-erase"`` (those of
            ``arbiter.order``), and its number in the order in which operations became ready, a smaller one being older.
            Writes of data and of the mapping table have the same name, but queues of their own: both may be listed.
        """
        raise NotImplementedError


class VictimView(NamedTuple):
    """The closed blocks of a domain (the drive or a plane): those that may be collected.

    The arrays have an entry for each block, ordered by valid logical pages, fewest first; among equals, the block that
    has had that count longest comes first. They are read-only, and never change afterwards.
    """

    domain: int
    """The domain, from 0 on."""
    units_per_block: int
    """Logical pages (mapping units) in a block."""
    units_per_page: int
    """Logical pages in a page: a block with fewer invalid ones frees no page and must not be chosen."""
    blocks: NDArray[numpy.int64]
    """Their numbers."""
    valid: NDArray[numpy.int64]
    """Their valid logical pages. Blocks of an SLC cache of fixed size count those that they lack for a full block, too:
    erasing them makes room in the cache alone."""
    erases: NDArray[numpy.int64]
    """P/E cycles of each."""
    age: NDArray[numpy.int64]
    """Pages programmed in the domain since a logical page of the block was last invalidated, or it was closed."""


class Victim(Policy):
    """Selects the victim block of garbage collection."""

    family = "victim"

    def choose(self, view: VictimView) -> int | None:
        """The number of the block to collect, one of ``view.blocks`` that frees a page; None for none now."""
        raise NotImplementedError

    def closed(self, block: int) -> None:
        """Called when a block is closed: it may be collected from now on. No cost unless overridden."""


class SpaceView(NamedTuple):
    """The free space of a domain (the drive or a plane)."""

    domain: int
    """The domain, from 0 on."""
    free: int
    """Its free blocks."""
    running: int
    """Its blocks being collected; each becomes free."""


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
        """True to collect another block now. Called with each page that is begun, and each erase."""
        raise NotImplementedError

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


class FreeBlock(Policy):
    """Selects the erased block of a plane to write next: the lowest rank; among equals, the lowest number."""

    family = "free_block"

    def rank(self, erases: int, order: int) -> int:
        """The rank of a block that becomes free, from 0 to 2**64 - 1, valid until the block is written.

        Called once for each block that becomes free, and for all blocks, plane by plane, when the drive is made. A
        drive that takes over the state of another, from a snapshot or by a fork with overrides, calls it again for free
        blocks.

        :param erases: P/E cycles of the block, this erase included.
        :param order: number of blocks that became free in its plane before; at first, the block's index in the plane.
        """
        raise NotImplementedError


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


class Upkeep(Policy):
    """Common base of the policies that choose blocks whose data a background task moves."""

    window_pages: Annotated[int, "Outstanding page moves per block, 1 to 65,535."] = 8
    opens_worn: Annotated[bool, "Moved data open the free block of a plane with the most P/E cycles."] = False

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
        there was no room to move another. One block is moved at a time: its valid data go elsewhere, and it is erased.
        A block that may not be moved ends the run. So does a policy that goes on for ever: that chooses twice as many
        blocks as the drive has while the host writes and reads nothing.
        """
        raise NotImplementedError


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


class Mapping(Policy):
    """Selects the map unit (a part of the mapping table) that leaves the map cache.

    All else is as with ``mapping.policy = "cached"``, whose options it has besides its own: the table lies in flash,
    memory holds some of its map units, and one that leaves is written first if it has changed.
    """

    family = "mapping"
    shown_units: Annotated[int, "Map units that it is shown, those whose use is the longest ago; at least 1."] = 64

    def evict(self, oldest: list[tuple[int, bool]], coming: int) -> int:
        """The number of the map unit that leaves. Called when memory is full and gets another one.

        A map unit that memory does not hold ends the run; one that is not shown may leave, too.

        :param oldest: the map units that were used the longest ago, ``shown_units`` at most, the oldest use first; with
            each, whether it has changed, so that it must be written.
        :param coming: the map unit that comes.
        """
        raise NotImplementedError

    def used(self, map_unit: int) -> None:
        """Called when memory gets a map unit, and with each use of one that it holds. No cost unless overridden.

        A drive that takes over the state of another, from a snapshot or by a fork with overrides, calls it for each map
        unit that memory holds, the oldest use first.
        """


class StageView(NamedTuple):
    """Operations that wait in the commit stage, and the load of tasks."""

    staged: list[tuple[str, int, int | None]]
    """The oldest operation of each queue (a class and a place), in no order that means anything: its class, such as
    ``"host-read"``; its number in the order in which operations became ready; and the die that it goes to, which has
    room for it, or None if it has to wait."""
    outstanding: dict[str, int]
    """By task, such as ``"host"`` or ``"gc"``: pages and blocks sent to dies that have not ended."""
    times: tuple[int, int, int]
    """Nominal times in the array of a page read, a page program and a block erase, in picoseconds."""
    shares: dict[str, float] | None
    """By task: its share in percent, as ``shares.policy`` sets it. None unless the policy takes shares."""


class Dispatch(Policy):
    """Selects the operation to send to its die next. Until then, operations wait in the commit stage, in queues.

    Requests are served in the order of arrival, as many as the queues of the drive hold.
    """

    family = "dispatch"
    depth: Annotated[int, "Operations that a die holds at most, the running one included, 1 to 65,535."] = 4
    sees_all: ClassVar[bool] = False
    """True to see the oldest operation of each queue, also of those whose dies have no room: it takes longer."""
    takes_shares: ClassVar[bool] = False
    """True to see the shares of tasks. Otherwise the drive refuses them."""

    def next(self, view: StageView) -> int | None:
        """The index in ``view.staged`` of the operation to send, one with a die; None for none now.

        Called when an operation comes or a die gets room, again and again until it answers None or nothing can go. An
        operation that comes while nothing else can go is shown alone; it goes straight to its die if it is chosen. An
        index beyond the list, or of an operation without die, ends the run. If None leaves the drive with nothing to do
        while operations wait, the run ends as well.
        """
        raise NotImplementedError


class Shares(Policy):
    """Controls the shares of background tasks, for the dispatch policies that take shares; the host has the rest."""

    family = "shares"
    interval_ms: Annotated[float, "Time between two calls in milliseconds, 0.001 to 1,000,000."] = 1.0

    def control(self, errors: dict[str, float]) -> dict[str, float]:
        """The shares from now on, in percent by background task: each above 0, together below 100.

        A task that is left out keeps its share, at first 10. Called when the drive is built, with errors of 0, and then
        at every interval while operations are under way. After a rest, calls follow for the time of the rest until an
        answer changes nothing. Any other answer ends the run.

        :param errors: by background task, such as ``"gc"``: how far the state that it keeps is from its target, as a
            part of the target. Of GC the free blocks missing to those at which it starts, of read scrubbing the most
            reads of a block beyond those at which it starts (kim18, equations 2 and 3). 0 or more.
        """
        raise NotImplementedError


class Running(NamedTuple):
    """A running program or erase, for which a read of the host waits."""

    erase: bool
    """True for an erase."""
    left_us: float
    """Its remaining time, in microseconds."""
    suspensions: int
    """How often it was suspended before."""


class Suspend(Policy):
    """Says which programs and erases are suspended for reads of the host."""

    family = "suspend"

    def suspends(self, running: Running) -> bool:
        """True to suspend the command. Called when a read comes to its die, and after each read that it waited for."""
        raise NotImplementedError


class Processor(Policy):
    """Says how long the firmware computes before an operation goes to its die. Each task has a processor of its own."""

    family = "processor"

    def time_us(self, work: Literal["look-up", "generate"], task: str) -> float:
        """The time of a piece of work, in microseconds from 0 to 1e9.

        :param work: ``"look-up"`` of a logical page of the host, or ``"generate"``, of a flash operation.
        :param task: whose work it is, such as ``"host"`` or ``"gc"``.
        """
        raise NotImplementedError


class _Seat:
    """The engine's interface to a policy whose method takes what the engine tells."""

    closed = None

    def __init__(self, policy: Policy, method: str) -> None:
        self.policy, self.method = policy, method
        self.decide = getattr(policy, method)
        self.interval_ms = getattr(policy, "interval_ms", None)

    def fork(self) -> _Seat:
        """A copy with its own policy, in the same state."""
        return _Seat(copy.deepcopy(self.policy), self.method)


class _VictimSeat:
    """The engine's interface to a victim policy."""

    def __init__(self, policy: Victim) -> None:
        import numpy

        self.policy = policy
        self.closed = policy.closed if type(policy).closed is not Victim.closed else None
        shape, choose, frombuffer, int64 = policy.drive, policy.choose, numpy.frombuffer, numpy.int64
        units = shape.pages_per_block * shape.units_per_page

        def decide(memory: bytes, count: int, domain: int) -> int | None:
            columns = frombuffer(memory, int64).reshape(4, count)
            return choose(VictimView(domain, units, shape.units_per_page, *columns))

        self.decide = decide

    def fork(self) -> _VictimSeat:
        """A copy with its own policy, in the same state."""
        return _VictimSeat(copy.deepcopy(self.policy))


class _CollectSeat:
    """The engine's interface to a collect policy."""

    closed = None
    step: Callable[..., bool] | None = None
    place: Callable[..., object] | None = None

    def __init__(self, policy: Collect) -> None:
        self.policy = policy
        self.decide = lambda domain, free, running: policy.wants(SpaceView(domain, free, running))
        if type(policy).step is not Collect.step:
            ask = policy.step
            self.step = lambda numbers, host, *rest: ask(StepView(*numbers, *host, *rest))
        if type(policy).place is not Collect.place:
            where = policy.place
            self.place = lambda numbers, *rest: where(MoveView(*numbers, *rest))

    def fork(self) -> _CollectSeat:
        """A copy with its own policy, in the same state."""
        return _CollectSeat(copy.deepcopy(self.policy))


class _SuspendSeat:
    """The engine's interface to a choice of the commands that reads suspend."""

    closed = None

    def __init__(self, policy: Suspend) -> None:
        self.policy = policy
        suspends = policy.suspends
        self.decide = lambda *told: suspends(Running(*told))

    def fork(self) -> _SuspendSeat:
        """A copy with its own policy, in the same state."""
        return _SuspendSeat(copy.deepcopy(self.policy))


class _MappingSeat:
    """The engine's interface to a choice of the map unit that leaves the cache."""

    def __init__(self, policy: Mapping) -> None:
        self.policy = policy
        self.decide = policy.evict
        self.closed = policy.used if type(policy).used is not Mapping.used else None

    def fork(self) -> _MappingSeat:
        """A copy with its own policy, in the same state."""
        return _MappingSeat(copy.deepcopy(self.policy))


class _UpkeepSeat:
    """The engine's interface to a policy of a background task."""

    closed = None

    def __init__(self, policy: Upkeep) -> None:
        import numpy

        self.policy = policy
        self.after_reads, self.after_rest = policy.after_reads(), policy.after_rest()
        next_, frombuffer, int64, truth = policy.next, numpy.frombuffer, numpy.int64, numpy.bool_
        units = policy.drive.pages_per_block * policy.drive.units_per_page

        def decide(memory: bytes, count: int, written: int, reads: int, rests: bool, left: int) -> int | None:
            numbers = frombuffer(memory, int64, 4 * count).reshape(4, count)
            truths = frombuffer(memory, truth, 4 * count, 32 * count).reshape(4, count)
            return next_(UpkeepView(units, written, reads, *numbers, *truths, rests, left))

        self.decide = decide

    def fork(self) -> _UpkeepSeat:
        """A copy with its own policy, in the same state."""
        return _UpkeepSeat(copy.deepcopy(self.policy))


class _DispatchSeat:
    """The engine's interface to a dispatch policy."""

    closed = None

    def __init__(self, policy: Dispatch) -> None:
        self.policy = policy
        self.sees_all, self.takes_shares = policy.sees_all, policy.takes_shares
        next_ = policy.next
        self.decide = lambda *told: next_(StageView(*told))

    def fork(self) -> _DispatchSeat:
        """A copy with its own policy, in the same state."""
        return _DispatchSeat(copy.deepcopy(self.policy))


class _Family(NamedTuple):
    """Description of a family."""

    base: type[Policy]
    method: str
    seat: Callable[[Any], object]
    built_on: str | None
    """The built-in policy whose options its policies take besides their own."""


def _simple(base: type[Policy], method: str) -> _Family:
    return _Family(base, method, lambda policy: _Seat(policy, method), None)


FAMILIES = {
    "placement": _simple(Placement, "place"),
    "victim": _Family(Victim, "choose", _VictimSeat, None),
    "collect": _Family(Collect, "wants", _CollectSeat, "on-demand"),
    "free_block": _simple(FreeBlock, "rank"),
    "arbiter": _simple(Arbiter, "choose"),
    "dispatch": _Family(Dispatch, "next", _DispatchSeat, None),
    "mapping": _Family(Mapping, "evict", _MappingSeat, "cached"),
    "refresh": _Family(Refresh, "next", _UpkeepSeat, None),
    "wear": _Family(Wear, "next", _UpkeepSeat, None),
    "fold": _Family(Fold, "next", _UpkeepSeat, None),
    "shares": _simple(Shares, "control"),
    "suspend": _Family(Suspend, "suspends", _SuspendSeat, None),
    "processor": _simple(Processor, "time_us"),
}
"""The families that take policies in Python. A new one needs a line here and its classes above."""


def bases() -> str:
    """The classes that a policy may derive from, in words."""
    *others, last = (f"wordline.policy.{family.base.__name__}" for family in FAMILIES.values())
    return f"{', '.join(others)} or {last}"


def described(policy: type[Policy]) -> dict[str, Any]:
    """The description of a policy for the engine: ``family``, ``name``, ``summary``, and ``options`` as JSON schemas.

    :raises TypeError: if the policy is unusable; the message says why.
    """
    if not (isinstance(policy, type) and issubclass(policy, Policy)):
        raise TypeError(f"{policy!r} is not a policy class; derive it from {bases()}")
    title = f"the policy class {policy.__qualname__}"
    family = FAMILIES.get(getattr(policy, "family", ""))
    if family is None or not issubclass(policy, family.base):
        raise TypeError(f"{title} has no family; derive it from {bases()}")
    name = getattr(policy, "name", None)
    if not isinstance(name, str) or not name:
        raise TypeError(f'{title} has no name; write, for example: name = "{policy.__name__.lower()}"')
    if getattr(policy, family.method) is getattr(family.base, family.method):
        raise TypeError(f"{title} has no decision; write its method '{family.method}'")
    taken = {"policy", *_options_of(policy.family, family.built_on)}
    given = _options(family.base)
    options = {}
    for key, hint in _options(policy).items():
        # The options of its family keep their types, since the engine reads them.
        is_free = _plain(hint) is _plain(given[key]) if key in given else not hasattr(family.base, key)
        if key in taken or not is_free:
            raise TypeError(f"{title}: an option cannot be called '{key}', which is already in use")
        options[key] = _schema(f"{title}: the option '{key}'", hint, getattr(policy, key, ...))
    doc = (policy.__doc__ or "").strip().split("\n\n", 1)[0]
    return {"family": policy.family, "name": name, "summary": " ".join(doc.split()).rstrip("."), "options": options}


def given(policies: Iterable[type[Policy]]) -> list[tuple[str, Callable[[str, str], object]]]:
    """Policies for the engine: a description, and a function that makes one from options and drive shape."""
    if isinstance(policies, type):
        raise TypeError(f"policies is a list of classes; write policies=[{policies.__name__}]")
    return [(json.dumps(described(policy)), _maker(policy)) for policy in policies]


def _maker(policy: type[Policy]) -> Callable[[str, str], object]:
    hints = _options(policy)

    def make(options: str, shape: str) -> object:
        made = policy.__new__(policy)
        for key, value in json.loads(options).items():
            # A float option may be given as a whole number.
            setattr(made, key, float(value) if _plain(hints.get(key)) is float else value)
        made.drive = Shape(**json.loads(shape))
        made.random = random.Random(f"{made.drive.seed} {policy.family} {policy.name}")
        made.__init__()  # type: ignore[misc]
        return FAMILIES[policy.family].seat(made)

    return make


def _options(policy: type[Policy]) -> dict[str, Any]:
    """The annotated attributes of a class and its bases up to that of its family, with their types."""
    own: list[str] = []
    for base in reversed(policy.__mro__):
        if base is not Policy:
            own += [key for key in vars(base).get("__annotations__", {}) if not key.startswith("_")]
    hints = typing.get_type_hints(policy, include_extras=True) if own else {}
    return {key: hints[key] for key in own if key != "name" and typing.get_origin(hints[key]) is not ClassVar}


def _plain(hint: object) -> object:
    """A type without its ``Annotated`` notes."""
    return typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint


def _schema(title: str, hint: object, default: object) -> dict[str, Any]:
    """The JSON schema of an option. ``...`` means no default."""
    plain, notes = _plain(hint), [note for note in typing.get_args(hint)[1:] if isinstance(note, str)]
    words = typing.get_args(plain)
    if typing.get_origin(plain) is Literal and all(isinstance(word, str) for word in words):
        schema: dict[str, Any] = {"type": "string", "enum": list(words)}
        fits = default in words
    elif isinstance(plain, type) and plain in KINDS:
        schema = {"type": KINDS[plain]}
        fits = type(default) is plain or (plain is float and type(default) is int)
    else:
        raise TypeError(
            f"{title} is of type {plain}; options are of type bool, int, float, str, or a Literal of strings"
        )
    if default is not ...:
        if not fits:
            raise TypeError(f"{title} has the default {default!r}, which is not of its type")
        schema["default"] = float(default) if plain is float else default  # type: ignore[arg-type]
    return {**schema, "description": " ".join(notes)}


def _options_of(family: str, name: str | None) -> Iterator[str]:
    """The options of a built-in policy."""
    from wordline import _core

    for policy in json.loads(_core.policies()) if name else ():
        if (policy["family"], policy["name"]) == (family, name):
            yield from (option["key"].rpartition(".")[2] for option in policy["options"])
