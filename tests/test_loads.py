"""Kinds of LOAD: recognised by contents, one device of a trace, and a trace through a pipe."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from conftest import PROGRAM, SMALL_LOAD, TRACE_ROWS, Run, done, parsed, refused, started, trace_text

FIO = "[global]\nrw=randread\nbs=16k\n\n; two jobs\n[one]\nnumber_ios=50\nsize=64m\n[two]\nnumber_ios=20\nsize=64m\n"
NUMBERS = "[one]\nsize=1048576\n"
DEVICES = "time_us,device,op,offset_bytes,size_bytes\n0,3,R,0,4096\n5,4,R,0,4096\n9,3,W,8192,4096\n"


# A trace with the name of another kind of file is treated as named.
NEUTRAL = ("load", "load.job", "load.csv")
NAMED = ("load.toml", "load.fio", *NEUTRAL)


@pytest.mark.parametrize(
    ("names", "text", "requests"),
    [
        (NAMED, FIO, 70),
        (NAMED, SMALL_LOAD, 20_000),
        (NAMED, "# a comment first\n[trace]\nfile = 'small.csv'\n", 8),
        (NAMED, "runtime_s = 1.0\n[[job]]\nnumber_ios = 30\n", 30),
        (NEUTRAL, trace_text(TRACE_ROWS), 8),
    ],
)
def test_the_content_tells_what_a_load_is(
    wordline: Run, drive: Path, trace: Path, tmp_path: Path, names: tuple[str, ...], text: str, requests: int
) -> None:
    assert trace.exists()
    for name in names:
        (tmp_path / name).write_text(text)
        assert parsed(done(wordline("run", drive, name, "-q", "--json")))["requests"] == requests, name


def test_what_the_content_leaves_open_the_name_decides(wordline: Run, drive: Path, tmp_path: Path) -> None:
    (tmp_path / "numbers.fio").write_text(NUMBERS)
    assert parsed(done(wordline("run", drive, "numbers.fio", "-q", "--json")))["requests"] == 256
    (tmp_path / "numbers.toml").write_text(NUMBERS)
    refused(wordline("run", drive, "numbers.toml"), "numbers.toml:1", "unknown key 'one'")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("load.toml", '[[jobs]]\nrw = "read"\n', ["load.toml:1", "jobs", "job"]),
        ("load.toml", "[[job]]\nrw = read\n", ["load.toml:2"]),
        ("load.fio", "[one]\nrw=raed\n", ["load.fio:2", "raed"]),
        ("load", '[[job]]\nrw = "raed"\n', ["load:2", "raed"]),
        ("load", "[one]\nrw=raed\n", ["load:2", "raed"]),
        ("none.fio", None, ["none.fio", "no such file"]),
        ("none.toml", None, ["none.toml: no such file"]),
    ],
)
def test_a_slip_in_a_load_is_told_at_its_place(
    wordline: Run, drive: Path, tmp_path: Path, name: str, text: str | None, words: list[str]
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    refused(wordline("run", drive, name), *words)


def test_files_of_a_load_that_are_none_of_a_trace(wordline: Run, drive: Path, trace: Path, tmp_path: Path) -> None:
    (tmp_path / "a").write_text(SMALL_LOAD)
    (tmp_path / "b").write_text(FIO)
    refused(wordline("run", drive, trace, "a"), "a: give one workload file alone")
    refused(wordline("run", drive, "b", trace), "b: job files cannot be joined")


@pytest.mark.parametrize("command", [("run", "small.toml"), ("trace", "info"), ("trace", "convert")])
def test_a_device_may_be_called_by_a_number(wordline: Run, drive: Path, tmp_path: Path, command: tuple[str]) -> None:
    assert drive.exists()
    (tmp_path / "t.csv").write_text(DEVICES)
    rest = ["out.csv"] if command[-1] == "convert" else []
    told = parsed(done(wordline(*command, "t.csv", *rest, "--device", "3", "-q", "--json")))
    assert told["requests"] == 2
    refused(wordline(*command, "t.csv", *rest, "--device", "7"), "--device 7:", "this trace has 3, 4")


def test_a_device_in_a_workload_file_is_a_text(wordline: Run, drive: Path, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(DEVICES)
    (tmp_path / "load.toml").write_text('[trace]\nfile = "t.csv"\ndevice = 3\n')
    refused(wordline("run", drive, "load.toml"), "load.toml:3:10", 'write "3"')
    (tmp_path / "load.toml").write_text('[trace]\nfile = "t.csv"\ndevice = "3"\n')
    assert parsed(done(wordline("run", drive, "load.toml", "-q", "--json")))["requests"] == 2


def through(pipe: Path, content: bytes) -> threading.Thread:
    """Writes into a named pipe, like another program."""
    writer = threading.Thread(target=pipe.write_bytes, args=(content,), daemon=True)
    writer.start()
    return writer


def long_trace(lines: int) -> bytes:
    """More than a pipe and all buffers hold."""
    text = "".join(f"{n},{'RW'[n % 2]},{n % 1000 * 4096},4096\n" for n in range(lines))
    return f"time_us,op,offset_bytes,size_bytes\n{text}".encode()


@pytest.mark.parametrize("packed", [False, True])
def test_a_trace_from_a_pipe_gives_what_its_file_gives(
    wordline: Run, drive: Path, tmp_path: Path, packed: bool
) -> None:
    content = long_trace(40_000)
    content = gzip.compress(content) if packed else content
    (tmp_path / "t.csv").write_bytes(content)
    os.mkfifo(tmp_path / "pipe")
    from_file = parsed(done(wordline("run", drive, "t.csv", "-q", "--json")))
    writer = through(tmp_path / "pipe", content)
    from_pipe = parsed(done(wordline("run", drive, "pipe", "-q", "--json")))
    writer.join()
    assert from_pipe["requests"] == 40_000
    assert from_pipe["latency_us"] == from_file["latency_us"]
    command = [PROGRAM, "run", drive, "-", "-q", "--json"]
    outcome = subprocess.run(command, input=content, capture_output=True, timeout=120, check=True)
    assert parsed(outcome.stdout.decode())["latency_us"] == from_file["latency_us"]
    for command in (("info", "-"), ("convert", "-", "out.csv")):
        outcome = subprocess.run(
            [PROGRAM, "trace", *command, "--json"], input=content, capture_output=True, timeout=120, cwd=tmp_path
        )
        assert parsed(outcome.stdout.decode())["requests"] == 40_000, outcome.stderr


def test_what_is_wrong_in_a_pipe_is_told(wordline: Run, drive: Path, tmp_path: Path) -> None:
    bad = trace_text(TRACE_ROWS).encode() + b"9000,R,x,4096\n"
    os.mkfifo(tmp_path / "pipe")
    writer = through(tmp_path / "pipe", bad)
    refused(wordline("run", drive, "pipe"), "pipe, line 10: offset `x`")
    writer.join()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--loops", "2"], ["--loops 2", "read only once"]),
        (["--past-end", "scale"], ["past-end scale", "read only once", "extent_bytes"]),
        (["--load-set", "trace.devices=stack"], ["trace.devices", "read only once"]),
    ],
)
def test_a_pipe_is_read_once_only(
    wordline: Run, drive: Path, tmp_path: Path, options: list[str], words: list[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused(wordline("run", drive, "pipe", *options), *words)


def test_waiting_for_a_pipe_can_be_interrupted(drive: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for command in (["run", drive, "pipe"], ["trace", "info", "pipe"]):
        with started([PROGRAM, *command], cwd=tmp_path, stderr=subprocess.PIPE) as process:
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
            assert (process.returncode, err.lstrip()) == (130, "wordline: interrupted\n")
