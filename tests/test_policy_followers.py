"""Packers in Python that have a say in what follows a command in cache mode."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import wordline as package
from test_policy_at_once import ONE_DIE, reading
from test_policy_families import partial, told_at_end
from test_policy_partners import COMPANY, PLANE, SMALL, keys
from wordline.policy import Follower, Pack, PackedOperation

__all__ = ["partial"]
"""The load of the other families."""

SEQUENCES: type[Pack] = runpy.run_path(str(COMPANY))["Sequences"]

DRIVES = [
    PLANE,
    f"{PLANE} {SMALL}",
    f"placement.policy=least-busy collect.scope=drive {SMALL}",
    f"{PLANE} {SMALL} arbiter.policy=priority",
    f"{PLANE} {SMALL} dispatch.policy=weighted-fair",
    f"placement.policy=least-busy collect.scope=drive {SMALL} dispatch.policy=deadline",
    f"{SMALL} buffer.policy=fifo buffer.capacity_kib=1024",
    f"{PLANE} {SMALL} mapping.policy=cached mapping.cache_kib=64",
    f"{PLANE} {SMALL} redundancy.policy=ttflash",
    f"{PLANE} {SMALL} dispatch.policy=in-order",
    f"{PLANE} {SMALL} dispatch.policy=one-request",
]
"""Drives that go with cache mode."""


NOTHING_FOLLOWS = ["dispatch.policy=deadline", "dispatch.policy=in-order"]
"""Those where an operation comes to its die when that is done with others."""


def packing(**methods: object) -> type[Pack]:
    """A packer in cache mode with these methods and options."""
    return type("Odd", (Pack,), {"name": "odd", "cache": True, **methods})


def as_built_in(_: Pack, command: list[PackedOperation], waiting: list[Follower]) -> int | None:
    """The oldest, or none if a younger one would pass it."""
    return 0 if waiting[0].before == 0 else None


@pytest.mark.parametrize("sets", DRIVES)
@pytest.mark.parametrize(
    ("packer", "own"),
    [
        (SEQUENCES, "pack.policy=planes pack.cache=true pack.passes=4"),
        (packing(fits=lambda *_: True), "pack.policy=planes pack.cache=true pack.passes=4"),
        (
            packing(joins=lambda *_: False, fits=lambda *_: True, follows=as_built_in),
            "pack.policy=planes pack.cache=true",
        ),
        (packing(follows=as_built_in, window=0), "pack.policy=cache"),
    ],
    ids=["sequences", "fits", "all", "single-plane"],
)
def test_what_agrees_is_the_rule_of_cache_mode(
    drive: Path, partial: Path, sets: str, packer: type[Pack], own: str
) -> None:
    built_in = package.run(drive, partial, keys(f"{sets} {own}"))
    passes = "pack.passes=4" if "passes" in own else ""
    given = keys(f"{sets} pack.policy={packer.name} {passes}")
    in_python = package.run(drive, partial, given, policies=[packer])
    assert in_python["outcome"] == built_in["outcome"]
    assert in_python["latency_us"] == built_in["latency_us"]
    without = package.run(drive, partial, keys(f"{sets} {own.split()[0].replace('cache', 'none')}"))
    assert (without["outcome"] == built_in["outcome"]) == any(one in sets for one in NOTHING_FOLLOWS)


ALONE = {**ONE_DIE, "dispatch.policy": "fifo", "pack.policy": "odd", "pack.window": 8}
"""A die of two planes with this packer."""


@pytest.mark.parametrize(
    ("answer", "window", "order"),
    [
        (lambda waiting: 0, 8, [1, 2, 3, 4]),
        (lambda waiting: len(waiting) - 1, 8, [4, 3, 2, 1]),
        (lambda waiting: len(waiting) - 1, 3, [3, 4, 2, 1]),
        (lambda waiting: len(waiting) - 1, 0, [1, 2, 3, 4]),
        (lambda waiting: next((at for at, one in enumerate(waiting) if one.page % 2 == 0), None), 8, [2, 4]),
    ],
)
def test_what_is_chosen_follows(
    drive: Path, answer: Callable[[list[Follower]], int | None], window: int, order: list[int]
) -> None:
    # Pages 0 to 4 of a block of the first plane.
    chosen: list[int] = []

    def follows(_: Pack, command: list[PackedOperation], waiting: list[Follower]) -> int | None:
        assert [(one.kind, one.plane) for one in command] == [("host-read", 0)]
        assert [one.before for one in waiting] == list(range(min(max(window, 1), len(waiting))))
        at = answer(waiting)
        if at is not None:
            chosen.append(waiting[at].page)
        return at

    given = {**ALONE, "pack.window": window}
    result = package.run(drive, reading(0, 2, 4, 6, 8), given, policies=[packing(follows=follows)])
    assert result["flash"]["commands"] == 5
    assert chosen == order


def test_sequences_that_end_take_longer(drive: Path) -> None:
    def longest(answer: object) -> float:
        policy = packing(follows=lambda *_: answer)
        result = package.run(drive, reading(0, 2, 4, 6, 8), ALONE, policies=[policy])
        longest: float = result["latency_us"]["read"]["max"]
        return longest

    # Four times the array waits for the bus.
    assert longest(None) > longest(0) + 3 * 16


def writing(count: int) -> package.Workload:
    """Writes of so many pages, all at one time."""
    offsets = [page * 16_384 for page in range(count)]
    columns = {"time_us": [0] * count, "op": ["W"] * count, "offset_bytes": offsets}
    return package.Workload.table({**columns, "size_bytes": [16_384] * count})


@pytest.mark.parametrize("window", [0, 8])
def test_programs_of_which_none_follows_are_plain_ones(empty: Path, window: int) -> None:
    def outcome(policies: list[type[Pack]], **sets: object) -> dict[str, Any]:
        given = {"placement.policy": "static", "collect.scope": "plane", "pack.window": window}
        packs = {f"pack.{key}": value for key, value in sets.items()}
        run = package.run(empty, writing(64), {**given, **packs}, policies=policies)
        outcome: dict[str, Any] = run["outcome"]
        return outcome

    plain = type("Plain", (Pack,), {"name": "plain"})
    ending = outcome([packing(follows=lambda *_: None)], policy="odd")
    assert ending == outcome([plain], policy="plain")
    following = outcome([plain], policy="plain", cache=True)
    assert following != ending
    assert following == outcome([packing(follows=lambda *_: 0)], policy="odd")


@pytest.mark.parametrize(
    ("fits", "followers", "shared"),
    [
        (lambda *_: True, 3, 8),
        # From page 2 on the first plane has a sequence for itself, and then the other one.
        (lambda _, command, other: other.page != 2, 1, 4),
        (lambda _, command, other: other.page == 0, 0, 2),
    ],
)
def test_what_follows_has_the_partners_that_fit(
    drive: Path, fits: Callable[..., object], followers: int, shared: int
) -> None:
    # Pages 0 to 3 of a block in both planes.
    leading: list[int] = []

    def follows(_: Pack, command: list[PackedOperation], waiting: list[Follower]) -> int:
        assert {one.page for one in command} == {command[0].page}
        if len(command) == 2:
            leading.append(waiting[0].page)
        return 0

    policy = packing(fits=fits, follows=follows)
    result = package.run(drive, reading(0, count=8), ALONE, policies=[policy])
    assert result["flash"]["reads"] == 8
    assert result["flash"]["multi_plane_pages"] == shared
    assert leading[:followers] == list(range(1, 1 + followers))


def test_reads_of_two_tasks_follow_each_other(drive: Path, partial: Path) -> None:
    seen: set[tuple[tuple[str, ...], str]] = set()

    def follows(_: Pack, command: list[PackedOperation], waiting: list[Follower]) -> int:
        seen.add((tuple(one.kind for one in command), waiting[0].kind))
        return 0

    given = {**keys(f"{PLANE} {SMALL} pack.policy=odd"), "geometry.channels": 1, "geometry.dies_per_package": 1}
    policy = packing(joins=lambda *_: True, follows=follows)
    result = package.run(drive, partial, given, policies=[policy])
    assert (("gc-read", "host-read"), "gc-read") in seen
    assert (("host-read", "gc-read"), "host-read") in seen
    # Programs of two tasks end their sequence.
    assert {kinds for kinds, _ in seen if len(set(kinds)) > 1 and kinds[0].endswith("-write")} == set()
    assert min(result["gc"][f"joined_{kind}"] for kind in ("reads", "writes")) > 10
    alone = package.run(drive, partial, given, policies=[packing(joins=lambda *_: True, follows=lambda *_: None)])
    assert alone["outcome"] != result["outcome"]


@pytest.mark.parametrize("sets", DRIVES)
@pytest.mark.parametrize("joins", [True, False])
def test_no_answer_loses_data_or_stops_the_drive(drive: Path, partial: Path, sets: str, joins: bool) -> None:
    def follows(policy: Pack, command: list[PackedOperation], waiting: list[Follower]) -> int | None:
        assert {one.kind for one in waiting} == {command[0].kind}
        assert {one.plane for one in waiting} < {one.plane for one in command} or len(command) == 1
        assert [one.before for one in waiting] == sorted({one.before for one in waiting})
        assert [one.sequence for one in waiting] == sorted(one.sequence for one in waiting)
        assert len(waiting) == 1 or command[0].kind.endswith("-read")
        return policy.random.choice([None, *range(len(waiting))]) if policy.random.random() < 0.8 else 0

    methods: dict[str, object] = {"follows": follows, "fits": lambda policy, *_: policy.random.random() < 0.8}
    if joins:
        methods["joins"] = lambda policy, *_: policy.random.random() < 0.8
    policy = packing(**methods)
    first = package.run(drive, partial, keys(f"{sets} pack.policy=odd"), policies=[policy])
    again = package.run(drive, partial, keys(f"{sets} pack.policy=odd"), policies=[policy])
    assert again["outcome"] == first["outcome"]


def test_sequences_can_end_with_their_request(drive: Path) -> None:
    # Two requests of three pages each of a plane: both are under way at one time.
    def commands(across: bool) -> list[tuple[int | None, int | None]]:
        pairs: list[tuple[int | None, int | None]] = []

        class Told(SEQUENCES):  # type: ignore[misc,valid-type]
            name = "told"

            def follows(self, command: list[PackedOperation], waiting: list[Follower]) -> int | None:
                at: int | None = super().follows(command, waiting)
                if at is not None:
                    pairs.append((command[0].request, waiting[at].request))
                return at

        given = {**ALONE, "pack.policy": "told", "pack.across_requests": across}
        package.run(drive, reading(0, 6, count=6), given, policies=[Told])
        return pairs

    assert any(before != after for before, after in commands(across=True))
    within = commands(across=False)
    assert len(within) == 4
    assert all(before == after for before, after in within)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (9, "it chose operation 9 to follow a command, which does not exist: operations 0 to "),
        (-1, "it answered -1 (int); expected the index of an operation in the list, or None"),
        ("first", "it answered 'first' (str); expected the index of an operation in the list, or None"),
        (0.5, "it answered 0.5 (float); expected the index of an operation in the list, or None"),
    ],
)
def test_an_answer_of_no_use_ends_the_run(drive: Path, partial: Path, answer: object, words: str) -> None:
    assert words in told_at_end(drive, partial, packing(follows=lambda *_: answer))


def test_choosing_without_cache_mode_is_refused(drive: Path) -> None:
    words = r"pack\.cache = false: lets no command follow another, so that the method 'follows' has no effect; use true"
    policy = packing(follows=lambda *_: 0)
    with pytest.raises(package.InputError, match=words):
        package.check(drive, {"pack.policy": "odd", "pack.cache": False}, policies=[policy])
    package.check(drive, {"pack.policy": "odd", "pack.window": 0}, policies=[policy])


ONE_PLANE = {
    "geometry.channels": 1,
    "geometry.packages_per_channel": 1,
    "geometry.dies_per_package": 1,
    "geometry.planes_per_die": 1,
    "arbiter.policy": "first-come",
    "dispatch.policy": "fifo",
}
"""A drive of one plane."""


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Reads and writes at random, so many at a time that the drive collects while reads wait."""
    path = tmp_path / "mixed.toml"
    path.write_text(
        '[[job]]\nrw = "randrw"\nrwmixread = 60\nbs = "16k"\niodepth = 16\nnumber_ios = 3000\nnorandommap = true\n'
    )
    return path


