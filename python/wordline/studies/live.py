"""Live disks for studies: a server in a process of its own, a client that measures, and a load for all cores."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordline.base.errors import FAILED, Trouble

READ, WRITE = 0, 1
REQUEST, REPLY = struct.Struct(">IHHQQI"), struct.Struct(">IIQ")
ASKS, ANSWERS = 0x25609513, 0x67446698
BEGUN_S = 60.0
"""A server that does not listen after so long has failed."""

PIECE = 1 << 20
"""Bytes that are copied at a time."""


class Client:
    """A connection to the default export of a server, over NBD."""

    def __init__(self, path: Path) -> None:
        """Connects.

        :raises OSError: if nobody listens there.
        """
        self.stream = socket.socket(socket.AF_UNIX)
        try:
            self.stream.connect(str(path))
        except OSError:
            self.stream.close()
            raise
        # A large command goes out at once, as a large reply does.
        self.stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        self.stream.settimeout(60)
        self._take(memoryview(bytearray(18)))
        self.stream.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, 0))
        head = bytearray(10)
        self._take(memoryview(head))
        self.bytes = int.from_bytes(head[:8], "big")

    def ask(self, kind: int, cookie: int, offset: int, data: bytes, count: int) -> None:
        """Sends a command; one that reads has no data."""
        self.stream.sendall(REQUEST.pack(ASKS, 0, kind, cookie, offset, count) + data)

    def answer(self) -> int:
        """The cookie of the next reply, which is no error.

        :raises Trouble: if it is one, or the server has gone.
        """
        head = bytearray(REPLY.size)
        self._take(memoryview(head))
        magic, error, cookie = REPLY.unpack(head)
        if magic != ANSWERS or error:
            raise Trouble(f"the live disk answered with error {error}", FAILED)
        return cookie

    def take(self, view: memoryview) -> None:
        """The data of a read, into ``view``."""
        self._take(view)

    def write(self, offset: int, data: bytes) -> None:
        """Writes, and waits for the reply."""
        self.ask(WRITE, 0, offset, data, len(data))
        self.answer()

    def close(self) -> None:
        """Leaves."""
        self.stream.close()

    def _take(self, view: memoryview) -> None:
        while view:
            got = self.stream.recv_into(view)
            if got == 0:
                raise Trouble("the live disk went away", FAILED)
            view = view[got:]


@dataclass
class Served:
    """A server at work, and its result when it has ended."""

    client: Client
    result: dict[str, Any] = field(default_factory=dict)


@contextmanager
def serving(drive: Path, *options: str) -> Iterator[Served]:
    """Serves a drive from a process of its own.

    :param drive: its file.
    :param options: of ``wordline serve``.
    :raises Trouble: if it cannot be served.
    """
    with tempfile.TemporaryDirectory() as folder:
        where, told = Path(folder, "d.sock"), Path(folder, "result.json")
        command = [sys.executable, "-m", "wordline", "serve", str(drive), "--socket", str(where), "--json", str(told)]
        process = subprocess.Popen([*command, "-q", *options], stderr=subprocess.PIPE, text=True)
        try:
            served = Served(_connected(where, process))
            yield served
            served.client.close()
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=BEGUN_S)
            if process.returncode:
                raise Trouble(f"the live disk failed: {errors.strip()}", FAILED)
            served.result.update(json.loads(told.read_text(encoding="utf-8")))
        finally:
            process.kill()
            process.wait()


def _connected(where: Path, process: subprocess.Popen[str]) -> Client:
    """A client, once the server listens."""
    end = time.monotonic() + BEGUN_S
    while True:
        try:
            return Client(where)
        except OSError:
            if process.poll() is not None or time.monotonic() > end:
                process.kill()
                raise Trouble(f"the live disk does not begin: {process.communicate()[1].strip()}", FAILED) from None
            time.sleep(0.01)


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes that never rest."""
    with ExitStack() as started:
        for _ in range(processes):
            process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            started.callback(process.wait)
            started.callback(process.kill)
        yield


@contextmanager
def first() -> Iterator[None]:
    """This process goes before all that are not real-time themselves.

    :raises PermissionError: where the system does not allow it.
    """
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def goes_first() -> bool:
    """True if the system allows :func:`first`."""
    try:
        with first():
            return True
    except (AttributeError, OSError):
        return False


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Benchmark:
    """What a client does: requests of one size, so many at a time, as long as ``seconds``."""

    name: str
    bytes: int
    random: bool
    read_percent: int
    depth: int

    def run(self, client: Client, seconds: float, seed: int) -> list[float]:
        """Latencies in microseconds; of at least twice as many requests as are in progress."""
        dice, data, buffer = random.Random(seed), os.urandom(self.bytes), memoryview(bytearray(self.bytes))
        places, next_place = client.bytes // self.bytes, 0
        seen: list[float] = []
        asked: dict[int, tuple[bool, float]] = {}
        cookie, end = 0, time.perf_counter() + seconds
        while True:
            while len(asked) < self.depth and (cookie < 2 * self.depth or time.perf_counter() < end):
                place = dice.randrange(places) if self.random else next_place
                next_place = (place + 1) % places
                reads = dice.randrange(100) < self.read_percent
                asked[cookie] = (reads, time.perf_counter())
                client.ask(READ if reads else WRITE, cookie, place * self.bytes, b"" if reads else data, self.bytes)
                cookie += 1
            if not asked:
                return seen
            reads, start = asked.pop(client.answer())
            if reads:
                client.take(buffer)
            seen.append(1e6 * (time.perf_counter() - start))


def copied(image: Path, write: Callable[[int, bytes], None]) -> int:
    """Writes all of a sparse file that is no hole; the number of bytes."""
    total = 0
    with image.open("rb") as file:
        size, at = os.fstat(file.fileno()).st_size, 0
        while at < size:
            try:
                start = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:
                return total
            at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            for offset in range(start, at, PIECE):
                data = os.pread(file.fileno(), min(PIECE, at - offset), offset)
                write(offset, data)
                total += len(data)
    return total
