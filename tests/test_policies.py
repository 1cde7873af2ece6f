"""Policies written in Python: they decide in runs, are checked like others, and fail with their own tracebacks."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy
import pytest
import wordline as package
from conftest import ROOT, Run, done, parsed, refused
from wordline.policy import Collect, FreeBlock, FreeView, SpaceView, StepView, Victim, VictimView, described

VICTIMS = ROOT / "docs" / "examples" / "victims.py"
EAGER = ROOT / "docs" / "examples" / "eager.py"
POLITE = ROOT / "docs" / "examples" / "polite.py"
AHEAD = ROOT / "docs" / "examples" / "ahead.py"
WEAR = ROOT / "docs" / "examples" / "wear.py"


class Greedy(Victim):
    """The block with the fewest valid units.

    More of it is not in the summary.
    """

    name = "mine"
    slack: Annotated[float, "Share of a block that must be invalid."] = 0.0
    mode: Literal["first", "last"] = "first"
    retries: int = 0
    loud: bool = False

    def choose(self, view: VictimView) -> int | None:
        fit = view.valid + max(view.units_per_page, self.slack * view.units_per_block) <= view.units_per_block
        return view.blocks[fit][0] if fit.any() else None


def choosing(choose: Callable[[Any, VictimView], object]) -> type[Victim]:
    """A victim policy with this choice."""
    return type("Odd", (Victim,), {"name": "odd", "choose": choose})


def ranking(rank: Callable[[int, int], object]) -> type[FreeBlock]:
    """A free-block policy with this ranking."""
    return type("Odd", (FreeBlock,), {"name": "odd", "rank": lambda _, erases, order: rank(erases, order)})


def run(drive: Path, load: Path, policy: type, **sets: object) -> dict[str, Any]:
    """A run with a policy in place of its family's."""
    keys = {f"{policy.family}.{key}": value for key, value in sets.items()}
    return package.run(drive, load, {f"{policy.family}.policy": policy.name, **keys}, policies=[policy])


@pytest.mark.parametrize("scope", ["plane", "drive"])
@pytest.mark.parametrize(("name", "own"), [("greedy", "python-greedy"), ("cost-benefit", "python-cost-benefit")])
def test_a_built_in_policy_in_python_does_the_very_same(
    wordline: Run, drive: Path, writes: Path, name: str, own: str, scope: str
) -> None:
    def result(*options: str | Path) -> dict[str, Any]:
        placement = "static" if scope == "plane" else "least-busy"
        where = ("--set", f"collect.scope={scope}", "--set", f"placement.policy={placement}")
        arguments = (*where, "--quiet", "--json", "-", *options)
        return parsed(done(wordline("run", drive, writes, *arguments)))

    built_in = result("--set", f"victim.policy={name}")
    in_python = result("--set", f"victim.policy={own}", "--policy", VICTIMS)
    assert built_in["gc"]["collections"] > 100
    assert in_python["outcome"] == built_in["outcome"]
    assert in_python["latency_us"] == built_in["latency_us"]
    assert in_python["digest"] != built_in["digest"], "the configuration is another one"
    assert in_python["digest"] == result("--set", f"victim.policy={own}", "--policy", VICTIMS)["digest"]


def test_a_view_counts_pages_that_are_programmed_together(drive: Path, writes: Path) -> None:
    class Fullest(Victim):
        name = "fullest"

        def choose(self, view: VictimView) -> int | None:
            shape = self.drive
            assert (shape.pages_per_program, shape.units_per_page) == (2, 4)
            assert (view.units_per_block, view.units_per_page) == (64 * 4, 2 * 4)
            assert view.valid.max() <= view.units_per_block
            fit = view.valid + view.units_per_page <= view.units_per_block
            return view.blocks[fit][-1] if fit.any() else None

    keys = {"victim.policy": "fullest", "geometry.pages_per_program": 2, "mapping.unit_kib": 4}
    more = {"buffer.policy": "fifo", "capacity.raw_over_logical": 1.6}
    result = package.run(drive, writes, {**keys, **more}, policies=[Fullest])
    assert result["gc"]["collections"] > 100


