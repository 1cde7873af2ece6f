"""Schemes of block mapping in Python: those of built-in policies do the very same, and all others do as their model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import wordline as package
from conftest import ROOT, Run, done, parsed
from log_block_model import Model, Scheme
from test_log_blocks import DRIVE, PAGE, PAGES, requests
from test_policy_families import partial, settings, skewed, told_at_end
from wordline import Workload
from wordline.policy import Collect, IdleView, LogBlocks, Mapping, Schedule, UpkeepView, Wear

SCHEMES = ROOT / "docs" / "examples" / "logblocks.py"

__all__ = ["partial", "skewed"]
"""The loads of the other families."""

WHOLE = "collect.scope=drive placement.policy=least-busy"

MEMBERS = [
    ("block", ""),
    ("bast", "mapping.log_blocks=40"),
    ("sast", "mapping.log_blocks=40 mapping.group_blocks=3 mapping.group_log_blocks=2"),
    ("sast", "mapping.group_blocks=3 mapping.group_log_blocks=2 mapping.whole_groups=false"),
    ("fast", "mapping.log_blocks=40"),
    ("fast", "mapping.log_blocks=40 mapping.zone_blocks=64 mapping.zone_tables=2"),
    ("pftl", "mapping.log_blocks=40"),
    ("pftl", ""),
]
"""Built-in policies, each with options that the example has, too."""


def giving(answer: object) -> type[Mapping]:
    """A mapping with this scheme."""
    return type("Odd", (Mapping,), {"name": "odd", "scheme": lambda _: answer})


@pytest.mark.parametrize("scope", ["drive", "plane"])
@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: "-".join((member[0], *member[1].split()[1:])))
def test_a_built_in_scheme_in_python_does_the_very_same(
    wordline: Run, drive: Path, partial: Path, member: tuple[str, str], scope: str
) -> None:
    name, sets = member
    # Each of the 16 planes has log blocks of its own.
    sets = sets if scope == "drive" else sets.replace("log_blocks=40", "log_blocks=3")
    where = WHOLE if scope == "drive" else "collect.scope=plane placement.policy=static"

    def result(policy: str) -> dict[str, Any]:
        options = ("--policy", SCHEMES, "--quiet", "--json", "-")
        more = settings(where, sets, f"mapping.policy={policy}")
        return parsed(done(wordline("run", drive, partial, *more, *options)))

    built_in, in_python = result(name), result(f"python-{name}")
    assert in_python["outcome"] == built_in["outcome"]
    assert in_python["latency_us"] == built_in["latency_us"]
    assert in_python.get("log_blocks") == built_in.get("log_blocks")
    assert in_python.get("mapping_table") == built_in.get("mapping_table")
    assert in_python["digest"] != built_in["digest"], "the configuration is another one"
    assert built_in["gc"]["moved_units"] > 100


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize(("group", "logs"), [(0, 0), (1, 1), (2, 3), (3, 4), (4, 1)])
def test_any_scheme_merges_and_erases_as_its_model(
    tmp_path: Path, group: int, logs: int, sequential: bool, one_by_one: bool
) -> None:
    if group == 0 and sequential and not one_by_one:
        pytest.skip("the order of logical blocks in such a merge is not the model's")
    model = Model(Scheme(group, logs, 6, sequential, one_by_one), PAGES)
    rows = ["time_us,op,offset_bytes,size_bytes"]
    for nth, (op, page) in enumerate(requests(7)):
        (model.write if op == "W" else model.trim)(page)
        rows.append(f"{nth * 1_000_000},{op},{page * PAGE},{PAGE}")
    (tmp_path / "drive.toml").write_text(DRIVE)
    (tmp_path / "load.csv").write_text("\n".join(rows) + "\n")
    scheme = LogBlocks(group or None, logs or None, 6, sequential, one_by_one, "least-recently-written")
    load = Workload.trace(tmp_path / "load.csv")
    result = package.run(tmp_path / "drive.toml", load, {"mapping.policy": "odd"}, policies=[giving(scheme)])
    told = result["log_blocks"]
    measured = {kind: told[f"{kind}_merges"] for kind in ("switch", "partial", "full")}
    measured |= {"merges": told["merges"], "erases": result["flash"]["erases"]}
    measured |= {"copies": result["gc"]["moved_units"], "empty": result["flash"]["padded_units"]}
    assert measured == {key: model.done[key] for key in measured}
    assert measured["full"] > 10


@pytest.mark.parametrize(
    "scheme",
    [
        # What no built-in policy has: each is checked by the shadow disk of this drive.
        LogBlocks(log_blocks=0, zone_blocks=8, zone_tables=2),
        LogBlocks(log_blocks=4, sequential=True),
        LogBlocks(2, 3, 8, True, True, "oldest", 8, 2),
        LogBlocks(group_log_blocks=3, one_by_one=True, zone_blocks=5, zone_tables=1),
        LogBlocks(group_blocks=5),
    ],
    ids=repr,
)
def test_schemes_between_the_built_in_ones_keep_all_data(tmp_path: Path, scheme: LogBlocks) -> None:
    rows = ["time_us,op,offset_bytes,size_bytes"]
    for nth, (op, page) in enumerate(requests(3)):
        rows.append(f"{nth * 90},{op},{page * PAGE},{PAGE}")
    (tmp_path / "drive.toml").write_text(DRIVE)
    (tmp_path / "load.csv").write_text("\n".join(rows) + "\n")
    load = Workload.trace(tmp_path / "load.csv")
    result = package.run(tmp_path / "drive.toml", load, {"mapping.policy": "odd"}, policies=[giving(scheme)])
    assert result["requests"] == len(rows) - 1
    assert result["gc"]["moved_units"] > 1000
    assert ("log_blocks" in result) == (scheme.log_blocks != 0)
    assert ("mapping_table" in result) == (scheme.zone_blocks is not None)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (3, "its method 'scheme' is of no use: it answered 3 (int); expected LogBlocks, or None"),
        (LogBlocks(0), "its group_blocks is 0: must be at least 1, or None"),
        (LogBlocks(1, 0), "its group_log_blocks is 0: must be at least 1, or None"),
        (
            LogBlocks(1.5),
            "its group_blocks is of no use: it answered 1.5 (float); expected a number of blocks",
        ),
        (LogBlocks(True), "its group_blocks is of no use: it answered True (bool)"),
        (LogBlocks(log_blocks=1, sequential=True), "its log_blocks is 1: must be at least 2"),
        (LogBlocks(log_blocks=7_000), "its log_blocks is 7000: "),
        (LogBlocks(log_blocks=-1), "its log_blocks is of no use: it answered -1 (int)"),
        (LogBlocks(sequential=None), "its sequential is of no use: it answered None"),
        (
            LogBlocks(merge_first="newest"),
            "its merge_first is of no use: it answered 'newest' (str); expected ",
        ),
        (LogBlocks(zone_blocks=4), "its zone_blocks is 4: needs zone_tables, the tables that memory holds"),
        (LogBlocks(zone_tables=4), "its zone_tables is 4: has no effect without zone_blocks, the size of a zone"),
        (LogBlocks(zone_blocks=0, zone_tables=1), "its zone_blocks is 0: must be at least 1"),
        (LogBlocks(zone_blocks=4, zone_tables=1.0), "its zone_tables is of no use: it answered 1.0 (float)"),
        (LogBlocks(2, log_blocks=0), "its group_blocks has no effect: its log_blocks is 0, so there are none"),
        (LogBlocks(log_blocks=0, one_by_one=True), "its one_by_one has no effect: its log_blocks is 0"),
    ],
    ids=repr,
)
def test_figures_of_no_use_are_refused(drive: Path, answer: object, words: str) -> None:
    with pytest.raises(package.InputError) as caught:
        package.check(drive, ["mapping.policy=odd", *WHOLE.split()], policies=[giving(answer)])
    assert f"mapping.policy = odd: {words}" in str(caught.value)


@pytest.mark.parametrize("key", ["unit_kib=4", "cache_kib=64", "shown_units=5"])
def test_options_of_the_map_cache_are_refused_beside_a_scheme(drive: Path, key: str) -> None:
    sets = ["mapping.policy=odd", f"mapping.{key}", *WHOLE.split()]
    with pytest.raises(package.InputError, match="is a scheme of block mapping, whose logical pages are flash pages"):
        package.check(drive, sets, policies=[giving(LogBlocks())])
    name = key.partition("=")[0]
    package.check(drive, [*sets, f"mapping.{name}=absent"], policies=[giving(LogBlocks())])


def test_a_scheme_is_refused_what_built_in_ones_are(drive: Path) -> None:
    def check(*sets: str) -> dict[str, Any]:
        return package.check(drive, ["mapping.policy=odd", *WHOLE.split(), *sets], policies=[giving(LogBlocks())])

    assert check()["derived"]["log_blocks_per_domain"] > 0
    with pytest.raises(package.InputError, match="says which log blocks are merged"):
        check("victim.policy=fifo")
    with pytest.raises(package.InputError, match="pages of a superblock are written in stripes"):
        check("redundancy.policy=superblock")
    with pytest.raises(package.InputError, match=r"use \"drive\", or placement\.policy = \"static\""):
        check("collect.scope=plane")
    assert check("collect.policy=dgc")["config"]["collect"]["policy"] == "dgc"


def test_a_mapping_needs_a_scheme_or_a_choice(drive: Path) -> None:
    class Idle(Mapping):
        name = "idle"

    with pytest.raises(TypeError, match="has no decision; write its method 'evict' or 'scheme'"):
        package.check(drive, policies=[Idle])
    with pytest.raises(NotImplementedError, match="write the method 'evict'"):
        package.check(drive, {"mapping.policy": "odd"}, policies=[giving(None)])

    class Moody(Mapping):
        name = "moody"

        def scheme(self) -> LogBlocks | None:
            # The drive is checked with another seed.
            return LogBlocks(log_blocks=5 + self.drive.seed)

    sets = ["mapping.policy=moody", *WHOLE.split()]
    with pytest.raises(
        package.InputError, match="its method 'scheme' gave other figures when the policy was made again"
    ):
        package.Drive(drive, sets, seed=3, policies=[Moody])

    class Lost(Mapping):
        name = "lost"

        def scheme(self) -> LogBlocks:
            raise LookupError("no scheme")

    with pytest.raises(LookupError, match="no scheme"):
        package.check(drive, {"mapping.policy": "lost"}, policies=[Lost])


@pytest.mark.parametrize("zones", [False, True])
def test_a_snapshot_of_a_scheme_goes_on_as_that_of_a_built_in_one(
    drive: Path, partial: Path, tmp_path: Path, zones: bool
) -> None:
    own = {"mapping.log_blocks": 40} | ({"mapping.zone_blocks": 64, "mapping.zone_tables": 2} if zones else {})
    where = {"collect.scope": "drive", "placement.policy": "least-busy"}
    built_in = {"mapping.policy": "fast", **own, **where}
    sets = {"mapping.policy": "odd", **where}
    blocks, tables = (64, 2) if zones else (None, None)
    policies = [giving(LogBlocks(None, None, 40, True, True, "oldest", blocks, tables))]
    for first, more in ((built_in, None), (sets, policies)):
        made = package.Drive(drive, first, policies=more or [])
        made.precondition(fill=True)
        made.run(partial)
        made.save(tmp_path / "kept.snapshot")
        snapshot = tmp_path / "kept.snapshot"
        kept = [
            # With another seed the built-in policy takes over no more than data, maps and wear, either.
            package.run(drive, partial, built_in, snapshot=snapshot, seed=5),
            package.run(drive, partial, sets, snapshot=snapshot, seed=5, policies=policies),
        ]
        assert kept[0]["outcome"] == kept[1]["outcome"], first
        other = giving(LogBlocks(None, None, 40, True, True, "least-recently-written", blocks, tables))
        with pytest.raises(package.InputError, match="was made with other rules for log blocks"):
            package.run(drive, partial, sets, snapshot=snapshot, policies=[other])


@pytest.mark.parametrize(
    ("wear", "option", "mapping"),
    [
        ("recency", "erases_per_block=3", "sast"),
        ("hot-cold", "threshold_cycles=2", "fast"),
        ("lazy", "delta_cycles=2", "bast"),
        ("lazy", "delta_cycles=2", "block"),
    ],
)
def test_wear_leveling_in_python_moves_logical_blocks(
    wordline: Run, drive: Path, skewed: Path, wear: str, option: str, mapping: str
) -> None:
    def result(policy: str) -> dict[str, Any]:
        sets = settings(WHOLE, f"mapping.policy={mapping} wear.policy={policy} wear.{option}")
        options = ("--policy", ROOT / "docs" / "examples" / "upkeep.py", "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, skewed, *sets, *options)))

    built_in, in_python = result(wear), result(f"python-{wear}")
    assert in_python["outcome"] == built_in["outcome"]
    assert built_in["tasks"]["wear"]["blocks"] > 2


def test_wear_leveling_must_know_log_blocks(drive: Path, skewed: Path) -> None:
    class Any(Wear):
        name = "any"

        def next(self, view: UpkeepView) -> int | None:
            return view.blocks[view.written & ~view.full][0] if (view.written & ~view.full).any() else None

    whole = {"collect.scope": "drive", "placement.policy": "least-busy"}
    sets = {"wear.policy": "any", "mapping.policy": "fast", **whole}
    with pytest.raises(package.InputError, match="does not go with this policy of wear leveling"):
        package.check(drive, sets, policies=[Any])
    Any.goes_with_logs = True
    del sets["wear.policy"]
    told = told_at_end(drive, skewed, Any, **{key.replace(".", "__"): value for key, value in sets.items()})
    assert "cannot be moved: it is no full data block of a logical block for which nothing is under way" in told


RESTS = """\
[[job]]
rw = "randwrite"
bs = "16k"
number_ios = 1500
thinktime_blocks = 4
thinktime_us = 30000
random_distribution = "zipf:1.2"
"""

PERIODS = [
    ("agc", "ahead=true delays=false", "idle_us=100000 threshold_blocks=90"),
    ("agc", "ahead=true delays=false any_block=true", "idle_us=5000 threshold_blocks=90 compacts=any"),
    ("dgc", "ahead=false delays=true", ""),
    ("agc-dgc", "", "idle_us=100000 threshold_blocks=90"),
    ("partial", "", "threshold_blocks=90"),
]
"""Built-in schedules, and the options of the example and of the built-in policy."""


@pytest.mark.parametrize("period", PERIODS, ids=lambda period: "-".join((period[0], *period[2].split()[2:])))
def test_a_schedule_of_merges_in_python_is_that_of_a_built_in_policy(
    wordline: Run, drive: Path, tmp_path: Path, period: tuple[str, str, str]
) -> None:
    name, own, theirs = period
    load = tmp_path / "rests.toml"
    load.write_text(RESTS)
    where = f"{WHOLE} mapping.policy=fast mapping.log_blocks=40 collect.start_blocks=6 collect.stop_blocks=9"
    translated = theirs.replace("idle_us", "idle").replace("threshold_blocks", "threshold").replace("compacts=any", "")

    def result(policy: str, options: str) -> dict[str, Any]:
        sets = settings(where, f"collect.policy={policy}", *(f"collect.{option}" for option in options.split()))
        file = ("--policy", ROOT / "docs" / "examples" / "idle.py", "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, load, *sets, *file)))

    built_in = result(name, theirs)
    like = "partial" if name == "partial" else "agc-dgc"
    in_python = result(f"python-{like}", f"{translated} {own} start=6 stop=9")
    assert in_python["outcome"] == built_in["outcome"]
    assert in_python["scheduled_merges"] == built_in["scheduled_merges"]
    assert sum(built_in["scheduled_merges"].values()) > 20


def scheduling(answer: object, work: Callable[[IdleView], object] | None = None, **more: object) -> type[Collect]:
    """A collect policy with this schedule, and this choice in idle periods."""
    methods = {"wants": lambda _, view: view.free + view.running < 3, "schedule": lambda _: answer}
    if work:
        methods["idle_work"] = lambda _, view: work(view)
    return type("Odd", (Collect,), {"name": "odd", **methods, **more})


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (7, "its method 'schedule' is of no use: it answered 7 (int); expected a Schedule, or None"),
        (Schedule(), "its schedule has no effect: give ahead, delayed or steps_below"),
        (Schedule(ahead=None), "its ahead is of no use: it answered None"),
        (Schedule(True, compacts="all"), "its compacts is of no use: it answered 'all' (str); expected \"full\" or"),
        (Schedule(steps_below=-1), "its steps_below is of no use: it answered -1 (int)"),
        (Schedule(steps_below=1), "its steps_below is 1: must be more than start_blocks = "),
        (Schedule(steps_below=9, steps_per_page=0), "its steps_per_page is 0: must lie between 1 and 1000"),
    ],
    ids=repr,
)
def test_a_schedule_of_no_use_is_refused(drive: Path, answer: object, words: str) -> None:
    sets = ["collect.policy=odd", "mapping.policy=fast", *WHOLE.split()]
    with pytest.raises(package.InputError) as caught:
        package.check(drive, sets, policies=[scheduling(answer, lambda _: None)])
    assert words in str(caught.value)


def test_a_schedule_needs_log_blocks_and_work(drive: Path) -> None:
    plain = ["collect.policy=odd", *WHOLE.split()]
    with pytest.raises(package.InputError, match="schedules merges of log blocks, which mapping"):
        package.check(drive, plain, policies=[scheduling(Schedule(True), lambda _: None)])
    logs = [*plain, "mapping.policy=fast"]
    with pytest.raises(NotImplementedError, match="write the method 'idle_work'"):
        package.check(drive, logs, policies=[scheduling(Schedule(True))])
    package.check(drive, logs, policies=[scheduling(Schedule(steps_below=90))])
    with pytest.raises(package.InputError, match=r"collect\.blocks_at_a_time.*each GC domain merges one group"):
        package.check(drive, [*logs, "collect.blocks_at_a_time=2"], policies=[scheduling(Schedule(steps_below=90))])


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (lambda _: "later", 'it answered \'later\' (str); expected "retroactive", "look-ahead", "proactive", or None'),
        (lambda _: 1, "it answered 1 (int); expected"),
        (
            lambda view: None if view.needed_us is not None else "look-ahead",
            "it chose a merge that the next request will need in domain 0, which has none",
        ),
        (
            lambda view: None if view.has_delayed else "retroactive",
            "it chose a merge that was delayed in domain 0, which has none",
        ),
    ],
)
def test_work_in_idle_periods_of_no_use_ends_the_run(
    drive: Path, tmp_path: Path, work: Callable[[IdleView], object], words: str
) -> None:
    load = tmp_path / "rests.toml"
    load.write_text(RESTS)
    where = {"mapping__policy": "fast", "collect__scope": "drive", "placement__policy": "least-busy"}
    told = told_at_end(drive, load, scheduling(Schedule(True, True), work), **where)
    assert words in told


def test_what_a_collect_policy_sees_of_idle_periods(drive: Path, tmp_path: Path) -> None:
    load = tmp_path / "rests.toml"
    load.write_text(RESTS)
    seen: list[IdleView] = []

    def work(view: IdleView) -> str | None:
        seen.append(view)
        return "proactive" if view.has_full else None

    sets = ["collect.policy=odd", "mapping.policy=bast", "mapping.log_blocks=40", *WHOLE.split()]
    policy = scheduling(Schedule(True), work, after_rest=lambda _: 5000.0)
    result = package.run(drive, load, sets, policies=[policy])
    # Some come after the last request.
    assert sum(view.has_full for view in seen) >= result["scheduled_merges"]["proactive"] > 3
    assert {view.rested for view in seen} == {False, True}
    # Rests of 30 ms.
    assert all(view.period_us is None or 0 < view.left_us <= view.period_us < 30_001 for view in seen)
    assert any(view.needed_us is not None and view.needed_us > 1000 for view in seen)
