"""The live disk under the tools of others: fio, libnbd, QEMU, file systems, and Linux in a guest."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

import guest
import pytest
from conftest import LONG, PROGRAM
from servers import FUSE, LARGE_DRIVE, MIB, fused, memory_of, needs, serving, told


@needs("fio")
def test_fio_verifies_what_it_wrote(tmp_path: Path, empty: Path) -> None:
    with serving(tmp_path, empty, "--zero-delay") as live:
        job = ["--name=t", "--ioengine=nbd", f"--uri={live.uri}", "--rw=randwrite", "--bsrange=512-64k", "--size=24m"]
        verify = ["--iodepth=16", "--verify=crc32c", "--verify_fatal=1", "--randseed=3", "--output-format=json"]
        out = told(["fio", *job, *verify], cwd=tmp_path)
        figures = json.loads(out[out.index("{") :])["jobs"][0]
        assert figures["error"] == 0 and figures["read"]["total_ios"] > 500
        result = live.end()
    assert result["live"]["read_bytes"] == result["live"]["written_bytes"] == 24 * MIB
    assert result["live"]["errors"] == 0


@needs("nbdinfo", "nbdcopy")
def test_libnbd_copies_there_and_back(tmp_path: Path, empty: Path) -> None:
    with serving(tmp_path, empty, "--zero-delay") as live:
        about = json.loads(told(["nbdinfo", "--json", live.uri]))["exports"][0]
        size = about["export-size"]
        can = ("can_multi_conn", "can_flush", "can_fua", "can_trim", "can_zero", "can_fast_zero", "can_cache", "can_df")
        assert all(about[key] for key in can) and not about["is_read_only"]
        assert about["block_size_preferred"] == 4096 and about["contexts"] == ["base:allocation"]
        data = random.Random(1).randbytes(9 * MIB) + bytes(size - 9 * MIB)
        (tmp_path / "in.img").write_bytes(data)
        told(["nbdcopy", "--connections=4", "in.img", live.uri], cwd=tmp_path)
        assert [line.split()[:3] for line in told(["nbdinfo", "--map", live.uri]).splitlines()] == [
            ["0", str(9 * MIB), "0"],
            [str(9 * MIB), str(size - 9 * MIB), "3"],
        ]
        told(["nbdcopy", live.uri, "out.img"], cwd=tmp_path)
        assert (tmp_path / "out.img").read_bytes() == data
        live.end()


@needs("qemu-img", "qemu-io")
def test_qemu_writes_zeroes_discards_and_maps(tmp_path: Path, empty: Path) -> None:
    with serving(tmp_path, empty, "--store", "file:disk.img", "--zero-delay") as live:
        commands = ["write -P 0xab 0 1M", "write -f -P 0xcd 1M 64k", "write -z -u 64k 64k", "discard 256k 64k", "flush"]
        commands += ["read -P 0xab 0 64k", "read -P 0 64k 64k", "read -P 0xab 128k 128k", "read -P 0xcd 1M 64k"]
        commands += ["write -P 1 12345 777", "read -P 1 12345 777", "read -P 0xab 12000 345"]
        flags = [word for command in commands for word in ("-c", command)]
        out = told(["qemu-io", "-f", "raw", *flags, live.uri])
        assert "failed" not in out.lower(), out
        parts = json.loads(told(["qemu-img", "map", "--output=json", "-f", "raw", live.uri]))
        assert next(part for part in parts if part["start"] == 65536)["zero"]
        result = live.end()
    assert result["live"]["errors"] == 0 and result["live"]["syncs"] >= 2
    assert result["live"]["commands"]["write_zeroes"] == 1 and result["live"]["commands"]["trim"] == 1
    with (tmp_path / "disk.img").open("rb") as image:
        assert image.read(4) == b"\xab" * 4


@FUSE
@needs("nbdfuse", "fusermount3", "mkfs.ext4", "e2fsck", "debugfs")
def test_ext4_of_64_gb_lives_in_20_mb(tmp_path: Path) -> None:
    drive = tmp_path / "large.toml"
    blocks = 172
    while True:  # the fewest blocks that make 64 GB
        drive.write_text(LARGE_DRIVE.replace("= 172", f"= {blocks}"))
        listed = json.loads(told([PROGRAM, "check", str(drive), "--json"]))
        if listed["derived"]["logical_bytes"] >= 64e9:
            break
        blocks += 1
        assert blocks < 200
    (tmp_path / "note").write_text("a file in a file system on a modelled drive\n" * 1000)
    with serving(tmp_path, drive, "--zero-delay") as live:
        with fused(live, tmp_path) as disk:
            told(["mkfs.ext4", "-q", "-F", str(disk)])
            told(["debugfs", "-w", "-R", f"write {tmp_path / 'note'} note", str(disk)])
            told(["e2fsck", "-f", "-n", str(disk)])
            back = told(["debugfs", "-R", "cat note", str(disk)])
            assert back == (tmp_path / "note").read_text()
        used = memory_of(live.process)
        result = live.end()
    assert result["drive"]["logical_bytes"] >= 64e9
    assert 1e6 < result["live"]["store_bytes"] < 20e6
    assert used < 200e6


@FUSE
@needs("nbdfuse", "fusermount3", "mkfs.ntfs", "ntfscp", "ntfscat", "ntfsfix")
def test_ntfs_is_made_and_keeps_a_file(tmp_path: Path, empty: Path) -> None:
    (tmp_path / "note").write_bytes(random.Random(4).randbytes(300_000))
    with serving(tmp_path, empty, "--zero-delay") as live:
        with fused(live, tmp_path) as disk:
            told(["mkfs.ntfs", "-q", "-Q", "-F", str(disk)])
            told(["ntfscp", "-f", str(disk), str(tmp_path / "note"), "note"])
            told(["ntfsfix", "-n", str(disk)])
            back = subprocess.run(["ntfscat", "-f", str(disk), "note"], capture_output=True, timeout=60, check=True)
            assert back.stdout == (tmp_path / "note").read_bytes()
        live.end()


@FUSE
@needs("nbdfuse", "nbdcopy", "fusermount3", "mkfs.ext4", "e2fsck", "debugfs", "mount", "umount")
@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator may mount")
def test_ext4_is_mounted_by_a_loop_device(tmp_path: Path, empty: Path) -> None:
    place = tmp_path / "files"
    place.mkdir()
    data = random.Random(5).randbytes(3 * MIB)
    with serving(tmp_path, empty) as live:
        with fused(live, tmp_path) as disk:
            told(["mkfs.ext4", "-q", "-F", str(disk)])
            if subprocess.run(["mount", "-o", "loop", str(disk), str(place)], check=False).returncode:
                pytest.skip("this machine allows no loop devices")
            try:
                (place / "note").write_bytes(data)
            finally:
                told(["umount", str(place)])
            told(["e2fsck", "-f", "-n", str(disk)])
            # From the server itself, past all caches of the mount.
            told(["nbdcopy", live.uri, "disk.img"], cwd=tmp_path)
        live.end()
    told(["debugfs", "-R", f"dump note {tmp_path / 'back'}", str(tmp_path / "disk.img")])
    assert (tmp_path / "back").read_bytes() == data


GUEST = pytest.mark.skipif(guest.kernel() is None, reason="no kernel in /boot")


@GUEST
@needs("qemu-system-x86_64", "busybox", "mke2fs", "modprobe", "e2fsck", "nbdcopy")
@pytest.mark.parametrize(
    ("device", "disk"),
    [("virtio-blk-pci,drive=d", "/dev/vda"), ("nvme,drive=d,serial=wordline", "/dev/nvme0n1")],
    ids=["virtio", "nvme"],
)
def test_a_linux_guest_makes_a_file_system(tmp_path: Path, empty: Path, device: str, disk: str) -> None:
    if device.startswith("nvme") and not LONG:
        pytest.skip("the second guest boots in make test-long")
    with serving(tmp_path, empty) as live:
        said = guest.boot(tmp_path, live.uri, device, disk)
        assert "the file is as it was written" in said and "the guest is done" in said, said
        told(["nbdcopy", live.uri, "disk.img"], cwd=tmp_path)
        result = live.end()
    told(["e2fsck", "-f", "-n", str(tmp_path / "disk.img")])
    commands = result["live"]["commands"]
    assert commands["write"] > 10 and commands["flush"] > 2 and commands["trim"] + commands["write_zeroes"] > 0
    assert result["live"]["errors"] == 0 and result["by_op"]["flush"]["requests"] == commands["flush"]
