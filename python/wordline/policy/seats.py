"""What the engine calls: each policy has a seat, which turns what the engine tells into the views of its family."""

from __future__ import annotations

import copy
from collections.abc import Callable

from wordline.policy.base import Policy
from wordline.policy.commands import Dispatch, Pack, Running, StageView, Suspend
from wordline.policy.data import (
    AroundView,
    Collect,
    Mapping,
    MoveView,
    Redundancy,
    SpaceView,
    StepView,
    Upkeep,
    UpkeepView,
    Victim,
    VictimView,
)


class Seat:
    """The engine's interface to a policy whose method takes what the engine tells."""

    closed = None

    def __init__(self, policy: Policy, method: str) -> None:
        self.policy, self.method = policy, method
        self.decide = getattr(policy, method)
        self.interval_ms = getattr(policy, "interval_ms", None)

    def fork(self) -> Seat:
        """A copy with its own policy, in the same state."""
        return Seat(copy.deepcopy(self.policy), self.method)


class _FamilySeat:
    """The engine's interface to a policy of a family that has its own."""

    closed: Callable[..., object] | None = None

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def fork(self) -> _FamilySeat:
        """A copy with its own policy, in the same state."""
        return type(self)(copy.deepcopy(self.policy))


class VictimSeat(_FamilySeat):
    """The engine's interface to a victim policy."""

    def __init__(self, policy: Victim) -> None:
        import numpy

        super().__init__(policy)
        self.closed = policy.closed if type(policy).closed is not Victim.closed else None
        shape, choose, frombuffer, int64 = policy.drive, policy.choose, numpy.frombuffer, numpy.int64
        units = shape.pages_per_block * shape.units_per_page
        together = shape.pages_per_program * shape.units_per_page

        def decide(memory: bytes, count: int, domain: int) -> int | None:
            columns = frombuffer(memory, int64).reshape(4, count)
            return choose(VictimView(domain, units, together, *columns))

        self.decide = decide


class CollectSeat(_FamilySeat):
    """The engine's interface to a collect policy."""

    step: Callable[..., bool] | None = None
    place: Callable[..., object] | None = None

    def __init__(self, policy: Collect) -> None:
        super().__init__(policy)
        self.after_rest = policy.after_rest()
        self.decide = lambda domain, free, running, rested: policy.wants(SpaceView(domain, free, running, rested))
        if type(policy).step is not Collect.step:
            ask = policy.step
            self.step = lambda numbers, host, *rest: ask(StepView(*numbers, *host, *rest))
        if type(policy).place is not Collect.place:
            where = policy.place
            self.place = lambda numbers, *rest: where(MoveView(*numbers, *rest))


class SuspendSeat(_FamilySeat):
    """The engine's interface to a choice of the commands that reads suspend."""

    def __init__(self, policy: Suspend) -> None:
        super().__init__(policy)
        suspends = policy.suspends
        self.decide = lambda *told: suspends(Running(*told))


class MappingSeat(_FamilySeat):
    """The engine's interface to a choice of the map unit that leaves the cache."""

    def __init__(self, policy: Mapping) -> None:
        super().__init__(policy)
        self.decide = policy.evict
        self.closed = policy.used if type(policy).used is not Mapping.used else None


class UpkeepSeat(_FamilySeat):
    """The engine's interface to a policy of a background task."""

    def __init__(self, policy: Upkeep) -> None:
        import numpy

        super().__init__(policy)
        self.after_reads, self.after_rest = policy.after_reads(), policy.after_rest()
        next_, frombuffer, int64, truth = policy.next, numpy.frombuffer, numpy.int64, numpy.bool_
        units = policy.drive.pages_per_block * policy.drive.units_per_page

        def decide(memory: bytes, count: int, written: int, reads: int, rests: bool, left: int) -> int | None:
            numbers = frombuffer(memory, int64, 4 * count).reshape(4, count)
            truths = frombuffer(memory, truth, 4 * count, 32 * count).reshape(4, count)
            return next_(UpkeepView(units, written, reads, *numbers, *truths, rests, left))

        self.decide = decide


class DispatchSeat(_FamilySeat):
    """The engine's interface to a dispatch policy."""

    def __init__(self, policy: Dispatch) -> None:
        super().__init__(policy)
        self.sees_all, self.takes_shares = policy.sees_all, policy.takes_shares
        next_ = policy.next
        self.decide = lambda *told: next_(StageView(*told))


class PackSeat(_FamilySeat):
    """The engine's interface to a packer."""

    def __init__(self, policy: Pack) -> None:
        super().__init__(policy)
        self.decide = policy.joins
        self.mixes = type(policy).joins is not Pack.joins


class RedundancySeat(_FamilySeat):
    """The engine's interface to a redundancy."""

    def __init__(self, policy: Redundancy) -> None:
        super().__init__(policy)
        self.superblock, self.raid = policy.superblock(), policy.raid()
        self.collects_in_turn, self.erases_in_turn = policy.collects_in_turn(), policy.erases_in_turn()
        self.has_ways_around = type(policy).goes_around is not Redundancy.goes_around
        goes_around = policy.goes_around
        self.decide = lambda *told: goes_around(AroundView(*told))
