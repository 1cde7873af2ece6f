"""The engine's messages for Python: options of the command become arguments of functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

WORDS = (
    (r"write --set ", "write sets="),
    (r"--load-set '([^']*)'", r"\1"),
    (r"--(?:load-)?set (?=\S+=)", ""),
    (r"with --from (\S+)", r"with snapshot='\1'"),
    (r"--from (\S+)", r"snapshot='\1'"),
    (r"on the command line by ", "here by "),
    (r"'wordline precondition'", "Drive.precondition and Drive.save"),
    (r"--(load-)?set\b", "sets"),
    (r"--([a-z]+)-([a-z]+)-([a-z]+)", r"\1_\2_\3"),
    (r"--([a-z]+)-([a-z]+)", r"\1_\2"),
    (r"--([a-z]+)", r"\1"),
)
"""Options of the command, and their form in Python."""


def in_python(message: str) -> str:
    """A message without options of the command line."""
    for option, argument in WORDS:
        message = re.sub(option, argument, message)
    return message


@contextmanager
def speaking() -> Iterator[None]:
    """Rewrites errors of the engine in the terms of Python."""
    from wordline import _core

    try:
        yield
    except (_core.InputError, _core.RunError) as error:
        text = in_python(str(error))
        if len(error.args) == 1 and text != error.args[0]:
            error.args = (text,)
        raise
