"""What the results of runs and of replays have in common."""

from __future__ import annotations

import os
from typing import Any


class Result(dict[str, Any]):
    """A result: the dictionary that the command writes with ``--json``, with the main figures as attributes."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the result to a file, like ``--json``. An older file is replaced only by a complete one.

        :raises OSError: if it cannot be written; an older file is unchanged.
        """
        from wordline.base import files, jsontext

        files.write_text(path, jsontext.dumps(self) + "\n")

    @property
    def write_amplification(self) -> float | None:
        """Bytes programmed per byte written by the host; None without writes."""
        return self["write_amplification"]

    @property
    def partial(self) -> bool:
        """True if it was interrupted; the figures then cover the part before that."""
        return self["partial"]

    @property
    def digest(self) -> str:
        """The same inputs give the same digest on every machine."""
        return self["digest"]

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ANN401
        # Else the shell of IPython would print the whole dictionary.
        printer.text(repr(self))
