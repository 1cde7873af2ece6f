"""Asks the desk of another process: over its socket, or at the address of its page."""

from __future__ import annotations

import http.client
import json
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from wordline.base.errors import FAILED, Trouble

ENDING = ".ctl"
"""The socket of the desk is beside that of the disk, under its name with this behind it."""

PATIENCE_S = 60.0
"""A swap waits until the drive is drained."""


class Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=PATIENCE_S)
        self.path = path

    def connect(self) -> None:
        """Connects."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Remote:
    """The desk of another process."""

    def __init__(self, target: str) -> None:
        """:param target: the socket of the disk or of its desk, or the address of its page.

        :raises Trouble: if there is no such thing.
        """
        self.target = target
        self.prefix, self.path, self.netloc = "/", "", ""
        if "://" in target:
            url = urlsplit(target)
            if url.scheme != "http" or not url.netloc:
                raise Trouble(
                    f"{target}: give a socket, or an address http://… as 'wordline serve --dashboard' prints it"
                )
            self.netloc, self.prefix = url.netloc, url.path if url.path.endswith("/") else f"{url.path}/"
        else:
            self.path = socket_of(target)

    def _connection(self) -> http.client.HTTPConnection:
        if self.path:
            return Connection(self.path)
        return http.client.HTTPConnection(self.netloc, timeout=PATIENCE_S)

    def _sent(self, method: str, what: str, body: dict[str, Any] | None) -> http.client.HTTPResponse:
        text = None if body is None else json.dumps(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            connection = self._connection()
            connection.request(method, self.prefix + what, text, headers)
            return connection.getresponse()
        except ConnectionRefusedError:
            raise Trouble(f"{self.target}: nobody listens there; has the server ended?", FAILED) from None
        except TimeoutError:
            raise Trouble(
                f"{self.target}: no answer for {PATIENCE_S:.0f} s; a swap may still be draining the drive, which "
                "'wordline ctl … status' tells",
                FAILED,
            ) from None
        except http.client.HTTPException:
            raise Trouble(f"{self.target}: what listens there is no desk of 'wordline serve'") from None
        except OSError as error:
            raise Trouble(f"{self.target}: {error.strerror or error}", FAILED) from None

    def ask(self, method: str, what: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Asks for something, and waits for the answer.

        :raises Trouble: if it is refused, or nobody answers.
        """
        with self._sent(method, what, body) as answer:
            told = told_by(answer, self.target)
            if answer.status != 200:
                raise Trouble(str(told.get("error", f"{self.target}: status {answer.status}")))
            return told

    def view(self, export: str) -> dict[str, Any]:
        """A view of a drive, with what happened in a moment before."""
        return self.ask("GET", f"view?export={quote(export)}")

    def views(self, export: str) -> Iterator[dict[str, Any]]:
        """Views of a drive, until it ends.

        :raises Trouble: if the server refuses, or is gone without a word.
        """
        with self._sent("GET", f"events?export={quote(export)}", None) as answer:
            if answer.status != 200:
                raise Trouble(str(told_by(answer, self.target).get("error", f"status {answer.status}")))
            ended = False
            while line := answer.readline():
                ended |= line.startswith(b"event: end")
                if line.startswith(b"data: ") and not ended:
                    yield json.loads(line[6:])
            if not ended:
                raise Trouble(f"{self.target}: the server is gone", FAILED)


def told_by(answer: http.client.HTTPResponse, target: str) -> dict[str, Any]:
    """The JSON object of an answer.

    :raises Trouble: if it is none.
    """
    try:
        told = json.loads(answer.read())
    except (ValueError, http.client.HTTPException, OSError):
        told = None
    if not isinstance(told, dict):
        raise Trouble(f"{target}: what listens there is no desk of 'wordline serve'")
    return told


def socket_of(target: str) -> str:
    """The socket of the desk that belongs to a name.

    :raises Trouble: if there is none.
    """
    for name in (target + ENDING, target):
        try:
            if stat.S_ISSOCK(Path(name).stat().st_mode):
                return name
        except (OSError, ValueError):
            continue
    what = "it is no socket" if Path(target).exists() else "there is no such socket"
    raise Trouble(f"{target}: {what}; give that of a running 'wordline serve', such as demo.sock")
