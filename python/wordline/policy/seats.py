"""What the engine calls: each policy has a seat, which turns what the engine tells into the views of its family."""

from __future__ import annotations

import copy
from collections.abc import Callable

from wordline.policy.base import Policy
from wordline.policy.commands import (
    Arbiter,
    Buffer,
    BufferView,
    Dispatch,
    Follower,
    Link,
    Pack,
    PackedOperation,
    Running,
    StageView,
    Suspend,
    TransferView,
    WaitingOperation,
    WaitingRequest,
    WaitingTransaction,
)
from wordline.policy.data import (
    CandidateView,
    Collect,
    FreeBlock,
    FreeView,
    IdleView,
    Mapping,
    MergeView,
    MoveView,
    Placement,
    Schedule,
    SequenceView,
    Slc,
    SlcView,
    SpaceView,
    StepView,
    Upkeep,
    UpkeepView,
    Victim,
    VictimView,
)
from wordline.policy.figures import told
from wordline.policy.redundancy import AroundView, Redundancy


class _Told:
    """What the engine asks of policies of all families."""

    policy: Policy

    def begin_measuring(self) -> None:
        """Measuring starts."""
        self.policy.begin_measuring()

    def figures(self) -> str:
        """Its figures, in JSON."""
        return told(self.policy)


class Seat(_Told):
    """The engine's interface to a policy whose method takes what the engine tells."""

    closed = None

    def __init__(self, policy: Policy, method: str) -> None:
        self.policy, self.method = policy, method
        self.decide = getattr(policy, method)
        self.interval_ms = getattr(policy, "interval_ms", None)

    def fork(self) -> Seat:
        """A copy with its own policy, in the same state."""
        return Seat(copy.deepcopy(self.policy), self.method)


class _FamilySeat(_Told):
    """The engine's interface to a policy of a family that has its own."""

    closed: Callable[..., object] | None = None

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def fork(self) -> _FamilySeat:
        """A copy with its own policy, in the same state."""
        return type(self)(copy.deepcopy(self.policy))


def _has(policy: Policy, base: type[Policy], method: str) -> bool:
    """True if a policy has a method of its own, in place of that of its family."""
    return getattr(type(policy), method) is not getattr(base, method)


class VictimSeat(_FamilySeat):
    """The engine's interface to a victim policy."""

    def __init__(self, policy: Victim) -> None:
        import numpy

        super().__init__(policy)
        self.closed = policy.closed if _has(policy, Victim, "closed") else None
        self.sees_reads = policy.sees_reads
        choose, frombuffer, int64 = policy.choose, numpy.frombuffer, numpy.int64
        columns = 5 if policy.sees_reads else 4

        def decide(memory: bytes, count: int, domain: int, units: int, gain: int) -> int | None:
            return choose(VictimView(domain, units, gain, *frombuffer(memory, int64).reshape(columns, count)))

        self.decide = decide


class CollectSeat(_FamilySeat):
    """The engine's interface to a collect policy."""

    takes: Callable[..., bool] | None = None
    idle_work: Callable[..., str | None] | None = None
    step: Callable[..., bool] | None = None
    place: Callable[..., object] | None = None

    def __init__(self, policy: Collect) -> None:
        super().__init__(policy)
        self.after_rest = policy.after_rest()
        self.decide = lambda domain, free, running, rested: policy.wants(SpaceView(domain, free, running, rested))
        if _has(policy, Collect, "takes"):
            take = policy.takes
            self.takes = lambda *told: take(CandidateView(*told))
        self.schedule = policy.schedule()
        if _has(policy, Collect, "idle_work"):
            work = policy.idle_work
            self.idle_work = lambda *told: work(IdleView(*told))
        elif isinstance(self.schedule, Schedule) and (self.schedule.ahead or self.schedule.delayed):
            # It would be needed in the midst of a run.
            policy.idle_work(IdleView(0, 0, False, None, None, False, None, False))
        if _has(policy, Collect, "step"):
            ask = policy.step
            self.step = lambda numbers, host, die, along: ask(StepView(*numbers, *host, *die, *along))
        if _has(policy, Collect, "place"):
            where = policy.place
            self.place = lambda numbers, *rest: where(MoveView(*numbers, *rest))


