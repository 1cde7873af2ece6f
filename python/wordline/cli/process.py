"""The command as a process: its streams, its arguments as texts, and the signals that end it early."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from wordline.base.errors import INTERRUPTED, Trouble


def standard_streams() -> None:
    """Makes output and error usable, whatever the program was started with."""
    for name, number, mode in (("stdout", 1, os.O_RDONLY), ("stderr", 2, os.O_WRONLY)):
        if getattr(sys, name) is None:
            # It was closed, and the next file that is opened would get its number. Nobody misses messages; but output
            # that has nowhere to go is an error, as it is where the disk is full, so its place cannot be written to.
            opened = os.open(os.devnull, mode)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
        # A terminal without µ or a dash shows a question mark rather than an error.
        getattr(sys, name).reconfigure(errors="replace")


def typed(arguments: Sequence[str]) -> list[str]:
    """The arguments, if all of them are texts: names go into results, which hold nothing else.

    :raises Trouble: if one is not.
    """
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(argument).decode("utf-8", "backslashreplace")
            raise Trouble(
                f"{shown}: this name is not UTF-8, as results require; rename the file, or give a link to it"
            ) from None
    return list(arguments)


class Signals:
    """SIGTERM, as of a batch system, and SIGHUP, of a terminal that is closed, do what Ctrl-C does."""

    def __init__(self) -> None:
        """Takes them, but for one that is ignored on purpose, as under nohup."""
        self.taken: int | None = None
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, self._interrupt)

    def _interrupt(self, number: int, _: FrameType | None) -> None:
        # They come in pairs, from system and shell: the second must not interrupt the writing of partial results.
        if self.taken is None:
            self.taken = number
            raise KeyboardInterrupt

    def status(self, status: int) -> int:
        """The exit status of a command that ends with ``status``: one that was interrupted tells by which signal."""
        return status if self.taken is None or status != INTERRUPTED else 128 + self.taken
