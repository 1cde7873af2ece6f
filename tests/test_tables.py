"""Tables of runs, read back by the usual programs."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import polars
import pyarrow.parquet as parquet
import pytest
import wordline as package
from conftest import PROGRAM, Run, done, parsed, refused

NAMES = ["requests", "intervals", "channels", "dies", "planes", "blocks"]

LOAD = """\
[[job]]
name = "mixed"
rw = "randrw"
bs = "8k"
iodepth = 24
number_ios = 12_000
norandommap = true

[[job]]
name = "stream"
rw = "write"
bs = "128k"
iodepth = 2
number_ios = 200
"""


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Two streams, one of them with parts of pages."""
    path = tmp_path / "mixed.toml"
    path.write_text(LOAD)
    return path


def tables(wordline: Run, tmp_path: Path, drive: Path, load: Path, *more: str) -> tuple[dict[str, Any], Path]:
    """The result of a run that wrote all tables, and their paths."""
    out = tmp_path / "out"
    done(wordline("run", drive, load, "--tables", "all", "--out", out, "--json", "r.json", "-q", *more))
    return parsed((tmp_path / "r.json").read_text()), out


def facts(path: Path) -> dict[str, str]:
    """The metadata of the file."""
    metadata = parquet.read_metadata(path).metadata
    return {
        key.decode().removeprefix("wordline."): value.decode()
        for key, value in metadata.items()
        if key.startswith(b"wordline.")
    }


def test_every_reader_reads_every_table(wordline: Run, tmp_path: Path, drive: Path, mixed: Path) -> None:
    result, out = tables(wordline, tmp_path, drive, mixed)
    assert sorted(path.name for path in out.iterdir()) == sorted(f"{name}.parquet" for name in NAMES)
    for name in NAMES:
        path = out / f"{name}.parquet"
        arrow, frame = parquet.read_table(path), polars.read_parquet(path)
        assert arrow.num_rows == frame.height > 0
        assert arrow.column_names == frame.columns
        assert polars.from_arrow(arrow).equals(frame)
        told = facts(path)
        docs = {key.removeprefix("doc."): value for key, value in told.items() if key.startswith("doc.")}
        assert docs.keys() == set(arrow.column_names) and all(docs.values())
        assert told["digest"] == result["digest"]
        assert (told["seed"], told["partial"], told["schema"]) == ("42", "false", "2")
        assert json.loads(told["streams"]) == ["mixed", "stream"]
    assert "tables" not in result, "where the tables went is no part of the result"


