"""The tests of the SNIA PTS: the criterion by hand, the tests on a small drive, and errors."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import PROGRAM, SMALL_DRIVE, Run, done, parsed, refused
from wordline.pts import drawings, rounds, series, steady, tables
from wordline.pts.bench import Bench, Device, Load
from wordline.pts.matrix import IOPS, KIB, LAT, Cell


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


def test_the_matrix_is_the_standards() -> None:
    mixes = ["100/0", "95/5", "65/35", "50/50", "35/65", "5/95", "0/100"]
    blocks = [f"{size} KiB" for size in ("1024", "128", "64", "32", "16", "8", "4", "0.5")]
    assert [(cell.mix, cell.block) for cell in IOPS.cells] == [(mix, block) for mix in mixes for block in blocks]
    assert (IOPS.tracked.mix, IOPS.tracked.block) == ("0/100", "4 KiB")
    assert {IOPS.tracked, LAT.tracked} <= {*IOPS.cells} & {*LAT.cells}


def points(values: list[float]) -> list[dict[str, Any]]:
    """Points of a series, each a second and a tenth of the capacity long."""
    return [
        {"iops": value, "time_s": 7.0 + n, "simulated_s": 1.0, "capacities": (1 + n) / 10, "write_amplification": 2.0}
        for n, value in enumerate(values)
    ]


def test_recovery_by_hand() -> None:
    # Within a tenth of 100 from the fourth point on; a single dip and a single peak later do not count.
    found = series.settling(
        points([500, 400, 300, 105, 100, 95, 20, 100, 100, 200, 100, 100, 105, 95, 100, 100]), "iops"
    )
    assert found["settled"] == 100
    # The third point's median is the fourth value's neighbour: 300 of 500, 400, 300, 105, 100.
    assert (found["first"], found["recovery_s"], found["recovery_capacities"]) == (500, 3.0, 0.3)
    assert found["write_amplification"] == 2


def test_a_series_may_be_settled_from_the_start_or_never() -> None:
    assert series.settling(points([100.0] * 8), "iops")["recovery_s"] == 0
    falling = series.settling(points([2.0 ** (10 - n) for n in range(10)]), "iops")
    assert (falling["recovery_s"], falling["recovery_capacities"]) == (None, None)


@pytest.fixture
def bench(drive: Path) -> Bench:
    return Bench(Device(str(drive), [], 1), lambda *_: None)


def test_sequential_measurements_go_on_where_the_last_ended(bench: Bench) -> None:
    # The drive has 500 MiB; the last whole request ends there.
    load = Load(Cell(0, 1024 * KIB), random=False, depth=8)
    assert bench.drive.capacity == 500 * 1024 * KIB
    assert bench.measure(load, requests=400)["requests"] == 400
    assert bench.reached == {"read": 0, "write": 400 << 20}
    # Each page of the drive is written once, none twice: nothing needs collection yet.
    assert bench.measure(load, requests=100)["written_bytes"] == 100 << 20
    assert bench.reached["write"] == 0
    # Past the end, and twice around.
    assert bench.measure(load, requests=1100)["requests"] == 1100
    assert bench.reached["write"] == 100 << 20
    found = bench.measure(load, seconds=0.05)
    assert 0.05 < found["simulated_s"] < 0.5
    assert bench.reached["write"] == (100 + found["requests"]) << 20


def test_a_timed_measurement_goes_over_the_end(bench: Bench) -> None:
    load = Load(Cell(100, 1024 * KIB), random=False, depth=8)
    bench.fill()
    bench.reached["read"] = 499 << 20
    found = bench.measure(load, seconds=0.05)
    assert found["requests"] > 10
    assert bench.reached["read"] == (499 + found["requests"] - 500) << 20


def test_small_writes_read_the_rest_of_their_unit(bench: Bench) -> None:
    bench.fill()
    small = bench.measure(Load(Cell(0, KIB // 2), random=True, depth=8), requests=2000)
    # Logical pages of 16 KiB: each write of 512 bytes programs 32 times as much, if none meet in the buffer.
    assert bench.drive.derived["unit_bytes"] == 16 * KIB
    assert 28 < small["write_amplification"] <= 40


def test_rounds_end_without_steady_state(bench: Bench) -> None:
    found = rounds.test(bench, LAT, 0.01, most=3)
    assert (found["rounds"], found["steady_state"]["steady"]) == (3, False)
    assert next(tables.sentences(found)).startswith("No steady state after 3 rounds")
    heads = [table.heads for table in tables.tables(found)]
    assert heads[-1][-1] == "FAIL"
    assert ["rounds", "3", "5", "fail"] in list(tables.tables(found))[-1].rows


def test_the_iops_matrix_on_a_small_drive(wordline: Run, drive: Path) -> None:
    first = wordline("pts", drive, "--test", "iops", "--round", "20ms", "--seed", "3", "--json", "-")
    result = parsed(done(first))
    (test,) = result["tests"]
    assert len(test["cells"]) == 56
    assert 5 <= test["rounds"] == len(test["tracked"]["values"]) <= 25
    assert test["steady_state"] == steady.state(test["tracked"]["values"])
    assert test["steady_state"]["steady"] or test["rounds"] == 25
    assert all(len(cell["values"]) == test["rounds"] and min(cell["values"]) > 0 for cell in test["cells"])
    for cell in test["cells"]:
        assert cell["iops"] == pytest.approx(sum(cell["values"][-5:]) / 5)
    # The tracked cell of the table is the mean over the window.
    (cell,) = [cell for cell in test["cells"] if (cell["mix"], cell["block"]) == ("0/100", "4 KiB")]
    assert cell["iops"] == pytest.approx(test["steady_state"]["mean"])
    assert "instead of 60 s" in result["differences"][0]
    assert "Steady state" in first.stderr, "the tables give way to the JSON"


@pytest.fixture(scope="module")
def others(program: Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str, Path]:
    """The other tests: the result, the output, and the paths of the files."""
    folder = tmp_path_factory.mktemp("pts")
    (folder / "small.toml").write_text(SMALL_DRIVE)
    command = ["pts", "small.toml", "--test", "tp,lat,wsat,xsr", "--quick", "--capacities", "0.5"]
    command += ["--json", "pts.json", "--report", "pts.html", "--figures", "figures", "--format", "svg"]
    ran = program(*command, cwd=folder)
    return parsed((folder / "pts.json").read_text()), done(ran), folder


def test_the_other_tests_on_a_small_drive(others: tuple[dict[str, Any], str, Path]) -> None:
    result, text, _ = others
    assert [one["test"] for one in result["tests"]] == ["tp", "tp", "lat", "wsat", "xsr"]
    large, small, latency, saturation, recovery = result["tests"]
    assert {cell["block"] for cell in large["cells"]} == {"1024 KiB"}
    assert {cell["block"] for cell in small["cells"]} == {"128 KiB"}
    assert len(latency["cells"]) == 9
    assert all(cell["max_us"] >= cell["mean_us"] > 0 for cell in latency["cells"])
    assert [point["phase"] for point in recovery["points"]] == [1] * 10 + [2] * 10 + [3] * 10
    for one in (saturation, recovery):
        times = [point["time_s"] for point in one["points"]]
        assert times == sorted(times)
        assert sum(point["simulated_s"] for point in one["points"]) == pytest.approx(times[-1])
        for phase in {point["phase"] for point in one["points"]}:
            written = sum(point["written_bytes"] for point in one["points"] if point["phase"] == phase)
            assert written == pytest.approx(0.5 * result["capacity_bytes"], rel=0.03)
    assert [phase["load"][:4] for phase in recovery["phases"]] == ["1024", "8 Ki", "1024"]
    for line in ("Throughput, 1024 KiB", "Largest latency in these rounds", "Cross-stimulus recovery"):
        assert line in text.splitlines()


def test_the_page_and_its_figures(others: tuple[dict[str, Any], str, Path]) -> None:
    result, _, folder = others
    text = (folder / "pts.html").read_text()
    figures = sorted(path.stem for path in (folder / "figures").iterdir())
    assert figures == sorted(drawing.key for drawing in drawings.every(result))
    # Two of each test of rounds, one more of latency, one of each series.
    assert len(figures) == 2 * 3 + 1 + 2
    for key in figures:
        assert f'id="figure-{key}"' in text
    for one in result["tests"]:
        assert (
            f"<h2>{one['title']}</h2>".replace("1024 KiB", "1024\u00a0KiB").replace("128 KiB", "128\u00a0KiB") in text
        )


def test_saved_tests_are_shown_again(wordline: Run, others: tuple[dict[str, Any], str, Path], tmp_path: Path) -> None:
    result, _, folder = others
    done(wordline("report", folder / "pts.json", "-o", "again.html"))
    again = (tmp_path / "again.html").read_text()
    assert again == (folder / "pts.html").read_text(), "the page follows from the JSON"
    refused(wordline("compare", folder / "pts.json", folder / "pts.json"), "tests of 'wordline pts'")
    (tmp_path / "part.json").write_text(json.dumps({**result, "tests": None} | {"version": "0.0.1"}))
    refused(wordline("report", "part.json", "-o", "x.html"), "tests by Wordline 0.0.1")
    (tmp_path / "part.json").write_text('{"pts": "2.0", "version": "0"}')
    refused(wordline("report", "part.json", "-o", "x.html"), "there is no 'drive'")


def test_the_same_seed_gives_the_same_bytes(wordline: Run, drive: Path, tmp_path: Path) -> None:
    def text(seed: str) -> str:
        # Without a file of its own, the JSON is printed.
        done(wordline("pts", drive, "--test", "lat", "--quick", "--seed", seed, "--json", "-o", "pts.json", "-q"))
        return (tmp_path / "pts.json").read_text()

    first = text("3")
    assert text("3") == first
    assert text("4") != first


def shown(terminal: int) -> Iterator[str]:
    """Terminal output of a program, piece by piece."""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            return
        if not piece:
            return
        yield piece.decode(errors="replace")


def test_an_interrupt_gives_the_tables_so_far(drive: Path) -> None:
    command = [PROGRAM, "pts", str(drive), "--test", "wsat", "--capacities", "1000"]
    terminal, end = pty.openpty()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=end, text=True)
    os.close(end)
    # The progress bar shows the number of measured points.
    for piece in shown(terminal):
        if "Write saturation" in piece:
            process.send_signal(signal.SIGINT)
            break
    out, _ = process.communicate(timeout=60)
    os.close(terminal)
    assert process.returncode == 130
    assert "Write saturation, incomplete" in out
    assert "Stopped: interrupted." in out
    assert "4 KiB random writes" in out


def test_a_drive_that_wears_out_ends_its_test_only(wordline: Run, drive: Path) -> None:
    sets = ("--set", "nand.reliability.endurance=6", "--set", "nand.reliability.erase_fail=0.9")
    ran = wordline("pts", drive, "--test", "iops,wsat", "--quick", "--capacities", "0.5", *sets)
    assert ran.returncode == 1
    assert "IOPS: the drive failed after" in ran.stderr
    assert "IOPS, incomplete" in ran.stdout
    assert "4 KiB random writes: " in ran.stdout


FAILING = """\
from wordline.policy import Victim


