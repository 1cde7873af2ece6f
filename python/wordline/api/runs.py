"""The result of a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wordline.api.results import Result

if TYPE_CHECKING:
    import pyarrow.dataset

    from wordline.api.frames import Frame
    from wordline.results.excess import Excess


class Run(Result):
    """The result of a run: the dictionary that ``wordline run --json`` writes, with the main figures as attributes.

    Its tables are made by :meth:`intervals`, :meth:`cdf`, :meth:`latency`, :meth:`jobs` and :meth:`utilisation`; those
    that the run wrote to files are opened by :meth:`table`. A notebook displays it.
    """

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Run:
        """Reads a result from a file.

        :raises wordline.InputError: if the file cannot be read, or holds no result of this layout.
        """
        from wordline.results import reading as results

        return cls(results.of_run(os.fspath(path)))

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the report of the run: one HTML file, for a browser. An older file is replaced only by a complete one.

        :raises OSError: if it cannot be written; an older file is unchanged.
        """
        from wordline.base import files
        from wordline.report import page as report

        files.write_text(path, report.html(self))

    @property
    def iops(self) -> float:
        """Requests a second of simulated time."""
        return self["iops"]

    @property
    def bandwidth_mib_s(self) -> float:
        """MiB read and written a second of simulated time."""
        return self["bandwidth_mib_s"]

    @property
    def simulated_s(self) -> float:
        """Seconds of simulated time."""
        return self["simulated_s"]

    @property
    def cpu_s(self) -> float:
        """CPU time in seconds."""
        return self["cpu_s"]

    @property
    def mean_us(self) -> float | None:
        """Mean latency of all requests in µs; None without requests."""
        return self["latency_us"]["all"]["mean"]

    @property
    def p50_us(self) -> float | None:
        """Median latency of all requests in µs."""
        return self["latency_us"]["all"]["p50"]

    @property
    def p99_us(self) -> float | None:
        """Latency in µs that 99 % of all requests do not exceed."""
        return self["latency_us"]["all"]["p99"]

    @property
    def p99_9_us(self) -> float | None:
        """Latency in µs that 99.9 % of all requests do not exceed."""
        return self["latency_us"]["all"]["p99_9"]

    @property
    def max_us(self) -> float | None:
        """The largest latency in µs."""
        return self["latency_us"]["all"]["max"]

    @property
    def energy_j(self) -> float:
        """Energy of the flash in J."""
        return self["energy_j"]

    def excess_waiting(self, marginal_us: float = 30_000.0) -> Excess:
        """Requests that take longer than a marginal response time (jung13, 7.6.3: 30 ms).

        Their ``share`` of all, 0 to 1, and the largest excess, ``worst_us``.

        :param marginal_us: what a request may take, in µs.
        :raises KeyError: if the result has no latencies.
        """
        from wordline.results import excess

        return excess.of(self, marginal_us)

    def intervals(self) -> Frame:
        """The time series, a row an interval: rates, latencies, free blocks, write amplification."""
        from wordline.api import frames

        return frames.intervals(self)

    def cdf(self) -> Frame:
        """Latency distributions of reads and writes: ``op``, ``latency_us``, and the cumulative ``share``."""
        from wordline.api import frames

        return frames.cdf(self)

    def latency(self) -> Frame:
        """Latency by operation in µs: count, mean, extremes and percentiles."""
        from wordline.api import frames

        return frames.latency(self)

    def jobs(self) -> Frame:
        """Each job or stream by itself: a row a job and operation, with its latency in µs, and the job's rates.

        It has no rows if the workload was one stream; ``run["jobs"]`` is absent then.
        """
        from wordline.api import frames

        return frames.jobs(self)

    def utilisation(self) -> Frame:
        """Utilisation of each channel, die and direction of the host interface, as shares of simulated time."""
        from wordline.api import frames

        return frames.utilisation(self)

    def requests(self) -> pyarrow.dataset.Dataset:
        """Every request with its times: the table ``requests``, if the run wrote it."""
        return self.table("requests")

    def table(self, name: str) -> pyarrow.dataset.Dataset:
        """A table that the run wrote to a Parquet file, opened but not read.

        :raises KeyError: if it wrote no such table.
        """
        from wordline.api import tables

        return tables.opened(self, name)

    def __repr__(self) -> str:
        """The run in a line."""
        from wordline.results import story

        if not self.keys() >= {"config", "requests", "workload", "partial"}:
            return "<Run without a result>" if not self else "<Run without all of its result>"
        return f"<Run {story.headline(self)}{', interrupted' if self.partial else ''}>"

    def _repr_html_(self) -> str:
        from wordline.api import notebook

        return notebook.run(self)
