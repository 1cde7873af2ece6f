"""Timelines in their viewer: hands one file to the page of ui.perfetto.dev, which fetches it from this machine.

The file goes from here into the browser and nowhere else: the viewer works in the page, without a server of its own.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import threading
import webbrowser
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from wordline.base.errors import FAILED, Trouble

VIEWER = "https://ui.perfetto.dev"

HOST, PORT = "127.0.0.1", 9001
"""The only place on a reader's own machine that the viewer may fetch from: its content security policy says so."""

UNFOLD = [{"id": "dev.perfetto.ExpandTracksByRegex", "args": [".*"]}]
"""What the viewer does once the timeline is loaded, of the commands that it keeps stable: it unfolds all tracks."""

PACKET = 0x0A
"""What each packet of a trace begins with: field 1, with a length."""

LOOKED_AT = 64
"""Packets that are looked at to tell a timeline."""

MOST_PACKET = 1 << 30
"""No packet is as long."""

WAIT_S = 0.2
"""How long the server waits for a request before it looks whether it is done."""


def address(name: str) -> str:
    """The link that opens the file of this name, served from here, in the viewer.

    The viewer takes its parameters apart as those of any address, so that what is quoted in the address of the file is
    quoted again in the link.
    """
    url = quote(f"http://{HOST}:{PORT}/{quote(name)}", safe=":/")
    return f"{VIEWER}/#!/?url={url}&startupCommands={quote(json.dumps(UNFOLD, separators=(',', ':')))}"


def checked(name: str) -> Path:
    """The file, if it is a timeline.

    :raises Trouble: if it is not, or cannot be read.
    """
    path = Path(name)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise Trouble(f"{name}: this is a directory; give a timeline, a file of 'wordline run --timeline'")
        if not stat.S_ISREG(mode):
            raise Trouble(f"{name}: this is no file that could be served; give a file of 'wordline run --timeline'")
        problem = _problem(path)
    except OSError as error:
        raise Trouble(f"{name}: {error.strerror}") from None
    except ValueError as error:
        raise Trouble(f"{name!r}: {error}") from None
    if problem:
        raise Trouble(f"{name}: this is no timeline: {problem}; give a file of 'wordline run --timeline'")
    return path


def _problem(path: Path) -> str | None:
    """Why a file is no trace of Perfetto, from its first packets: each a tag, a length, and as many bytes."""
    size = path.stat().st_size
    if not size:
        return "it is empty"
    at = 0
    with path.open("rb") as file:
        for n in range(LOOKED_AT):
            file.seek(at)
            head = file.read(11)
            if not head:
                break
            length, used = _varint(head[1:])
            if head[0] != PACKET or not used or length > MOST_PACKET:
                return "it does not begin as one" if n == 0 else f"what is at byte {at:,} is no packet of one"
            at += 1 + used + length
            if at > size:
                return "it ends in the middle of a packet"
    return None


def _varint(data: bytes) -> tuple[int, int]:
    """A number of seven bits a byte, and how many bytes it takes; none if it does not end."""
    value = 0
    for n, byte in enumerate(data):
        value |= (byte & 0x7F) << (7 * n)
        if byte < 0x80:
            return value, n + 1
    return 0, 0


class Server(ThreadingHTTPServer):
    """Serves one file to the viewer, until it was fetched as a whole.

    Browsers open connections ahead of need and leave them idle, so that each has a thread of its own.
    """

    daemon_threads = True
    # Another server on the same port must be an error, not a race for requests.
    allow_reuse_port = False

    def __init__(self, path: Path) -> None:
        """Takes the port.

        :raises Trouble: if it is taken.
        """
        self.path = path
        self.fetched = threading.Event()
        try:
            super().__init__((HOST, PORT), Handler)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise Trouble(f"{HOST}:{PORT}: cannot serve there: {error.strerror}", FAILED) from None
            raise Trouble(
                f"{HOST}:{PORT}: this port is taken, and the viewer fetches from no other; end what uses it, such as "
                "another 'wordline timeline' or a trace_processor",
                FAILED,
            ) from None
        self.timeout = WAIT_S

    def until_fetched(self) -> None:
        """Serves until somebody has fetched the file.

        :raises KeyboardInterrupt: at Ctrl-C.
        """
        while not self.fetched.is_set():
            self.handle_request()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """A connection that breaks is no error of ours: the reader closed the page, and may open it again."""


class Handler(BaseHTTPRequestHandler):
    """Answers the viewer, and nobody else."""

    server: Server
    protocol_version = "HTTP/1.1"
    # Seconds that a connection may be silent.
    timeout = 30

    def do_OPTIONS(self) -> None:
        """Allows the viewer to fetch from this machine, to browsers that ask before."""
        if self._is_wanted():
            self.send_response(204)
            self.send_header("Access-Control-Allow-Methods", "GET")
            self.send_header("Access-Control-Allow-Private-Network", "true")
            self._end()

    def do_HEAD(self) -> None:
        """Tells the size."""
        if self._is_wanted():
            self._head(self.server.path.stat().st_size)

    def do_GET(self) -> None:
        """Sends the file; when it is sent as a whole, the server has done its work."""
        if not self._is_wanted():
            return
        with self.server.path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            self._head(size)
            shutil.copyfileobj(file, self.wfile, 1 << 20)
            self.wfile.flush()
            self.close_connection = True
            whole = file.tell() == size
        if whole:
            self.server.fetched.set()

    def do_POST(self) -> None:
        """Is no trace processor, which the viewer looks for at the same address."""
        self._refuse()

    def _is_wanted(self) -> bool:
        """Whether the file is asked for, at the address that was given out; if not, says so."""
        # A page elsewhere could name this machine by a host of its own and read the file as from there.
        there = self.headers.get("Host") == f"{HOST}:{PORT}"
        if there and unquote(self.path) == f"/{self.server.path.name}":
            return True
        self._refuse()
        return False

    def _refuse(self) -> None:
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self._end()

    def _head(self, size: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(size))
        self._end()

    def _end(self) -> None:
        self.send_header("Access-Control-Allow-Origin", VIEWER)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: ANN401
        """Requests are no news."""


def show(name: str, browser: bool, say: Callable[[str], None]) -> None:
    """Serves a timeline to the viewer until it was fetched.

    :param browser: whether to open the viewer in the reader's browser.
    :param say: takes the lines for the reader.
    :raises Trouble: if the file is no timeline, or the port is taken.
    """
    path = checked(name)
    with Server(path) as server:
        link = address(path.name)
        say(link)
        if browser:
            say("Opening it in your browser; if it asks whether the page may reach this machine, allow it.")
            # Beside the server: a browser in the terminal would keep this command waiting for its end.
            threading.Thread(target=_open, args=(link, say), daemon=True).start()
        else:
            say("Open this address in a browser here; --open does it for you.")
        say("Waiting until the viewer has fetched the file; Ctrl-C ends it.")
        server.until_fetched()
        say(f"{path.name}: fetched.")


def _open(link: str, say: Callable[[str], None]) -> None:
    if not webbrowser.open_new_tab(link):
        say("There is no browser that could be opened; open the address above yourself.")
