"""Families that decide about operations and time: their order, their company, and the host interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

from wordline.policy.base import Policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from fractions import Fraction

    import numpy
    from numpy.typing import NDArray


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

    def learn(self, read_us: float, program_us: float, erase_us: float) -> None:
        """Called once with the nominal times in the array of a page read, a page program and a block erase, in
        microseconds, when the drive is built; only if the policy has :meth:`choose_in_time`."""

    def choose_in_time(self, waiting: list[tuple[str, int]], waited_us: list[float]) -> int:
        """As :meth:`choose`, with how long each operation has waited. No cost unless overridden, and called instead.

        :param waiting: as that of :meth:`choose`.
        :param waited_us: of each of these operations, the time since it became ready, in microseconds.
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
    dues: list[tuple[int, int]] | None = None
    """Of each operation in ``staged``: the time left until its deadline in picoseconds, less than 0 from then on, and
    how many page reads, page programs or erases its queue has for its die, it included. Empty for an operation that is
    shown alone. None unless the policy has :meth:`Dispatch.deadlines`."""


class Deadlines(NamedTuple):
    """Deadlines of requests, from the arrival at the host queue to the completion, in microseconds: 1 to 60,000,000."""

    read_us: float | None = None
    """Of reads; None for none."""
    write_us: float | None = None
    """Of writes; None for none. Those in the write buffer, which the host does not wait for, have it from their coming
    there."""
    flush_us: float | None = None
    """Of flushes, and so of the buffered writes before them; None for none."""
    background_us: float = 10_000.0
    """Of operations of GC and of other background tasks, from when they could begin."""
    by_stream_us: Mapping[int, float] = {}
    """Of all requests of some streams whose kind has a deadline, instead of it, by the number of the stream."""
    avoids_gc: bool = False
    """True if writes that may go to several dies go to one that does not collect, if any has room."""


class DeviceQueue(NamedTuple):
    """A device queue, in which operations of the host wait by physical address.

    A die has one command of them at a time. Operations of other tasks go to their dies at once.
    """

    in_order: bool = False
    """True if reads and writes go in the order of coming, and one that cannot go holds up all behind it. Otherwise
    writes go at once, and reads when their die is free, in the order of :meth:`Dispatch.rank`."""
    by_package: bool = False
    """True if a package serves one read of the host at a time, not one for each of its dies. Not in order."""
    packs_across: bool = False
    """True if operations of any request share a multi-plane command, not only those of the one that leads it."""
    decision_us: float = 0.0
    """Time that it takes to decide on a command, in microseconds, 0 to 1,000."""
    bound_us: float | None = None
    """How long reads may wait before they are overdue, in microseconds, to 10,000,000; None: they never are. Not in
    order."""


class AtOnce(NamedTuple):
    """Operations that go to their dies at once, as soon as they come: there is no commit stage.

    Without any of these, each goes by itself, and waits in the queues of its die, as with ``fifo``.
    """

    transactions: Literal["package", "die"] | None = None
    """Operations of the host go in transactions, each of which takes a package or a die for itself until it ends, in
    the order of coming, as with ``in-order``, or as :meth:`Dispatch.next_transaction` chooses. Writes must have a plane
    when they come."""
    waits_for_bus: bool | None = None
    """With transactions: True, or None, if one waits while the bus of its channel is in use; False if it waits for the
    bus in its package, and does not hold up others."""
    requests: Literal["first-come", "reads-first", "chosen"] | None = None
    """A die serves one request of the host at a time: the first that came, or reads before writes, as with
    ``one-request``, or the one that :meth:`Dispatch.next_request` chooses. Writes must have a plane when they come."""


class WaitingRequest(NamedTuple):
    """What a request of the host has for a die that serves one at a time."""

    request: int
    """Its number among those in service: the same in each die for which it has something, and used again later."""
    writes: bool
    """True if it writes."""
    operations: int
    """Its operations that wait there, with the reads of old data that a write needs."""
    sequence: int
    """The number of the oldest of them in the order in which operations became ready."""
    waited_us: float
    """How long that has waited, in microseconds."""