@pytest.mark.parametrize("name", ["least-erased", "fifo"])
def test_a_built_in_choice_of_free_blocks_in_python_does_the_very_same(
    wordline: Run, drive: Path, writes: Path, name: str
) -> None:
    def result(policy: str) -> dict[str, Any]:
        # Bad blocks are replaced by others, which become free then.
        sets = "nand.reliability.endurance=9 nand.reliability.erase_fail=0.5 capacity.replacement_blocks=6 "
        sets += f"capacity.raw_over_logical=1.6 free_block.policy={policy}"
        options = [part for setting in sets.split() for part in ("--set", setting)]
        return parsed(done(wordline("run", drive, writes, *options, "--policy", WEAR, "--quiet", "--json", "-")))

    built_in, in_python = result(name), result(f"python-{name}")
    assert built_in["gc"]["collections"] > 1000
    assert built_in["reliability"]["bad_blocks"] > 5
    assert in_python["outcome"] == built_in["outcome"]
    assert in_python["outcome"] != result("fifo" if name == "least-erased" else "least-erased")["outcome"]
    assert in_python["wear"] == built_in["wear"]


def test_a_rank_is_asked_once_for_each_block_that_becomes_free(drive: Path, writes: Path) -> None:
    asked: list[tuple[int, int]] = []

    class Looker(FreeBlock):
        name = "looker"

        def rank(self, erases: int, order: int) -> int:
            asked.append((erases, order))
            return numpy.uint64(2**64 - 1 - order)  # type: ignore[return-value]

    made = package.Drive(drive, {"free_block.policy": "looker"}, policies=[Looker])
    # 16 planes of 40 blocks.
    assert asked == [(0, order) for _ in range(16) for order in range(40)]
    asked.clear()
    result = made.run(writes)
    assert len(asked) == result["flash"]["erases"] > 100
    assert {order for _, order in asked} >= {40, 41, 42}
    assert max(erases for erases, _ in asked) == made.state["most_erases"]


OPENED = {
    "plain": {},
    "drive": {"collect.scope": "drive", "placement.policy": "least-busy"},
    "small units": {"mapping.unit_kib": 4, "buffer.policy": "fifo", "buffer.capacity_kib": 256},
    "shared blocks": {"collect.into": "shared-block", "collect.scope": "plane"},
    "copyback": {"collect.copyback": "internal", "collect.scope": "plane"},
    "superblocks": {
        "redundancy.policy": "superblock",
        "collect.scope": "drive",
        "placement.policy": "least-busy",
        "capacity.raw_over_logical": 2,
    },
    "rows": {"redundancy.policy": "rain", "collect.scope": "drive", "capacity.raw_over_logical": 1.6},
    "blocks": {"mapping.policy": "block", "capacity.raw_over_logical": 1.6},
    "log blocks": {"mapping.policy": "fast", "capacity.raw_over_logical": 1.6},
    "cache": {"nand.slc_read_us": 25.0, "nand.slc_program_us": 200.0, "slc.policy": "dynamic"},
}
"""Drives that open blocks in different ways."""


