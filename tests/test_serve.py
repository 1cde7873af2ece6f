"""The live disk as its users have it: the command, what it tells, and what it keeps when it ends or is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import EMPTY_DRIVE, LONG, PROGRAM, Run, started
from nbdclient import FLUSH, FUA, READ, TRIM, WRITE, ZERO, Client
from servers import MIB, Live, serving


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


def hammered(client: Client, truth: Truth, dice: random.Random, version: list[int], live: Live, after: int) -> None:
    """Writes and trims pages, several at a time, until the server is killed under it, after so many answers."""
    killed, flying = False, {}
    pages = len(truth.sure)
    try:
        while True:
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
            after -= 1
            if after == 0:
                live.process.kill()
                killed = True
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
            hammered(client, truth, dice, version, live, dice.randint(50, 1500))
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
