"""Servers of live disks for tests, and what lets the tools of others use them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import PROGRAM, started, until_serving
from nbdclient import Client

MIB = 1 << 20

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


def needs(*tools: str) -> pytest.MarkDecorator:
    """Skips a test where a tool is missing, and says which."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def can_fuse() -> bool:
    """True if this machine has FUSE."""
    return os.access("/dev/fuse", os.R_OK | os.W_OK)


FUSE = pytest.mark.skipif(not can_fuse(), reason="no FUSE on this machine")


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


def told(command: list[str], **options: Any) -> str:  # noqa: ANN401
    """What a tool prints, if it succeeds."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


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


def memory_of(process: subprocess.Popen[str]) -> int:
    """Resident memory of a process, in bytes."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
