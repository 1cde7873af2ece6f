"""The command inside the process of the tests: arguments, folder, environment, streams and status as in its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from unittest.mock import patch

from wordline.__main__ import main

TAKEN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
"""Signals that the command or its time limit handles."""


def run(
    command: Sequence[str], cwd: Path, environment: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Runs ``command``, the name of the program and its arguments, to its end.

    After ``timeout`` seconds it is interrupted, and ends with the status of that.
    """
    with TemporaryFile() as output, TemporaryFile() as error, ExitStack() as stack:
        stack.enter_context(streams(output, error))
        stack.enter_context(patch.object(sys, "argv", list(command)))
        stack.enter_context(patch.dict(os.environ, environment, clear=True))
        stack.enter_context(within(cwd))
        stack.enter_context(limited(timeout))
        status = None
        try:
            main()
        except SystemExit as left:
            status = left.code
        assert isinstance(status, int), "the program ends with a number"
        stack.close()
        texts = [text_of(file) for file in (output, error)]
    return subprocess.CompletedProcess(list(command), status, *texts)


@contextmanager
def streams(output: IO[bytes], error: IO[bytes]) -> Iterator[None]:
    """Output and error go to files, and nothing can be read."""
    kept = [os.dup(number) for number in (0, 1, 2)]
    with Path(os.devnull).open("rb") as nothing:
        for number, file in enumerate((nothing, output, error)):
            os.dup2(file.fileno(), number)
    opened = [
        open(number, mode, buffering, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
        for number, mode, buffering, errors in ((0, "r", -1, "strict"), (1, "w", -1, "strict"), (2, "w", 1, "replace"))
    ]
    names = ("stdin", "stdout", "stderr")
    try:
        with patch.multiple(sys, **dict(zip(names, opened, strict=True))):
            yield
    finally:
        for stream in opened:
            stream.close()
        for number, descriptor in enumerate(kept):
            os.dup2(descriptor, number)
            os.close(descriptor)


@contextmanager
def within(folder: Path) -> Iterator[None]:
    """The current folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """An interrupt after this time; the handlers of signals stay as they were."""
    before = [signal.getsignal(number) for number in TAKEN]
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in zip(TAKEN, before, strict=True):
            signal.signal(number, handler)


def text_of(file: IO[bytes]) -> str:
    """All that was written to it."""
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")
