"""Live disks in studies: what a client measures, what is copied, and what a machine without a tool is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import SMALL_DRIVE, Run
from wordline.base.errors import Trouble
from wordline.studies import catalogue, live, runner
from wordline.studies.live import Benchmark

MIB = 1 << 20


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    """A small drive, empty."""
    path = tmp_path / "d.toml"
    path.write_text(SMALL_DRIVE.replace("fill = true", "fill = false"))
    return path


@pytest.mark.parametrize("share", [0, 100])
def test_a_benchmark_asks_for_what_it_says(drive: Path, share: int) -> None:
    with live.serving(drive, "--zero-delay") as served:
        seen = Benchmark("x", 64 << 10, random=False, read_percent=share, depth=4).run(served.client, 0.0, seed=1)
    assert len(seen) == 8 and all(latency > 0 for latency in seen), "twice as many as in progress, at least"
    told = served.result["live"]
    op, other = ("read", "written") if share else ("written", "read")
    assert (told[f"{op}_bytes"], told[f"{other}_bytes"]) == (8 * (64 << 10), 0)
    assert served.result["latency_us"]["all"]["count"] == 8


def test_a_client_sees_the_delay_of_the_drive_and_not_less(drive: Path) -> None:
    with live.serving(drive, "--set", "nand.read_us=20000", "--set", "nand.program_us=20000") as served:
        served.client.write(0, bytes(16 << 10))
        seen = Benchmark("x", 16 << 10, random=False, read_percent=0, depth=1).run(served.client, 0.0, seed=1)
    mean = served.result["latency_us"]["all"]["mean"]
    assert len(seen) == 2 and mean > 0
    assert sum(seen) / 2 > 0.9 * mean


def test_holes_are_not_copied(tmp_path: Path) -> None:
    image, disk = tmp_path / "sparse", bytearray(64 * MIB)
    with image.open("wb") as file:
        file.truncate(len(disk))
        os.pwrite(file.fileno(), b"a" * 100, 4 * MIB)
        os.pwrite(file.fileno(), b"b" * (3 * MIB), 40 * MIB)

    def write(offset: int, data: bytes) -> None:
        disk[offset : offset + len(data)] = data

    written = live.copied(image, write)
    assert bytes(disk) == image.read_bytes()
    assert written < 8 * MIB


def test_a_server_that_cannot_begin_is_told(tmp_path: Path) -> None:
    (tmp_path / "d.toml").write_text("[geometry]\nchanels = 2\n")
    with pytest.raises(Trouble, match=r"the live disk does not begin: .*channels"), live.serving(tmp_path / "d.toml"):
        pass


def test_a_study_without_its_tool_is_refused_and_left_out_of_all(
    wordline: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from wordline.studies import command

    study = catalogue.load("virtual-disk")
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert study.missing() == ["mkfs.ntfs"]
    with pytest.raises(Trouble, match=r"study virtual-disk needs mkfs\.ntfs, which this machine lacks"):
        runner.run(study, lambda *_: None, "")
    assert [it.name for it in command.possible([study, catalogue.load("nand-dies")])] == ["nand-dies"]
    path = {**os.environ, "PATH": str(tmp_path)}
    told = wordline("study", "virtual-disk", env=path)
    assert told.returncode == 2 and "needs mkfs.ntfs" in told.stderr