class PlacementSeat(_FamilySeat):
    """The engine's interface to a placement."""

    def __init__(self, policy: Placement) -> None:
        super().__init__(policy)
        pattern = policy.pattern()
        self.pattern = None if pattern is None else list(pattern)
        own = {method for method in ("place", "place_for", "begins", "passed_over") if _has(policy, Placement, method)}
        decisions = ["pattern"] * (pattern is not None) + sorted(own & {"place", "place_for"})
        if len(decisions) != 1:
            named = " and ".join(map(repr, decisions)) or "neither pattern nor method 'place' or 'place_for'"
            raise ValueError(f"it has {named}: one of them must decide")
        goes_with = {"begins": {"place_for"}, "passed_over": {"place", "place_for"}}
        for method in sorted(own & goes_with.keys()):
            if decisions[0] not in goes_with[method]:
                needed = " or ".join(map(repr, sorted(goes_with[method])))
                raise ValueError(f"its method {method!r} is never called without {needed}")
        self.decide = policy.place
        self.place_for = policy.place_for if "place_for" in own else None
        self.begins = policy.begins if "begins" in own else None
        self.passed_over = policy.passed_over if "passed_over" in own else None


class ArbiterSeat(_FamilySeat):
    """The engine's interface to an arbiter."""

    def __init__(self, policy: Arbiter) -> None:
        super().__init__(policy)
        self.decide, self.learn = policy.choose, policy.learn
        self.choose_in_time = policy.choose_in_time if _has(policy, Arbiter, "choose_in_time") else None


class SuspendSeat(_FamilySeat):
    """The engine's interface to a choice of the commands that reads suspend."""

    def __init__(self, policy: Suspend) -> None:
        super().__init__(policy)
        suspends = policy.suspends
        self.decide = lambda *told: suspends(Running(*told))


class MappingSeat(_FamilySeat):
    """The engine's interface to a mapping."""

    merge: Callable[..., int | None] | None = None
    starts_sequence: Callable[..., bool] | None = None

    def __init__(self, policy: Mapping) -> None:
        super().__init__(policy)
        self.scheme = policy.scheme()
        if _has(policy, Mapping, "starts_sequence"):
            if not getattr(self.scheme, "sequential", False):
                raise ValueError("its method 'starts_sequence' is never called without a scheme with sequential=True")
            starts = policy.starts_sequence
            self.starts_sequence = lambda *told: starts(SequenceView(*told))
        self.evicts = _has(policy, Mapping, "evict")
        if _has(policy, Mapping, "merge"):
            if getattr(self.scheme, "log_blocks", 0) == 0:
                raise ValueError("its method 'merge' is never called without a scheme that has log blocks")
            self._choose_merges(policy)
        if self.scheme is None and not _has(policy, Mapping, "evict"):
            # It would be needed in the midst of a run.
            policy.evict([], 0)
        self.decide = policy.evict
        self.closed = policy.used if _has(policy, Mapping, "used") else None

    def _choose_merges(self, policy: Mapping) -> None:
        import numpy

        merge, frombuffer, int64 = policy.merge, numpy.frombuffer, numpy.int64
        self.merge = lambda memory, count, domain: merge(
            MergeView(domain, *frombuffer(memory, int64).reshape(4, count))
        )


