"""Runs: results, their files, and reproducibility."""

from __future__ import annotations

import gzip
import math
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import BUNDLED, PROGRAM, TRACE_ROWS, Run, done, parsed, refused, started, trace_text

PERCENTILES = ["p50", "p90", "p99", "p99_9", "p99_99", "p99_999", "p99_9999"]


def result_of(wordline: Run, *arguments: str | Path) -> dict[str, Any]:
    """The JSON of a run."""
    return parsed(done(wordline("run", *arguments, "--quiet", "--json", "-")))


def test_the_result_is_complete(wordline: Run, drive: Path, load: Path) -> None:
    result = result_of(wordline, drive, load)
    assert result["schema"] == 1
    assert result["partial"] is False
    assert result["requests"] == 20_000
    assert result["by_op"]["read"]["requests"] + result["by_op"]["write"]["requests"] == 20_000
    for key in ("simulated_s", "cpu_s", "iops", "bandwidth_mib_s", "write_amplification"):
        assert math.isfinite(result[key]) and result[key] > 0, key
    assert math.isclose(result["iops"], 20_000 / result["simulated_s"], rel_tol=1e-6)
    assert {"reads", "programs", "erases"} <= result["flash"].keys()
    assert {"collections", "moved_pages"} <= result["gc"].keys()
    assert {"mean", "max", "stddev"} <= result["wear"].keys()


def test_latencies_are_in_order(wordline: Run, drive: Path, load: Path) -> None:
    latency = result_of(wordline, drive, load)["latency_us"]
    for op in ("all", "read", "write"):
        of_op = latency[op]
        known = [of_op[p] for p in PERCENTILES if of_op[p] is not None]
        ladder = [of_op["min"], *known, of_op["max"]]
        assert ladder == sorted(ladder)
        assert of_op["min"] <= of_op["mean"] <= of_op["max"]
    assert latency["all"]["count"] == latency["read"]["count"] + latency["write"]["count"]
    assert latency["all"]["p99_9"] is not None
    assert latency["all"]["p99_99"] is None, "two of 20,000 requests lie beyond it, and ten are needed"


def test_series_and_distribution_fit_the_totals(wordline: Run, drive: Path, load: Path) -> None:
    result = result_of(wordline, drive, load)
    series = result["series"]
    lists = [value for value in series.values() if isinstance(value, list)]
    assert len({len(values) for values in lists}) == 1
    assert series["start_s"] == sorted(series["start_s"])
    assert series["start_s"][-1] <= result["simulated_s"]
    for op in ("read", "write"):
        points = result["cdf"][op]
        assert points == sorted(points)
        assert all(0 <= share <= 1 for _, share in points)
    shares = [*result["utilisation"]["channels"], *result["utilisation"]["dies"]]
    assert len(result["utilisation"]["dies"]) == result["drive"]["dies"]
    assert all(0 <= share <= 1 for share in [*shares, *(result["utilisation"][k] for k in ("link_in", "link_out"))])


def test_the_same_seed_gives_the_same_digest(wordline: Run, drive: Path, load: Path) -> None:
    first, second, other = (result_of(wordline, drive, load, "--seed", seed) for seed in ("7", "7", "8"))
    assert first["seed"] == 7
    assert first["digest"] == second["digest"] != other["digest"]
    clocks = {"cpu_s": 0, "precondition_cpu_s": 0}
    assert {**first, **clocks} == {**second, **clocks}


