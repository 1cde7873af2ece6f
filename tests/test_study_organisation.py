"""The studies of organisations: the design space, its stand-ins, points run as one sweep, and figures by hand."""

from __future__ import annotations

import json
import statistics
from itertools import pairwise
from typing import Any

import pytest
import wordline
from conftest import ROOT
from wordline.studies import catalogue, drives
from wordline.studies.context import Context
from wordline.studies.organisations import FIRST_COME, READS_FIRST, Measured, Organisation, Space, bus

SLOW = bus(8, 25)


def context(study: str = "organisation", **instead: Any) -> Context:  # noqa: ANN401
    """A context of the study with other choices."""
    return Context(catalogue.load(study), instead=instead)


def test_all_organisations_have_the_capacity_of_one_bank() -> None:
    space = Space(context())
    found = [*space.banking, *space.superblocks, *space.several]
    assert [str(it) for it in found[:5]] == ["1 bank", "2 banks", "4 banks", "8 banks", "superblock of 2"]
    assert (str(found[-1]), len(found)) == ("4 channels of 4 banks", 13)
    assert [it.mb_s for it in space.buses] == [25, 50, 50, 100, 100, 100, 200, 200, 400]
    for organisation in found:
        sets = space.point((organisation, SLOW, "pc1", FIRST_COME))["sets"]
        drive = wordline.check("dirik09", sets)["derived"]
        assert (drive["raw_bytes"], drive["packages"]) == (2 << 30, organisation.packages)
        assert drive["dies"] == organisation.channels * organisation.banks
        assert drive["page_bytes"] == 2048 * organisation.gang and drive["unit_bytes"] == 2048


def test_a_point_takes_the_choices_of_the_study() -> None:
    space = Space(context(mapping="superblock", layout=2, cache="none", groups=64))
    point = space.point((Organisation(gang=4), bus(16, 50), "pc3", READS_FIRST), {"dispatch": {"policy": "fifo"}})
    sets, stand_in = point["sets"], point["jobs"][0]["stand_in"]
    assert sets["mapping.unit_kib"] == 8 and sets["placement.fill_kib"] == 2 and sets["pack.policy"] == "none"
    assert (sets["nand.bus_bits"], sets["nand.cycle_ns"]) == (16, 20)
    assert "dispatch.order" not in sets and sets["dispatch"] == {"policy": "fifo"}
    assert stand_in["burst_requests"] == 64 and stand_in["gap_mean_us"] == pytest.approx(1e6 / 21.35)
    alone = space.point((Organisation(), SLOW, "pc3", FIRST_COME), arrivals={"gap_median_us": None})
    assert "gap_median_us" not in alone["jobs"][0]["stand_in"]


