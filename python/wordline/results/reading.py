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
"""Bytes of the longest result that is read. The largest are a few MB; a pipe may be endless."""

PTS_NEEDED = ("version", "drive", "title", "capacity_bytes", "sets", "seed", "partial", "differences", "tests")
"""Without these a file holds no tests of ``wordline pts``."""


def read(name: str) -> dict[str, Any]:
    """The result of a run or a replay in a file that ``--json`` wrote.

    :raises wordline.InputError: if the file cannot be read or holds something else.
    """
    result = document(name)
    if "pts" in result:
        raise InputError(f"{name}: these are tests of 'wordline pts'; give a result, a file of 'wordline run --json'")
    return checked(name, result)


def document(name: str) -> dict[str, Any]:
    """The contents of a result file, of a run, a replay or ``wordline pts``.

    :raises wordline.InputError: if the file cannot be read or holds no such thing.
    """
    try:
        text = _text(name)
    except IsADirectoryError:
        raise InputError(f"{name}: this is a directory; give a result, a file of 'wordline run --json'") from None
    except UnicodeDecodeError:
        raise InputError(f"{name}: this is not text; give a result, a file of 'wordline run --json'") from None
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{name!r}: {error}") from None
    try:
        result = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise InputError(f"{name}:{error.lineno}:{error.colno}: this is not JSON: {error.msg}") from None
    except ValueError as error:
        raise InputError(f"{name}: this is not a result: {error}") from None
    except RecursionError:
        raise InputError(f"{name}: this is not a result: its brackets are nested too deeply") from None
    if not isinstance(result, dict) or not {"schema", "pts"} & result.keys():
        raise InputError(f"{name}: this is JSON, but not a result (no 'schema'); give a file of 'wordline run --json'")
    return result


def checked(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """The result of a run or a replay, if it is a whole one of the layout that this version reads.

    :raises wordline.InputError: if it is not.
    """
    if result["schema"] != SCHEMA:
        version = result.get("version", "(unknown version)")
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
        raise InputError(f"{name}: these tests of 'wordline pts' are incomplete: there is no '{missing[0]}'")
    if result["version"] != _core.version():
        raise InputError(
            f"{name}: tests by Wordline {result['version']}; this is {_core.version()}, which reads only its own"
        )
    return result


def is_replay(result: dict[str, Any]) -> bool:
    """True of a result of ``wordline replay``, which has no times."""
    return "replay" in result


def of_run(name: str) -> dict[str, Any]:
    """The result of a run in a file.

    :raises wordline.InputError: if the file cannot be read or holds something else.
    """
    result = read(name)
    if is_replay(result):
        told = "this is the result of 'wordline replay', which has no times"
        raise InputError(f"{name}: {told}; give a result of a run, a file of 'wordline run --json'")
    return result


def of_replay(name: str) -> dict[str, Any]:
    """The result of a replay in a file.

    :raises wordline.InputError: if the file cannot be read or holds something else.
    """
    result = read(name)
    if not is_replay(result):
        told = "this is the result of a run"
        raise InputError(f"{name}: {told}; give a result of a replay, a file of 'wordline replay --json'")
    return result


def of_one_kind(names: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    """Results of runs, or results of replays, each with the name of its file.

    :raises wordline.InputError: if a file cannot be read or holds something else, or they are of both kinds.
    """
    found = [(name, read(name)) for name in names]
    first, of_first = found[0]
    for name, result in found[1:]:
        if is_replay(result) != is_replay(of_first):
            kinds = {True: "a replay, without times", False: "a run"}
            raise InputError(
                f"{name}: this is the result of {kinds[is_replay(result)]}, and {first} is of "
                f"{kinds[is_replay(of_first)]}; compare results of one kind"
            )
    return found


@contextmanager
def shown(names: Sequence[str]) -> Iterator[None]:
    """Reports values that are valid one by one but do not fit together, which shows only when they are used.

    :raises wordline.InputError: if they do not fit together.
    """
    try:
        yield
    except (InputError, OSError):
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        what = "these results are" if len(names) > 1 else "this result is"
        raise InputError(
            f"{', '.join(names)}: {what} inconsistent, perhaps edited or damaged "
            f"({type(error).__name__}: {error}); run again"
        ) from error


def _text(name: str) -> str:
    """The contents of a file or pipe.

    :raises OSError: if it cannot be read.
    :raises wordline.InputError: if it is no file, or one that goes on beyond any result.
    """
    mode = Path(name).stat().st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise InputError(f"{name}: this is a device; give a result, a file of 'wordline run --json'")
    with Path(name).open("rb") as file:
        data = file.read(LONGEST + 1)
    if len(data) > LONGEST:
        raise InputError(f"{name}: this is not a result: it is longer than {LONGEST >> 20} MiB")
    return data.decode()


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not a valid number in a result")


def _finite(word: str) -> float:
    value = float(word)
    if not math.isfinite(value):
        _refuse(word)
    return value
