"""The queues that come with Wordline, rewritten in Python: device queues, transactions, requests by die."""

from typing import Annotated, Literal

from wordline.policy import (
    AtOnce,
    DeviceQueue,
    Dispatch,
    StageView,
    WaitingOperation,
    WaitingRequest,
    WaitingTransaction,
)


class Vaq(Dispatch):
    """Requests in order: a page whose die is busy holds up all behind it."""

    name = "python-vaq"

    def device_queue(self) -> DeviceQueue:
        """In order."""
        return DeviceQueue(in_order=True)


class OutOfOrder(Dispatch):
    """Reads of the host go when their die is free, the oldest first."""

    name = "python-out-of-order"
    packing: Annotated[bool, "Reads of several requests share multi-plane commands."] = False

    def device_queue(self) -> DeviceQueue:
        """By physical address, without ranks."""
        return DeviceQueue(packs_across=self.packing)


class Paq(Dispatch):
    """Reads go in clumps of one a package, those with most conflicts first."""

    name = "python-paq"
    clumps: Annotated[bool, "Reads go in clumps; if not, in the order of coming."] = True
    packing: Annotated[bool, "Reads of several requests share multi-plane commands."] = True
    interleave: Annotated[bool, "A package takes a read for each of its dies, not one at a time."] = False
    decision_us: Annotated[float, "Time that the scheduler takes for each command."] = 0.0
    bound_us: Annotated[float, "Reads that have waited so long go before all others; 0: they do not."] = 0.0

    def device_queue(self) -> DeviceQueue:
        """By physical address, or in order."""
        if not self.clumps:
            return DeviceQueue(in_order=True, packs_across=self.packing, decision_us=self.decision_us)
        return DeviceQueue(False, not self.interleave, self.packing, self.decision_us, self.bound_us or None)

    def rank(self, conflict: Literal["none", "channel", "package", "die"], overdue: bool) -> int:
        """Overdue reads, then those that share most."""
        return 0 if overdue else 1 + ("die", "package", "channel", "none").index(conflict)


class Window(Dispatch):
    """No built-in policy: the operations in the order of becoming ready, of at most so many requests at a time."""

    name = "window"
    most: Annotated[int, "Requests in service."] = 8

    def admits(self, in_service: int) -> bool:
        """Below the limit."""
        return in_service < self.most

    def next(self, view: StageView) -> int | None:
        """The oldest operation that has a die."""
        goes = [(sequence, at) for at, (_, sequence, die) in enumerate(view.staged) if die is not None]
        return min(goes)[1] if goes else None


class Fifo(Dispatch):
    """Operations go to their dies at once, each by itself."""

    name = "python-fifo"

    def at_once(self) -> AtOnce:
        """Alone."""
        return AtOnce()


class InOrder(Dispatch):
    """Operations of the host go in transactions of a package or a die, in the order of coming."""

    name = "python-in-order"
    unit: Annotated[Literal["package", "die"], "What a transaction takes for itself."] = "package"
    wait_for_bus: Annotated[bool, "A transaction also waits while the bus of its channel is in use."] = True

    def at_once(self) -> AtOnce:
        """In transactions."""
        return AtOnce(transactions=self.unit, waits_for_bus=self.wait_for_bus)


class OneRequest(Dispatch):
    """A die serves one request of the host at a time."""

    name = "python-one-request"
    order: Annotated[Literal["first-come", "reads-first"], "The request that a die serves next."] = "first-come"

    def at_once(self) -> AtOnce:
        """By request."""
        return AtOnce(requests=self.order)


class ChosenTransaction(InOrder):
    """The same, chosen one by one; or, out of order, the oldest that can go."""

    name = "python-transactions"
    in_order: Annotated[bool, "One that cannot go holds up all behind it."] = True

    def next_transaction(self, waiting: list[WaitingTransaction]) -> int | None:
        """Those of ``waiting`` are in the order of coming."""
        if self.in_order:
            return 0 if waiting[0].can_go else None
        return next(at for at, one in enumerate(waiting) if one.can_go)


class ChosenOperations(InOrder):
    """Transactions in order, of which what leads and what joins is chosen operation by operation."""

    name = "python-operations"
    lead: Annotated[Literal["oldest", "reads-first"], "What leads: the oldest, or the oldest read."] = "oldest"
    window: Annotated[int, "Oldest reads of each plane among which those are that join, at least 1."] = 8
    across_requests: Annotated[bool, "Operations of other requests join."] = True

    def leads(self, place: int, waiting: list[WaitingOperation]) -> int:
        """Those of ``waiting`` are in the order of coming; with ``"oldest"`` as ``in-order``."""
        return 0 if self.lead == "oldest" else min(range(len(waiting)), key=lambda at: waiting[at].writes)

    def joins(self, chosen: list[WaitingOperation], waiting: list[WaitingOperation]) -> int | None:
        """The oldest one, if nothing of its kind is passed that writes in its plane."""
        for at, one in enumerate(waiting):
            is_near = one.before < (1 if one.writes else self.window)
            if is_near and (self.across_requests or one.request == chosen[0].request):
                return at
        return None


class ChosenRequest(Dispatch):
    """A die serves one request of the host at a time, chosen from those that wait there."""

    name = "python-requests"
    order: Annotated[
        Literal["first-come", "reads-first", "shortest"],
        "The request that a die serves next: the first, the oldest read before writes, or the one with the least work.",
    ] = "first-come"

    def at_once(self) -> AtOnce:
        """By request."""
        return AtOnce(requests="chosen")

    def next_request(self, die: int, waiting: list[WaitingRequest]) -> int:
        """Those of ``waiting`` are in the order of coming; of equals the first goes."""
        if self.order == "first-come":
            return 0
        if self.order == "reads-first":
            return min(range(len(waiting)), key=lambda at: waiting[at].writes)
        return min(range(len(waiting)), key=lambda at: (waiting[at].writes, waiting[at].operations))
