"""True traces instead of stand-ins: found by name, rounded to whole units, replayed, and no longer marked."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Run, done, refused
from experiments import carried_out
from rich.console import Console
from wordline.api.workload import Workload
from wordline.base.errors import Trouble
from wordline.studies import catalogue, command, drives, page, parallel_gc, runner, sensitivity, show, traces, words
from wordline.studies.autossd import Traced
from wordline.studies.context import Context
from wordline.studies.traces import Recorded, find, recorded

TICKS = 128166372003061629
"""When the volumes of MSR Cambridge begin, in 100 ns."""

Request = tuple[float, str, int, int]
"""Milliseconds since the start, Read or Write, offset and size."""


def msr(path: Path, requests: list[Request]) -> Path:
    """A trace in the format of MSR Cambridge."""
    rows = (f"{TICKS + round(ms * 1e4)},h,0,{op},{offset},{size},99\n" for ms, op, offset, size in requests)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(rows))
    return path


def some(number: int, *, gap_ms: float = 1.0, offset: int = 0) -> list[Request]:
    """Writes and reads of 4 KiB in turn."""
    return [(n * gap_ms, ("Write", "Read")[n % 2], offset + 4096 * n, 4096) for n in range(number)]


# Names.


def test_files_are_found_by_their_names_up_to_the_first_dot(tmp_path: Path) -> None:
    for name in ("MDS_0.csv.gz", "proj_0.trace", "web_0.stand-in.json", "mds_01.csv", "read.me"):
        (tmp_path / name).touch()
    (tmp_path / "hm_0").mkdir()
    found = find(tmp_path, ["hm_0", "mds_0", "proj_0", "web_0"])
    assert {name: path.name for name, path in found.items()} == {
        "hm_0": "hm_0",
        "mds_0": "MDS_0.csv.gz",
        "proj_0": "proj_0.trace",
    }


def test_two_files_of_one_trace_are_refused(tmp_path: Path) -> None:
    for name in ("dtrs.csv", "DTRS.csv.zst"):
        (tmp_path / name).touch()
    with pytest.raises(Trouble, match=r"DTRS\.csv\.zst and .*dtrs\.csv: both have the name of the trace DTRS"):
        find(tmp_path, ["DTRS"])


def test_a_wrong_folder_is_named_with_what_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, said in ((".", "none of the traces is there"), ("none", "does not exist"), ("file", "this is a file")):
        with pytest.raises(Trouble, match=rf"{said}.*mds_0, proj_0") as told:
            find(tmp_path / name, ["mds_0", "proj_0"])
        assert str(tmp_path / name) in told.value.message


def test_every_study_of_traces_names_those_of_its_chapter() -> None:
    tables = {"kim18": "trace", "choi18": "volume", "jung13-chapter-3": "workload", "jung13-chapter-6": "trace"}
    tables["dirik09"] = "trace"
    some = {"autossd-share": ["MSN-BEFS"], "paq-sensitivity": ["fin2", "web1", "usr2"]}
    named = {study.name: study for study in catalogue.every() if study.traces}
    assert set(named) == {
        "autossd",
        "autossd-2x",
        "autossd-share",
        "gc-parallel",
        "gc-parallel-4",
        "organisation",
        "palloc",
        "paq",
        "paq-sensitivity",
        "read-priority",
    }
    for study in named.values():
        chapter = catalogue.parsed(ROOT / "studies" / f"{study.chapter}.toml")
        names = list(chapter[tables[study.chapter]])
        assert list(study.traces) == some.get(study.name, names)
        assert study.stand_in and study.true_traces


# Errors of the command.


def test_wrong_uses_of_the_option(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused(wordline("study", "--traces", "empty"), "--traces", "give its name")
    (tmp_path / "msn-befs.trace").write_text("1 0 100 8 1\n2 0 200 8 0\n")
    refused(wordline("study", "autossd-share", "--traces", "."), "give the format", "wordline trace convert")
    refused(wordline("study", "--scorecard", "--traces", "empty"), "none of the traces", "DAP-DS", "web_0")


def test_a_study_without_traces_takes_none(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match=r"nand-planes: this study replays no traces.*autossd-share"):
        command.true_traces(tmp_path, [catalogue.load("nand-planes")])


def test_a_stand_in_is_no_true_trace(wordline: Run) -> None:
    statistics = ("--requests", "100", "--writes", "50", "--read-size", "4k", "--write-size", "4k", "--random", "100")
    done(wordline("trace", "synth", "-o", "DTRS.csv", *statistics, "--footprint", "100k", "--mean-gap", "100", "-q"))
    refused(wordline("study", "autossd", "--traces", "."), "DTRS.csv", "this is a stand-in itself")


# What is replayed.


def test_requests_are_rounded_outwards_and_put_in_order(tmp_path: Path) -> None:
    source = msr(
        tmp_path / "hm_0.csv",
        [
            (0, "Write", 512, 512),
            (3, "Read", 16384, 16384),
            (1, "Write", 16000, 1024),
            (2, "Read", 0, 0),
            (4, "Read", 0, 1),
            (9, "Read", 0, 512),
        ],
    )
    part = recorded("hm_0", source, 16384, 4)
    rows = Workload.trace(part.file).to_frame().to_pandas()
    assert list(zip(rows.op, rows.offset_bytes // 16384, rows.size_bytes // 16384, strict=True)) == [
        ("write", 0, 1),
        ("write", 0, 2),
        ("read", 1, 1),
        ("read", 0, 1),
    ]
    assert list(rows.time_ps / 1e9) == [0, 1, 3, 4]
    assert (part.requests, part.gap_us, part.left_out["skipped"]) == (4, pytest.approx(4000 / 3), 1)
    assert recorded("hm_0", source, 16384, None).requests == 5


def test_a_trace_in_several_files_is_one(tmp_path: Path) -> None:
    msr(tmp_path / "hm_0" / "a.csv", some(10))
    msr(tmp_path / "hm_0" / "b.csv", [(100 + ms, *rest) for ms, *rest in some(5)])
    part = recorded("hm_0", find(tmp_path, ["hm_0"])["hm_0"], 4096, None)
    assert (part.requests, part.json()["file"]) == (15, "hm_0")


def test_a_trace_without_times_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match=r"hm_0\.csv: its requests have no times"):
        recorded("hm_0", msr(tmp_path / "hm_0.csv", some(3, gap_ms=0)), 4096, None)


def test_a_trace_of_a_larger_drive_is_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drives, "SHELF", drives.Shelf())
    part = recorded("hm_0", msr(tmp_path / "hm_0.csv", some(300, offset=1 << 44)), 16384, 200)

    plain = {"drive": "demo", "sets": {}, "precondition": {}, "then": {}, "seed": 1, "jobs": [part.job(speed=2)]}
    result = carried_out(plain)
    assert result["requests"] == 200
    assert result["by_op"]["write"]["bytes"] == 100 * 16384
    assert result["simulated_s"] == pytest.approx(0.1, rel=0.01), "twice as fast as it was recorded"


# What the studies make of them.


def test_kim18_replays_at_the_intensity_of_the_comparison(tmp_path: Path) -> None:
    files = {"DTRS": msr(tmp_path / "DTRS.csv", some(50))}
    context = Context(catalogue.load("autossd-2x"), traces=files)
    study = Traced(context, faster=2)
    true, other = (study.job(it) for it in study.traces(["DTRS", "LM-TBE"]))
    assert true["trace"]["file"] == str(files["DTRS"]) and true["replay"] == {"speed": 2}
    # 6 GiB in writes of 31.9 KB, which are 5.8 of 17.8 requests.
    assert true["trace"]["limit"] == round(6 * 2**20 / 31.9 * 17.8 / 5.8)
    assert "stand_in" in other and list(context.replayed) == ["DTRS"]
    assert (
        Traced(Context(context.study, full=True, traces=files)).job(study.traces(["DTRS"])[0])["trace"]["limit"] is None
    )


def test_choices_about_stand_ins_are_not_asked_without_any(tmp_path: Path) -> None:
    files = {"MSN-BEFS": msr(tmp_path / "MSN-BEFS.csv", some(50))}
    asked = {}
    for name, true in (("stand-in", {}), ("true", files)):
        context = Context(catalogue.load("autossd-share"), traces=true)
        study = Traced(context)
        study.job(study.traces(["MSN-BEFS"])[0])
        asked[name] = context.asked
    assert asked["stand-in"] - asked["true"] == {"offsets", "bursts", "trace-sizes"}


def test_choi18_divides_times_to_the_intensity(tmp_path: Path) -> None:
    files = {"hm_0": msr(tmp_path / "hm_0.csv", some(101, gap_ms=50))}
    drive = parallel_gc.Drive(Context(catalogue.load("gc-parallel"), traces=files), {})
    volumes = {it.name: it for it in drive.volumes()}
    job = drive.job(volumes["hm_0"], 100.0)
    assert job["replay"] == {"speed": pytest.approx(500)}
    assert job["trace"]["limit"] == drive.stand_in(volumes["hm_0"], 100.0, drive.length)["requests"]
    assert drive.job(volumes["mds_0"], 100.0)["stand_in"] == drive.stand_in(volumes["mds_0"], 100.0, drive.length)


def test_choi18_takes_half_of_a_trace_at_full_speed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"hm_0": msr(tmp_path / "hm_0.csv", some(100))}
    drive = parallel_gc.Drive(Context(catalogue.load("gc-parallel"), traces=files), {})
    monkeypatch.setattr(Context, "drives", lambda _, experiments: experiments)
    gaps = dict.fromkeys((it.name for it in drive.volumes()), 100.0)
    jobs = {name: it["jobs"][0] for (_, name), it in drive.at_full_speed(gaps, {"baseline": {}}).items()}
    assert jobs["hm_0"]["replay"] == {"pace": "asap", "iodepth": 1024, "limit": 50}
    assert Workload.trace(recorded("hm_0", files["hm_0"], 16384, None).file, **jobs["hm_0"]["replay"])
    assert jobs["mds_0"]["stand_in"]["requests"] < jobs["hm_0"]["trace"]["limit"]


def test_a_trace_with_too_few_small_reads_is_refused_before_the_runs(tmp_path: Path) -> None:
    large = [(60.0 + n, "Read", 0, 65537) for n in range(5)]
    files = {"DTRS": msr(tmp_path / "DTRS.csv", some(50) + large)}
    study = Traced(Context(catalogue.load("autossd"), traces=files), needed=26)
    with pytest.raises(Trouble, match=r"DTRS\.csv: 25 of the 55 requests .* are reads of at most 64 KiB; .* need 26;"):
        study.runs(("RAIN",), ["DTRS"])
    Traced(study.context, needed=25).check(study.traces(["DTRS"])[0])


def test_a_full_disk_is_told_with_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(traces, "_round", full)
    with pytest.raises(Trouble, match=r"cannot write a copy of a trace: No space left on device\n.*TMPDIR"):
        recorded("hm_0", msr(tmp_path / "hm_0.csv", some(20)), 4096, 19)


def test_a_trace_that_is_too_short_is_named(tmp_path: Path) -> None:
    late = {"read": {"count": 3, "p90": None}, "write": {"count": 500, "p90": 1.0}}
    result: dict[str, Any] = {"gc": {"moved_pages": 1}, "gc_affected_us": late, "requests": 900}
    with pytest.raises(Trouble, match=r"hm_0\.csv: GC of GC-PAR delays 3 reads and 500 writes among the 900 requests"):
        parallel_gc._enough(tmp_path / "hm_0.csv", "GC-PAR", result)


# What pages and programs are told.

STUDY = """\
title = "A study"
paper = "Somebody 2018"
sections = "section 1"
runs = "Two traces are read."
stand_in = true
traces = ["one", "two"]

