"""One run under several seeds: means, intervals, and differences beyond chance."""

from __future__ import annotations

import io
import json
import os
import random
import statistics
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import synthetic
import wordline as package
from conftest import Run, parsed
from rich.console import Console
from wordline.report import compare
from wordline.report import page as report
from wordline.results import keyfigures, repeats, summary
from wordline.results import reading as results

WRITES = '[[job]]\nrw = "randwrite"\nbs = "16k"\niodepth = 8\nnumber_ios = 2_000\n'

TABLE = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 10: 2.228, 29: 2.045, 30: 2.042, 120: 1.980}
"""Student's t for 95 %, two-sided, from printed tables."""


def test_student_is_that_of_the_tables() -> None:
    assert {freedom: round(repeats.student(freedom), 3) for freedom in TABLE} == TABLE


def test_an_interval_by_hand() -> None:
    """Of 1 to 5 the deviation is the root of 2.5: 2.776 times it, by the root of 5."""
    assert repeats.half_width([1, 2, 3, 4, 5]) == pytest.approx(2.776 * 2.5**0.5 / 5**0.5, rel=1e-3)
    assert repeats.half_width([3.0]) is None
    assert repeats.half_width([3.0, 3.0]) == 0


def test_intervals_hold_the_mean_in_nineteen_cases_of_twenty() -> None:
    rng = random.Random(1)
    held = 0
    for _ in range(2_000):
        values = [rng.gauss(10, 2) for _ in range(5)]
        held += abs(statistics.fmean(values) - 10) <= repeats.half_width(values)
    assert 0.935 < held / 2_000 < 0.965


def test_equal_loads_are_apart_in_one_case_of_twenty() -> None:
    rng = random.Random(2)
    pairs = [[[rng.gauss(10, 2) for _ in range(6)] for _ in range(2)] for _ in range(2_000)]
    assert 0.03 < sum(repeats.apart(*pair) for pair in pairs) / 2_000 < 0.06


def test_what_is_apart() -> None:
    assert repeats.apart([1.0, 1.1, 0.9], [3.0, 3.1, 2.9]) is True
    assert repeats.apart([1.0, 2.0, 3.0], [1.1, 2.0, 3.2]) is False
    assert repeats.apart([1.0, 1.0], [2.0, 2.0]) is True
    assert repeats.apart([1.0], [2.0, 2.0]) is None


def command(wordline: Run, drive: Path, *options: str | Path, load: str = WRITES) -> tuple[dict[str, Any], str]:
    (drive.parent / "writes.toml").write_text(load)
    ran = wordline("run", drive, "writes.toml", "--json", "run.json", *options)
    assert ran.returncode == 0, ran.stderr
    return parsed((drive.parent / "run.json").read_text()), ran.stdout


def test_repeats_are_the_runs_of_their_seeds(wordline: Run, drive: Path) -> None:
    singles = [command(wordline, drive, "--seed", str(seed))[0] for seed in (7, 8, 9)]
    result, text = command(wordline, drive, "--seed", "7", "--repeat", "3", "--report", "run.html")
    told = result.pop("repeats")
    clocks = {"cpu_s": 0, "precondition_cpu_s": 0}
    assert {**result, **clocks} == {**singles[0], **clocks}
    assert (told["asked"], told["n"], told["seeds"], told["distinct"]) == (3, 3, [7, 8, 9], 3)
    assert told["digests"] == [single["digest"] for single in singles]
    assert len(told["figures"]) > 20
    for figure in told["figures"]:
        values = [keyfigures.value_of(single, figure["key"]) for single in singles]
        assert figure["values"] == values, figure["key"]
        assert figure["mean"] == pytest.approx(statistics.fmean(values))
        assert (figure["min"], figure["max"]) == (min(values), max(values))
        assert figure["ci95"] == pytest.approx(TABLE[2] * statistics.stdev(values) / 3**0.5, rel=1e-3)
    assert "Over 3 seeds" in text
    assert "Each run preconditioned its own drive." in text
    assert max(map(len, text.splitlines())) <= 80
    page = (drive.parent / "run.html").read_text()
    assert 'id="repeats"' in page
    assert "from seed 7, the first of 3 seeds" in page


def test_python_gives_what_the_command_gives(wordline: Run, drive: Path) -> None:
    told = command(wordline, drive, "--seed", "7", "--repeat", "3")[0]["repeats"]
    load = package.Workload.read(drive.parent / "writes.toml")
    assert package.run(drive, load, seed=7, repeat=3)["repeats"] == told
    with pytest.raises(package.InputError, match="repeat: 1 is no number of runs"):
        package.run(drive, load, repeat=1)


def test_tables_and_fio_are_of_the_first_seed(wordline: Run, drive: Path) -> None:
    options = ("--tables", "requests", "--out", "t", "--fio-json", "fio.json", "--timeline", "run.pftrace")
    result = command(wordline, drive, "--repeat", "2", *options, load=WRITES.replace("2_000", "200"))[0]
    assert parsed((drive.parent / "fio.json").read_text())["jobs"][0]["write"]["total_ios"] == result["requests"]
    import polars

    assert polars.read_parquet(drive.parent / "t" / "requests.parquet").height == result["requests"]
    assert (drive.parent / "run.pftrace").stat().st_size > 0


