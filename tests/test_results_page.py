"""The reference of a result's keys: every key of a run is documented, and every documented key occurs in some run."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import wordline
from conftest import BUNDLED, ROOT, SMALL_DRIVE, SMALL_LOAD, Run, done, parsed
from wordline import Drive, Workload, _core
from wordline.policy import Trim
from wordline.results import shape as resultshape

STABLE = """
    schema version seed digest config workload simulated_s cpu_s requests iops bandwidth_mib_s
    latency_us.{all,read,write,trim}.{count,mean,min,p50,p90,p99,p99_9,p99_99,p99_999,p99_9999,max} write_amplification
    flash.{reads,programs,erases} gc.{collections,moved_pages} wear.{mean,max,stddev} energy_j partial
"""
"""The keys of a result whose name and meaning are stable."""

STEADY = """
[global]
bs=4k
rw=randrw
size=8m
[mean]
time_based
runtime=2
steadystate=iops:50%
ss_dur=200ms
ss_interval=20ms
[beside]
number_ios=2000
"""

TENANTS = """
[[job]]
name = "one"
rw = "trimwrite"
bs = "16k"
number_ios = 200
[[job]]
name = "other"
rw = "randread"
bs = "4k"
number_ios = 200
fsync = 10
[[job]]
name = "third"
rw = "randrw"
bs = "4k"
number_ios = 200
fsync = 10
"""

BUSY = Workload.job(rw="randrw", bs="16k", iodepth=64, number_ios=20_000)
PARTS = Workload.job(rw="randrw", bs="1k", iodepth=300, number_ios=5_000)


def expanded(pattern: str) -> list[str]:
    """``a.{b,c}`` as ``a.b`` and ``a.c``."""
    parts = re.split(r"\{([^}]*)\}", pattern)
    return ["".join(pick) for pick in product(*(p.split(",") if n % 2 else [p] for n, p in enumerate(parts)))]


def listed(whose: str = resultshape.RUNS) -> dict[str, dict[str, Any]]:
    """The keys in the code, of results of runs or of replays."""
    rows = [row for section in json.loads(_core.result_keys()) for row in section["keys"]]
    return {key: row for row in rows if row[whose] for key in expanded(row["key"])}


OBJECTS = {"config", "workload.options", "policy_figures", "array.drives[].policy_figures"}
"""Parts whose keys are documented in other references, or are the user's."""


class Telling(Trim):
    """A policy with a figure of its own."""

    name = "telling"

    def invalidates(self, first: int, count: int) -> bool:
        """All."""
        return True

    def figures(self) -> dict[str, int]:
        """Of no meaning."""
        return {"anything": 1}


TOLD = {"trim.policy": "telling"}


