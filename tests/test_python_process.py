"""Drives, workloads and errors in programs: interrupted, sent to other processes, copied, shown, written to files."""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
import pickle
import random
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import polars
import pytest
import wordline
from conftest import LONG, PROGRAM, Run, refused
from test_policies import Greedy
from wordline import Drive, Workload
from wordline.base import errors, files
from wordline.policy import VictimView
from wordline.report import compare
from wordline.report import page as report
from wordline.results import reading as results

READS = Workload.job(rw="randread", bs="16k", iodepth=8, number_ios=2_000)
WRITES = Workload.job(rw="randwrite", bs="16k", iodepth=8, number_ios=2_000)
ENDLESS = Workload.job(rw="randwrite", bs="16k", iodepth=8, number_ios=10**9)
UPDATE = "time_us,op,offset_bytes,size_bytes\n0,W,0,16384\n5,R,0,16384\n"


class Watched(Greedy):
    name = "watched"

    def choose(self, view: VictimView) -> int | None:
        return super().choose(view)


@pytest.fixture
def small(drive: Path) -> Drive:
    made = Drive(drive, {"verify.shadow": True}, seed=7)
    made.precondition(fill=True, overwrites=1)
    return made


def interrupt(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGINT)


def working_threads() -> int:
    return len(list(Path("/proc/self/task").iterdir())) if sys.platform == "linux" else threading.active_count()


# --------------------------------------------------------------------------------------------------------- interrupts


def test_ctrl_c_ends_a_run_as_ctrl_c(small: Drive) -> None:
    with pytest.raises(KeyboardInterrupt) as raised:
        small.run(ENDLESS, progress=interrupt)
    assert isinstance(raised.value, wordline.Interrupted)
    result = raised.value.result
    assert isinstance(result, wordline.Run)
    assert result.partial and 0 < result["requests"] < 10**9
    assert small.run(READS)["requests"] == 2_000
    with pytest.raises(wordline.Interrupted) as raised:
        wordline.run(small.fork(), ENDLESS, progress=interrupt)
    assert raised.value.result["partial"]


def test_a_half_aged_drive_refuses_to_go_on(drive: Path, tmp_path: Path) -> None:
    made = Drive("demo")
    with pytest.raises(wordline.Interrupted, match="partly preconditioned") as raised:
        made.precondition(fill=True, overwrites=100, progress=interrupt)
    assert raised.value.result["interrupted"]
    assert made.state["precondition"] is None
    assert "interrupted" in made.state["ended"]
    uses = (
        lambda: made.run(READS),
        lambda: made.precondition(fill=True),
        lambda: made.save(tmp_path / "half.wls"),
        lambda: pickle.dumps(made),
        lambda: made.fork().run(READS),
        lambda: made.fork({"victim.policy": "fifo"}),
        lambda: copy.copy(made).run(READS),
    )
    for use in uses:
        with pytest.raises(wordline.RunError, match=r"its preconditioning was interrupted after [1-9]"):
            use()
    assert list(tmp_path.glob("*.wls")) == []

    def fail(*_: object) -> None:
        raise LookupError("of my own")

    made = Drive("demo")
    with pytest.raises(LookupError, match="of my own"):
        made.precondition(fill=True, overwrites=100, progress=fail)
    with pytest.raises(wordline.RunError, match="interrupted"):
        made.run(READS)