class Mine(Victim):
    name = "mine"
    only: str = "choose"
    chosen = 0

    def __init__(self):
        if self.only == "made" and Mine.chosen:
            raise LookupError("no second drive")

    def choose(self, view):
        Mine.chosen += 1
        if self.only == "choose":
            raise LookupError("no idea")
        fit = view.valid + view.units_per_page <= view.units_per_block
        return view.blocks[fit][0] if fit.any() else None
"""


@pytest.mark.parametrize("only", ["choose", "made"])
def test_a_policy_that_fails_takes_no_finished_test_along(
    wordline: Run, drive: Path, tmp_path: Path, only: str
) -> None:
    policy = tmp_path / "mine.py"
    policy.write_text(FAILING)
    # The first test writes too little for GC, or enough, as needed.
    capacities = "0.5" if only == "choose" else "2"
    mine = ("--policy", policy, "--set", "victim.policy=mine", "--set", f"victim.only={only}")
    tests = ("--test", "wsat,lat,xsr", "--quick", "--capacities", capacities, "--set", "mapping.unit_kib=4")
    outputs = ("--json", "pts.json", "--report", "pts.html", "--figures", "figures", "--format", "svg")
    ran = wordline("pts", drive, *mine, *tests, *outputs)
    assert ran.returncode == 1
    lines = ran.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert str(policy) in lines[1]
    words = "no idea" if only == "choose" else "no second drive"
    assert f"LookupError: {words}" in lines
    assert lines[-1] == f"wordline: {policy}: the run ended with an exception in this file"
    result = parsed((tmp_path / "pts.json").read_text())
    assert result["partial"] is True
    stopped = [None, "LookupError: no idea"] if only == "choose" else [None]
    assert [one["stopped"] for one in result["tests"]] == stopped
    assert len(result["tests"][0]["points"]) == 20 * float(capacities)
    assert "Write saturation" in ran.stdout.splitlines()
    assert ("Stopped: LookupError: no idea." in ran.stdout) == (only == "choose")
    assert "Write saturation" in (tmp_path / "pts.html").read_text()
    assert list((tmp_path / "figures").iterdir())
    done(wordline("report", "pts.json", "-o", "again.html"))


def test_a_policy_that_answers_wrongly_ends_its_test_only(wordline: Run, drive: Path, tmp_path: Path) -> None:
    policy = tmp_path / "mine.py"
    policy.write_text(FAILING.replace('raise LookupError("no idea")', "return -1"))
    mine = ("--policy", policy, "--set", "victim.policy=mine", "--set", "mapping.unit_kib=4")
    ran = wordline(
        "pts",
        drive,
        *mine,
        "--test",
        "lat,wsat",
        "--quick",
        "--capacities",
        "0.5",
        "--json",
        "pts.json",
        "-o",
        "pts.txt",
    )
    assert ran.stdout == "" and "Write saturation" in (tmp_path / "pts.txt").read_text()
    assert ran.returncode == 1
    assert "it answered -1 (int); expected the number of a block, or None" in ran.stderr
    result = parsed((tmp_path / "pts.json").read_text())
    assert [one["stopped"] is None for one in result["tests"]] == [False, True]


def test_what_is_wrong_is_refused_before_the_tests(wordline: Run, drive: Path) -> None:
    refused(wordline("pts", drive, "--test", "iop"), "no test 'iop'", "did you mean 'iops'")
    refused(wordline("pts", drive, "--round", "fast"), "--round", "'fast' is not a time")
    refused(wordline("pts", drive, "--round", "0s"), "is zero")
    refused(wordline("pts", drive, "--round", "1500min"), "longer than a day")
    refused(wordline("pts", drive, "--full", "--quick"), "give one of them")
    refused(wordline("pts", "demoo"), "did you mean 'demo'")
    refused(wordline("pts", drive, "--capacities", "0.4"), "--capacities")
    # A whole test takes minutes: these are immediate.
    for option in ("--json", "--report", "-o"):
        refused(wordline("pts", drive, option, "none/file"), "none/file", "'none' does not exist")
    refused(wordline("pts", drive, "--report", drive), "read by the same command")
    refused(wordline("pts", drive, "--json", "a", "--report", "a"), "cannot both go to")
    refused(wordline("pts", drive, "--figures", drive), "this is a file")
    refused(wordline("pts", drive, "--format", "png"), "--figures")
    refused(wordline("pts", drive, "--policy", "none.py"), "none.py: no such file")


def test_options_that_no_test_would_heed_are_refused(wordline: Run, drive: Path) -> None:
    refused(wordline("pts", drive, "--test", "lat,tp", "--capacities", "2"), "--capacities", "--test", "lat, tp")
    for length in (("--quick",), ("--full",), ("--round", "1s")):
        refused(wordline("pts", drive, "--test", "wsat", *length), length[0], "--test asks for wsat")


@pytest.mark.parametrize(
    ("kind", "remedy"), [("tp", "--round"), ("lat", "--round"), ("wsat", "--capacities"), ("xsr", "--capacities")]
)
def test_every_test_warns_where_little_was_written(wordline: Run, drive: Path, kind: str, remedy: str) -> None:
    length = ("--round", "5ms") if remedy == "--round" else ("--capacities", "0.5")
    text = " ".join(done(wordline("pts", drive, "--test", kind, *length)).split())
    assert text.count("times the capacity: too little for a steady state. Give") == (2 if kind == "tp" else 1)
    assert remedy in text
