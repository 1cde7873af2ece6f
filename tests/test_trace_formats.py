"""Traces of other formats and of several files, from the command line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from conftest import Run

SPC = "0,0,8192,W,0.5\n0,16,4096,r,0.75\n0,24,4096,R,1.0\n"
PARTS = ("10,web,0,Read,0,4096,9\n30,web,0,Write,4096,4096,9\n", "20,web,1,Read,8192,4096,9\n40,web,1,Write,0,4096,9\n")


def info(wordline: Run, *arguments: object) -> dict[str, object]:
    """The output of ``trace info --json``."""
    done = wordline("trace", "info", *map(str, arguments), "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """A trace in two files, one of them compressed."""
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "a.csv").write_text(PARTS[0])
    (folder / "b.csv.gz").write_bytes(gzip.compress(PARTS[1].encode()))
    return [folder / "a.csv", folder / "b.csv.gz"]


def test_a_format_is_found_and_told(wordline: Run, tmp_path: Path) -> None:
    trace = tmp_path / "fin.spc"
    trace.write_text(SPC)
    found = info(wordline, trace)
    assert (found["detected"]["format"], found["reads"], found["writes"]) == ("spc", 2, 1)
    assert "SPC" in found["detected"]["reason"]


def test_several_files_are_one_trace(wordline: Run, parts: list[Path]) -> None:
    folder = parts[0].parent
    for names in (parts, [folder], [folder / "*.csv*"]):
        found = info(wordline, *names)
        assert (found["requests"], found["reads"], found["duration_s"]) == (4, 2, 3e-6)
        assert "2 files, merged by time" in found["detected"]["reason"]


def test_several_files_are_replayed(wordline: Run, parts: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    done = wordline("run", "demo", *map(str, parts), "--json", str(out), "--quiet")
    assert done.returncode == 0, done.stderr
    trace = json.loads(out.read_text())["workload"]["trace"]
    assert trace["files"] == ["a.csv", "b.csv.gz"]
    assert trace["left_out"] == {"clamped": 0, "skipped": 0, "unreadable": 0, "wrapped": 0, "ignored": 0}


def test_bad_lines_are_left_out_and_counted(wordline: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text(PARTS[0] + "broken\n" + PARTS[0].replace("10,", "50,").replace("30,", "60,"))
    done = wordline("trace", "info", str(trace))
    assert done.returncode == 2
    assert "line 3: columns" in done.stderr and "broken" in done.stderr
    done = wordline("trace", "info", str(trace), "--load-set", "trace.skip_bad=0.3")
    assert done.returncode == 0, done.stderr
    assert "1 line that could not be read" in done.stdout


def test_workload_files_stand_alone(wordline: Run, parts: list[Path]) -> None:
    done = wordline("run", "demo", str(parts[0]), "load.toml")
    assert done.returncode == 2
    assert "give one workload file alone" in done.stderr


def test_a_trace_without_stamps_is_paced_by_the_queue(wordline: Run, tmp_path: Path) -> None:
    trace = tmp_path / "list.lis"
    trace.write_text("".join(f"{n * 8} 8 0 {n}\n" for n in range(100)))
    done = wordline("trace", "info", str(trace))
    assert done.returncode == 2 and "it might be arc" in done.stderr
    out = tmp_path / "result.json"
    done = wordline("run", "demo", str(trace), "--format", "arc", "--json", str(out), "--quiet")
    assert done.returncode == 0, done.stderr
    assert "only the order counts" in json.loads(out.read_text())["workload"]["trace"]["reason"]