def test_what_no_seed_changes_is_said(wordline: Run, drive: Path) -> None:
    trace = drive.parent / "same.csv"
    trace.write_text(
        "time_us,op,offset_bytes,size_bytes\n" + "".join(f"{n * 100},W,{n * 4096},4096\n" for n in range(50))
    )
    ran = wordline("run", drive, trace, "--repeat", "3", "--json", "run.json", "--set", "precondition.fill=false")
    assert ran.returncode == 0, ran.stderr
    told = parsed((drive.parent / "run.json").read_text())["repeats"]
    assert told["distinct"] == 1
    assert all(figure["ci95"] == 0 for figure in told["figures"])
    assert "All 3 seeds gave the same run" in ran.stdout


def test_from_a_snapshot_only_the_load_varies(wordline: Run, drive: Path) -> None:
    assert wordline("precondition", drive, "-o", "aged.snap").returncode == 0
    result, text = command(wordline, drive, "--from", "aged.snap", "--repeat", "2")
    assert result["repeats"]["distinct"] == 2
    assert "Each run started from the same preconditioned drive." in text


# With an order of its own in each plane, and with victims by lot: what a seed decides beyond the workload.
CHANCE = ("--set", "victim.policy=random", "--set", "free_block.policy=fifo")


@pytest.mark.parametrize("sets", [(), CHANCE], ids=["as saved", "other policies"])
def test_repeats_from_a_snapshot_are_the_runs_of_their_seeds(wordline: Run, drive: Path, sets: tuple[str, ...]) -> None:
    """Also that of the seed of the snapshot, which goes on exactly where it was saved, and is not the first here."""
    assert wordline("precondition", drive, "--seed", "8", "-o", "aged.snap").returncode == 0
    start = ("--from", "aged.snap", *sets)
    singles = [command(wordline, drive, *start, "--seed", str(seed))[0] for seed in (7, 8, 9)]
    result = command(wordline, drive, *start, "--seed", "7", "--repeat", "3")[0]
    assert result["repeats"]["digests"] == [single["digest"] for single in singles]
    clocks = {"cpu_s": 0, "precondition_cpu_s": 0}
    assert {**result, **clocks, "repeats": 0} == {**singles[0], **clocks, "repeats": 0}