@pytest.mark.parametrize("how", OPENED)
@pytest.mark.parametrize("call", [package.run, package.replay])
def test_a_choice_at_opening_does_what_ranks_do(drive: Path, how: str, call: Callable[..., dict[str, Any]]) -> None:
    opened: list[FreeView] = []

    class First(FreeBlock):
        name = "first"

        def choose(self, view: FreeView) -> int | None:
            opened.append(view)
            return view.blocks[0] if len(opened) % 2 else None

    class Least(FreeBlock):
        name = "least"

        def choose(self, view: FreeView) -> int:
            assert (numpy.diff(view.ranks.astype(object)) > 0).all()
            # Of equals, the one that has been free longest.
            return view.blocks[view.erases.argmin()]

    load = package.Workload.job(rw="randwrite", bs="16k", iodepth=16, number_ios=8000, random_distribution="zipf:1.1")

    def outcome(policy: str) -> tuple[str, int]:
        sets = (
            {"placement.policy": "least-busy", **OPENED[how]}
            if how in ("blocks", "log blocks", "rows")
            else OPENED[how]
        )
        scope = {"collect.scope": "drive"} if how in ("blocks", "log blocks") else {}
        own = {
            "free_block.policy": policy,
            "verify.shadow": True,
            "precondition.fill": True,
            "precondition.overwrites": 1,
        }
        result = call(drive, load, {**sets, **scope, **own}, policies=[First, Least])
        return result["outcome"], result["flash"]["erases"]

    built_in, chosen = outcome("fifo"), outcome("first")
    assert chosen == built_in
    assert built_in[1] > 20
    assert {view.task for view in opened} >= {"host"}
    assert all(len(view.blocks) == len(view.erases) == len(view.ranks) > 0 for view in opened)
    assert all((view.blocks // 40 == view.plane).all() for view in opened)
    assert outcome("least") == outcome("least-erased")


def test_who_opens_a_block_is_told(wordline: Run, drive: Path, writes: Path) -> None:
    def result(policy: str) -> dict[str, Any]:
        options = ("--policy", WEAR, "--set", f"free_block.policy={policy}", "--quiet", "--json", "-")
        options = (*options, "--set", "collect.start_blocks=6", "--set", "capacity.raw_over_logical=1.4")
        return parsed(done(wordline("run", drive, writes, *options)))

    by_heat = result("by-heat")
    figures = by_heat["policy_figures"]["free_block"]
    # Each block that is erased was opened before; those that are open or free are few.
    assert abs(sum(figures.values()) - by_heat["flash"]["erases"]) < 16 * 8
    assert min(figures.values()) > 20
    assert by_heat["outcome"] != result("least-erased")["outcome"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda _: -1, "it answered -1 (int); expected the number of a block, or None"),
        (lambda _: 640, "it chose block 640, which is no free block of plane "),
        (lambda view: 0 if view.plane else 600, "which is no free block of plane "),
    ],
)
def test_a_block_that_is_not_free_ends_the_run(
    drive: Path, writes: Path, answer: Callable[[FreeView], int], words: str
) -> None:
    odd = type("Odd", (FreeBlock,), {"name": "odd", "choose": lambda _, view: answer(view)})
    with pytest.raises(package.RunError) as caught:
        run(drive, writes, odd)
    assert words in str(caught.value)
    assert str(caught.value).startswith("the policy 'odd' (free_block), at ")