def test_reads_of_another_task_follow_if_they_may(drive: Path, mixed: Path) -> None:
    asked: set[tuple[str, str]] = set()
    followed: list[tuple[str, str]] = []

    def crosses(_: Pack, before: str, other: str) -> bool:
        asked.add((before, other))
        return True

    def follows(_: Pack, command: list[PackedOperation], waiting: list[Follower]) -> int:
        followed.append((command[0].kind, waiting[0].kind))
        return 0

    def result(**methods: object) -> dict[str, Any]:
        followed.clear()
        given = {**ONE_PLANE, "pack.policy": "odd", "verify.shadow": True}
        told: dict[str, Any] = package.run(drive, mixed, given, policies=[packing(follows=follows, **methods)])
        return told

    within, never = result(), result(crosses=lambda *_: False)
    assert all(before == after for before, after in followed)
    assert never["outcome"] == within["outcome"]
    across = result(crosses=crosses)
    assert asked == {("host-read", "gc-read"), ("gc-read", "host-read")}
    assert asked < set(followed)
    assert across["requests"] == within["requests"]
    # Each time the array works while the bus carries the other task's page, which takes 20.5 us; commands take a
    # little more.
    crossings = sum(before != after for before, after in followed)
    assert crossings > 50
    gained = within["simulated_s"] - across["simulated_s"]
    assert gained == pytest.approx(crossings * 19.8e-6, rel=0.02)


