"""Placements in Python where blocks form superblocks: which planes of the open ones the host writes."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import polars
import pytest
import wordline as package
from conftest import ROOT
from test_policy_families import partial, told_at_end
from test_policy_followers import writing
from test_policy_partners import SMALL, keys
from wordline.policy import Collect, Place, Placement, StepView

__all__ = ["partial"]
"""The load of the other families."""

ROWS: type[Placement] = runpy.run_path(str(ROOT / "docs" / "examples" / "places.py"))["Rows"]

SUPERBLOCKS = "collect.scope=drive redundancy.policy=superblock redundancy.dies=4 capacity.raw_over_logical=1.25"
PARITY = "collect.scope=drive redundancy.policy=rain redundancy.dies=4"

DRIVES = [
    SUPERBLOCKS,
    f"{SUPERBLOCKS} {SMALL}",
    f"{SUPERBLOCKS} {SMALL} redundancy.dies=8",
    f"{PARITY} {SMALL}",
    f"{PARITY} {SMALL} redundancy.dies=2 capacity.raw_over_logical=2.4 pack.policy=none",
    f"{PARITY} {SMALL} arbiter.policy=priority suspend.policy=reads",
    f"{PARITY} {SMALL} dispatch.policy=weighted-fair dispatch.depth=1",
    f"{SUPERBLOCKS} {SMALL} dispatch.policy=debit shares.policy=fixed",
    f"{PARITY} {SMALL} dispatch.policy=deadline",
    f"{PARITY} buffer.policy=fifo buffer.capacity_kib=1024",
    f"{SUPERBLOCKS} buffer.policy=fifo buffer.capacity_kib=256 dispatch.policy=weighted-fair",
    f"{PARITY} {SMALL} mapping.policy=cached mapping.cache_kib=64",
    f"{PARITY} {SMALL} pack.gather=true",
    f"{SUPERBLOCKS} {SMALL} collect.pacing=true",
    f"{SUPERBLOCKS} {SMALL} wear.policy=static wear.start_cycles=2 wear.stop_cycles=1",
    f"{SUPERBLOCKS} {SMALL} collect.instant=true",
]
"""Drives with superblocks."""


def placing(place: Callable[[Placement, int], Place], **methods: object) -> type[Placement]:
    """A placement with this rule."""
    return type("Odd", (Placement,), {"name": "odd", "place": place, **methods})


RULES: dict[str, Callable[[Placement, int], Place]] = {
    "spread": lambda policy, page: page % policy.drive.planes,
    "die": lambda policy, page: ("die", 0),
    "plane": lambda policy, page: 3,
    "random": lambda policy, page: policy.random.randrange(policy.drive.planes),
    "channel": lambda policy, page: ("channel", page % policy.drive.channels),
    "mixed": lambda policy, page: policy.random.choice([None, ("die", 1), ("channel", 0), 2, 3, 5]),
}


@pytest.mark.parametrize("sets", DRIVES)
def test_a_placement_that_names_nothing_is_the_one_of_least_busy(drive: Path, partial: Path, sets: str) -> None:
    own = package.run(drive, partial, {**keys(sets), "placement.policy": "least-busy"})
    anywhere = placing(lambda *_: None)
    other = package.run(drive, partial, {**keys(sets), "placement.policy": "odd"}, policies=[anywhere])
    assert other["outcome"] == own["outcome"]
    assert other["latency_us"] == own["latency_us"]


@pytest.mark.parametrize("sets", DRIVES)
@pytest.mark.parametrize("rule", RULES)
def test_no_place_loses_data_or_stops_the_drive(drive: Path, partial: Path, sets: str, rule: str) -> None:
    given = {**keys(sets), "placement.policy": "odd"}
    first = package.run(drive, partial, given, policies=[placing(RULES[rule])])
    assert first["gc"]["collections"] > 10
    assert first["requests"] == 20_000
    again = package.run(drive, partial, given, policies=[placing(RULES[rule])])
    assert again["outcome"] == first["outcome"]


LARGE = """\
[[job]]
rw = "randwrite"
bs = "64k"
iodepth = {depth}
number_ios = 12_000
"""


@pytest.mark.parametrize(
    ("sets", "rule", "depth"),
    [
        (f"{PARITY} redundancy.dies=2 capacity.raw_over_logical=2.4 dispatch.policy=priority", "channel", 1),
        (f"{PARITY} mapping.unit_kib=8 dispatch.policy=weighted-fair collect.pacing=true", "mixed", 4),
        (f"{SUPERBLOCKS} redundancy.dies=8 capacity.raw_over_logical=1.3 dispatch.policy=debit", "mixed", 1),
        (f"{SUPERBLOCKS} dispatch.policy=priority buffer.policy=fifo buffer.capacity_kib=1024", "channel", 64),
    ],
)
def test_writes_that_come_back_to_the_stage_are_placed_again(
    drive: Path, tmp_path: Path, sets: str, rule: str, depth: int
) -> None:
    load = tmp_path / "large.toml"
    load.write_text(LARGE.format(depth=depth))
    given = {**keys(f"{sets} pack.policy=none"), "placement.policy": "odd"}
    result = package.run(drive, load, given, policies=[placing(RULES[rule])])
    assert result["gc"]["collections"] > 100


ROOM = {"verify.shadow": True, "collect.scope": "drive", "pack.policy": "none", "redundancy.policy": "superblock"}
"""Two dies of two planes, with blocks of 64 pages: 256 pages in a superblock."""


def programs(drive: Path, out: Path, place: Callable[[Placement, int], Place], count: int, **sets: object) -> list[int]:
    """Programs of each plane, where so many pages were written."""
    more = {key.replace("__", "."): value for key, value in sets.items()}
    given = {**ROOM, **more, "placement.policy": "odd"}
    package.run(drive, writing(count), given, policies=[placing(place)], tables="planes", out=out)
    table = polars.read_parquet(out / "planes.parquet").group_by("plane").agg(polars.col("host_programs").sum())
    pages = dict(table.iter_rows())
    return [pages.get(plane, 0) for plane in range(4)]


STAGES = ["fifo", "weighted-fair"]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(
    ("place", "count", "expected"),
    [
        (lambda _, page: page % 4, 64, [16, 16, 16, 16]),
        (lambda _, page: (0, 0, 0, 2)[page % 4], 64, [48, 0, 16, 0]),
        (lambda _, page: ("die", 1), 64, [0, 0, 32, 32]),
        (lambda _, page: ("channel", 0), 64, [16, 16, 16, 16]),
        # A whole block in each of two superblocks, and no further.
        (lambda _, page: 3, 128, [0, 0, 0, 128]),
        (lambda _, page: ("die", 0), 256, [128, 128, 0, 0]),
    ],
)
def test_pages_go_where_they_are_placed(
    empty: Path, tmp_path: Path, place: Callable[..., Place], count: int, expected: list[int], stage: str
) -> None:
    assert programs(empty, tmp_path / "t", place, count, dispatch__policy=stage) == expected


@pytest.mark.parametrize("stage", STAGES)
def test_pages_without_room_in_their_place_go_elsewhere(empty: Path, tmp_path: Path, stage: str) -> None:
    pages = programs(empty, tmp_path / "t", lambda *_: 3, 152, dispatch__policy=stage)
    assert pages[3] == 128
    assert sum(pages) == 152
    # When all planes have filled the older superblock, the plane may write another one.
    pages = programs(empty, tmp_path / "t", lambda *_: 3, 600, dispatch__policy=stage, queue__depth=8)
    assert pages[3] == 192
    assert sum(pages) == 600
    assert min(pages) > 64


@pytest.mark.parametrize("stage", STAGES)
def test_rows_have_their_parity_wherever_data_go(empty: Path, tmp_path: Path, stage: str) -> None:
    # Planes 1 and 3 share rows: each page in one of them is followed by its parity in the other.
    parity = {"redundancy__policy": "rain", "capacity__raw_over_logical": 2.5}
    pages = programs(empty, tmp_path / "t", lambda *_: 3, 64, dispatch__policy=stage, **parity)
    assert pages == [0, 64, 0, 64]


def test_superblocks_are_written_row_by_row_in_the_order_of_the_example(empty: Path, tmp_path: Path) -> None:
    given = {**ROOM, "placement.policy": "python-rows"}
    order = [plane for turn in range(4) for plane in (0, 2, 1, 3)]
    for count in (1, 2, 3, 4, 6):
        out = tmp_path / str(count)
        package.run(empty, writing(count), given, policies=[ROWS], tables="planes", out=out)
        table = polars.read_parquet(out / "planes.parquet").filter(polars.col("host_programs") > 0)
        pages = {plane: order[:count].count(plane) for plane in order[:count]}
        assert dict(table.select("plane", "host_programs").iter_rows()) == pages


def test_requests_can_be_placed(drive: Path, partial: Path) -> None:
    seen: set[int | None] = set()

    class Requests(Placement):
        name = "odd"

        def place_for(self, page: int, request: int | None) -> Place:
            seen.add(request)
            return None if request is None else ("die", request % self.drive.dies)

    package.run(drive, partial, {**keys(f"{PARITY} {SMALL}"), "placement.policy": "odd"}, policies=[Requests])
    assert len(seen) > 8
    assert None in seen


def test_victims_on_hold_go_with_places(drive: Path, partial: Path) -> None:
    class Slow(Collect):
        name = "slow"

        def wants(self, view: object) -> bool:
            return getattr(view, "free", 0) < 40

        def step(self, view: StepView) -> bool:
            return self.random.random() < 0.3

    given = {**keys(f"{PARITY} {SMALL}"), "placement.policy": "odd", "collect.policy": "slow"}
    result = package.run(drive, partial, given, policies=[placing(RULES["mixed"]), Slow])
    assert result["requests"] == 20_000


def test_forks_and_snapshots_go_with_places(drive: Path, partial: Path, tmp_path: Path) -> None:
    given = {**keys(f"{PARITY} {SMALL}"), "placement.policy": "odd"}
    policies = [placing(RULES["mixed"])]
    small = package.Drive(drive, given, policies=policies)
    small.precondition(fill=True)
    small.run(partial)
    fork = small.fork()
    mine = small.run(partial)
    assert fork.run(partial)["digest"] == mine["digest"]
    snapshot = tmp_path / "s.snap"
    small.save(snapshot)
    one, two = (package.run(drive, partial, given, snapshot=snapshot, policies=policies) for _ in range(2))
    assert one["outcome"] == two["outcome"]
    package.run(drive, partial, {**given, "placement.policy": "least-busy"}, snapshot=snapshot)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (99, "which does not exist: the drive has planes 0 to 15"),
        (("die", 8), "which does not exist: the drive has dies 0 to 7"),
        ("die", "it answered 'die' (str); expected the number of a plane"),
    ],
)
def test_places_that_do_not_exist_end_the_run(drive: Path, partial: Path, answer: object, words: str) -> None:
    sets = {"redundancy__policy": "superblock", "collect__scope": "drive"}
    assert words in told_at_end(drive, partial, placing(lambda *_: answer), **sets)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    ("policy", "sets", "words"),
    [
        (
            type("Odd", (Placement,), {"name": "odd", "pattern": lambda policy: list(range(policy.drive.planes))}),
            {},
            "its method 'pattern' ties data to planes, but those of superblocks may have to go elsewhere",
        ),
        (
            placing(lambda *_: 0, passed_over=lambda _: None),
            {},
            "its method 'passed_over' ties data to planes, but those of superblocks may have to go elsewhere",
        ),
        (
            placing(lambda *_: 0),
            {"dispatch.policy": "vaq"},
            'does not go with dispatch.policy = "vaq", which orders writes',
        ),
        (placing(lambda *_: 0), {"dispatch.policy": "in-order"}, "in-order"),
    ],
)
def test_a_placement_that_cannot_be_is_refused(
    drive: Path, policy: type[Placement], sets: dict[str, object], words: str
) -> None:
    given = {"placement.policy": "odd", "collect.scope": "drive", "redundancy.policy": "superblock", **sets}
    with pytest.raises(package.InputError, match=words):
        package.check(drive, given, policies=[policy])
