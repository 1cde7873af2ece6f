"""The live disk as its users have it: the command, and the tools of others as its clients."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import guest
import pytest
from conftest import LONG, PROGRAM, SMALL_DRIVE, Run, started, until_serving
from nbdclient import FLUSH, FUA, READ, TRIM, WRITE, ZERO, Client

MIB = 1 << 20

EMPTY_DRIVE = SMALL_DRIVE.replace("fill = true", "fill = false").replace("channels = 4", "channels = 1")


def needs(*tools: str) -> pytest.MarkDecorator:
    """Skips a test where a tool is missing, and says which."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


class Live:
    """A server, and what it says at its end."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process, self.socket = process, folder / "d.sock"
        self.out = ""

    @property
    def uri(self) -> str:
        """Its address for tools."""
        return f"nbd+unix:///?socket={self.socket}"

    def client(self, export: str = "") -> Client:
        """A new connection."""
        return Client(self.socket, export)

    def end(self, how: int = signal.SIGTERM) -> Any:  # noqa: ANN401
        """Ends it in order; its result."""
        self.process.send_signal(how)
        self.out, errors = self.process.communicate(timeout=30)
        assert self.process.returncode == 0, errors
        assert not self.socket.exists(), "no stale socket"
        return json.loads((self.socket.parent / "live.json").read_text())


@contextmanager
def serving(folder: Path, drive: str | Path, *options: str) -> Iterator[Live]:
    """A server that is ready."""
    command = [PROGRAM, "serve", str(drive), "--socket", "d.sock", "--json", "live.json", *options]
    where = {"cwd": folder, "env": {**os.environ, "NO_COLOR": "1"}}
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **where) as process:
        live = Live(process, folder)
        live.out = until_serving(process)
        yield live


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A small drive that was never written."""
    path = tmp_path / "empty.toml"
    path.write_text(EMPTY_DRIVE)
    return path


