"""Timelines of runs: Perfetto's own trace processor reads them, and finds the figures of the results."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import polars
import pytest
import traceprocessor
import wordline as package
from conftest import BUNDLED, PROGRAM, Run, done, parsed, refused, started, trace_text
from test_timeline import ORDER
from traceprocessor import TraceProcessor
from wordline.cli import policyfile

MISSING = traceprocessor.missing()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))

REQUESTS = 3_000

# All features of a drive at once: cache mode, copyback, suspension.
ALL_OPTIONS = ("pack.policy=cache", "collect.copyback=checked", "suspend.policy=reads")

# A request and the operations at the ends of its arrows.
FLOWS = """
select source.name, source_track.name, target.name, target_track.name,
    extract_arg(source.arg_set_id, 'debug.request'), extract_arg(target.arg_set_id, 'debug.task'),
    extract_arg(target.arg_set_id, 'debug.start_ps') - extract_arg(source.arg_set_id, 'debug.start_ps')
from flow join slice source on source.id = slice_out join slice target on target.id = slice_in
join track source_track on source_track.id = source.track_id
join track target_track on target_track.id = target.track_id
"""

ON_TRACK = """
select slice.name, extract_arg(arg_set_id, 'debug.start_ps'), extract_arg(arg_set_id, 'debug.duration_ps'), dur
from slice join track on track.id = track_id where track.name glob '{}' order by 2
"""

MARKS = """
select ts, slice.name, extract_arg(arg_set_id, 'debug.reason') from slice join track on track.id = track_id
where track.parent_id is null
"""


def drawn(program: Run, folder: Path, *arguments: str | Path) -> Path:
    """A timeline of the demo drive under the bundled trace, with the result beside it."""
    path = folder / "run.pftrace"
    outputs = ["--timeline", path, "--json", folder / "run.json"]
    command = ["run", "demo", BUNDLED, "--quiet", "--limit", REQUESTS, *outputs, *arguments]
    outcome = program(*command, cwd=folder)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    return path


@pytest.fixture(scope="module")
def path(program: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A timeline of a whole run."""
    return drawn(program, tmp_path_factory.mktemp("timeline"))


@pytest.fixture(scope="module")
def loaded(path: Path) -> TraceProcessor:
    """The same, in the processor."""
    return TraceProcessor(path)


@pytest.fixture(scope="module")
def result(path: Path) -> dict[str, Any]:
    """The figures of the same run."""
    return parsed(path.with_suffix(".json").read_text())


def test_nothing_is_lost_and_nothing_overlaps(loaded: TraceProcessor) -> None:
    assert loaded.losses() == []
    assert loaded.query("select count(*) from slice where depth > 0 or dur < 0") == [(0,)]


def test_tracks_are_in_the_order_of_the_drive(loaded: TraceProcessor) -> None:
    order = loaded.query(ORDER)
    tracks = [child for _, child in order]
    assert tracks[0] == "demo"
    assert [child for parent, child in order if parent == "demo"] == ["host", *(f"channel {n}" for n in range(4))]
    slots = [child for parent, child in order if parent == "host"]
    assert slots == [f"slot {n}" for n in range(len(slots))]
    assert [child for parent, child in order if parent == "channel 0"] == ["bus", "package 0"]
    assert [child for parent, child in order if parent == "package 0"] == 4 * ["package bus", "die 0", "die 1"]
    assert [child for parent, child in order if parent == "die 1"] == 4 * ["plane 0", "plane 1"]


def test_every_request_is_there(loaded: TraceProcessor) -> None:
    numbers = loaded.query(
        "select extract_arg(arg_set_id, 'debug.request') as n from slice where n is not null order by n"
    )
    assert numbers == [(n,) for n in range(1, REQUESTS + 1)]