class UpkeepSeat(_FamilySeat):
    """The engine's interface to a policy of a background task."""

    erased: Callable[..., int | None] | None = None
    error: Callable[..., float] | None = None

    def __init__(self, policy: Upkeep) -> None:
        import numpy

        super().__init__(policy)
        self.after_reads, self.after_rest = policy.after_reads(), policy.after_rest()
        next_, frombuffer, int64, truth = policy.next, numpy.frombuffer, numpy.int64, numpy.bool_
        units = policy.drive.pages_per_block * policy.drive.units_per_page
        columns = 5 if policy.sees_ages else 4

        def view(
            memory: bytes,
            count: int,
            written: int,
            reads: int,
            rests: bool,
            left: tuple[int, ...],
            stays: bytes | None,
        ) -> UpkeepView:
            numbers = frombuffer(memory, int64, columns * count).reshape(columns, count)
            truths = frombuffer(memory, truth, 4 * count, 8 * columns * count).reshape(4, count)
            age = numbers[4] if columns > 4 else None
            places = None if stays is None else frombuffer(stays, int64)
            return UpkeepView(units, written, reads, *numbers[:4], *truths, rests, sum(left), left, age, places)

        self.decide = lambda *told: next_(view(*told))
        self.goes_with_logs = policy.goes_with_logs
        self.sees_ages, self.sees_stays = policy.sees_ages, policy.sees_stays
        if _has(policy, Upkeep, "erased"):
            erased = policy.erased
            self.erased = lambda block, task, told: erased(view(*told), block, task)
        if _has(policy, Upkeep, "error"):
            error = policy.error
            self.error = lambda *told: error(view(*told))


class FreeBlockSeat(_FamilySeat):
    """The engine's interface to a free-block policy."""

    choose: Callable[..., int | None] | None = None

    def __init__(self, policy: FreeBlock) -> None:
        import numpy

        super().__init__(policy)
        self.decide = policy.rank
        if _has(policy, FreeBlock, "choose"):
            ask, frombuffer, int64, uint64 = policy.choose, numpy.frombuffer, numpy.int64, numpy.uint64

            def choose(memory: bytes, count: int, plane: int, task: str, slc: bool) -> int | None:
                blocks, erases = frombuffer(memory, int64, 2 * count).reshape(2, count)
                return ask(FreeView(plane, task, slc, blocks, erases, frombuffer(memory, uint64, count, 16 * count)))

            self.choose = choose


class SlcSeat(_FamilySeat):
    """The engine's interface to an SLC cache."""

    limit: Callable[..., int | None] | None = None
    planes: Callable[..., object] | None = None

    def __init__(self, policy: Slc) -> None:
        super().__init__(policy)
        self.decide = policy.size
        if _has(policy, Slc, "limit"):
            limit = policy.limit
            self.limit = lambda *told: limit(SlcView(*told))
        if _has(policy, Slc, "planes"):
            planes = policy.planes
            self.planes = lambda *told: planes(SlcView(*told))
        if _has(policy, Policy, "figures") and self.limit is None is self.planes:
            raise ValueError(
                "its method 'figures' is never called without a method 'limit' or 'planes': it has no part in a run"
            )


class BufferSeat(_FamilySeat):
    """The engine's interface to a write buffer."""

    evict: Callable[..., object] | None = None
    keeps: Callable[..., bool] | None = None
    keeps_read: Callable[..., bool] | None = None

    def __init__(self, policy: Buffer) -> None:
        super().__init__(policy)
        self.decide, self.after_rest = policy.capacity_kib, policy.after_rest()
        if _has(policy, Buffer, "evict"):
            self._choose(policy)
            self.keeps = policy.keeps if _has(policy, Buffer, "keeps") else None
            self.keeps_read = policy.keeps_read if _has(policy, Buffer, "keeps_read") else None
            return
        for method in ("keeps", "keeps_read", "after_rest"):
            if _has(policy, Buffer, method):
                raise ValueError(f"its method {method!r} has no effect without a method 'evict'")
        for method in ("begin_measuring", "figures"):
            if _has(policy, Policy, method):
                raise ValueError(
                    f"its method {method!r} is never called without a method 'evict': it has no part in a run"
                )

    def _choose(self, policy: Buffer) -> None:
        import numpy

        evict, frombuffer, int64 = policy.evict, numpy.frombuffer, numpy.int64

        def choose(memory: bytes, count: int, told: tuple[int, int, bool, int | None, bool, float]) -> object:
            pages, came, written, read, whole, clean = frombuffer(memory, int64).reshape(6, count)
            return evict(BufferView(pages, came, written, read, whole != 0, clean != 0, *told))

        self.evict = choose


