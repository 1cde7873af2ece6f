"""Mappings in Python with log blocks that choose what is merged, and which table of a map zone leaves memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import wordline as package
from conftest import ROOT, Run, done, parsed
from test_policy_families import PARTIAL, settings, told_at_end
from wordline.policy import LogBlocks, Mapping, MergeView

SCHEMES = ROOT / "docs" / "examples" / "logblocks.py"

WHERE = {
    "drive": {"collect.scope": "drive", "placement.policy": "least-busy"},
    "plane": {"collect.scope": "plane", "placement.policy": "static"},
}

RULES = {
    "fast": LogBlocks(log_blocks=40, sequential=True, one_by_one=True),
    "pftl": LogBlocks(log_blocks=40, one_by_one=True),
    "sast": LogBlocks(3, 2, 40, merge_first="least-recently-written"),
    "bast": LogBlocks(1, 1, 40, merge_first="least-recently-written"),
    "groups": LogBlocks(4, 3, 40, one_by_one=True),
}
"""Schemes in which a domain may lack log blocks before a group does."""


@pytest.fixture
def partial(tmp_path: Path) -> Path:
    """The load of the other families, shorter: each merge shows all that could be merged."""
    path = tmp_path / "partial.toml"
    path.write_text(PARTIAL.replace("20_000", "6_000"))
    return path


def merging(rule: LogBlocks, merge: Callable[[MergeView], object] | None) -> type[Mapping]:
    """A scheme with a choice of what is merged."""
    methods = {} if merge is None else {"merge": lambda _, view: merge(view)}
    return type("Odd", (Mapping,), {"name": "odd", "scheme": lambda _: rule, **methods})


def result_of(
    call: Callable[..., dict[str, Any]], drive: Path, load: Path, policy: type[Mapping], where: str
) -> dict[str, Any]:
    """A run or a replay with a mapping."""
    sets = {**WHERE[where], "mapping.policy": "odd", "verify.shadow": True, "capacity.raw_over_logical": 1.4}
    return call(drive, load, sets, policies=[policy])


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("where", WHERE)
def test_the_first_by_priority_is_merged_without_a_choice(drive: Path, partial: Path, name: str, where: str) -> None:
    rule = RULES[name] if where == "drive" else RULES[name]._replace(log_blocks=4)
    seen: list[MergeView] = []

    def first(view: MergeView) -> int | None:
        seen.append(view)
        return view.blocks[0] if len(seen) % 2 else None

    for call in (package.run, package.replay):
        seen.clear()
        own = result_of(call, drive, partial, merging(rule, None), where)
        chosen = result_of(call, drive, partial, merging(rule, first), where)
        assert chosen["outcome"] == own["outcome"]
        assert chosen["log_blocks"] == own["log_blocks"]
        assert seen
        for view in seen:
            assert len({*view.blocks}) == len(view.blocks) > 0
            assert (view.log_blocks >= 1).all() and (view.logical_blocks <= view.valid).all()
            assert (view.log_blocks == 1).all() or not rule.one_by_one
            # A block has 64 pages.
            assert (view.valid <= 64 * view.log_blocks).all()
        assert len(seen) <= chosen["log_blocks"]["merges"] + 16


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("call", [package.run, package.replay])
def test_whatever_is_merged_first_the_data_stay_whole(
    drive: Path, partial: Path, name: str, where: str, call: Callable[..., dict[str, Any]]
) -> None:
    rule = RULES[name] if where == "drive" else RULES[name]._replace(log_blocks=4)
    random = numpy.random.default_rng(7)
    anything = merging(rule, lambda view: random.choice(view.blocks))
    last = merging(rule, lambda view: view.blocks[-1])
    own, mixed, newest = (result_of(call, drive, partial, it, where) for it in (merging(rule, None), anything, last))
    assert own["outcome"] != mixed["outcome"] != newest["outcome"]
    assert own["requests"] == mixed["requests"] == newest["requests"]


def test_the_cheapest_merges_have_fewer_logical_blocks(wordline: Run, drive: Path, partial: Path) -> None:
    def result(policy: str) -> dict[str, Any]:
        options = ("--policy", SCHEMES, "--quiet", "--json", "-")
        sets = settings(
            "collect.scope=drive placement.policy=least-busy mapping.log_blocks=40", f"mapping.policy={policy}"
        )
        return parsed(done(wordline("run", drive, partial, *sets, *options)))

    oldest, cheapest = result("python-pftl"), result("cheapest")
    figures = cheapest["policy_figures"]["mapping"]
    assert figures["merges"] == pytest.approx(cheapest["log_blocks"]["merges"], abs=2)
    merged = ("switch_merges", "partial_merges", "full_merges")
    a_merge = {
        name: sum(run["log_blocks"][kind] for kind in merged) / run["log_blocks"]["merges"]
        for name, run in (("oldest", oldest), ("cheapest", cheapest))
    }
    assert a_merge["cheapest"] < a_merge["oldest"]
    assert figures["logical_blocks"] == pytest.approx(a_merge["cheapest"], rel=0.05)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (-1, "it answered -1 (int); expected the number of a block, or None"),
        ("x", "it answered 'x' (str); expected the number of a block, or None"),
        (100_000, "it chose to merge log block 100000, which is none of those that can be merged in domain 0"),
    ],
)
def test_a_merge_that_there_is_not_ends_the_run(drive: Path, partial: Path, answer: object, words: str) -> None:
    policy = merging(RULES["fast"], lambda _: answer)
    keys = {key.replace(".", "__"): value for key, value in WHERE["drive"].items()}
    assert words in told_at_end(drive, partial, policy, **keys)


def test_a_choice_of_merges_needs_log_blocks(drive: Path) -> None:
    for rule in (None, LogBlocks(log_blocks=0)):
        policy = merging(rule, lambda view: view.blocks[0])  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="'merge' is never called without a scheme that has log blocks"):
            package.check(drive, {"mapping.policy": "odd", **WHERE["drive"]}, policies=[policy])


def zoned(evict: Callable[[list[tuple[int, bool]], int], int] | None, used: list[int]) -> type[Mapping]:
    """Map zones, whose tables leave memory by a choice if there is one."""
    rule = LogBlocks(log_blocks=40, sequential=True, one_by_one=True, zone_blocks=32, zone_tables=4)
    methods: dict[str, object] = {"used": lambda _, table: used.append(table)}
    if evict is not None:
        methods["evict"] = lambda _, oldest, coming: evict(oldest, coming)
    return type("Odd", (Mapping,), {"name": "odd", "scheme": lambda _: rule, **methods})


@pytest.mark.parametrize("call", [package.run, package.replay])
def test_the_table_of_a_zone_leaves_by_choice(drive: Path, partial: Path, call: Callable[..., dict[str, Any]]) -> None:
    used: list[int] = []
    shown: list[list[tuple[int, bool]]] = []

    def oldest(tables: list[tuple[int, bool]], coming: int) -> int:
        shown.append(tables)
        assert coming not in dict(tables)
        return tables[0][0]

    own = result_of(call, drive, partial, zoned(None, used), "drive")
    assert not used, "it has no say"
    chosen = result_of(call, drive, partial, zoned(oldest, used), "drive")
    assert chosen["outcome"] == own["outcome"]
    assert chosen["mapping_table"] == own["mapping_table"]
    assert all(len(tables) == 4 for tables in shown) and len(shown) > 50
    # 16 planes of 40 blocks over 1.4 in zones of 32.
    assert set(used) == set(range(-(-(16 * 40 * 10 // 14) // 32)))
    assert any(changed for tables in shown for _, changed in tables)
    newest = result_of(call, drive, partial, zoned(lambda tables, _: tables[-1][0], used), "drive")
    assert newest["mapping_table"]["hits"] != own["mapping_table"]["hits"]


def test_a_table_that_memory_lacks_ends_the_run(drive: Path, partial: Path) -> None:
    keys = {key.replace(".", "__"): value for key, value in WHERE["drive"].items()}
    told = told_at_end(drive, partial, zoned(lambda *_: 77, []), **keys)
    assert "it chose map unit 77, which memory does not hold" in told
    with pytest.raises(package.InputError, match=r"mapping\.shown_units = 3: has no effect"):
        sets = {"mapping.policy": "odd", "mapping.shown_units": 3, **WHERE["drive"]}
        package.check(drive, sets, policies=[zoned(None, [])])
    package.check(drive, sets, policies=[zoned(lambda *_: 0, [])])