[[open]]
key = "colour"
parameter = "colour"
value = 45.0
choice = "blue"
reason = "nobody said"
alternatives = [{ value = 15.0, choice = "red" }]

[[claim]]
id = "a.number"
at = "1.1"
study = "made-up"
says = "more"
value = 40
unit = "%"
"""
CODE = """\
from wordline.studies.outcome import Outcome

def run(context):
    for name in context.study.traces:
        context.recorded(name, 4096, 20)
    return Outcome({"a.number": context.choice("colour")})
"""


@pytest.fixture
def made_up(tmp_path: Path) -> catalogue.Study:
    """A study that reads traces and runs no drive."""
    folder = tmp_path / "made-up"
    folder.mkdir()
    for name, text in (("study.toml", STUDY), ("study.py", CODE), ("discussion.md", "It is as it is.\n")):
        (folder / name).write_text(text)
    return catalogue.read(folder)


def report_of(study: catalogue.Study, folder: Path, *names: str) -> runner.Report:
    """A run with these true traces."""
    files = {name: msr(folder / f"{name}.csv", some(30)) for name in names}
    return runner.run(study, lambda *_: None, "made-up", traces=files)


def test_without_true_traces_nothing_changes(made_up: catalogue.Study, tmp_path: Path) -> None:
    report = report_of(made_up, tmp_path)
    told = report.json("1")
    assert "traces" not in told and told["stand_in"] and told["claims"][0]["stand_in"]
    text = page.text_of(report)
    assert "**Stand-in workload**: workloads synthesised" in text and "It is as it is." in text
    assert "traces" not in command.scorecard_json([report], "1", partial=False)


def test_some_true_traces_are_named_and_the_mark_stays(made_up: catalogue.Study, tmp_path: Path) -> None:
    report = report_of(made_up, tmp_path / "msr", "two")
    told = report.json("1")
    assert [(it["trace"], it["file"], it["requests"]) for it in told["traces"]] == [("two", "two.csv", 20)]
    assert told["stand_in"] and told["claims"][0]["stand_in"]
    assert words.traces(report) == "true ones of two; stand-ins of one"
    text = page.text_of(report)
    assert "**Stand-in workload** for 1 of 2 traces: true ones of two; stand-ins of one." in text
    assert "reproduced (within a factor of 1.5), stand-in workload |" in text
    assert "| two | true trace | two.csv | 20 |\n| one | stand-in | – | – |" in text
    assert "wrap around" in text and "It is as it is." not in text
    assert f"`wordline study made-up --traces {tmp_path / 'msr'}`, seed 1." in text


def test_the_mark_goes_when_all_traces_are_true(made_up: catalogue.Study, tmp_path: Path) -> None:
    report = report_of(made_up, tmp_path / "msr", "one", "two")
    told = report.json("1")
    assert [it["trace"] for it in told["traces"]] == ["one", "two"]
    assert not told["stand_in"] and not told["claims"][0]["stand_in"]
    assert words.verdict(report.rows[0]) == "reproduced (within a factor of 1.5)"
    text = page.text_of(report)
    assert "**True traces**" in text and words.STAND_IN not in text.lower()
    card = command.scorecard_json([report], "1", partial=False)
    assert [(it["study"], it["trace"]) for it in card["traces"]] == [("made-up", "one"), ("made-up", "two")]
    assert "Traces: true ones of one, two." in "\n".join(page.index([report]))


def test_the_terminal_names_true_traces(made_up: catalogue.Study, tmp_path: Path) -> None:
    told = StringIO()
    report = report_of(made_up, tmp_path / "msr", "one")
    show.report(Console(file=told, width=80), report, tmp_path)
    show.scorecard(Console(file=told, width=80), [report], partial=False)
    assert "true ones of one; stand-ins of two" in told.getvalue()
    assert "true traces                 one\n" in told.getvalue()


def test_other_choices_are_tried_with_the_same_traces(made_up: catalogue.Study, tmp_path: Path) -> None:
    report = report_of(made_up, tmp_path / "msr", "one", "two")
    tried = sensitivity.run(report, lambda *_: None, "made-up", {})
    assert [row.stand_in for trial in tried.trials for row in trial.rows] == [False]
    document = tried.json("1")
    assert [it["trace"] for it in document["traces"]] == ["one", "two"]
    # What is kept of stand-ins says nothing about true traces, whatever the values.
    (made_up.folder / "sensitivity.json").write_text(traces.json.dumps(document))
    assert sensitivity.kept(report) is None
    assert sensitivity.kept(report_of(made_up, tmp_path)) is not None


def test_the_list_names_the_traces() -> None:
    listed = {it["study"]: it["traces"] for it in command.list_json(catalogue.every())}
    assert listed["autossd-share"] == ["MSN-BEFS"] and listed["nand-planes"] == []


def test_true_traces_of_all_studies_are_looked_at_first(tmp_path: Path) -> None:
    msr(tmp_path / "DTRS.csv", some(3))
    msr(tmp_path / "hm_0.csv", some(3))
    assert set(command.true_traces(tmp_path, catalogue.every())) == {"DTRS", "hm_0"}
    assert command.true_traces(None, catalogue.every()) == {}
    (tmp_path / "hm_0.csv").write_text("")
    with pytest.raises(Trouble, match=r"hm_0\.csv"):
        command.true_traces(tmp_path, catalogue.every())


def test_copies_keep_devices_and_flushes(tmp_path: Path) -> None:
    source = tmp_path / "hm_0.iolog"
    source.write_text("fio version 3 iolog\n0 f add\n0 f open\n10 f write 0 512\n20 f sync 0 0\n30 f trim 512 512\n")
    part: Recorded = recorded("hm_0", source, 4096, None)
    rows = Workload.trace(part.file).to_frame().to_pandas()
    assert list(zip(rows.op, rows.offset_bytes, rows.size_bytes, strict=True)) == [
        ("write", 0, 4096),
        ("flush", 0, 0),
        ("trim", 512, 512),
    ]
    assert set(rows.device) == {"f"}
