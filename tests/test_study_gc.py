"""The studies of choi18: the simulated drive, its stand-ins, the search for an intensity, and figures by hand."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from experiments import carried_out
from wordline.studies import catalogue, drives
from wordline.studies import parallel_gc as scheme
from wordline.studies.context import Context
from wordline.studies.packages import resolved
from wordline.studies.parallel_gc import BASELINE, PAR, Drive, Volume

TWO = runpy.run_path(str(ROOT / "studies" / "gc-parallel" / "study.py"))
FOUR = runpy.run_path(str(ROOT / "studies" / "gc-parallel-4" / "study.py"))
HM_0 = Volume("hm_0", 64.5, 7.4, 29.7)


def context(name: str = "gc-parallel", **instead: Any) -> Context:  # noqa: ANN401
    """A study with other choices."""
    return Context(catalogue.load(name), instead=instead)


def test_the_whole_drive_is_that_of_the_paper() -> None:
    whole = Drive(context(blocks=1, written=100), {})
    config = resolved("choi18")
    assert whole.blocks == config["geometry"]["blocks_per_plane"]
    assert whole.sets["capacity.raw_over_logical"] == pytest.approx(config["capacity"]["raw_over_logical"])
    assert {key: whole.sets[f"collect.{key}"] for key in ("start_blocks", "stop_blocks", "hold_below_blocks")} == {
        key: config["collect"][key] for key in ("start_blocks", "stop_blocks", "hold_below_blocks")
    }


def test_blocks_that_are_never_written_are_left_out() -> None:
    drive = Drive(context(written=20), {})
    logical = 512 / 1.1765
    assert drive.blocks == round(0.2 * logical + 512 - logical)
    assert drive.blocks / drive.sets["capacity.raw_over_logical"] == pytest.approx(0.2 * logical)
    assert (drive.sets["collect.start_blocks"], drive.sets["collect.stop_blocks"]) == (26, 27)
    assert drive.pages == int(128 * 512 * 0.2 * logical)


@pytest.mark.parametrize("other", ["blocks", "dies"])
def test_four_planes_have_the_same_capacity(other: str) -> None:
    two = Drive(context(), {})
    of = context("gc-parallel-4", shape=other)
    four = Drive(of, FOUR["shape"](of))
    assert four.sets["geometry.planes_per_die"] == 4
    assert four.pages == pytest.approx(two.pages, rel=1e-6)


def test_a_stand_in_has_the_statistics_of_its_volume() -> None:
    drive = Drive(context(), {})
    told = drive.stand_in(HM_0, 100.0, 30_000)
    # Of requests of 7.4 KiB at multiples of 4 KiB, 3.4 of 16 cross into another page.
    assert drive.touched(7.4) == pytest.approx(1 + 3.4 / 16)
    rows = drives._stand_in(drives.json.dumps(told), 1).to_pandas()
    writes = rows[rows.op == "write"]
    assert len(rows) == told["requests"]
    assert len(writes) / len(rows) == pytest.approx(0.645, abs=0.005)
    assert writes.size_bytes.sum() / drive.page_bytes == pytest.approx(30_000, rel=0.03)
    assert (rows.offset_bytes % drive.page_bytes == 0).all()
    assert rows.time_ps.max() / len(rows) / 1e6 == pytest.approx(100, rel=0.01)


def test_the_next_intensity_lies_between_those_tried() -> None:
    # Twice as many requests are delayed as wanted, then half as many: in the middle, on a logarithmic scale.
    assert scheme._next({100.0: 2.0, 400.0: 0.5}, 400.0) == pytest.approx(200)
    assert scheme._next({100.0: 2.0}, 100.0) == pytest.approx(200)
    assert scheme._next({100.0: 0.1}, 100.0) == pytest.approx(25), "at most four times as many requests"


def result(*, late: tuple[int, float], others: tuple[int, float], joined: int = 0) -> dict[str, Any]:
    """A result with these numbers of reads of two pages, caught and not, and their means in milliseconds."""
    count = late[0] + others[0]
    mean = (late[0] * late[1] + others[0] * others[1]) / count
    return {
        "requests": count,
        "gc_affected_us": {"read": {"count": late[0], "mean": 1000 * late[1]}},
        "latency_us": {"read": {"count": count, "mean": 1000 * mean}},
        "by_op": {"read": {"requests": count, "bytes": count * 2 * scheme.PAGE_BYTES}},
        "gc": {"joined_reads": joined},
    }


def test_requests_caught_by_the_baseline() -> None:
    # Of the 20 that the baseline's GC delays by 100 ms, half are no longer delayed, the others by 80.
    runs = {
        (BASELINE, "v"): result(late=(20, 101.0), others=(80, 1.0)),
        (PAR, "v"): result(late=(10, 81.0), others=(90, 1.0), joined=5),
    }
    assert scheme.caught_ms(context(), runs, "read", PAR, "v") == pytest.approx(81)
    both = context(caught="baseline")
    assert scheme.caught_ms(both, runs, "read", PAR, "v") == pytest.approx((10 * 81 + 10 * 1) / 20)
    assert scheme.caught_ms(both, runs, "read", BASELINE, "v") == pytest.approx(101)
    assert scheme.along(runs, PAR, "v", "read") == pytest.approx(5 / 20)
    assert scheme.affected(runs[BASELINE, "v"], "read") == pytest.approx(20)


def test_other_choices_are_run_with_the_same_volumes() -> None:
    volumes = Drive(context(), {}).volumes()
    assert len(volumes) == 13
    assert Drive(context(intensity=2), {}).volumes() == volumes
    assert set(TWO["SHOWN"]) <= {it.name for it in volumes}


def test_the_mean_is_that_of_the_volumes() -> None:
    values = {(BASELINE, "a"): 10.0, (BASELINE, "b"): 100.0, (PAR, "a"): 5.0, (PAR, "b"): 100.0}
    assert scheme.with_mean(scheme.against(values, PAR, ["a", "b"])) == [50, 100, 75]


def test_a_percentile_of_a_distribution() -> None:
    cdf = {"cdf": {"read": [[1000.0, 0.5], [3000.0, 0.94], [9000.0, 1.0]]}}
    assert [TWO["percentile"](cdf, "read", it) for it in (50, 90, 95)] == [1, 3, 9]


def test_systems_that_were_warmed_up_start_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drives, "SHELF", drives.Shelf())
    job = {"rw": "randwrite", "bs": "4k", "iodepth": 4, "number_ios": 3000}
    stand_in = {
        "requests": 2000,
        "write_percent": 80,
        "write_size": "8k",
        "read_size": "8k",
        "random_percent": 100,
        "extent": 1 << 28,
        "gap_mean_us": 100,
    }
    plain = {"drive": "demo", "sets": {}, "precondition": {"overwrites": 0.5}, "then": {"victim.policy": "fifo"}}
    plain |= {"warm": job, "jobs": [{"stand_in": stand_in, "replay": {"speed": 2}}], "seed": 1}

    first, again = (carried_out(plain) for _ in range(2))
    assert first["outcome"] == again["outcome"]
    assert len(drives.SHELF.drives) == 2, "the preconditioned drive, and the one that is warm"
    assert first["at_start"]["erases"] > 0
    cold = carried_out({key: it for key, it in plain.items() if key != "warm"})
    assert cold["outcome"] != first["outcome"]
    assert first["requests"] == 2000
    assert first["simulated_s"] == pytest.approx(0.1, rel=0.05), "twice as fast as it was synthesised"


def test_both_studies_share_the_chapter() -> None:
    chapters = {catalogue.load(name).chapter for name in ("gc-parallel", "gc-parallel-4")}
    assert chapters == {"choi18"}
    assert Path(catalogue.collection() / "choi18.toml").exists()
