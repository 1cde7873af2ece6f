"""Errors in a workload are reported before a drive is preconditioned for it, with a remedy that helps."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
import wordline as package
from conftest import SMALL_DRIVE, TRACE_ROWS, Run, done, refused, trace_text

WEARS_OUT = """
overwrites = 30.0

[nand.reliability]
endurance = 2
erase_fail = 0.5
"""
"""A drive that ends during preconditioning: only earlier errors are reported."""


@pytest.fixture
def mortal(tmp_path: Path) -> Path:
    """A drive that wears out during preconditioning."""
    path = tmp_path / "mortal.toml"
    path.write_text(SMALL_DRIVE.replace("1.28", "1.6") + WEARS_OUT)
    return path


def rows(times: list[int]) -> str:
    """A trace with a read at each of the times."""
    return "\n".join(["time_us,op,offset_bytes,size_bytes", *(f"{time},R,0,4096" for time in times)]) + "\n"


def test_ageing_is_the_end_of_that_drive(wordline: Run, mortal: Path, trace: Path) -> None:
    refused(wordline("run", mortal, trace), "the drive failed", status=1)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["0,R,0,4096", "5,R,x,4096"], ["line 3", "offset"]),
        (["0,R,0,4096", "5,R,0,4096", "4,R,0,4096"], ["line 4", "runs backwards", "trace.sort_window=1)"]),
        (["0,R,0,4096", "5,W,999999999999,4096"], ["line 3", "past-end"]),
        (["0,R,0,4096", "99999999999999999,W,0,4096"], ["line 3", "106 days"]),
        (["0,R,0,4096", "5,R,0,0"], ["line 3", "zero_size"]),
    ],
)
def test_a_trace_is_looked_at_first(
    wordline: Run, mortal: Path, tmp_path: Path, lines: list[str], words: list[str]
) -> None:
    (tmp_path / "bad.csv").write_text("\n".join(["time_us,op,offset_bytes,size_bytes", *lines]) + "\n")
    refused(wordline("run", mortal, "bad.csv"), "bad.csv", *words)
    # Keys that a run does not reach are no reason to reject it; then preconditioning ends the drive.
    refused(wordline("run", mortal, "bad.csv", "--limit", "1"), "the drive failed", status=1)


def test_loops_beyond_the_end_of_time_are_refused_first(wordline: Run, mortal: Path, tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(rows([0, 3_000_000_000_000]))
    told = refused(wordline("run", mortal, "long.csv", "--loops", "4"), "--loops 4", "106 days")
    most = re.search(r"give (\d+) at most", told)
    assert most
    refused(wordline("run", mortal, "long.csv", "--loops", most[1]), "the drive failed", status=1)


def test_a_part_that_is_not_replayed_is_not_judged(wordline: Run, drive: Path, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(rows([0, 1000, 5_000_000]) + "bad line\n")
    (tmp_path / "load.toml").write_text('runtime_s = 2.0\n[trace]\nfile = "t.csv"\n')
    done(wordline("run", drive, "load.toml"))


@pytest.mark.parametrize("seed", range(4))
def test_the_window_that_is_named_sorts_the_trace(wordline: Run, drive: Path, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    reach = 3 ** (seed + 1)
    times = sorted(range(3000), key=lambda n: n + rng.uniform(0, reach))
    (tmp_path / "mixed.csv").write_text(rows(times))
    told = refused(wordline("run", drive, "mixed.csv"), "mixed.csv, line")
    found = re.search(r"--load-set trace\.sort_window=(\d+)\)", told)
    assert found, told
    window = int(found[1])
    assert window == max(sum(other > time for other in times[:n]) for n, time in enumerate(times))
    assert found[1] in refused(wordline("trace", "info", "mixed.csv"), "sort_window")
    done(wordline("run", drive, "mixed.csv", "--load-set", f"trace.sort_window={window}"))
    refused(wordline("run", drive, "mixed.csv", "--load-set", f"trace.sort_window={window - 1}"), "runs backwards")


def test_files_that_overlap_are_to_be_merged(wordline: Run, drive: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(rows([0, 10, 30, 20]))
    (tmp_path / "b.csv").write_text(rows([5, 15, 25]))
    order = ("--load-set", "trace.join=order")
    told = refused(wordline("run", drive, "a.csv", "b.csv", *order), "trace.join=time", "trace.sort_window=1)")
    assert "a.csv, line 5" in told
    done(wordline("run", drive, "a.csv", "b.csv", "--load-set", "trace.sort_window=1"))


def test_no_window_is_promised_where_none_helps(wordline: Run, drive: Path, tmp_path: Path) -> None:
    (tmp_path / "twice.csv").write_text(rows([*range(100), *range(100)]))
    refused(wordline("run", drive, "twice.csv"), "trace.sort_window=99)")
    done(wordline("run", drive, "twice.csv", "--load-set", "trace.sort_window=99"))


def test_a_drive_in_python_is_left_as_it_was(drive: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(trace_text(TRACE_ROWS) + "bad,line,0,0\n")
    kept = package.Drive(drive)
    with pytest.raises(package.InputError, match=r"bad\.csv, line 10"):
        kept.run(tmp_path / "bad.csv")
    assert kept.state["simulated_s"] == 0
    with pytest.raises(package.InputError, match="sort the table by its time"):
        kept.run(package.Workload.table({"time_us": [0, 5, 3], "op": ["R"] * 3, "offset": [0] * 3, "size": [4096] * 3}))
    assert kept.state["simulated_s"] == 0


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ("rate_iops = 1000\nnumber_ios = 5000\nramp_time_s = 5.0", ["job.job0.ramp_time_s", "after 5.000000 s"]),
        ('rate_iops = 1000\nsize = "4m"\nramp_time_s = 2.0', ["job.job0.ramp_time_s", "after 1.024000 s"]),
        ('rate = "4m"\nnumber_ios = 1024\nramp_time_s = 1.5', ["job.job0.ramp_time_s", "after 1.000000 s"]),
        ("rate_iops = 1000\nnumber_ios = 900\nrate_process = 'poisson'\nramp_time_s = 2.0", ["ramp_time_s", "1.08"]),
    ],
)
def test_a_ramp_that_outlasts_its_job_is_refused_first(
    wordline: Run, mortal: Path, tmp_path: Path, job: str, words: list[str]
) -> None:
    job = job.replace("ramp_time_s = 5.0", "ramp_time_s = 5.5")
    (tmp_path / "load.toml").write_text(f"[[job]]\nrw = 'randread'\n{job}\n")
    refused(wordline("run", mortal, "load.toml"), "load.toml:", *words)
    (tmp_path / "load.toml").write_text(f"[[job]]\nrw = 'randread'\n{re.sub('(?<=ramp_time_s = ).*', '0.5', job)}\n")
    refused(wordline("run", mortal, "load.toml"), "the drive failed", status=1)


def test_a_ramp_in_a_job_file_is_told_in_its_words(wordline: Run, mortal: Path, tmp_path: Path) -> None:
    (tmp_path / "j.fio").write_text("[a]\nrw=randread\nsize=64m\nrate_iops=1000\nnumber_ios=5000\nramp_time=10\n")
    refused(wordline("run", mortal, "j.fio"), "j.fio:6", "[a] ramp_time=", "give the job more to do")
