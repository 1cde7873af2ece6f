"""fio's job files and its JSON: every mode runs, results have fio's layout, and fio's tools read them."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Run, done, parsed, refused

KEYS = set((ROOT / "tests" / "fio_keys.txt").read_text().split("\n")) - {""}
"""Every key that fio 3.33 wrote for jobs with reads, writes, trims, flushes and a steady state, as json+."""

NAMED_BY_DATA = ("percentile", "bins", "job options", "global options")
"""Objects whose keys are data."""

READ_BY_FIO_PLOT = """
import json
from fio_plot.fiolib import jsonimport, jsonparsing
wanted = {{"rw": "randread", "iodepth": [1, 4, 16], "numjobs": [1], "input_directory": ["{folder}"]}}
settings = {{**wanted, "filter": ["read"], "compare_graph": False}}
found = jsonimport.import_json_dataset(settings, jsonimport.list_json_files(settings))
print(json.dumps(jsonparsing.parse_json_data(settings, found)[0]["data"]))
"""
"""A program that prints what fio-plot finds in results."""

EXAMPLES = sorted((ROOT / "docs" / "fio").glob("*.fio"))


def leaves(value: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401
    """The dotted keys of a document, those of list elements behind ``[]``."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        for element in value:
            yield from leaves(element, f"{path}[]")
    elif isinstance(value, dict) and path.rsplit(".", 1)[-1] not in NAMED_BY_DATA:
        for key, below in value.items():
            yield from leaves(below, f"{path}.{key}" if path else key)
    else:
        yield path


@pytest.fixture
def fio(wordline: Run, drive: Path, tmp_path: Path) -> Any:  # noqa: ANN401
    """Runs jobs on the small drive and returns fio's JSON."""

    def run(text: str, *arguments: str) -> dict[str, Any]:
        (tmp_path / "jobs.fio").write_text(text)
        return parsed(done(wordline("run", drive, "jobs.fio", "--quiet", "--fio-json", "-", *arguments)))

    return run


def test_every_mode_runs(fio: Any) -> None:  # noqa: ANN401
    modes = ["read", "write", "trim", "randread", "randwrite", "randtrim", "rw", "randrw", "trimwrite", "randtrimwrite"]
    jobs = "".join(f"[{mode}]\nstonewall\nrw={mode}\n" for mode in modes)
    result = fio(f"[global]\nioengine=libaio\niodepth=4\nbs=16k\nsize=10m\n{jobs}")
    assert [job["jobname"] for job in result["jobs"]] == modes
    assert [job["groupid"] for job in result["jobs"]] == list(range(len(modes)))
    for job in result["jobs"]:
        mode = job["jobname"]
        counts = {op: job[op]["total_ios"] for op in ("read", "write", "trim")}
        assert sum(counts.values()) == (1280 if "trimwrite" in mode else 640), mode
        wanted = {op for op in ("read", "write", "trim") if op in mode} or {"read", "write"}
        assert {op for op, count in counts.items() if count} == wanted, mode


def test_the_layout_is_fios(fio: Any) -> None:  # noqa: ANN401
    result = fio(
        "[global]\nioengine=libaio\nsize=16m\nbs=16k\n"
        "[a]\nrw=randrw\nfsync=8\niodepth=4\n[t]\nrw=trimwrite\n"
        "[s]\nstonewall\nrw=read\ntime_based\nruntime=1\nss=iops:50%\nss_dur=200ms\nss_interval=50ms\n"
    )
    ours = set(leaves(result))
    assert ours - {"disk_util"} == KEYS
    job = result["jobs"][0]
    for op in ("read", "write"):
        of = job[op]
        assert of["io_bytes"] == of["total_ios"] * 16384 == of["io_kbytes"] * 1024
        assert of["clat_ns"]["N"] == of["total_ios"] == sum(of["clat_ns"]["bins"].values())
        ladder = [of["clat_ns"]["min"], *of["clat_ns"]["percentile"].values(), of["clat_ns"]["max"]]
        assert ladder == sorted(ladder)
        assert of["lat_ns"]["mean"] == pytest.approx(of["clat_ns"]["mean"] + of["slat_ns"]["mean"], abs=1)
        assert of["iops"] * of["runtime"] / 1000 == pytest.approx(of["total_ios"], rel=0.1)
    writes = job["write"]["total_ios"]
    assert job["sync"]["total_ios"] == writes // 8 == job["sync"]["lat_ns"]["N"]
    classes = sum(sum(job[f"latency_{unit}"].values()) for unit in ("ns", "us", "ms"))
    assert classes == pytest.approx(100)
    assert sum(job["iodepth_level"].values()) == pytest.approx(100)
    assert job["iodepth_level"]["4"] > 90
    assert job["job options"] == {"rw": "randrw", "fsync": "8", "iodepth": "4"}
    assert result["global options"] == {"ioengine": "libaio", "size": "16m", "bs": "16k"}
    steady = result["jobs"][2]["steadystate"]
    assert steady["attained"] == 1
    assert len(steady["data"]["iops"]) == 4


