"""Superblocks, parity, and reads that go around busy dies: as a user sees them."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest
import synthetic
import wordline
from conftest import Run, done, refused

LOAD = """
[[job]]
rw = "randrw"
rwmixread = 80
bs = "4k"
rate_iops = 12000
rate_process = "poisson"
number_ios = 150000
iodepth = 256
"""

RAIN = {"redundancy.policy": "rain", "redundancy.dies": 4}
AMPLE = {"capacity.raw_over_logical": 2.0}


@pytest.fixture
def run(wordline: Run, tmp_path: Path) -> Any:  # noqa: ANN401
    """Runs the load with keys and options, and gives summary and result."""
    (tmp_path / "load.toml").write_text(LOAD)

    def of(keys: dict[str, Any], *options: str) -> tuple[str, dict[str, Any]]:
        sets = [text for key, value in {**AMPLE, **keys}.items() for text in ("--set", f"{key}={value}")]
        summary = done(wordline("run", "demo", "load.toml", "--json", "r.json", *sets, *options))
        return summary, json.loads((tmp_path / "r.json").read_text())

    return of


def test_rebuilt_reads_have_a_shorter_tail(run: Any) -> None:  # noqa: ANN401
    for seed in ("1", "2", "3"):
        (_, behind), (summary, around) = (
            run({**RAIN, "redundancy.rebuild_reads": rebuild}, "--seed", seed) for rebuild in ("false", "true")
        )
        told = around["superblocks"]
        assert behind["superblocks"]["rebuilt_reads"] == behind["superblocks"]["rebuilding_reads"] == 0
        assert told["blocks"] == 4 * 2
        assert told["rebuilt_reads"] > 100
        # Three other dies have the rest of a row, unless it is not whole yet.
        assert told["rebuilding_reads"] == pytest.approx(3 * told["rebuilt_reads"], rel=0.01)
        assert around["latency_us"]["read"]["p99"] < behind["latency_us"]["read"]["p99"]
        # One page of four is parity.
        assert told["parity_pages"] == pytest.approx(around["flash"]["programs"] / 4, rel=0.01)
        summary = " ".join(summary.split())
        assert "25 % of programmed pages hold parity" in summary
        assert f"{told['rebuilt_reads']:,} reads rebuilt by reading {told['rebuilding_reads']:,} pages" in summary


def test_a_report_tells_of_parity(run: Any) -> None:  # noqa: ANN401
    _, result = run(RAIN)
    page = synthetic.page_of(result)
    for name, key in (
        ("Pages of parity", "parity_pages"),
        ("Reads rebuilt around busy dies", "rebuilt_reads"),
        ("Pages read to rebuild them", "rebuilding_reads"),
    ):
        assert name in page
        assert f"{result['superblocks'][key]:,}" in page


def test_parity_of_logical_pages_is_told(run: Any) -> None:  # noqa: ANN401
    by_plane = {"placement.policy": "static", "collect.scope": "plane"}
    keys = {"redundancy.policy": "ttflash", "redundancy.dies": 4, **by_plane}
    for seed in ("1", "2", "3"):
        (_, behind), (summary, around) = (
            run({**keys, "redundancy.rebuild_reads": rebuild}, "--seed", seed) for rebuild in ("false", "true")
        )
        told = around["parity"]
        assert (told["stripe_pages"], behind["parity"]["rebuilt_reads"]) == (4, 0)
        assert told["rebuilding_reads"] == pytest.approx(3 * told["rebuilt_reads"], rel=0.02)
        assert around["latency_us"]["read"]["p99"] < behind["latency_us"]["read"]["p99"]
        # A random write of a quarter of a page programs as much parity, for which it reads old data and old parity.
        writes = around["latency_us"]["write"]["count"]
        assert told["programmed_pages"] == pytest.approx(writes / 4, rel=0.05)
        assert told["reads"] == pytest.approx(2 * writes, rel=0.05)
        summary = " ".join(summary.split())
        assert f"hold parity, for which {told['reads']:,} pages were read" in summary
        assert f"{told['rebuilt_reads']:,} reads rebuilt by reading {told['rebuilding_reads']:,} pages" in summary
    page = synthetic.page_of(around)
    assert "Pages of parity" in page
    assert f"{told['reads']:,}" in page


def test_superblocks_without_parity_tell_nothing_of_it(run: Any) -> None:  # noqa: ANN401
    summary, result = run({"redundancy.policy": "superblock"})
    assert result["superblocks"] == {"blocks": 16, "parity_pages": 0, "rebuilt_reads": 0, "rebuilding_reads": 0}
    assert "parity" not in summary.lower()


def test_the_causes_of_latency_still_add_up(run: Any) -> None:  # noqa: ANN401
    _, result = run(RAIN)
    read = result["latency_us"]["read"]
    parts = result["time_of"]["read"]
    assert sum(parts.values()) == pytest.approx(read["mean"] * read["count"] / 1e6, rel=0.001)
    assert parts["other"] < 0.001 * sum(parts.values())


def test_a_group_that_does_not_divide_the_drive_is_refused(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "load.toml").write_text(LOAD)
    keys = ("--set", "redundancy.policy=rain", "--set", "redundancy.dies=3")
    message = refused(wordline("run", "demo", "load.toml", *keys))
    assert "redundancy.dies" in message
    assert "use 2, 4, 8" in message


def test_the_preset_of_today_is_steady_with_superblocks() -> None:
    sizes = {"geometry.blocks_per_plane": 240, "geometry.pages_per_block": 132}
    single = {
        "redundancy.policy": "none",
        "collect.start_blocks": 24,
        "collect.stop_blocks": 48,
        "collect.blocks_per_die": 1,
    }
    load = wordline.Workload.job(rw="randwrite", bs="4k", iodepth=32, norandommap=True, number_ios=600_000)

    def steady(more: dict[str, Any]) -> wordline.Run:
        drive = wordline.Drive("tlc-nvme", {**sizes, **more})
        drive.precondition(overwrites=2, progress=False)
        return drive.run(load, progress=False)

    def throughput(run: wordline.Run) -> float:
        # The first half brings free blocks to where they stay; the last interval is cut off by the end.
        iops = run["series"]["write_iops"]
        return statistics.fmean(iops[len(iops) // 2 : -1])

    before, now, unpaced = steady(single), steady({}), steady({"collect.pacing": False})
    latency = now["latency_us"]["write"]
    assert latency["p99_99"] < 20 * latency["p50"]
    assert latency["max"] < 100_000, "no tenth of a second without a completed write"
    assert throughput(now) > 1.7 * throughput(before)
    assert throughput(now) > 0.95 * throughput(unpaced)
    assert unpaced["latency_us"]["write"]["max"] > 500_000
    # The paced host writes commands of all planes, as it would unpaced.
    host = now["tasks"]["host"]
    assert host["multi_plane_programs"] > 0.9 * host["programs"]
