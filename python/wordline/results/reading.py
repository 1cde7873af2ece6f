"""Results that were saved, read with care."""

from __future__ import annotations

import json
import math
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wordline import _core
from wordline._core import InputError
from wordline.results import shape as resultshape

SCHEMA = 1
"""The layout of results that this version reads."""

LONGEST = 1 << 27
"""Bytes of the longest result that is read: the largest are a few MB, and a pipe may have no end."""

PTS_NEEDED = ("version", "drive", "title", "capacity_bytes", "sets", "seed", "partial", "differences", "tests")
"""Without these a file holds no tests of ``wordline pts``."""


def read(name: str) -> dict[str, Any]:
    """The result in a file that ``wordline run --json`` wrote.

    :raises wordline.InputError: if the file cannot be read or holds something else.
    """
    result = document(name)
    if "pts" in result:
        raise InputError(f"{name}: these are tests of 'wordline pts'; give a result, a file of 'wordline run --json'")
    return checked(name, result)


def document(name: str) -> dict[str, Any]:
    """What is in a file of results, of a run or of ``wordline pts``, whatever it is.

    :raises wordline.InputError: if the file cannot be read or holds no such thing.
    """
    try:
        text = _text(name)
    except IsADirectoryError:
        raise InputError(f"{name}: this is a directory; give a result, a file of 'wordline run --json'") from None
    except UnicodeDecodeError:
        raise InputError(f"{name}: this is no text; give a result, a file of 'wordline run --json'") from None
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{name!r}: {error}") from None
    try:
        result = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise InputError(f"{name}:{error.lineno}:{error.colno}: this is no JSON: {error.msg}") from None
    except ValueError as error:
        raise InputError(f"{name}: this is no result: {error}") from None
    except RecursionError:
        raise InputError(f"{name}: this is no result: its brackets are nested too deeply") from None
    if not isinstance(result, dict) or not {"schema", "pts"} & result.keys():
        raise InputError(f"{name}: this is JSON, but no result (no 'schema'); give a file of 'wordline run --json'")
    return result


def checked(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """The result of a run, if it is a whole one of the layout that this version reads.

    :raises wordline.InputError: if it is not.
    """
    if result["schema"] != SCHEMA:
        version = result.get("version", "of another age")
        raise InputError(
            f"{name}: a result of schema {json.dumps(result['schema'])}, written by Wordline {version}; "
            f"this version reads schema {SCHEMA}"
        )
    problem = resultshape.problem(result)
    if problem:
        raise InputError(f"{name}: {problem}")
    return result


def checked_tests(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """What ``wordline pts`` found, if it is whole and of this version: of these no layout is kept for others.

    :raises wordline.InputError: if it is not.
    """
    missing = [key for key in PTS_NEEDED if key not in result]
    if missing:
        raise InputError(f"{name}: these are no whole tests of 'wordline pts': there is no '{missing[0]}'")
    if result["version"] != _core.version():
        raise InputError(
            f"{name}: tests by Wordline {result['version']}; this is {_core.version()}, and reads its own only"
        )
    return result


@contextmanager
def shown(names: Sequence[str]) -> Iterator[None]:
    """What was read from files is shown meanwhile. Each value is what its key says; whether all of them go together, as
    those of a run do, only shows when something is made of them.

    :raises wordline.InputError: if they do not.
    """
    try:
        yield
    except (InputError, OSError):
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        what = "these results do" if len(names) > 1 else "this result does"
        raise InputError(
            f"{', '.join(names)}: {what} not hold together, as edited or damaged ones do "
            f"({type(error).__name__}: {error}); run again"
        ) from error


def _text(name: str) -> str:
    """What is in a file, or comes through a pipe.

    :raises OSError: if it cannot be read.
    :raises wordline.InputError: if it is no file, or one that goes on beyond any result.
    """
    mode = Path(name).stat().st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise InputError(f"{name}: this is a device; give a result, a file of 'wordline run --json'")
    with Path(name).open("rb") as file:
        data = file.read(LONGEST + 1)
    if len(data) > LONGEST:
        raise InputError(f"{name}: this is no result: it is longer than {LONGEST >> 20} MiB")
    return data.decode()


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no number of a result")


def _finite(word: str) -> float:
    value = float(word)
    if not math.isfinite(value):
        _refuse(word)
    return value