class WaitingTransaction(NamedTuple):
    """A package, or a die if transactions take only that, for which operations of the host wait."""

    place: int
    """Its number: packages and dies are counted channel by channel."""
    free: bool
    """True if no transaction is under way there."""
    bus_us: float
    """How long the bus of its channel is still in use, in microseconds; 0 if transactions do not wait for it."""
    writes: bool
    """True if the oldest operation that waits there, which leads the next transaction unless the policy chooses, is a
    write."""
    operations: int
    """How many operations wait there."""
    sequence: int
    """The number of the oldest of them in the order in which operations became ready."""
    waited_us: float
    """How long that has waited, in microseconds."""

    @property
    def can_go(self) -> bool:
        """True if its next transaction can go now."""
        return self.free and self.bus_us == 0


class WaitingOperation(NamedTuple):
    """An operation of the host that waits for its transaction."""

    writes: bool
    """True for a program, False for a read."""
    plane: int
    """Its plane."""
    page: int | None
    """The page of a block that it reads. Of a program, the page that the next one of its plane gets; None if there is
    no room now."""
    request: int | None
    """A number of its request, used again when it has ended; None for reads of the mapping table."""
    before: int
    """How many operations of its kind wait for its plane and came before it."""
    sequence: int
    """Its number in the order in which operations became ready."""
    waited_us: float
    """How long it has waited, in microseconds."""


