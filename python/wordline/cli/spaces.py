"""What the commands that work on a design space share: their options, and the files that they leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from wordline.base.errors import FAILED, Trouble
from wordline.cli.options import quiet_option

if TYPE_CHECKING:
    from rich.console import Console

    from wordline.api.frames import Frame
    from wordline.base.progress import Told
    from wordline.sweeps.outcome import Sweep


class Outcome(Protocol):
    """What a command found."""

    def csv(self) -> str:
        """Its table, as comma-separated values."""

    def frame(self) -> Frame:
        """The same with the types of its columns."""

    def document(self) -> dict[str, Any]:
        """All of it, for JSON."""


Found = TypeVar("Found", bound=Outcome)


def options(suffix: str, what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The argument and options of a command whose directory ends in ``suffix``, and that runs ``what``."""
    kept = f"The directory for the results.  [default: the name of FILE with {suffix}, here]"
    jobs = "Runs at once.  [default: one a core]"
    cluster = f"Run the {what} on the Dask cluster with this scheduler."
    report = f"Write a report of all {what} for a browser, one HTML file."

    def added(command: Callable[..., None]) -> Callable[..., None]:
        for option in (
            quiet_option,
            click.option("--report", "report_name", metavar="FILE", help=report),
            click.option("--dask", metavar="ADDRESS", help=cluster),
            click.option("--jobs", type=click.IntRange(min=1), metavar="N", help=jobs),
            click.option("-o", "--output", metavar="DIR", help=kept),
            click.argument("file"),
        ):
            command = option(command)
        return command

    return added


def directory_of(file: str, output: str | None, suffix: str) -> Path:
    """The directory for the results.

    :raises Trouble: if it is a file.
    """
    directory = Path(output) if output else Path(f"{Path(file).stem}{suffix}")
    if directory.exists() and not directory.is_dir():
        raise Trouble(f"{directory}: this is a file; give a directory with -o")
    return directory


def one_place(jobs: int | None, dask: str | None) -> None:
    """:raises Trouble: if runs are to go both here and on a cluster."""
    if dask is not None and jobs is not None:
        raise Trouble("--jobs does not go with --dask: the cluster says how many runs there are at once")


def carried_out(
    work: Callable[[Told], Found],
    left: Mapping[str, str],
    places: tuple[str, Path, str | None],
    quiet: bool,
    sweep_of: Callable[[Found], Sweep],
    show: Callable[[Console, Found, Path], None],
) -> Found:
    """Does the work, writes its files and its report, and shows what was found.

    :param left: the names in the directory of the table, without its ending, and of the document.
    :param places: the file that describes the work, the directory, and the report if there is one.
    :raises Trouble: if something cannot be written.
    """
    from wordline.base import files, jsontext
    from wordline.base.progress import Progress

    file, directory, report_name = places
    with ExitStack() as open_files:
        report = None
        if report_name is not None:
            report = open_files.enter_context(files.OutputFile(report_name, [file]))
        try:
            with Progress(quiet) as progress:
                found = work(progress)
            files.write_text(directory / f"{left['table']}.csv", found.csv())
            found.frame().to_parquet(directory / f"{left['table']}.parquet")
            files.write_text(directory / left["document"], jsontext.dumps(found.document()) + "\n")
        except OSError as error:
            where = error.filename or directory
            raise Trouble(f"{where}: cannot write: {(error.strerror or str(error)).lower()}", FAILED) from None
        if report is not None:
            from wordline.sweeps import page

            report.write(page.html(sweep_of(found)))
    if not quiet:
        from wordline.base.console import console

        show(console(stderr=report is not None and report.standard), found, directory)
    return found