def test_clones_are_reported_apart_or_together(fio: Any) -> None:  # noqa: ANN401
    text = "[a]\nioengine=libaio\nrw=randwrite\nbs=16k\nsize=4m\nnumjobs=3\n[b]\nrw=read\nbs=16k\nsize=1m\n"
    apart = fio(text)["jobs"]
    assert [(job["jobname"], job["write"]["total_ios"]) for job in apart] == [("a", 256)] * 3 + [("b", 0)]
    together = fio("[global]\ngroup_reporting\n" + text)["jobs"]
    assert [job["jobname"] for job in together] == ["a"]
    assert (together[0]["write"]["total_ios"], together[0]["read"]["total_ios"]) == (768, 64)
    assert together[0]["write"]["clat_ns"]["max"] == max(job["write"]["clat_ns"]["max"] for job in apart)


def test_one_after_another_and_rests(fio: Any, wordline: Run, drive: Path) -> None:  # noqa: ANN401
    text = "[a]\nrw=read\nbs=16k\nnumber_ios=100\nthinktime=1000\n[b]\nstonewall\nrw=read\nbs=16k\nnumber_ios=10\n"
    jobs = fio(text)["jobs"]
    assert 99 <= jobs[0]["job_runtime"] <= 120, "99 rests of a millisecond"
    assert jobs[0]["read"]["lat_ns"]["max"] < 1_000_000, "a rest is no latency"
    whole = parsed(done(wordline("run", drive, "jobs.fio", "--quiet", "--json", "-")))
    assert whole["simulated_s"] == pytest.approx(0.1, abs=0.02)
    assert whole["requests"] == 110
    assert whole["requests"] * 16384 == whole["by_op"]["read"]["bytes"]


def test_a_ramp_is_in_no_figure(fio: Any, wordline: Run, drive: Path) -> None:  # noqa: ANN401
    text = "[a]\nrw=randread\nbs=16k\nrate_iops=1000\nramp_time=500ms\nruntime=200ms\ntime_based\n"
    job = fio(text)["jobs"][0]
    assert job["read"]["total_ios"] == 200
    assert job["read"]["iops"] == pytest.approx(1000, rel=0.01)
    whole = parsed(done(wordline("run", drive, "jobs.fio", "--quiet", "--json", "-")))
    assert whole["requests"] == 200
    assert whole["simulated_s"] == pytest.approx(0.2, rel=0.02)
    short = wordline("run", drive, "jobs.fio", "--load-set", "time_based=0", "--load-set", "size=1m")
    refused(short, "ramp_time", "before any job is measured")


def test_tables_tell_where_a_ramp_ends(wordline: Run, drive: Path, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "r.fio").write_text(
        "[a]\nioengine=libaio\nrw=randrw\nbs=4k\niodepth=8\nramp_time=35ms\nruntime=50ms\ntime_based\n"
    )
    outputs = ("--tables", "requests,intervals", "--interval", "10ms", "--out", "t", "--json", "r.json", "-q")
    done(wordline("run", drive, "r.fio", *outputs))
    result = parsed((tmp_path / "r.json").read_text())
    assert result["measured_from_s"] == 0.035
    requests, intervals = (pyarrow.read_table(tmp_path / "t" / f"{name}.parquet") for name in ("requests", "intervals"))
    facts = pyarrow.read_metadata(tmp_path / "t" / "requests.parquet").metadata
    start = float(facts[b"wordline.measured_from_s"])
    ends = requests["completion_s"].to_pylist()
    latencies = [us for us, end in zip(requests["latency_us"].to_pylist(), ends, strict=True) if end >= start]
    assert len(ends) > len(latencies) == result["requests"]
    assert sum(latencies) / len(latencies) == pytest.approx(result["latency_us"]["all"]["mean"], rel=1e-9)
    counted = [row["reads"] + row["writes"] for row in intervals.to_pylist() if row["start_s"] >= start]
    assert sum(counted) == result["requests"]