def test_what_a_policy_sees(drive: Path, writes: Path) -> None:
    seen: list[VictimView] = []
    told: list[int] = []

    class Looker(Greedy):
        name = "looker"

        def choose(self, view: VictimView) -> int | None:
            seen.append(view)
            for array in (view.blocks, view.valid, view.erases, view.age):
                assert array.dtype == numpy.int64
                assert not array.flags.writeable
            order = view.valid * 10**9 - view.age
            assert (numpy.diff(order) >= 0).all()
            assert set(view.blocks // self.drive.blocks_per_plane) <= {view.domain}
            return super().choose(view)

        def closed(self, block: int) -> None:
            told.append(block)

    result = run(drive, writes, Looker)
    assert len(seen) >= result["gc"]["collections"] > 100
    first, last = seen[0], seen[-1]
    assert (first.units_per_page, last.units_per_block) == (1, 64)
    assert first.erases.sum() < last.erases.sum(), "what was seen first is as it was"
    assert set(last.blocks) <= set(told)


def test_chance_of_a_policy_comes_from_the_seed(drive: Path, writes: Path) -> None:
    class Dice(Victim):
        name = "dice"

        def choose(self, view: VictimView) -> int | None:
            fit = view.blocks[view.valid < view.units_per_block]
            return self.random.choice(fit) if len(fit) else None

    first, second = run(drive, writes, Dice), run(drive, writes, Dice)
    other = package.run(drive, writes, {"victim.policy": "dice"}, seed=1, policies=[Dice])
    assert first["digest"] == second["digest"] != other["digest"]


def test_a_collect_policy_decides_when(wordline: Run, drive: Path, writes: Path) -> None:
    def free(*options: str | Path) -> dict[str, Any]:
        return parsed(done(wordline("run", drive, writes, "--quiet", "--json", "-", *options)))

    eager = ("--policy", EAGER, "--set", "collect.policy=eager")
    usual, ahead = free(), free(*eager)
    less = free(*eager, "--set", "collect.ahead=5", "--set", "collect.window_pages=4")
    assert usual["write_amplification"] < less["write_amplification"] < ahead["write_amplification"]
    assert (less["config"]["collect"]["ahead"], less["config"]["collect"]["window_pages"]) == (5, 4)
    refused(wordline("run", drive, writes, *eager, "--set", "collect.stop_blocks=1"), "the thresholds are crossed")


def test_a_collect_policy_in_python_holds_as_the_built_in_one_does(wordline: Run, drive: Path, load: Path) -> None:
    def result(policy: str, *sets: str) -> dict[str, Any]:
        steps = ("scope=plane", "reserve_blocks=1", "start_blocks=3", "stop_blocks=3", "window_pages=1", *sets)
        options = [part for step in (f"policy={policy}", *steps) for part in ("--set", f"collect.{step}")]
        return parsed(done(wordline("run", drive, load, "--policy", POLITE, "--quiet", "--json", "-", *options)))

    built_in, in_python = result("preemptive", "hard_blocks=2"), result("polite", "hard=2")
    assert built_in["gc"]["holds"] > 100
    assert in_python["outcome"] == built_in["outcome"] != result("on-demand")["outcome"]
    assert in_python["gc"] == built_in["gc"]
    assert result("on-demand")["gc"]["holds"] == 0


def test_a_collect_policy_in_python_works_ahead_as_the_built_in_one_does(
    wordline: Run, drive: Path, tmp_path: Path
) -> None:
    load = tmp_path / "bursts.toml"
    load.write_text(
        '[[job]]\nrw = "randwrite"\nbs = "16k"\niodepth = 8\nnumber_ios = 4000\n'
        "thinktime_blocks = 100\nthinktime_us = 50000\n"
    )

    def result(policy: str, *sets: str) -> dict[str, Any]:
        steps = ("scope=plane", "reserve_blocks=1", "start_blocks=3", "stop_blocks=3", *sets)
        options = [part for step in (f"policy={policy}", *steps) for part in ("--set", f"collect.{step}")]
        return parsed(done(wordline("run", drive, load, "--policy", AHEAD, "--quiet", "--json", "-", *options)))

    built_in = result("background", "background_blocks=5", "idle_us=2000")
    in_python = result("ahead", "background=5", "idle=2000")
    usual = result("on-demand")
    assert in_python["outcome"] == built_in["outcome"] != usual["outcome"]
    assert in_python["gc"] == built_in["gc"]
    assert built_in["gc"]["collections"] > usual["gc"]["collections"]


def test_bursts_after_rests_meet_no_garbage_collection(wordline: Run, tmp_path: Path) -> None:
    load = tmp_path / "bursts.toml"
    load.write_text(
        '[[job]]\nrw = "randwrite"\nbs = "16k"\niodepth = 8\nnumber_ios = 20000\n'
        "thinktime_blocks = 2000\nthinktime_us = 1000000\n"
    )

    def result(*sets: str) -> dict[str, Any]:
        options = [part for step in sets for part in ("--set", f"collect.{step}")]
        return parsed(done(wordline("run", "demo", load, "--quiet", "--json", "-", *options)))

    usual, ahead = result(), result("policy=background", "scope=drive")
    # All bursts but the first find free blocks.
    assert usual["gc_affected_us"]["write"]["count"] > 10_000
    assert ahead["gc_affected_us"]["write"]["count"] < 2_000
    assert ahead["latency_us"]["write"]["p99"] < usual["latency_us"]["write"]["p99"] / 4
    assert usual["write_amplification"] < ahead["write_amplification"] < 1.1 * usual["write_amplification"]


def test_a_rest_has_a_length(drive: Path, writes: Path) -> None:
    class Tired(Collect):
        name = "tired"

        def wants(self, view: SpaceView) -> bool:
            return view.free + view.running < 3

        def after_rest(self) -> float | None:
            return -1.0

    with pytest.raises(package.InputError, match="its method 'after_rest' is of no use"):
        run(drive, writes, Tired)


def test_what_a_policy_sees_of_a_step(drive: Path, writes: Path) -> None:
    seen: list[StepView] = []

    class Slow(Collect):
        """Holds erases until it is forced."""

        name = "slow"

        def wants(self, view: SpaceView) -> bool:
            return view.free + view.running < 3

        def step(self, view: StepView) -> bool:
            seen.append(view)
            assert view.die == view.domain // self.drive.planes_per_die
            assert view.running >= 1
            assert isinstance(view.host_has_room, bool)
            assert not view.erases or view.unread == view.on_the_way == 0
            return numpy.bool_(not view.erases)  # type: ignore[return-value]

    result = run(drive, writes, Slow, scope="plane")
    assert result["gc"]["collections"] >= result["gc"]["holds"] > 100
    assert {view.erases for view in seen} == {True, False}
    assert not all(view.host_rests for view in seen)


def test_options_are_checked_like_others(drive: Path) -> None:
    def problem(*sets: str) -> str:
        with pytest.raises(package.InputError) as caught:
            package.check(drive, ["victim.policy=mine", *sets], policies=[Greedy])
        return str(caught.value)

    config = package.check(drive, ["victim.policy=mine", "victim.slack=1"], policies=[Greedy])["config"]
    assert config["victim"] == {"policy": "mine", "slack": 1, "mode": "first", "retries": 0, "loud": False}
    assert "unknown key 'victim.slak' (value 1); did you mean 'victim.slack'?" in problem("victim.slak=1")
    assert "'victim.slack' is \"much\"; expected a number" in problem("victim.slack=much")
    assert "'victim.retries' is 1.5; expected an integer" in problem("victim.retries=1.5")
    assert "expected one of first, last" in problem("victim.mode=lost")
    with pytest.raises(package.InputError, match="did you mean 'mine'"):
        package.check(drive, ["victim.policy=mime"], policies=[Greedy])
    with pytest.raises(package.InputError, match="expected one of greedy, "):
        package.check(drive, ["victim.policy=mine"])


def test_an_option_without_a_value_has_to_be_given(drive: Path) -> None:
    class Needy(Greedy):
        name = "needy"
        share: float

    with pytest.raises(package.InputError, match=r"'victim.share' is missing; expected a number"):
        package.check(drive, ["victim.policy=needy"], policies=[Needy])
    given = package.check(drive, ["victim.policy=needy", "victim.share=2"], policies=[Needy])
    assert given["config"]["victim"]["share"] == 2


def test_what_a_policy_raises_comes_back_as_it_was_raised(drive: Path, writes: Path) -> None:
    class Lost(LookupError):
        pass

    def deep(view: VictimView) -> int:
        raise Lost(f"no block in domain {view.domain}")

    with pytest.raises(Lost, match="no block in domain") as caught:
        run(drive, writes, choosing(lambda _, view: deep(view)))
    assert [frame.name for frame in traceback.extract_tb(caught.tb)][-2:] == ["<lambda>", "deep"]
    assert "the policy 'odd' (victim), at 0." in caught.value.__notes__[0]
    # The engine works as before.
    assert run(drive, writes, Greedy)["partial"] is False


def test_an_exception_about_a_block_comes_back_wherever_it_is_raised(drive: Path, writes: Path, tmp_path: Path) -> None:
    def lost(erases: int, order: int) -> int:
        if erases == limit:
            raise LookupError(f"no rank for {order}")
        return order

    limit = 2
    odd = ranking(lost)
    with pytest.raises(LookupError, match="no rank for") as caught:
        run(drive, writes, odd)
    assert [frame.name for frame in traceback.extract_tb(caught.tb)][-2:] == ["<lambda>", "lost"]
    assert "the policy 'odd' (free_block), at 0." in caught.value.__notes__[0]
    aged = package.Drive(drive)
    aged.precondition(fill=True)
    aged.save(tmp_path / "aged.snapshot")
    # In a new drive, in one from a snapshot, and in a fork under another policy.
    limit = 0
    sets = {"free_block.policy": "odd"}
    with pytest.raises(LookupError, match="no rank for 0"):
        run(drive, writes, odd)
    with pytest.raises(LookupError, match="no rank for 0"):
        package.Drive(drive, sets, policies=[odd])
    with pytest.raises(LookupError, match="no rank for 0"):
        package.run(drive, writes, sets, snapshot=tmp_path / "aged.snapshot", policies=[odd])
    with pytest.raises(LookupError, match="no rank for 0"):
        package.Drive(drive, policies=[odd]).fork(sets)


def test_an_exception_is_not_lost_if_nothing_is_asked_afterwards(drive: Path, load: Path) -> None:
    class Deaf(Greedy):
        name = "deaf"

        def closed(self, block: int) -> None:
            raise LookupError(f"not block {block}")

    # Only the fill closes blocks, and nothing needs collection.
    reads = package.Workload.given(load, {"job.0.rw": "randread"})
    assert package.run(drive, reads, {"precondition.fill": True})["gc"]["collections"] == 0
    with pytest.raises(LookupError, match="not block"):
        run(drive, reads, Deaf)  # type: ignore[arg-type]


def test_a_policy_may_refuse_its_options(drive: Path, writes: Path) -> None:
    class Strict(Greedy):
        name = "strict"

        def __init__(self) -> None:
            if self.slack > 1:
                raise ValueError(f"slack = {self.slack} is more than a block")

    with pytest.raises(ValueError, match=r"slack = 2\.0 is more than a block"):
        run(drive, writes, Strict, slack=2)
    with pytest.raises(ValueError, match=r"slack = 2\.0 is more than a block"):
        package.check(drive, {"victim.policy": "strict", "victim.slack": 2}, policies=[Strict])


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda _: 10**6, "it chose block 1000000, which does not exist: the drive has blocks 0 to 639"),
        (lambda _: -1, "it answered -1 (int); expected the number of a block, or None"),
        (lambda _: 2**40, "it answered 1099511627776 (int); expected the number of a block, or None"),
        (lambda _: True, "it answered True (bool)"),
        (lambda _: "3", "it answered '3' (str)"),
        (lambda view: view.blocks, "(ndarray)"),
        (lambda view: view.blocks[-1], "which gains no page: 64 of its 64 units are valid"),
        (lambda view: (view.domain * 40 + 40) % 640, "expected a block of domain"),
        (lambda _: None, "it chose no block, though"),
    ],
)
def test_an_answer_of_no_use_ends_the_run_with_its_story(
    drive: Path, writes: Path, answer: Callable[[VictimView], object], words: str
) -> None:
    with pytest.raises(package.RunError) as caught:
        run(drive, writes, choosing(lambda _, view: answer(view)))
    assert str(caught.value).startswith("the policy 'odd' (victim), at 0.")
    assert words in str(caught.value)
    assert "defect" not in str(caught.value)


