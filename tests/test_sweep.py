"""Sweeps: what runs at which point, and what is kept."""

from __future__ import annotations

import csv
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import polars
import pyarrow.parquet as pq
import pytest
import wordline
from conftest import PROGRAM
from wordline.base import units
from wordline.sweeps import file
from wordline.sweeps.page import front
from wordline.sweeps.space import Range

LOAD = """
[[job]]
rw = "randrw"
bs = "4k"
iodepth = 8
number_ios = 2000
"""

HEAD = 'drive = "demo"\nload = "load.toml"\n'

CAPACITY = "capacity.raw_over_logical"

SMALL = """
drive = "demo"
load = "load.toml"

[set]
"geometry.blocks_per_plane" = 40
"collect.scope" = "drive"
"""


def written(directory: Path, sweep: str, load: str = LOAD) -> Path:
    """A sweep file and its workload."""
    (directory / "load.toml").write_text(load, encoding="utf-8")
    path = directory / "sweep.toml"
    path.write_text(sweep, encoding="utf-8")
    return path


def swept(path: Path, *options: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs the command in the directory of the file."""
    done = subprocess.run(
        [PROGRAM, "sweep", path.name, *options], cwd=path.parent, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == status, done.stderr
    return done


def table(path: Path) -> list[dict[str, str]]:
    """The points of a sweep."""
    with (path.parent / "sweep.sweep" / "points.csv").open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))


def test_a_point_is_the_run_of_its_configuration(tmp_path: Path) -> None:
    text = f'{SMALL}\n[vary]\n"victim.policy" = ["greedy", "fifo"]\n\n[vary_load]\n"job.0.iodepth" = [1, 16]\n'
    path = written(tmp_path, text + "\n", LOAD)
    shown = swept(path).stdout
    rows = table(path)
    assert [(row["victim.policy"], row["load.job.0.iodepth"]) for row in rows] == [
        ("greedy", "1"),
        ("greedy", "16"),
        ("fifo", "1"),
        ("fifo", "16"),
    ]
    assert "greedy" in shown and "points.csv" in shown
    for row in rows:
        sets = {"geometry.blocks_per_plane": 40, "collect.scope": "drive", "victim.policy": row["victim.policy"]}
        depth = int(row["load.job.0.iodepth"])
        alone = wordline.run("demo", tmp_path / "load.toml", sets, {"job.0.iodepth": depth})
        kept = wordline.Run.load(tmp_path / "sweep.sweep" / row["result"])
        assert alone.digest == kept.digest
        apart = ("cpu_s", "precondition_cpu_s", "earlier_runs")
        assert {k: v for k, v in alone.items() if k not in apart} == {k: v for k, v in kept.items() if k not in apart}
        assert float(row["iops"]) == alone.iops
    document = json.loads((tmp_path / "sweep.sweep" / "sweep.json").read_text(encoding="utf-8"))
    assert [point["digest"] for point in document["points"]] and not document["partial"]


def test_what_is_known_is_not_run_again(tmp_path: Path) -> None:
    path = written(tmp_path, f'{SMALL}\n[vary]\n"victim.policy" = ["greedy", "fifo"]\n')
    swept(path)
    results = sorted((tmp_path / "sweep.sweep" / "results").glob("*/*.json"))
    times = [result.stat().st_mtime_ns for result in results]
    assert "2 of 2 results were there already" in swept(path).stdout
    assert [result.stat().st_mtime_ns for result in results] == times
    # A damaged result, one value more, and another workload.
    results[0].write_text("{}", encoding="utf-8")
    path = written(tmp_path, f'{SMALL}\n[vary]\n"victim.policy" = ["greedy", "fifo", "random"]\n')
    assert "1 of 3 results were there already" in swept(path).stdout
    written(tmp_path, path.read_text(encoding="utf-8"), LOAD.replace("2000", "1000"))
    assert "already" not in swept(path).stdout
    assert {row["requests"] for row in table(path)} == {"1000"}


def test_a_trace_that_changes_is_run_again(tmp_path: Path) -> None:
    trace = tmp_path / "small.csv"
    head = "time_us,op,offset_bytes,size_bytes\n"
    trace.write_text(head + "".join(f"{n},w,{4096 * n},4096\n" for n in range(100)), encoding="utf-8")
    path = written(tmp_path, SMALL, '[trace]\nfile = "small.csv"\n')
    swept(path)
    assert "1 of 1 results were there already" in swept(path).stdout
    trace.write_text(head + "".join(f"{n},w,{8192 * n},4096\n" for n in range(100)), encoding="utf-8")
    assert "already" not in swept(path).stdout


def test_a_point_that_fails_leaves_the_others(tmp_path: Path) -> None:
    path = written(tmp_path, f'{SMALL}\n[vary]\n"capacity.raw_over_logical" = [1.3, 1.0001]\n')
    done = swept(path, status=1)
    assert "too little spare" in done.stderr and "1 of 2 points failed" in done.stderr
    good, bad = table(path)
    assert good["iops"] and not good["error"] and "too little spare" in bad["error"] and not bad["iops"]


def test_a_sweep_that_cannot_start_leaves_no_file(tmp_path: Path) -> None:
    path = written(tmp_path, f'{HEAD}[vary]\n"victim.polcy" = ["fifo"]\n')
    swept(path, "--report", "page.html", status=2)
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and "page.html" in file.name]


def test_seeds_are_runs_of_their_own(tmp_path: Path) -> None:
    path = written(tmp_path, f"seeds = 2\n{SMALL}")
    assert "means over 2 seeds" in swept(path).stdout
    rows = table(path)
    assert [row["seed"] for row in rows] == ["42", "43"] and rows[0]["latency_us.all.mean"] != rows[1][
        "latency_us.all.mean"
    ]
    alone = wordline.run(
        "demo", tmp_path / "load.toml", {"geometry.blocks_per_plane": 40, "collect.scope": "drive"}, seed=43
    )
    assert float(rows[1]["latency_us.all.mean"]) == alone.mean_us


def test_one_preconditioned_drive_for_all() -> None:
    load = wordline.Workload.text(LOAD)
    sets = {"geometry.blocks_per_plane": 40}
    vary = {"victim.policy": ["greedy", "fifo"], "collect.stop_blocks": [12, 16]}
    done = wordline.sweep("demo", load, vary, sets=sets, precondition="once")
    drive = wordline.Drive("demo", sets)
    drive.precondition()
    for point, run in zip(done.points, done.runs, strict=True):
        assert run is not None
        assert run["latency_us"] == drive.fork(point).run(load)["latency_us"], point
    frame = done.frame()
    assert len(frame) == 4 and frame.columns[:3] == ["victim.policy", "collect.stop_blocks", "seed"]
    apart = wordline.sweep("demo", load, vary, sets=sets)
    assert apart.runs[3] != done.runs[3], "each preconditions its own drive"


def test_all_points_are_one_parquet_table(tmp_path: Path) -> None:
    varied = f'"{CAPACITY}" = [1.3, 1.0001]\n"collect.window_pages" = [4]\n"pack.cache" = [true]\n'
    text = f"seeds = [5, 18446744073709551615]\n{SMALL}\n[vary]\n{varied}"
    path = written(tmp_path, text)
    swept(path, status=1)
    found = pq.read_table(tmp_path / "sweep.sweep" / "points.parquet")
    kinds = {field.name: str(field.type) for field in found.schema}
    assert kinds[CAPACITY] == "double" and kinds["collect.window_pages"] == "int64" and kinds["pack.cache"] == "bool"
    assert kinds["seed"] == "uint64" and kinds["iops"] == "double" and kinds["status"] == kinds["error"] == "string"
    rows = found.to_pylist()
    assert [(row[CAPACITY], row["seed"], row["status"]) for row in rows] == [
        (1.3, 5, "done"),
        (1.3, 2**64 - 1, "done"),
        (1.0001, 5, "failed"),
        (1.0001, 2**64 - 1, "failed"),
    ]
    for row, told in zip(rows, table(path), strict=True):
        assert row["error"] == (told["error"] or None) and row["result"] == (told["result"] or None)
        assert row["iops"] == (float(told["iops"]) if told["iops"] else None)
        if row["status"] == "done":
            kept = wordline.Run.load(tmp_path / "sweep.sweep" / row["result"])
            assert (row["digest"], row["latency_us.all.mean"]) == (kept.digest, kept.mean_us)
    frame = polars.read_parquet(tmp_path / "sweep.sweep" / "points.parquet")
    assert frame.schema["seed"] == polars.UInt64 and frame.filter(polars.col("status") == "done").height == 2


def test_the_report_tells_what_the_table_has(tmp_path: Path) -> None:
    path = written(tmp_path, f'seeds = 2\n{SMALL}\n[vary]\n"capacity.raw_over_logical" = [1.15, 1.3, 1.0001]\n')
    done = swept(path, "--report", "page.html", status=1)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "4 runs with results, 2 failed." in page and "Figures are means over 2 seeds." in page
    assert "too little spare" in page and "too little spare" in done.stderr
    rows = [row for row in table(path) if row["iops"]]
    mean = {
        spare: statistics.fmean(float(row["write_amplification"]) for row in rows if row[CAPACITY] == spare)
        for spare in ("1.15", "1.3")
    }
    assert f"× {units.three(mean['1.15'] / mean['1.3'])}" in page
    # The best points are those that no other beats in both, by hand.
    assert front([(1, 1), (2, 3), (3, 2), (3, 4), (4, 5), (0.5, 0.5)]) == [5, 0, 2, 4]


def test_a_hypercube_has_a_value_in_each_stratum() -> None:
    keys = {
        "capacity.raw_over_logical": {"from": 1.0, "to": 2.0},
        "queue.depth": {"from": 1, "to": 1024, "scale": "log"},
    }
    given = {"drive": ["demo"], "load": ["x"], "design": "latin-hypercube", "points": 10, "vary": keys}
    space = file.plan(given).space
    points = space.points()
    assert sorted(int((point.sets["capacity.raw_over_logical"] - 1) * 10) for point in points) == list(range(10))
    depths = sorted(point.sets["queue.depth"] for point in points)
    assert all(2**n <= depth <= 2 ** (n + 1) for n, depth in enumerate(depths))
    assert points == file.plan(given).space.points(), "a design is the same each time"
    whole = Range(2, 5, whole=True)
    assert {whole.at(share / 100) for share in range(101)} == {2, 3, 4, 5}


def test_a_list_has_its_points_in_order(tmp_path: Path) -> None:
    points = '[[point]]\nset = { "victim.policy" = "fifo" }\n\n[[point]]\nload_set = { "job.0.iodepth" = 2 }\n'
    path = written(tmp_path, f"{SMALL}\n{points}")
    swept(path)
    assert [(row["victim.policy"], row["load.job.0.iodepth"]) for row in table(path)] == [("fifo", ""), ("", "2")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('drve = "demo"', "drve: no such key in a sweep file; did you mean 'drive'?"),
        ('drive = "demo"', "'load' is missing"),
        ('drive = "demo"\nload = 3', "load = 3: must be a name"),
        ('drive = "demo"\nload = "load.toml"\ndesign = "gird"', "did you mean 'grid'?"),
        ('drive = "demo"\nload = "load.toml"\nseeds = 0', "seeds = 0: must be at least 1"),
        ('drive = "demo"\nload = "load.toml"\npoints = 3', "points: their number goes with"),
        ('drive = "demo"\nload = "load.toml"\ndesign = "latin-hypercube"', "needs their number"),
        ('drive = "demo"\nload = "load.toml"\n[vary]\n"victim.policy" = "fifo"', "must be a list of values"),
        ('drive = "demo"\nload = "load.toml"\n[vary]\n"victim.policy" = []', "the list is empty"),
        ('drive = "demo"\nload = "load.toml"\n[vary]\n"queue.depth" = { from = 1, to = 9 }', "a range needs design"),
        ('drive = "demo"\nload = "load.toml"\n[vary]\n"queue.depth" = { from = 9, to = 1 }', "the first below"),
        ('drive = "demo"\nload = "load.toml"\n[vary]\n"victim.polcy" = ["fifo"]', "did you mean 'victim.policy'?"),
        ('drive = "demo"\nload = "none.toml"', "none.toml"),
        ('drive = "dmeo"\nload = "load.toml"', "demo"),
        (f"{HEAD}seeds = 1_000_000_000", "seeds = 1000000000: must be at least 1 and at most"),
        (f'{HEAD}design = "latin-hypercube"\npoints = 1_000_000_000', "more than 1,000,000 runs"),
        (f'{HEAD}[vary]\n"queue.depth" = {{ from = 1.2, to = 1.8, whole = true }}', "no whole number from 1.2 to 1.8"),
        (f'{HEAD}[vary]\n"queue.depth" = {{ form = 1, to = 2 }}', "did you mean 'from'?"),
        ("drive = ", "this is not TOML"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, told: str) -> None:
    done = swept(written(tmp_path, text + "\n"), status=2)
    assert told in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "sweep.sweep" / "points.csv").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupted_sweep_goes_on(tmp_path: Path) -> None:
    load = LOAD.replace("2000", "400_000")
    text = f'{SMALL}\n[vary_load]\n"job.0.iodepth" = [{", ".join(map(str, range(1, 41)))}]\n'
    path = written(tmp_path, text, load)
    process = subprocess.Popen(
        [PROGRAM, "sweep", path.name, "--jobs", "2", "--report", "page.html"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    results = tmp_path / "sweep.sweep" / "results"
    until = time.monotonic() + 120
    while time.monotonic() < until and not (results.is_dir() and len(list(results.glob("*/*.json"))) >= 2):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130 and "the same command goes on" in told
    done = [row for row in table(path) if row["iops"]]
    assert 2 <= len(done) < 40 and not list(results.glob("*/.*.part"))
    assert "Interrupted" in (tmp_path / "page.html").read_text(encoding="utf-8")
    kept = {row["load.job.0.iodepth"]: row["iops"] for row in done}
    few = ", ".join(list(kept)[:2])
    path.write_text(f'{SMALL}\n[vary_load]\n"job.0.iodepth" = [{few}]\n', encoding="utf-8")
    assert "2 of 2 results were there already" in swept(path).stdout
