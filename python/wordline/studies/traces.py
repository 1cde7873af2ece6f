"""True traces of a study, from a folder: found by name, and made ready for replay instead of its stand-ins."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordline.base.errors import Trouble

if TYPE_CHECKING:
    from wordline.api.workload import Workload

MARK = ".stand-in.json"
"""The end of the name of a file that marks another one as a stand-in."""
SMALL = 64 << 10
"""Bytes of the largest small request."""
ELSEWHERE = "traces are copied into a temporary folder; the variable TMPDIR names another one"
LOOKED_AT = 1000
"""Requests of each trace that are read before the work starts."""
SORTED = {"sort_window": 65536, "backwards": "clamp", "zero_size": "skip"}
"""Options of ``[trace]`` with which recorded traces are read: few of them are quite in order."""
FITTED = {"past_end": "wrap"}
"""Options of ``[trace]`` for a drive that is smaller than the recorded one: runs of addresses stay runs."""
REPLAYED = (
    "Addresses past the end of the simulated drive wrap around to its beginning. Requests that are not in the order of "
    f"time are sorted within {SORTED['sort_window']:,} requests; those still too early come with the one before. "
    "Requests of zero bytes are left out. A run takes as many requests as with the stand-in if the trace has them, and "
    "all of them with `--full`."
)
"""What these options do, on the page."""


@dataclass(frozen=True)
class Recorded:
    """The part of a true trace that a run replays, with requests of whole units."""

    name: str
    source: Path
    """The file, or the folder with the files, of the recorded trace."""
    align: int
    """Requests are rounded outwards to multiples of this many bytes."""
    limit: int | None
    """The most requests to take; None for all."""
    file: str
    """A copy of them, in Parquet."""
    requests: int
    small_reads: int
    """Reads of at most 64 KiB among them."""
    gap_us: float
    """Their mean interarrival time."""
    left_out: Mapping[str, int]
    """Requests and lines that were left out or moved in time."""

    def job(self, **replay: Any) -> dict[str, Any]:  # noqa: ANN401
        """The job of an experiment (see :func:`wordline.studies.drives.run`).

        :param replay: options of ``[trace]``.
        """
        trace = {"name": self.name, "file": str(self.source), "align": self.align, "limit": self.limit}
        return {"trace": trace, "replay": replay}

    def json(self) -> dict[str, Any]:
        """For programs."""
        told = {"trace": self.name, "file": self.source.name, "requests": self.requests}
        return told | {"left_out": dict(self.left_out)}


def find(folder: Path, names: Iterable[str]) -> dict[str, Path]:
    """The files of these traces in ``folder``: those whose names, up to the first dot and in any case, are the traces'.

    A folder of that name holds a trace in several files.

    :raises Trouble: if the folder cannot be read, two files have the name of one trace, or none has any.
    """
    wanted = {name.lower(): name for name in names}
    looked_for = f"it is searched for files named {', '.join(wanted.values())}, with any ending"
    if not folder.exists():
        raise Trouble(f"{folder}: this folder does not exist; {looked_for}")
    if not folder.is_dir():
        raise Trouble(f"{folder}: this is a file; give the name of a folder; {looked_for}")
    try:
        there = sorted(path for path in folder.iterdir() if not path.name.endswith(MARK))
    except OSError as error:
        raise Trouble(f"{folder}: cannot read this folder: {error.strerror}") from None
    found: dict[str, Path] = {}
    for path in there:
        name = wanted.get(path.name.partition(".")[0].lower())
        if name in found:
            raise Trouble(f"{found[name]} and {path}: both have the name of the trace {name}; leave one in the folder")
        if name is not None:
            found[name] = path
    if not found:
        raise Trouble(f"{folder}: none of the traces is there; {looked_for}")
    return {name: found[name] for name in wanted.values() if name in found}


def check(path: Path) -> None:
    """Reads the first requests of a trace, before the work starts.

    :raises Trouble: if its format is not recognised, it cannot be read, or it is a stand-in itself.
    """
    from wordline.api.workload import Workload

    with _advising():
        told = Workload.trace(path, **SORTED, limit=LOOKED_AT).info()
    if told["detected"]["stand_in"] is not None:
        raise Trouble(f"{path}: this is a stand-in itself, made from statistics; take it out of the folder")


@cache
def recorded(name: str, source: Path, align: int, limit: int | None) -> Recorded:
    """The first requests of a trace, each rounded outwards to multiples of ``align`` bytes.

    :raises Trouble: if it cannot be read, or has no times.
    """
    folder = Path(tempfile.mkdtemp(dir=_copies().name))
    plain, rounded, packed = (folder / file for file in ("plain.csv", "rounded.csv", "rounded.parquet"))
    with _advising():
        told = _convert(source, plain, {**SORTED, "limit": limit})
        last_us, small_reads = _round(plain, rounded, align) if told["timed"] else (0.0, 0)
    plain.unlink()
    if not last_us:
        raise Trouble(f"{source}: its requests have no times, or all the same; a study needs their times")
    with _advising():
        _convert(rounded, packed, {})
    rounded.unlink()
    gap_us = last_us / (told["requests"] - 1)
    return Recorded(name, source, align, limit, str(packed), told["requests"], small_reads, gap_us, told["left_out"])


def workload(job: Mapping[str, Any]) -> Workload:
    """The workload of :meth:`Recorded.job`."""
    from wordline.api.workload import Workload

    trace = job["trace"]
    part = recorded(trace["name"], Path(trace["file"]), trace["align"], trace["limit"])
    return Workload.trace(part.file, **FITTED, **job["replay"])


@cache
def _copies() -> tempfile.TemporaryDirectory[str]:
    """The folder of copies, which goes with the process: all systems of a study replay the same ones."""
    return tempfile.TemporaryDirectory(prefix="wordline-traces-")


def _convert(source: Path, to: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Writes a trace in the format of the ending; returns the figures of the conversion."""
    from wordline import _core

    sets = [f"trace.{key}={value}" for key, value in options.items() if value is not None]
    return json.loads(_core.trace_convert(str(source), sets, str(to), str(to), None, False, False, None, _silent))