def test_arrows_lead_from_requests_to_their_operations(loaded: TraceProcessor, result: dict[str, Any]) -> None:
    flows = loaded.query(FLOWS)
    assert {(source, target) for source, _, target, *_ in flows} >= {("read", "read")}
    assert all(source.startswith("slot ") and target.startswith("die ") for _, source, _, target, *_ in flows)
    assert all(task == "host" and later >= 0 for *_, task, later in flows)
    # Writes wait in the buffer after the end of their requests, and so do reads that complete their pages.
    reads = "select sum(extract_arg(arg_set_id, 'debug.planes')) from slice where name = 'read' and track_id in "
    reads += "(select id from track where name glob 'die *') and id not in (select slice_in from flow)"
    lonely = loaded.query(reads)[0][0] or 0
    assert lonely <= result["flash"]["merge_reads"]
    assert len([target for _, _, target, *_ in flows if target == "read"]) > lonely
    by_collector = "select count(*) from slice where name glob 'gc *' and id in (select slice_in from flow)"
    assert loaded.query(by_collector) == [(0,)]
    assert loaded.query("select count(*) from slice where name glob 'gc *'")[0][0] > 0
    untold = "select count(*) from slice join track on track.id = track_id where track.name glob 'die *' and "
    assert loaded.query(untold + "extract_arg(arg_set_id, 'debug.task') is null") == [(0,)]


def test_what_a_task_does_has_one_colour(path: Path) -> None:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

    trace = protos.Trace()
    trace.ParseFromString(path.read_bytes())
    tracks, groups, keys, seen = {}, {}, {}, set()
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor.name
        groups |= {new.iid: new.str.decode() for new in packet.interned_data.correlation_id_str}
        keys |= {new.iid: new.name for new in packet.interned_data.debug_annotation_names}
        event = packet.track_event
        if event.type != protos.TrackEvent.TYPE_SLICE_BEGIN:
            continue
        place = tracks[event.track_uuid].rstrip("0123456789").strip()
        args = {keys[arg.name_iid]: arg.string_value for arg in event.debug_annotations}
        group = groups[event.correlation_id_str_iid] if event.HasField("correlation_id_str_iid") else None
        # The viewer colours by this; parts on the bus of a package have no argument that names the task.
        assert group == args.get("task", group)
        seen.add((place, group))
    places = ("bus", "package bus", "die", "plane")
    assert seen == {("slot", None)} | {(place, task) for place in places for task in ("host", "gc")}


def test_counts_are_those_of_the_result(loaded: TraceProcessor, result: dict[str, Any]) -> None:
    commands = "select count(*) from slice join track on track.id = track_id where track.name glob 'die *'"
    after = result["afterwards"]
    assert loaded.query(commands) == [(result["flash"]["commands"] + after["commands"],)]
    pages = "select sum(extract_arg(arg_set_id, 'debug.planes')) from slice join track on track.id = track_id where "
    for name, count in (("read", "reads"), ("program", "programs"), ("erase", "erases")):
        found = loaded.query(pages + f"track.name glob 'die *' and slice.name glob '*{name}'")
        assert found == [(result["flash"][count] + after[count],)]


def test_an_unloaded_read_takes_what_the_result_says(wordline: Run, tmp_path: Path) -> None:
    # A read per millisecond, one page each: nothing waits.
    (tmp_path / "reads.csv").write_text(trace_text([("R", 16_384 * 7 * n, 16_384) for n in range(9)]))
    drive = ("--set", "precondition.overwrites=0")
    done(wordline("run", "demo", "reads.csv", *drive, "--timeline", "t.pftrace", "--json", "r.json", "-q"))
    latency = parsed((tmp_path / "r.json").read_text())["latency_us"]["read"]
    trace = TraceProcessor(tmp_path / "t.pftrace")
    requests = trace.query(ON_TRACK.format("slot *"))
    assert [start for _, start, *_ in requests] == [n * 10**9 for n in range(9)]
    for _, start, took, shown in requests:
        assert took == round(latency["min"] * 1e6) == round(latency["max"] * 1e6)
        # The viewer's nanoseconds are those of the exact begin and end.
        assert shown == (start + took) // 1000 - start // 1000
    # 00h, five address cycles and 30h of 25 ns, tWB 100 ns; tR; tRR 20 ns, 8,192 pairs of bytes.
    dies = trace.query(ON_TRACK.format("die *"))
    config = parsed((tmp_path / "r.json").read_text())["config"]["nand"]
    t_r = config["read_us"] if isinstance(config["read_us"], float) else config["read_us"][0]
    out = 20_000 + 8_192 * 2_000_000 // config["rate_mt_s"]
    assert {took for _, _, took, _ in dies} == {275_000 + round(t_r * 1e6) + out}
    assert len(dies) == 9


