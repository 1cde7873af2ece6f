"""What a sweep found: a row for each point."""

from __future__ import annotations

import csv
import io
import json
import os
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from wordline import _core
from wordline.api.frames import Column, Frame
from wordline.api.runs import Run
from wordline.results import repeats
from wordline.results.keyfigures import FIGURES, KeyFigure
from wordline.sweeps import store
from wordline.sweeps.space import SEED
from wordline.sweeps.store import Store
from wordline.sweeps.work import PointJob

SCHEMA = 1
"""The layout of :meth:`Sweep.document`."""

LEAST, MOST = -(2**63), 2**63 - 1
"""Of whole numbers in a column."""

SHOWN = ("iops", "bandwidth_mib_s", "latency_us.read.p99", "latency_us.write.p99", "write_amplification")
"""The figures on the terminal."""


class Sweep:
    """The points of a sweep with their results, in the order of its design."""

    def __init__(
        self, title: str, columns: list[str], jobs: Sequence[PointJob], interrupted: bool, kept: Store | None
    ) -> None:
        """Takes the jobs, done or not, and where their results are kept, if they are."""
        self._kept = kept
        self.title = title
        self.columns = columns
        """The names of the factors."""
        self.jobs = list(jobs)
        self.interrupted = interrupted
        """True if some points were not run."""

    def __len__(self) -> int:
        """The number of points."""
        return len(self.jobs)

    @property
    def points(self) -> list[dict[str, Any]]:
        """The factors of each point."""
        return [dict(job.point.factors) for job in self.jobs]

    @property
    def runs(self) -> list[Run | None]:
        """The result of each point; None where it failed or was not run. Results in files are read anew each time."""
        return [self._run(job) for job in self.jobs]

    def _run(self, job: PointJob) -> Run | None:
        if job.text is not None:
            return Run(json.loads(job.text))
        result = self._kept.get(job.key) if self._kept and job.figures is not None else None
        return None if result is None else Run(result)

    @property
    def failed(self) -> list[tuple[dict[str, Any], str]]:
        """The factors of each point that failed, and why."""
        return [(dict(job.point.factors), job.error) for job in self.jobs if job.error is not None]

    def frame(self) -> Frame:
        """A table for pandas, Polars or pyarrow, a row a point: factors, seed, main figures, what became of it.

        Columns have the types of their values, and figures the names of their keys in a result, with units.
        """
        factors = [name for name in self.columns if name != SEED]
        columns: list[Column] = [column(name, [job.point.factors[name] for job in self.jobs]) for name in factors]
        columns.append((SEED, "uint", [job.point.seed for job in self.jobs]))
        for key in repeats.KEYS:
            values = [(job.figures or {}).get(key) for job in self.jobs]
            if any(value is not None for value in values):
                columns.append((key, "float", [None if value is None else float(value) for value in values]))
        ran = [job.figures is not None for job in self.jobs]
        kept = [f"results/{store.place(job.key)}" if it else None for job, it in zip(self.jobs, ran, strict=True)]
        columns.append(("digest", "text", [job.digest or None for job in self.jobs]))
        columns.append(("result", "text", kept if self._kept else [None] * len(kept)))
        columns.append(("status", "text", [status(job.error, it) for job, it in zip(self.jobs, ran, strict=True)]))
        columns.append(("error", "text", [job.error for job in self.jobs]))
        return Frame.of(columns)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the report of the sweep: one HTML file, for a browser. Only a complete one replaces an older file.

        :raises OSError: if it cannot be written; an older file is unchanged.
        """
        from wordline.base import files
        from wordline.sweeps import page

        files.write_text(path, page.html(self))

    def csv(self) -> str:
        """The same table as comma-separated values."""
        keys = [key for key in repeats.KEYS if any(key in (job.figures or {}) for job in self.jobs)]
        factors = [name for name in self.columns if name != SEED]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*factors, SEED, *keys, "result", "error"])
        for job in self.jobs:
            figures = [(job.figures or {}).get(key) for key in keys]
            name = f"results/{store.place(job.key)}" if job.figures is not None else None
            writer.writerow([*(job.point.factors[f] for f in factors), job.point.seed, *figures, name, job.error])
        return text.getvalue()

    def document(self) -> dict[str, Any]:
        """All of it for JSON: a number of the layout, the factors, and each point with its figures or its error."""

        def of(job: PointJob) -> dict[str, Any]:
            told: dict[str, Any] = {"factors": job.point.factors, "seed": job.point.seed, "key": job.key or None}
            if job.figures is not None:
                told["digest"] = job.digest
                told["figures"] = {key: job.figures[key] for key in repeats.KEYS if key in job.figures}
            return {**told, "error": job.error}

        return {
            "schema": SCHEMA,
            "version": _core.version(),
            "title": self.title,
            "partial": self.interrupted,
            "factors": self.columns,
            "points": [of(job) for job in self.jobs],
        }

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """A table for reading: heads, and a row for each combination of factors, with means over the seeds."""
        factors = [name for name in self.columns if name != SEED]
        figures = [figure for figure in FIGURES if figure.key in SHOWN and any(self._values(self.jobs, figure))]
        combinations: dict[str, list[PointJob]] = {}
        for job in self.jobs:
            combinations.setdefault(repr([job.point.factors[name] for name in factors]), []).append(job)
        rows = []
        for jobs in combinations.values():
            cells = [cell(jobs[0].point.factors[name]) for name in factors]
            for figure in figures:
                values = list(self._values(jobs, figure))
                cells.append(figure.text(statistics.fmean(values)) if values else "-")
            rows.append(cells)
        return [*factors, *(figure.name for figure in figures)], rows

    def _values(self, jobs: Sequence[PointJob], figure: KeyFigure) -> Iterator[float]:
        for job in jobs:
            value = (job.figures or {}).get(figure.key)
            if value:
                yield value

    def __repr__(self) -> str:
        """The sweep in a line."""
        done = sum(job.figures is not None for job in self.jobs)
        return f"<Sweep {', '.join(self.columns) or 'of one point'}: {done} of {len(self.jobs)} points>"


def cell(value: object) -> str:
    """A value of a factor as a table shows it."""
    return "-" if value is None else value if isinstance(value, str) else str(value)


def status(error: str | None, ran: bool) -> str:
    """What became of a point: ``done``, ``failed``, or ``not run``."""
    return "failed" if error is not None else "done" if ran else "not run"


def column(name: str, values: list[Any]) -> Column:
    """A column of the values of a factor, of their type if they have one, else texts."""
    given = [value for value in values if value is not None]
    kinds = {type(value) for value in given}
    if kinds == {bool}:
        return name, "bool", values
    if kinds == {int} and all(LEAST <= value <= MOST for value in given):
        return name, "int", values
    if kinds and kinds <= {int, float}:
        return name, "float", [None if value is None else float(value) for value in values]
    return name, "text", [None if value is None else cell(value) for value in values]