def test_repeats_read_their_snapshot_once(wordline: Run, drive: Path) -> None:
    """A pipe can be read only once: who opens it again waits for ever."""
    assert wordline("precondition", drive, "-o", "aged.snap").returncode == 0
    (drive.parent / "writes.toml").write_text(WRITES)
    load = package.Workload.read(drive.parent / "writes.toml")
    expected = package.run(drive, load, repeat=3, snapshot=drive.parent / "aged.snap")["repeats"]
    pipe = drive.parent / "pipe.snap"
    os.mkfifo(pipe)
    whole = (drive.parent / "aged.snap").read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=(whole,), daemon=True)
    writer.start()
    ran = wordline(
        "run", drive, "writes.toml", "--from", pipe, "--repeat", "3", "--json", "run.json", timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert parsed((drive.parent / "run.json").read_text())["repeats"] == expected


def test_repeats_of_a_drive_are_runs_of_its_forks(drive: Path, tmp_path: Path) -> None:
    load = package.Workload.text(WRITES)
    aged = package.Drive(drive, {"victim.policy": "random"}, seed=5)
    aged.precondition(fill=True, overwrites=0.2)
    singles = [aged.fork().run(load, seed=seed) for seed in (7, 8, 9)]
    before = aged.state
    result = package.run(aged, load, seed=7, repeat=3, tables="requests", out=tmp_path / "t")
    assert aged.state == before, "the drive stays as it is"
    assert result["repeats"]["digests"] == [single["digest"] for single in singles]
    assert result["digest"] == singles[0]["digest"]
    assert result.table("requests").count_rows() == result["requests"]
    assert repeats.varied(result) == "Each run started from a fork of the same drive."
    assert aged.run(load, repeat=2)["repeats"]["seeds"] == [5, 6]
    with pytest.raises(package.InputError, match="repeat: 1 is no number of runs"):
        aged.run(load, repeat=1)


def test_wrong_repeats_are_refused(wordline: Run, drive: Path) -> None:
    (drive.parent / "writes.toml").write_text(WRITES)
    os.mkfifo(drive.parent / "pipe.csv")
    for options, words in (
        (("writes.toml", "--repeat", "1"), ("--repeat", "2")),
        (("writes.toml", "--repeat", "2", "--seed", str(2**64 - 1)), ("repeat", "18446744073709551615")),
        (("pipe.csv", "--repeat", "2"), ("pipe.csv", "read only once")),
    ):
        ran = wordline("run", drive, *options)
        assert ran.returncode == 2, ran.stderr
        assert all(word in ran.stderr for word in words), ran.stderr


def test_an_interrupt_keeps_the_first_run(drive: Path) -> None:
    """It interrupts as soon as a request is done, like Ctrl-C."""
    load = package.Workload.job(rw="randwrite", bs="16k", iodepth=8, time_based=True, runtime_s=1_000_000)

    def watch(_: str, __: object, requests: int, ___: object) -> None:
        if requests:
            raise KeyboardInterrupt

    with pytest.raises(package.Interrupted) as stopped:
        package.run(drive, load, repeat=3, progress=watch)
    result = stopped.value.result
    assert (result["partial"], result["repeats"]["n"], result["repeats"]["figures"]) == (True, 0, [])
    assert result["requests"] > 0
    out = io.StringIO()
    summary.show(Console(file=out, width=80, highlight=False, markup=False), result)
    assert "PARTIAL: the run was interrupted" in out.getvalue()
    assert "Over" not in out.getvalue()


def made_up(seed: int, partial: bool = False) -> str:
    result = synthetic.result(seed=seed, partial=partial)
    return json.dumps({**result, "outcome": f"o{seed}", "digest": f"d{seed}", "iops": 100.0 + seed})


@pytest.mark.parametrize("together", [1, 3])
def test_whole_runs_are_kept_whatever_ends_them(together: int) -> None:
    def one(seed: int, first: bool, progress: Any) -> str:  # noqa: ANN401
        assert first == (seed == 5)
        progress("run", 0.5, 10, 1.0)
        if seed == 7:
            raise KeyboardInterrupt if together == 1 else package.RunError("worn out")
        return made_up(seed)

    if together == 1:
        result = repeats.run(one, 5, 4, lambda *_: None, together)
        assert result["partial"]
        assert (result["repeats"]["seeds"], result["repeats"]["asked"]) == ([5, 6], 4)
        results.checked("a.json", result)
        assert "after 2 of 4 seeds" in report.html(result)
    else:
        with pytest.raises(package.RunError, match="with seed 7: worn out"):
            repeats.run(one, 5, 4, lambda *_: None, together)


def test_an_interrupt_stops_runs_side_by_side() -> None:
    """An interrupt comes when two are done: running ones learn of it through their progress function."""

    def one(seed: int, _: bool, progress: Any) -> str:  # noqa: ANN401
        if seed < 3:
            return made_up(seed)
        try:
            while True:
                progress("run", 0.5, 10, 1.0)
                time.sleep(0.001)
        except KeyboardInterrupt:
            return made_up(seed, partial=True)

    def watch(phase: str, *_: object) -> None:
        if phase.startswith("2 of"):
            raise KeyboardInterrupt

    result = repeats.run(one, 1, 50, watch, 2)
    assert result["partial"]
    assert result["repeats"]["seeds"] == [1, 2]


def test_progress_that_fails_ends_the_runs() -> None:
    def watch(*_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        repeats.run(lambda seed, *_: made_up(seed), 1, 4, watch, 2)


def repeated(name: str, iops: list[float]) -> compare.Run:
    def one(seed: int, *_: object) -> str:
        return json.dumps(json.loads(made_up(seed)) | {"iops": iops[seed - 1], "outcome": f"{name}{seed}"})

    return compare.Run(name, repeats.run(one, 1, len(iops), lambda *_: None, 1))


def shown(*runs: compare.Run) -> str:
    out = io.StringIO()
    compare.show(Console(file=out, width=200, highlight=False, markup=False), runs)
    return " ".join(out.getvalue().split())


def test_compare_says_what_is_more_than_chance() -> None:
    plain, near, far = (repeated(*run) for run in (("a", [10, 11, 12]), ("b", [11, 12, 13]), ("c", [20, 21, 22])))
    told = {row.name: row for row in compare.rows([plain, near, far])}
    assert told["requests/s"].apart == [None, False, True]
    assert told["requests/s"].texts[0] == "11 ± 2.48"
    assert [told["requests/s"].ratio_text(n) for n in range(3)] == ["", "(× 1.09)", "× 1.91"]
    assert told["requests"].apart == [None, None, None], "the same in all"
    text = shown(plain, near, far)
    assert "b against a: no difference is outside the 95 % intervals." in text
    assert "c against a: outside the 95 % intervals: requests/s." in text
    page = compare.html([plain, far])
    assert "outside the 95" in page


def test_compare_says_what_single_seeds_cannot_tell() -> None:
    single, other = (compare.Run(name, json.loads(made_up(seed))) for name, seed in (("x", 1), ("y", 2)))
    assert "noise cannot be separated from effect: run each with --repeat 10" in shown(single, other)
    assert "x: only one seed, so noise cannot be separated" in shown(repeated("a", [10, 11, 12]), single)
    assert "noise" not in shown(single, single), "the same run twice"


def test_saved_repeats_are_checked() -> None:
    result = repeated("a", [10, 11, 12]).result
    results.checked("a.json", result)
    result["repeats"]["figures"][0]["mean"] = "much"
    with pytest.raises(package.InputError, match=r"repeats\.figures\[0\]\.mean"):
        results.checked("a.json", result)
