"""The tests of the SNIA PTS: the criterion by hand, the tests on a tiny drive, and what is refused."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import PROGRAM, Run, done, parsed, refused
from wordline.pts import steady
from wordline.pts.matrix import IOPS


def test_a_flat_line_is_steady() -> None:
    found = steady.state([100.0] * 5)
    assert found == {"steady": True, "rounds": 5, "mean": 100.0, "range": 0.0, "slope": 0.0, "excursion": 0.0}


def test_four_rounds_are_not_enough() -> None:
    assert not steady.state([100.0] * 4)["steady"]
    assert not steady.state([])["steady"]


def test_range_and_slope_by_hand() -> None:
    # Mean 100, range 20; slope (-2 x 90 - 95 + 105 + 2 x 110) / 10 = 5, over four steps 20 % of the mean.
    rising = steady.state([90, 95, 100, 105, 110])
    assert rising["range"] == pytest.approx(0.20)
    assert rising["slope"] == pytest.approx(5)
    assert rising["excursion"] == pytest.approx(0.20)
    assert not rising["steady"], "the range is just allowed, the slope is not"
    # Mean 100, range 20 % and no slope.
    mixed = steady.state([110, 95, 90, 95, 110])
    assert (mixed["slope"], mixed["steady"]) == (0, True)
    # Mean 100, range 22 %, no slope.
    wide = steady.state([111, 94.5, 89, 94.5, 111])
    assert wide["range"] == pytest.approx(0.22)
    assert wide["excursion"] == pytest.approx(0)
    assert not wide["steady"]


def test_only_the_last_five_count() -> None:
    assert steady.state([1, 1000, 100, 100, 100, 100, 100])["steady"]


def test_the_matrix_has_its_56_cells() -> None:
    assert len(set(IOPS.cells)) == 56
    assert (IOPS.tracked.mix, IOPS.tracked.block) == ("0/100", "4 KiB")
    assert IOPS.tracked in IOPS.cells


def test_the_iops_matrix_on_a_tiny_drive(wordline: Run, drive: Path) -> None:
    command = ("pts", drive, "--quick", "--seed", "3", "--json", "-")
    first = wordline(*command)
    result = parsed(done(first))
    (test,) = result["tests"]
    assert len(test["cells"]) == 56
    assert all(cell["iops"] > 0 for cell in test["cells"])
    assert 5 <= test["rounds"] == len(test["tracked"]["values"]) <= 25
    assert test["steady_state"] == steady.state(test["tracked"]["values"])
    assert test["steady_state"]["steady"] or test["rounds"] == 25
    # The tracked cell of the table is the mean over the window.
    (cell,) = [cell for cell in test["cells"] if (cell["mix"], cell["block"]) == ("0/100", "4 KiB")]
    assert cell["iops"] == pytest.approx(test["steady_state"]["mean"])
    assert wordline(*command).stdout == first.stdout
    assert "instead of 60 s" in result["differences"][0]


def test_the_other_tests_on_a_tiny_drive(wordline: Run, drive: Path) -> None:
    command = ("pts", drive, "--test", "tp,lat,wsat,xsr", "--quick", "--capacities", "0.5", "--json", "pts.json")
    text = done(wordline(*command))
    result = parsed((drive.parent / "pts.json").read_text())
    assert [one["test"] for one in result["tests"]] == ["tp", "tp", "lat", "wsat", "xsr"]
    large, small, latency, saturation, recovery = result["tests"]
    assert {cell["block"] for cell in large["cells"]} == {"1024 KiB"}
    assert {cell["block"] for cell in small["cells"]} == {"128 KiB"}
    assert len(latency["cells"]) == 9
    assert all(cell["max_us"] >= cell["mean_us"] > 0 for cell in latency["cells"])
    assert [point["phase"] for point in recovery["points"]] == [1] * 10 + [2] * 10 + [3] * 10
    written = sum(point["requests"] for point in saturation["points"]) * 4096
    moved = sum(point["requests"] for point in recovery["points"] if point["phase"] == 1) * 2**20
    assert saturation["points"][-1]["capacities"] == pytest.approx(0.5)
    assert written > moved > 0.9 * written
    assert "Cross-stimulus recovery" in text


def test_an_interrupt_gives_the_tables_so_far(drive: Path) -> None:
    command = [PROGRAM, "pts", str(drive), "--test", "wsat", "--capacities", "1000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Write saturation, interrupted" in out
    assert "4 KiB random writes" in out


def test_what_is_wrong_is_refused(wordline: Run, drive: Path) -> None:
    refused(wordline("pts", drive, "--test", "iop"), "no test 'iop'", "did you mean 'iops'")
    refused(wordline("pts", drive, "--round", "fast"), "--round", "'fast' is no time")
    refused(wordline("pts", drive, "--round", "0s"), "no time at all")
    refused(wordline("pts", drive, "--full", "--quick"), "give one of them")
    refused(wordline("pts", "demoo"), "did you mean 'demo'")
    refused(wordline("pts", drive, "--capacities", "0"), "--capacities")
