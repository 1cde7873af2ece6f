"""The result of a replay without time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from wordline.api.results import Result

if TYPE_CHECKING:
    from wordline.api.frames import Frame


class Replay(Result):
    """The result of a replay: what ``wordline replay --json`` writes, with the main figures as attributes.

    The lifetime curve is made by :meth:`lifetime`.
    """

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Replay:
        """Reads a result from a file.

        :raises wordline.InputError: if the file cannot be read, or holds no result of a replay of this layout.
        """
        from wordline.results import reading

        return cls(reading.of_replay(os.fspath(path)))

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the report of the replay: one HTML file, for a browser. An older file is replaced only by a complete
        one.

        :raises OSError: if it cannot be written; an older file is unchanged.
        """
        from wordline.base import files
        from wordline.report import replaypage

        files.write_text(path, replaypage.html(self))

    @property
    def times(self) -> int:
        """Times that the whole workload was carried out."""
        return self["replay"]["times"]

    @property
    def end_of_life(self) -> dict[str, Any] | None:
        """What ended the life of the drive: its ``cause``, and where; None if it lives on."""
        return self["replay"]["end_of_life"]

    @property
    def host_bytes(self) -> int:
        """Bytes that the host wrote."""
        return self["replay"]["host_bytes"]

    @property
    def erases(self) -> int:
        """Blocks erased."""
        return self["flash"]["erases"]

    @property
    def cpu_s(self) -> float:
        """CPU time in seconds."""
        return self["cpu_s"]

    def lifetime(self) -> Frame:
        """The lifetime curve, a row a point: bytes written by the host, programs, erases, erases of a block, bad and
        spare blocks."""
        from wordline.api import frames

        return frames.lifetime(self)

    def __repr__(self) -> str:
        """The replay in a line."""
        from wordline.results import replayed

        if not self.keys() >= {"config", "replay", "workload", "partial"}:
            return "<Replay without a result>"
        return f"<Replay {replayed.headline(self)}>"


def whole(replay: Replay) -> Replay:
    """The result of a complete replay.

    :raises Interrupted: if it is not.
    """
    from wordline.api.interrupts import Interrupted

    if replay.partial:
        raise Interrupted("the replay was interrupted; the exception's 'result' is the partial result", replay)
    return replay
