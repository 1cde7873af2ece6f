"""The SLC cache: as a user sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import synthetic
import wordline
from conftest import Run, done, refused
from wordline.base import units
from wordline.policy import Fold, UpkeepView

BURSTS = """
[[job]]
rw = "randwrite"
bs = "64k"
iodepth = 16
number_ios = 6000
thinktime_blocks = 2000
thinktime_us = 2e6
"""

CACHE = {
    "slc.policy": "static",
    "slc.blocks": 48,
    "nand.slc_read_us": 25.0,
    "nand.slc_program_us": 200.0,
    "collect.scope": "drive",
    "placement.policy": "least-busy",
    "capacity.raw_over_logical": 1.5,
}
FOLDED = {**CACHE, "fold.policy": "coldest", "fold.blocks_at_a_time": 16}


def options(keys: dict[str, Any]) -> list[str]:
    return [text for key, value in keys.items() for text in ("--set", f"{key}={value}")]


def test_folding_in_rests_keeps_the_cache_of_use(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "bursts.toml").write_text(BURSTS)
    results = {}
    for name, keys in {"folded": FOLDED, "full": CACHE}.items():
        told = done(wordline("run", "demo", "bursts.toml", "--json", "r.json", *options(keys)))
        result = json.loads((tmp_path / "r.json").read_text())
        share = result["slc"]["pages"] / result["flash"]["programs"]
        assert f"{units.percent(share)} of programmed pages in SLC mode" in " ".join(told.split())
        results[name] = result
    folded, full = results["folded"], results["full"]
    # The cache holds 48 blocks of 64 pages. Three bursts of 8,000 pages fill it once, or each time.
    assert full["slc"] == {"pages": 48 * 64, "blocks": 48}
    assert folded["slc"]["pages"] == 3 * 48 * 64
    assert folded["tasks"]["fold"]["moved_pages"] == 2 * 48 * 64
    assert "fold" not in full["tasks"]
    assert folded["latency_us"]["write"]["mean"] < full["latency_us"]["write"]["mean"]


def test_report_and_tables_tell_of_the_cache(wordline: Run, tmp_path: Path) -> None:
    import pyarrow.parquet

    (tmp_path / "bursts.toml").write_text(BURSTS)
    run = (
        "run",
        "demo",
        "bursts.toml",
        "--json",
        "r.json",
        "--tables",
        "intervals",
        "--out",
        "t",
    )
    told = done(wordline(*run, *options(FOLDED)))
    result = json.loads((tmp_path / "r.json").read_text())
    blocks = result["tasks"]["fold"]["blocks"]
    assert f"SLC folding   {blocks} blocks emptied" in told
    page = synthetic.page_of(result)
    assert "Pages programmed in SLC mode" in page
    assert "By SLC folding" in page
    intervals = pyarrow.parquet.read_table(tmp_path / "t" / "intervals.parquet")
    in_slc = intervals["slc_blocks"].to_pylist()
    assert max(in_slc) == 48
    assert min(in_slc[len(in_slc) // 4 :]) <= 16, "rests empty it, but for blocks that are open"


def test_a_fold_policy_in_python() -> None:
    class Fullest(Fold):
        """Folds blocks in the order of their numbers, while the host rests."""

        name = "first"

        def after_rest(self) -> float:
            return 1_000.0

        def next(self, view: UpkeepView) -> int | None:
            assert 0 <= view.slc_left <= 48
            assert not (view.cached & ~view.full).any()
            return int(view.blocks[view.cached][0]) if view.host_rests and view.cached.any() else None

    load = wordline.Workload.text(BURSTS)
    result = wordline.run("demo", load, {**CACHE, "fold.policy": "first"}, policies=[Fullest])
    assert result["tasks"]["fold"]["blocks"] > 48
    plain = wordline.run("demo", load, CACHE)
    assert result["slc"]["pages"] > 1.5 * plain["slc"]["pages"]

    class Odd(Fullest):
        name = "odd"

        def after_rest(self) -> float:
            return -1.0

    with pytest.raises(wordline.InputError, match=r"'after_rest' is of no use: .*a number of microseconds from 0"):
        wordline.run("demo", load, {**CACHE, "fold.policy": "odd"}, policies=[Odd])


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"slc.policy": "static"}, ["slc.blocks", "such as"]),
        ({"slc.policy": "dynamic"}, ["nand.slc_read_us"]),
        ({"slc.policy": "dynamc"}, ["did you mean 'dynamic'?"]),
        ({"fold.policy": "coldest"}, ["has no effect without an SLC cache"]),
        ({**CACHE, "slc.blocks": 100_000}, ["must be 1 to"]),
        ({**CACHE, "geometry.slc_pages_per_block": 0}, ["must lie between 1 and pages_per_block"]),
        ({**CACHE, "nand.slc_program_us": -3.0}, ["nand.slc_program_us", "must lie between"]),
        ({**CACHE, "slc.blocks": 40, "redundancy.policy": "superblock"}, ["slc.blocks = 40", "must be a multiple of"]),
        ({**CACHE, "redundancy.policy": "rain"}, ["redundancy.policy", "use"]),
    ],
)
def test_what_cannot_be_is_refused(wordline: Run, keys: dict[str, Any], told: list[str]) -> None:
    error = refused(wordline("check", "demo", *options(keys)))
    assert all(text in " ".join(error.split()) for text in told), error


def test_check_tells_the_size(wordline: Run) -> None:
    told = done(wordline("check", "demo", *options(CACHE)))
    assert "SLC cache         48 MiB on an empty drive, 48 MiB on a full one" in told
    # All blocks, each of 704 pages, but for those that GC stops at and a superblock.
    told = done(wordline("check", "tlc-nvme"))
    blocks = 15_904 - 160 - 32
    assert f"SLC cache         {units.size(blocks * 704 * 16_384)} on an empty drive" in told
    assert "SLC" not in done(wordline("check", "demo")).partition("name =")[0]


def test_a_snapshot_has_the_cache(tmp_path: Path) -> None:
    load = wordline.Workload.job(rw="randwrite", bs="64k", number_ios=800)
    drive = wordline.Drive("demo", CACHE)
    drive.run(load)
    drive.save(tmp_path / "drive.snap")
    again = wordline.Drive("demo", CACHE, snapshot=tmp_path / "drive.snap")
    assert again.run(load)["outcome"] == drive.run(load)["outcome"]
    smaller = {**CACHE, "slc.blocks": 8}
    with pytest.raises(wordline.InputError, match=r"slc\.blocks = 8: the saved state has 48 blocks in SLC mode"):
        wordline.Drive("demo", smaller, snapshot=tmp_path / "drive.snap")
    aside = {key: value for key, value in CACHE.items() if not key.startswith("slc.")}
    with pytest.raises(wordline.InputError, match="blocks in SLC mode; give the drive an SLC cache"):
        wordline.Drive("demo", aside, snapshot=tmp_path / "drive.snap")