@pytest.mark.parametrize("sets", DRIVES)
@pytest.mark.parametrize("joins", [True, False])
def test_no_crossing_loses_data_or_stops_the_drive(drive: Path, partial: Path, sets: str, joins: bool) -> None:
    def by_chance(policy: Pack, *_: object) -> bool:
        return policy.random.random() < 0.8

    methods: dict[str, object] = {"crosses": by_chance, "fits": by_chance}
    if joins:
        methods["joins"] = by_chance
    policy = packing(**methods)
    given = keys(f"{sets} pack.policy=odd verify.shadow=true")
    first, again = (package.run(drive, partial, given, policies=[policy]) for _ in range(2))
    assert again["outcome"] == first["outcome"]


def test_crossings_of_no_use_are_told(drive: Path, partial: Path) -> None:
    words = "its method 'crosses' is of no use: it answered None (NoneType); expected True or False"
    given = {"pack__window": 8, "placement__policy": "static", "collect__scope": "plane"}
    assert words in told_at_end(drive, partial, packing(crosses=lambda *_: None), **given)
    words = r"pack\.cache = false: lets no command follow another, so that the method 'crosses' has no effect; use true"
    with pytest.raises(package.InputError, match=words):
        package.check(drive, {"pack.policy": "odd", "pack.cache": False}, policies=[packing(crosses=lambda *_: True)])
