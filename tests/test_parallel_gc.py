"""GC with a die to itself, GC that takes host operations along, and GC without time: as a user sees them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, done, refused

LOAD = """
[[job]]
rw = "randrw"
rwmixread = 30
bs = "16k"
rate_iops = 1500
rate_process = "poisson"
number_ios = 20000
iodepth = 256
"""

SMALL = {
    "geometry.channels": 2,
    "geometry.packages_per_channel": 1,
    "geometry.blocks_per_plane": 64,
    "geometry.pages_per_block": 64,
    "capacity.raw_over_logical": 1.4,
    "collect.start_blocks": 4,
    "collect.stop_blocks": 5,
    "collect.hold_below_blocks": 5,
}
"""The drive of choi18 with eight dies and small blocks."""

PAIRED = {"collect.into": "paired-blocks"}
"""Second open blocks alone: GC ends earlier with them, but takes nothing along."""
JOINED = {"pack.join_gc": "true", **PAIRED}


@pytest.fixture
def run(wordline: Run, tmp_path: Path) -> Any:  # noqa: ANN401
    """Runs the load with keys and options, and gives summary and result."""
    (tmp_path / "load.toml").write_text(LOAD)

    def of(keys: dict[str, Any], *options: str) -> tuple[str, dict[str, Any]]:
        sets = [text for key, value in {**SMALL, **keys}.items() for text in ("--set", f"{key}={value}")]
        summary = done(wordline("run", "choi18", "load.toml", "--json", "r.json", *sets, *options))
        return summary, json.loads((tmp_path / "r.json").read_text())

    return of


def test_requests_caught_by_gc_gain_from_shared_commands(run: Any) -> None:  # noqa: ANN401
    for seed in ("1", "2", "3"):
        (_, held), (_, paired), (summary, joined), (_, ideal) = (
            run(keys, "--seed", seed) for keys in ({}, PAIRED, JOINED, {"collect.instant": "true"})
        )
        # One plane of two collects, and the other one is idle.
        assert held["gc"]["plane_utilisation"] == pytest.approx(0.5, abs=0.02)
        for alone in (held, paired):
            assert alone["gc"]["joined_reads"] == alone["gc"]["joined_writes"] == 0
        gc = joined["gc"]
        assert gc["plane_utilisation"] > held["gc"]["plane_utilisation"] + 0.005
        assert gc["joined_reads"] > 100
        assert gc["joined_writes"] > 100
        assert f"took {gc['joined_reads']:,} page reads and {gc['joined_writes']:,} page writes" in summary
        # Against the same second blocks without shared commands: what is left is the gain of these.
        caught = [{op: result["gc_affected_us"][op]["mean"] for op in ("read", "write")} for result in (paired, joined)]
        assert caught[1]["write"] < 0.96 * caught[0]["write"]
        assert caught[1]["read"] < 0.88 * caught[0]["read"]
        assert ideal["gc"]["collections"] > 20
        assert ideal["gc_affected_requests"] == ideal["gc_affected_us"]["read"]["count"] == 0
        assert ideal["latency_us"]["write"]["mean"] < joined["latency_us"]["write"]["mean"]


def test_tables_timeline_and_report_take_commands_of_two_tasks(run: Any, tmp_path: Path) -> None:  # noqa: ANN401
    import pyarrow.parquet

    views = ("--report", "r.html", "--tables", "requests,channels,planes,dies", "--out", "t", "--timeline", "t.pftrace")
    _, plain = run(JOINED)
    _, result = run(JOINED, *views)
    assert result["digest"] == plain["digest"]
    for table in ("dies", "planes"):
        units = pyarrow.parquet.read_table(tmp_path / "t" / f"{table}.parquet").to_pydict()
        for task, figures in result["tasks"].items():
            for kind in ("reads", "programs"):
                assert sum(units[f"{task}_{kind}"]) == figures[kind], (table, task, kind)
    dies = pyarrow.parquet.read_table(tmp_path / "t" / "dies.parquet").to_pydict()
    parts = ("host_read_us", "host_write_us", "gc_us")
    for row, busy in enumerate(dies["busy_us"]):
        assert sum(dies[part][row] for part in parts) == pytest.approx(busy, abs=1e-3)
    channels = pyarrow.parquet.read_table(tmp_path / "t" / "channels.parquet").to_pydict()
    for row, busy in enumerate(channels["busy_us"]):
        assert sum(channels[part][row] for part in ("host_us", "gc_us")) == pytest.approx(busy, abs=1e-3)
    page = (tmp_path / "r.html").read_text()
    assert "Host reads in commands of GC" in page
    assert "Planes busy in dies with GC under way" in page


def test_what_cannot_be_held_or_joined_is_refused(wordline: Run) -> None:
    for sets, key in (
        (("suspend.policy=reads",), "collect.hold_below_blocks"),
        (("dispatch.policy=debit",), "collect.hold_below_blocks"),
        (("collect.into=shared",), "collect.into"),
        (("victim.policy=read-aligned", "victim.candidates=0"), "victim.candidates"),
        (("collect.instant=true", "pack.join_gc=true"), "collect.instant"),
    ):
        options = [text for setting in sets for text in ("--set", setting)]
        assert key in refused(wordline("check", "choi18", *options))