def test_a_runtime_ends_what_rests_and_what_falls_behind(fio: Any) -> None:  # noqa: ANN401
    many = "[a]\nioengine=libaio\nrw=randread\nbs=4k\niodepth=4\ntime_based\n"
    # fio 3.33 with its null engine: 2 requests, 2 s.
    job = fio(f"{many}rate_iops=1000\nthinktime=1s\nruntime=2\n")["jobs"][0]
    assert (job["read"]["total_ios"], job["read"]["runtime"]) == (2, 2000)
    behind = fio(f"{many}rate_iops=10m\nruntime=50ms\n")["jobs"][0]
    assert behind["read"]["runtime"] in (50, 51)


def test_the_result_says_whether_it_was_steady(wordline: Run, drive: Path, tmp_path: Path) -> None:
    text = "[a]\nrw=randrw\nbs=16k\ntime_based\nruntime=1\nss={}\nss_dur=100ms\nss_interval=10ms\n"
    for limit, reached in (("bw_slope:20%", True), ("iops:0.001%", False)):
        (tmp_path / "s.fio").write_text(text.format(limit))
        shown = done(wordline("run", drive, "s.fio", "--json", "s.json"))
        result = parsed((tmp_path / "s.json").read_text())
        (state,) = result["steady_state"]
        assert state["attained"] is reached
        assert (result["simulated_s"] < 0.5) is reached
        assert ("reached at" in shown) is reached
        assert ("NOT reached" in shown) is not reached


def test_mistakes_are_told_with_their_place(wordline: Run, drive: Path, tmp_path: Path) -> None:
    path = tmp_path / "jobs.fio"
    for text, words in [
        ("[a]\nrw=randread\niodpth=4\n", ["jobs.fio:3:1: iodpth=4: no such option; did you mean `iodepth`?"]),
        ("[a]\nverify=md5\n", ["jobs.fio:2:1: verify=md5", "nothing can be verified", "or give 0"]),
        ("[a]\ndirect=0\n", ["jobs.fio:2:1", "no page cache"]),
        ("[a]\n\n  size=10t\n", ["jobs.fio:3:3: [a] size=", "beyond the drive"]),
        ("[a]\nruntime=10\n[b]\nramp_time=200d\n", ["jobs.fio:4:1: [b] ramp_time=", "106 days"]),
        ("[a]\ntime_based\n", ["jobs.fio:2:1: [a] time_based=", "needs `runtime"]),
        (
            "[a]\nrw=randread\nrandom_distribution=zipf\n",
            ["jobs.fio:3:1: [a] random_distribution=zipf", "zipf:theta"],
        ),
        (
            "[a]\nrandom_distribution=zipf:1\n",
            ["jobs.fio:2:1: random_distribution=zipf:1: has no effect in a sequential job"],
        ),
        ("[a]\nsteadystate=iops:2%\n", ["jobs.fio:2:1: steadystate=iops:2%: needs ss_dur"]),
        ("[a]\nss=iops:2%\nss_dur=0\n", ["jobs.fio:3:1: [a] steadystate_duration=0: must hold 1 to"]),
        ("[a]\nrate=1m\nrate_iops=100\n", ["jobs.fio:2:1: [a] rate=", "there is rate_iops as well"]),
        ("[a]\nbs=4 k\n", ["jobs.fio:2:1: bs=4 k: `4 k` has a blank before `k`"]),
        ("", ["jobs.fio: no job in this file"]),
    ]:
        path.write_text(text)
        refused(wordline("run", drive, path.name), *words)
    path.write_text("[a]\nrw=read\n")
    refused(wordline("run", drive, path.name, "other.fio"), "jobs.fio: job files cannot be joined")
    refused(wordline("run", drive, path.name, "--load-set", "b.bs=4k"), "--load-set b.bs=4k: there is no job [b]")
    refused(wordline("run", drive, path.name, "--load-set", "size=9t"), "--load-set size=9t", "beyond the drive")
    refused(wordline("run", drive, path.name, "--pace", "asap"), "this is for a trace")
    refused(wordline("run", drive, "missing.fio"), "missing.fio: no such file")
    refused(wordline("run", drive, path.name, "--json", "-", "--fio-json", "-"), "--json and --fio-json cannot both")


