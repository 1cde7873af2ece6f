"""Policies in Python beside those of garbage collection: they do as built-in ones, and bad answers end the run."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import wordline as package
from conftest import ROOT, Run, done, parsed
from wordline.policy import (
    Arbiter,
    Dispatch,
    Mapping,
    Place,
    Placement,
    Refresh,
    StageView,
    UpkeepView,
    Wear,
    described,
)

EXAMPLES = ROOT / "docs" / "examples"

PARTIAL = """\
[[job]]
rw = "randrw"
rwmixread = 30
bs = "4k"
iodepth = 16
number_ios = 20_000
"""

SKEWED = """\
[[job]]
rw = "randrw"
bs = "16k"
iodepth = 16
number_ios = 150_000
random_distribution = "zipf:1.2"
"""

MEMBERS = [
    ("placement", "static", "places.py", "collect.scope=plane"),
    ("placement", "least-busy", "places.py", "collect.scope=drive"),
    ("placement", "in-turn", "places.py", "collect.scope=plane capacity.raw_over_logical=1.5"),
    ("placement", "by-request", "places.py", "collect.scope=plane capacity.raw_over_logical=1.5"),
    ("arbiter", "first-come", "turns.py", ""),
    ("arbiter", "reads-first", "turns.py", ""),
    ("arbiter", "priority", "turns.py", "collect.pacing=false"),
    ("arbiter", "slack", "turns.py", "arbiter.read_deadline_us=900 arbiter.write_deadline_us=4000"),
    ("dispatch", "one-queue", "stage.py", "dispatch.depth=2"),
    ("dispatch", "priority", "stage.py", "placement.policy=static collect.scope=plane"),
    ("dispatch", "weighted-fair", "stage.py", "shares.policy=feedback"),
    ("dispatch", "deadline", "stage.py", ""),
    ("dispatch", "deadline", "stage.py", "dispatch.read_deadline_us=9000 placement.policy=static collect.scope=plane"),
    ("dispatch", "vaq", "queues.py", ""),
    ("dispatch", "paq", "queues.py", "pack.policy=planes dispatch.bound_us=300"),
    ("dispatch", "paq", "queues.py", "pack.policy=planes dispatch.interleave=true dispatch.decision_us=2"),
    ("dispatch", "paq", "queues.py", "pack.policy=planes dispatch.clumps=false"),
    ("dispatch", "out-of-order", "queues.py", "pack.policy=planes dispatch.packing=true"),
    ("dispatch", "fifo", "queues.py", ""),
    ("dispatch", "in-order", "queues.py", "dispatch.wait_for_bus=false placement.policy=static collect.scope=plane"),
    ("dispatch", "in-order", "queues.py", "dispatch.unit=die placement.policy=static collect.scope=plane"),
    ("dispatch", "one-request", "queues.py", "dispatch.order=reads-first placement.policy=static collect.scope=plane"),
    ("mapping", "cached", "mapcache.py", "mapping.unit_kib=4 mapping.cache_kib=64"),
    ("refresh", "scrub", "upkeep.py", "refresh.start_reads=40 refresh.stop_reads=30"),
    ("wear", "static", "upkeep.py", "wear.start_cycles=3 wear.stop_cycles=2"),
    ("wear", "recency", "upkeep.py", "wear.erases_per_block=3"),
    ("wear", "hot-cold", "upkeep.py", "wear.threshold_cycles=2"),
    ("shares", "feedback", "times.py", "dispatch.policy=debit"),
    ("suspend", "reads", "times.py", "suspend.least_left_us=50"),
]
"""Built-in policies, the examples that are written as they are, and the settings that they need."""

BUFFERED = "mapping.unit_kib=4 buffer.policy=fifo buffer.capacity_kib=1024"


@pytest.fixture
def partial(tmp_path: Path) -> Path:
    path = tmp_path / "partial.toml"
    path.write_text(PARTIAL)
    return path


@pytest.fixture
def skewed(tmp_path: Path) -> Path:
    path = tmp_path / "skewed.toml"
    path.write_text(SKEWED)
    return path


def settings(*texts: str) -> list[str]:
    """Settings as options of a command."""
    return [part for text in texts for setting in text.split() for part in ("--set", setting)]


@pytest.mark.parametrize("buffered", [False, True], ids=["direct", "buffered"])
@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: "-".join((*member[:2], *member[3].split()[:3])))
def test_a_built_in_policy_in_python_does_the_very_same(
    wordline: Run, drive: Path, partial: Path, skewed: Path, member: tuple[str, str, str, str], buffered: bool
) -> None:
    family, name, file, needs = member
    load = skewed if family in ("refresh", "wear") else partial

    def result(policy: str) -> dict[str, Any]:
        staged = "dispatch.policy=priority" if family not in ("dispatch", "shares") else ""
        more = (BUFFERED, staged) if buffered else ()
        if buffered and name in ("by-request", "in-order", "one-request"):
            # These do not go with a write buffer.
            more = ("mapping.unit_kib=4", staged)
        sets = settings(needs, *more, f"{family}.policy={policy}")
        options = ("--policy", EXAMPLES / file, "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, load, *sets, *options)))

    built_in, in_python = result(name), result(f"python-{name}")
    assert in_python["outcome"] == built_in["outcome"]
    assert in_python["latency_us"] == built_in["latency_us"]
    assert in_python["digest"] != built_in["digest"], "the configuration is another one"
    if family in ("refresh", "wear"):
        assert built_in["tasks"][family]["blocks"] > 2


def placing(place: Callable[[int], object]) -> type[Placement]:
    """A placement policy with this choice."""
    return type("Odd", (Placement,), {"name": "odd", "place": lambda _, page: place(page)})


def told_at_end(drive: Path, load: Path, policy: type, **sets: object) -> str:
    """What a run says that a policy ends."""
    keys = {f"{policy.family}.policy": policy.name, **{key.replace("__", "."): value for key, value in sets.items()}}
    with pytest.raises(package.RunError) as caught:
        package.run(drive, load, keys, policies=[policy])
    told = str(caught.value)
    assert told.startswith(f"the policy '{policy.name}' ({policy.family}), at ")
    assert "defect" not in told
    return told


def test_a_placement_sees_every_write_and_the_shape_of_the_drive(drive: Path, writes: Path) -> None:
    pages: list[int] = []

    class Looker(Placement):
        name = "looker"

        def place(self, page: int) -> Place:
            shape = self.drive
            assert (shape.channels, shape.dies_per_channel, shape.planes_per_die, shape.dies) == (4, 2, 2, 8)
            pages.append(page)
            return ("channel", numpy.int64(page % 4))  # type: ignore[return-value]

    made = package.Drive(drive, {"placement.policy": "looker", "collect.scope": "plane"}, policies=[Looker])
    made.precondition(fill=True)
    filled = made.capacity // (16 * 1024)
    assert pages == list(range(filled))
    pages.clear()
    result = made.run(writes)
    # One page each, and none for the pages that are moved.
    assert len(pages) == result["by_op"]["write"]["requests"] == 40_000
    assert result["gc"]["collections"] > 100


@pytest.mark.parametrize(
    "answer", [-1, 2**32, True, 1.0, "die", ("die",), ("way", 0), ("die", -1), ("die", True), (0, "die"), [0]], ids=repr
)
def test_a_place_of_no_use_ends_the_run_with_its_story(drive: Path, writes: Path, answer: object) -> None:
    told = told_at_end(drive, writes, placing(lambda _: answer))
    assert (
        f": it answered {answer!r} ({type(answer).__name__}); expected the number of a plane, a pair such as " in told
    )


@pytest.mark.parametrize("what", ["channel", "die", "plane"])
def test_a_place_that_the_drive_does_not_have_is_told(drive: Path, writes: Path, what: str) -> None:
    count = {"channel": 4, "die": 8, "plane": 16}[what]
    told = told_at_end(drive, writes, placing(lambda _: (what, count)))
    assert f": it placed page 0 in {what} {count}, which does not exist: the drive has {what}s 0 to {count - 1}" in told


def test_a_placement_that_fills_a_plane_is_named(drive: Path, writes: Path) -> None:
    told = told_at_end(drive, writes, placing(lambda _: 3), collect__scope="plane")
    assert "writes wait for room in places that it chose; spread the pages evenly" in told


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        ({"mapping.policy": "block"}, "it places single pages"),
    ],
)
def test_a_placement_that_cannot_be_is_refused(drive: Path, sets: dict[str, object], words: str) -> None:
    odd = {"placement.policy": "odd", "collect.scope": "drive", "pack.policy": "none"}
    with pytest.raises(package.InputError, match=words):
        package.check(drive, {**odd, **sets}, policies=[placing(lambda _: None)])


def test_a_pattern_goes_with_what_fixed_planes_go_with(drive: Path, partial: Path) -> None:
    class Reversed(Placement):
        name = "reversed"

        def pattern(self) -> list[int]:
            return list(range(self.drive.planes))[::-1]

    raid = {"redundancy.policy": "ttflash", "redundancy.dies": 4, "pack.policy": "none"}
    for more in [{}, {"mapping.policy": "block", "pack.policy": "none"}, raid]:
        keys = {"collect.scope": "plane", **more}
        if more is raid:
            # Four planes in a row must lie in four dies.
            keys = {**keys, "geometry.planes_per_die": 1, "capacity.raw_over_logical": 1.6}
        result = package.run(drive, partial, {"placement.policy": "reversed", **keys}, policies=[Reversed])
        assert result["requests"] == 20_000
        # The built-in order that visits planes first is the same, from the first plane on.
        built_in = package.run(drive, partial, {"placement.policy": "static", "placement.order": "PDWC", **keys})
        assert built_in["outcome"] != result["outcome"]
    aged = package.Drive(drive, {"placement.policy": "reversed", "collect.scope": "plane"}, policies=[Reversed])
    with pytest.raises(package.InputError, match="made with the same order"):
        aged.fork({"placement.policy": "static"})


def shuffled(rounds: int, seed: int = 3) -> type[Placement]:
    """A pattern of several rounds through all planes, each in an order of its own; or in one order if the seed is 0."""

    def pattern(self: Placement) -> list[int]:
        planes, chance = range(self.drive.planes), random.Random(seed)
        return [at for _ in range(rounds) for at in (chance.sample(planes, len(planes)) if seed else planes)]

    return type("Odd", (Placement,), {"name": "odd", "pattern": pattern})


@pytest.mark.parametrize("more", [{}, {"mapping.policy": "block", "pack.policy": "none"}, {"mapping.unit_kib": 4}])
def test_a_long_pattern_fixes_planes_as_well(
    drive: Path, partial: Path, tmp_path: Path, more: dict[str, object]
) -> None:
    keys = {"placement.policy": "odd", "collect.scope": "plane", "capacity.raw_over_logical": 1.6, **more}

    def outcome(policy: type[Placement], call: Callable[..., dict[str, Any]] = package.run) -> str:
        return call(drive, partial, {**keys, "verify.shadow": True}, policies=[policy])["outcome"]

    for call in (package.run, package.replay):
        assert outcome(shuffled(1, 0), call) == outcome(shuffled(5, 0), call) != outcome(shuffled(5), call)
    # Longer than the drive: each page has its own plane, whatever it is. A saved state is checked page by page.
    mixed = shuffled(3000)
    made = package.Drive(drive, keys, policies=[mixed])
    made.precondition(fill=True, overwrites=0.5)
    made.run(partial)
    made.save(tmp_path / "kept.snap")
    package.run(drive, partial, keys, snapshot=tmp_path / "kept.snap", policies=[mixed])
    with pytest.raises(package.InputError, match="made with the same order"):
        package.run(drive, partial, keys, snapshot=tmp_path / "kept.snap", policies=[shuffled(3000, 4)])


def test_a_pattern_that_fills_a_plane_needs_room_there(drive: Path) -> None:
    class InARow(Placement):
        name = "odd"

        def pattern(self) -> list[int]:
            # 64 pages of 2,560 in each plane, one plane after the other.
            return [plane for plane in range(self.drive.planes) for _ in range(4096)]

    with pytest.raises(package.InputError, match=r"capacity\.raw_over_logical"):
        package.check(drive, {"placement.policy": "odd", "collect.scope": "plane"}, policies=[InARow])


def test_a_placement_sees_requests(drive: Path, partial: Path) -> None:
    begun: list[int] = []
    placed: list[int | None] = []

    class Looker(Placement):
        name = "looker"

        def begins(self, request: int) -> None:
            begun.append(request)

        def place_for(self, page: int, request: int | None) -> Place:
            assert request is None or request in begun[-64:]
            placed.append(request)
            return None

    result = package.run(drive, partial, {"placement.policy": "looker"}, policies=[Looker])
    assert len(begun) == result["by_op"]["write"]["requests"]
    # A write that had to wait for another one of its page may be placed once more.
    ours = [request for request in placed if request is not None]
    assert set(ours) == set(begun)
    assert len(begun) <= len(ours) < 1.01 * len(begun)
    # Numbers are used again: no more than requests at a time.
    assert len(set(begun)) <= 16
    assert None in placed, "the drive was filled"


def test_a_placement_is_told_of_full_planes(drive: Path, writes: Path) -> None:
    told: list[int] = []

    class First(Placement):
        name = "first"

        def __init__(self) -> None:
            self.plane = 0

        def place(self, page: int) -> Place:
            return self.plane

        def passed_over(self) -> None:
            told.append(self.plane)
            self.plane = (self.plane + 1) % self.drive.planes

    keys = {"placement.policy": "first", "collect.scope": "plane", "capacity.raw_over_logical": 1.6}
    result = package.run(drive, writes, keys, policies=[First])
    assert result["requests"] == 40_000
    # Each plane was filled before the next was asked for.
    assert told[:15] == list(range(15))


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"pattern": lambda _: [0, 1]}, "its pattern has 2 entries; it must have each of the planes 0 to 15 once"),
        ({"pattern": lambda _: []}, "its pattern has 0 entries"),
        (
            {"pattern": lambda _: [*range(16), 0]},
            "has 17 entries; it must have each of the planes 0 to 15 once, or each as",
        ),
        ({"pattern": lambda _: [0] * 16}, "its pattern has 16 entries; it must have each of the planes 0 to 15 once"),
        ({"pattern": lambda _: [*range(15), 16]}, "it must have each of the planes 0 to 15 once"),
        ({"pattern": lambda _: [-1]}, "its method 'pattern' is of no use: it answered \\[-1\\]"),
        ({"pattern": lambda _: [0], "place": lambda _: 0}, "it has 'pattern' and 'place': one of them must decide"),
        ({"place": lambda _: 0, "place_for": lambda _: 0}, "it has 'place' and 'place_for': one of them must decide"),
        ({"pattern": lambda _: None}, "neither pattern nor method 'place' or 'place_for': one of them must decide"),
        ({"place": lambda _: 0, "begins": lambda _: 0}, "'begins' is never called without 'place_for'"),
        ({"pattern": lambda _: [0], "passed_over": lambda _: 0}, "'passed_over' is never called without 'place' or"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_a_placement_of_no_use_is_refused(drive: Path, members: dict[str, object], words: str) -> None:
    odd = type("Odd", (Placement,), {"name": "odd", **members})
    with pytest.raises((package.InputError, ValueError), match=words):
        package.check(drive, {"placement.policy": "odd", "collect.scope": "plane"}, policies=[odd])


def test_a_placement_that_ties_data_to_planes_needs_their_own_collection(drive: Path, writes: Path) -> None:
    turns = {"place": lambda _, page: 3, "passed_over": lambda _: None}
    for members in ({"pattern": lambda self: range(16)}, turns):
        odd = type("Odd", (Placement,), {"name": "odd", **members})
        with pytest.raises(package.InputError, match=r'write collect\.scope = "plane"'):
            package.check(drive, {"placement.policy": "odd", "collect.scope": "drive"}, policies=[odd])
    turns["place"] = lambda _, page: ("die", 0)
    told = told_at_end(drive, writes, type("Odd", (Placement,), {"name": "odd", **turns}), collect__scope="plane")
    assert " in no plane; with a method 'passed_over' it must name one" in told


def serving(choose: Callable[[list[tuple[str, int]]], object]) -> type[Arbiter]:
    """An arbiter with this choice."""
    return type("Odd", (Arbiter,), {"name": "odd", "choose": lambda _, waiting: choose(waiting)})


def test_an_arbiter_sees_the_oldest_of_each_class(drive: Path, partial: Path) -> None:
    seen: set[str] = set()

    def look(waiting: list[tuple[str, int]]) -> int:
        assert len(waiting) > 1
        names = [name for name, _ in waiting]
        assert len(set(names)) == len(names)
        seen.update(names)
        return numpy.int64(len(waiting) - 1)  # type: ignore[return-value]

    odd = {"arbiter.policy": "odd", "mapping.unit_kib": 4}
    result = package.run(drive, partial, odd, policies=[serving(look)])
    assert {"host-read", "host-write", "gc-read", "gc-write"} <= seen
    assert result["requests"] == 20_000


@pytest.mark.parametrize("answer", [-1, None, True, 0.0, "0", 2**70, [0]], ids=repr)
def test_an_index_of_no_use_ends_the_run_with_its_story(drive: Path, partial: Path, answer: object) -> None:
    told = told_at_end(drive, partial, serving(lambda _: answer))
    assert f": it answered {answer!r} ({type(answer).__name__}); expected the index of an operation in the list" in told


def test_an_index_beyond_the_list_is_told(drive: Path, partial: Path) -> None:
    told = told_at_end(drive, partial, serving(len))
    assert ": it chose operation 2, which does not exist: operations 0 to 1 wait" in told


def moving(choose: Callable[[UpkeepView], object], after: object = None, base: type = Wear) -> type:
    """A policy of a background task with this choice."""
    methods = {"next": lambda _, view: choose(view), "after_reads": lambda _: after}
    return type("Odd", (base,), {"name": "odd", **methods})


def test_what_a_background_task_sees(drive: Path, writes: Path) -> None:
    seen: list[UpkeepView] = []

    class Looker(Wear):
        name = "looker"

        def next(self, view: UpkeepView) -> int | None:
            seen.append(view)
            for array in (view.blocks, view.valid, view.reads, view.erases):
                assert array.dtype == numpy.int64
                assert not array.flags.writeable
            for array in (view.written, view.full, view.free):
                assert array.dtype == numpy.bool_
                assert not array.flags.writeable
            assert (view.blocks == numpy.arange(640)).all()
            assert not (view.free & view.written).any()
            assert not (view.full & ~view.written).any()
            assert not view.valid[view.free].any()
            assert view.units_per_block == 64
            return None

    result = package.run(drive, writes, {"wear.policy": "looker"}, policies=[Looker])
    assert (seen[0].erases.sum(), seen[-1].erases.sum()) == (1, len(seen))
    # Some come after the last request.
    assert len(seen) >= result["flash"]["erases"] > 100
    assert seen[0].host_units < seen[-1].host_units <= 40_000
    assert result["tasks"]["wear"]["blocks"] == 0


def test_a_task_that_looks_at_reads_is_asked_from_so_many_on(drive: Path, skewed: Path) -> None:
    most: list[int] = []

    def choose(view: UpkeepView) -> int | None:
        reads = numpy.where(view.written, view.reads, 0)
        most.append(reads.max())
        return view.blocks[reads.argmax()] if reads.max() >= 80 else None

    policy = moving(choose, 80, Refresh)
    result = package.run(drive, skewed, {"refresh.policy": "odd"}, policies=[policy])
    assert result["tasks"]["refresh"]["blocks"] > 10
    # The read that it is asked about has just begun.
    assert most[0] >= 79


@pytest.mark.parametrize("most", [1, 3])
def test_as_many_blocks_move_at_once_as_is_said(drive: Path, writes: Path, most: int) -> None:
    class Burst(Wear):
        name = "burst"

        def __init__(self) -> None:
            self.named: list[tuple[int, int]] = []

        def next(self, view: UpkeepView) -> int | None:
            fit = view.full & (view.erases < view.erases.max())
            if not fit.any() or len(self.named) == 30:
                return None
            self.named.append((view.host_units, view.blocks[fit][0]))
            return view.blocks[fit][0]

        def figures(self) -> dict[str, int]:
            first = self.named[0][0]
            return {"named": len(self.named), "at_first": sum(units == first for units, _ in self.named)}

    sets = {"wear.policy": "burst", "wear.blocks_at_once": most, "verify.shadow": True}
    result = package.run(drive, writes, sets, policies=[Burst])
    figures = result["policy_figures"]["wear"]
    # The last may still be under way when measuring ends.
    assert 0 <= figures["named"] - result["tasks"]["wear"]["blocks"] <= most
    assert figures["at_first"] == most, "it is asked until so many blocks are being moved"


def test_options_of_the_family_are_the_engines_too(drive: Path, writes: Path) -> None:
    class Own(Wear):
        name = "own"
        window_pages = 16
        ahead: int = 1

        def next(self, view: UpkeepView) -> int | None:
            return None

    options = described(Own)["options"]
    assert {key: option["default"] for key, option in options.items()} == {
        "blocks_at_once": 1,
        "window_pages": 16,
        "opens_worn": True,
        "ahead": 1,
    }
    assert described(moving(lambda _: None, 5, Refresh))["options"]["opens_worn"]["default"] is False

    def check(*sets: str) -> dict[str, Any]:
        return package.check(drive, ["wear.policy=own", *sets], policies=[Own])["config"]["wear"]

    shown = {"policy": "own", "blocks_at_once": 1, "window_pages": 4, "opens_worn": True, "ahead": 1}
    assert check("wear.window_pages=4") == shown
    with pytest.raises(package.InputError, match=r"wear.blocks_at_once = 0: must be 1 to 1,000"):
        check("wear.blocks_at_once=0")
    with pytest.raises(package.InputError, match="must be 1 to 65,535"):
        check("wear.window_pages=0")
    with pytest.raises(package.InputError, match="does not go with wear leveling, which opens worn blocks"):
        check("collect.into=shared-block", "collect.scope=plane")
    check("collect.into=shared-block", "collect.scope=plane", "wear.opens_worn=false")
    other = type("Other", (Own,), {"__annotations__": {"window_pages": float}, "window_pages": 1.0})
    with pytest.raises(TypeError, match="an option cannot be called 'window_pages'"):
        package.check(drive, policies=[other])


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda _: 640, "it chose block 640, which does not exist: the drive has blocks 0 to 639"),
        (lambda view: view.blocks[view.free][0], "which cannot be moved: its state is Free"),
        (lambda _: -1, "it answered -1 (int); expected the number of a block, or None"),
        (lambda _: True, "it answered True (bool)"),
        (lambda _: "3", "it answered '3' (str)"),
        (lambda view: view.blocks[view.full][0], "blocks while the host wrote and read nothing; answer None in time"),
    ],
)
@pytest.mark.parametrize("base", [Refresh, Wear])
def test_a_block_of_no_use_ends_the_run_with_its_story(
    drive: Path, writes: Path, base: type, answer: Callable[[UpkeepView], object], words: str
) -> None:
    assert words in told_at_end(drive, writes, moving(answer, None, base))


@pytest.mark.parametrize("after", [0, -1, True, 1.5, "5", 2**32])
def test_reads_of_no_use_are_refused(drive: Path, after: object) -> None:
    with pytest.raises(package.InputError, match="its method 'after_reads' is of no use: it answered") as caught:
        package.check(drive, {"wear.policy": "odd"}, policies=[moving(lambda _: None, after)])
    assert "expected a number of page reads from 1 to 2**32 - 2, or None" in str(caught.value)


def test_what_after_reads_raises_comes_back(drive: Path) -> None:
    class Lost(Wear):
        name = "lost"

        def after_reads(self) -> int | None:
            raise LookupError("no number")

        def next(self, view: UpkeepView) -> int | None:
            return None

    with pytest.raises(LookupError, match="no number"):
        package.check(drive, {"wear.policy": "lost"}, policies=[Lost])


def sending(choose: Callable[[StageView], object], **attributes: object) -> type[Dispatch]:
    """A dispatch policy with this choice."""
    return type("Odd", (Dispatch,), {"name": "odd", "next": lambda _, view: choose(view), **attributes})


def first(view: StageView) -> int | None:
    """The first operation that has a die."""
    return next((at for at, (_, _, die) in enumerate(view.staged) if die is not None), None)


def test_what_a_dispatch_policy_sees(drive: Path, partial: Path) -> None:
    seen: set[str] = set()
    most: list[int] = []
    waited: list[bool] = []

    def look(view: StageView) -> int | None:
        seen.update(name for name, _, _ in view.staged)
        assert list(view.outstanding) == ["host", "gc", "refresh", "wear", "fold"]
        assert view.times[0] < view.times[1] < view.times[2]
        assert view.shares is None
        most.append(sum(view.outstanding.values()))
        waited.append(any(die is None for _, _, die in view.staged))
        return first(view)

    for sees_all in (False, True):
        seen.clear()
        waited.clear()
        policy = sending(look, sees_all=sees_all, depth=2)
        result = package.run(drive, partial, {"dispatch.policy": "odd"}, policies=[policy])
        assert result["requests"] == 20_000
        assert {"host-read", "host-write", "gc-read", "gc-write", "gc-erase"} <= seen
        # Eight dies of two each, and some of more pages.
        assert 12 <= max(most) < 32
    assert any(waited)


def test_a_dispatch_policy_may_take_shares(drive: Path, partial: Path) -> None:
    shares: list[dict[str, float]] = []

    def look(view: StageView) -> int | None:
        shares.append(view.shares)  # type: ignore[arg-type]
        return first(view)

    sets = {"dispatch.policy": "odd", "shares.policy": "feedback"}
    package.run(drive, partial, sets, policies=[sending(look, takes_shares=True)])
    assert all(set(one) == {"host", "gc", "refresh", "wear", "fold"} for one in shares)
    assert len({tuple(one.values()) for one in shares}) > 1, "they are controlled"
    with pytest.raises(package.InputError, match="takes no shares"):
        package.check(drive, sets, policies=[sending(look)])


@pytest.mark.parametrize("answer", [-1, True, 0.0, "0", 2**70, [0]], ids=repr)
def test_a_choice_of_the_stage_of_no_use_ends_the_run(drive: Path, partial: Path, answer: object) -> None:
    told = told_at_end(drive, partial, sending(lambda _: answer))
    words = (
        f": it answered {answer!r} ({type(answer).__name__}); expected the index of an operation in the list, or None"
    )
    assert words in told


@pytest.mark.parametrize(
    ("choose", "words"),
    [
        (lambda view: len(view.staged), "it chose operation 1, which does not exist: operations 0 to 0 are staged"),
        (
            lambda view: next((at for at, one in enumerate(view.staged) if one[2] is None), first(view)),
            "which has no die with room for it",
        ),
        (lambda _: None, "whose dies have room for them"),
    ],
)
def test_an_operation_that_cannot_go_is_told(
    drive: Path, partial: Path, choose: Callable[[StageView], object], words: str
) -> None:
    assert words in told_at_end(drive, partial, sending(choose, sees_all=True))


CACHE = {"mapping.unit_kib": 4, "mapping.cache_kib": 64}


def leaving(choose: Callable[[list[tuple[int, bool]], int], object], **attributes: object) -> type[Mapping]:
    """A choice of the map unit that leaves."""
    methods = {"evict": lambda _, oldest, coming: choose(oldest, coming)}
    return type("Odd", (Mapping,), {"name": "odd", **methods, **attributes})


def test_what_a_choice_of_map_units_sees(drive: Path, partial: Path) -> None:
    used: set[int] = set()
    sizes: set[int] = set()

    class Looker(Mapping):
        name = "looker"
        shown_units = 5

        def used(self, map_unit: int) -> None:
            used.add(map_unit)

        def evict(self, oldest: list[tuple[int, bool]], coming: int) -> int:
            sizes.add(len(oldest))
            assert all(type(changed) is bool for _, changed in oldest)
            assert {unit for unit, _ in oldest} <= used
            assert coming not in {unit for unit, _ in oldest}
            return oldest[-1][0]

    result = package.run(drive, partial, {"mapping.policy": "looker", **CACHE}, policies=[Looker])
    assert sizes == {5}
    # 128,000 logical pages of 4 KiB, 1,024 entries a map unit.
    assert len(used) == 125
    assert result["config"]["mapping"] == {"policy": "looker", "shown_units": 5, "unit_kib": 4, "cache_kib": 64}


def test_a_choice_of_map_units_goes_on_from_a_snapshot(drive: Path, partial: Path, tmp_path: Path) -> None:
    policy = leaving(lambda oldest, _: oldest[0][0])
    sets = {"mapping.policy": "odd", **CACHE}
    made = package.Drive(drive, sets, policies=[policy])
    made.precondition(fill=True)
    made.save(tmp_path / "filled.snapshot")
    once, again = (
        package.run(drive, partial, sets, snapshot=tmp_path / "filled.snapshot", policies=[policy]) for _ in range(2)
    )
    assert once["digest"] == again["digest"]
    # The built-in policy takes over what memory holds.
    cached = {**sets, "mapping.policy": "cached"}
    built_in = package.run(drive, partial, cached, snapshot=tmp_path / "filled.snapshot")
    assert built_in["outcome"] == once["outcome"]


@pytest.mark.parametrize("answer", [-1, None, True, 1.0, "1", 2**32], ids=repr)
def test_a_map_unit_of_no_use_ends_the_run(drive: Path, partial: Path, answer: object) -> None:
    sets = {key.replace(".", "__"): value for key, value in CACHE.items()}
    told = told_at_end(drive, partial, leaving(lambda *_: answer), **sets)
    words = f": it answered {answer!r} ({type(answer).__name__}); expected the number of a map unit that memory holds"
    assert words in told
    told = told_at_end(drive, partial, leaving(lambda _, coming: coming), **sets)
    assert "which memory does not hold" in told
    with pytest.raises(package.InputError, match=r"must be 1 to 4,294,967,295"):
        package.check(drive, {"mapping.policy": "odd", "mapping.shown_units": 0}, policies=[leaving(lambda *_: 0)])


def test_what_is_told_of_use_may_raise(drive: Path, partial: Path) -> None:
    def used(_: Mapping, map_unit: int) -> None:
        raise LookupError(f"not {map_unit}")

    odd = leaving(lambda oldest, _: oldest[0][0], used=used)
    with pytest.raises(LookupError, match="not 0"):
        package.run(drive, partial, {"mapping.policy": "odd", **CACHE}, policies=[odd])