class Dispatch(Policy):
    """Selects the operation to send to its die next. Until then, operations wait in the commit stage, in queues.

    A policy needs :meth:`next`, :meth:`device_queue` or :meth:`at_once`. Requests are served in the order of arrival,
    as many as the queues of the drive hold, unless it has :meth:`admits`.
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
        raise NotImplementedError("without a device queue, operations are chosen: write the method 'next'")

    def deadlines(self) -> Deadlines | None:
        """Deadlines of requests; None for none. Asked once, when the drive is built.

        With some, ``view.dues`` tells how urgent operations are, an operation that is chosen takes others along that
        may share its multi-plane command, and the result counts requests that missed their deadlines. Any other answer
        is refused.
        """
        return None

    def device_queue(self) -> DeviceQueue | None:
        """A device queue for operations of the host; None for none. Asked once, when the drive is built.

        With one, :meth:`next` is not called; ``depth``, ``sees_all``, ``takes_shares`` and deadlines have no effect,
        and are refused. So is any other answer.
        """
        return None

    def at_once(self) -> AtOnce | None:
        """How operations go to their dies without a commit stage; None: they wait in it. Asked once, when the drive is
        built.

        With it, :meth:`next` is not called; ``depth``, ``sees_all``, ``takes_shares`` and deadlines have no effect, and
        are refused. So is any other answer. :meth:`admits` is called as with others.
        """
        return None

    def next_request(self, die: int, waiting: list[WaitingRequest]) -> int:
        """The index in ``waiting`` of the request that a die serves next. Needed with ``AtOnce(requests="chosen")``.

        Called when the die is done with a request and others wait there, or one comes to it; not while another one is
        served. All that the request has for the die goes. Whatever is chosen, what needs an older write of the same
        logical page waits until that has its place. An index beyond the list, or below 0, ends the run.

        :param die: the die, from 0 on.
        :param waiting: the requests that wait for it, at least one, in the order in which their operations became
            ready.
        """
        raise NotImplementedError('with AtOnce(requests="chosen"), write the method "next_request"')

    def next_transaction(self, waiting: list[WaitingTransaction]) -> int | None:
        """The index in ``waiting`` of the package or die whose next transaction goes; None for none now. No cost unless
        overridden: then they go in the order of coming. It needs ``AtOnce(transactions=...)``.

        Called whenever an operation comes, a transaction ends, or a bus becomes free for one, if any can go; again and
        again until it answers None or none can go. What leads there, and what joins, is the rule of ``in-order``, or
        that of :meth:`leads` and :meth:`joins`. Whatever is chosen, a write waits until older writes of the same
        logical page have their places; a read may pass them, as with ``in-order``. An index beyond the list, or of one
        that cannot go, ends the run. If None leaves the drive with nothing to do while operations wait, the run ends as
        well.

        :param waiting: all places for which operations wait, in the order of the oldest operation of each.
        """
        return 0

    def leads(self, place: int, waiting: list[WaitingOperation]) -> int:
        """The index in ``waiting`` of the operation that leads the next transaction of a package or die. No cost unless
        overridden: then the oldest leads. It needs ``AtOnce(transactions=...)``.

        Called when the place has its turn and at least two operations wait there. The transaction has operations of the
        same kind. Whatever is chosen, a write waits until older writes of the same logical page have their places; a
        read may pass them, as with ``in-order``. An index beyond the list, or below 0, ends the run.

        :param place: the package or die, from 0 on.
        :param waiting: all operations that wait for it, in the order in which they became ready.
        """
        return 0

    def joins(self, chosen: list[WaitingOperation], waiting: list[WaitingOperation]) -> int | None:
        """The index in ``waiting`` of the operation that joins a transaction next; None if nothing else does. No cost
        unless overridden: then the oldest that can join do, of each plane from the oldest ``pack.window`` reads, or the
        oldest program alone. It needs ``AtOnce(transactions=...)``.

        Called when a transaction is put together, again and again until it answers None or nothing else can join. An
        index beyond the list, or below 0, ends the run.

        :param chosen: what the transaction has; the first leads.
        :param waiting: the operations that can join, at least one, in the order in which they became ready: of the same
            kind, for planes of the package or die that it does not use yet, and in a die that it uses only with the
            same page, for one multi-plane command. ``pack.policy`` has to allow that, too. Programs that fill
            the page of one that was chosen come along by themselves.
        """
        return None

    def rank(self, conflict: Literal["none", "channel", "package", "die"], overdue: bool) -> int:
        """The rank of a read in the device queue that can go, 0 to 255: the lowest goes first, of equals the oldest.

        Called for each die that has room and reads that wait, about the oldest of them, whenever the queue is looked
        at; not if the queue goes in order. Without it all are equal.

        :param conflict: what it has to share with others that wait: its die, or else its package, its channel, or none.
        :param overdue: True if it has waited for longer than ``bound_us``.
        """
        return 0

    def admits(self, in_service: int) -> bool:
        """True if the oldest queued request is taken up now. No cost unless overridden: then all are.

        Called when a request comes and none is before it, when one has ended, and after each True as long as others are
        queued. Not called while none is in service: then it is taken up.

        :param in_service: requests that were taken up and have not ended; at least 1.
        """
        return True


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


class PackedOperation(NamedTuple):
    """An operation that a multi-plane command has, or could take along."""

    kind: str
    """Its class, such as ``"host-read"``, ``"gc-write"`` or ``"gc-erase"``."""
    plane: int
    """Its plane."""
    page: int | None
    """Its page of a block; None for an erase."""
    request: int | None
    """Of an operation of the host, a number of its request, used again when it has ended. None for other tasks, and for
    reads of the mapping table."""
    sequence: int
    """Its number in the order in which operations became ready."""
    waited_us: float
    """How long it has waited, in microseconds."""


class Follower(NamedTuple):
    """An operation that could lead the command which follows another in cache mode."""

    kind: str
    """Its class, such as ``"host-read"`` or ``"gc-write"``."""
    plane: int
    """Its plane."""
    page: int
    """Its page of a block."""
    request: int | None
    """As that of a :class:`PackedOperation`."""
    sequence: int
    """Its number in the order in which operations became ready."""
    waited_us: float
    """How long it has waited, in microseconds."""
    before: int
    """How many operations of its class wait for its plane and came before it; 0 for a program."""


class Pack(Policy):
    """Says which operations share a multi-plane command, and which follow each other in cache mode.

    Without :meth:`fits` that is the rule of ``pack.policy = "planes"``: those of one kind and page offset in different
    planes of a die. The method may refuse some of these; more than them the NAND cannot do. What follows a command in
    cache mode has its class and its planes: the oldest that can, or what :meth:`follows` chooses.
    Reads of another task may follow if :meth:`crosses` lets them.
    """

    family = "pack"
    window: Annotated[int, "Operations of each other plane's queue searched for a partner, 0 to 64; 0: none."] = 8
    gather: Annotated[
        bool, "Pages that background tasks move to any die wait until they fill a program of all planes of a die."
    ] = False
    cache: Annotated[bool, "Commands follow each other in cache mode."] = False
    passes: Annotated[
        int, "Cache mode: followers in a row before an older operation for other planes of the die, 0 to 65,535."
    ] = 16

    def joins(self, lead: str, other: str) -> bool:
        """True if an operation of one task may share a command that another task leads. No cost unless overridden.

        Called while a command for a page of a die with several planes is put together, once for each other task. The
        oldest operations that fit come along. In cache mode a read of two tasks is followed by one with reads of the
        same task in each plane, without another question; a program of two tasks is followed by none.

        :param lead: the class of the operation that leads, such as ``"gc-read"`` or ``"host-write"``.
        :param other: the class of the same kind of another task.
        """
        return False

    def fits(self, command: list[PackedOperation], other: PackedOperation) -> bool:
        """True if an operation joins a command, False if it waits for another one. No cost unless overridden.

        Called with each operation that the NAND lets join, also while the drive is filled: in each other plane with the
        oldest ``window`` reads until one joins, or the program or erase whose turn it is. Of other tasks there are only
        those that :meth:`joins` lets in. It is called, too, where operations are sent to their die together: from a
        device queue, with deadlines, or in transactions. There, writes that may go to several planes go along without a
        question, as many as a command could have, and the question comes when they have their planes. A page that GC
        moves by copyback counts as a read. In cache mode it is called about the partners in a command that follows,
        too: if a plane of the command before has none left, nothing follows. The counts of views that tell which
        operations could share a command, such as ``VictimView.aligned_reads``, know nothing of it.

        :param command: what the command has so far; the first leads.
        :param other: an operation of the same kind for another plane of the die, with the same page.
        """
        return True

    def follows(self, command: list[PackedOperation], waiting: list[Follower]) -> int | None:
        """The index in ``waiting`` of the operation that leads what follows a command in cache mode; None if nothing
        does, which ends the sequence. No cost unless overridden: then the oldest of its plane follows, if it can. It
        needs ``cache``.

        Called when a register of the die is free, if something can follow. Of a program it is also called when the
        command before it starts, which is a plain one after None: the last program of a sequence is. An index beyond
        the list, or below 0, ends the run.

        :param command: the command before.
        :param waiting: the operations that can lead, at least one, in the order in which they became ready. All are
            of one class and for one plane, and each of the other planes has at least one that can come along; which
            do, :meth:`fits` may choose. Of reads there are those of the ``window`` oldest that can (with 0 the oldest
            alone), of programs the next one alone. There are none if the oldest read must be looked up again.
        """
        return 0

    def crosses(self, before: str, other: str) -> bool:
        """True if reads of another task may follow a read in cache mode; False if the sequence ends. No cost unless
        overridden. It needs ``cache``.

        Called when a register of the die is free, if the next operation that the die serves is a read of another task,
        and that task has reads waiting for all planes of the command; :meth:`follows` and :meth:`fits` are called after
        a True. From there on the die works for the other task, and its time counts as that task's. Of programs none of
        another task follows.

        :param before: the class of the reads before, such as ``"gc-read"``; of a read of two tasks the one that leads.
        :param other: the class of the reads that would follow.
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


