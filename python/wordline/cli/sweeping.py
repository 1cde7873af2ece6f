"""The command that runs a sweep."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wordline.base.errors import FAILED, INTERRUPTED, Trouble, tell
from wordline.cli import spaces
from wordline.cli.options import Command

if TYPE_CHECKING:
    from rich.console import Console

    from wordline.base.progress import Told
    from wordline.sweeps.outcome import Sweep
    from wordline.sweeps.work import PointJob

SUFFIX = ".sweep"
"""Of the directory of a sweep."""

MOST_ROWS = 60
"""Rows of the table on the terminal."""

WIDEST = 20
"""Characters that a column gets, however narrow the terminal is."""


@click.command(cls=Command, short_help="Run a workload at many points of a design space.")
@spaces.options(SUFFIX, "points")
def sweep(
    file: str, output: str | None, jobs: int | None, dask: str | None, report_name: str | None, quiet: bool
) -> None:
    """Run the sweep that FILE describes: a workload on a drive, at many points of a design space.

    The results stay in the directory: a sweep that was interrupted goes on where it was, and a repeated one runs only
    what is new. points.csv has the table of points, points.parquet and sweep.json the same for programs, and results/
    a file for each run, as of 'wordline run --json'.
    """
    from wordline.sweeps import file as files_of_sweeps
    from wordline.sweeps.function import carry_out

    spaces.one_place(jobs, dask)
    wanted = files_of_sweeps.read(file)
    directory = spaces.directory_of(file, output, SUFFIX)

    def work(progress: Told) -> Sweep:
        return carry_out(wanted, directory, jobs, progress, lambda ran: None if quiet else told(ran), dask)

    left = {"table": "points", "document": "sweep.json"}
    done = spaces.carried_out(work, left, (file, directory, report_name), quiet, lambda found: found, show)
    if done.interrupted:
        to_do = sum(job.is_due for job in done.jobs)
        tell(f"interrupted with {to_do} of {len(done)} points to do; the same command goes on")
        sys.exit(INTERRUPTED)
    if done.failed:
        raise Trouble(f"{len(done.failed)} of {len(done)} points failed; {directory / 'points.csv'} says why", FAILED)


def told(jobs: Sequence[PointJob]) -> None:
    """Tells at once of points that failed, while the others go on: each error once."""
    errors: dict[str, list[PointJob]] = {}
    for job in jobs:
        if job.error is not None:
            errors.setdefault(job.error, []).append(job)
    for error, failed in errors.items():
        first = ", ".join(f"{name} = {value}" for name, value in failed[0].point.factors.items())
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        tell(f"{first}{more}: {error}" if first else error)


def show(console: Console, done: Sweep, directory: Path) -> None:
    """Prints the table of points."""
    from rich.table import Table
    from rich.text import Text

    from wordline.base.console import hanging

    console.print(Text(done.title or f"Sweep of {len(done)} points", style="bold"))
    heads, rows = done.rows()
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    factors = sum(name != "seed" for name in done.columns)
    for number, head in enumerate(heads):
        # Keys are long: a line for each of their words.
        head = head.replace(".", ".\n")
        width = max(len(text) for text in [*head.split(), *(row[number] for row in rows)])
        of_factor = number < factors
        table.add_column(
            head,
            style="cyan" if of_factor else None,
            justify="left" if of_factor else "right",
            min_width=min(width, WIDEST),
            overflow="fold",
        )
    for row in rows[:MOST_ROWS]:
        table.add_row(*row)
    console.print(table)
    lines = []
    if len(rows) > MOST_ROWS:
        lines.append(f"The first {MOST_ROWS} of {len(rows)} rows.")
    seeds = len({job.point.seed for job in done.jobs})
    if seeds > 1:
        lines.append(f"Figures are means over {seeds} seeds.")
    known = sum(job.known for job in done.jobs)
    if known:
        lines.append(f"{known} of {len(done)} results were there already.")
    lines.append(f"All figures of all points: {directory / 'points.csv'}")
    for line in lines:
        hanging(console, Text(line), 0, 0)