def test_no_thread_works_on_after_an_interrupt(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    with path.open("w") as file:
        file.write("time_us,op,offset_bytes,size_bytes\n")
        file.writelines(f"{n},R,{4096 * (n % 1000)},4096\n" for n in range(2_000_000))
    before = working_threads()
    threading.Timer(0.3, interrupt).start()
    # Again and again: a fast machine reads the trace before the interrupt, which would end the test program then.
    with pytest.raises(KeyboardInterrupt):
        while True:
            Workload.trace(path).info()
    for _ in range(100):
        if working_threads() <= before:
            break
        time.sleep(0.05)
    assert working_threads() <= before


def test_ctrl_c_ends_all_studies(tmp_path: Path) -> None:
    with subprocess.Popen(
        [PROGRAM, "study", "--all", "--full", "--out", tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        time.sleep(3)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err


def test_an_interrupted_preconditioning_leaves_old_files(drive: Path, load: Path, tmp_path: Path) -> None:
    for name in ("old.json", "old.html", "old.wls"):
        (tmp_path / name).write_text("old")
    aged = ("--set", "precondition.overwrites=1000")
    commands = (
        ("run", "demo", load, *aged, "--json", "old.json", "--report", "old.html", "--timeline", "old.wls"),
        ("precondition", "demo", *aged, "-o", "old.wls"),
    )
    for command in commands:
        with subprocess.Popen(
            [PROGRAM, *command], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            time.sleep(2)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
    assert {path.name: path.read_text() for path in tmp_path.glob("old.*")} == dict.fromkeys(
        ("old.json", "old.html", "old.wls"), "old"
    )
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize(
    "command",
    [
        ("drives",),
        ("policies",),
        ("policies", "--json"),
        ("explain",),
        ("explain", "nand"),
        ("check", "demo"),
        ("study",),
        ("--help",),
        ("run", "demo", "load.csv", "--set", "precondition.fill=false"),
        ("run", "demo", "load.csv", "--set", "precondition.fill=false", "--json", "-"),
        ("trace", "info", "load.csv"),
        ("compare", "one.json", "one.json"),
    ],
    ids=" ".join,
)
def test_a_reader_that_leaves_ends_every_command_quietly(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "load.csv").write_text(UPDATE)
    if command[0] == "compare":
        wordline.run("demo", tmp_path / "load.csv", {"precondition.fill": False}).save(tmp_path / "one.json")
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as gone:
        outcome = subprocess.run(
            [PROGRAM, *command], cwd=tmp_path, stdout=gone, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert (outcome.stderr, outcome.returncode) == ("", 141)


# ----------------------------------------------------------------------------------------------------- other processes


def ran(drive: Drive, load: Workload) -> tuple[str, dict[str, Any]]:
    """Result of another process on a received object."""
    return drive.run(load).digest, drive.state


def refused_there(_: int) -> None:
    Drive("no-such-drive")


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_drives_and_loads_go_to_other_processes(small: Drive, tmp_path: Path, method: str) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text(UPDATE)
    table = {"time_us": [0, 5], "op": ["W", "R"], "offset_bytes": [0, 0], "size_bytes": [16384, 16384]}
    loads = [
        READS,
        Workload.trace(trace, past_end="wrap"),
        Workload.table(polars.DataFrame(table)),
        Workload.table(polars.DataFrame(table)) + READS,
        Workload.trace(trace) + WRITES,
    ]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        for load in loads:
            there = pool.submit(ran, small, load).result(timeout=120)
            own = small.fork()
            assert there == (own.run(load).digest, own.state)
        with pytest.raises(wordline.InputError, match="no-such-drive"):
            pool.submit(refused_there, 0).result(timeout=60)


def test_a_pickle_holds_all_of_a_drive(small: Drive, drive: Path) -> None:
    small.run(WRITES)
    text = drive.read_text()
    packed = pickle.dumps(small)
    drive.unlink()
    again = pickle.loads(packed)
    drive.write_text(text)
    for name in ("name", "title", "config", "origins", "derived", "capacity", "seed", "state"):
        assert getattr(again, name) == getattr(small, name), name
    assert again.run(WRITES).digest == small.run(WRITES).digest
    assert again.fork({"victim.policy": "fifo"}).config["victim"]["policy"] == "fifo"
    with pytest.raises(wordline.InputError, match="damaged"):
        pickle.loads(packed[:-600] + bytes(500) + packed[-100:])


def test_a_drive_with_a_policy_of_its_own_is_pickled(drive: Path) -> None:
    made = Drive(drive, {"victim.policy": "watched"}, policies=[Watched])
    made.precondition(fill=True, overwrites=1)
    again = pickle.loads(pickle.dumps(made))
    assert again.config == made.config
    assert again.run(WRITES)["gc"]["collections"] > 0


def test_a_copy_is_a_drive_of_its_own(small: Drive) -> None:
    expected = small.fork().run(WRITES).digest
    for copied in (copy.copy(small), copy.deepcopy(small), copy.deepcopy({"drive": small})["drive"]):
        assert copied is not small
        assert copied.run(WRITES).digest == expected
    assert small.state["runs"] == 0
    assert small.run(WRITES).digest == expected


def test_errors_are_pickled_under_their_names(drive: Path) -> None:
    for kind in (wordline.InputError, wordline.RunError):
        assert f"{kind.__module__}.{kind.__qualname__}" == f"wordline.{kind.__name__}"
    with pytest.raises(wordline.InputError) as raised:
        Drive(drive, {"victim.policy": "gredy"})
    error = raised.value
    error.add_note("seen") if hasattr(error, "add_note") else None
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.args, vars(again)) == (type(error), error.args, vars(error))
    stopped = wordline.Interrupted("here", {"done": 1})
    again = pickle.loads(pickle.dumps(stopped))
    assert (type(again), str(again), again.result) == (wordline.Interrupted, "here", {"done": 1})


def test_what_there_is_can_be_listed() -> None:
    code = "import wordline; print(*[name for name in dir(wordline) if not name.startswith('_')])"
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(listed) == {name for name in wordline.__all__ if name != "__version__"}
    assert {"Drive", "Workload", "Run", "Frame", "InputError", "RunError", "Interrupted", "run", "check"} <= set(listed)
    assert all(getattr(wordline, name) for name in wordline.__all__)


def test_messages_speak_of_python(drive: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text(UPDATE.replace("5,R", "nonsense,R"))
    back = tmp_path / "back.csv"
    back.write_text(UPDATE + "1,R,0,4096\n")
    job = tmp_path / "job.toml"
    job.write_text('[[job]]\nrw = "read"\nbs = "16k"\nnumber_ios = 10\n')
    none = tmp_path / "none.bin"
    none.write_text("what is this\nand this\n")
    made = Drive(drive)
    wrong = (
        lambda: Drive(drive, {"victim.policy": "gredy"}),
        lambda: Drive(drive, ["victim"]),
        lambda: Drive(drive, {"capacity.raw_over_logical": 0.5}),
        lambda: Drive(drive, snapshot=job),
        lambda: made.fork({"geometry.planes_per_die": 7}),
        lambda: made.precondition(fill=False),
        lambda: made.run(trace),
        lambda: made.run(back),
        lambda: made.run(none),
        lambda: made.run(job, {"trace.limit": 5}),
        lambda: made.run(job, {"job.0.iodepth": "x"}),
        lambda: Workload.trace(trace, pace="never"),
        lambda: made.run(Workload.trace(back, iodepth=4)),
        lambda: Workload.trace(none).info(),
        lambda: wordline.check(drive, {"queue.depth": 0}),
        lambda: wordline.run(drive, job, {"precondition.fill": True}, snapshot=tmp_path / "a.wls"),
        lambda: wordline.run(drive, back, {"precondition.fill": False}),
    )
    for n, use in enumerate(wrong):
        with pytest.raises((wordline.InputError, wordline.RunError)) as raised:
            use()
            pytest.fail(f"{n}: nothing is wrong with it")
        assert not re.search(r"(^|[\s('`])--[a-z]", str(raised.value)), f"{n}: {raised.value}"


# -------------------------------------------------------------------------------------------------------- what it shows


def test_a_frame_shows_its_data(small: Drive) -> None:
    run = small.run(READS)
    shown = repr(run.latency())
    assert shown.startswith("Frame: ")
    assert all(name in shown for name in run.latency().columns)
    assert "read" in shown
    long = wordline.Frame.of([("number", "int", list(range(1_000))), ("word", "text", ["x" * 500] * 999 + [None])])
    lines = repr(long).splitlines()
    assert lines[0] == "Frame: 1000 rows, 2 columns"
    assert lines[1].split() == ["number", "word"]
    assert [line.split()[0] for line in lines[2:]] == [*"01234", "…", *map(str, range(995, 1000))]
    assert [line.split()[1] for line in lines[2:7]] == [*"01234"]
    assert max(map(len, lines)) < 60
    html = long._repr_html_()
    assert html.count("<tr>") == 12 and "x" * 30 not in html
    escaped = wordline.Frame.of([("<b>", "text", ["<script>"])])._repr_html_()
    assert "<script>" not in escaped and "&lt;script&gt;" in escaped
    assert repr(wordline.Frame.of([("a", "int", [])])) == "Frame: 0 rows, 1 columns\n  a"


# ---------------------------------------------------------------------------------------------------------------- files


def test_files_are_whole_or_as_they_were(small: Drive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = small.run(READS)
    target = tmp_path / "result.json"
    target.write_text("old")
    link = tmp_path / "link.json"
    link.symlink_to(target)

    def broken(self: Path, *_: object, **__: object) -> None:
        with self.open("w") as file:
            file.write("half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", broken)
        for write in (run.save, run.report):
            with pytest.raises(KeyboardInterrupt):
                write(target)
    assert target.read_text() == "old"
    run.save(link)
    assert link.is_symlink() and wordline.Run.load(target).digest == run.digest
    with pytest.raises(FileNotFoundError) as raised:
        run.save(tmp_path / "nowhere" / "result.json")
    assert raised.value.filename == str(tmp_path / "nowhere" / "result.json")
    with pytest.raises(IsADirectoryError):
        run.report(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix in (".json", ".part")) == [
        "link.json",
        "result.json",
    ]


def test_parts_of_killed_processes_are_cleared(wordline: Run, drive: Path, load: Path, tmp_path: Path) -> None:
    code = (
        "from wordline.base.files import Part; from pathlib import Path;"
        f"Part(Path({str(tmp_path / 'r.json')!r})); print(flush=True); input()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (part,) = tmp_path.glob(".r.json.*.part")
        # A live process keeps its file.
        files.clear(tmp_path / "r.json")
        assert part.exists()
        process.kill()
    assert part.exists()
    (tmp_path / ".r.json.mine").touch()
    assert wordline("run", drive, load, "--quiet", "--json", "r.json").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == [".r.json.mine"]


def bounded() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "/dev/zero", "/dev/zero"),
        ("compare", "link.json", "link.json"),
        ("report", "/dev/zero", "-o", "page.html"),
        ("report", "endless", "-o", "page.html"),
        ("run", "demo", "link.fio"),
        ("run", "demo", "link.toml"),
        ("run", "link.toml", "/dev/zero"),
        ("run", "endless", "/dev/zero"),
        ("run", "demo", "link.csv"),
        ("run", "demo", "load.csv", "--from", "/dev/zero"),
        ("trace", "info", "/dev/zero"),
    ],
    ids=" ".join,
)
def test_what_has_no_end_ends_in_a_message(tmp_path: Path, command: tuple[str, ...]) -> None:
    for form in ("json", "fio", "toml", "csv"):
        (tmp_path / f"link.{form}").symlink_to("/dev/zero")
    (tmp_path / "load.csv").write_text(UPDATE)
    os.mkfifo(tmp_path / "endless")
    feed = ["sh", "-c", "yes '[1,' > endless"]
    with subprocess.Popen(feed, cwd=tmp_path, start_new_session=True, stderr=subprocess.DEVNULL) as pipe:
        try:
            outcome = subprocess.run(
                [PROGRAM, *command],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=120,
                preexec_fn=bounded,
                check=False,
            )
        finally:
            os.killpg(pipe.pid, signal.SIGKILL)
    assert outcome.returncode == 2, outcome.stderr
    assert "Traceback" not in outcome.stderr and outcome.stderr.startswith("wordline: ")


def altered(value: Any, rolls: random.Random) -> Any:  # noqa: ANN401
    """A document with one value changed, removed or of another kind."""
    value = copy.deepcopy(value)
    at: Any = value
    while True:
        keys = list(at) if isinstance(at, dict) else range(len(at))
        key = rolls.choice(keys)
        below = at[key]
        if isinstance(below, dict | list) and below and rolls.random() < 0.85:
            at = below
            continue
        match rolls.randrange(4):
            case 0:
                del at[key]
            case 1:
                at[key] = rolls.choice([None, -1, 0, 1e29, -1e29, 10**400, "", "x", True, [], {}, [[]], [0] * 3])
            case 2 if isinstance(below, int | float):
                at[key] = rolls.choice([-below, below * 1_000_000, below / 3])
            case _:
                at[key] = [below, below]
        return value


def test_edited_results_end_in_a_message(wordline: Run, small: Drive, tmp_path: Path) -> None:
    whole = json.loads(json.dumps(small.run(WRITES)))
    path = tmp_path / "edited.json"
    rolls = random.Random(5)
    told = 0
    for _ in range(2_000 if LONG else 200):
        path.write_text(json.dumps(altered(whole, rolls)))
        try:
            found = results.read(str(path))
            with results.shown([str(path)]):
                rows = list(compare.rows(compare.named([("whole", whole), (str(path), found)])))
                assert rows
                if LONG:
                    report.html(found)
        except results.InputError as error:
            told += 1
            assert str(error).startswith(str(path))
    assert told > 50
    for text in ("[" * 100_000, '{"schema": 1e999}', '{"schema": ' + "1" * 5_000 + "}", "\x00", '{"schema": NaN}'):
        path.write_text(text)
        refused(wordline("report", path, "-o", "page.html"), "edited.json")
    assert not list(tmp_path.glob("page.html"))


def test_an_interrupt_that_an_import_turns_into_an_error_is_one() -> None:
    def importing() -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            message = "initialization failed"
            raise ImportError(message) from error

    def broken() -> None:
        message = "of its own"
        raise ImportError(message)

    assert errors.status_of(importing) == errors.INTERRUPTED
    with pytest.raises(ImportError, match="of its own"):
        errors.status_of(broken)