@pytest.mark.parametrize(
    "answer", [-1, 2**64, True, False, None, 1.0, "1", numpy.float64(2), numpy.bool_(True)], ids=repr
)
@pytest.mark.parametrize("erases", [0, 1])
def test_a_rank_of_no_use_ends_the_run_with_its_story(drive: Path, writes: Path, answer: object, erases: int) -> None:
    def rank(times: int, order: int) -> object:
        return order if times < erases else answer

    with pytest.raises(package.RunError) as caught:
        run(drive, writes, ranking(rank))
    told = str(caught.value)
    assert told.startswith("the policy 'odd' (free_block), at 0.")
    assert f": it answered {answer!r} ({type(answer).__name__}); expected a whole number from 0 to 2**64 - 1" in told


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "it answered None (NoneType); expected True or False"),
        (False, "it did not start garbage collection in domain"),
    ],
)
def test_a_drive_that_never_collects_says_why_it_stopped(drive: Path, writes: Path, answer: object, words: str) -> None:
    class Lazy(Collect):
        name = "lazy"

        def wants(self, view: SpaceView) -> bool:
            return answer  # type: ignore[return-value]

    with pytest.raises(package.RunError, match=r"the policy 'lazy' \(collect\), at 0\.") as caught:
        run(drive, writes, Lazy)
    assert words in str(caught.value)