def leaves(value: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401
    """The dotted keys of a document; those of list elements follow ``[]``."""
    if isinstance(value, dict) and path not in OBJECTS:
        for key, below in value.items():
            yield from leaves(below, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for below in value:
            yield from leaves(below, f"{path}[]")
    else:
        yield path


def burst() -> Workload:
    """Requests that arrive all at once."""
    count = 200
    offsets = [16_384 * number for number in range(count)]
    columns = {"time_us": [0] * count, "op": ["R", "W"] * (count // 2), "offset": offsets, "size": [16_384] * count}
    return Workload.table(columns)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Results of runs with different settings and options."""
    place = tmp_path_factory.mktemp("runs")
    small, fio = place / "small.toml", place / "steady.fio"
    small.write_text(SMALL_DRIVE)
    fio.write_text(STEADY)
    parts = [place / "a.csv", place / "b.csv"]
    for path in parts:
        path.write_text("time_us,op,offset_bytes,size_bytes\n0,W,0,16384\n9,R,0,16384\n9,F,0,0\n20,T,0,16384\n")

    array = place / "array.toml"
    failing = "spare = true\nfail_member = 0\nrebuild_mib_s = 10"
    (place / "telling.toml").write_text(SMALL_DRIVE + '\n[trim]\npolicy = "telling"\n')
    array.write_text(f'[array]\nkind = "raid5"\nmembers = 3\ndrive = "telling.toml"\n{failing}\n')
    both = Workload.trace(place / "?.csv")

    def interrupt(phase: str, *_: object) -> None:
        if phase == "run":
            os.kill(os.getpid(), signal.SIGINT)

    kept = Drive(small)
    aged = place / "aged.snap"
    kept.save(aged)
    with pytest.raises(wordline.Interrupted) as stopped:
        wordline.run(small, Workload.job(rw="randread", bs="4k", time_based=True, runtime_s=1e6), progress=interrupt)
    buffered = {"buffer.policy": "fifo", "buffer.capacity_kib": 64}
    scrubbing = {
        "precondition.fill": True,
        "refresh.policy": "scrub",
        "refresh.start_reads": 20,
        "refresh.stop_reads": 10,
    }
    shared = {**scrubbing, "dispatch.policy": "debit", "shares.policy": "feedback"}
    in_order = {"dispatch.policy": "in-order", "collect.scope": "plane", "placement.policy": "static"}
    late = {"dispatch.policy": "deadline", "dispatch.stream_deadline_us.0": 60}
    crowded = {"queue.depth": 16, "dispatch.window": 4}
    table = {"mapping.policy": "cached", "mapping.unit_kib": 4, "mapping.cache_kib": 16}
    together = {"capacity.raw_over_logical": 6, "collect.scope": "drive", "placement.policy": "least-busy"}
    looked_up = {**scrubbing, "refresh.start_reads": 1000, "refresh.stop_reads": 900, **table}
    leveled = {"wear.policy": "static", "dispatch.policy": "debit", "shares.policy": "feedback", **table}
    times = {"nand.slc_read_us": 25.0, "nand.slc_program_us": 200.0}
    folding = {"slc.policy": "dynamic", "fold.policy": "coldest", "fold.start_blocks": 100, **times}
    folded = {**folding, "dispatch.policy": "debit", "shares.policy": "feedback", **table}
    log_blocks = {"mapping.policy": "bast", "capacity.raw_over_logical": 2, "collect.policy": "agc-dgc"}
    return {
        "jobs": wordline.run(small, Workload.text(SMALL_LOAD)),
        "buffered": wordline.run(small, PARTS, {"precondition.overwrites": 0.1, **buffered}),
        "banks": wordline.run(small, BUSY, {"buffer.policy": "none", **in_order, "dispatch.policy": "one-request"}),
        "in order": wordline.run(small, BUSY, {"buffer.policy": "none", **in_order}),
        "late": wordline.run(small, BUSY, late),
        "crowded": wordline.run(small, burst(), crowded),
        "cache mode": wordline.run(small, BUSY, {"pack.policy": "planes", "pack.cache": True}),
        "steady": wordline.run(small, Workload.read(fio)),
        "trace": wordline.run("demo", Workload.trace(BUNDLED, limit=2000)),
        "files": wordline.run(small, both, tables="all", out=place / "out", timeline=place / "t.pftrace"),
        "kept": kept.run(both),
        "tenants": wordline.run(small, Workload.text(TENANTS)),
        "snapshot": wordline.run(small, BUSY, snapshot=aged),
        "repeated": wordline.run(small, Workload.job(rw="randrw", bs="16k", number_ios=500), repeat=2),
        "scrubbed": wordline.run(small, Workload.job(rw="randread", bs="16k", number_ios=3000), scrubbing),
        "shared": wordline.run(small, BUSY, shared),
        "leveled": wordline.run(small, BUSY, leveled),
        "looked up": wordline.run(small, BUSY, looked_up),
        "computing": wordline.run(small, BUSY, {"processor.policy": "uniform"}),
        "parity": wordline.run(small, BUSY, {"redundancy.policy": "rain", **together}),
        "parity of pages": wordline.run(small, BUSY, {"redundancy.policy": "ttflash", "capacity.raw_over_logical": 6}),
        "folded": wordline.run(small, BUSY, folded),
        "scrubbed and folded": wordline.run(small, BUSY, {**scrubbing, **folding, "wear.policy": "static"}),
        "log blocks": wordline.run(small, BUSY, {**log_blocks, "wear.policy": "lazy"}),
        "map zones": wordline.run(small, BUSY, {**log_blocks, "mapping.zone_blocks": 8, "mapping.zone_tables": 2}),
        "told": wordline.run(small, BUSY, TOLD, policies=[Telling]),
        "array": wordline.run(array, Workload.text(TENANTS), policies=[Telling]),
        "partial": stopped.value.result,
    }  # fmt: skip


def test_what_runs_give_is_told_and_what_is_told_runs_give(runs: dict[str, dict[str, Any]]) -> None:
    assert runs["partial"]["partial"] is True
    assert runs["kept"]["precondition"] is None
    given = {key for run in runs.values() for key in leaves(run)}
    told = set(listed())
    # A part of the time without requests has no series.
    parts = {key.removeprefix("time_of.") for key in given if key.startswith(("time_of.read.", "time_of.write."))}
    given |= {f"time_of.{place}.{part}" for place in ("series", "by_latency") for part in parts}
    # No block of these drives is bad or a replacement.
    given |= {"map.states.spare", "map.states.bad"}
    # Parts that are null or empty when there is nothing to report.
    nothing = {"precondition", "changes", "workload", "afterwards"}
    # What only a single drive has.
    nothing |= {"activity", "map", "time_of"}
    # Those of a live disk are checked with it, in test_serve.py.
    nothing |= {key for key in told if key.startswith("live.")} | {"workload.live"}
    assert sorted(given - told - nothing) == []
    assert sorted(told - given - nothing) == []


@pytest.fixture(scope="module")
def replays(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Results of replays with different settings."""
    place = tmp_path_factory.mktemp("replays")
    small, trace = place / "small.toml", place / "a.csv"
    small.write_text(SMALL_DRIVE)
    trace.write_text("time_us,op,offset_bytes,size_bytes\n0,W,0,16384\n9,R,0,16384\n9,F,0,0\n20,T,0,16384\n")
    kept = Drive(small)
    kept.save(place / "aged.snap")
    files = Workload.trace(place / "?.csv")
    writes = Workload.job(rw="randwrite", bs="16k", number_ios=3000)
    parts = Workload.job(rw="randrw", bs="6k", number_ios=500)
    log_blocks = {"mapping.policy": "bast", "capacity.raw_over_logical": 2}
    planes = {"collect.scope": "plane", "placement.policy": "static"}
    failing = {"nand.reliability.endurance": 1000, "nand.reliability.erase_fail": 0.5, "capacity.replacement_blocks": 1}
    together = {"capacity.raw_over_logical": 6, "collect.scope": "drive", "placement.policy": "least-busy"}
    zones = {**log_blocks, "mapping.zone_blocks": 8, "mapping.zone_tables": 2}
    slc = {"slc.policy": "dynamic", "nand.slc_read_us": 25.0, "nand.slc_program_us": 200.0}
    times = {"snapshot": place / "aged.snap", "times": 2}
    return {
        "plain": wordline.replay(small, parts, **times),
        "preconditioned": wordline.replay(small, writes, {"precondition.fill": True, **planes}),
        "files": wordline.replay(small, files),
        "kept": kept.replay(trace),
        "worn out": wordline.replay(small, writes, {"nand.reliability.endurance": 5}, times=None),
        "no spare": wordline.replay(small, writes, failing, times=None),
        "log blocks": wordline.replay(
            small, writes, {**log_blocks, "collect.policy": "agc-dgc", "wear.policy": "lazy"}
        ),
        "map zones": wordline.replay(small, writes, zones),
        "superblocks": wordline.replay(small, writes, {"redundancy.policy": "rain", **together}),
        "parity": wordline.replay(small, writes, {"redundancy.policy": "ttflash", "capacity.raw_over_logical": 6}),
        "slc": wordline.replay(small, writes, slc),
        "told": wordline.replay(small, writes, TOLD, policies=[Telling]),
    }


def test_what_replays_give_is_told_and_what_is_told_replays_give(replays: dict[str, dict[str, Any]]) -> None:
    causes = {name: (replay["replay"]["end_of_life"] or {}).get("cause") for name, replay in replays.items()}
    assert {name: cause for name, cause in causes.items() if cause} == {"worn out": "worn-out", "no spare": "no-spare"}
    given, told = {key for replay in replays.values() for key in leaves(replay)}, set(listed(resultshape.REPLAYS))
    nothing = {"precondition", "changes", "workload", "replay.end_of_life"}
    # These are of clones and traces of other kinds; runs have them.
    nothing |= {key for key in told if key.startswith(("workload.", "tasks.", "precondition.", "drive."))}
    assert sorted(given - told - nothing) == []
    assert sorted(told - given - nothing) == []
    for name, replay in replays.items():
        assert sorted(key for key in leaves(replay) if key.startswith("drive.") and key not in told) == [], name
        assert resultshape.problem(replay) is None, name


def test_a_wrong_value_of_a_replay_is_told_with_its_key(replays: dict[str, dict[str, Any]]) -> None:
    replay = dict(replays["worn out"])
    for path, new, wanted in (
        (("lifetime", 0, "mean"), "1", "'lifetime[0].mean' is \"1\"; it should be a number"),
        (("requests", "write"), 5, "'requests.write' is 5; it should be an object"),
        (("replay", "ending"), 5, "'replay.ending' is 5; it should be a text"),
        (("replay",), {}, "this result is incomplete: it has no 'replay.times_asked', "),
        (("lifetime", 0), {}, "this result is incomplete: it has no 'lifetime[0].host_bytes', "),
    ):
        assert (resultshape.problem(changed(replay, path, new)) or "").startswith(wanted)
    assert resultshape.problem(changed(replay, ("replay", "end_of_life"), None)) is None


def test_the_command_gives_no_other_keys(wordline: Run, drive: Path, load: Path) -> None:
    result = parsed(done(wordline("run", drive, load, "--quiet", "--json", "-", "--fio-json", "fio.json")))
    assert set(leaves(result)) - set(listed()) <= {"changes"}
    wanted = {key for pattern in STABLE.split() for key in expanded(pattern)}
    for key in wanted:
        value = result
        for part in key.split("."):
            assert part in value, key
            value = value[part]


def test_stable_keys_are_said_to_be() -> None:
    wanted = {key for pattern in STABLE.split() for key in expanded(pattern)}
    assert {key for key, row in listed().items() if row["stable"]} == wanted


def test_units_are_known() -> None:
    words = {word for row in listed().values() for word in row["unit"].split(", ") if word}
    figures = {"s", "µs", "J", "MiB/s", "bytes/s", "requests/s", "%", "0 to 1"}
    counts = {
        "bytes",
        "requests",
        "retries",
        "suspensions",
        "commands",
        "pages",
        "blocks",
        "erases",
        "runs",
        "rows",
        "streams",
        "operations",
        "reads",
        "parts",
    }
    shapes = {"object", "list", "lists", "list of lists", "list of pairs"}
    counts |= {"merges", "logical blocks", "interruptions", "zones", "tables"}
    assert words <= figures | counts | shapes | {"mapping units", "map units", "transactions", "slices", "intervals"}


def test_the_page_has_every_key() -> None:
    page = (ROOT / "docs" / "results.md").read_text()
    for section in json.loads(_core.result_keys()):
        assert f"## {section['title']}\n" in page
        for row in section["keys"]:
            assert f"| `{row['key']}` |" in page


def changed(value: Any, path: tuple[str | int, ...], new: Any) -> Any:  # noqa: ANN401
    """A copy of a document with one changed value."""
    if not path:
        return new
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


def values(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:  # noqa: ANN401
    """All values of a document with their paths: objects, lists, the first elements of these, and leaves."""
    yield path, value
    if isinstance(value, dict) and re.sub(r"\.\d+", "[]", ".".join(map(str, path))) not in OBJECTS:
        for key, below in value.items():
            yield from values(below, (*path, key))
    elif isinstance(value, list) and value:
        yield from values(value[0], (*path, 0))


def shortened(value: Any) -> Any:  # noqa: ANN401
    """A document with two elements of each list: enough to have one that is changed and one that is not."""
    if isinstance(value, dict):
        return {key: shortened(below) for key, below in value.items()}
    return [shortened(below) for below in value[:2]] if isinstance(value, list) else value


def test_results_are_what_the_list_says(runs: dict[str, dict[str, Any]]) -> None:
    for name, run in runs.items():
        assert resultshape.problem(run) is None, name


def test_a_value_of_a_wrong_type_is_told_with_its_key(runs: dict[str, dict[str, Any]]) -> None:
    free = {key for key, row in listed().items() if row["holds"]["of"] == "any"}
    tried = set()
    for run in map(shortened, runs.values()):
        # What is told below is of the change.
        assert resultshape.problem(run) is None
        for path, value in values(run):
            key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)[1:]
            general = re.sub(r"\[\d+\]", "[]", key)
            if not key or key in tried or value is None or any(general.startswith(below) for below in free):
                continue
            tried.add(key)
            for new in ("abc", 5, [], {}, True):
                kinds = {type(value), type(new)}
                if len(kinds) == 1 or kinds == {int, float}:
                    continue
                problem = resultshape.problem(changed(run, path, new))
                shown = json.dumps(new)
                assert problem is not None and problem.startswith(f"'{key}' is {shown}; it should be "), (key, new)
    assert len(tried) > 250


def test_null_is_told_where_it_may_not_be(runs: dict[str, dict[str, Any]]) -> None:
    run = dict(runs["jobs"])
    for key in ("requests", "gc.collections", "drive.blocks", "latency_us", "wear.histogram.blocks", "cdf"):
        path = tuple(key.split("."))
        assert resultshape.problem(changed(run, path, None)).startswith(f"'{key}' is null; it should be ")
    for key in ("precondition", "time_of", "activity", "write_amplification", "latency_us.read.p99_99", "snapshot"):
        assert resultshape.problem(changed(run, tuple(key.split(".")), None)) is None


def test_a_key_that_every_result_has_is_missed(runs: dict[str, dict[str, Any]]) -> None:
    run = dict(runs["jobs"])
    parts = ("series.interval_s", "activity.interval_s", "precondition.rounds", "wear.histogram.width")
    for key in ("seed", "gc", "gc.collections", "drive.blocks", "latency_us.trim.count", *parts):
        *path, last = key.split(".")
        below = run
        for part in path:
            below = below[part]
        kept = {other: value for other, value in below.items() if other != last}
        assert resultshape.problem(changed(run, tuple(path), kept)) == f"this result is incomplete: it has no '{key}'"
    # Others were added later, or are not in every run.
    del run["reliability"], run["activity"]
    assert resultshape.problem(run) is None
