"""Workloads: traces and synthetic jobs."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wordline.api import functions as api
from wordline.api.spoken import speaking

if TYPE_CHECKING:
    from wordline._core import Load
    from wordline.api.frames import Frame

HERE = "the workload"
"""Name of a workload without a file in messages."""


class Workload:
    """A workload, read and checked; any number of drives can run it.

    Made by :meth:`read`, :meth:`trace`, :meth:`table`, :meth:`job` or :meth:`text`; ``+`` puts workloads side by side::

        Workload.trace("hm_0.csv.gz", past_end="wrap") + Workload.job(rw="randread", bs="4k", rate_iops=1000)
    """

    def __init__(self, engine: Load) -> None:
        """Takes what the engine has read; use one of the methods that make a workload."""
        self.engine = engine
        self._made_of: tuple[object, ...] | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str], sets: api.Sets = None) -> Workload:
        """A trace or a workload file, as the command ``wordline run`` takes it.

        :param sets: overrides of its keys.
        :raises wordline.InputError: if it is wrong. A trace is opened when it is run.
        """
        from wordline import _core

        with speaking():
            return cls(_core.Load.read(os.fspath(path), api.set_texts(sets)))

    @classmethod
    def trace(cls, path: str | os.PathLike[str], **options: Any) -> Workload:  # noqa: ANN401
        """A trace, with the options of ``[trace]``: ``format``, ``past_end``, ``pace``, ``speed``, ``limit`` …

        :raises wordline.InputError: if an option is wrong.
        """
        return cls._made({"trace": {"file": os.fspath(path), **options}})

    @classmethod
    def table(cls, data: object, *, name: str = "table", **options: Any) -> Workload:  # noqa: ANN401
        """A trace in memory: a table of pandas, Polars or pyarrow, or a mapping of columns such as numpy arrays.

        Its columns are read where they are. They are found by their names, in any case: ``time_s``, ``time_ms``,
        ``time_us``, ``time_ns``, ``time_ps``, or ``time`` (times and durations know their unit, for numbers give
        ``time_unit``); ``op`` (words such as read, write, trim, flush, or R, W, T, F); ``offset`` or ``offset_bytes``
        in bytes, or ``lba`` in blocks of 512 bytes; ``size`` or ``size_bytes``, or ``blocks``; and, if there,
        ``device`` and ``fua``. Others are named by ``columns={"time": "ts", …}`` as in ``[trace.columns]``.

        :param name: stands for the table in messages and results.
        :param options: those of ``[trace]``: ``past_end``, ``pace``, ``speed``, ``limit`` …
        :raises wordline.InputError: if a column is missing or of the wrong kind. Rows are checked when they are read.
        """
        from wordline.api.frames import arrow_of

        return cls._of_table(toml_text({"trace": {"file": name, **options}}), arrow_of(data))

    @classmethod
    def _of_table(cls, text: str, data: object) -> Workload:
        from wordline import _core

        with speaking():
            made = cls(_core.Load.table(HERE, text, data))
        made._made_of = (cls._of_table, (text, data))
        return made

    @classmethod
    def _unpacked(cls, packed: str) -> Workload:
        from wordline import _core

        return cls(_core.Load.unpack(packed))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles the workload file's content, and a table in memory; a trace goes by its file name."""
        return self._made_of or (Workload._unpacked, (self.engine.pack(),))

    @classmethod
    def job(cls, **options: Any) -> Workload:  # noqa: ANN401
        """A synthetic job, with the options of ``[[job]]``: ``rw``, ``bs``, ``iodepth``, ``size``, ``number_ios`` …

        :raises wordline.InputError: if an option is wrong.
        """
        return cls._made({"job": [options]})

    @classmethod
    def text(cls, toml: str, sets: api.Sets = None, *, name: str = HERE) -> Workload:
        """A workload from the text of a workload file; ``name`` stands for it in messages.

        :raises wordline.InputError: if it is wrong.
        """
        from wordline import _core

        with speaking():
            return cls(_core.Load.text(name, toml, api.set_texts(sets)))

    @classmethod
    def given(cls, load: Workload | str | os.PathLike[str], sets: api.Sets = None) -> Workload:
        """A workload as it is, or read from a file."""
        if not isinstance(load, Workload):
            if not isinstance(load, str | os.PathLike):
                raise TypeError(f"a workload is a Workload, or the name of a trace or workload file, not {load!r}")
            return cls.read(load, sets)
        if sets is not None:
            raise TypeError("overrides of a workload go with the name of a file; a Workload has its options already")
        return load

    @classmethod
    def _made(cls, document: Mapping[str, Any]) -> Workload:
        return cls.text(toml_text(document))

    @property
    def options(self) -> dict[str, Any]:
        """Every option of it: ``trace``, ``job`` (a list) and ``runtime_s``, as in a workload file."""
        return json.loads(self.engine.describe())

    def info(self) -> dict[str, Any]:
        """A description of its trace: counts, sizes, footprint, randomness, and the reason for its format.

        :raises wordline.InputError: if it has no trace, or the trace cannot be read.
        """
        with speaking():
            return json.loads(self.engine.info())

    def to_frame(self, limit: int | None = None) -> Frame:
        """The requests of its trace.

        Columns: ``time_ps`` since the first, ``op``, ``offset_bytes``, ``size_bytes``, ``fua`` and, if any, ``device``.
        They are as in the trace, not mapped to a drive; :meth:`table` accepts them again.

        :param limit: the most requests to read.
        :raises wordline.InputError: if it has no trace, or the trace cannot be read.
        """
        from wordline.api.frames import Frame

        with speaking():
            return Frame(self.engine.records(limit))

    def __add__(self, other: Workload) -> Workload:
        """Both side by side.

        :raises wordline.InputError: if both have a trace, or they end at different times.
        """
        if not isinstance(other, Workload):
            return NotImplemented
        with speaking():
            both = Workload(self.engine.beside(other.engine))
        if self._made_of or other._made_of:
            both._made_of = (operator.add, (self, other))
        return both

    def __repr__(self) -> str:
        """The workload in a line."""
        options = self.options
        parts = [str(options["trace"]["file"])] if options["trace"] else []
        parts += [job["name"] or f"{job['rw']} {job['bs']}" for job in options["job"]]
        return f"<Workload {', '.join(parts)}>"


def toml_text(document: Mapping[str, Any]) -> str:
    """The text of a workload file, one key per line, so that messages name the line."""
    lines = []
    for key, value in document.items():
        if isinstance(value, Mapping):
            lines += [f"[{key}]", *_lines(value)]
        elif isinstance(value, list | tuple):
            lines += [line for below in value for line in (f"[[{key}]]", *_lines(below))]
        elif value is not None:
            # Before the first section: there it belongs to the whole.
            lines.insert(0, f"{key} = {api.toml_value(value)}")
    return "\n".join(lines) + "\n"


def _lines(section: Mapping[str, Any]) -> list[str]:
    return [f"{json.dumps(key)} = {api.toml_value(value)}" for key, value in section.items() if value is not None]