def test_a_step_without_an_answer_ends_the_run(drive: Path, writes: Path) -> None:
    class Forgetful(Collect):
        name = "forgetful"

        def wants(self, view: SpaceView) -> bool:
            return view.free + view.running < 3

        def step(self, view: StepView) -> None:  # type: ignore[override]
            assert view.running == 1

    with pytest.raises(package.RunError, match=r"the policy 'forgetful' \(collect\), at 0\.") as caught:
        run(drive, writes, Forgetful, scope="plane")
    assert "it answered None (NoneType); expected True or False" in str(caught.value)
    with pytest.raises(package.InputError, match=r"does not go with mapping\.policy"):
        package.check(drive, {"collect.policy": "forgetful", "mapping.policy": "block"}, policies=[Forgetful])


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Greedy(), "is not a policy class"),
        (type("A", (), {}), "is not a policy class"),
        (type("B", (Victim,), {"choose": Greedy.choose}), 'has no name; write, for example: name = "b"'),
        (type("C", (Victim,), {"name": "c"}), "write its method 'choose'"),
        (type("D", (Greedy,), {"__annotations__": {"x": list}}), "options are of type bool, int, float, str"),
        (type("E", (Greedy,), {"__annotations__": {"x": int}, "x": "1"}), "has the default '1'"),
        (type("F", (Greedy,), {"__annotations__": {"policy": int}}), "an option cannot be called 'policy'"),
        (type("G", (Greedy,), {"__annotations__": {"choose": int}}), "an option cannot be called 'choose'"),
    ],
)
def test_a_class_that_is_no_policy_is_told_so(drive: Path, policy: type, words: str) -> None:
    with pytest.raises(TypeError) as caught:
        package.check(drive, policies=[policy])
    assert words in str(caught.value)


