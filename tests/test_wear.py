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
