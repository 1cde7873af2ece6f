"""The figures of each job or stream by itself: rows of text for summary, report and comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from wordline.base import units

if TYPE_CHECKING:
    from rich.console import Console

Result = dict[str, Any]

OPS = ("read", "write", "trim", "flush")

MOST_SHOWN = 12
"""Jobs that the summary shows; report and JSON have all."""

RATES = ("job", "from", "to", "requests", "requests/s", "bandwidth", "GC-affected")
"""Columns of :func:`rates`."""

PERCENTILES = {key: units.percentile(key) for key in ("mean", "p50", "p99", "p99_9", "max")}

LATENCIES = ("job", "op", "requests", *PERCENTILES.values())
"""Columns of :func:`latencies`."""


def of(result: Result) -> list[dict[str, Any]]:
    """The jobs of a result; none if its workload was one stream."""
    return result.get("jobs") or []


def rates(jobs: Iterable[dict[str, Any]]) -> Iterator[list[str]]:
    """A row a job: when it ran, and how much it did in that time."""
    for job in jobs:
        times = [units.NOTHING if job.get(key) is None else instant(job[key]) for key in ("start_s", "end_s")]
        yield [
            job["name"],
            *times,
            units.count(job["requests"]),
            units.short(job["iops"]),
            units.bandwidth(job["bandwidth_mib_s"]),
            units.count(job.get("gc_affected_requests") or 0),
        ]


def instant(s: float) -> str:
    """A time of the run."""
    return units.duration(s) if s else "0 s"


def latencies(jobs: Iterable[dict[str, Any]]) -> Iterator[list[str]]:
    """A row for each operation of a job; the job is named in the first of them."""
    for job in jobs:
        name = job["name"]
        for op in OPS:
            latency = (job.get("latency_us") or {}).get(op) or {}
            if latency.get("count"):
                values = (units.latency(latency.get(key)) for key in PERCENTILES)
                yield [name, op, units.count(latency["count"]), *values]
                name = ""


def show(console: Console, result: Result) -> None:
    """Prints the jobs of a result, if it has several."""
    from rich.table import Table

    jobs = of(result)
    if not jobs:
        return
    shown = jobs[:MOST_SHOWN]
    for columns, rows in ((RATES, rates(shown)), (LATENCIES, latencies(shown))):
        table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
        for n, name in enumerate(columns):
            text = name in ("job", "op")
            table.add_column(
                name.capitalize() if n == 0 else name,
                style="cyan" if n == 0 else None,
                justify="left" if text else "right",
                overflow="fold" if n == 0 else "ellipsis",
                no_wrap=n > 0,
            )
        for row in rows:
            table.add_row(*row)
        console.print()
        console.print(table)
    if len(jobs) > len(shown):
        console.print(f"and {len(jobs) - len(shown)} more, in the report and in the JSON", style="dim")


def common(results: Iterable[Result]) -> list[str]:
    """Names of jobs that every one of several results has, in the order of the first."""
    named = [[job["name"] for job in of(result)] for result in results]
    return [name for name in named[0] if all(name in names for names in named[1:])] if named else []


def named(result: Result, name: str) -> dict[str, Any]:
    """The job of that name."""
    return next(job for job in of(result) if job["name"] == name)
