"""The studies of queueing by physical addresses: drive, workloads, and the judged cases."""

from __future__ import annotations

import runpy
from typing import Any

import pytest
from conftest import ROOT
from wordline.studies import catalogue
from wordline.studies.context import Context
from wordline.studies.queueing import PAQ1, PAQ2, VAQ, Queueing, change, idle_s

QUEUES = runpy.run_path(str(ROOT / "studies" / "paq-sensitivity" / "study.py"))


def queue(**instead: Any) -> Queueing:  # noqa: ANN401
    return Queueing(Context(catalogue.load("paq"), instead=instead))


def test_the_drive_is_a_smaller_one_of_the_same_shape() -> None:
    keys = queue().keys({})
    # 64 of 2,048 blocks, and 103 of 2,048 free ones: 3.2.
    assert (keys["geometry.blocks_per_plane"], keys["collect.start_blocks"], keys["collect.stop_blocks"]) == (64, 4, 5)
    # Counted over the drive, there are as many in each of its 256 planes, or of twice as many.
    keys = queue().keys({"placement.policy": "least-busy", "collect.scope": "drive"})
    assert (keys["collect.start_blocks"], keys["collect.stop_blocks"]) == (1024, 1025)
    assert "placement.order" not in keys
    keys = queue().keys({"placement.policy": "least-busy", "collect.scope": "drive", "geometry.channels": 16})
    assert keys["collect.start_blocks"] == 2048


def test_the_schemes_differ_in_what_their_names_say() -> None:
    chosen, other = queue().systems(), queue(package=True).systems()
    assert chosen[VAQ] == {"dispatch.policy": "vaq"}
    assert chosen[PAQ1] == {**chosen[PAQ2], "dispatch.packing": False}
    assert chosen[PAQ2]["dispatch.interleave"] is not other[PAQ2]["dispatch.interleave"]


def test_stand_ins_have_the_figures_of_the_table() -> None:
    job = queue().job("msnfs4", 32, 8)
    stand_in = job["stand_in"]
    # 4,014 writes of 4,352 requests; 22.52 % of the writes and 64.79 % of 338 reads are random.
    assert stand_in["requests"] == 4000
    assert stand_in["write_percent"] == pytest.approx(92.2335, abs=1e-3)
    assert stand_in["random_percent"] == pytest.approx(25.803, abs=1e-3)
    assert job["replay"] == {"pace": "asap", "iodepth": 32}
    # The whole of a small trace.
    assert queue().job("msnfs3", 32, 8)["stand_in"]["requests"] == 500
    timed = queue().job("msnfs4", 32, 8, 250.0)
    assert timed["replay"] == {} and timed["stand_in"]["gap_mean_us"] == 250.0


def test_figures_are_taken_from_results_as_the_chapter_defines_them() -> None:
    # Two dies, one busy for half of two seconds and one for a quarter.
    assert idle_s({"simulated_s": 2.0, "utilisation": {"dies": [0.5, 0.25]}}) == pytest.approx(1.25)
    assert change({(VAQ, "web1"): 200.0, (PAQ2, "web1"): 250.0}, PAQ2, "web1") == pytest.approx(25.0)


def test_orders_are_judged_by_named_cases() -> None:
    kept = catalogue.parsed(ROOT / "studies" / "paq-sensitivity" / "study.toml")
    assert [claim["unit"] for claim in kept["claim"]] == ["order", "order"]
    assert QUEUES["NOTHING"] == 5.0
    assert QUEUES["QUEUES"] == (16, 32, 64, 128)
