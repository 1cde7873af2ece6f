"""The desk over HTTP: on a Unix socket for ``wordline ctl`` and ``watch``, on a port of this machine for the page.

Both speak the same: ``GET view`` and ``events`` (server-sent events) look, ``POST set``, ``pause``, ``resume`` and
``stop`` change. On a port every address begins with a secret, and nothing changes unless that was asked for.
"""

from __future__ import annotations

import errno
import hmac
import json
import os
import secrets
import socket
import stat
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from wordline.base.errors import Trouble
from wordline.live.desk import Desk, Ended
from wordline.live.interval import WINDOW_S, Follower

HOST = "127.0.0.1"

EVERY_S = 0.25
"""Between two views of a stream."""

CELLS = 4
"""The blocks are in one of so many views."""

MOST_STREAMS = 16
"""Streams at once. More are turned away."""

LOOK_S = 0.2
"""Between two looks whether the server is to end."""

LAST_WORDS_S = 1.0
"""Streams have so long to say that it has ended."""

MOST_BODY = 1 << 16
"""Bytes of a request."""

HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}
"""The address holds the secret: it goes nowhere else."""


class Server(ThreadingHTTPServer):
    """Serves a desk. Each connection has a thread of its own."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_port = False
    prefix = "/"
    page: Callable[[], str] | None = None
    may_change = True

    def __init__(self, address: Any, desk: Desk) -> None:  # noqa: ANN401
        self.desk = desk
        self.ended = threading.Event()
        self.streams = threading.BoundedSemaphore(MOST_STREAMS)
        self.thread: threading.Thread | None = None
        super().__init__(address, Handler)

    def start(self) -> None:
        """Serves in a thread of its own."""
        serve = partial(self.serve_forever, poll_interval=LOOK_S)
        self.thread = threading.Thread(target=serve, name=type(self).__name__, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Ends it. Streams say so to who reads them, if he does."""
        self.ended.set()
        if self.thread is not None:
            self.shutdown()
        self.server_close()
        last = time.monotonic() + LAST_WORDS_S
        for _ in range(MOST_STREAMS):
            self.streams.acquire(timeout=max(0.0, last - time.monotonic()))

    def is_for_us(self, host: str | None) -> bool:
        """True if a request was meant for this server."""
        return True

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """A broken connection is no error: the reader has gone."""


class Socket(Server):
    """On a Unix socket that its owner alone may use."""

    address_family = socket.AF_UNIX

    def __init__(self, path: str, desk: Desk) -> None:
        """:raises Trouble: if the name is taken or cannot be used."""
        self.path = Path(path)
        remove_stale(self.path, path)
        self.own: tuple[int, int] | None = None
        try:
            super().__init__(path, desk)
        except OSError as error:
            raise Trouble(f"--control {path}: {error.strerror or error}") from None

    def server_bind(self) -> None:
        """Makes the file of the socket, which nobody else may use from the start on."""
        before = os.umask(0o177)
        try:
            self.socket.bind(self.server_address)
        finally:
            os.umask(before)
        about = self.path.stat()
        self.own = (about.st_dev, about.st_ino)
        self.server_name, self.server_port = "localhost", 0

    def server_close(self) -> None:
        """Removes the file, if it is still its own."""
        super().server_close()
        with suppress(OSError):
            about = self.path.stat()
            if (about.st_dev, about.st_ino) == self.own:
                self.path.unlink()


class Page(Server):
    """On a port of this machine, for a browser."""

    def __init__(self, port: int, desk: Desk, page: Callable[[], str], may_change: bool) -> None:
        """:raises Trouble: if the port is taken."""
        self.token = secrets.token_urlsafe(16)
        self.prefix, self.page, self.may_change = f"/{self.token}/", page, may_change
        try:
            super().__init__((HOST, port), desk)
        except OSError as error:
            busy = error.errno == errno.EADDRINUSE
            words = "this port is in use; give another, or none for a free one" if busy else error.strerror
            raise Trouble(f"--dashboard {port}: {words}") from None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{HOST}:{self.server_address[1]}{self.prefix}"

    def is_for_us(self, host: str | None) -> bool:
        """Against DNS rebinding: another site could let its own name mean this machine."""
        port = self.server_address[1]
        return host in (f"{HOST}:{port}", f"localhost:{port}")


