"""Workloads without time: ``wordline replay``, and the same in Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import wordline as api
from conftest import Run, done, parsed, refused

SMALL = """
title = "small"
[geometry]
channels = 1
packages_per_channel = 1
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 40
pages_per_block = 16
page_kib = 4
[capacity]
raw_over_logical = 1.5
[buffer]
policy = "none"
"""
WRITES = """
[[job]]
name = "writes"
rw = "randwrite"
bs = "4k"
number_ios = 2000
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SMALL)
    Path("writes.toml").write_text(WRITES)


@pytest.mark.parametrize("mapping", ["page", "block", "bast", "sast", "fast"])
def test_repeats_add_up_and_are_the_same_in_python(wordline: Run, mapping: str) -> None:
    sets = ["--set", f"mapping.policy={mapping}"]
    if mapping in ("bast", "sast", "fast"):
        sets += ["--set", "placement.policy=least-busy", "--set", "collect.scope=drive"]
    told = parsed(done(wordline("replay", "small.toml", "writes.toml", "--times", "3", "-q", "--json", "-", *sets)))
    assert told["replay"] | {"drive_writes": 0} == {
        "times_asked": 3,
        "times": 3,
        "ending": "done",
        "end_of_life": None,
        "host_bytes": 3 * 2000 * 4096,
        "drive_writes": 0,
    }
    assert told["requests"]["write"] == {"count": 6000, "bytes": 3 * 2000 * 4096}
    flash, last = told["flash"], told["lifetime"][-1]
    assert told["write_amplification"] == pytest.approx(flash["programs"] / 6000)
    # A drive that was new: all erases are of the replay.
    assert flash["erases"] == last["erases"] == round(last["mean"] * 40)
    bars = last["histogram"]
    assert sum(bars["blocks"]) == 40
    drive = api.Drive("small.toml", dict(text.split("=") for text in sets[1::2]))
    assert drive.replay("writes.toml", times=3).digest == told["digest"]


def test_a_life_has_an_end(wordline: Run) -> None:
    endless = refused(wordline("replay", "small.toml", "writes.toml", "--to-end-of-life"))
    assert "nand.reliability.endurance = 0" in endless and "number of times" in endless
    sets = ["--set", "nand.reliability.endurance=20"]
    text = done(wordline("replay", "small.toml", "writes.toml", "--to-end-of-life", *sets, "--json", "life.json"))
    result = json.loads(Path("life.json").read_text())
    end, last = result["replay"]["end_of_life"], result["lifetime"][-1]
    assert end["cause"] == "worn-out" and end["erases"] == last["most"] == 20
    assert f"block {end['block']} of channel 0" in " ".join(text.split()) and "End of life after" in text
    # An erase that is refused is none.
    assert result["flash"]["erases"] == last["erases"] == round(last["mean"] * 40)


@pytest.mark.parametrize("mapping", ["page", "block", "bast", "sast", "fast", "pftl"])
def test_failed_erases_use_up_the_blocks_that_were_held_back(wordline: Run, mapping: str) -> None:
    reliability = {"endurance": 1000, "erase_fail": 0.2, "fail_exponent": 0.0}
    sets = [f"nand.reliability.{key}={value}" for key, value in reliability.items()]
    sets += ["capacity.replacement_blocks=4", f"mapping.policy={mapping}"]
    sets += ["placement.policy=least-busy", "collect.scope=drive"]
    options = [word for each in sets for word in ("--set", each)]
    done(wordline("replay", "small.toml", "writes.toml", "--to-end-of-life", *options, "--json", "life.json"))
    result = json.loads(Path("life.json").read_text())
    assert result["replay"]["end_of_life"]["cause"] == "no-spare"
    first, last = result["lifetime"][0], result["lifetime"][-1]
    assert (first["bad_blocks"], first["spare_blocks"]) == (0, 4)
    # The fifth has no replacement.
    assert (last["bad_blocks"], last["spare_blocks"], result["reliability"]["erase_fails"]) == (5, 0, 5)
    programs = ("replay", "small.toml", "writes.toml", "--to-end-of-life", *options, "--json", "life.json",
                "--set", "nand.reliability.program_fail=0.01")  # fmt: skip
    if mapping == "block":
        assert "set program_fail to 0 (erases may fail), or use log blocks" in refused(wordline(*programs))
        return
    done(wordline(*programs))
    result = json.loads(Path("life.json").read_text())
    fails, last = result["reliability"], result["lifetime"][-1]
    assert result["replay"]["end_of_life"]["cause"] == "no-spare" and last["spare_blocks"] == 0
    # A program that fails in a block with one costs no other.
    assert fails["program_fails"] > 0 and fails["program_fails"] + fails["erase_fails"] >= 5


def test_the_state_goes_on_in_a_run(wordline: Run) -> None:
    done(wordline("replay", "small.toml", "writes.toml", "--save", "worn.wls", "-q", "--json", "worn.json"))
    worn = json.loads(Path("worn.json").read_text())
    run = parsed(done(wordline("run", "small.toml", "writes.toml", "--from", "worn.wls", "-q", "--json", "-")))
    assert run["at_start"]["erases"] == worn["flash"]["erases"]


def test_wrong_input_is_refused(wordline: Run) -> None:
    both = refused(wordline("replay", "small.toml", "writes.toml", "--to-end-of-life", "--times", "2"))
    assert "exclude each other" in both
    Path("endless.toml").write_text('[[job]]\nname = "e"\nrw = "write"\ntime_based = true\nruntime_s = 1.0\n')
    assert "only its run time ends this job" in refused(wordline("replay", "small.toml", "endless.toml"))
    for times in (0, 1.5, "2"):
        with pytest.raises(api.InputError, match="times"):
            api.replay("small.toml", "writes.toml", times=times)


def test_the_curve_is_a_table() -> None:
    replay = api.replay("small.toml", "writes.toml", times=2)
    frame = replay.lifetime()
    assert len(frame) == len(replay["lifetime"])
    assert frame.columns[:3] == ["host_bytes", "programs", "erases"]
    frame.to_parquet("life.parquet")
    assert Path("life.parquet").stat().st_size > 0
    assert replay.end_of_life is None and replay.host_bytes == 2 * 2000 * 4096