class TransferView(NamedTuple):
    """A transfer on the host interface, before it begins."""

    what: Literal["command", "data-in", "data-out", "completion"]
    """What is transferred: a command, data from the host (``"data-in"``), data to it, or a completion."""
    bytes: int
    """Bytes of data; 0 of a command or a completion. A read's data may come in parts."""
    usual_us: float
    """Its time by :meth:`Link.costs`, in microseconds."""
    idle_us: float
    """How long nothing has used the interface in its direction, in microseconds; 0 if something does, behind which it
    waits."""
    time_us: float
    """Simulated time, in microseconds: when it can begin, if nothing is before it."""


class Link(Policy):
    """Says how long commands and data take between host and drive: by fixed costs, or each transfer by itself."""

    family = "link"

    def costs(self) -> LinkCosts:
        """The transfer times. Asked once, when the drive is built; any other answer is refused then."""
        raise NotImplementedError

    def transfer_us(self, view: TransferView) -> float:
        """The time that a transfer takes, in microseconds from 0 to 1,000,000. No cost unless overridden: then it is
        ``view.usual_us``.

        Called with each command, with the data of each write and each read, and with each completion, in the order in
        which they take the interface; not while a drive is filled, nor without time (``wordline replay``). The time of
        ``latency_us`` comes on top of a command. Where the result divides the latency of requests, what a transfer
        takes beyond its usual time counts as waiting for the interface. Any other answer ends the run.
        """
        return view.usual_us