def test_a_byte_order_mark_is_no_option(wordline: Run, drive: Path, tmp_path: Path) -> None:
    (tmp_path / "jobs.fio").write_bytes(b"\xef\xbb\xbf[a]\nnumber_ios=10\n")
    done(wordline("run", drive, "jobs.fio", "-q"))


def test_jobs_of_a_workload_file_have_fios_json_too(wordline: Run, drive: Path, load: Path) -> None:
    result = parsed(done(wordline("run", drive, load, "--quiet", "--fio-json", "-")))
    (job,) = result["jobs"]
    assert job["jobname"] == "mixed"
    assert job["job options"]["rw"] == "randrw"
    assert job["read"]["total_ios"] + job["write"]["total_ios"] == 20_000


def test_the_same_bytes_again_and_nothing_changed_by_looking(wordline: Run, drive: Path, load: Path) -> None:
    first, second = (done(wordline("run", drive, load, "--quiet", "--fio-json", "-")) for _ in range(2))
    assert first == second
    plain = parsed(done(wordline("run", drive, load, "--quiet", "--json", "-")))
    done(wordline("run", drive, load, "--quiet", "--json", "j.json", "--fio-json", "f.json"))
    watched = parsed((drive.parent / "j.json").read_text())
    assert plain["digest"] == watched["digest"]
    assert plain["latency_us"] == watched["latency_us"]
    assert "fio" not in watched


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_of_the_page_run(wordline: Run, drive: Path, example: Path) -> None:
    result = parsed(done(wordline("run", drive, example, "--quiet", "--fio-json", "-")))
    assert all(job["read"]["total_ios"] + job["write"]["total_ios"] > 100 for job in result["jobs"])


def test_the_example_of_a_steady_state_comes_to_one(wordline: Run) -> None:
    (steady,) = (path for path in EXAMPLES if path.stem == "steady")
    assert "reached at" in done(wordline("run", "demo", steady))


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_fio_itself_takes_the_examples(example: Path, tmp_path: Path) -> None:
    # An option unknown to the installed version is left out.
    text = "".join(line for line in example.read_text().splitlines(True) if not line.startswith("ss_interval"))
    (tmp_path / "example.fio").write_text(text)
    outcome = subprocess.run(["fio", "--parse-only", "example.fio"], cwd=tmp_path, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr


@pytest.mark.skipif(importlib.util.find_spec("fio_plot") is None, reason="fio-plot is not installed")
def test_fio_plot_reads_and_draws_it(wordline: Run, drive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    text = "[global]\nioengine=libaio\nrw=randread\nbs=16k\nnumjobs=1\nnumber_ios=2000\n[a]\n"
    (tmp_path / "jobs.fio").write_text(text)
    written = {}
    for depth in (1, 4, 16):
        name = folder / f"depth-{depth}.json"
        done(wordline("run", drive, "jobs.fio", "-q", "--fio-json", name, "--load-set", f"a.iodepth={depth}"))
        written[depth] = parsed(name.read_text())["jobs"][0]["read"]
    read = READ_BY_FIO_PLOT.format(folder=str(folder))
    outcome = subprocess.run([sys.executable, "-c", read], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    rows = {int(row["iodepth"]): row for row in json.loads(outcome.stdout.splitlines()[-1])}
    for depth, of in written.items():
        assert float(rows[depth]["iops"]) == pytest.approx(of["iops"])
        assert float(rows[depth]["lat"]) == pytest.approx(of["lat_ns"]["mean"])
    options = ["-T", "small", "-l", "-r", "randread", "-d", "1", "4", "16", "-n", "1", "-o", "out.png"]
    command = [str(Path(sys.executable).parent / "fio-plot"), "-i", str(folder), *options]
    outcome = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(shutil.which("fio_jsonplus_clat2csv") is None, reason="fio's tools are not installed")
def test_fios_own_tool_reads_its_bins(fio: Any, tmp_path: Path) -> None:  # noqa: ANN401
    result = fio("[a]\nrw=randread\nbs=16k\nnumber_ios=500\n")
    (tmp_path / "r.json").write_text(json.dumps(result))
    command = ["fio_jsonplus_clat2csv", "r.json", "r.csv"]
    outcome = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr
    rows = [row.split(", ") for row in (tmp_path / "r_job0.csv").read_text().splitlines()]
    at = rows[0].index("read_clat_ns_cumulative")
    assert [int(row[0]) for row in rows[1:]] == sorted(map(int, result["jobs"][0]["read"]["clat_ns"]["bins"]))
    assert int(rows[-1][at]) == 500
