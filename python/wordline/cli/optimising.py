"""The command that searches a design space."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wordline.base.errors import FAILED, INTERRUPTED, Trouble, tell
from wordline.cli import spaces
from wordline.cli.options import Command

if TYPE_CHECKING:
    from rich.console import Console

    from wordline.base.progress import Told
    from wordline.sweeps.search import Search, Tried

SUFFIX = ".search"
"""Of the directory of a search."""

MOST_SHOWN = 10
"""Points of a front on the terminal."""


@click.command(cls=Command, short_help="Search a design space for the best drive.")
@spaces.options(SUFFIX, "trials")
def optimise(
    file: str, output: str | None, jobs: int | None, dask: str | None, report_name: str | None, quiet: bool
) -> None:
    """Search the design space in FILE for the point that meets a goal best, within limits.

    FILE is like a sweep file, with 'minimise' or 'maximise', a table [limit], and the number of trials. trials.csv in
    the directory has all of them, trials.parquet and search.json the same for programs, and results/ a file for each
    run. The same command goes on with a search that was interrupted.
    """
    from wordline.cli.sweeping import told
    from wordline.sweeps import search

    spaces.one_place(jobs, dask)
    wanted = search.read(file)
    directory = spaces.directory_of(file, output, SUFFIX)

    def work(progress: Told) -> Search:
        return search.carry_out(wanted, directory, jobs, progress, lambda ran: None if quiet else told(ran), dask)

    left = {"table": "trials", "document": "search.json"}
    done = spaces.carried_out(work, left, (file, directory, report_name), quiet, lambda found: found.sweep, show)
    if done.interrupted:
        to_do = wanted.trials - len(done.tried)
        tell(f"interrupted with {to_do} of {wanted.trials} trials to do; the same command goes on")
        sys.exit(INTERRUPTED)
    if not done.best:
        why = "no trial keeps the limits" if done.nearest else "no trial has a result"
        raise Trouble(f"{why}; {directory / 'trials.csv'} has all of them", FAILED)


def show(console: Console, done: Search, directory: Path) -> None:
    """Prints the best trials."""
    from rich.table import Table
    from rich.text import Text

    from wordline.base.console import hanging

    best = done.best
    console.print(Text(done.wanted.plan.title or "Search of a design space", style="bold"))
    lines = [counted(done)]
    near = done.nearest
    chosen = best[:MOST_SHOWN] if best else [near] if near is not None else []
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(style="cyan")
    for _ in chosen:
        table.add_column(justify="right")
    table.add_column(style="dim")
    for name in chosen[0].factors if chosen else ():
        table.add_row(name, *(str(tried.factors[name]) for tried in chosen), "")
    for key, asked in asked_of(done).items():
        table.add_row(*figure(key, chosen), asked)
    if chosen:
        lines.append("The best:" if best else "The nearest to the limits:")
    for line in lines:
        hanging(console, Text(line), 0, 0)
    if chosen:
        console.print(table)
    if len(best) > MOST_SHOWN:
        hanging(console, Text(f"{MOST_SHOWN} of {len(best)} points that no other beats in all goals."), 0, 0)
    hanging(console, Text(f"All trials: {directory / 'trials.csv'}"), 0, 0)


def counted(done: Search) -> str:
    """How many trials there were, and what became of them."""
    failed = sum(tried.error is not None for tried in done.tried)
    keeping = sum(done.keeps(tried) for tried in done.tried)
    text = f"{len(done.tried)} trials"
    if done.wanted.limits:
        text += f", {keeping} {'keeps' if keeping == 1 else 'keep'} the limits"
    if failed:
        text += f", {failed} failed"
    return text + "."


def asked_of(done: Search) -> dict[str, str]:
    """The figures of goals and limits by their keys, with what is asked of each."""
    from wordline.sweeps.search import written

    asked = {key: "as high as possible" if more else "as low as possible" for key, more in done.wanted.goals.items()}
    for limit in done.wanted.limits:
        bound = f"{'above' if limit.above else 'below'} {written(limit.key, limit.value)[1]}"
        asked[limit.key] = f"{asked[limit.key]}, {bound}" if limit.key in asked else bound
    return asked


def figure(key: str, chosen: list[Tried]) -> list[str]:
    """A row of the table: a figure of some trials."""
    from wordline.sweeps.search import written

    values = [written(key, tried.figures[key]) for tried in chosen]
    return [values[0][0] if values else key, *(text for _, text in values)]