def told(command: list[str], **options: Any) -> str:  # noqa: ANN401
    """What a tool prints, if it succeeds."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


def test_a_server_tells_how_to_connect_and_sums_up(tmp_path: Path, empty: Path) -> None:
    with serving(tmp_path, empty) as live:
        for word in ("nbdinfo", "qemu-img", "fio", "nbd-client -unix"):
            assert word in live.out
        assert live.uri in live.out
        client = live.client()
        client.write(0, b"a" * 8192)
        client.does(FLUSH)
        assert client.read(4096, 8192) == b"a" * 4096 + bytes(4096)
        client.ask(READ, client.bytes, 512)
        assert client.answer() == (0, 22)
        result = live.end()
    told = live.out
    assert "clients on small: 3 requests" in told and "Served        1 connection in" in told
    figures = result["live"]
    assert figures["commands"] | {"read": 1, "write": 1, "flush": 1} == figures["commands"]
    assert (figures["store"], figures["store_bytes"] > 0, figures["errors"]) == ("memory", True, 0)
    assert result["by_op"]["write"] == {"requests": 1, "bytes": 8192}
    assert result["requests"] == 3 and result["partial"] is False
    assert result["workload"] == {"live": ""}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_in_order_with_clients_connected(tmp_path: Path, empty: Path, how: int) -> None:
    with serving(tmp_path, empty, "--store", "file:disk.img") as live:
        client = live.client()
        client.write(4096, b"kept" * 1024)
        live.end(how)
        with pytest.raises(ConnectionError):
            client.take(1)
    assert (tmp_path / "disk.img").read_bytes()[4096:8192] == b"kept" * 1024


def test_after_a_kill_the_stale_socket_is_no_hindrance(tmp_path: Path, empty: Path) -> None:
    with serving(tmp_path, empty) as live:
        live.process.kill()
        live.process.wait(30)
    assert (tmp_path / "d.sock").exists()
    with serving(tmp_path, empty) as live:
        command = [PROGRAM, "serve", str(empty), "--socket", "d.sock"]
        other = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
        assert other.returncode == 2 and "another server listens there" in other.stderr
        live.client().write(0, b"x")
        live.end()


def test_an_interrupt_while_the_drive_is_preconditioned_ends_all(tmp_path: Path) -> None:
    command = [PROGRAM, "serve", "tlc-nvme", "--socket", "d.sock"]
    with started(command, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        deadline = time.monotonic() + 20
        # Clients may come from here on; they wait.
        while not (tmp_path / "d.sock").exists():
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.01)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20) == (None, "wordline: interrupted\n")
    assert process.returncode == 130
    assert not (tmp_path / "d.sock").exists()


def test_a_port_serves_too(tmp_path: Path, empty: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [PROGRAM, "serve", str(empty), "--tcp", f"localhost:{port}"]
    with started(command, stdout=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert any(line.startswith("Serving") for line in process.stdout)
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            assert connection.recv(8) == b"NBDMAGIC"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_several_exports_have_their_own_drives_and_stores(tmp_path: Path, empty: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(EMPTY_DRIVE.replace("blocks_per_plane = 40", "blocks_per_plane = 60"))
    options = ("--export", f"second={other}", "--store", "second=file:second.img")
    with serving(tmp_path, empty, *options) as live:
        first, second = live.client(), live.client("second")
        assert second.bytes > first.bytes
        first.write(0, b"1" * 4096)
        second.write(0, b"2" * 4096)
        assert (first.read(0, 1), second.read(0, 1)) == (b"1", b"2")
        results = live.end()
    assert [result["live"]["export"] for result in results] == ["", "second"]
    assert [result["live"]["store"] for result in results] == ["memory", "file"]
    assert (tmp_path / "second.img").stat().st_size == second.bytes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--pace", "0"), ("--pace 0", "1 is real time")),
        (("--pace", "2", "--zero-delay"), ("--pace", "--zero-delay")),
        (("--socket", "a", "--tcp", "localhost:1"), ("--socket", "--tcp")),
        (("--tcp", "0.0.0.0:10809"), ("--tcp 0.0.0.0:10809", "needs --tls-psk FILE")),
        (("--tcp", "localhost"), ("--tcp localhost", "HOST:PORT")),
        (("--socket", "no/such/d.sock"), ("--socket no/such/d.sock", "directory does not exist")),
        (("--socket", "s" * 200), ("the name is too long for a socket",)),
        (("--store", "disk"), ("--store disk", "memory, file:PATH, metadata[:RULES.toml]")),
        (("--store", "metadata:"), ("--store metadata:", "name the file of rules")),
        (("--store", "file:"), ("--store file:", "name the file")),
        (("--store", "memory", "--store", "file:a"), ("--store file:a", "has a store already, memory")),
        (("--store", "secnd=memory", "--export", "second=demo"), ("--store secnd=memory", "did you mean 'second'")),
        (("--store", "file:empty.toml"), ("empty.toml: this file has", "and the drive")),
        (("--state", "empty.toml"), ("empty.toml: ", "not a snapshot")),
        (("--state", "."), ("not a regular file",)),
        (("--state", "no/such/d.state"), ("no/such/d.state", "does not exist")),
        (("--state", "secnd=a", "--export", "second=demo"), ("--state secnd=a", "did you mean 'second'")),
        (("--state", "a", "--state", "b"), ("--state b", "has a file already, a")),
        (("--state", "a", "--json", "a"), ("--json and --state cannot both go to the same file",)),
        (("--export", "demo"), ("--export demo", "NAME=DRIVE")),
        (("--export", "a=demo", "--export", "a=demo"), ("--export a=demo", "already an export")),
        (("--set", "geometry.chanels=4"), ("geometry.chanels", "channels")),
        (("--from", "none.wls"), ("none.wls: no such file",)),
        (("--record", "-"), ("a trace cannot go to standard output",)),
        (("--record", "no/such/t.csv"), ("no/such/t.csv", "does not exist")),
    ],
)
def test_what_cannot_be_served_is_told(
    wordline: Run, empty: Path, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    refused = wordline("serve", empty.name, *options)
    assert refused.returncode == 2, refused
    assert refused.stderr.startswith("wordline: ")
    for word in words:
        assert word in refused.stderr
    assert not list(empty.parent.glob("*.sock"))


def test_a_drive_that_wears_out_is_told_at_the_end(tmp_path: Path, empty: Path) -> None:
    mortal = ("--set", "nand.reliability.endurance=1", "--zero-delay")
    with serving(tmp_path, empty, *mortal) as live:
        client = live.client()
        error, data = 0, b"x" * MIB
        while error == 0:
            for offset in range(0, client.bytes - MIB, MIB):
                client.ask(WRITE, offset, MIB, data)
                error = client.answer()[1] or error
        assert error == 5
        live.process.send_signal(signal.SIGTERM)
        out, errors = live.process.communicate(timeout=30)
    assert live.process.returncode == 1
    assert "the drive failed, and its clients got errors: the drive is worn out" in errors
    assert "PARTIAL: the drive failed while it was served" in out
    result = json.loads((tmp_path / "live.json").read_text())
    assert "endurance" in result["live"]["fault"] and result["partial"] is True


def replayed(wordline: Run, drive: Path, *options: str) -> Any:  # noqa: ANN401
    """The result of a replay of the recorded trace."""
    done = wordline("run", drive, "seen.csv.zst", *options, "--json", "-q")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("options", [(), ("--zero-delay",)])
def test_a_replay_of_the_record_is_the_same_run(
    wordline: Run, drive: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    dice = random.Random(7)
    with serving(tmp_path, drive, "--record", "seen.csv.zst", *options) as live:
        client = live.client()
        units = client.bytes // 4096
        asked = 0
        for _ in range(60):
            # Several at a time, so that requests wait for dies, for slots and for each other.
            batch = dice.randint(1, 40)
            for cookie in range(batch):
                kind = dice.choice([READ, WRITE, WRITE, WRITE, TRIM, FLUSH])
                count = 0 if kind == FLUSH else 4096 * dice.randint(1, 24)
                offset = 0 if kind == FLUSH else 4096 * dice.randrange(units - 24)
                flags = FUA if kind == WRITE and dice.random() < 0.1 else 0
                client.ask(
                    kind,
                    offset,
                    count,
                    bytes(count) if kind == WRITE else b"",
                    flags,
                    (cookie << 32) | kind << 24 | count,
                )
            for _ in range(batch):
                cookie, error = client.answer()
                assert error == 0
                if (cookie >> 24) & 0xFF == READ:
                    client.take(cookie & 0xFFFFFF)
            asked += batch
        result = live.end()
    assert result["live"]["recorded"] == {"requests": asked, "error": None}
    again = replayed(wordline, drive)
    assert again["requests"] == result["requests"] == asked
    for key in (
        "by_op",
        "latency_us",
        "flash",
        "gc",
        "wear",
        "free_blocks",
        "gc_affected_requests",
        "write_amplification",
    ):
        assert again[key] == result[key], key


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


def test_extended_headers_carry_requests_beyond_4_gib(tmp_path: Path) -> None:
    def options(connection: socket.socket) -> None:
        assert connection.recv(18, socket.MSG_WAITALL)[8:16] == b"IHAVEOPT"
        connection.sendall(struct.pack(">I", 3))
        contexts = struct.pack(">III", 0, 1, 15) + b"base:allocation"
        # Extended headers, the context, and the export with no further questions.
        for option, data in ((11, b""), (10, contexts), (7, bytes(6))):
            connection.sendall(b"IHAVEOPT" + struct.pack(">II", option, len(data)) + data)
            kind = 0
            while kind != 1:
                _, same, kind, count = struct.unpack(">QIII", connection.recv(20, socket.MSG_WAITALL))
                connection.recv(count, socket.MSG_WAITALL)
                assert same == option and kind < 1 << 31, (option, kind)

    def does(connection: socket.socket, kind: int, offset: int, count: int) -> tuple[int, bytes]:
        connection.sendall(struct.pack(">IHHQQQ", 0x21E41C71, 0, kind, 5, offset, count))
        head = struct.unpack(">IHHQQQ", connection.recv(32, socket.MSG_WAITALL))
        assert (head[0], head[1], head[3], head[4]) == (0x6E8A278C, 1, 5, offset)
        return head[2], connection.recv(head[5], socket.MSG_WAITALL) if head[5] else b""

    with serving(tmp_path, "demo", "--set", "precondition.fill=false", "--zero-delay") as live:
        plain = live.client()
        assert plain.bytes > 1 << 32
        plain.write(4096, b"a" * 8192)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(30)
            connection.connect(str(live.socket))
            options(connection)
            # Block status: 64-bit lengths and flags, two of them zero.
            kind, found = does(connection, 7, 0, plain.bytes)
            assert kind == 6
            assert struct.unpack(">II6Q", found)[1:] == (3, 4096, 3, 8192, 0, plain.bytes - 12288, 3)
            assert does(connection, ZERO, 0, plain.bytes) == (0, b"")
            assert does(connection, 7, 0, plain.bytes) == (6, struct.pack(">IIQQ", 1, 1, plain.bytes, 3))
            assert does(connection, TRIM, 4096, plain.bytes) == (32769, struct.pack(">IH", 22, 0)), "beyond its end"
        assert plain.read(4096, 8192) == bytes(8192)
        plain.close()
        live.end()


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


@contextmanager
def fused(live: Live, folder: Path) -> Iterator[Path]:
    """The disk as a file, by nbdfuse."""
    mount = folder / "mnt"
    mount.mkdir()
    with started(["nbdfuse", str(mount), live.uri], stderr=subprocess.PIPE) as process:
        disk, deadline = mount / "nbd", time.monotonic() + 20
        while not disk.exists():
            assert time.monotonic() < deadline and process.poll() is None, "no mount"
            time.sleep(0.02)
        try:
            yield disk
        finally:
            subprocess.run(["fusermount3", "-u", str(mount)], check=False)
            process.wait(20)


def can_fuse() -> bool:
    """True if this machine has FUSE."""
    return os.access("/dev/fuse", os.R_OK | os.W_OK)


FUSE = pytest.mark.skipif(not can_fuse(), reason="no FUSE on this machine")

LARGE_DRIVE = """\
name = "large"
[geometry]
channels = 8
packages_per_channel = 1
dies_per_package = 4
planes_per_die = 4
blocks_per_plane = 172
pages_per_block = 256
page_kib = 16
[capacity]
raw_over_logical = 1.28
[mapping]
policy = "page"
unit_kib = 4
"""


def memory_of(process: subprocess.Popen[str]) -> int:
    """Resident memory of a process, in bytes."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


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


