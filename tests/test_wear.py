"""Static wear leveling as a user runs it: blocks wear alike, and the run tells what it took."""

from __future__ import annotations

from typing import Any

import pytest
import wordline

SMALL = {"geometry.blocks_per_plane": 40, "geometry.pages_per_block": 32}
HOT = wordline.Workload.job(rw="randwrite", bs="4k", iodepth=32, size="20%", norandommap=True, number_ios=1_000_000)


def run(policy: str) -> dict[str, Any]:
    drive = {**SMALL, "wear.policy": policy}
    return dict(wordline.run("demo", HOT, drive, progress=False))


def test_blocks_wear_alike_and_the_run_tells_what_it_took() -> None:
    without, told = run("none"), run("static")
    assert "wear" not in without["tasks"]
    assert told["wear"]["stddev"] < 0.6 * without["wear"]["stddev"]
    assert told["wear"]["max"] < without["wear"]["max"]
    moved = told["tasks"]["wear"]
    assert 0 <= moved["blocks"] - moved["erases"] <= 1
    assert 0 < moved["moved_pages"] <= moved["programs"] <= 0.1 * told["gc"]["moved_pages"]
    assert told["write_amplification"] < 1.1 * without["write_amplification"]


def test_a_wrong_threshold_is_refused_with_the_right_ones() -> None:
    with pytest.raises(wordline.InputError, match=r"wear\.stop_cycles = 20.*must be 1 to wear\.start_cycles = 16"):
        wordline.Drive("demo", {"wear.policy": "static", "wear.stop_cycles": 20})
    with pytest.raises(wordline.InputError, match=r"did you mean 'static'"):
        wordline.Drive("demo", {"wear.policy": "statc"})


LCTES = {"geometry.blocks_per_plane": 82, "geometry.pages_per_block": 32}
"""80 logical blocks and two spare ones."""
HOT_PART = wordline.Workload.job(rw="randwrite", bs="4k", size="20%", norandommap=True, number_ios=20_000)


@pytest.mark.parametrize("mapping", ["bast", "sast", "fast", "block"])
def test_lazy_wear_leveling_tells_threshold_and_sessions(mapping: str) -> None:
    more = {"wear.delta_cycles": 4.0, "wear.lambda_percent": -1.0, "wear.session_erases": 20}
    drive = {**LCTES, "capacity.raw_over_logical": 1.1, "mapping": {"policy": mapping}}
    without = wordline.run("chang11-lctes", HOT_PART, {**drive, "wear": {"policy": "none"}}, progress=False)
    told = wordline.run("chang11-lctes", HOT_PART, {**drive, **more}, progress=False)
    assert "wear_leveling" not in without
    assert told["wear"]["stddev"] < 0.5 * without["wear"]["stddev"]
    leveling, sessions = told["wear_leveling"], told["wear_leveling"]["sessions"]
    assert (
        leveling["wear_erases"] == pytest.approx(told["tasks"]["wear"]["erases"], abs=2)
        and leveling["wear_erases"] > 20
    )
    assert (
        len(sessions["delta"]) == leveling["wear_erases"] // 20 == len(sessions["overhead"]) == len(sessions["stddev"])
    )
    assert leveling["overhead"] == leveling["wear_erases"] / leveling["gc_erases"]
    for delta, overhead, following in zip(
        sessions["delta"], sessions["overhead"], [*sessions["delta"][1:], leveling["delta"]], strict=True
    ):
        assert following == pytest.approx((100 * overhead * delta) ** 0.5)


def test_a_policy_of_wear_that_cannot_be_is_refused() -> None:
    with pytest.raises(wordline.InputError, match=r"wear\.lambda_percent = 0\.1: must be below 0, such as -0\.1"):
        wordline.Drive("chang11-lctes", {"wear.lambda_percent": 0.1})
    with pytest.raises(wordline.InputError, match=r"wear\.erases_per_block = 1: must be above 1"):
        wordline.Drive("chang11-lctes", {"wear": {"policy": "recency", "erases_per_block": 1.0}})
    for policy in ("hot-cold", "dual-pool"):
        with pytest.raises(wordline.InputError, match=r"wear\.threshold_cycles = 0: must be"):
            wordline.Drive("chang11-lctes", {"wear": {"policy": policy, "threshold_cycles": 0}})
    with pytest.raises(wordline.InputError, match=r"mapping\.policy = page: does not go with this policy of wear"):
        wordline.Drive("chang11-lctes", {"mapping": {"policy": "page"}})
    with pytest.raises(wordline.InputError, match=r"unknown .*delta_cycle"):
        wordline.Drive("chang11-lctes", {"wear.delta_cycle": 4.0})


def test_pools_level_wear_and_swaps_wear_the_most_worn_block() -> None:
    drive = {**LCTES, "capacity.raw_over_logical": 1.1, "mapping": {"policy": "bast"}}
    without, pools, swaps = (
        wordline.run(
            "chang11-lctes",
            HOT_PART,
            {**drive, "wear": {"policy": policy} if policy == "none" else {"policy": policy, "threshold_cycles": 8}},
            progress=False,
        )
        for policy in ("none", "dual-pool", "hot-cold")
    )
    assert pools["wear"]["stddev"] < 0.5 * without["wear"]["stddev"]
    assert pools["wear"]["max"] < without["wear"]["max"]
    assert swaps["tasks"]["wear"]["blocks"] > 10
    assert swaps["wear"]["max"] > 1.5 * pools["wear"]["max"]
