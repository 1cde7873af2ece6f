"""The result of a replay without time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordline.api.frames import Frame


class Replay(dict[str, Any]):
    """The result of a replay: what ``wordline replay --json`` writes, with the main figures as attributes.

    The lifetime curve is made by :meth:`lifetime`.
    """

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the result to a file, like ``wordline replay --json``. Only a complete one replaces an older file.

        :raises OSError: if it cannot be written; an older file is unchanged.
        """
        from wordline.base import files, jsontext

        files.write_text(path, jsontext.dumps(self) + "\n")

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
    def write_amplification(self) -> float | None:
        """Bytes programmed per byte written by the host; None without writes."""
        return self["write_amplification"]

    @property
    def erases(self) -> int:
        """Blocks erased."""
        return self["flash"]["erases"]

    @property
    def cpu_s(self) -> float:
        """CPU time in seconds."""
        return self["cpu_s"]

    @property
    def partial(self) -> bool:
        """True if the replay was interrupted; the figures then cover the part before that."""
        return self["partial"]

    @property
    def digest(self) -> str:
        """The same inputs give the same digest on every machine."""
        return self["digest"]

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

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ANN401
        # Else the shell of IPython would print the whole dictionary.
        printer.text(repr(self))


def whole(replay: Replay) -> Replay:
    """The result of a complete replay.

    :raises Interrupted: if it is not.
    """
    from wordline.api.interrupts import Interrupted

    if replay.partial:
        raise Interrupted("the replay was interrupted; the exception's 'result' is the partial result", replay)
    return replay