class Truth:
    """What a disk may hold, from the view of a client that knows what was acknowledged.

    For each page: the version that was last made durable or acknowledged, and those asked for since. After a kill of
    the server alone nothing that was acknowledged may be missing; what was in flight may be there or not.
    """

    def __init__(self, pages: int) -> None:
        self.sure = [0] * pages
        self.maybe: list[set[int]] = [set() for _ in range(pages)]

    def asked(self, page: int, version: int) -> None:
        """A write was sent."""
        self.maybe[page].add(version)

    def acknowledged(self, page: int, version: int) -> None:
        """A write was acknowledged, while no other to that page was under way."""
        self.sure[page] = version
        self.maybe[page].clear()


def content(page: int, version: int) -> bytes:
    """A page in a version, such that a mixture of two shows; version 0 is an unwritten page."""
    return bytes(4096) if version == 0 else f"{page:08d}{version:08d}".encode() * 256


def hammered(client: Client, truth: Truth, dice: random.Random, version: list[int], live: Live, after: float) -> None:
    """Writes and trims pages, several at a time, until the server is killed under it."""
    kill_at, killed, flying = time.monotonic() + after, False, {}
    pages = len(truth.sure)
    try:
        while True:
            if not killed and time.monotonic() >= kill_at:
                live.process.kill()
                killed = True
            while len(flying) < 16:
                page = dice.randrange(pages)
                if page in flying:
                    continue
                number, kind = dice.random(), WRITE
                version[0] += 1
                this = version[0]
                if number < 0.15:
                    kind, this = ZERO, 0
                flying[page] = this
                truth.asked(page, this)
                data = content(page, this) if kind == WRITE else b""
                client.ask(kind, page * 4096, 4096, data, FUA if number > 0.9 else 0, cookie=page)
                if dice.random() < 0.05:
                    client.ask(FLUSH, 0, 0, cookie=1 << 40)
            cookie, error = client.answer()
            assert error == 0
            if cookie < 1 << 40:
                truth.acknowledged(cookie, flying.pop(cookie))
    except (ConnectionError, BrokenPipeError):
        assert killed, "the server left by itself"