def test_a_window_bounds_all_and_shows_the_same(program: Run, loaded: TraceProcessor, tmp_path: Path) -> None:
    first, last = loaded.query("select ts from slice order by ts limit 1 offset 9000")[0][0], 0
    last = first + 3_000_000
    window = f"{first / 1000:.3f}us..{last}ns"
    seen = TraceProcessor(drawn(program, tmp_path, "--window", window))
    assert seen.losses() == []
    assert seen.query(f"select count(*) from slice where ts < {first} or ts + dur > {last}") == [(0,)]
    inside = "select track.name, slice.name, ts, dur from slice join track on track.id = track_id "
    where = f"where ts >= {first} and ts < {last} and ts + dur <= {last} order by 1, 2, 3, 4"
    cut = "extract_arg(arg_set_id, 'debug.whole_end_ps') is null and "
    assert seen.query(inside + where.replace("where ", "where " + cut)) == loaded.query(inside + where)


def test_two_runs_draw_the_same_bytes(program: Run, path: Path, tmp_path: Path) -> None:
    assert drawn(program, tmp_path).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("options", [(), ALL_OPTIONS], ids=["plain", "all options"])
def test_drawing_changes_no_result(
    wordline: Run, tmp_path: Path, drive: Path, load: Path, options: tuple[str, ...]
) -> None:
    sets = [part for option in options for part in ("--set", option)]
    common = (drive, load, *sets, "--load-set", "job.0.number_ios=4000", "--quiet", "--json")
    done(wordline("run", *common, "plain.json"))
    assert wordline("run", *common, "drawn.json", "--timeline", "t.pftrace").stderr == ""
    plain, with_timeline = (parsed((tmp_path / f"{name}.json").read_text()) for name in ("plain", "drawn"))
    for result in (plain, with_timeline):
        del result["cpu_s"], result["precondition_cpu_s"]
    assert plain == with_timeline
    trace = TraceProcessor(tmp_path / "t.pftrace")
    assert trace.losses() == []
    assert trace.query("select count(*) from slice where depth > 0") == [(0,)]
    if options:
        assert plain["flash"]["suspensions"] > 0
        suspended = trace.query("select count(*) from slice where name in ('PROGRAM SUSPEND', 'ERASE SUSPEND')")
        assert suspended[0][0] >= plain["flash"]["suspensions"]
        before = trace.query(
            "select count(*) from slice join track on track.id = track_id where track.name = 'command before'"
        )
        assert before[0][0] > 0


def test_a_suspended_program_is_in_pieces(wordline: Run, tmp_path: Path) -> None:
    # One die: the program of the write is running when the read comes.
    (tmp_path / "one.csv").write_text(
        "time_us,op,offset_bytes,size_bytes\n0,W,0,16384\n2000,W,16384,16384\n2200,R,0,16384\n"
    )
    drive = (
        "geometry.channels=1 geometry.dies_per_package=1 geometry.planes_per_die=1 precondition.fill=false "
        "precondition.overwrites=0 buffer.policy=none suspend.policy=reads"
    )
    sets = [part for option in drive.split() for part in ("--set", option)]
    done(wordline("run", "demo", "one.csv", *sets, "--timeline", "t.pftrace", "-q"))
    trace = TraceProcessor(tmp_path / "t.pftrace")
    names = [(name, start, start + took) for name, start, took, _ in trace.query(ON_TRACK.format("die 0"))]
    assert [name for name, *_ in names] == ["program", "program", "read", "program"]
    (_, _, stopped), (_, begun, ended), (_, resumed, _) = names[1:]
    assert stopped <= begun < ended <= resumed
    flows = [(source, target, request) for source, _, target, _, request, *_ in trace.query(FLOWS)]
    # The arrow of the write continues from its first piece to its second.
    assert sorted(flows, key=str) == [
        ("program", "program", None),
        ("read", "read", 3),
        ("write", "program", 1),
        ("write", "program", 2),
    ]