def remove_stale(path: Path, name: str) -> None:
    """Removes the file of a socket on which nobody listens any more.

    :raises Trouble: if it is something else, or somebody does.
    """
    try:
        is_socket = stat.S_ISSOCK(path.lstat().st_mode)
    except OSError:
        return
    if not is_socket:
        raise Trouble(f"--control {name}: there is a file of this name, and it is no socket; give another name")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(name)
        except OSError:
            path.unlink(missing_ok=True)
            return
    raise Trouble(f"--control {name}: another server listens there; give another name")


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    # Seconds that a connection may be silent.
    timeout = 30

    def do_GET(self) -> None:
        """Looks."""
        asked = self._asked()
        if asked is None:
            return
        what, query = asked
        export = query.get("export", [""])[0]
        if what == "" and self.server.page is not None:
            self._send(200, self.server.page().encode(), "text/html; charset=utf-8")
        elif what == "view":
            self._answer(lambda: one(self.server.desk, export))
        elif what == "exports":
            self._answer(lambda: {"exports": self.server.desk.exports(), "kind": self.server.desk.kind})
        elif what == "events":
            self._stream(export)
        elif what in CHANGES:
            self._refuse(405, f"'{what}' changes something: it takes a POST")
        else:
            self._refuse(404, f"there is nothing at '{what}'")

    def do_POST(self) -> None:
        """Changes."""
        body = self._body()
        asked = self._asked()
        if asked is None:
            return
        what, _ = asked
        if what not in CHANGES:
            self._refuse(404, f"there is nothing to do at '{what}'; there is: {', '.join(CHANGES)}")
        elif not self.server.may_change:
            self._refuse(403, "this page may only look; serve with --dashboard-control to allow changes")
        elif body is None:
            self._refuse(400, "the body must be a JSON object, sent as application/json")
        else:
            desk = self.server.desk
            self._answer(lambda: CHANGES[what](desk, body))

    def _asked(self) -> tuple[str, dict[str, list[str]]] | None:
        """What is asked for, behind the secret; None if the request was refused."""
        if not self.server.is_for_us(self.headers.get("Host")):
            self._refuse(403, "this server is for this machine only")
            return None
        url = urlsplit(self.path)
        prefix = self.server.prefix
        start = unquote(url.path)[: len(prefix)]
        if not hmac.compare_digest(start.encode(), prefix.encode()):
            self._refuse(403, "this address lacks the secret: use the whole address that was printed")
            return None
        return unquote(url.path)[len(prefix) :], parse_qs(url.query)

    def _body(self) -> dict[str, Any] | None:
        """The JSON object of a request; None if there is none. Read in any case, so that the connection may go on."""
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MOST_BODY:
            self.close_connection = True
            return None
        text = self.rfile.read(int(length))
        # Pages of other sites cannot send this kind without asking first.
        if self.headers.get_content_type() != "application/json":
            return None
        try:
            body = json.loads(text)
        except ValueError:
            return None
        return body if isinstance(body, dict) else None

    def _answer(self, ask: Callable[[], dict[str, Any]]) -> None:
        try:
            told = ask()
        except Ended:
            self._refuse(410, "it has ended")
        except Trouble as trouble:
            self._refuse(400, trouble.message)
        else:
            self._send(200, json.dumps(told).encode(), "application/json")

    def _stream(self, export: str) -> None:
        """Views as server-sent events, until the reader goes or the drive ends."""
        if not self.server.streams.acquire(blocking=False):
            self._refuse(503, f"{MOST_STREAMS} watch already; close one")
            return
        try:
            self._send_stream(export)
        finally:
            self.server.streams.release()

    def _send_stream(self, export: str) -> None:
        follower, desk, n = Follower(WINDOW_S), self.server.desk, 0
        try:
            first = desk.view(export, True)
        except Trouble as trouble:
            self._refuse(400, trouble.message)
            return
        except Ended:
            self._refuse(410, "it has ended")
            return
        self.close_connection = True
        self._head(200, "text/event-stream")
        view: dict[str, Any] | None = first
        while view is not None:
            text = json.dumps(follower.add(view) | {"kind": desk.kind, "may_change": self.server.may_change})
            self.wfile.write(f"data: {text}\n\n".encode())
            self.wfile.flush()
            n += 1
            over = self.server.ended.wait(EVERY_S)
            try:
                view = None if over else desk.view(export, n % CELLS == 0)
            except Ended:
                view = None
        self.wfile.write(b"event: end\ndata: {}\n\n")

    def _refuse(self, status: int, words: str) -> None:
        self._send(status, json.dumps({"error": words}).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self._head(status, kind, len(body))
        self.wfile.write(body)

    def _head(self, status: int, kind: str, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        if length is None or self.close_connection:
            self.send_header("Connection", "close")
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: ANN401
        """Requests are not logged."""


def one(desk: Desk, export: str) -> dict[str, Any]:
    """A single view with what happened in a moment before."""
    follower = Follower()
    follower.add(desk.view(export, True))
    time.sleep(EVERY_S)
    return follower.add(desk.view(export, False)) | {"kind": desk.kind}


def paused(desk: Desk, on: bool) -> dict[str, Any]:
    """Pauses, or goes on."""
    desk.pause(on)
    return {"paused": on}


def settings(desk: Desk, body: dict[str, Any]) -> dict[str, Any]:
    """Changes keys.

    :raises Trouble: if the request has another form, or a key cannot change.
    """
    sets, export = body.get("sets"), body.get("export", "")
    if not isinstance(export, str) or not (isinstance(sets, list) and all(isinstance(text, str) for text in sets)):
        raise Trouble('give {"export": NAME, "sets": ["KEY=VALUE", …]}')
    return desk.set(export, sets)


def stopped(desk: Desk) -> dict[str, Any]:
    """Ends server or run."""
    desk.stop()
    return {"stopped": True}


CHANGES: dict[str, Callable[[Desk, dict[str, Any]], dict[str, Any]]] = {
    "set": settings,
    "pause": lambda desk, _: paused(desk, True),
    "resume": lambda desk, _: paused(desk, False),
    "stop": lambda desk, _: stopped(desk),
}
"""What may be changed."""
