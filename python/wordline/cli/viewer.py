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
"""The only local address that the viewer's content security policy allows."""

UNFOLD = [{"id": "dev.perfetto.ExpandTracksByRegex", "args": [".*"]}]
"""Start-up command for the viewer, one of its stable ones: unfold all tracks."""

PACKET = 0x0A
"""First byte of each packet of a trace: field 1, with a length."""

LOOKED_AT = 64
"""Packets read to recognise a timeline."""

MOST_PACKET = 1 << 30
"""No packet is as long."""

WAIT_S = 0.2
"""How long the server waits for a request before it looks whether it is done."""


def address(name: str) -> str:
    """The link that opens the file of this name, served from here, in the viewer.

    The viewer parses its parameters as a query, so the quoted address of the file is quoted again in the link.
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
            raise Trouble(f"{name}: this is not a regular file; give a file of 'wordline run --timeline'")
        problem = _problem(path)
    except OSError as error:
        raise Trouble(f"{name}: {error.strerror}") from None
    except ValueError as error:
        raise Trouble(f"{name!r}: {error}") from None
    if problem:
        raise Trouble(f"{name}: this is not a timeline: {problem}; give a file of 'wordline run --timeline'")
    return path


def _problem(path: Path) -> str | None:
    """Why a file is not a Perfetto trace, from its first packets: each a tag, a length, and as many bytes."""
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
                return "it does not begin as one" if n == 0 else f"byte {at:,} does not begin a packet"
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
                f"{HOST}:{PORT}: this port is in use, and the viewer fetches from no other; end the program "
                "that uses it, such as another 'wordline timeline' or a trace_processor",
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
        """A broken connection is no error: the reader closed the page, and may open it again."""


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
        """Sends the size."""
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
        """Refuses: the viewer looks for a trace processor at the same address."""
        self._refuse()

    def _is_wanted(self) -> bool:
        """True if the request is for the file at its address; otherwise refuses it."""
        # Against DNS rebinding: another site could resolve its own host to this machine and read the file.
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
        """Requests are not logged."""


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
            say("Opening it in your browser. If the browser asks to access this machine, allow it.")
            # Beside the server: a browser in the terminal would keep this command waiting for its end.
            threading.Thread(target=_open, args=(link, say), daemon=True).start()
        else:
            say("Open this address in a browser on this machine, or use --open.")
        say("Waiting for the viewer to fetch the file; Ctrl-C stops.")
        server.until_fetched()
        say(f"{path.name}: fetched.")


def _open(link: str, say: Callable[[str], None]) -> None:
    if not webbrowser.open_new_tab(link):
        say("No browser found; open the address above yourself.")