def _round(source: Path, to: Path, align: int) -> tuple[float, int]:
    """Rounds reads and writes of a CSV trace outwards.

    :return: the time of the last request in microseconds, and the reads of at most 64 KiB.
    """
    last, small_reads = "0", 0
    with source.open(encoding="utf-8") as old, to.open("w", encoding="utf-8") as new:
        head = next(old)
        new.write(head)
        names = head.rstrip("\n").split(",")
        time, op, offset, size = (names.index(name) for name in ("time_us", "op", "offset_bytes", "size_bytes"))
        for line in old:
            cells = line.split(",")
            # A deallocation must not reach beyond its bytes, and a flush has none.
            if cells[op] in ("R", "W"):
                start = int(cells[offset]) // align * align
                end = -(-(int(cells[offset]) + int(cells[size])) // align) * align
                cells[offset], cells[size] = str(start), str(end - start)
                small_reads += cells[op] == "R" and end - start <= SMALL
            new.write(",".join(cells))
            last = cells[time]
    return float(last), small_reads


@contextmanager
def _advising() -> Iterator[None]:
    """Adds to messages of the engine what a user of ``wordline study`` can do, which has no options for traces."""
    from wordline import _core

    try:
        yield
    except OSError as error:
        raise Trouble(f"{_copies().name}: cannot write a copy of a trace: {error.strerror}\n  {ELSEWHERE}") from None
    except (_core.InputError, _core.RunError) as error:
        if str(error).startswith(_copies().name):
            raise Trouble(f"{error}\n  {ELSEWHERE}") from None
        remedy = "'wordline study' takes no options for traces; 'wordline trace convert' with them writes a copy that"
        raise Trouble(f"{error}\n  {remedy} is read without") from None


def _silent(*_: object) -> None:
    """Takes no notice of progress."""