def test_names_are_taken_once(drive: Path) -> None:
    taken = type("Taken", (Greedy,), {"name": "greedy"})
    with pytest.raises(package.InputError, match="a policy of this name comes with the program"):
        package.check(drive, policies=[taken])
    with pytest.raises(package.InputError, match="two policies of the family have this name"):
        package.check(drive, policies=[Greedy, Greedy])
    with pytest.raises(TypeError, match=r"write policies=\[Greedy\]"):
        package.check(drive, policies=Greedy)  # type: ignore[arg-type]
    assert described(Greedy)["summary"] == "The block with the fewest valid units"


@pytest.mark.parametrize(
    ("key", "name", "file"),
    [("victim.policy", "python-greedy", VICTIMS), ("free_block.policy", "python-least-erased", WEAR)],
)
def test_a_snapshot_needs_the_policy_again(
    wordline: Run, drive: Path, writes: Path, key: str, name: str, file: Path
) -> None:
    mine = ("--set", f"{key}={name}", "--policy", file)
    aged = ("--set", "precondition.overwrites=0.5")
    done(wordline("precondition", drive, "-o", "aged.snapshot", *mine, *aged, "--quiet"))
    start = ("run", drive, writes, "--from", "aged.snapshot")
    once, again = (parsed(done(wordline(*start, *mine, "--quiet", "--json", "-"))) for _ in range(2))
    assert once["digest"] == again["digest"]
    refused(wordline(*start, *mine[:2]), f"'{key}' is \"{name}\"")
    done(wordline(*start, "--quiet"))


def test_the_command_shows_the_traceback_of_the_file(wordline: Run, drive: Path, writes: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from wordline.policy import Victim\n\nclass Mine(Victim):\n    name = 'mine'\n\n"
        "    def choose(self, view):\n        return 1 // (len(view.blocks) * 0)\n"
    )
    outcome = wordline("run", drive, writes, "--policy", path, "--set", "victim.policy=mine")
    assert outcome.returncode == 1
    lines = outcome.stderr.splitlines()
    start = lines.index("Traceback (most recent call last):")
    assert 'mine.py", line 7, in choose' in lines[start + 1]
    assert "ZeroDivisionError: integer division or modulo by zero" in outcome.stderr
    assert "the policy 'mine' (victim), at 0." in outcome.stderr
    assert lines[-1] == f"wordline: {path}: the run ended with an exception in this file"
    assert "cli.py" not in outcome.stderr
    assert "panicked" not in outcome.stderr


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        (None, 2, "no such file"),
        ("x = 1\n", 2, "this file has no policy"),
        ("from wordline.policy import Victim\n", 2, "this file has no policy"),
        ("def (:\n", 2, "this is not valid Python (see above)"),
        ("raise OSError('gone')\n", 1, "OSError: gone"),
        ("import nowhere_at_all\n", 1, "No module named 'nowhere_at_all'"),
        ("from wordline.policy import Victim\nclass A(Victim):\n    name = 'a'\n", 2, "write its method 'choose'"),
    ],
)
def test_a_file_of_no_use_is_told_so(
    wordline: Run, drive: Path, tmp_path: Path, text: str | None, status: int, words: str
) -> None:
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    outcome = wordline("check", drive, "--policy", path)
    assert outcome.returncode == status
    assert words in outcome.stderr
    assert outcome.stderr.splitlines()[-1].startswith("wordline: ")
    assert "policyfile.py" not in outcome.stderr


def test_policies_of_a_file_are_listed_with_the_others(wordline: Run) -> None:
    listed = parsed(done(wordline("policies", "victim", "--policy", VICTIMS, "--json")))
    names = ["python-greedy", "python-cost-benefit", "python-read-aligned"]
    assert [policy["name"] for policy in listed][-3:] == names
    assert listed[-2]["options"] == [{"key": "victim.age_weight", "default": 1.0, "doc": ""}]
    shown = done(wordline("policies", "collect", "--policy", EAGER))
    assert "eager" in shown
    assert "collect.ahead = 8" in shown
    assert "python-least-erased" in done(wordline("policies", "free_block", "--policy", WEAR))


def test_a_checked_drive_shows_the_options(wordline: Run, drive: Path) -> None:
    shown = done(wordline("check", drive, "--policy", EAGER, "--set", "collect.policy=eager"))
    assert "ahead = 8" in shown