def test_a_window_has_the_rows_of_its_time_alone(wordline: Run, tmp_path: Path, drive: Path, mixed: Path) -> None:
    result, out = tables(wordline, tmp_path, drive, mixed)
    whole = polars.read_parquet(out / "requests.parquet")
    middle = whole["completion_s"][whole.height // 2]
    start, end = round(middle, 4), round(middle + 0.01, 4)
    more = ("--window", f"{start}s..{end}s", "--interval", "1ms")
    windowed, out = tables(wordline, tmp_path, drive, mixed, *more)
    assert windowed["digest"] == result["digest"]
    requests, intervals = (polars.read_parquet(out / f"{name}.parquet") for name in ("requests", "intervals"))
    within = whole.filter((polars.col("completion_s") >= start) & (polars.col("completion_s") < end))
    assert requests.equals(within) and 0 < requests.height < whole.height
    assert (intervals["start_s"][0], intervals["end_s"][-1], intervals.height) == (start, pytest.approx(end), 10)
    assert intervals.select("reads", "writes").to_numpy().sum() == requests.height
    for name in ("channels", "dies", "planes"):
        starts = polars.read_parquet(out / f"{name}.parquet")["start_s"]
        assert start <= min(starts) and max(starts) < end
    assert facts(out / "intervals.parquet")["window_s"] == f"{start}..{end}"
    assert "window_s" not in facts(tables(wordline, tmp_path, drive, mixed)[1] / "intervals.parquet")
    shown = f"{start}s..{end}s"
    run = package.run(drive, mixed, tables=["intervals"], out=tmp_path / "t", interval="1ms", window=shown)
    again = polars.read_parquet(run["tables"]["files"][0]["path"])
    assert again.equals(intervals)


def test_requests_agree_with_the_result(wordline: Run, tmp_path: Path, drive: Path, mixed: Path) -> None:
    result, out = tables(wordline, tmp_path, drive, mixed)
    requests = polars.read_parquet(out / "requests.parquet")
    assert requests.height == result["requests"]
    assert requests["gc_affected"].sum() == result["gc_affected_requests"] > 0
    assert sorted(requests["number"]) == list(range(requests.height))
    # Whole picoseconds, so the parts add up exactly once they are rounded to them.
    whole = requests.select((polars.selectors.ends_with("_us") * 1e6).round().cast(polars.Int64))
    parts = whole.columns[whole.columns.index("service_us") + 1 :]
    assert len(parts) == 19
    assert (whole.select(polars.sum_horizontal(parts))["wait_link_us"] == whole["service_us"]).all()
    assert (whole["waiting_us"] + whole["service_us"] == whole["latency_us"]).all()
    spans = requests["completion_s"] - requests["arrival_s"]
    assert ((spans * 1e6 - requests["latency_us"]).abs() < 1e-3).all()
    for op in ("read", "write"):
        latencies = sorted(requests.filter(polars.col("op") == op)["latency_us"])
        told = result["latency_us"][op]
        assert (len(latencies), latencies[-1]) == (told["count"], pytest.approx(told["max"]))
        assert sum(latencies) / len(latencies) == pytest.approx(told["mean"])
        for key, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999)):
            if len(latencies) * (1 - share) < 10 - 1e-6:
                assert told[key] is None
                continue
            exact = latencies[math.ceil(share * len(latencies) - 1e-6) - 1]
            assert exact * (1 - 1e-12) <= told[key] <= exact * (1 + result["percentile_error"]) + 1e-6
        assert told["p99_9999999"] is None
    assert dict(Counter(requests["stream"])) == {0: 12_000, 1: 200}


def test_units_and_intervals_agree_with_the_result(wordline: Run, tmp_path: Path, drive: Path, mixed: Path) -> None:
    result, out = tables(wordline, tmp_path, drive, mixed, "--interval", "3ms")
    frames = {name: polars.read_parquet(out / f"{name}.parquet") for name in NAMES}
    # Work of the drive after its last completion is in rows of its own.
    parts = ("intervals", "dies", "planes", "channels")
    within, beyond = (polars.col("end_s") <= result["measured_to_s"], polars.col("start_s") >= result["measured_to_s"])
    assert all(frames[name].filter(within | beyond).height == frames[name].height for name in parts)
    intervals, dies, planes, channels = (frames[name].filter(within) for name in parts)
    flash, after = result["flash"], result["afterwards"]
    for name in ("intervals", "dies", "planes"):
        rest = frames[name].filter(beyond)
        assert rest["host_reads"].sum() + rest["gc_reads"].sum() == after["reads"]
        assert rest["host_programs"].sum() + rest["gc_programs"].sum() == after["programs"]
        assert rest["gc_erases"].sum() == after["erases"]
    assert intervals["end_s"][-1] == result["measured_to_s"]
    for frame in (intervals, dies, planes):
        assert frame["host_reads"].sum() + frame["gc_reads"].sum() == flash["reads"]
        assert frame["host_programs"].sum() + frame["gc_programs"].sum() == flash["programs"]
        assert frame["gc_erases"].sum() == flash["erases"]
    for count, op in (("reads", "read"), ("writes", "write"), ("trims", "trim"), ("flushes", "flush")):
        assert intervals[count].sum() == result["by_op"][op]["requests"]
    assert intervals["free_blocks"][-1] == result["free_blocks"]
    assert (intervals["end_s"] - intervals["start_s"]).max() == pytest.approx(3e-3)
    seconds = result["simulated_s"]
    for die, share in enumerate(result["utilisation"]["dies"]):
        own = dies.filter(polars.col("die") == die)
        cells = sum(own[column].sum() for column in ("read_us", "program_us", "erase_us", "other_us"))
        assert min(cells / 1e6 / seconds, 1) == pytest.approx(share, rel=1e-9)
    for channel, share in enumerate(result["utilisation"]["channels"]):
        busy = channels.filter(polars.col("channel") == channel)["busy_us"].sum()
        assert busy / 1e6 / seconds == pytest.approx(share, rel=1e-9)
    length = (dies["end_s"] - dies["start_s"]) * 1e6
    assert ((dies["busy_us"] + dies["idle_us"] - length).abs() < 1e-3).all()
    blocks = frames["blocks"]
    assert blocks["erases"].max() == result["wear"]["max"]
    assert (blocks["state"] == "free").sum() == result["free_blocks"]


