"""Families that decide about operations and time: their order, their company, and the host interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

from wordline.policy.base import Policy

if TYPE_CHECKING:
    from fractions import Fraction


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


class Pack(Policy):
    """Says which operations share a multi-plane command, and which follow each other in cache mode.

    Which operations fit together is the rule of ``pack.policy = "planes"``: those of one kind and page offset in
    different planes of a die.
    """

    family = "pack"
    window: Annotated[int, "Operations of each other plane's queue searched for a partner, 0 to 64; 0: none."] = 8
    gather: Annotated[
        bool, "Pages that background tasks move to any die wait until they fill a program of all planes of a die."
    ] = False
    cache: Annotated[bool, "Commands follow each other in cache mode; not with the method joins."] = False
    passes: Annotated[
        int, "Cache mode: followers in a row before an older operation for other planes of the die, 0 to 65,535."
    ] = 16

    def joins(self, lead: str, other: str) -> bool:
        """True if an operation of one task may share a command that another task leads. No cost unless overridden.

        Called while a command for a page of a die with several planes is put together, once for each other task. The
        oldest operations that fit come along.

        :param lead: the class of the operation that leads, such as ``"gc-read"`` or ``"host-write"``.
        :param other: the class of the same kind of another task.
        """
        return False


class Transfer(NamedTuple):
    """The time of data on the host interface: a fixed time, and all bytes, those of packets too, at the line rate."""

    mb_per_s: float | Fraction
    """Line rate after coding, in bytes per microsecond (MB/s), 1 to 10,000,000; a ``Fraction`` is taken as it is."""
    fixed_us: float = 0.0
    """Fixed time, in microseconds, 0 to 1,000,000."""
    packet_bytes: int = 4096
    """Data bytes in a packet, 1 to 2**24."""
    packet_overhead: int = 0
    """Bytes around the data of each packet, 0 to ``packet_bytes``."""


class LinkCosts(NamedTuple):
    """Transfer times of a host interface."""

    data_in: Transfer
    """Data from the host."""
    data_out: Transfer
    """Data to the host."""
    command_us: float = 0.0
    """Time of a command on the interface, in microseconds, 0 to 1,000,000."""
    latency_us: float = 0.0
    """Time from the command on the interface until it is fetched; the interface is free meanwhile. The same range."""
    completion_us: float = 0.0
    """Time of a completion on the interface. The same range."""
    half_duplex: bool = False
    """True for one direction at a time."""
    most_queues: int = 65_535
    """Queues of the protocol, at most: 1 to 65,535."""
    most_depth: int = 65_535
    """Queue depth of the protocol, at most: 1 to 65,535."""
    usual_depth: int = 32
    """Queue depth if ``queue.depth`` gives none: 1 to ``most_depth``."""


class Link(Policy):
    """Says how long commands and data take between host and drive."""

    family = "link"

    def costs(self) -> LinkCosts:
        """The transfer times. Asked once, when the drive is built; any other answer is refused then."""
        raise NotImplementedError


class Buffer(Policy):
    """Says how large the write buffer is, which works as ``buffer.policy = "fifo"`` does."""

    family = "buffer"

    def capacity_kib(self) -> int:
        """Its size in KiB: from four pages to 4,194,304, or 0 for none. Asked once, when the drive is built."""
        raise NotImplementedError
