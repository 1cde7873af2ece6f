"""Forks of drives with policies in Python: each decides independently, from the state at the fork."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any, ClassVar

import pytest
import wordline
from test_policies import Greedy
from wordline import Drive
from wordline.policy import (
    Arbiter,
    Collect,
    Dispatch,
    Follower,
    FreeBlock,
    Pack,
    PackedOperation,
    Place,
    Placement,
    Policy,
    SpaceView,
    StageView,
    StepView,
    UpkeepView,
    VictimView,
    Wear,
)


class Memory:
    """State of a policy: number of questions, and what it was given."""

    def __init__(self) -> None:
        self.asked = 0
        self.told: list[int] = []


class Moody(Greedy):
    """Chooses by random numbers and memory, so that only one with the same memory chooses the same."""

    name = "moody"

    def __init__(self) -> None:
        self.memory = Memory()

    def choose(self, view: VictimView) -> int | None:
        self.memory.asked += 1
        fit = view.blocks[view.valid + view.units_per_page <= view.units_per_block]
        if not len(fit):
            return None
        return fit[(self.memory.asked + len(self.memory.told) + self.random.randrange(3)) % min(len(fit), 4)]

    def closed(self, block: int) -> None:
        self.memory.told.append(block)


class Restless(Collect):
    """Collects ahead by a number of blocks that changes with each question."""

    name = "restless"

    def __init__(self) -> None:
        self.memory = Memory()

    def wants(self, view: SpaceView) -> bool:
        self.memory.asked += 1
        return view.free + view.running < 3 + self.memory.asked % 3

    def step(self, view: StepView) -> bool:
        self.memory.asked += 1
        return self.random.random() < 0.7


class Fickle(FreeBlock):
    """Ranks at random."""

    name = "fickle"

    def __init__(self) -> None:
        self.memory = Memory()

    def rank(self, erases: int, order: int) -> int:
        self.memory.asked += 1
        return self.random.getrandbits(64)


class Wandering(Placement):
    """Places at random, and by what it remembers."""

    name = "wandering"

    def __init__(self) -> None:
        self.memory = Memory()

    def place(self, page: int) -> Place:
        self.memory.asked += 1
        return None if self.memory.asked % 5 else ("channel", self.random.randrange(self.drive.channels))


class Unjust(Arbiter):
    """Serves at random, and by what it remembers."""

    name = "unjust"

    def __init__(self) -> None:
        self.memory = Memory()

    def choose(self, waiting: list[tuple[str, int]]) -> int:
        self.memory.asked += 1
        return 0 if self.memory.asked % 5 else self.random.randrange(len(waiting))


class Mover(Wear):
    """Moves blocks at random, and by what it remembers."""

    name = "mover"

    def __init__(self) -> None:
        self.memory = Memory()

    def next(self, view: UpkeepView) -> int | None:
        self.memory.asked += 1
        return self.random.choice(view.blocks[view.full]) if self.memory.asked % 20 == 0 else None


class Sender(Dispatch):
    """Sends at random, and by what it remembers."""

    name = "sender"

    def __init__(self) -> None:
        self.memory = Memory()

    def next(self, view: StageView) -> int | None:
        self.memory.asked += 1
        goes = [at for at, (_, _, die) in enumerate(view.staged) if die is not None]
        return self.random.choice(goes[: 1 + self.memory.asked % 4]) if goes else None


class Sociable(Pack):
    """Lets operations of other tasks in, and of all tasks, at random, and by what it remembers."""

    name = "sociable"

    def __init__(self) -> None:
        self.memory = Memory()

    def joins(self, lead: str, other: str) -> bool:
        self.memory.asked += 1
        return self.memory.asked % 5 > 0 and self.random.random() < 0.5

    def fits(self, command: list[PackedOperation], other: PackedOperation) -> bool:
        self.memory.asked += 1
        return self.memory.asked % 7 > 0 and self.random.random() < 0.8


class Follows(Pack):
    """Lets reads and programs follow at random, and by what it remembers."""

    name = "follows"
    cache = True

    def __init__(self) -> None:
        self.memory = Memory()

    def follows(self, command: list[PackedOperation], waiting: list[Follower]) -> int | None:
        self.memory.asked += 1
        return None if self.memory.asked % 3 == 0 else self.random.randrange(len(waiting))


EVERY = [Moody, Restless, Fickle, Wandering, Unjust, Mover, Sender, Sociable, Follows]


def made(drive: Path, policy: type[Policy]) -> Drive:
    """A filled drive with a policy."""
    small = Drive(drive, {f"{policy.family}.policy": policy.name}, policies=[policy])
    small.precondition(fill=True)
    return small


@pytest.mark.parametrize("policy", EVERY)
def test_a_fork_does_what_the_drive_would_have_done(drive: Path, writes: Path, policy: type[Policy]) -> None:
    small = made(drive, policy)
    small.run(writes)
    fork = small.fork()
    mine = small.run(writes)
    # Later work of the drive does not affect the fork.
    small.run(writes)
    late = fork.fork()
    its = fork.run(writes)
    assert mine["gc"]["collections"] > 1000
    assert its["digest"] == mine["digest"] == late.run(writes)["digest"]
    # With new memory it would be another run.
    anew = made(drive, policy)
    assert anew.run(writes)["digest"] != mine["digest"]


@pytest.mark.parametrize("policy", EVERY)
def test_what_a_policy_remembers_is_copied_and_not_shared(
    drive: Path, writes: Path, policy: type[Policy], monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[tuple[Any, Any]] = []

    def deepcopy(policy: Any, memo: dict[int, Any]) -> Any:  # noqa: ANN401
        twin = policy.__class__.__new__(policy.__class__)
        twin.__dict__.update(policy.__dict__)
        twin.memory = Memory()
        twin.memory.asked, twin.memory.told = policy.memory.asked, list(policy.memory.told)
        copies.append((policy, twin))
        return twin

    small = made(drive, policy)
    small.run(writes)
    # Its own copy function is used; it reveals both.
    monkeypatch.setattr(policy, "__deepcopy__", deepcopy, raising=False)
    fork = small.fork()
    ((mine, its),) = copies
    assert its is not mine
    assert its.memory is not mine.memory
    before = mine.memory.asked
    assert its.memory.asked == before > 1000
    fork.run(writes)
    assert its.memory.asked > before == mine.memory.asked
    small.run(writes)
    assert mine.memory.asked > before
    assert its.drive == mine.drive


def test_a_fork_with_overrides_has_a_policy_that_starts_anew(drive: Path, writes: Path) -> None:
    class Shown(Moody):
        name = "shown"
        alive: ClassVar[list[Moody]] = []

        def __init__(self) -> None:
            super().__init__()
            self.alive.append(self)

    small = made(drive, Shown)
    small.run(writes)
    before = len(Shown.alive)
    fork = small.fork({"queue.depth": 4})
    new = Shown.alive[before:]
    assert new
    assert all(policy.memory.asked == 0 for policy in new)
    # It gets the blocks that are already closed.
    assert len(new[-1].memory.told) > 100
    fork.run(writes)
    assert new[-1].memory.asked > 1000


def lost(*_: object) -> None:
    raise LookupError("no copy of this")


@pytest.mark.parametrize("policy", EVERY)
def test_a_policy_that_cannot_be_copied_says_so_when_its_fork_is_used(
    drive: Path, writes: Path, policy: type[Policy], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Any use of a fork copies its policy, and half as many writes are enough for the policy to be asked.
    writes.write_text(writes.read_text().replace("40_000", "20_000"))
    small = made(drive, policy)
    small.run(writes)
    monkeypatch.setattr(policy, "__deepcopy__", lost, raising=False)
    fork, other = small.fork(), small.fork()
    for one in (fork, other):
        with pytest.raises(LookupError, match="no copy of this") as caught:
            one.run(writes)
        assert traceback.extract_tb(caught.tb)[-1].name == "lost"
        assert any(f"the policy '{policy.name}' ({policy.family}), at " in note for note in caught.value.__notes__)
        with pytest.raises(wordline.RunError, match="failed before"):
            one.run(writes)
    # The drive itself is unharmed.
    assert not small.run(writes).partial


def test_each_drive_raises_what_its_own_policy_raised(drive: Path, writes: Path) -> None:
    class Marked(Greedy):
        name = "marked"

        def __init__(self) -> None:
            self.limit = 10**9
            self.asked = 0

        def choose(self, view: VictimView) -> int | None:
            self.asked += 1
            if self.asked > self.limit:
                raise LookupError("its own")
            return super().choose(view)

        def __deepcopy__(self, memo: object) -> Marked:
            self.limit = self.asked + 5
            raise ValueError("the copy's")

    small = made(drive, Marked)
    small.run(writes)
    fork = small.fork()
    with pytest.raises(LookupError, match="its own"):
        small.run(writes)
    with pytest.raises(ValueError, match="the copy's"):
        fork.run(writes)