def test_a_sample_leaves_everything_else_alone(wordline: Run, tmp_path: Path, drive: Path, mixed: Path) -> None:
    result, out = tables(wordline, tmp_path, drive, mixed)
    whole = polars.read_parquet(out / "requests.parquet")
    sampled, out = tables(wordline, tmp_path, drive, mixed, "--sample", "1/20")
    some = polars.read_parquet(out / "requests.parquet")
    assert 400 < some.height < 850
    assert some.equals(whole.filter(polars.col("number").is_in(some["number"].to_list())))
    assert sampled["digest"] == result["digest"]
    assert facts(out / "requests.parquet")["sample"] == "1/20"


def test_two_runs_write_the_same_bytes(wordline: Run, tmp_path: Path, drive: Path, mixed: Path) -> None:
    first, out = tables(wordline, tmp_path, drive, mixed)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    second, out = tables(wordline, tmp_path, drive, mixed, "--timeline", "t.pftrace")
    assert before == {path.name: path.read_bytes() for path in out.iterdir()}, "nor does a timeline change them"
    assert first["digest"] == second["digest"]
    done(wordline("run", drive, mixed, "--json", "plain.json", "-q"))
    plain = parsed((tmp_path / "plain.json").read_text())
    assert {k: v for k, v in plain.items() if "cpu_s" not in k} == {k: v for k, v in first.items() if "cpu_s" not in k}


def growing(out: Path) -> list[Path]:
    """The parts of tables in progress, once some are larger than a megabyte."""
    deadline = time.monotonic() + 60
    while not (parts := list(out.glob(".*.part"))) or max(part.stat().st_size for part in parts) < 1_000_000:
        assert time.monotonic() < deadline, "the table does not grow"
        time.sleep(0.1)
    return parts


