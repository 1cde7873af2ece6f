"""A client of the live disk for tests: NBD over a Unix socket, in its oldest form."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

READ, WRITE, DISC, FLUSH, TRIM, ZERO = 0, 1, 2, 3, 4, 6
FUA = 1


class Client:
    """A connection. Commands are answered in any order; their cookies tell which is which."""

    def __init__(self, path: Path, export: str = "") -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(str(path))
        assert self.take(18)[:16] == b"NBDMAGICIHAVEOPT"
        name = export.encode()
        self.socket.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, len(name)) + name)
        self.bytes, self.flags = struct.unpack(">QH", self.take(10))

    def take(self, count: int) -> bytes:
        """The next bytes.

        :raises ConnectionError: if the server has gone.
        """
        got = bytearray()
        while len(got) < count:
            piece = self.socket.recv(count - len(got))
            if not piece:
                raise ConnectionError
            got += piece
        return bytes(got)

    def ask(self, kind: int, offset: int, count: int, data: bytes = b"", flags: int = 0, cookie: int = 0) -> None:
        """Sends a command."""
        self.socket.sendall(struct.pack(">IHHQQI", 0x25609513, flags, kind, cookie, offset, count) + data)

    def answer(self) -> tuple[int, int]:
        """Cookie and error of the next reply."""
        magic, error, cookie = struct.unpack(">IIQ", self.take(16))
        assert magic == 0x67446698
        return cookie, error

    def does(self, kind: int, offset: int = 0, count: int = 0, data: bytes = b"", flags: int = 0) -> None:
        """Does a command, which succeeds."""
        self.ask(kind, offset, count, data, flags)
        assert self.answer() == (0, 0)

    def write(self, offset: int, data: bytes, flags: int = 0) -> None:
        """Writes."""
        self.does(WRITE, offset, len(data), data, flags)

    def read(self, offset: int, count: int) -> bytes:
        """Reads."""
        self.does(READ, offset, count)
        return self.take(count)

    def close(self) -> None:
        """Leaves, without a word."""
        self.socket.close()