def test_a_full_timeline_says_where_it_was_cut(wordline: Run, tmp_path: Path) -> None:
    outcome = wordline(
        "run", "demo", BUNDLED, "-q", "--limit", "1000", "--timeline", "t.pftrace", "--timeline-limit", "5000"
    )
    assert outcome.returncode == 0
    assert outcome.stderr.startswith("wordline: t.pftrace: cut at ")
    assert "--window" in outcome.stderr
    trace = TraceProcessor(tmp_path / "t.pftrace")
    marks = trace.query(MARKS)
    assert [mark[1:] for mark in marks] == [("cut here", "full: it holds 5000 slices")]
    assert trace.query(f"select count(*) from slice where ts + dur > {marks[0][0] + 1}") == [(0,)]
    assert 4_000 <= trace.query("select count(*) from slice")[0][0] <= 5_100


def test_an_empty_window_is_told(wordline: Run, trace: Path, drive: Path) -> None:
    outcome = wordline("run", drive, trace, "--timeline", "t.pftrace", "--window", "1000s..", "-q")
    assert outcome.returncode == 0
    assert outcome.stderr == "wordline: t.pftrace: it is empty: the run has nothing in this window\n"


def test_an_interrupt_leaves_a_marked_timeline(drive: Path, tmp_path: Path) -> None:
    load = tmp_path / "endless.toml"
    load.write_text('[[job]]\nrw = "randread"\nbs = "16k"\niodepth = 1\ntime_based = true\nruntime_s = 1_000_000\n')
    command = [PROGRAM, "run", drive, load, "--quiet", "--timeline", "part.pftrace", "--window", "..1000s"]
    with started(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        for _ in range(500):
            time.sleep(0.01)
            parts = list(tmp_path.glob(".part.pftrace.*"))
            if parts and parts[0].stat().st_size > 0:
                break
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    trace = TraceProcessor(tmp_path / "part.pftrace")
    assert trace.losses() == []
    assert [mark[1:] for mark in trace.query(MARKS)] == [("cut here", "the run was interrupted")]


FAILING = """\
from wordline.policy import Victim


class Mine(Victim):
    name = "mine"

    def __init__(self):
        self.left = 100

    def choose(self, view):
        self.left -= 1
        return view.blocks[1 // min(self.left, 1) - 1]
"""


def test_a_policy_that_fails_leaves_timeline_and_tables(
    wordline: Run, drive: Path, writes: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "mine.py"
    policy.write_text(FAILING)
    outputs = ("--timeline", "t.pftrace", "--window", "..1000s", "--tables", "all", "--out", "out", "--json", "r.json")
    outcome = wordline("run", drive, writes, "--policy", policy, "--set", "victim.policy=mine", *outputs)
    assert outcome.returncode == 1
    assert "ZeroDivisionError" in outcome.stderr
    trace = TraceProcessor(tmp_path / "t.pftrace")
    assert trace.losses() == []
    ((at, what, why),) = trace.query(MARKS)
    assert what == "cut here"
    assert why.startswith("the run failed: the policy 'mine' (victim), at ")
    assert "ZeroDivisionError" in why
    assert trace.query("select count(*) from slice where name glob 'gc *'")[0][0] > 1000
    assert trace.query("select max(ts + dur) from slice")[0][0] <= at + 1
    tables = {path.stem: polars.read_parquet_metadata(path) for path in (tmp_path / "out").iterdir()}
    assert len(tables) == 6
    assert all(facts["wordline.partial"] == "true" for facts in tables.values())
    ended = trace.query("select count(distinct extract_arg(arg_set_id, 'debug.request')) from slice")[0][0]
    assert 0 < polars.read_parquet(tmp_path / "out" / "requests.parquet").height <= ended
    # The parts that would show a result are missing.
    assert not (tmp_path / "r.json").exists()

    place = tmp_path / "api"
    place.mkdir()
    read = policyfile.read([str(policy)])
    made = package.Drive(drive, {"victim.policy": "mine"}, policies=read)
    made.precondition()
    whole = {"timeline": place / "t.pftrace", "window": "..1000s", "tables": "all", "out": place}
    with pytest.raises(ZeroDivisionError):
        made.run(writes, **whole)
    assert (place / "t.pftrace").read_bytes() == (tmp_path / "t.pftrace").read_bytes()
    assert len(list(place.glob("*.parquet"))) == 6


def test_a_policy_that_fails_before_the_run_leaves_nothing(wordline: Run, drive: Path, writes: Path) -> None:
    policy = drive.with_name("mine.py")
    policy.write_text(FAILING.replace("= 100", "= 1"))
    mine = ("--policy", policy, "--set", "victim.policy=mine", "--set", "precondition.overwrites=1")
    outcome = wordline("run", drive, writes, *mine, "--timeline", "t.pftrace", "--tables", "all", "--out", "out")
    assert outcome.returncode == 1
    assert "ZeroDivisionError" in outcome.stderr
    assert not [path for path in drive.parent.rglob("*") if path.suffix in (".pftrace", ".parquet", ".part")]


def test_a_trace_that_breaks_off_leaves_its_timeline(wordline: Run, drive: Path, tmp_path: Path) -> None:
    # A file would be read first.
    broken = trace_text([("W", 65536 * n, 65536) for n in range(2000)]) + "x,y\n"
    refused(wordline("run", drive, "-", "--timeline", "t.pftrace", input=broken), "line 2002")
    ((_, what, why),) = TraceProcessor(tmp_path / "t.pftrace").query(MARKS)
    assert what == "cut here"
    assert "line 2002" in why


def test_what_cannot_be_written_is_told(wordline: Run, drive: Path, load: Path, trace: Path, tmp_path: Path) -> None:
    run = ("run", drive, trace, "--timeline")
    refused(wordline(*run, "nowhere/t.pftrace"), "nowhere", "does not exist")
    refused(wordline(*run, "-"), "a timeline cannot go to standard output")
    refused(wordline(*run, "same", "--json", "same"), "--json and --timeline cannot both go to the same file, same")
    refused(wordline(*run, trace), "this file is read by the same command")
    refused(wordline("run", drive, trace, "--window", "1s..2s"), "--window is for a timeline and for tables")
    report = ("--report", "r.html", "--window", "1s..2s")
    refused(wordline("run", drive, trace, *report), "--tables intervals --out DIR", "A report is of the whole run")
    for window, words in (
        ("1s", "'1s' is not a window"),
        ("2s..1s", "ends before it begins"),
        ("x..1s", "'x' is not a time"),
        ("1s..2h", "'2h' is not a time"),
        ("1..2s", "'1' is not a time without a unit; write 1s, 1ms or 1us"),
        ("-1s..1s", "'-1s' is not a time"),
    ):
        refused(wordline(*run, "t.pftrace", "--window", window), words)
    assert not list(tmp_path.glob("*t.pftrace*"))
    if Path("/dev/full").is_char_device():
        outcome = wordline(*run, "/dev/full", "--json", "r.json", "-q")
        assert (outcome.returncode, outcome.stderr) == (
            1,
            "wordline: /dev/full: cannot write: No space left on device\n",
        )
        assert parsed((tmp_path / "r.json").read_text())["requests"] == 8


PACKAGE = """
import wordline
import wordline.package
experiment = {
    "package": {"dies": 2, "planes": 2, "blocks_per_plane": 64, "pages_per_block": 64, "page_bytes": 2048},
    "host": {"planes_per_command": 2, "cache": True, "scheduler": "plane-first"},
    "load": {"kind": "stream", "op": "write", "request_bytes": 16384, "requests": 100},
}
plain = wordline.package.run(experiment)
drawn = wordline.package.run(experiment, timeline="p.pftrace", window="..10ms")
told = drawn.pop("timeline")
assert plain == drawn and told["slices"] > 500 and told["cut"] is None, told
try:
    wordline.package.run(experiment, timeline="/dev/full")
except wordline.RunError as error:
    print(error)
"""


def test_a_package_alone_is_drawn(tmp_path: Path) -> None:
    python = Path(PROGRAM).parent / "python"
    outcome = subprocess.run([python, "-c", PACKAGE], cwd=tmp_path, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout == "/dev/full: cannot write: No space left on device\n"
    trace = TraceProcessor(tmp_path / "p.pftrace")
    assert trace.losses() == []
    order = trace.query(ORDER)
    assert [child for parent, child in order if parent == "package"] == ["host", "channel 0"]
    assert [child for parent, child in order if parent == "die 0"] == ["command before", "plane 0", "plane 1"]
    assert {(source, target) for source, _, target, *_ in trace.query(FLOWS)} >= {("write", "program")}
    assert trace.query("select max(ts + dur) <= 10000000 from slice") == [(1,)]