def test_what_a_killed_run_left_is_cleared_by_the_next(wordline: Run, tmp_path: Path, drive: Path, mixed: Path) -> None:
    load = tmp_path / "long.toml"
    load.write_text(LOAD.replace("12_000", "50_000_000"))
    out = tmp_path / "out"
    command = [PROGRAM, "run", drive, load, "--tables", "requests,blocks", "--out", out, "-q"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as run:
        try:
            left = growing(out)
            done(wordline("run", drive, mixed, "--tables", "requests", "--out", "out", "-q"))
            assert all(part.exists() for part in left), "a run that lives keeps its own"
        finally:
            run.kill()
    assert len(left) == 2 and all(part.exists() for part in left)
    done(wordline("run", drive, mixed, "--tables", "requests,blocks", "--out", "out", "-q"))
    assert sorted(path.name for path in out.iterdir()) == ["blocks.parquet", "requests.parquet"]


def test_an_interrupt_leaves_whole_files_marked_partial(tmp_path: Path, drive: Path) -> None:
    load = tmp_path / "long.toml"
    load.write_text(LOAD.replace("12_000", "50_000_000"))
    out = tmp_path / "out"
    command = [PROGRAM, "run", drive, load, "--tables", "all", "--out", out, "--json", tmp_path / "r.json", "-q"]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    growing(out)
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 130, errors
    result = parsed((tmp_path / "r.json").read_text())
    assert result["partial"]
    assert sorted(path.name for path in out.iterdir()) == sorted(f"{name}.parquet" for name in NAMES)
    assert polars.scan_parquet(out / "requests.parquet").select(polars.len()).collect().item() == result["requests"]
    assert all(facts(out / f"{name}.parquet")["partial"] == "true" for name in NAMES)


def test_a_full_disk_is_told(wordline: Run, tmp_path: Path, drive: Path, mixed: Path) -> None:
    limited = 'ulimit -f 40; trap "" XFSZ; exec "$@"'
    command = ["bash", "-c", limited, "limited", PROGRAM, "run", drive, mixed, "--tables", "requests", "--out", "out"]
    outcome = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    refused(outcome, "requests.parquet: cannot write: File too large", status=1)
    assert "Throughput" in outcome.stdout, "the run is carried through"
    assert list((tmp_path / "out").iterdir()) == [], "no half file is left"


def test_wrong_wishes_are_refused_before_the_run(wordline: Run, tmp_path: Path, drive: Path, mixed: Path) -> None:
    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return wordline("run", drive, mixed, "-q", *more)

    refused(run("--tables", "request", "--out", "o"), "--tables", "did you mean 'requests'?", "intervals, channels")
    refused(run("--tables", "", "--out", "o"), "--tables", "requests, intervals")
    refused(run("--tables", "dies"), "--tables needs a directory", "--out")
    refused(run("--out", "o"), "--out is for tables")
    refused(run("--sample", "1/10"), "--sample is for tables")
    refused(run("--tables", "all", "--out", "o", "--sample", "10"), "--sample: '10' is not a sample", "1/100")
    refused(run("--tables", "all", "--out", "o", "--sample", "1/0"), "--sample: '1/0' is not a sample")
    refused(run("--tables", "all", "--out", "o", "--interval", "soon"), "--interval: 'soon' is not a time")
    refused(run("--tables", "all", "--out", "o", "--interval", "9us"), "--interval", "at least 10us")
    refused(
        run("--tables", "all", "--out", "o", "--interval", "3"), "--interval: '3' is not a time without a unit", "3ms"
    )
    refused(
        run("--tables", "intervals,dies", "--out", "o", "--sample", "1/3"), "--sample", "requests", "intervals, dies"
    )
    refused(
        run("--tables", "requests,blocks", "--out", "o", "--interval", "1ms"), "--interval", "planes", "requests, b"
    )
    refused(run("--tables", "all", "--out", "-"), "--out -", "directory")
    assert not (tmp_path / "-").exists()
    refused(run("--tables", "all", "--out", ""), "empty")
    refused(run("--tables", "all", "--out", str(drive)), "cannot write there: this is a file", "need a directory")
    (tmp_path / "o" / "dies.parquet").mkdir(parents=True)
    refused(run("--tables", "all", "--out", "o"), "dies.parquet", "directory")
    assert [path.name for path in (tmp_path / "o").iterdir()] == ["dies.parquet"], "nothing is left of the others"


def test_from_python(tmp_path: Path, drive: Path, mixed: Path) -> None:
    out = tmp_path / "tables"
    result = package.run(drive, mixed, tables=["requests", "dies"], out=out, sample="1/3", interval="1ms")
    told = result["tables"]
    assert [file["name"] for file in told["files"]] == ["requests", "dies"]
    assert told["errors"] == []
    for file in told["files"]:
        assert parquet.read_metadata(file["path"]).num_rows == file["rows"] > 0
        assert os.path.getsize(file["path"]) == file["bytes"]  # noqa: PTH202
    with pytest.raises(package.InputError, match="did you mean 'blocks'"):
        package.run(drive, mixed, tables=["block"], out=out)
    with pytest.raises(package.InputError, match="give it with out"):
        package.run(drive, mixed, tables="blocks")
    with pytest.raises(package.InputError, match="sample is for tables"):
        package.run(drive, mixed, sample="1/3")


def test_the_activity_of_a_run_is_in_its_result(wordline: Run, tmp_path: Path, drive: Path, mixed: Path) -> None:
    result, out = tables(wordline, tmp_path, drive, mixed)
    activity = result["activity"]
    count = math.ceil(activity["end_s"] / activity["interval_s"] - 1e-9)
    assert count <= 256
    lists = [*activity["channels"], *activity["dies"], *activity["dies_gc"]]
    assert all(len(row) == count and 0 <= min(row) <= max(row) <= 1 for row in lists)
    assert (len(activity["channels"]), len(activity["dies_gc"])) == (4, 8)
    dies = polars.read_parquet(out / "dies.parquet").filter(polars.col("end_s") <= result["measured_to_s"])
    last = activity["end_s"] - (count - 1) * activity["interval_s"]
    for die, row in enumerate(activity["dies_gc"]):
        told = sum(row[:-1]) * activity["interval_s"] + row[-1] * last
        exact = dies.filter(polars.col("die") == die)["gc_us"].sum() / 1e6
        assert told == pytest.approx(exact, abs=5e-4 * activity["end_s"])
