"""The mapping table in flash: what a small map cache costs, and what summary, results, tables and report show of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import synthetic
from conftest import Run, done, refused
from wordline.base import units

CACHED = ("--set", "mapping.policy=cached", "--set", "mapping.unit_kib=4")


@pytest.fixture
def run(mixed: Any) -> Any:  # noqa: ANN401
    """Runs the load with options, and gives summary and result."""
    return mixed(70)


def cache(kib: int) -> tuple[str, ...]:
    return (*CACHED, "--set", f"mapping.cache_kib={kib}")


def test_reads_take_longer_the_smaller_the_cache(run: Any) -> None:  # noqa: ANN401
    for seed in ("1", "2"):
        whole = run("--seed", seed)[1]
        assert "mapping_table" not in whole
        assert "wait_map" not in whole["time_of"]["read"]
        means = [whole["latency_us"]["read"]["mean"]]
        rates = [1.0]
        for kib in (2048, 512):
            result = run("--seed", seed, *cache(kib))[1]
            means.append(result["latency_us"]["read"]["mean"])
            rates.append(result["mapping_table"]["hit_rate"])
        assert means == sorted(means), means
        assert means[1] > 1.5 * means[0], means
        assert rates == sorted(rates, reverse=True), rates


def test_summary_results_tables_and_report_agree(run: Any, tmp_path: Path) -> None:  # noqa: ANN401
    import pyarrow.parquet

    options = ("--tables", "intervals,requests", "--out", "t", "--interval", "100ms")
    summary, result = run(*cache(1024), *options)
    table, tasks = result["mapping_table"], result["tasks"]
    assert table["reads"] == sum(task["map_reads"] for task in tasks.values())
    assert table["writes"] == sum(task["map_writes"] for task in tasks.values())
    assert min(task["map_reads"] for task in tasks.values()) > 0, "host and GC both need the table"
    assert table["hit_rate"] == pytest.approx(table["hits"] / table["lookups"])
    assert 0 < table["hit_rate"] < 0.5, "a quarter of the table is in memory, and what waits to be written"
    words = f"{units.percent(table['hit_rate'])} of look-ups found in memory; {table['reads']:,} map units read"
    assert words in " ".join(summary.split())
    intervals = pyarrow.parquet.read_table(tmp_path / "t" / "intervals.parquet").to_pydict()
    # Intervals go on until the drive is idle.
    assert sum(intervals["map_reads"]) >= table["reads"] > 0
    assert sum(intervals["map_writes"]) >= table["writes"] > 0
    assert all(rate is None or 0 <= rate <= 1 for rate in intervals["map_hit_rate"])
    requests = pyarrow.parquet.read_table(tmp_path / "t" / "requests.parquet").to_pydict()
    waited = sum(us for us, op in zip(requests["wait_map_us"], requests["op"], strict=True) if op == "read") / 1e6
    assert waited == pytest.approx(result["time_of"]["read"]["wait_map"], rel=1e-6)
    page = synthetic.page_of(result, "time_of")
    assert "Map look-ups found in memory" in page
    assert "mapping table" in page


def test_wrong_caches_are_refused(wordline: Run, mixed: Any) -> None:  # noqa: ANN401
    mixed(70)
    run = ("run", "demo", "mixed.toml")
    refused(wordline(*run, *cache(3)), "mapping.cache_kib = 3", "must hold a map unit", "at least 4")
    refused(wordline(*run, "--set", "mapping.cache_kib=64"), "mapping.cache_kib", "cached")
    scrub = ("--set", "refresh.policy=scrub", "--set", "refresh.start_reads=100", "--set", "refresh.stop_reads=50")
    refused(wordline(*run, *CACHED, *scrub), "mapping.policy = cached", "read refresh", "above 768 reads")


def test_an_aged_drive_keeps_its_cache(wordline: Run, mixed: Any) -> None:  # noqa: ANN401
    mixed(70)
    done(wordline("precondition", "demo", "-o", "aged.snap", *cache(1024)))
    run = ("run", "demo", "mixed.toml", "--json", "-", "--from", "aged.snap")
    first, second = (json.loads(done(wordline(*run, *cache(1024)))) for _ in range(2))
    assert first["digest"] == second["digest"]
    # Another cache takes over what fits; a drive with the whole map in memory is another drive.
    smaller = json.loads(done(wordline(*run, *cache(256))))
    assert smaller["mapping_table"]["hit_rate"] < first["mapping_table"]["hit_rate"]
    refused(wordline(*run), "mapping.policy = in memory", "in flash")


def test_blocks_get_a_past_of_reads(wordline: Run, mixed: Any) -> None:  # noqa: ANN401
    mixed(70)
    scrub = ("--set", "refresh.policy=scrub", "--set", "refresh.start_reads=1000", "--set", "refresh.stop_reads=900")
    run = ("run", "demo", "mixed.toml", *scrub, "--json", "-")
    fresh = json.loads(done(wordline(*run)))
    read = json.loads(done(wordline(*run, "--set", "precondition.block_reads=1000")))
    assert fresh["tasks"]["refresh"]["blocks"] == 0
    assert read["tasks"]["refresh"]["blocks"] > 0, "some block had nearly 1,000 reads at the start"
    assert read["precondition"]["read_blocks"] > 1000
    empty = ("--set", "precondition.fill=false", "--set", "precondition.overwrites=0")
    refused(wordline(*run, *empty, "--set", "precondition.block_reads=5"), "precondition.block_reads = 5", "fill")
