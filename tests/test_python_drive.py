"""Drives in Python: lasting state, forks, snapshots, threads and interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import wordline
from conftest import SMALL_DRIVE, SMALL_LOAD
from wordline import Drive, Workload, package

READS = Workload.job(rw="randread", bs="16k", iodepth=8, number_ios=2_000)
WRITES = Workload.job(rw="randwrite", bs="16k", iodepth=8, number_ios=2_000)
ENDLESS = Workload.job(rw="randwrite", bs="4k", iodepth=8, time_based=True, runtime_s=1e6)
"""Until it is interrupted, or the drive wears out after a long time."""


@pytest.fixture
def small(drive: Path) -> Drive:
    """A small drive, filled."""
    made = Drive(drive)
    made.precondition()
    return made


def test_a_drive_tells_what_it_is(drive: Path) -> None:
    made = Drive(drive, {"capacity.raw_over_logical": 1.5}, seed=9)
    checked = wordline.check(drive, {"capacity.raw_over_logical": 1.5})
    assert (made.name, made.seed, made.config, made.derived) == ("small", 9, checked["config"], checked["derived"])
    assert made.capacity == checked["derived"]["logical_bytes"]
    assert made.origins["capacity.raw_over_logical"].startswith("--set")
    assert "small" in repr(made)
    assert "seed 9" in repr(made)
    assert made.state == {
        "simulated_s": 0.0,
        "runs": 0,
        "free_blocks": made.derived["blocks"],
        "erases": 0,
        "most_erases": 0,
        "precondition": None,
        "ended": None,
    }
    assert f"{made.derived['blocks']} blocks" in made._repr_html_()


def test_its_first_run_is_the_run_of_the_command(drive: Path, load: Path, small: Drive) -> None:
    whole = wordline.run(drive, load)
    apart = small.run(load)
    assert apart["digest"] == whole["digest"]
    assert apart["precondition"] == whole["precondition"]
    # The engine's own seed.
    assert apart["seed"] == whole["seed"] == small.seed
    same = wordline.run(drive, Workload.text(SMALL_LOAD))
    assert same["digest"] == whole["digest"]


def test_a_run_that_does_not_ask_where_time_went_is_the_same_run(drive: Path, load: Path, small: Drive) -> None:
    whole, short = wordline.run(drive, load), wordline.run(drive, load, time_of=False)
    assert (short["digest"], short["latency_us"]) == (whole["digest"], whole["latency_us"])
    assert whole["time_of"] is not None
    assert short["time_of"] is None
    assert "requests" in short._repr_html_()
    twin = small.fork()
    assert small.run(READS, time_of=False)["time_of"] is None
    asked = small.run(READS)
    assert twin.run(READS)["digest"] != asked["digest"] == twin.run(READS)["digest"]
    assert asked["time_of"]["read"]["array_read"] > 0


def test_each_run_goes_on_and_is_measured_apart(small: Drive) -> None:
    first = small.run(WRITES)
    second = small.run(READS)
    assert (first["earlier_runs"], second["earlier_runs"]) == (0, 1)
    assert first["by_op"]["write"]["requests"] == second["by_op"]["read"]["requests"] == 2_000
    assert second["by_op"]["write"]["requests"] == second["flash"]["programs"] == 0
    assert second["write_amplification"] is None
    assert second["series"]["start_s"][0] == 0
    # All work of a run is in its own figures, and the drive's time continues.
    state = small.state
    assert state["runs"] == 2
    assert state["simulated_s"] >= first["simulated_s"] + second["simulated_s"]
    # The state differs from that of the first run, so the same workload has another result.
    assert small.run(WRITES)["digest"] != first["digest"]
    assert small.run(READS, seed=5)["seed"] == 5


def test_data_last_from_run_to_run(drive: Path) -> None:
    made = Drive(drive)
    assert made.run(READS)["flash"]["reads"] == 0, "nothing is written yet"
    made.run(Workload.job(rw="write", bs="64k", iodepth=8))
    assert made.run(READS)["flash"]["reads"] > 1_000


def test_a_fork_does_what_the_drive_would_have_done(small: Drive) -> None:
    small.run(WRITES)
    fork = small.fork()
    mine, its = small.run(WRITES), fork.run(WRITES)
    assert mine["digest"] == its["digest"]
    # They share nothing.
    small.run(WRITES)
    assert (small.state["runs"], fork.state["runs"]) == (3, 2)


def test_a_fork_with_another_policy_takes_the_state_over(small: Drive) -> None:
    small.run(Workload.job(rw="randwrite", bs="16k", iodepth=8, number_ios=20_000))
    fork = small.fork({"victim.policy": "fifo"}, seed=3)
    assert fork.config["victim"]["policy"] == "fifo"
    assert small.config["victim"]["policy"] != "fifo"
    assert fork.seed == 3
    assert fork.state["erases"] == small.state["erases"] > 0
    assert fork.run(READS)["flash"]["reads"] > 1_000
    with pytest.raises(wordline.InputError, match="cannot take over its state"):
        small.fork({"geometry.channels": 2})
    with pytest.raises(wordline.InputError, match="did you mean"):
        small.fork({"victim.policy": "fifoo"})


def test_a_snapshot_goes_on_where_it_was_taken(small: Drive, drive: Path, tmp_path: Path) -> None:
    small.run(WRITES)
    path = tmp_path / "aged.snapshot"
    assert small.save(path) == path.stat().st_size
    again = Drive(drive, snapshot=path)
    mine, its = small.run(READS), again.run(READS)
    assert its["snapshot"] == str(path)
    assert mine["latency_us"] == its["latency_us"]
    with pytest.raises(wordline.RunError, match="cannot be written"):
        small.save(tmp_path / "missing" / "x")
    with pytest.raises(wordline.InputError, match="not a snapshot"):
        Drive(drive, snapshot=drive)


def test_preconditioning_as_configured_and_as_asked(drive: Path) -> None:
    made = Drive(drive)
    units = made.capacity // made.derived["unit_bytes"]
    assert made.precondition()["filled_units"] == units
    done = made.precondition(fill=False, overwrites=0.5)
    assert (done["filled_units"], done["random_units"]) == (0, round(0.5 * units))
    assert made.state["precondition"] == done
    assert made.run(READS)["precondition"] == done
    with pytest.raises(wordline.InputError, match="no preconditioning is set"):
        made.precondition(fill=False)
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(wordline.InputError, match="overwrites"):
            made.precondition(overwrites=wrong)


def test_wrong_drives_are_refused(drive: Path) -> None:
    with pytest.raises(wordline.InputError, match="did you mean 'demo'"):
        Drive("demoo")
    with pytest.raises(wordline.InputError, match="raw_over_logical"):
        Drive(drive, {"capacity.raw_over_logical": 0.5})
    made = Drive(drive)
    with pytest.raises(TypeError, match="fork a Drive"):
        wordline.run(made, READS, {"host.queue_depth": 1})
    with pytest.raises(TypeError, match="a mapping or a list of 'KEY=VALUE', not 3"):
        wordline.Drive("demo", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a workload is a Workload, or the name of a trace or workload file, not None"):
        wordline.Drive("demo").run(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="has its options already"):
        made.run(READS, {"job.0.bs": "4k"})


def test_a_wrong_load_leaves_the_drive_usable(small: Drive, tmp_path: Path) -> None:
    before = small.state
    with pytest.raises(wordline.InputError, match="no such file"):
        small.run("missing.csv")
    assert small.state == before
    # Its second line is bad, so the run has begun.
    bad = tmp_path / "bad.csv"
    bad.write_text("time_us,op,offset_bytes,size_bytes\n0,W,0,65536\n1,W,65536,65536\n2,Q,0,4096\n")
    with pytest.raises(wordline.InputError, match="line 4"):
        small.run(bad)
    assert small.run(READS)["requests"] == 2_000


def test_wordline_run_takes_drives_and_workloads(drive: Path, small: Drive) -> None:
    assert wordline.run(drive, READS)["digest"] == small.fork().run(READS)["digest"]
    assert wordline.run(small, READS)["earlier_runs"] == 0
    assert wordline.run(small, READS)["earlier_runs"] == 1


def test_other_threads_go_on_during_a_run(drive: Path) -> None:
    """A thread that needs the interpreter again and again makes progress during a long run."""
    begun, ended, turns = threading.Event(), threading.Event(), 0

    def turn() -> None:
        nonlocal turns
        begun.wait()
        while not ended.is_set() and turns < 200:
            time.sleep(0.0005)
            turns += 1

    other = threading.Thread(target=turn)
    other.start()
    begun.set()
    # No progress function, so the run itself never releases the lock for one.
    Drive(drive).run(Workload.job(rw="randwrite", bs="16k", iodepth=8, io_size="20g"), progress=False)
    ended.set()
    other.join()
    assert turns > 20


def test_drives_run_side_by_side(small: Drive) -> None:
    """Each of two runs is seen in progress while the other is, too."""
    both = threading.Barrier(2, timeout=60)
    met = [False, False]
    results: list[dict] = [{}, {}]
    forks = [small.fork(), small.fork()]
    long = Workload.job(rw="randwrite", bs="16k", iodepth=8, number_ios=200_000)

    def run(n: int) -> None:
        def meet(*_: object) -> None:
            if not met[n]:
                both.wait()
                met[n] = True

        results[n] = forks[n].run(long, progress=meet)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert met == [True, True]
    assert results[0]["digest"] == results[1]["digest"] == small.run(long)["digest"]


def test_one_drive_is_for_one_thread(small: Drive) -> None:
    told = []

    def look(*_: object) -> None:
        if not told:
            try:
                small.run(READS)
            except wordline.RunError as error:
                told.append(str(error))
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(wordline.Interrupted):
        small.run(ENDLESS, progress=look)
    assert told
    assert "is busy" in told[0]
    assert small.run(READS)["requests"] == 2_000


def test_an_interrupt_gives_what_was_done_and_a_drive_that_goes_on(small: Drive) -> None:
    calls = []

    def interrupt(phase: str, fraction: float | None, requests: int, simulated_s: float) -> None:
        calls.append((phase, fraction, requests, simulated_s))
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(wordline.Interrupted) as raised:
        small.run(ENDLESS, progress=interrupt)
    result = raised.value.result
    assert isinstance(result, wordline.Run) and result.partial
    assert 0 < result["requests"] < 1e9
    assert len(calls) == 1
    assert calls[0][0] == "run"
    whole = small.run(READS)
    assert not whole["partial"]
    assert whole["requests"] == 2_000
    assert small.state["runs"] == 2


def test_progress_tells_write_amplification_and_free_blocks(drive: Path) -> None:
    class Told:
        def __init__(self) -> None:
            self.heard: list[tuple[float | None, int]] = []

        def of_drive(self, write_amplification: float | None, free_blocks: int) -> None:
            self.heard.append((write_amplification, free_blocks))

        def __call__(self, phase: str, *_: object) -> None:
            assert phase == "run"
            if len(self.heard) == 3:
                os.kill(os.getpid(), signal.SIGINT)

    made, told = Drive(drive), Told()
    new = made.state["free_blocks"]
    with pytest.raises(wordline.Interrupted) as raised:
        made.run(Workload.job(rw="randwrite", bs="16k", iodepth=8, number_ios=1_000_000_000), progress=told)
    measured = raised.value.result
    assert len(told.heard) == 3
    assert all(0.5 < (factor or 0) < 20 and free < new for factor, free in told.heard)
    # The last report is the end.
    assert told.heard[-1][0] == pytest.approx(measured["write_amplification"], rel=0.2)


def test_an_error_of_the_progress_function_comes_back(small: Drive) -> None:
    def fail(*_: object) -> None:
        raise LookupError("of my own")

    with pytest.raises(LookupError, match="of my own"):
        small.run(ENDLESS, progress=fail)
    assert small.run(READS)["requests"] == 2_000


def test_a_worn_out_drive_says_so_again(tmp_path: Path) -> None:
    path = tmp_path / "worn.toml"
    path.write_text(SMALL_DRIVE)
    made = Drive(path, {"nand.reliability.endurance": 3, "nand.reliability.erase_fail": 0.5})
    hard = Workload.job(rw="randwrite", bs="16k", iodepth=8, io_size="1000g")
    with pytest.raises(wordline.RunError) as first:
        made.run(hard)
    assert made.state["ended"]
    with pytest.raises(wordline.RunError, match="failed before") as second:
        made.run(READS)
    assert str(first.value) in str(second.value)


def test_the_command_is_quick_to_help() -> None:
    """``import wordline`` loads nothing heavy."""
    code = (
        "import sys, wordline; print([m for m in ('wordline._core','rich','pyarrow','matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_numbers_of_numpy_are_numbers(drive: Path) -> None:
    sets = {"geometry.channels": numpy.int64(4), "precondition.fill": numpy.bool_(False)}
    made = Drive(drive, sets | {"capacity.raw_over_logical": numpy.float32(1.5)}, seed=numpy.uint8(3))
    assert made.config["geometry"]["channels"] == 4
    assert made.config["capacity"]["raw_over_logical"] == 1.5
    assert made.seed == 3
    job = Workload.job(bs=numpy.int64(4096), number_ios=numpy.int32(5))
    assert job.options["job"][0]["number_ios"] == 5
    with pytest.raises(wordline.InputError, match="a set, is not a value"):
        Drive(drive, {"geometry.channels": {4}})


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "many", True])
def test_what_is_no_seed_is_refused_everywhere(small: Drive, drive: Path, seed: Any) -> None:  # noqa: ANN401
    calls: list[Callable[[], object]] = [
        lambda: Drive(drive, seed=seed),
        lambda: wordline.run(drive, READS, seed=seed),
        lambda: small.run(READS, seed=seed),
        lambda: small.fork(seed=seed),
        lambda: small.precondition(fill=True, seed=seed),
    ]
    for call in calls:
        with pytest.raises(wordline.InputError, match=f"^seed: '{seed}' is not a seed; .* from 0 to {2**64 - 1}$"):
            call()


def test_what_contradicts_itself_is_refused(small: Drive, drive: Path, tmp_path: Path) -> None:
    small.save(tmp_path / "d.snap")
    with pytest.raises(wordline.InputError, match=r"precondition.fill=true.*d.snap"):
        wordline.run(drive, READS, {"precondition.fill": True}, snapshot=tmp_path / "d.snap")
    out = {"tables": ["requests"], "out": tmp_path / "out"}
    with pytest.raises(wordline.InputError, match="sample: '100' is not a sample; give one such as 1/100"):
        small.run(READS, **out, sample=100)
    with pytest.raises(wordline.InputError, match=r"interval: .* only for the tables intervals"):
        small.run(READS, **out, interval="1ms")
    with pytest.raises(wordline.InputError, match="window: '5' is not a window"):
        small.run(READS, timeline=tmp_path / "t.pftrace", window=5)


def test_a_snapshot_that_cannot_be_written_is_named(small: Drive, tmp_path: Path) -> None:
    path = tmp_path / "missing" / "a.snap"
    with pytest.raises(
        wordline.RunError, match=f"^{path}: the snapshot cannot be written: the directory does not exist"
    ):
        small.save(path)


def test_what_is_no_saved_result_is_named(trace: Path, tmp_path: Path) -> None:
    with pytest.raises(wordline.InputError, match=r"small\.csv:1:1: this is not JSON"):
        wordline.Run.load(trace)
    with pytest.raises(wordline.InputError, match=r"nothing.json: No such file"):
        wordline.Run.load(tmp_path / "nothing.json")


def test_what_makes_no_sense_ends_in_a_message(small: Drive) -> None:
    with pytest.raises(wordline.InputError, match=r"precondition\.overwrites = 1000000000: must lie between"):
        small.precondition(overwrites=1e9)
    assert small.state["simulated_s"] == 0
    with pytest.raises(wordline.InputError, match=r"the experiment: it lacks the key `load`$"):
        package.run({})
    assert repr(wordline.Run({})) == "<Run without a result>"
    assert repr(wordline.Run({"requests": 3})) == "<Run without all of its result>"