@pytest.mark.parametrize("name", ["pc1", "pc2", "pc3"])
def test_stand_ins_have_the_characteristics_that_are_published(name: str) -> None:
    space = Space(context(length=20000))
    told = drives.workload(space.jobs[name], 1).to_frame().to_arrow().to_pydict()
    sizes = told["size_bytes"]
    assert told["op"].count("write") / len(sizes) == pytest.approx(0.5, abs=0.01)
    assert sum(4096 <= it <= 8192 for it in sizes) / len(sizes) == pytest.approx(0.5, abs=0.01)
    assert statistics.fmean(sizes) == pytest.approx(26 * 1024, rel=0.02)
    # Very large requests are writes.
    large = [op for op, size in zip(told["op"], sizes, strict=True) if size > 65536]
    assert len(large) > 0.05 * len(sizes) and set(large) == {"write"}
    times = told["time_ps"]
    rate = 1e12 * (len(times) - 1) / (times[-1] - times[0])
    assert rate == pytest.approx({"pc1": 4.6, "pc2": 9.9, "pc3": 21.35}[name], rel=0.001)
    gaps = sorted(b - a for a, b in pairwise(times))
    assert gaps[len(gaps) // 2] == pytest.approx(200e6, rel=0.05)
    # Most gaps are within groups of 16.
    assert sum(gap > 10e9 for gap in gaps) / len(gaps) == pytest.approx(1 / 16, rel=0.15)


def test_points_of_one_sweep_are_runs_of_their_drives() -> None:
    of = context(length=200)
    space = Space(of)
    keys = [(organisation, SLOW, "pc2", FIRST_COME) for organisation in (Organisation(banks=2), Organisation(gang=2))]
    swept = space.sweep(keys)
    for key in keys:
        point = space.point(key)
        alone = wordline.run("dirik09", drives.workload(point["jobs"][0], 1), point["sets"], seed=1)
        assert swept.results[key]["latency_us"] == alone["latency_us"]
        assert set(swept.results[key]) == {"latency_us", "utilisation", "banks"}
    # What is known is not run again.
    known = dict(of.known)
    space.sweep(keys[:1])
    assert of.known == known and len(known) == 2


def test_a_point_that_cannot_run_is_told() -> None:
    space = Space(context(length=100))
    point = space.point((Organisation(), SLOW, "pc1", FIRST_COME), {"nand.bus_bits": 12})
    with pytest.raises(wordline.InputError, match=r"bus_bits = 12.*8, 16 or 32"):
        space.context.drives({"wrong": point}, ["latency_us"])


def test_changes_are_means_of_ratios() -> None:
    space = Space(context())
    one, two = Organisation(), Organisation(banks=2)
    us = {
        (one, "pc1"): 100,
        (one, "pc2"): 200,
        (one, "pc3"): 400,
        (two, "pc1"): 50,
        (two, "pc2"): 150,
        (two, "pc3"): 400,
    }
    results = {
        (organisation, SLOW, trace, FIRST_COME): {
            "latency_us": {"read": {"mean": float(time)}},
            "utilisation": {"channels": [0.25, 0.75]},
        }
        for (organisation, trace), time in us.items()
    }
    measured = Measured(results, space)
    # 0.5, 0.75 and 1.
    assert measured.change(two, one, "read", [SLOW]) == pytest.approx(-25)
    assert measured.change(two, one, "read", [SLOW], ["pc1"]) == pytest.approx(-50)
    assert measured.ms(two, SLOW, "read") == pytest.approx(0.2)
    assert measured.channels_used(one, SLOW) == pytest.approx(50)


def test_a_part_of_the_design_space_measures_what_is_kept() -> None:
    space = Space(context())
    saved = json.loads((ROOT / "studies" / "organisation" / "result.json").read_text())
    (table,) = [it for it in saved["tables"] if it["title"].startswith("The design space")]
    shown = [Organisation(banks=8), Organisation(gang=8)]
    measured = space.sweep((it, SLOW, trace, FIRST_COME) for it in shown for trace in space.traces)
    for organisation in shown:
        (row,) = [it for it in table["rows"] if it[0] == str(organisation) and it[2] == str(SLOW)]
        again = [measured.ms(organisation, SLOW, op) for op in ("read", "write", "all")]
        assert again == pytest.approx(row[4:7], rel=1e-9)


def test_reads_first_is_kept_as_it_is_measured() -> None:
    space = Space(context("read-priority"))
    saved = json.loads((ROOT / "studies" / "read-priority" / "result.json").read_text())
    table = next(it for it in saved["tables"] if it["title"].startswith("Response times by bus"))
    fast, eight = bus(32, 100), Organisation(gang=8)
    measured = space.sweep((eight, fast, trace, order) for trace in space.traces for order in (FIRST_COME, READS_FIRST))
    (row,) = [it for it in table["rows"] if it[:2] == [str(eight), str(fast)]]
    times = [measured.ms(eight, fast, op, order) for op in ("read", "write") for order in (FIRST_COME, READS_FIRST)]
    assert times == pytest.approx(row[2:6], rel=1e-9)
