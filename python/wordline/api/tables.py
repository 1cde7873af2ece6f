"""Tables of a run: their options, errors and files; see ``docs/tables.md``."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.base.errors import or_nearest

if TYPE_CHECKING:
    import pyarrow.dataset

Asked = tuple[list[str], str, int | None, int | None, tuple[int, int] | None]
"""Names, directory, one request in so many, length of an interval and window in picoseconds, as for the engine."""

SHORTEST = 10 * units.PICOSECONDS["us"]

DIVIDED = ("intervals", "channels", "dies", "planes")
"""The tables with a row an interval."""

A_SAMPLE = re.compile(r"1\s*/\s*([1-9]\d{0,17})")


def which(tables: str | Iterable[str]) -> list[str]:
    """The names in ``"requests,intervals"`` or a list; ``all`` means all.

    :raises ValueError: if there is no such table; the message says which there are.
    """
    from wordline import _core

    known = _core.table_names()
    words = tables.split(",") if isinstance(tables, str) else list(tables)
    names = [word.strip() for word in words]
    for name in names:
        if name not in {*known, "all"}:
            raise ValueError(f"there is no table '{name}': {or_nearest(name, known, 'tables')}, or all")
    if not names:
        raise ValueError(f"no table is named; {or_nearest('', known, 'tables')}, or all")
    return [name for name in known if name in names or "all" in names]


def sample(text: object) -> int:
    """``1/100``: one request in a hundred.

    :raises ValueError: if it is no such share.
    """
    found = A_SAMPLE.fullmatch(str(text).strip())
    if not found:
        raise ValueError(f"'{text}' is not a sample; give one such as 1/100, for one request in a hundred")
    return int(found[1])


def interval(text: object) -> int:
    """``100ms`` in picoseconds.

    :raises ValueError: if it is no time, or too short.
    """
    length = units.picoseconds(str(text))
    if length < SHORTEST:
        raise ValueError(f"the interval '{text}' is too short; give at least 10us")
    if length >= units.END_OF_TIME:
        raise ValueError(f"the interval '{text}' is longer than any run; give one such as 100ms")
    return length


def asked(
    tables: str | Iterable[str] | None,
    out: str | os.PathLike[str] | None,
    share: str | None,
    length: str | None,
    window: tuple[int, int] | None = None,
    dashes: str = "",
) -> Asked | None:
    """The tables for the engine, if any; ``tables``, ``out``, ``sample`` and ``interval`` as the user gave them.

    :param window: the part of simulated time whose rows are written, if not all of it.
    :param dashes: before the names of options in messages, for the command.
    :raises wordline.InputError: if one of them is wrong, without what it belongs to, or would have no effect.
    """
    from wordline import _core

    if tables is None:
        for option, value in (("out", out), ("sample", share), ("interval", length)):
            if value is not None:
                raise _core.InputError(f"{dashes}{option} is for tables; name them with {dashes}tables")
        return None
    if out is None:
        raise _core.InputError(f"{dashes}tables needs a directory; give it with {dashes}out")
    if os.fspath(out) == "-":
        raise _core.InputError(f"{dashes}out -: tables are files in a directory; give its name")
    option = "tables"
    try:
        names = which(tables)
        option = "sample"
        _heeded("table requests", share, {"requests"}, names)
        one_in = None if share is None else sample(share)
        option = "interval"
        _heeded(f"tables {', '.join(DIVIDED)}", length, DIVIDED, names)
        return names, os.fspath(out), one_in, None if length is None else interval(length), window
    except ValueError as error:
        raise _core.InputError(f"{dashes}{option}: {error}") from None


def _heeded(what: str, value: object, by: Collection[str], names: Iterable[str]) -> None:
    """An option that only some tables heed needs one of them.

    :raises ValueError: if it is given and there is none.
    """
    if value is not None and not {*by} & {*names}:
        raise ValueError(f"this is only for the {what}, and the tables to write are {', '.join(names)}")


def failures(result: dict[str, Any]) -> list[str]:
    """Why tables of a run could not be written, if they could not."""
    return result.get("tables", {}).get("errors", [])


def whole(result: dict[str, Any]) -> dict[str, Any]:
    """The result of a run whose tables, if there are any, were all written.

    :raises wordline.RunError: if one was not.
    """
    from wordline import _core

    problems = failures(result)
    if problems:
        raise _core.RunError("\n".join(problems))
    return result


def paths(result: Mapping[str, Any]) -> dict[str, str]:
    """The files of a run's tables by their names."""
    return {file["name"]: file["path"] for file in result.get("tables", {}).get("files", [])}


def opened(result: Mapping[str, Any], name: str) -> pyarrow.dataset.Dataset:
    """A table as a pyarrow dataset, which is read only on access.

    :raises KeyError: if the run wrote no such table.
    """
    from wordline.api.frames import needed

    files = paths(result)
    if name not in files:
        has = f"it wrote {', '.join(files)}" if files else "it wrote none"
        raise KeyError(f"this run has no table '{name}' ({has}); tables are written during the run, on request")
    needed("pyarrow")
    import pyarrow.dataset

    return pyarrow.dataset.dataset(files[name], format="parquet")
