"""Figures of each job or stream, and the common end of all figures of a run."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pyarrow.compute
import pyarrow.parquet
import pytest
import synthetic
import wordline
from conftest import SMALL_DRIVE, Run, done, parsed
from wordline import Drive, Workload
from wordline.report import compare
from wordline.report import page as report
from wordline.results import jobs

TENANTS = """\
[[job]]
name = "fill"
rw = "write"
bs = "64k"
number_ios = 500

[[job]]
name = "fast"
rw = "randread"
bs = "4k"
iodepth = 4
number_ios = 3_000
norandommap = true
stonewall = true

[[job]]
name = "slow"
rw = "randrw"
bs = "16k"
number_ios = 200
norandommap = true
numjobs = 2
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small filled drive with a write buffer."""
    path = tmp_path_factory.mktemp("drive") / "small.toml"
    path.write_text(SMALL_DRIVE + '\n[buffer]\npolicy = "fifo"\ncapacity_kib = 2048\n')
    return path


@pytest.fixture(scope="module")
def tenants(small: Path, tmp_path_factory: pytest.TempPathFactory) -> wordline.Run:
    """A fill, and then three concurrent streams, with all tables."""
    return wordline.run(small, Workload.text(TENANTS), tables="all", out=tmp_path_factory.mktemp("tables"))


def test_each_stream_has_the_figures_of_its_requests(tenants: wordline.Run) -> None:
    told = tenants["jobs"]
    assert [(job["name"], job["stream"]) for job in told] == [("fill", 0), ("fast", 1), ("slow.0", 2), ("slow.1", 3)]
    rows = tenants.requests().to_table()
    for job in told:
        mine = rows.filter(pyarrow.compute.field("stream") == job["stream"])
        assert mine.num_rows == job["requests"]
        assert sum(mine["gc_affected"].to_pylist()) == job["gc_affected_requests"]
        ends = mine["completion_s"].to_pylist()
        assert max(ends) == job["end_s"]
        assert math.isclose(job["iops"], len(ends) / (job["end_s"] - job["start_s"]))
        moved = sum(mine["size_bytes"].to_pylist()) / 2**20
        assert math.isclose(job["bandwidth_mib_s"], moved / (job["end_s"] - job["start_s"]))
        for op in ("read", "write"):
            latencies = sorted(
                row["latency_us"] for row in mine.select(["op", "latency_us"]).to_pylist() if row["op"] == op
            )
            of_op = job["latency_us"].get(op)
            assert bool(of_op) == bool(latencies), (job["name"], op)
            if latencies:
                assert (of_op["count"], of_op["max"]) == (len(latencies), latencies[-1])
                median = latencies[math.ceil(len(latencies) / 2) - 1]
                assert median <= of_op["p50"] <= median * (1 + 1 / 256) + 1e-6
    fill, fast, *_ = told
    assert (fill["start_s"], fast["start_s"]) == (0, fill["end_s"]), "the fill, then the others"


def test_jobs_add_up_to_the_run(tenants: wordline.Run) -> None:
    told = tenants["jobs"]
    assert sum(job["requests"] for job in told) == tenants["requests"]
    assert sum(job["gc_affected_requests"] for job in told) == tenants["gc_affected_requests"]
    for op, whole in tenants["by_op"].items():
        for key, value in whole.items():
            assert sum(job["by_op"].get(op, {}).get(key, 0) for job in told) == value
    assert max(job["end_s"] for job in told) == tenants["measured_to_s"] == tenants["simulated_s"]


def test_jobs_as_a_frame(tenants: wordline.Run) -> None:
    frame = tenants.jobs().to_pandas()
    assert set(frame["job"]) == {"fill", "fast", "slow.0", "slow.1"}
    row = frame[(frame["job"] == "fast") & (frame["op"] == "read")].iloc[0]
    assert (row["count"], row["iops"]) == (3_000, tenants["jobs"][1]["iops"])
    assert row["p99"] == tenants["jobs"][1]["latency_us"]["read"]["p99"]


def test_one_job_has_no_figures_beside_those_of_the_run(small: Path) -> None:
    run = wordline.run(small, Workload.job(rw="randread", bs="4k", number_ios=50))
    assert "jobs" not in run and len(run.jobs()) == 0
    assert 'id="jobs"' not in report.html(run)


def test_summary_and_report_show_the_jobs(wordline: Run, drive: Path, tmp_path: Path) -> None:
    (tmp_path / "tenants.toml").write_text(TENANTS)
    shown = done(wordline("run", drive, "tenants.toml", "--json", "run.json"))
    told = parsed((tmp_path / "run.json").read_text())
    assert re.search(r"(?m)^Job +from +to +requests +requests/s +bandwidth +GC-affected$", shown), shown
    for job in told["jobs"]:
        assert re.search(rf"(?m)^{re.escape(job['name'])} .* {job['requests']:,} ", shown), shown
    assert max(map(len, shown.splitlines())) <= 80
    page = synthetic.page_of(told)
    assert '<section id="jobs">' in page
    rows = [*jobs.rates(told["jobs"]), *jobs.latencies(told["jobs"])]
    assert len(rows) == 4 + 6
    for row in rows:
        assert f'<tr><th scope="row">{row[0]}</th>' in page


def test_jobs_of_one_name_are_compared(tenants: wordline.Run, small: Path) -> None:
    other = wordline.run(small, Workload.text(TENANTS.replace("iodepth = 4", "iodepth = 8")))
    rows = {row.name: row for row in compare.rows(compare.named([("a.json", tenants), ("b.json", other)]))}
    fast = [run["jobs"][1] for run in (tenants, other)]
    assert rows["fast: requests/s"].ratios == [1.0, fast[1]["iops"] / fast[0]["iops"]]
    assert rows["fast: read p99"].ratios[1] == pytest.approx(
        fast[1]["latency_us"]["read"]["p99"] / fast[0]["latency_us"]["read"]["p99"]
    )
    alone = wordline.run(small, Workload.job(rw="randread", bs="4k", number_ios=50))
    names = [row.name for row in compare.rows(compare.named([("a.json", tenants), ("b.json", alone)]))]
    assert not any(": " in name for name in names)


def stacked(path: Path, devices: int) -> Workload:
    """A trace of several devices, one after another: device ``n`` reads ``n + 1`` times."""
    lines = ["time_us,device,op,offset_bytes,size_bytes"]
    for n in range(devices):
        lines += [f"{1000 * n + 10 * k},disk{n},R,{4096 * k},4096" for k in range(n + 1)]
    path.write_text("\n".join(lines) + "\n")
    return Workload.trace(path, devices="stack", past_end="wrap")


def test_devices_of_a_trace_that_lie_apart_have_their_own(small: Path, tmp_path: Path) -> None:
    run = wordline.run(small, stacked(tmp_path / "three.csv", 3))
    told = [(job["name"], job["device"], job["requests"], job["stream"]) for job in run["jobs"]]
    assert told == [("disk0", 0, 1, 0), ("disk1", 1, 2, 0), ("disk2", 2, 3, 0)]
    # Devices with common addresses are one disk.
    merged = wordline.run(small, Workload.trace(tmp_path / "three.csv"))
    assert "jobs" not in merged and merged["requests"] == 6


def test_a_trace_of_very_many_devices_has_few_rows(small: Path, tmp_path: Path) -> None:
    run = wordline.run(small, stacked(tmp_path / "many.csv", 80))
    assert len(run["jobs"]) == 32
    assert run["jobs"][-1]["name"] == "disk31 and 48 more"
    assert sum(job["requests"] for job in run["jobs"]) == run["requests"] == 80 * 81 // 2
    assert run["jobs"][5]["requests"] == 6


def sums(rows: list[dict[str, Any]], *columns: str) -> int:
    """Sums of columns."""
    return sum(row[column] for row in rows for column in columns)


def test_tables_end_an_interval_where_the_figures_end(small: Path, tmp_path: Path) -> None:
    load = Workload.job(rw="randwrite", bs="16k", iodepth=8, number_ios=2_000)
    run = wordline.run(small, load, tables="all", out=tmp_path)
    end, after = run["measured_to_s"], run["afterwards"]
    assert after["programs"] > 20, "the buffer held some pages"
    facts = pyarrow.parquet.read_metadata(tmp_path / "intervals.parquet").metadata
    assert float(facts[b"wordline.measured_to_s"]) == end
    programs = ("host_programs", "gc_programs")
    for name in ("intervals", "dies"):
        rows = run.table(name).to_table().to_pylist()
        assert all(row["end_s"] <= end or row["start_s"] >= end for row in rows)
        within = [row for row in rows if row["end_s"] <= end]
        beyond = [row for row in rows if row["start_s"] >= end]
        assert sums(within, *programs) == run["flash"]["programs"], name
        assert sums(beyond, *programs) == after["programs"], name
    blocks = run.table("blocks").to_table().to_pylist()
    assert sum(row["state"] == "free" for row in blocks) == run["free_blocks"]


def test_what_comes_after_the_last_completion_is_told_apart(wordline: Run, small: Path, tmp_path: Path) -> None:
    (tmp_path / "few.toml").write_text('[[job]]\nname = "few"\nrw = "write"\nbs = "16k"\nnumber_ios = 40\n')
    shown = done(wordline("run", small, "few.toml", "--json", "run.json"))
    told = parsed((tmp_path / "run.json").read_text())
    after = told["afterwards"]
    assert told["flash"]["programs"] + after["programs"] == 40
    assert after["programs"] > 0
    assert told["write_amplification"] == told["flash"]["programs"] / 40
    assert f"Afterwards    {after['programs']} pages programmed in the " in shown
    assert "After the last completion" in synthetic.page_of(told)
    assert told["activity"]["end_s"] == told["simulated_s"]


def test_a_kept_drive_is_idle_after_a_run(small: Path) -> None:
    drive = Drive(small)
    first = drive.run(Workload.job(rw="write", bs="16k", number_ios=40))
    idle = first["simulated_s"] + first["afterwards"]["simulated_s"]
    assert drive.state["simulated_s"] == pytest.approx(idle, rel=1e-12)
    # Background work of the first run does not count in the second.
    second = drive.run(Workload.job(rw="randread", bs="16k", number_ios=40))
    assert (second["flash"]["programs"], second["afterwards"]["programs"]) == (0, 0)