class LinkSeat(_FamilySeat):
    """The engine's interface to a host interface."""

    transfer_us: Callable[..., float] | None = None

    def __init__(self, policy: Link) -> None:
        super().__init__(policy)
        self.decide = policy.costs
        if _has(policy, Link, "transfer_us"):
            transfer = policy.transfer_us
            self.transfer_us = lambda *told: transfer(TransferView(*told))
            return
        for method in ("begin_measuring", "figures"):
            if _has(policy, Policy, method):
                raise ValueError(
                    f"its method {method!r} is never called without a method 'transfer_us': it has no part in a run"
                )


class DispatchSeat(_FamilySeat):
    """The engine's interface to a dispatch policy."""

    next_request: Callable[..., int] | None = None
    next_transaction: Callable[..., int | None] | None = None
    leads: Callable[..., int] | None = None
    joins: Callable[..., int | None] | None = None

    def __init__(self, policy: Dispatch) -> None:
        super().__init__(policy)
        self.sees_all, self.takes_shares = policy.sees_all, policy.takes_shares
        self.deadlines, self.device_queue, self.at_once = policy.deadlines(), policy.device_queue(), policy.at_once()
        self.rank = policy.rank if _has(policy, Dispatch, "rank") else None
        self.admits = policy.admits if _has(policy, Dispatch, "admits") else None
        self._choose(policy)
        next_ = policy.next
        if self.device_queue is None and self.at_once is None and not _has(policy, Dispatch, "next"):
            # It would be needed in the midst of a run.
            next_(StageView([], {}, (0, 0, 0), None))
        self.decide = lambda *told: next_(StageView(*told))

    def _choose(self, policy: Dispatch) -> None:
        by_request = getattr(self.at_once, "requests", None) == "chosen"
        if by_request and not _has(policy, Dispatch, "next_request"):
            # It would be needed in the midst of a run.
            policy.next_request(0, [])
        if _has(policy, Dispatch, "next_request") and not by_request:
            raise ValueError("its method 'next_request' is never called without AtOnce(requests=\"chosen\")")
        own = [method for method in ("next_transaction", "leads", "joins") if _has(policy, Dispatch, method)]
        if own and getattr(self.at_once, "transactions", None) is None:
            raise ValueError(f"its method {own[0]!r} is never called without AtOnce(transactions=...)")
        if by_request:
            request = policy.next_request
            self.next_request = lambda die, told: request(die, [WaitingRequest(*one) for one in told])
        if "next_transaction" in own:
            transaction = policy.next_transaction
            self.next_transaction = lambda told: transaction([WaitingTransaction(*one) for one in told])
        if "leads" in own:
            leads = policy.leads
            self.leads = lambda place, told: leads(place, [WaitingOperation(*one) for one in told])
        if "joins" in own:
            joins = policy.joins
            self.joins = lambda *lists: joins(*([WaitingOperation(*one) for one in told] for told in lists))


class PackSeat(_FamilySeat):
    """The engine's interface to a packer."""

    fits: Callable[..., bool] | None = None
    follows: Callable[..., int | None] | None = None
    crosses: Callable[..., bool] | None = None

    def __init__(self, policy: Pack) -> None:
        super().__init__(policy)
        self.decide = policy.joins
        self.mixes = _has(policy, Pack, "joins")
        if _has(policy, Pack, "fits"):
            fits = policy.fits
            self.fits = lambda command, other: fits([PackedOperation(*one) for one in command], PackedOperation(*other))
        self.crosses = policy.crosses if _has(policy, Pack, "crosses") else None
        if _has(policy, Pack, "follows"):
            follows = policy.follows
            self.follows = lambda command, waiting: follows(
                [PackedOperation(*one) for one in command], [Follower(*one) for one in waiting]
            )


class RedundancySeat(_FamilySeat):
    """The engine's interface to a redundancy."""

    def __init__(self, policy: Redundancy) -> None:
        super().__init__(policy)
        self.superblock, self.raid = policy.superblock(), policy.raid()
        self.groups = getattr(self.superblock, "groups", None)
        self.collects_in_turn, self.erases_in_turn = policy.collects_in_turn(), policy.erases_in_turn()
        self.has_ways_around = _has(policy, Redundancy, "goes_around")
        goes_around = policy.goes_around
        self.decide = lambda *told: goes_around(AroundView(*told))
