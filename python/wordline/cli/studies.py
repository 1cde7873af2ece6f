"""The command ``wordline study``."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from wordline.base.errors import INTERRUPTED
from wordline.cli import spaces
from wordline.cli.options import (
    Command,
    emit,
    json_flag,
    output_option,
    printing,
    quiet_progress_option,
)


@click.command(cls=Command, short_help="Rerun the experiments of the source papers.")
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Run all studies.")
@click.option("--scorecard", is_flag=True, help="Run all studies and print the verdict on each claim; writes no pages.")
@click.option(
    "--sensitivity", is_flag=True, help="Also try alternatives where the paper leaves a choice open, one at a time."
)
@click.option(
    "--traces",
    metavar="DIR",
    help="Replay the true traces in DIR instead of stand-ins: files named as the traces, with any ending.",
)
@click.option("--full", is_flag=True, help="Whole traces in the studies of AutoSSD; else ten times as many requests.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Experiments at once.  [default: one a core]")
@click.option("--dask", metavar="ADDRESS", help="Run the experiments on the Dask cluster with this scheduler.")
@click.option("--out", metavar="DIR", help="Write pages and figures there, a folder a study.  [default: out/studies]")
@click.option(
    "--results",
    metavar="DIR",
    help="Keep the results of experiments there: the same command goes on after an interrupt.  "
    "[default: out/studies/results]",
)
@quiet_progress_option
@json_flag
@output_option
def study(
    name: str | None,
    everything: bool,
    scorecard: bool,
    sensitivity: bool,
    traces: str | None,
    full: bool,
    jobs: int | None,
    dask: str | None,
    out: str | None,
    results: str | None,
    quiet: bool,
    as_json: bool,
    output: str | None,
) -> None:
    """Rerun the experiment NAME of a paper: published values beside measured ones; without NAME, list all studies."""
    from wordline import _core
    from wordline.studies import catalogue, command, show

    if bool(name) + everything + scorecard > 1:
        raise click.UsageError("give the name of one study, or --all, or --scorecard")
    if not (name or everything or scorecard):
        of_a_run = {
            "--full": full,
            "--sensitivity": sensitivity,
            "--traces": traces is not None,
            "--jobs": jobs is not None,
            "--dask": dask is not None,
            "--out": out is not None,
            "--results": results is not None,
        }
        given = [option for option, is_given in of_a_run.items() if is_given]
        if given:
            raise click.UsageError(f"{', '.join(given)}: for a study to run; give its name, or --all")
        listed = catalogue.every()
        shown = partial(show.listing, studies=listed)
        return emit(command.list_json(listed), shown, as_json=as_json, output=output)
    if scorecard and out is not None:
        raise click.UsageError("--scorecard writes no pages, so --out does not apply; did you mean --all?")
    if scorecard and sensitivity:
        raise click.UsageError("--scorecard does not try alternatives; give --all with --sensitivity")
    spaces.one_place(jobs, dask)
    version, folder = _core.version(), command.OUT if out is None else Path(out)
    how: dict[str, Any] = {"full": full, "version": version, "quiet": quiet}
    how["folder"] = None if traces is None else Path(traces)
    how["where"] = command.Where(command.OUT / command.RESULTS if results is None else Path(results), jobs, dask)
    cut = False
    with printing(output) as put:
        if sensitivity:
            tried, cut = command.try_choices(name, folder, **how)
            told = command.sensitivity_json(tried, version, cut, everything=everything)
            shown = partial(show.choices, done=tried, folder=folder, partial=cut)
        elif name:
            done, page = command.run_one(name, folder, **how)
            told, shown = done.json(version), partial(show.report, done=done, page=page)
        else:
            reports, cut = command.run_all(None if scorecard else folder, **how)
            to_json = command.scorecard_json if scorecard else command.all_json
            told, shown = to_json(reports, version, cut), partial(show.scorecard, reports=reports, partial=cut)
        put(told, shown, as_json=as_json)
    if cut:
        sys.exit(INTERRUPTED)
    return None
