"""The command that searches a design space."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wordline.base.errors import FAILED, INTERRUPTED, Trouble, tell
from wordline.cli.options import Command, quiet_option

if TYPE_CHECKING:
    from rich.console import Console

    from wordline.sweeps.search import Search, Tried

MOST_SHOWN = 10
"""Points of a front on the terminal."""


@click.command(cls=Command, short_help="Search a design space for the best drive.")
@click.argument("file")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    help="The directory for the results.  [default: the name of FILE with .search, here]",
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Runs at once.  [default: one a core]")
@click.option("--dask", metavar="ADDRESS", help="Run the trials on the Dask cluster with this scheduler.")
@click.option("--report", "report_name", metavar="FILE", help="Write a report of all trials, one HTML file.")
@quiet_option
def optimise(
    file: str, output: str | None, jobs: int | None, dask: str | None, report_name: str | None, quiet: bool
) -> None:
    """Search the design space in FILE for the point that meets a goal best, within limits.

    FILE is like a sweep file, with 'minimise' or 'maximise', a table [limit], and the number of trials. trials.csv in
    the directory has all of them, search.json the same for programs, and results/ a file for each run. The same command
    goes on with a search that was interrupted.
    """
    from wordline.base import files, jsontext
    from wordline.base.progress import Progress
    from wordline.cli.sweeping import told
    from wordline.sweeps import search

    if dask is not None and jobs is not None:
        raise Trouble("--jobs does not go with --dask: the cluster says how many runs there are at once")
    wanted = search.read(file)
    directory = Path(output) if output else Path(f"{Path(file).stem}.search")
    if directory.exists() and not directory.is_dir():
        raise Trouble(f"{directory}: this is a file; give a directory with -o")
    with ExitStack() as open_files:
        report = None
        if report_name is not None:
            report = open_files.enter_context(files.OutputFile(report_name, [file]))
        try:
            with Progress(quiet) as progress:
                done = search.carry_out(
                    wanted, directory, jobs, progress, lambda jobs: None if quiet else told(jobs), dask
                )
            files.write_text(directory / "trials.csv", done.csv())
            files.write_text(directory / "search.json", jsontext.dumps(done.document()) + "\n")
        except OSError as error:
            where = error.filename or directory
            raise Trouble(f"{where}: cannot write: {(error.strerror or str(error)).lower()}", FAILED) from None
        if report is not None:
            from wordline.sweeps import page

            report.write(page.html(done.sweep))
    if not quiet:
        from wordline.base.console import console

        show(console(stderr=report is not None and report.standard), done, directory)
    if done.interrupted:
        left = wanted.trials - len(done.tried)
        tell(f"interrupted with {left} of {wanted.trials} trials to do; the same command goes on")
        sys.exit(INTERRUPTED)
    if not done.best:
        raise Trouble(f"no trial keeps the limits; {directory / 'trials.csv'} has all of them", FAILED)


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