class BufferView(NamedTuple):
    """The write buffer, as the policy sees it that chooses what leaves. Sizes are in logical pages (mapping units)."""

    pages: NDArray[numpy.int64]
    """The logical pages that it keeps, in the order of their coming."""
    came: NDArray[numpy.int64]
    """Of each, the number of the write or read with which it came. Counted from 1 on, all together, are the writes of
    logical pages that come to the buffer and, if the policy has a method :meth:`Buffer.keeps_read`, the reads of those
    that it keeps."""
    written: NDArray[numpy.int64]
    """Of each, the number of the last write of it; 0 if it was only read."""
    read: NDArray[numpy.int64]
    """Of each, the number of the last read of it; 0 if there was none, and without :meth:`Buffer.keeps_read`."""
    whole: NDArray[numpy.bool_]
    """Of each, True if all its bytes are there; the old data of others are read when they leave."""
    clean: NDArray[numpy.bool_]
    """Of each, True if it was read from flash and not written since. It leaves at once, without a program."""
    room: int
    """Logical pages that it has room for."""
    leaving: int
    """Logical pages on their way to flash. They take room until they are there."""
    waits: bool
    """True if a write of the host waits for room."""
    comes: int | None
    """A logical page for which :meth:`Buffer.keeps_read` said True, though there is no room; else None. It is kept if
    clean pages leave now."""
    rested: bool
    """True if the host has rested as long as :meth:`Buffer.after_rest` says."""
    time_us: float
    """Simulated time, in microseconds."""


class Buffer(Policy):
    """Says how large the write buffer is, and may choose which logical pages it keeps and which leave it.

    Without :meth:`evict` it works as ``buffer.policy = "fifo"`` does: what the host writes goes on to the dies at once.
    With it, the buffer keeps logical pages until they are chosen: a write of one that it keeps replaces the older
    version, and reads are served from it. A flush, and the end of a run, send all of them to flash that are not there,
    a FUA write sends its own data, and a TRIM drops what it covers. With :meth:`keeps_read` it is a read cache, too.
    While a drive is filled, and without time, nothing is kept.
    """

    family = "buffer"

    def capacity_kib(self) -> int:
        """Its size in KiB: from four pages to 4,194,304, or 0 for none. Asked once, when the drive is built."""
        raise NotImplementedError

    def keeps(self, page: int) -> bool:
        """True if the buffer keeps a logical page until :meth:`evict` names it; False if it goes to its die at once, as
        with ``fifo``. No cost unless overridden: then all are kept.

        Called with each logical page that the host writes, unless the buffer keeps an older write of it already, or has
        one that waits for its die: then the older version is replaced where it is. Not called for FUA writes.

        :param page: the logical page (mapping unit).
        """
        return True

    def keeps_read(self, page: int) -> bool:
        """True if the buffer keeps a logical page that was read from flash until :meth:`evict` names it. No cost unless
        overridden: then none is kept.

        Called with each logical page that a read of the host covers as a whole, once it has come from flash, unless the
        page was written, trimmed or moved by the drive while it was read. What is kept is clean: reads are served from
        it, and it leaves without a program. It stays when garbage collection moves the page in flash, when the host
        flushes, and at the end of a run. A write of it takes its place, and of what is written in part no old data are
        read. If there is no room, :meth:`evict` is called after a True, with ``view.comes``; if that makes none at
        once, the page is not kept. Room that becomes free goes to writes first that wait for it.

        :param page: the logical page (mapping unit).
        """
        return False

    def after_rest(self) -> float | None:
        """Rest of the host in microseconds, 0 to 1e12, after which :meth:`evict` is called, too, once in each rest.
        None for none.

        Asked once, when the drive is built. The host rests while it has no request in the drive, unless the workload
        has ended.
        """
        return None

    def evict(self, view: BufferView) -> Iterable[int] | None:
        """The logical pages that leave now, of ``view.pages``, in this order; None for none. No cost unless overridden.

        Called while the buffer keeps any: after each write request of the host, or the part of it that found room,
        while one waits for room, whenever something has left, and when a page that was read finds no room. What leaves
        goes to its die as if the host had just written it, so that logical pages which leave together may share a flash
        page; where the host waits for room, what found no company goes alone once the oldest quarter of what is on its
        way has waited as long as the others. A clean page (``view.clean``) needs no die, and makes room at once.
        A logical page that the buffer does not keep, or one named twice, ends the run. So does an answer without any
        while a write waits, the buffer is full, and nothing is leaving.
        """
        return None