def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path, empty: Path) -> None:
    rounds = 100 if LONG else 4
    dice, version = random.Random(11), [0]
    truth = Truth(600)
    held = 0
    for _ in range(rounds):
        with serving(tmp_path, empty, "--store", "file:disk.img", "--zero-delay") as live:
            client = live.client()
            for page, sure in enumerate(truth.sure):
                found = client.read(page * 4096, 4096)
                fits = [other for other in (sure, *truth.maybe[page]) if found == content(page, other)]
                assert fits, f"page {page}: neither version {sure} nor {truth.maybe[page]}, but {found[:16]!r}"
                truth.acknowledged(page, fits[0])
                held += fits[0] > 0
            hammered(client, truth, dice, version, live, dice.uniform(0.01, 0.3))
            live.process.wait(30)
    assert held > 100 * (rounds - 1) and version[0] > 200 * rounds


def cpu_s(process: subprocess.Popen[str]) -> float:
    """CPU time of a process, in seconds."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_an_idle_server_takes_hardly_any_cpu(tmp_path: Path, empty: Path) -> None:
    with serving(tmp_path, empty, "--low-cpu") as live:
        client = live.client()
        client.write(0, b"x" * 4096)
        client.does(FLUSH)
        before, start = cpu_s(live.process), time.monotonic()
        time.sleep(2)
        # The clock of CPU time has ticks of 10 ms.
        assert cpu_s(live.process) - before <= 0.01 * (time.monotonic() - start) + 0.011
        live.end()


def test_a_snapshot_is_served_as_it_was_left(wordline: Run, tmp_path: Path, drive: Path) -> None:
    assert wordline("precondition", drive, "-o", "aged.wls", "-q").returncode == 0
    with serving(tmp_path, drive, "--from", "aged.wls") as live:
        client = live.client()
        # The drive is full, its store empty: a read takes flash time and gives zeros.
        assert client.read(0, 4096) == bytes(4096)
        result = live.end()
    assert result["snapshot"] == "aged.wls" and result["precondition"] is None
    assert result["flash"]["reads"] == 1


def test_a_drive_goes_on_where_the_last_server_left_it(wordline: Run, tmp_path: Path, drive: Path, load: Path) -> None:
    def served(*options: str, pages: int) -> Any:  # noqa: ANN401
        with serving(tmp_path, drive, "--state", "d.state", "--zero-delay", *options) as live:
            client = live.client()
            for page in range(pages):
                client.write(page * 4096, b"x" * 4096)
            client.does(FLUSH)
            greeting = live.out
            return live.end() | {"said": greeting + live.out}

    # Only the first is aged; a later one that started new would have no wear.
    first = served("--set", "precondition.overwrites=0.5", pages=3)
    assert "The drive starts new; its state goes to d.state at the end." in first["said"]
    size = (tmp_path / "d.state").stat().st_size
    state = {"path": "d.state", "loaded": False, "behind": False, "saved_bytes": size, "error": None}
    assert first["live"]["state"] == state
    assert first["precondition"] is not None and first["snapshot"] is None
    second = served(pages=40)
    assert "The drive goes on from its state in d.state, saved 2" in second["said"]
    assert "of the drive: " in second["said"] and "lost" not in second["said"]
    assert second["precondition"] is None and second["snapshot"] == "d.state" and second["live"]["state"]["loaded"]
    assert second["wear"]["mean"] >= first["wear"]["mean"] > 0
    # A run starts from it as from any snapshot.
    run = wordline("run", drive, load, "--from", "d.state", "-q")
    assert run.returncode == 0, run.stderr
    # Other policies take the state over, another drive does not.
    assert served("--set", "victim.policy=fifo", pages=1)["live"]["state"]["loaded"]
    other = wordline("serve", drive, "--state", "d.state", "--set", "geometry.blocks_per_plane=50")
    assert other.returncode == 2 and "d.state does not fit the drive" in other.stderr, other.stderr
    assert not (tmp_path / "d.state.lock").exists()


def test_after_a_kill_a_drive_has_its_last_state_and_all_data(tmp_path: Path, empty: Path) -> None:
    options = ("--state", "d.state", "--store", "file:disk.img", "--zero-delay")
    with serving(tmp_path, empty, *options) as live:
        live.client().write(0, b"1" * 4096)
        live.end()
    kept = (tmp_path / "d.state").read_bytes()
    with serving(tmp_path, empty, *options) as live:
        live.client().write(4096, b"2" * 4096)
        command = [PROGRAM, "serve", str(empty), "--socket", "e.sock", "--state", "d.state"]
        other = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
        assert other.returncode == 2 and "another server uses this state" in other.stderr
        live.process.kill()
        live.process.wait(30)
    assert (tmp_path / "d.state").read_bytes() == kept
    with serving(tmp_path, empty, *options) as live:
        assert "What the last server did to it since is lost" in live.out
        client = live.client()
        assert client.read(0, 8192) == b"1" * 4096 + b"2" * 4096
        result = live.end()
    # The second page has data in the store, and no place in the drive, which a read would show.
    assert result["live"]["state"]["behind"] is True and result["flash"]["reads"] == 1
    with serving(tmp_path, empty, *options) as live:
        assert "lost" not in live.out
        assert live.end()["live"]["state"]["behind"] is False


def test_a_state_of_another_version_or_a_torn_one_is_told(wordline: Run, tmp_path: Path, empty: Path) -> None:
    with serving(tmp_path, empty, "--state", "d.state") as live:
        live.end()
    whole = (tmp_path / "d.state").read_bytes()
    now = whole[8]
    older = f"snapshot format {now - 1}, but this version reads format {now}; create it again"
    for bytes_, words in [
        (whole[:8] + bytes([now - 1]) + whole[9:], older),
        (whole[: len(whole) // 2], "d.state: damaged or cut short"),
        (whole + b"\0", "d.state: damaged: it goes on after its end"),
        (b"WORD", "d.state: too short for a snapshot"),
    ]:
        (tmp_path / "d.state").write_bytes(bytes_)
        refused = wordline("serve", empty, "--state", "d.state", "--socket", "d.sock")
        assert refused.returncode == 2 and words in refused.stderr, refused.stderr
        assert (tmp_path / "d.state").read_bytes() == bytes_ and not (tmp_path / "d.state.lock").exists()


def test_every_figure_of_a_live_disk_is_documented(tmp_path: Path, empty: Path) -> None:
    from wordline import _core

    with serving(tmp_path, empty, "--record", "seen.csv", "--store", "metadata", "--state", "d.state") as live:
        live.client().does(FLUSH)
        result = live.end()
    rows = [row["key"] for section in json.loads(_core.result_keys()) for row in section["keys"]]
    known = {key.partition("[")[0] for row in rows for key in expanded(row) if key.startswith("live.")}
    given = set()
    for key, value in result["live"].items():
        given |= {f"live.{key}.{inner}" for inner in value} if isinstance(value, dict) else {f"live.{key}"}
    assert given == known


def expanded(key: str) -> list[str]:
    """``a.{b,c}`` as ``a.b`` and ``a.c``."""
    head, brace, rest = key.partition("{")
    inner, _, tail = rest.partition("}")
    return [f"{head}{name}{tail}" for name in inner.split(",")] if brace else [key]
