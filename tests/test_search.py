"""Searches of design spaces."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import wordline
from conftest import PROGRAM, Run, done
from wordline.sweeps import search
from wordline.sweeps.search import Limit, Search, Tried

pytest.importorskip("optuna")

LOAD = '[[job]]\nrw = "randwrite"\nbs = "4k"\niodepth = 8\nnumber_ios = 20_000\n'

FILE = """
drive = "demo"
load = "load.toml"
trials = 24
batch = 4
minimise = "write_amplification"

[set]
"geometry.blocks_per_plane" = 40
"collect.scope" = "drive"
"precondition.fill" = true
"precondition.overwrites" = 1.5

[vary]
"capacity.raw_over_logical" = { from = 1.15, to = 1.6 }
"victim.policy" = ["random", "greedy"]
"""


def written(directory: Path, text: str = FILE, load: str = LOAD) -> Path:
    (directory / "load.toml").write_text(load, encoding="utf-8")
    path = directory / "space.toml"
    path.write_text(text, encoding="utf-8")
    return path


def trials(directory: Path) -> list[dict[str, str]]:
    with (directory / "space.search" / "trials.csv").open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))


def test_the_best_is_where_theory_says(wordline: Run, tmp_path: Path) -> None:
    """Greedy with much over-provisioning gives the least write amplification."""
    written(tmp_path)
    shown = done(wordline("optimise", "space.toml"))
    rows = trials(tmp_path)
    assert len(rows) == 24 and all(row["keeps_limits"] == "1" and not row["error"] for row in rows)
    (best,) = [row for row in rows if row["best"] == "1"]
    assert float(best["write_amplification"]) == min(float(row["write_amplification"]) for row in rows)
    assert float(best["capacity.raw_over_logical"]) > 1.3 and best["victim.policy"] == "greedy"
    # It looks there more often than chance would.
    later = [float(row["capacity.raw_over_logical"]) for row in rows[12:]]
    assert sum(value > 1.375 for value in later) > len(later) / 2
    assert sum(row["victim.policy"] == "greedy" for row in rows[12:]) > len(later) / 2
    assert "24 trials." in shown and best["victim.policy"] in shown and "as low as possible" in shown
    # A trial is the run of its configuration.
    document = json.loads((tmp_path / "space.search" / "search.json").read_text(encoding="utf-8"))
    (told,) = [trial for trial in document["trials"] if trial["best"]]
    sets = ["--set", "geometry.blocks_per_plane=40", "--set", "collect.scope=drive", "--set", "precondition.fill=true"]
    sets += ["--set", "precondition.overwrites=1.5"]
    for key, value in told["factors"].items():
        sets += ["--set", f"{key}={value}"]
    done(wordline("run", "demo", "load.toml", *sets, "--json", "own.json"))
    assert json.loads((tmp_path / "own.json").read_text(encoding="utf-8"))["digest"] == told["digests"][0]
    # The same search again is known.
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "space.search" / "results").glob("*/*.json")}
    done(wordline("optimise", "space.toml", "--jobs", "1", "--report", "page.html"))
    assert trials(tmp_path) == rows
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert "24 runs with results" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_limits_are_kept_or_told(wordline: Run, tmp_path: Path) -> None:
    """The least spare space with a write amplification below a bound lies at the bound."""
    text = FILE.replace('minimise = "write_amplification"', 'maximise = "write_amplification"')
    written(tmp_path, f"{text}\n[limit]\nwrite_amplification = {{ below = 2 }}\n")
    done(wordline("optimise", "space.toml"))
    rows = [row for row in trials(tmp_path) if not row["error"]]
    assert all((float(row["write_amplification"]) <= 2) == (row["keeps_limits"] == "1") for row in rows)
    (best,) = [row for row in rows if row["best"] == "1"]
    assert float(best["write_amplification"]) == max(
        float(row["write_amplification"]) for row in rows if row["keeps_limits"] == "1"
    )
    written(tmp_path, f"{FILE.replace('trials = 24', 'trials = 4')}\n[limit]\niops = {{ above = 1e9 }}\n")
    failed = wordline("optimise", "space.toml")
    assert failed.returncode == 1 and "no trial keeps the limits" in failed.stderr
    assert "0 keep the limits" in failed.stdout and "The nearest to the limits:" in failed.stdout


def test_points_that_cannot_run_are_told_once(wordline: Run, tmp_path: Path) -> None:
    written(tmp_path, FILE.replace('"random", "greedy"', '"greedy", "gredy"'))
    failed = wordline("optimise", "space.toml")
    assert failed.returncode == 0 and failed.stderr.count("gredy") >= 1 and "failed." in failed.stdout
    assert failed.stderr.count("wordline:") == 1, failed.stderr
    trace = FILE.replace('minimise = "write_amplification"', 'minimise = "latency_us.read.p99"')
    written(tmp_path, trace.replace("trials = 24", "trials = 4"))
    failed = wordline("optimise", "space.toml")
    assert failed.returncode == 1 and "no trial has a result" in failed.stderr


def test_a_front_has_what_no_other_beats() -> None:
    def tried(reads: float, writes: float) -> Tried:
        return Tried([], figures={"iops": reads, "write_amplification": writes})

    given = [tried(1, 1), tried(2, 3), tried(3, 2), tried(3, 4), tried(0.5, 0.5), tried(3, 2), tried(9, 9)]
    plan = search.wanted(
        {
            "drive": "demo",
            "load": "x",
            "vary": {"queue.depth": [1, 2]},
            "maximise": "iops",
            "minimise": "write_amplification",
            "limit": {"write_amplification": {"below": 8}},
        }
    )
    plan.goals = {"iops": True, "write_amplification": False}

    class Alone(Search):
        def __init__(self) -> None:
            self.wanted, self.tried = plan, given

    assert [(it.figures["iops"], it.figures["write_amplification"]) for it in Alone().best] == [
        (3, 2),
        (1, 1),
        (0.5, 0.5),
    ]
    assert Limit("iops", True, 10).excess({"iops": 5}) == 0.5
    assert Limit("iops", False, 10).excess({"iops": 5}) == -0.5


def test_one_drive_serves_all_trials() -> None:
    load = wordline.Workload.text(LOAD)
    sets = {"geometry.blocks_per_plane": 40, "precondition.fill": True}
    vary = {"victim.policy": ["greedy", "fifo"], "collect.stop_blocks": [12, 14, 16]}
    found = wordline.optimise(
        "demo", load, vary, maximise="iops", sets=sets, trials=10, batch=5, precondition="once", seeds=2
    )
    assert len(found.tried) == 10
    drive = wordline.Drive("demo", sets)
    drive.precondition()
    (best,) = found.best
    rate = drive.fork(best.factors).run(load).iops
    assert best.jobs[0].figures is not None and best.jobs[0].figures["iops"] == rate
    # Points come again, and are not run again: what they came to is the same.
    by_factors = {}
    for tried in found.tried:
        assert by_factors.setdefault(repr(tried.factors), tried.figures) == tried.figures
    assert len(by_factors) <= 6


def test_an_interrupted_search_goes_on(tmp_path: Path) -> None:
    written(tmp_path, FILE, LOAD.replace("20_000", "60_000"))
    command = [PROGRAM, "optimise", "space.toml"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    results = tmp_path / "space.search" / "results"
    until = time.monotonic() + 120
    while len(list(results.glob("*/*.json"))) < 6:
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130 and "the same command goes on" in told
    first = trials(tmp_path)
    assert 4 <= len(first) < 24
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=300)
    best = ("best",)
    assert [{k: v for k, v in row.items() if k not in best} for row in trials(tmp_path)[: len(first)]] == [
        {k: v for k, v in row.items() if k not in best} for row in first
    ]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('minimise = "write_amplification"', "", "a search needs a goal"),
        ('"write_amplification"', '"write_amplificatoin"', "did you mean 'write_amplification'?"),
        ("trials = 24", "trials = 0", "trials = 0: must be a whole number"),
        ("trials = 24", "trails = 24", "did you mean 'trials'?"),
        ("[vary]", "[limit]\niops = { over = 3 }\n[vary]", "limit.iops.over: no such bound"),
        ("[vary]", "[limit]\niops = 3\n[vary]", "limit.iops = 3: must be a table"),
        ("[vary]", "[limit]\nipos = { above = 3 }\n[vary]", "did you mean 'iops'?"),
        ("batch = 4", 'maximise = "write_amplification"', "it is a goal already"),
        ('"victim.policy"', '"victim.polcy"', "did you mean 'victim.policy'?"),
        ("from = 1.15, to = 1.6", "from = 1.0001, to = 1.0002", "no point of the first 4 can run"),
    ],
)
def test_what_is_wrong_is_told(wordline: Run, tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in FILE
    written(tmp_path, FILE.replace(old, new))
    failed = wordline("optimise", "space.toml")
    assert failed.returncode == 2 and told in failed.stderr, failed.stderr
    assert not (tmp_path / "space.search" / "trials.csv").exists()
