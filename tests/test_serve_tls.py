"""The live disk over TLS with pre-shared keys, with the tools of others as its clients."""

from __future__ import annotations

import json
import random
import signal
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import EMPTY_DRIVE, PROGRAM, Run, started, until_serving
from servers import MIB, needs, told

KEYS = "alice:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\nbob:0123456789abcdef0123456789abcdef\n"
STARTTLS, EXPORT_NAME = 5, 1
ERR_TLS_REQUIRED = (1 << 31) + 5


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a drive that was never written, and keys."""
    (tmp_path / "empty.toml").write_text(EMPTY_DRIVE)
    (tmp_path / "keys.psk").write_text(KEYS)
    return tmp_path


@contextmanager
def secured(folder: Path, *options: str) -> Iterator[tuple[int, str]]:
    """A server for other machines: its port, and what it said when it was ready."""
    command = [PROGRAM, "serve", "empty.toml", "--tcp", "0.0.0.0:0", "--tls-psk", "keys.psk", "--json", "live.json"]
    with started([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder) as process:
        said = until_serving(process)
        address = next(line for line in said.splitlines() if "nbdinfo" in line)
        yield int(address.split("@")[1].split("/")[0].rpartition(":")[2]), said
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert process.wait(30) == 0, process.stderr.read()


def uri(folder: Path, port: int, user: str = "alice", keys: str = "keys.psk") -> str:
    """The address of the server for libnbd."""
    return f"nbds://{user}@localhost:{port}/?tls-psk-file={folder / keys}"


def greeted(port: int) -> socket.socket:
    """A connection that has chosen nothing yet."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    assert connection.recv(18, socket.MSG_WAITALL)[:16] == b"NBDMAGICIHAVEOPT"
    connection.sendall(struct.pack(">I", 3))
    return connection


def asked(connection: socket.socket, option: int) -> int:
    """Asks an option without data; the type of the answer."""
    connection.sendall(b"IHAVEOPT" + struct.pack(">II", option, 0))
    magic, same, kind, count = struct.unpack(">QIII", connection.recv(20, socket.MSG_WAITALL))
    assert (magic, same) == (0x3E889045565A9, option)
    connection.recv(count, socket.MSG_WAITALL)
    return kind


@needs("nbdinfo", "nbdcopy")
def test_libnbd_copies_over_tls_while_others_stall_in_the_handshake(folder: Path) -> None:
    with secured(folder, "--zero-delay") as (port, words):
        assert f"nbds://alice@{socket.gethostname()}:{port}/?tls-psk-file={folder / 'keys.psk'}" in words
        assert "nbd-client" not in words and "fio" not in words, "they take no keys"
        stalled = [greeted(port) for _ in range(3)]
        for connection in stalled[1:]:
            assert asked(connection, STARTTLS) == 1
        stalled[2].sendall(b"\x16\x03\x01\x02\x00\x01\x00")
        about = json.loads(told(["nbdinfo", "--json", uri(folder, port)]))
        assert about["TLS"] is True
        data = random.Random(1).randbytes(9 * MIB) + bytes(about["exports"][0]["export-size"] - 9 * MIB)
        (folder / "in.img").write_bytes(data)
        told(["nbdcopy", "--connections=4", "in.img", uri(folder, port)], cwd=folder)
        told(["nbdcopy", uri(folder, port, "bob"), "out.img"], cwd=folder)
        assert (folder / "out.img").read_bytes() == data
        for connection in stalled:
            connection.close()
    assert json.loads((folder / "live.json").read_text())["live"]["errors"] == 0


@needs("qemu-img", "qemu-io")
@pytest.mark.parametrize("priority", ["NORMAL:-VERS-ALL:+VERS-TLS1.3", "NORMAL:-VERS-ALL:+VERS-TLS1.2"])
def test_qemu_reads_what_it_wrote_by_either_version(folder: Path, priority: str) -> None:
    with secured(folder) as (port, _):
        keys = f"tls-creds-psk,id=tls0,endpoint=client,dir={folder},username=bob,priority={priority}"
        image = f"driver=nbd,host=localhost,port={port},export=,tls-creds=tls0"
        commands = ["write -P 0xab 0 3M", "write -z 64k 64k", "flush", "read -P 0xab 0 64k", "read -P 0 64k 64k"]
        flags = [word for command in [*commands, "read -P 0xab 128k 2M"] for word in ("-c", command)]
        out = told(["qemu-io", "--object", keys, *flags, "--image-opts", image])
        assert "failed" not in out.lower() and out.count("bytes at offset") == 5, out


@needs("qemu-img")
def test_the_line_for_qemu_works_as_it_is_printed(folder: Path) -> None:
    with secured(folder) as (_, words):
        line = next(line for line in words.splitlines() if "qemu-img" in line)
        # The name of this machine need not have an address here.
        line = line.replace(f"host={socket.gethostname()}", "host=localhost")
        assert "virtual size: 125 MiB" in told(["sh", "-c", line], cwd=folder)


@needs("nbdinfo")
@pytest.mark.parametrize(("user", "key"), [("alice", "ff" * 32), ("mallory", "00112233445566778899aabbccddeeff" * 2)])
def test_who_has_no_key_gets_nothing(folder: Path, user: str, key: str) -> None:
    (folder / "other.psk").write_text(f"{user}:{key}\n")
    with secured(folder) as (port, _):
        done = subprocess.run(
            ["nbdinfo", uri(folder, port, user, "other.psk")], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode != 0 and "gnutls_handshake" in done.stderr, done
        told(["nbdinfo", uri(folder, port)])


def test_without_tls_nothing_is_told(folder: Path) -> None:
    with secured(folder) as (port, _):
        with greeted(port) as connection:
            # LIST, INFO, GO, structured replies, contexts: each would tell something.
            for option in (3, 6, 7, 8, 10):
                assert asked(connection, option) == ERR_TLS_REQUIRED
            connection.sendall(b"IHAVEOPT" + struct.pack(">II", EXPORT_NAME, 0))
            assert connection.recv(1) == b""
        with greeted(port) as connection:
            assert asked(connection, STARTTLS) == 1
            connection.sendall(b"IHAVEOPT" + struct.pack(">II", 3, 0))
            assert connection.recv(1) == b"", "that was no handshake"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (None, "keys.psk: there is no such file; psktool"),
        (b"", "keys.psk: no keys in it"),
        (b"\xff\xfe", "keys.psk: not a text file"),
        (b"alice:0011\n", "keys.psk: line 1: the key of 'alice' has 2 bytes; 16 to 256 are possible"),
        (KEYS.encode() + b"carol=00\n", "keys.psk: line 3: no colon; a line is USER:KEY, the key in hexadecimal"),
    ],
)
def test_wrong_keys_are_told(wordline: Run, folder: Path, keys: bytes | None, words: str) -> None:
    (folder / "keys.psk").unlink()
    if keys is not None:
        (folder / "keys.psk").write_bytes(keys)
    refused = wordline("serve", "empty.toml", "--tcp", "localhost:0", "--tls-psk", "keys.psk")
    assert refused.returncode == 2 and f"--tls-psk {words}" in refused.stderr, refused
