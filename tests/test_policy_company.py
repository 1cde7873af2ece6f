"""Policies in Python of redundancy, packing and TRIM: they do as built-in ones, and bad answers end the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest
import wordline as package
from conftest import ROOT, Run, done, parsed
from test_policy_families import partial, settings, told_at_end
from wordline.policy import AroundView, Pack, Policy, Raid, Redundancy, Superblock, Trim, Victim, VictimView

COMPANY = ROOT / "docs" / "examples" / "company.py"

__all__ = ["partial"]
"""The load of the other families."""

TRIMS = """\
[[job]]
rw = "randtrim"
bssplit = "16k/50:64k/50"
iodepth = 4
number_ios = 4000

[[job]]
rw = "randrw"
bs = "16k"
iodepth = 8
number_ios = 20_000
"""

PLANE = "placement.policy=static collect.scope=plane mapping.unit_kib=4"
DRIVE = "placement.policy=least-busy collect.scope=drive mapping.unit_kib=4"

AMPLE = {"capacity.raw_over_logical": 1.6, "placement.policy": "least-busy", "collect.scope": "drive"}
"""What superblocks with parity need."""

MEMBERS = [
    ("redundancy", "rain", f"{DRIVE} redundancy.policy=rain", f"{DRIVE} redundancy.policy=python-rain"),
    (
        "redundancy",
        "rain of 4",
        f"{DRIVE} redundancy.policy=rain redundancy.dies=4 redundancy.erase_in_turn=false",
        f"{DRIVE} redundancy.policy=python-rain redundancy.dies=4 redundancy.erase_in_turn=false",
    ),
    (
        "redundancy",
        "rain behind a stage",
        f"{DRIVE} redundancy.policy=rain dispatch.policy=priority",
        f"{DRIVE} redundancy.policy=python-rain dispatch.policy=priority",
    ),
    (
        "redundancy",
        "ttflash",
        f"{PLANE} redundancy.policy=ttflash",
        f"{PLANE} redundancy.policy=python-ttflash",
    ),
    ("pack", "join_gc", f"{DRIVE} pack.policy=planes pack.join_gc=true", f"{DRIVE} pack.policy=python-planes"),
    (
        "pack",
        "join_gc by plane",
        f"{PLANE} pack.policy=planes pack.join_gc=true",
        f"{PLANE} pack.policy=python-planes",
    ),
    (
        "pack",
        "join_gc and blocks",
        "mapping.policy=block pack.policy=planes pack.join_gc=true",
        "mapping.policy=block pack.policy=python-planes",
    ),
    ("trim", "invalidate", f"{PLANE} trim.policy=invalidate", f"{PLANE} trim.policy=python-large"),
]
"""Built-in policies, and the examples that are written as they are, with the settings that they need."""


@pytest.fixture
def trims(tmp_path: Path) -> Path:
    path = tmp_path / "trims.toml"
    path.write_text(TRIMS)
    return path


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: "-".join(member[:2]))
def test_a_built_in_policy_in_python_does_the_very_same(
    wordline: Run, drive: Path, partial: Path, trims: Path, member: tuple[str, str, str, str]
) -> None:
    family, _, built_in, in_python = member
    load = trims if family == "trim" else partial

    def result(sets: str) -> dict[str, Any]:
        more = "capacity.raw_over_logical=1.6 precondition.overwrites=1"
        options = ("--policy", COMPANY, "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, load, *settings(more, sets), *options)))

    own, other = result(built_in), result(in_python)
    assert other["outcome"] == own["outcome"]
    assert other["latency_us"] == own["latency_us"]
    assert other["digest"] != own["digest"], "the configuration is another one"
    if family == "redundancy":
        assert own.get("parity", own.get("superblocks"))["rebuilt_reads"] > 100
    elif family == "pack":
        assert own["gc"]["joined_reads"] + own["gc"]["joined_writes"] > 100


def test_the_options_of_the_examples_have_an_effect(wordline: Run, drive: Path, partial: Path, trims: Path) -> None:
    def result(load: Path, sets: str) -> dict[str, Any]:
        aged = "capacity.raw_over_logical=1.6 precondition.overwrites=1"
        options = ("--policy", COMPANY, "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, load, *settings(aged, sets), *options)))

    moved = [result(trims, f"{PLANE} trim.policy=python-large trim.least_pages={least}") for least in (1, 8)]
    assert moved[0]["gc"]["moved_pages"] < moved[1]["gc"]["moved_pages"]
    joined = result(partial, f"{DRIVE} pack.policy=python-planes pack.reads_only=true")["gc"]
    assert joined["joined_reads"] > 0
    assert joined["joined_writes"] == 0
    gains = (0, 300, 1e6)
    rain = f"{DRIVE} redundancy.policy=python-rain redundancy.dies=4"
    rebuilt = [
        result(partial, f"{rain} redundancy.least_gain_us={gain}")["superblocks"]["rebuilt_reads"] for gain in gains
    ]
    assert rebuilt[0] > rebuilt[1] > rebuilt[2] == 0


def packing(joins: Callable[[str, str], object] | None = None, **options: object) -> type[Pack]:
    """A packer with this rule and these options."""
    rule = {} if joins is None else {"joins": lambda _, lead, other: joins(lead, other)}
    return type("Odd", (Pack,), {"name": "odd", **rule, **options})


@pytest.mark.parametrize(
    ("keys", "options"),
    [
        ({"pack.policy": "planes"}, {}),
        ({"pack.policy": "planes", "pack.window": 2, "pack.cache": True}, {"window": 2, "cache": True}),
        ({"pack.policy": "cache", "pack.passes": 3}, {"window": 0, "cache": True, "passes": 3}),
        ({"pack.policy": "none"}, {"window": 0}),
    ],
)
def test_figures_of_packing_are_options(
    drive: Path, partial: Path, keys: dict[str, object], options: dict[str, object]
) -> None:
    built_in = package.run(drive, partial, keys)
    given = {f"pack.{key}": value for key, value in options.items()}
    in_python = package.run(drive, partial, {"pack.policy": "odd", **given}, policies=[packing()])
    assert in_python["outcome"] == built_in["outcome"]
    as_defaults = package.run(drive, partial, {"pack.policy": "odd"}, policies=[packing(**options)])
    assert as_defaults["outcome"] == built_in["outcome"]


def test_a_packer_is_asked_about_other_tasks(drive: Path, partial: Path) -> None:
    asked: set[tuple[str, str]] = set()

    def joins(lead: str, other: str) -> bool:
        asked.add((lead, other))
        return numpy.bool_(True)  # type: ignore[return-value]

    keys = {"pack.policy": "odd", "verify.shadow": True, "mapping.unit_kib": 4}
    result = package.run(drive, partial, keys, policies=[packing(joins)])
    assert asked == {
        (f"{lead}-{kind}", f"{other}-{kind}")
        for lead, other in (("gc", "host"), ("host", "gc"))
        for kind in ("read", "write")
    }
    assert min(result["gc"][f"joined_{kind}"] for kind in ("reads", "writes")) > 10


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"pack.window": 65}, r"pack\.window = 65: must lie between 0 and 64"),
        ({"pack.window": -1}, r"pack\.window = -1: must lie between 0 and 64"),
        ({"pack.passes": 65_536}, r"pack\.passes = 65536: must lie between 0 and 65535"),
        ({"pack.window": 0}, r"packs nothing, so that the method 'joins' has no effect"),
        ({"suspend.policy": "reads"}, r"pack\.policy = odd: does not go with suspend\.policy"),
        ({"collect.instant": True}, r"does not go with pack\.policy"),
        ({"pack.join_gc": True}, r"pack\.join_gc"),
        ({"pack.gather": True, "placement.policy": "static", "collect.scope": "plane"}, r"pack\.gather = true"),
    ],
)
def test_packing_that_cannot_be_is_refused(drive: Path, keys: dict[str, object], words: str) -> None:
    with pytest.raises(package.InputError, match=words):
        package.check(drive, {"pack.policy": "odd", **keys}, policies=[packing(lambda *_: True)])


def test_nothing_can_be_gathered_without_packing(drive: Path) -> None:
    keys = {"pack.policy": "odd", "pack.window": 0, "pack.gather": True}
    with pytest.raises(package.InputError, match=r"pack\.gather = true: has no effect with pack\.window = 0"):
        package.check(drive, keys, policies=[packing()])


def protecting(**methods: object) -> type[Redundancy]:
    """A redundancy with these answers."""
    answers = {name: (lambda *_, given=given: given) for name, given in methods.items()}
    return type("Odd", (Redundancy,), {"name": "odd", **answers})


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        ({"superblock": Superblock(3)}, "its superblocks have 3 dies: must divide the 8 dies"),
        ({"superblock": Superblock(0)}, "its superblocks have 0 dies: must divide the 8 dies"),
        ({"superblock": 4}, r"its method 'superblock' is of no use: it answered 4 \(int\); expected Superblock"),
        ({"superblock": (4.0, True)}, "its method 'superblock' is of no use"),
        ({"superblock": (-1, True)}, "its method 'superblock' is of no use"),
        (
            {"superblock": Superblock(4, groups=3)},
            r"the groups of its superblocks are of no use: it answered 3 \(int\); expected the dies of each group",
        ),
        ({"superblock": Superblock(4, groups=[[0, 1, 2, "x"]])}, "the groups of its superblocks are of no use"),
        (
            {"superblock": Superblock(4, groups=[[0, 1, 2, 3], [4, 5, 6]])},
            "group 1 of its superblocks has 3 dies: must be 4, the dies of a superblock",
        ),
        (
            {"superblock": Superblock(4, groups=[[0, 1, 2, 3], [4, 5, 6, 8]])},
            "its groups have die 8, which does not exist: dies 0 to 7 do",
        ),
        (
            {"superblock": Superblock(4, groups=[[0, 1, 2, 3], [4, 5, 6, 0]])},
            "its groups have die 0 twice: must have each die once",
        ),
        ({"superblock": Superblock(4, groups=[[0, 1, 2, 3]])}, "its groups lack die 4: must have each die once"),
        ({"raid": Raid(3)}, "its stripes have 3 dies: must be 2 to 8, and divide the 16 planes"),
        ({"raid": Raid(4, 0)}, "its memory has room for the changes of 0 stripes: must be at least 1"),
        ({"raid": Raid(True)}, "its method 'raid' is of no use"),
        ({"raid": Raid(4), "superblock": Superblock(4)}, "both superblocks and stripes"),
        ({"goes_around": True}, "it rebuilds reads, but has no parity"),
        ({"goes_around": True, "superblock": Superblock(4)}, "it rebuilds reads, but has no parity"),
        ({"collects_in_turn": True}, "it collects dies in turn, but has no stripes"),
        ({"erases_in_turn": True}, "it erases dies in turn, but has no superblocks"),
        ({"erases_in_turn": None}, "its method 'erases_in_turn' is of no use: it answered None"),
    ],
)
def test_a_redundancy_of_no_use_is_refused(drive: Path, methods: dict[str, object], words: str) -> None:
    with pytest.raises(package.InputError, match=words) as caught:
        package.check(drive, {"redundancy.policy": "odd"}, policies=[protecting(**methods)])
    assert "redundancy.policy = odd: " in str(caught.value)


@pytest.mark.parametrize(
    ("methods", "keys", "words"),
    [
        ({"superblock": Superblock(4)}, {"collect.scope": "plane"}, 'redundancy.policy = "odd": moved data go to any'),
        (
            {"superblock": Superblock(4)},
            {**AMPLE, "pack.policy": "cache"},
            'redundancy.policy = "odd": the sequences of cache',
        ),
        (
            {"superblock": Superblock(4)},
            {**AMPLE, "collect.copyback": "internal"},
            "moved pages go to any die of a superb",
        ),
        ({"raid": Raid(4)}, {"placement.policy": "least-busy"}, "each page of a stripe has a fixed plane"),
        ({"raid": Raid(4)}, {"mapping.policy": "block"}, "parity is of single logical pages"),
        (
            {"raid": Raid(4)},
            {"placement.policy": "static", "placement.order": "PDWC", "collect.scope": "plane"},
            "redundancy.policy = odd: 4 consecutive pages of placement.order must lie in 4 different dies",
        ),
        (
            {"superblock": Superblock(4, parity=True)},
            {**AMPLE, "slc.policy": "dynamic", "nand.slc_read_us": 25.0, "nand.slc_program_us": 200.0},
            "rows of parity would need pages of one mode",
        ),
    ],
)
def test_a_redundancy_is_refused_what_built_in_ones_are(
    drive: Path, methods: dict[str, object], keys: dict[str, object], words: str
) -> None:
    with pytest.raises(package.InputError) as caught:
        package.check(drive, {"redundancy.policy": "odd", **keys}, policies=[protecting(**methods)])
    assert words in str(caught.value)


@pytest.mark.parametrize("parity", [False, True])
@pytest.mark.parametrize(
    ("groups", "planes"),
    [
        (None, {0, 2}),
        ([[0, 2, 4, 6], [1, 3, 5, 7]], {0, 2}),
        ([[0, 1, 2, 3], [4, 5, 6, 7]], {0, 8}),
        (((5, 0, 3, 4), (1, 6, 2, 7)), {10, 2}),
        ([range(4, 8), range(4)], {8, 0}),
    ],
)
def test_superblocks_have_the_dies_of_their_groups(
    drive: Path, partial: Path, parity: bool, groups: Sequence[Sequence[int]] | None, planes: set[int]
) -> None:
    seen: set[int] = set()

    class Seeing(Victim):
        name = "seeing"

        def choose(self, view: VictimView) -> int | None:
            # The first block of each superblock, in plane 0 of the first die of its group.
            seen.update(view.blocks // self.drive.blocks_per_plane)
            return view.blocks[0] if view.valid[0] + 8 * view.units_per_page <= view.units_per_block else None

    policy = protecting(superblock=Superblock(4, parity, groups))
    keys = {**AMPLE, "mapping.unit_kib": 4, "verify.shadow": True, "capacity.raw_over_logical": 1.6 if parity else 1.3}
    own = {**keys, "redundancy.policy": "odd"}
    other = package.run(drive, partial, own, policies=[policy])
    built_in = {**keys, "redundancy.policy": "rain" if parity else "superblock", "redundancy.dies": 4}
    if not parity:
        same = package.run(drive, partial, built_in)["outcome"] == other["outcome"]
        assert same == (planes == {0, 2})
    package.run(drive, partial, {**own, "victim.policy": "seeing"}, policies=[policy, Seeing])
    assert seen == planes


def test_the_example_of_rain_can_keep_to_few_channels(wordline: Run, drive: Path, partial: Path) -> None:
    def result(sets: str) -> dict[str, Any]:
        rain = f"{DRIVE} capacity.raw_over_logical=1.6 redundancy.policy=python-rain redundancy.dies=4 {sets}"
        options = ("--policy", COMPANY, "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, partial, *settings(rain), *options)))

    spread, narrow = result(""), result("redundancy.spread=false")
    assert spread["outcome"] != narrow["outcome"]
    assert narrow["superblocks"]["rebuilt_reads"] > 100


def test_a_redundancy_sees_reads_that_wait_for_background_tasks(drive: Path, partial: Path) -> None:
    seen: list[AroundView] = []

    class Looker(Redundancy):
        name = "looker"

        def superblock(self) -> Superblock:
            return Superblock(4, parity=True)

        def goes_around(self, view: AroundView) -> bool:
            seen.append(view)
            return True

    keys = {"redundancy.policy": "looker", **AMPLE, "verify.shadow": True}
    result = package.run(drive, partial, keys, policies=[Looker])
    assert result["superblocks"]["rebuilt_reads"] > 100
    assert len(seen) >= result["superblocks"]["rebuilt_reads"]
    assert all(view.wait_us > 0 and view.wait_of_others_us >= 0 for view in seen)
    assert max(view.wait_us for view in seen) > 100
    assert not any(view.held for view in seen)


def test_small_deallocations_can_be_ignored(drive: Path, trims: Path) -> None:
    asked: list[tuple[int, int]] = []

    class Large(Trim):
        name = "large"
        least: int = 2

        def invalidates(self, first: int, count: int) -> bool:
            asked.append((first, count))
            return count >= self.least

    def moved(keys: dict[str, object]) -> int:
        return package.run(drive, trims, keys, policies=[Large])["gc"]["moved_pages"]

    all_, none = moved({"trim.policy": "invalidate"}), moved({"trim.policy": "ignore"})
    large = moved({"trim.policy": "large"})
    assert all_ < large < none, "GC moves what was not unmapped"
    assert len(asked) == 4000
    assert {count for _, count in asked} == {1, 4}
    assert max(first for first, _ in asked) > 1000
    assert moved({"trim.policy": "large", "trim.least": 5}) == none
    assert moved({"trim.policy": "large", "trim.least": 1}) == all_


DECISIONS: list[tuple[type[Policy], str, dict[str, object]]] = [
    (Pack, "joins", {}),
    (Trim, "invalidates", {}),
    (
        Redundancy,
        "goes_around",
        {"superblock": lambda _: Superblock(4, parity=True)},
    ),
]


def deciding(base: type[Policy], method: str, more: dict[str, object], decide: Callable[..., object]) -> type[Policy]:
    """A policy of a family with this decision."""
    return type("Odd", (base,), {"name": "odd", **more, method: decide})


@pytest.mark.parametrize(("base", "method", "more"), DECISIONS, ids=lambda value: getattr(value, "family", ""))
def test_bad_decisions_end_the_run(
    drive: Path, partial: Path, trims: Path, base: type[Policy], method: str, more: dict[str, object]
) -> None:
    load = trims if base is Trim else partial
    more_room = AMPLE if base is Redundancy else {}
    spare = {key.replace(".", "__"): value for key, value in more_room.items()}
    told = told_at_end(drive, load, deciding(base, method, more, lambda *_: None), **spare)
    assert ": it answered None (NoneType); expected True or False" in told

    def fail(*_: object) -> None:
        raise ArithmeticError("no idea")

    sets = {f"{base.family}.policy": "odd", **more_room}
    with pytest.raises(ArithmeticError, match="no idea") as caught:
        package.run(drive, load, sets, policies=[deciding(base, method, more, fail)])
    assert f"the policy 'odd' ({base.family}), at " in caught.value.__notes__[0]
    calls = 0

    def stop(*_: object) -> bool:
        nonlocal calls
        calls += 1
        assert calls < 6, "it is not asked again"
        if calls == 5:
            raise KeyboardInterrupt
        return False

    with pytest.raises(package.Interrupted) as stopped:
        package.run(drive, load, sets, policies=[deciding(base, method, more, stop)])
    assert stopped.value.result["partial"]


@pytest.mark.parametrize("base", [Pack, Trim, Redundancy])
def test_unknown_options_and_taken_names_are_refused(drive: Path, base: type[Policy]) -> None:
    policy = deciding(base, {Pack: "joins", Trim: "invalidates", Redundancy: "superblock"}[base], {}, lambda *_: None)
    with pytest.raises(package.InputError, match="unknown key"):
        package.check(drive, {f"{base.family}.policy": "odd", f"{base.family}.od": 1}, policies=[policy])
    taken = type("Taken", (policy,), {"name": {Pack: "planes", Trim: "ignore", Redundancy: "rain"}[base]})
    with pytest.raises(package.InputError, match="a policy of this name comes with the program"):
        package.check(drive, policies=[taken])


def test_a_snapshot_has_name_and_options(drive: Path, partial: Path, tmp_path: Path) -> None:
    keys = {"redundancy.policy": "mine", "redundancy.dies": 4, **AMPLE}

    class Mine(Redundancy):
        name = "mine"
        dies: int = 8

        def superblock(self) -> Superblock:
            return Superblock(self.dies, parity=True)

        def goes_around(self, view: AroundView) -> bool:
            return view.wait_of_others_us < view.wait_us

    made = package.Drive(drive, keys, policies=[Mine])
    made.precondition(fill=True)
    made.save(tmp_path / "kept.snapshot")
    kept = package.Drive(drive, keys, snapshot=tmp_path / "kept.snapshot", policies=[Mine])
    assert kept.run(partial)["outcome"] == made.run(partial)["outcome"]
    with pytest.raises(package.InputError):
        package.Drive(drive, keys, snapshot=tmp_path / "kept.snapshot")

    class Other(Mine):
        def superblock(self) -> Superblock:
            return Superblock(self.dies, parity=True, groups=[[0, 1, 2, 3], [4, 5, 6, 7]])

    with pytest.raises(package.InputError, match="form other superblocks"):
        package.Drive(drive, keys, snapshot=tmp_path / "kept.snapshot", policies=[Other])
