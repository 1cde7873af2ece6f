"""The studies of jung13's chapter 7: gaps, stand-ins and SSDs follow from the tables of the paper."""

from __future__ import annotations

import math
import runpy

import pytest
import wordline
from conftest import ROOT
from wordline.studies import catalogue, idle_gc
from wordline.studies.context import Context
from wordline.studies.drives import workload
from wordline.studies.idle_gc import AGC, BOTH, H_FTL, L_FTL, P_FTL, Point, Runs, gaps

PART = 32


def runs(**instead: object) -> Runs:
    return Runs(Context(catalogue.load("gc-scheduling"), instead=instead))


def test_gaps_have_the_mean_and_the_part_of_idle_time() -> None:
    found = gaps(33_000, 0.4, 1000)
    assert found.mean == pytest.approx((999 * found.inside + found.between) / 1000)
    # Time in exponential gaps of a mean that are longer than a second: (mean + 1 s) exp(-1 s / mean).
    long = (found.between + 1e6) * math.exp(-1e6 / found.between)
    assert long / (1000 * 33_000) == pytest.approx(0.4)
    above = 0.999 * math.exp(-found.median / found.inside) + 0.001 * math.exp(-found.median / found.between)
    assert above == pytest.approx(0.5)
    # Disks with a request in more than a second have no bursts.
    assert gaps(2e6, 0.5, 1000).burst == 0 and gaps(2e6, 0.5, 1000).median == pytest.approx(2e6 * math.log(2))


def test_stand_ins_have_the_figures_of_the_tables() -> None:
    found = runs()
    told = found.stand_in(5, 1 << 30, 1000)
    assert told["requests"] == round(12_981_710 / PART)
    assert told["write_percent"] == pytest.approx(100 * 3_040_098 / 12_981_710)
    assert (told["write_size"], told["read_size"]) == (round(31_777_436 * 1024 / 3_040_098), 10_121)
    # Table 6.1 has 100 % of random writes and 97.51 % of random reads.
    assert told["random_percent"] == pytest.approx((3_040_098 * 100 + 9_941_612 * 97.51) / 12_981_710)
    assert told["gap_mean_us"] == pytest.approx(5 * 86_400e6 / 12_981_710)
    # Table 2.2 has 20.7 and 47.1 KB for disk 0.
    first = found.stand_in(0, 1 << 30, 1000)
    assert (first["write_size"] / 1024, first["read_size"] / 1024) == pytest.approx((20.7, 47.1), rel=0.01)
    assert found.stand_in(2, 1 << 30, 1000)["write_size"] == "4k:100"


@pytest.mark.parametrize("disks", [(0,), (0, 1)])
def test_ssds_are_those_of_the_paper(disks: tuple[int, ...]) -> None:
    found, size = runs(), len(disks)
    checked = {
        it: wordline.check("jung13-ch7", found.sets(Point(it, disks)))["derived"] for it in (L_FTL, H_FTL, P_FTL, BOTH)
    }
    # 64 GB a disk, 3 % of it free.
    logical = {it: told["logical_bytes"] for it, told in checked.items()}
    assert set(logical.values()) == {found.logical_blocks(Point(L_FTL, disks)) * idle_gc.BLOCK}
    assert logical[L_FTL] == pytest.approx(size * 0.97 * (64 << 30) / PART, rel=0.01)
    extra = checked[P_FTL]["raw_bytes"] - checked[L_FTL]["raw_bytes"]
    assert extra == size * (14 << 30) / PART
    sets = found.sets(Point(AGC, disks, threshold=found.share(Point(AGC, disks), 1.5)))
    chips = 16 * (4 if size > 1 else 1)
    blocks = size * 4096 // chips
    assert sets["collect.threshold_blocks"] == round(blocks * 0.015) + idle_gc.KEPT
    assert sets["collect.compacts"] == "full"
    alone = runs(domains="drive", compacts="any").sets(Point(BOTH, disks))
    assert alone["collect.scope"] == "drive" and alone["collect.compacts"] == "any"
    assert alone["mapping.log_blocks"] == pytest.approx(size * 4096 * 0.02, rel=0.3)


def test_disks_that_share_an_ssd_have_regions_of_their_own() -> None:
    asked = {
        "requests": 50,
        "write_percent": 100,
        "write_size": "4k:100",
        "align": 4096,
        "random_percent": 100,
        "extent": 1 << 20,
        "gap_mean_us": 1000,
    }
    job = {"stand_ins": [{"of": asked, "at": 0}, {"of": asked, "at": 1 << 20}], "replay": {}}
    rows = workload(job, 3).to_frame().to_arrow().to_pydict()
    times, places = rows["time_ps"], rows["offset_bytes"]
    assert len(times) == 100 and times == sorted(times)
    first, second = ([it % (1 << 20) for it in places if it >> 20 == nth] for nth in (0, 1))
    assert len(first) == len(second) == 50
    assert first != second, "each has random numbers of its own"


def test_the_threshold_ends_where_erases_leave_the_level() -> None:
    up_to = runpy.run_path(str(ROOT / "studies" / "gc-threshold" / "study.py"))["up_to"]
    assert up_to((50, 75, 100), (10.0, 10.05, 10.1), 10.0) == 100
    # The level is 10.1: half-way from 10.0 to 10.2.
    assert up_to((50, 75, 100), (10.0, 10.0, 10.2), 10.0) == pytest.approx(87.5)
    assert up_to((50, 75), (10.4, 11.0), 10.0) == pytest.approx(0 + 50 * (10.1 - 10.1) / 0.3)