def test_the_digest_does_not_depend_on_where_the_trace_lies(
    wordline: Run, drive: Path, trace: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    moved = Path("elsewhere") / trace.name
    (tmp_path / moved).write_bytes(trace.read_bytes())
    first, second = (result_of(wordline, drive, path) for path in (trace, moved))
    assert first["digest"] == second["digest"]
    assert second["workload"]["trace"]["path"] == str(moved)


def test_changes_are_part_of_the_result(wordline: Run, drive: Path, load: Path) -> None:
    result = result_of(wordline, drive, load, "--set", "victim.policy=fifo")
    assert result["config"]["victim"]["policy"] == "fifo"
    changes = {change["key"]: change for change in result["changes"]}
    assert changes["victim.policy"]["value"] == "fifo"
    assert changes["victim.policy"]["origin"] == "--set victim.policy=fifo"


def test_the_summary_fits_a_terminal(wordline: Run, drive: Path, load: Path) -> None:
    text = done(wordline("run", drive, load))
    for word in ("Throughput", "Latency", "p99.9", "Flash", "write amplification", "Busy", "Digest"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 80
    assert "PARTIAL" not in text


def test_quiet_says_nothing(wordline: Run, drive: Path, load: Path) -> None:
    outcome = wordline("run", drive, load, "--quiet")
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")


def test_json_on_standard_output_stands_alone(wordline: Run, drive: Path, load: Path) -> None:
    outcome = wordline("run", drive, load, "--json", "-")
    assert parsed(done(outcome))["requests"] == 20_000
    assert "Throughput" in outcome.stderr


def test_files_are_complete_and_alone(wordline: Run, drive: Path, load: Path, tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    done(wordline("run", drive, load, "--json", "r.json", "--report", "r.html"))
    assert {path.name for path in set(tmp_path.iterdir()) - before} == {"r.json", "r.html"}
    assert parsed((tmp_path / "r.json").read_text())["requests"] == 20_000
    page = (tmp_path / "r.html").read_text()
    assert page.count("<svg") >= 8
    for section in ("headline", "latency", "distribution", "latency-over-time", "throughput-over-time"):
        assert f'<section id="{section}"' in page or f'<header id="{section}"' in page
    for section in ("space-over-time", "utilisation", "configuration", "provenance"):
        assert f'<section id="{section}"' in page
    for outside in ('src="http', 'href="http', "url(http", "@import"):
        assert outside not in page


def test_shortcuts_for_traces(wordline: Run, drive: Path, trace: Path) -> None:
    plain = result_of(wordline, drive, trace)
    assert plain["requests"] == len(TRACE_ROWS)
    assert plain["by_op"]["trim"]["requests"] == plain["by_op"]["flush"]["requests"] == 1
    assert 0.007 <= plain["simulated_s"] < 0.02
    assert result_of(wordline, drive, trace, "--limit", "3")["requests"] == 3
    assert result_of(wordline, drive, trace, "--loops", "3")["requests"] == 3 * len(TRACE_ROWS)
    assert 0.0035 <= result_of(wordline, drive, trace, "--speed", "2")["simulated_s"] < plain["simulated_s"]
    slow = result_of(wordline, drive, trace, "--pace", "asap", "--iodepth", "1", "--loops", "50")
    fast = result_of(wordline, drive, trace, "--pace", "asap", "--iodepth", "16", "--loops", "50")
    assert fast["simulated_s"] < slow["simulated_s"]


def test_packed_traces_are_the_same(wordline: Run, drive: Path, trace: Path, tmp_path: Path) -> None:
    packed = tmp_path / "small.csv.gz"
    packed.write_bytes(gzip.compress(trace.read_bytes()))
    plain, unpacked = (result_of(wordline, drive, path) for path in (trace, packed))
    assert plain["latency_us"] == unpacked["latency_us"]


def test_ambiguous_traces_need_a_format(wordline: Run, drive: Path, tmp_path: Path) -> None:
    path = tmp_path / "five.trace"
    path.write_text("".join(f"{n} 0 {64 * n} 8 {n % 2}\n" for n in range(50)))
    refused(wordline("run", drive, path), "five.trace", "--format", "disksim", "mqsim")
    assert "disksim" in done(wordline("trace", "info", path, "--format", "disksim"))
    result = result_of(wordline, drive, path, "--format", "disksim")
    assert result["requests"] == 50
    assert result["by_op"]["read"]["requests"] == 25


def test_the_bundled_trace(wordline: Run) -> None:
    info = parsed(done(wordline("trace", "info", BUNDLED, "--json")))
    assert (info["requests"], info["reads"], info["writes"]) == (178_331, 90_219, 71_194)
    assert info["extent_bytes"] == 2_015_395_840
    assert "178,331" in done(wordline("trace", "info", BUNDLED))
    assert result_of(wordline, "demo", BUNDLED, "--limit", "2000")["requests"] == 2000


def test_requests_past_the_end(wordline: Run, drive: Path, tmp_path: Path) -> None:
    path = tmp_path / "far.csv"
    path.write_text(trace_text([("W", 0, 4096), ("W", 1 << 40, 4096), ("W", 8192, 4096)]))
    ways = ["--past-end", "error", "wrap", "scale", "default"]
    refused(wordline("run", drive, path), "far.csv", "line 3", str(1 << 40), *ways)
    for way in ("wrap", "scale"):
        assert result_of(wordline, drive, path, "--past-end", way)["requests"] == 3


def test_a_snapshot_is_a_start(wordline: Run, drive: Path, load: Path, tmp_path: Path) -> None:
    done(wordline("precondition", drive, "-o", "aged.snap", "--seed", "3"))
    assert (tmp_path / "aged.snap").stat().st_size > 0
    assert not list(tmp_path.glob(".*.part"))
    first, second = (result_of(wordline, drive, load, "--from", "aged.snap", "--seed", "3") for _ in range(2))
    assert first["digest"] == second["digest"]
    refused(wordline("run", "demo", load, "--from", "aged.snap"), "aged.snap")
    refused(wordline("run", drive, load, "--from", "nothing.snap"), "nothing.snap")
    refused(wordline("run", drive, load, "--from", load), "load.toml")


def test_an_interrupt_keeps_what_was_done(drive: Path, tmp_path: Path) -> None:
    load = tmp_path / "endless.toml"
    load.write_text('[[job]]\nrw = "randrw"\nbs = "16k"\niodepth = 8\ntime_based = true\nruntime_s = 1_000_000\n')
    command = [PROGRAM, "run", drive, load, "--json", "part.json", "--report", "part.html"]
    with started(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "PARTIAL" in out
    assert "Traceback" not in err
    result = parsed((tmp_path / "part.json").read_text())
    assert result["partial"] is True
    assert result["requests"] > 0
    assert "Partial" in (tmp_path / "part.html").read_text()


@pytest.mark.parametrize("policy", ["greedy", "cost-benefit", "fifo", "random", "best-of"])
def test_every_victim_policy_runs(wordline: Run, drive: Path, load: Path, policy: str) -> None:
    result = result_of(wordline, drive, load, "--set", f"victim.policy={policy}")
    assert result["requests"] == 20_000
    assert result["write_amplification"] >= 1
