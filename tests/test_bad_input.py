"""Whatever a user gets wrong: refused with status 2 and a message that names the place, the value and the right one."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from conftest import SMALL_DRIVE, TRACE_ROWS, Run, refused, trace_text


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("victim.polcy=greedy", ["victim.polcy", "victim.policy"]),
        ("victm.policy=greedy", ["victm", "victim"]),
        ("victim.policy=greddy", ["greddy", "greedy"]),
        ("nand.read=50", ["nand.read", "read_us"]),
        ("nand.read_ms=50", ["read_ms", "read_us"]),
        ("geometry.channels=0", ["geometry.channels", "0"]),
        ("geometry.channels=-1", ["geometry.channels", "-1"]),
        ("geometry.channels=many", ["geometry.channels", "many"]),
        ("geometry.blocks_per_plane=99999999999", ["geometry.blocks_per_plane", "99999999999"]),
        ("geometry.blocks_per_plane=16000000", ["geometry"]),
        ("geometry.page_kib=12", ["geometry.page_kib", "12"]),
        ("capacity.raw_over_logical=0.9", ["capacity.raw_over_logical", "0.9"]),
        ("capacity.raw_over_logical=1.00001", ["capacity.raw_over_logical", "1.00001"]),
        ("capacity.raw_over_logical=nan", ["capacity.raw_over_logical"]),
        ("placement.order=CWDD", ["order", "CWDD"]),
        ("noequals", ["noequals", "KEY=VALUE"]),
    ],
)
def test_settings(wordline: Run, drive: Path, setting: str, words: list[str]) -> None:
    extra = ["--set", "placement.policy=static"] if setting.startswith("placement") else []
    refused(wordline("check", drive, *extra, "--set", setting), *words)


def test_crossed_thresholds(wordline: Run, drive: Path) -> None:
    crossed = ["--set", "collect.start_blocks=12", "--set", "collect.stop_blocks=5"]
    refused(wordline("check", drive, *crossed), "collect.", "12", "5")


def test_a_mistake_in_a_file_has_line_and_column(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(SMALL_DRIVE + "\n[nand]\nreed_us = 50\n")
    line = SMALL_DRIVE.count("\n") + 3
    refused(wordline("check", "bad.toml"), f"bad.toml:{line}:1", "reed_us", "read_us")


def test_a_file_that_is_no_toml(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[geometry\nchannels = 4\n")
    refused(wordline("check", "bad.toml"), "bad.toml:1")
    (tmp_path / "bytes.toml").write_bytes(bytes(range(256)))
    refused(wordline("check", "bytes.toml"), "bytes.toml")


def test_an_unknown_preset(wordline: Run) -> None:
    refused(wordline("check", "dmo"), "dmo", "demo")


def test_missing_files(wordline: Run, drive: Path) -> None:
    refused(wordline("check", "missing.toml"), "missing.toml")
    refused(wordline("run", drive, "missing.csv"), "missing.csv")
    refused(wordline("trace", "info", "missing.csv"), "missing.csv")


def test_directories_are_no_files(wordline: Run, drive: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    refused(wordline("check", "folder"), "folder")
    refused(wordline("run", drive, "folder"), "folder")


def test_an_unknown_key_of_the_load(wordline: Run, drive: Path, tmp_path: Path) -> None:
    (tmp_path / "load.toml").write_text('[[job]]\nrw = "randread"\niodpeth = 4\n')
    refused(wordline("run", drive, "load.toml"), "load.toml:3:1", "iodpeth", "iodepth")
    (tmp_path / "empty.toml").write_text("")
    refused(wordline("run", drive, "empty.toml"), "[[job]]")


def test_unknown_words_for_traces(wordline: Run, drive: Path, trace: Path) -> None:
    refused(wordline("run", drive, trace, "--format", "disksmi"), "disksmi", "disksim")
    refused(wordline("run", drive, trace, "--past-end", "wrp"), "wrp", "wrap")
    refused(wordline("run", drive, trace, "--pace", "fast"), "fast", "asap")
    refused(wordline("run", drive, trace, "--speed", "0"), "speed", "0")
    refused(wordline("run", drive, trace, "--loops", "0"), "--loops")


def test_a_binary_file_is_no_trace(wordline: Run, drive: Path, tmp_path: Path) -> None:
    (tmp_path / "random.bin").write_bytes(os.urandom(100_000))
    refused(wordline("run", drive, "random.bin"), "random.bin")
    (tmp_path / "elf.csv").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9_000))
    refused(wordline("trace", "info", "elf.csv"), "elf.csv")


def test_a_truncated_archive(wordline: Run, drive: Path, tmp_path: Path) -> None:
    whole = gzip.compress(trace_text(TRACE_ROWS * 5_000).encode())
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    refused(wordline("run", drive, "cut.csv.gz"), "cut.csv.gz", "cut off")
    refused(wordline("trace", "info", "cut.csv.gz"), "cut.csv.gz", "cut off")


def test_an_empty_trace(wordline: Run, drive: Path, tmp_path: Path) -> None:
    for name, text in (("empty.csv", ""), ("header.csv", "time_us,op,offset_bytes,size_bytes\n")):
        (tmp_path / name).write_text(text)
        refused(wordline("run", drive, name), name)
        refused(wordline("trace", "info", name), name)


def test_time_that_runs_backwards(wordline: Run, drive: Path, tmp_path: Path) -> None:
    lines = trace_text(TRACE_ROWS).splitlines()
    lines[3], lines[5] = lines[5], lines[3]
    (tmp_path / "back.csv").write_text("\n".join(lines) + "\n")
    refused(wordline("run", drive, "back.csv"), "back.csv", "line 5")


def test_mixed_lines(wordline: Run, drive: Path, tmp_path: Path) -> None:
    text = trace_text(TRACE_ROWS) + "9000 0 128 8 1\n"
    (tmp_path / "mixed.csv").write_text(text)
    refused(wordline("run", drive, "mixed.csv"), "mixed.csv", f"line {len(TRACE_ROWS) + 2}")


def test_places_that_cannot_be_written_are_found_before_the_run(wordline: Run, drive: Path, load: Path) -> None:
    # The load would be refused as well: the place is looked at first.
    missing = ("run", drive, "missing.csv")
    refused(wordline(*missing, "--json", "no/such/dir/r.json"), "no/such/dir/r.json", "does not exist")
    refused(wordline(*missing, "--report", "no/r.html"), "no/r.html", "does not exist")
    refused(wordline(*missing, "--json", "."), "directory")
    refused(wordline(*missing, "--json", f"{load}/r.json"), "load.toml")
    refused(wordline("precondition", drive, "-o", "no/aged.snap"), "no/aged.snap", "does not exist")


def test_a_refused_run_leaves_no_file(wordline: Run, drive: Path, tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    refused(wordline("run", drive, "missing.csv", "--json", "r.json", "--report", "r.html"), "missing.csv")
    assert set(tmp_path.iterdir()) == before


def test_numbers_out_of_range(wordline: Run, drive: Path, load: Path) -> None:
    refused(wordline("run", drive, load, "--seed", "-1"), "--seed")
    refused(wordline("run", drive, load, "--seed", str(2**64)), "--seed")
    refused(wordline("run", drive, load, "--json", "-", "--report", "-"), "standard output")
