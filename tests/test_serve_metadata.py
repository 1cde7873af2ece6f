"""The live disk that keeps metadata only, under the file systems that tools make."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import EMPTY_DRIVE, LONG, Run, started
from servers import FUSE, LARGE_DRIVE, MIB, fused, memory_of, needs, serving, told

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = 100_000 if LONG else 3_000

EXT = needs("nbdfuse", "fusermount3", "mke2fs", "e2fsck", "debugfs")
ROOT_USER = pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator mounts")
NTFS = needs("nbdfuse", "fusermount3", "mkfs.ntfs", "ntfscp", "ntfsls", "ntfsfix", "ntfscat")


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    """A drive of 16 GB."""
    path = tmp_path / "large.toml"
    path.write_text(LARGE_DRIVE.replace("blocks_per_plane = 172", "blocks_per_plane = 44"))
    return path


def test_the_first_lines_and_the_summary_say_what_is_not_kept(tmp_path: Path, drive: Path) -> None:
    with serving(tmp_path, drive, "--store", "metadata", "--zero-delay") as live:
        assert "File data are not kept: they read as zeros." in live.out.partition("nbdinfo")[0]
        client = live.client()
        client.write(5 * MIB, b"unknown" * 1024)
        assert client.read(5 * MIB, 7) == b"unknown"
        result = live.end()
    assert result["live"]["store"] == "metadata" and result["live"]["store_path"] is None
    assert result["live"]["metadata"] == {
        "known_bytes": 2048,
        "kept_bytes": 0,
        "waiting_bytes": 8192,
        "dropped_bytes": 0,
        "evicted_bytes": 0,
    }
    assert "0 B kept, 8 KiB of unknown meaning held, 0 B of file data dropped" in live.out


def test_rules_say_what_is_kept_besides(wordline: Run, tmp_path: Path, drive: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("late_bytes = 0\n[[keep]]\nfrom_byte = 1048576\nto_byte = 2097152\n")
    with serving(tmp_path, drive, "--store", f"metadata:{rules.name}", "--zero-delay") as live:
        client = live.client()
        client.write(0, b"all" * MIB)
        assert client.read(MIB, MIB) == (b"all" * MIB)[MIB : 2 * MIB]
        assert client.read(2 * MIB, MIB) == bytes(MIB)
        result = live.end()
    assert result["live"]["store_path"] == rules.name
    assert result["live"]["metadata"]["kept_bytes"] == MIB + 4096
    assert result["live"]["metadata"]["evicted_bytes"] == 2 * MIB - 2048
    assert "2.00 MiB of unknown meaning dropped for want of room, see late_bytes" in " ".join(live.out.split())
    for text, words in [
        ("late_byte = 0", ("rules.toml:1", "late_byte", "late_bytes")),
        ("[[keep]]\nfrom_byte = 0\nto_byte = 99999999999999", ("rules.toml:3", "keep.0.to_byte", "beyond the disk")),
        ('[[pattern]]\nblock_bytes = 4096\nhex = "5846534"', ("rules.toml:3", "pattern.0.hex", "5846534")),
    ]:
        rules.write_text(text)
        refused = wordline("serve", drive.name, "--store", f"metadata:{rules.name}")
        assert refused.returncode == 2
        for word in words:
            assert word in refused.stderr
    refused = wordline("serve", drive.name, "--store", "metadata:none.toml")
    assert refused.returncode == 2 and "none.toml: no such file" in refused.stderr


def tree(root: Path, files: int) -> None:
    """Directories of 1,000 files; every tenth has data."""
    for index in range(files):
        folder = root / f"folder {index // 1000}"
        if index % 1000 == 0:
            folder.mkdir(parents=True)
        name = folder / f"a file of some name {index}"
        name.write_bytes(b"secret" * 500 if index % 10 == 0 else b"")


def ext_files(disk: Path) -> list[str]:
    """The names of all files in the folders of the tree, as debugfs lists them."""
    folders = [line.split("/")[5] for line in told(["debugfs", "-R", "ls -p /", str(disk)]).splitlines() if "/" in line]
    commands = "\n".join(f'ls -p "/{folder}"' for folder in folders if folder.startswith("folder"))
    listed = subprocess.run(
        ["debugfs", "-f", "-", str(disk)], input=commands, capture_output=True, text=True, check=True, timeout=100
    )
    return [line.split("/")[5] for line in listed.stdout.splitlines() if "/a file of" in line]


@FUSE
@EXT
def test_an_ext4_full_of_files_is_clean_and_lists_whole_while_data_are_zeros(tmp_path: Path, drive: Path) -> None:
    tree(tmp_path / "tree", FILES)
    with serving(tmp_path, drive, "--store", "metadata", "--zero-delay") as live:
        with fused(live, tmp_path) as disk:
            told(["mke2fs", "-q", "-F", "-t", "ext4", "-d", str(tmp_path / "tree"), str(disk)])
            told(["e2fsck", "-f", "-n", str(disk)])
            names = ext_files(disk)
            assert len(names) == FILES and len(set(names)) == FILES
            told(["debugfs", "-R", f'dump "/folder 0/a file of some name 10" {tmp_path / "back"}', str(disk)])
            assert (tmp_path / "back").read_bytes() == bytes(3000)
        result = live.end()["live"]
    # Each file with data has a block. Nothing else is lost, though most was written before the superblock.
    assert result["metadata"]["dropped_bytes"] + result["metadata"]["evicted_bytes"] == FILES // 10 * 4096
    assert result["metadata"]["kept_bytes"] < 4 * MIB + 400 * FILES


@FUSE
@EXT
@pytest.mark.parametrize(
    "options",
    [
        ("-t", "ext2", "-b", "1024"),
        ("-t", "ext3",),
        ("-t", "ext4", "-b", "1024", "-O", "64bit,metadata_csum"),
        ("-t", "ext4", "-O", "^has_journal,^64bit"),
    ],
    ids=["ext2", "ext3", "ext4-64bit", "ext4-no-journal"],
)  # fmt: skip
def test_a_file_system_in_use_stays_clean(tmp_path: Path, options: tuple[str, ...]) -> None:
    small = tmp_path / "small.toml"
    small.write_text(EMPTY_DRIVE)
    (tmp_path / "data").write_bytes(random.Random(2).randbytes(600_000))
    dice = random.Random(3)
    with serving(tmp_path, small, "--store", "metadata", "--zero-delay") as live:
        with fused(live, tmp_path) as disk:
            told(["mke2fs", "-q", "-F", *options, str(disk)])
            there: set[str] = set()
            for _ in range(3):
                commands = []
                for number in range(40):
                    name = f"entry-with-a-long-name-{dice.randrange(60)}"
                    if name in there:
                        commands.append(f"rm {name}")
                        there.remove(name)
                    elif number % 3 == 0:
                        commands.append(f"write {tmp_path / 'data'} {name}")
                        there.add(name)
                    else:
                        commands.append(f"symlink {name} {'far/' * 50}{number}")
                        there.add(name)
                commands.append(f"mkdir folder{len(commands)}-{dice.randrange(1000)}")
                subprocess.run(
                    ["debugfs", "-w", "-f", "-", str(disk)],
                    input="\n".join(commands),
                    capture_output=True,
                    text=True,
                    check=True,
                    timeout=60,
                )
                told(["e2fsck", "-f", "-n", str(disk)])
                listed = told(["debugfs", "-R", "ls -p /", str(disk)])
                assert {line.split("/")[5] for line in listed.splitlines() if "/entry" in line} == there
            for name in sorted(there):
                about = told(["debugfs", "-R", f"stat {name}", str(disk)])
                if "Type: symlink" in about:
                    assert told(["debugfs", "-R", f"cat {name}", str(disk)]).startswith("far/far/")
                else:
                    assert told(["debugfs", "-R", f"cat {name}", str(disk)]) == "\0" * 600_000
        result = live.end()["live"]
    assert result["errors"] == 0 and result["metadata"]["evicted_bytes"] == 0
    assert result["metadata"]["dropped_bytes"] > 1_800_000


def listing(root: Path) -> list[tuple[str, int, str]]:
    """All that a tree has: name, size of files, target of links."""
    found = []
    for path in sorted(root.rglob("*")):
        size = path.stat().st_size if path.is_file() and not path.is_symlink() else 0
        found.append((str(path.relative_to(root)), size, str(path.readlink()) if path.is_symlink() else ""))
    return found


@ROOT_USER
@FUSE
@EXT
@needs("mount", "umount")
def test_an_ext4_that_linux_mounts_stays_clean_beside_a_stream_of_data(tmp_path: Path, drive: Path) -> None:
    (tmp_path / "rules.toml").write_text(f"late_bytes = {16 * MIB}\n")
    dice, root = random.Random(6), tmp_path / "root"
    root.mkdir()
    with serving(tmp_path, drive, "--store", "metadata:rules.toml", "--zero-delay") as live:
        with fused(live, tmp_path) as disk:
            told(["mke2fs", "-q", "-F", "-t", "ext4", str(disk)])
            mount = ["mount", "-o", "loop", str(disk), str(root)]
            if subprocess.run(mount, capture_output=True, check=False, timeout=60).returncode:
                pytest.skip("this machine has no loop devices, or no ext4")
            try:
                with (root / "stream").open("wb") as stream:
                    for index in range(1500):
                        stream.write(dice.randbytes(100_000))
                        folder = root / f"folder{index % 20}" / f"{'inner' * 10}{index % 90}"
                        folder.mkdir(parents=True, exist_ok=True)
                        (folder / f"{'name' * 20}{index}").write_bytes(dice.randbytes(dice.randrange(9000)))
                        (folder / f"link{index}").symlink_to("far/" * 30 + str(index))
                        if index % 3 == 0:
                            dice.choice(sorted(folder.iterdir())).unlink()
                        if index % 500 == 499:
                            shutil.rmtree(root / f"folder{dice.randrange(20)}")
                            os.sync()
                before = listing(root)
            finally:
                told(["umount", str(root)])
            told(["e2fsck", "-f", "-n", str(disk)])
            told(mount)
            try:
                assert listing(root) == before and len(before) > 1500
                files = [path for path in root.rglob("name*") if path.is_file()]
                assert not any(path.read_bytes().strip(b"\0") for path in files)
            finally:
                told(["umount", str(root)])
        result = live.end()["live"]
    # The stream alone is nine times what may wait.
    assert result["metadata"]["dropped_bytes"] + result["metadata"]["evicted_bytes"] > 150 * 10**6
    assert result["metadata"]["waiting_bytes"] <= 16 * MIB


@contextmanager
def mounted(disk: Path, folder: Path) -> Iterator[Path]:
    """The NTFS on a disk, mounted by ntfs-3g."""
    where = folder / "ntfs"
    where.mkdir()
    with started(["ntfs-3g", "-o", "no_detach", str(disk), str(where)]) as process:
        for _ in range(200):
            if where.is_mount():
                break
            try:
                process.wait(0.05)
                raise AssertionError("ntfs-3g does not mount")
            except subprocess.TimeoutExpired:
                pass
        try:
            yield where
        finally:
            subprocess.run(["fusermount3", "-u", str(where)], check=False)
            process.wait(30)


@FUSE
@NTFS
def test_a_fresh_ntfs_of_250_gb_takes_less_than_75_mb(tmp_path: Path) -> None:
    drive = tmp_path / "quarter.toml"
    drive.write_text(LARGE_DRIVE.replace("blocks_per_plane = 172", "blocks_per_plane = 598"))
    with serving(tmp_path, drive, "--store", "metadata", "--zero-delay") as live:
        with fused(live, tmp_path) as disk:
            assert disk.stat().st_size >= 250e9
            told(["mkfs.ntfs", "-q", "-Q", "-F", str(disk)])
            told(["ntfsfix", "-n", str(disk)])
            assert "$MFT" in told(["ntfsls", "-s", str(disk)])
        assert memory_of(live.process) < 200e6
        result = live.end()
    assert 250e9 <= result["drive"]["logical_bytes"] < 252e9
    assert result["live"]["metadata"]["evicted_bytes"] == 0
    assert 1e6 < result["live"]["store_bytes"] < 75e6
    # All of it: chang11 has 74.46 MB (III.B).
    assert 74e6 < result["live"]["metadata"]["known_bytes"] < 76e6


@ROOT_USER
@FUSE
@NTFS
@needs("ntfs-3g")
def test_an_ntfs_in_use_keeps_its_tree_and_drops_its_data(tmp_path: Path, drive: Path) -> None:
    files = FILES // 10
    data = random.Random(4).randbytes(20_000)
    with serving(tmp_path, drive, "--store", "metadata", "--zero-delay") as live:
        with fused(live, tmp_path) as disk:
            told(["mkfs.ntfs", "-q", "-Q", "-F", str(disk)])
            (tmp_path / "data").write_bytes(data)
            told(["ntfscp", "-f", str(disk), str(tmp_path / "data"), "single"])
            with mounted(disk, tmp_path) as volume:
                (volume / "folder").mkdir()
                for index in range(files):
                    (volume / "folder" / f"a file with a long name {index}").write_bytes(
                        data if index % 5 == 0 else b"tiny"
                    )
                for index in range(0, files, 7):
                    (volume / "folder" / f"a file with a long name {index}").unlink()
            told(["ntfsfix", "-n", str(disk)])
            left = [index for index in range(files) if index % 7]
            listed = told(["ntfsls", "-p", "folder", str(disk)])
            assert listed.count("a file with a long name") == len(left)
            big, small = (next(index for index in left if (index % 5 == 0) == full) for full in (True, False))
            names = ["single", f"folder/a file with a long name {big}", f"folder/a file with a long name {small}"]
            back = [
                subprocess.run(["ntfscat", str(disk), name], capture_output=True, check=True).stdout for name in names
            ]
            # What is in the record itself is metadata.
            assert back == [bytes(20_000), bytes(20_000), b"tiny"]
        result = live.end()["live"]
    assert result["metadata"]["evicted_bytes"] == 0
    assert result["metadata"]["dropped_bytes"] > files // 5 * 20_000
