"""Results by what they are the results of: a sweep that is repeated, or goes on, runs only what is new."""

from __future__ import annotations

import glob
import gzip
import hashlib
import json
import os
import pickle
import zlib
from pathlib import Path
from typing import Any

from wordline import _core
from wordline.base import files
from wordline.results import repeats
from wordline.results.keyfigures import FIGURES

CHUNK = 1 << 20
"""Bytes that are read at once."""

PACKING = 1
"""How hard results are packed: as fast as possible, which makes a fifth of them."""

FIGURES_OF_POINTS = tuple(dict.fromkeys([*repeats.KEYS, *(figure.key for figure in FIGURES)]))
"""The figures of a point, by their keys in a result."""

PARTS = [*FIGURES_OF_POINTS, "activity.interval_s", "activity.end_s", "digest", "partial"]
"""The keys of a result from which they are made."""


def parts(text: str) -> dict[str, Any]:
    """The parts of a result in which the figures of a point are: reading all of it takes as long as a small run.

    :raises ValueError: if it is no result.
    """
    found = json.loads(_core.part_of_result(text, PARTS))
    return found if isinstance(found, dict) else {}


class Store:
    """A directory with a file for each result."""

    def __init__(self, directory: str | os.PathLike[str], packed: bool = False) -> None:
        """Takes or makes the directory.

        :param packed: the files are packed, for results that only programs read.
        :raises OSError: if it cannot be made.
        """
        self.directory = Path(directory)
        self.packed = packed
        self.directory.mkdir(parents=True, exist_ok=True)
        self._used: set[Path] = set()
        """Directories in which a result was written."""

    def path(self, key: str) -> Path:
        """The file of a result."""
        return self.directory / f"{place(key)}{'.gz' if self.packed else ''}"

    def text(self, key: str) -> str | None:
        """The result as it was kept, if it is there and its file is not damaged."""
        try:
            held = self.path(key).read_bytes()
            return (gzip.decompress(held) if self.packed else held).decode()
        except (OSError, EOFError, ValueError, zlib.error):
            # Absent, or damaged: it is run again.
            return None

    def get(self, key: str) -> dict[str, Any] | None:
        """The result, if it is there and whole."""
        try:
            result = json.loads(self.text(key) or "")
        except ValueError:
            return None
        whole = isinstance(result, dict) and result.get("digest") and result.get("partial") is False
        return result if whole else None

    def figures(self, key: str) -> dict[str, Any] | None:
        """The parts of the result that a table of points needs, if it is there and whole."""
        try:
            result = parts(self.text(key) or "")
        except ValueError:
            return None
        return result if result.get("digest") and result.get("partial") is False else None

    def put(self, key: str, text: str) -> None:
        """Keeps a result.

        :raises OSError: if it cannot be written.
        """
        path = self.path(key)
        if path.parent not in self._used:
            path.parent.mkdir(exist_ok=True)
            files.clear_all(path.parent)
            self._used.add(path.parent)
        held = f"{text}\n".encode()
        # Without a time in it, the same result makes the same file.
        files.write_result(path, gzip.compress(held, PACKING, mtime=0) if self.packed else held)


class Contents:
    """What files hold, in short; each is read once."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, int, int], str] = {}

    def of(self, name: str) -> str:
        """A digest of a file, or of all files of a directory; of a name that is no file, the name."""
        path = Path(name)
        if not path.exists() and glob.has_magic(name):
            return digest([self.of(file) for file in sorted(glob.glob(name))])  # noqa: PTH207
        if path.is_dir():
            return digest([self.of(str(file)) for file in sorted(path.iterdir()) if file.is_file()])
        if not path.is_file():
            return name
        state = path.stat()
        at = (str(path.resolve()), state.st_size, state.st_mtime_ns)
        if at not in self.known:
            hashed = hashlib.blake2b(digest_size=16)
            with path.open("rb") as file:
                while chunk := file.read(CHUNK):
                    hashed.update(chunk)
            self.known[at] = hashed.hexdigest()
        return self.known[at]


def of_load(load: object, options: dict[str, Any], contents: Contents) -> Any:  # noqa: ANN401
    """What a workload is: its options, with what its trace holds in place of the name."""
    trace = options.get("trace")
    if not trace:
        return options
    named = trace["file"]
    beside = Path(load).parent if isinstance(load, str) else Path()
    held = []
    for name in named if isinstance(named, list) else [named]:
        own = beside / name
        held.append(contents.of(str(own if own.exists() or glob.has_magic(name) else name)))
    if not isinstance(load, str):
        # A table in memory has no file that tells what it holds.
        held.append(hashlib.blake2b(pickle.dumps(load), digest_size=16).hexdigest())
    return {**options, "trace": {**trace, "file": held}}


def place(key: str) -> str:
    """The file of a result in its directory. No directory gets so many files that looking through it takes time."""
    return f"{key[:2]}/{key[2:]}.json"


def key(*parts: Any) -> str:  # noqa: ANN401
    """The name of a result: a digest of all that it depends on, and the version of the engine."""
    return digest([_core.version(), *parts])


def digest(value: Any) -> str:  # noqa: ANN401
    """A digest of a value of JSON."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
