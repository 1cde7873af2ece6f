"""What policies in Python see and decide beside their choice: times, deadlines, device queues, superblocks, erases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import wordline as package
from conftest import ROOT, Run, done, parsed
from test_policy_families import first, partial, sending, settings, skewed, told_at_end
from wordline.policy import (
    Arbiter,
    AtOnce,
    CandidateView,
    Collect,
    Deadlines,
    DeviceQueue,
    Dispatch,
    SpaceView,
    StageView,
    UpkeepView,
    Victim,
    VictimView,
    Wear,
)

EXAMPLES = ROOT / "docs" / "examples"

__all__ = ["partial", "skewed"]
"""The loads of the other families."""

SUPERBLOCKS = "collect.scope=drive placement.policy=least-busy capacity.raw_over_logical=1.6"


def timing(choose: Callable[[list[tuple[str, int]], list[float]], object], **more: object) -> type[Arbiter]:
    """An arbiter with this choice."""
    methods = {"choose_in_time": lambda _, waiting, waited: choose(waiting, waited)}
    return type("Odd", (Arbiter,), {"name": "odd", **methods, **more})


def test_an_arbiter_sees_times(drive: Path, partial: Path) -> None:
    told: list[tuple[float, ...]] = []
    most: list[float] = []

    def look(waiting: list[tuple[str, int]], waited: list[float]) -> int:
        assert len(waiting) == len(waited) > 1
        assert min(waited) >= 0
        by_age = sorted(range(len(waiting)), key=lambda at: waiting[at][1])
        assert [waited[at] for at in by_age] == sorted(waited, reverse=True), "the older has waited longer"
        most.append(max(waited))
        return by_age[0]

    policy = timing(look, learn=lambda _, *times: told.append(times))
    sets = {"arbiter.policy": "odd", "mapping.unit_kib": 4}
    result = package.run(drive, partial, sets, policies=[policy])
    own = package.run(drive, partial, {"arbiter.policy": "first-come", "mapping.unit_kib": 4})
    assert result["outcome"] == own["outcome"]
    assert len(set(told)) == 1
    read, program, erase = told[0]
    assert 0 < read < program < erase
    assert max(most) > program


@pytest.mark.parametrize("answer", [-1, None, True, 0.0, [0]], ids=repr)
def test_an_index_in_time_of_no_use_ends_the_run(drive: Path, partial: Path, answer: object) -> None:
    told = told_at_end(drive, partial, timing(lambda *_: answer))
    assert f": it answered {answer!r} ({type(answer).__name__}); expected the index of an operation in the list" in told
    told = told_at_end(drive, partial, timing(lambda waiting, _: len(waiting)))
    assert ": it chose operation 2, which does not exist: operations 0 to 1 wait" in told


def test_what_learning_raises_comes_back(drive: Path, partial: Path) -> None:
    def learn(_: Arbiter, *times: float) -> None:
        raise LookupError("too much")

    with pytest.raises(LookupError, match="too much"):
        package.run(drive, partial, {"arbiter.policy": "odd"}, policies=[timing(lambda *_: 0, learn=learn)])


def test_a_fork_of_an_arbiter_that_sees_times_goes_on_alone(drive: Path, partial: Path) -> None:
    class Unjust(Arbiter):
        name = "unjust"

        def __init__(self) -> None:
            self.asked = 0

        def choose_in_time(self, waiting: list[tuple[str, int]], waited_us: list[float]) -> int:
            self.asked += 1
            return self.random.randrange(len(waiting)) if self.asked % 5 == 0 else 0

    made = package.Drive(drive, {"arbiter.policy": "unjust"}, policies=[Unjust])
    made.run(partial)
    fork = made.fork()
    assert fork.run(partial)["outcome"] == made.run(partial)["outcome"]


def test_what_a_policy_sees_of_deadlines(drive: Path, partial: Path) -> None:
    seen: list[tuple[int, int]] = []

    def look(view: StageView) -> int | None:
        assert view.dues is not None
        assert len(view.dues) in (0, len(view.staged))
        for (name, _, _), (left, operations) in zip(view.staged, view.dues, strict=False):
            # Reads that a write needs have its deadline.
            assert left <= (7000 if name.startswith("host-") else 5000) * 1_000_000
            seen.append((left, operations))
        return first(view)

    given = Deadlines(3000, 7000, background_us=5000)
    policy = sending(look, deadlines=lambda _: given)
    result = package.run(drive, partial, {"dispatch.policy": "odd"}, policies=[policy])
    assert result["requests"] == 20_000
    assert max(operations for _, operations in seen) > 1
    assert min(left for left, _ in seen) < 0 < max(left for left, _ in seen)
    limits = {kind: one["deadline_us"] for kind, one in result["deadlines"].items()}
    assert limits == {"read": 3000, "write": 7000}
    assert sum(one["requests"] for one in result["deadlines"].values()) == 20_000
    without = package.run(drive, partial, {"dispatch.policy": "odd"}, policies=[sending(first)])
    assert "deadlines" not in without


def test_streams_may_have_deadlines_of_their_own(drive: Path, partial: Path) -> None:
    built_in = {"dispatch.policy": "deadline", "dispatch.stream_deadline_us.0": 400.0}
    own = package.run(drive, partial, built_in)
    policy = sending(first, deadlines=lambda _: Deadlines(2000, 10_000, 10_000, by_stream_us={0: 400.0}))
    other = package.run(drive, partial, {"dispatch.policy": "odd"}, policies=[policy])
    assert own["deadlines"].keys() == other["deadlines"].keys()
    for one in (own, other):
        (stream,) = one["deadlines"]["streams"]
        assert (stream["stream"], stream["deadline_us"], stream["requests"]) == (0, 400.0, 20_000)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (3, "its method 'deadlines' is of no use: it answered 3 (int); expected Deadlines, or None"),
        (Deadlines(0), "its read_us is of no use: it answered 0 (int); expected a number of microseconds from 1 to"),
        (Deadlines(write_us=True), "its write_us is of no use: it answered True (bool)"),
        (Deadlines(flush_us=1e9), "its flush_us is of no use"),
        (Deadlines(background_us=None), "its background_us is of no use: it answered None"),
        (Deadlines(by_stream_us={70_000: 5.0}), "its by_stream_us is of no use"),
        (Deadlines(by_stream_us={1: 0.0}), "expected a dict of deadlines in microseconds"),
        (Deadlines(by_stream_us=[5.0]), "its by_stream_us is of no use: it answered [5.0] (list)"),
        (Deadlines(avoids_gc=None), "its avoids_gc is of no use: it answered None"),
    ],
    ids=repr,
)
def test_deadlines_of_no_use_are_refused(drive: Path, answer: object, words: str) -> None:
    policy = sending(first, deadlines=lambda _: answer)
    with pytest.raises(package.InputError) as caught:
        package.check(drive, {"dispatch.policy": "odd"}, policies=[policy])
    assert words in str(caught.value)


def queueing(queue: object, **more: object) -> type[Dispatch]:
    """A dispatch policy with this device queue."""
    return type("Odd", (Dispatch,), {"name": "odd", "device_queue": lambda _: queue, **more})


def going(how: object, **more: object) -> type[Dispatch]:
    """A dispatch policy whose operations go to their dies so."""
    return type("Odd", (Dispatch,), {"name": "odd", "at_once": lambda _: how, **more})


def test_what_a_device_queue_tells_of_reads(drive: Path, partial: Path) -> None:
    seen: set[tuple[str, bool]] = set()

    def rank(_: Dispatch, conflict: str, overdue: bool) -> int:
        seen.add((conflict, overdue))
        return numpy.int64(len(conflict))  # type: ignore[return-value]

    policy = queueing(DeviceQueue(bound_us=200.0), rank=rank)
    result = package.run(drive, partial, {"dispatch.policy": "odd"}, policies=[policy])
    assert result["requests"] == 20_000
    assert {conflict for conflict, _ in seen} >= {"none", "die"}
    assert {overdue for _, overdue in seen} == {False, True}


@pytest.mark.parametrize("answer", [-1, 256, None, True, 1.0], ids=repr)
def test_a_rank_of_no_use_ends_the_run(drive: Path, partial: Path, answer: object) -> None:
    told = told_at_end(drive, partial, queueing(DeviceQueue(), rank=lambda *_: answer))
    assert f"it answered {answer!r} ({type(answer).__name__}); expected a whole number from 0 to 255" in told


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (queueing(7), "its method 'device_queue' is of no use: it answered 7 (int); expected a DeviceQueue, or None"),
        (queueing(DeviceQueue(None)), "its in_order is of no use: it answered None"),
        (queueing(DeviceQueue(decision_us=-1)), "its decision_us is of no use: it answered -1 (int)"),
        (queueing(DeviceQueue(bound_us="1")), "its bound_us is of no use: it answered '1' (str)"),
        (queueing(DeviceQueue(True, True)), "its by_package has no effect: operations go in the order of coming"),
        (queueing(DeviceQueue(True, bound_us=5)), "its bound_us has no effect"),
        (queueing(DeviceQueue(packs_across=True)), "its packs_across has no effect: pack.policy has no multi-plane"),
        (queueing(DeviceQueue(), sees_all=True), "its sees_all has no effect"),
        (queueing(DeviceQueue(), takes_shares=True), "its takes_shares has no effect"),
        (queueing(DeviceQueue(), deadlines=lambda _: Deadlines(5)), "its deadlines has no effect"),
        (queueing(DeviceQueue(), at_once=lambda _: AtOnce()), "it has both 'device_queue' and 'at_once'"),
        (going(7), "its method 'at_once' is of no use: it answered 7 (int); expected AtOnce, or None"),
        (
            going(AtOnce("plane")),
            """its transactions is of no use: it answered 'plane' (str); expected "package", "die" """,
        ),
        (going(AtOnce(requests=1)), "its requests is of no use: it answered 1 (int)"),
        (going(AtOnce(waits_for_bus=False)), "its waits_for_bus has no effect without transactions"),
        (going(AtOnce("die", requests="first-come")), "it has both transactions and requests"),
        (going(AtOnce(), sees_all=True), "its sees_all has no effect: its operations go to their dies at once"),
    ],
)
def test_a_queue_of_no_use_is_refused(drive: Path, policy: type[Dispatch], words: str) -> None:
    with pytest.raises(package.InputError) as caught:
        package.check(drive, {"dispatch.policy": "odd", "pack.policy": "none"}, policies=[policy])
    assert words in str(caught.value)


def test_a_device_queue_has_one_command_a_die(drive: Path) -> None:
    anywhere = {"dispatch.policy": "odd", "placement.policy": "least-busy", "collect.scope": "drive"}
    for how in (AtOnce("die"), AtOnce(requests="first-come")):
        with pytest.raises(package.InputError, match="needs the plane of each write when it comes"):
            package.check(drive, anywhere, policies=[going(how)])
    with pytest.raises(package.InputError, match="sends operations to their dies at once; leave it out"):
        package.check(drive, {"dispatch.policy": "odd", "dispatch.depth": 2}, policies=[going(AtOnce())])
    with pytest.raises(package.InputError, match="has a device queue, of which a die has one command at a time"):
        package.check(drive, {"dispatch.policy": "odd", "dispatch.depth": 2}, policies=[queueing(DeviceQueue())])
    with pytest.raises(NotImplementedError, match="write the method 'next'"):
        package.check(drive, {"dispatch.policy": "odd"}, policies=[queueing(None)])
    with pytest.raises(TypeError, match="write its method 'next' or 'device_queue' or 'at_once'"):
        package.check(drive, policies=[type("Idle", (Dispatch,), {"name": "idle"})])


@pytest.mark.parametrize(
    "base",
    [sending(first), queueing(DeviceQueue(in_order=True)), going(AtOnce())],
    ids=["chosen", "queued", "at-once"],
)
def test_requests_in_service_may_be_limited(drive: Path, partial: Path, base: type[Dispatch]) -> None:
    seen: list[int] = []

    def admits(_: Dispatch, in_service: int) -> bool:
        seen.append(in_service)
        return in_service < 5

    policy = type("Odd", (base,), {"admits": admits})
    result = package.run(drive, partial, {"dispatch.policy": "odd"}, policies=[policy])
    free = package.run(drive, partial, {"dispatch.policy": "odd"}, policies=[base])
    assert result["requests"] == free["requests"] == 20_000
    assert (min(seen), max(seen)) == (1, 5)
    assert result["time_of"].keys() == free["time_of"].keys()
    assert result["outcome"] != free["outcome"]
    # As much as all, for a load of 16 requests at a time.
    all_of = type("Odd", (base,), {"admits": lambda _, in_service: in_service < 16})
    same = package.run(drive, partial, {"dispatch.policy": "odd"}, policies=[all_of])
    assert same["outcome"] == free["outcome"]
    # One is served whenever none is.
    alone = type("Odd", (base,), {"admits": lambda *_: False})
    one = package.run(drive, partial, {"dispatch.policy": "odd"}, policies=[alone])
    assert one["requests"] == 20_000
    assert one["latency_us"]["all"]["mean"] > 1.5 * free["latency_us"]["all"]["mean"]
    told = told_at_end(drive, partial, type("Odd", (base,), {"admits": lambda *_: None}))
    assert "it answered None (NoneType); expected True or False" in told


@pytest.mark.parametrize("kind", ["superblock", "rain"])
@pytest.mark.parametrize("name", ["greedy", "cost-benefit"])
def test_victims_of_superblocks_in_python_are_those_of_built_in_policies(
    wordline: Run, drive: Path, writes: Path, name: str, kind: str
) -> None:
    def result(policy: str) -> dict[str, Any]:
        sets = settings(SUPERBLOCKS, f"redundancy.policy={kind} redundancy.dies=4 victim.policy={policy}")
        options = ("--policy", EXAMPLES / "victims.py", "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, writes, *sets, *options)))

    built_in, in_python = result(name), result(f"python-{name}")
    assert in_python["outcome"] == built_in["outcome"]
    assert built_in["gc"]["collections"] > 20


def test_what_a_victim_policy_sees_of_superblocks(drive: Path, writes: Path) -> None:
    told: set[int] = set()

    class Looker(Victim):
        name = "looker"

        def closed(self, block: int) -> None:
            told.add(block)

        def choose(self, view: VictimView) -> int | None:
            # 4 dies of 2 planes: 8 blocks of 64 pages, in groups of the dies 0, 2, 4, 6 and 1, 3, 5, 7.
            assert (view.units_per_block, view.units_per_page) == (8 * 64, 8)
            assert set(view.blocks) <= told
            assert set(view.blocks // self.drive.blocks_per_plane) <= {0, 2}
            fit = view.valid + view.units_per_page <= view.units_per_block
            return view.blocks[fit][0] if fit.any() else None

    sets = [*SUPERBLOCKS.split(), "redundancy.policy=superblock", "redundancy.dies=4", "victim.policy=looker"]
    result = package.run(drive, writes, sets, policies=[Looker])
    assert result["gc"]["collections"] > 20

    class Second(Looker):
        name = "second"

        def choose(self, view: VictimView) -> int | None:
            chosen = super().choose(view)
            return None if chosen is None else chosen + self.drive.blocks_per_plane

    with pytest.raises(package.RunError, match="which is not the first of its superblock, which is block"):
        package.run(drive, writes, [*sets[:-1], "victim.policy=second"], policies=[Second])


def test_reads_that_fit_a_victim_are_those_of_the_built_in_policy(wordline: Run, drive: Path, tmp_path: Path) -> None:
    load = tmp_path / "load.toml"
    load.write_text('[[job]]\nrw = "randrw"\nbs = "16k"\niodepth = 64\nnumber_ios = 40_000\n')

    def result(policy: str) -> dict[str, Any]:
        where = "collect.scope=plane placement.policy=static pack.policy=planes pack.join_gc=true"
        options = ("--policy", EXAMPLES / "victims.py", "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, load, *settings(where, f"victim.policy={policy}"), *options)))

    built_in, in_python, greedy = (result(name) for name in ("read-aligned", "python-read-aligned", "greedy"))
    assert in_python["outcome"] == built_in["outcome"] != greedy["outcome"]


def test_a_victim_policy_that_sees_reads_works_on_planes(drive: Path) -> None:
    policy = type("Odd", (Victim,), {"name": "odd", "sees_reads": True, "choose": lambda *_: None})
    sets = {"victim.policy": "odd", "collect.scope": "drive", "placement.policy": "least-busy"}
    with pytest.raises(package.InputError, match=r'needs collect\.scope = "plane"'):
        package.check(drive, sets, policies=[policy])
    package.check(drive, {"victim.policy": "odd", "collect.scope": "plane"}, policies=[policy])


def test_a_wear_policy_is_told_of_each_erase(drive: Path, writes: Path) -> None:
    told: list[tuple[int, str]] = []

    class Looker(Wear):
        name = "looker"

        def erased(self, view: UpkeepView, block: int, task: str) -> int | None:
            at = int(numpy.flatnonzero(view.blocks == block)[0])
            assert view.free[at] and view.erases[at] > 0
            told.append((block, task))
            # Every hundredth erase, a full block follows.
            fit = view.blocks[view.full]
            return fit[0] if len(told) % 100 == 0 and len(fit) else None

    result = package.run(drive, writes, {"wear.policy": "looker"}, policies=[Looker])
    # Some come after the last request.
    assert len(told) >= result["flash"]["erases"] > 100
    assert {task for _, task in told} == {"gc", "wear"}
    assert result["tasks"]["wear"]["blocks"] > 0


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda view: -1, "it answered -1 (int); expected the number of a block, or None"),
        (lambda view: 640, "it chose block 640, which does not exist"),
        (lambda view: view.blocks[view.free][0], "which cannot be moved: its state is Free"),
    ],
)
def test_a_block_that_cannot_follow_an_erase_ends_the_run(
    drive: Path, writes: Path, answer: Callable[[UpkeepView], object], words: str
) -> None:
    policy = type("Odd", (Wear,), {"name": "odd", "erased": lambda _, view, block, task: answer(view)})
    assert words in told_at_end(drive, writes, policy)


def test_a_collect_policy_weighs_blocks_as_the_built_in_one_does(wordline: Run, drive: Path, tmp_path: Path) -> None:
    load = tmp_path / "bursts.toml"
    load.write_text(
        '[[job]]\nrw = "randwrite"\nbs = "16k"\niodepth = 8\nnumber_ios = 4000\n'
        "thinktime_blocks = 100\nthinktime_us = 20000\n"
    )

    def result(policy: str, *sets: str) -> dict[str, Any]:
        steps = ("scope=plane", "reserve_blocks=1", "start_blocks=3", "stop_blocks=3", *sets)
        options = [part for step in (f"policy={policy}", *steps) for part in ("--set", f"collect.{step}")]
        policies = ("--policy", EXAMPLES / "ahead.py", "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, load, *options, *policies)))

    built_in = result("background", "background_blocks=5", "idle_us=2000", "foresight=true")
    blind = result("background", "background_blocks=5", "idle_us=2000")
    in_python = result("foresight", "background=5", "idle=2000")
    assert in_python["outcome"] == built_in["outcome"] != blind["outcome"]


def test_what_a_collect_policy_weighs(drive: Path, writes: Path) -> None:
    seen: list[CandidateView] = []

    class Weigher(Collect):
        name = "weigher"

        def wants(self, view: SpaceView) -> bool:
            return view.free + view.running < 3

        def takes(self, view: CandidateView) -> bool:
            seen.append(view)
            return True

    class Stubborn(Weigher):
        name = "stubborn"

        def takes(self, view: CandidateView) -> bool:
            return False

    result = package.run(drive, writes, {"collect.policy": "weigher"}, policies=[Weigher])
    # Some come after the last request.
    assert len(seen) >= result["gc"]["collections"] > 100
    # 64 reads and programs and an erase at most.
    assert 0 < min(view.time_us for view in seen) < max(view.time_us for view in seen)
    assert not any(view.rested for view in seen)
    told = told_at_end(drive, writes, Stubborn)
    assert "it did not take the block that was chosen in domain" in told


@pytest.mark.parametrize("scope", ["drive", "plane"])
def test_folding_in_python_is_that_of_the_built_in_policy(
    wordline: Run, drive: Path, tmp_path: Path, scope: str
) -> None:
    load = tmp_path / "bursts.toml"
    load.write_text(
        '[[job]]\nrw = "randwrite"\nbs = "16k"\niodepth = 8\nnumber_ios = 6000\n'
        'thinktime_blocks = 1500\nthinktime_us = 40000\nrandom_distribution = "zipf:1.1"\n'
    )
    where = "placement.policy=least-busy" if scope == "drive" else "placement.policy=static"
    cache = "nand.slc_read_us=25 nand.slc_program_us=200 slc.policy=dynamic capacity.raw_over_logical=1.6"

    def result(policy: str) -> dict[str, Any]:
        fold = f"fold.policy={policy} fold.start_blocks=2 fold.stop_blocks=4 fold.idle_us=20000"
        options = ("--policy", EXAMPLES / "upkeep.py", "--quiet", "--json", "-")
        sets = settings(where, cache, fold, f"collect.scope={scope}")
        return parsed(done(wordline("run", drive, load, *sets, *options)))

    built_in, in_python = result("coldest"), result("python-coldest")
    assert in_python["outcome"] == built_in["outcome"]
    assert built_in["tasks"]["fold"]["blocks"] > 10


def test_a_task_sees_ages_and_stays_if_it_wants_to(drive: Path, writes: Path) -> None:
    seen: list[UpkeepView] = []

    class Looker(Wear):
        name = "looker"
        sees_ages = sees_stays = True

        def next(self, view: UpkeepView) -> int | None:
            seen.append(view)
            assert view.age is not None and view.stays is not None
            assert view.slc_left_by_domain == (0,) * self.drive.domains
            assert not view.age.flags.writeable and not view.stays.flags.writeable
            assert len(view.stays) == 640
            named = view.stays[view.stays >= 0]
            assert (named == numpy.flatnonzero(view.stays >= 0)).all()
            assert (view.valid[named] == view.units_per_block).all() and view.full[named].all()
            return None

    class Blind(Looker):
        name = "blind"
        sees_ages = sees_stays = False

        def next(self, view: UpkeepView) -> int | None:
            assert view.age is None and view.stays is None
            return None

    package.run(drive, writes, {"wear.policy": "looker"}, policies=[Looker])
    ages = seen[-1].age
    assert ages is not None and ages[seen[-1].full].max() > 100
    package.run(drive, writes, {"wear.policy": "blind"}, policies=[Blind])


class Limited(Dispatch):
    """Ranks and lets in at random."""

    name = "limited"

    def device_queue(self) -> DeviceQueue:
        return DeviceQueue(bound_us=100.0)

    def rank(self, conflict: str, overdue: bool) -> int:
        return self.random.randrange(256)

    def admits(self, in_service: int) -> bool:
        return self.random.random() < 0.5


class Follower(Wear):
    """Moves a full block after some erases, at random."""

    name = "follower"

    def erased(self, view: UpkeepView, block: int, task: str) -> int | None:
        fit = view.blocks[view.full]
        return self.random.choice(list(fit)) if len(fit) and self.random.random() < 0.05 else None


class Picky(Collect):
    """Takes blocks at random, unless they are short."""

    name = "picky"

    def wants(self, view: SpaceView) -> bool:
        return view.free + view.running < 4

    def takes(self, view: CandidateView) -> bool:
        return view.free < 3 or self.random.random() < 0.5


@pytest.mark.parametrize("policy", [Limited, Follower, Picky])
def test_a_fork_decides_on_its_own_from_the_same_state(drive: Path, partial: Path, policy: type) -> None:
    made = package.Drive(drive, {f"{policy.family}.policy": policy.name}, policies=[policy])
    made.run(partial)
    fork = made.fork()
    first, second = made.run(partial), fork.run(partial)
    assert first["outcome"] == second["outcome"]
    assert first["outcome"] != made.run(partial)["outcome"]


@pytest.mark.parametrize(
    ("base", "method"),
    [(Limited, "rank"), (Limited, "admits"), (Limited, "device_queue"), (Follower, "erased"), (Picky, "takes")],
)
def test_what_these_methods_raise_comes_back(drive: Path, partial: Path, base: type, method: str) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError("no idea")

    policy = type("Odd", (base,), {"name": "odd", method: fail})
    with pytest.raises(ArithmeticError, match="no idea") as caught:
        package.run(drive, partial, {f"{policy.family}.policy": "odd"}, policies=[policy])
    assert "it raised ArithmeticError: no idea" in caught.value.__notes__[0]
