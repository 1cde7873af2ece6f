"""The command ``wordline pts``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import click

from wordline.base.errors import FAILED, INTERRUPTED, Trouble, tell
from wordline.base.files import OutputFile
from wordline.cli.options import (
    Command,
    all_apart,
    json_file_option,
    output_option,
    policy_option,
    printed_to,
    quiet_option,
    seed_option,
    set_option,
)
from wordline.cli.saved import asked as asked_formats
from wordline.cli.saved import figure_options, save_figures

USUAL, QUICK, STANDARD = "5s", "100ms", "60s"
"""How long a cell of a round lasts."""

CAPACITIES = 4.0
"""Capacities written by each workload of the tests over time, as in the standard."""


@click.command(cls=Command, short_help="Test a drive by the SNIA PTS.")
@click.argument("drive")
@click.option("--test", "tests", default="all", metavar="WHICH", help="Of iops,tp,lat,wsat,xsr.  [default: all]")
@set_option
@policy_option
@seed_option
@click.option(
    "--round", "round_length", metavar="TIME", help=f"Simulated time of a cell of a round.  [default: {USUAL}]"
)
@click.option("--full", is_flag=True, help=f"Cells last {STANDARD}, as in the standard.")
@click.option("--quick", is_flag=True, help=f"Cells last {QUICK}: for a first look.")
@click.option(
    "--capacities",
    type=click.FloatRange(min=0.5, max=1000),
    metavar="X",
    help=f"wsat, xsr: each workload writes X times the capacity.  [default: {CAPACITIES:g}]",
)
@json_file_option
@click.option("--report", "report_name", metavar="FILE", help="Write a report for a browser, one HTML file.")
@figure_options
@output_option
@quiet_option
def pts(
    drive: str,
    tests: str,
    sets: tuple[str, ...],
    policy_files: tuple[str, ...],
    seed: int | None,
    round_length: str | None,
    full: bool,
    quick: bool,
    capacities: float | None,
    json_name: str | None,
    report_name: str | None,
    folder: str | None,
    formats: tuple[str, ...] | None,
    output: str | None,
    quiet: bool,
) -> None:
    """Test DRIVE by the SNIA Performance Test Specification 2.0, in simulated time.

    The tests are IOPS, throughput, latency, write saturation and cross-stimulus recovery. Each has a new drive.
    """
    from wordline.base import jsontext
    from wordline.base.console import console, shown
    from wordline.base.progress import Progress
    from wordline.cli import policyfile
    from wordline.pts import command, tables
    from wordline.pts.bench import Device

    names = command.asked(tests)
    lengths = {"--round": round_length is not None, "--full": full, "--quick": quick}
    command.of_use([option for option, given in lengths.items() if given], names, command.OF_ROUNDS)
    command.of_use(["--capacities"] if capacities is not None else [], names, command.OVER_TIME)
    round_s = round_seconds(round_length, full, quick)
    forms = asked_formats(formats, folder)
    json_name, output = printed_to(json_name, output)
    asked_for = (("json", json_name), ("report", report_name), ("output", output))
    wanted = {kind: name for kind, name in asked_for if name is not None}
    all_apart(wanted)
    with ExitStack() as open_files:
        outputs = {kind: open_files.enter_context(OutputFile(name, [drive])) for kind, name in wanted.items()}
        if folder is not None:
            # Makes the directory, so that a failure shows before the tests.
            save_figures([], folder, forms)
        device = Device(drive, sets, seed, policyfile.read(policy_files))
        times = CAPACITIES if capacities is None else capacities
        with policyfile.shown(policy_files), Progress(quiet) as progress:
            result, failure = command.run(device, names, round_s, times, progress)
        texts = {
            "json": lambda: jsontext.dumps(result) + "\n",
            "report": lambda: report_page(result),
            "output": lambda: shown(partial(tables.show, result=result)),
        }

        def write(kind: str) -> None:
            outputs[kind].write(texts[kind]())

        writes = [partial(write, kind) for kind in outputs]
        if folder is not None:
            from wordline.pts import drawings

            writes.append(partial(save_figures, drawings.every(result), folder, forms))
        failures = [problem for write in writes if (problem := failure_of(write))]
        if not quiet and "output" not in outputs:
            taken = any(output.standard for output in outputs.values())
            tables.show(console(stderr=taken), result)
    if failure is not None:
        for problem in failures:
            tell(problem)
        with policyfile.shown(policy_files):
            raise failure
    if result["partial"] and not failures:
        sys.exit(INTERRUPTED)
    failures += [
        f"{one['title']}: {one['stopped']}" for one in result["tests"] if one["stopped"] and not result["partial"]
    ]
    if failures:
        raise Trouble("\nwordline: ".join(failures), FAILED)


def report_page(result: dict[str, Any]) -> str:
    """The page of the tests. What makes it takes longer to load than the rest of the command."""
    from wordline.pts import page

    return page.html(result)


def failure_of(write: Callable[[], object]) -> str | None:
    """Writes something and returns the error: it must not suppress the tables of a long test."""
    try:
        write()
    except Trouble as trouble:
        return trouble.message
    return None


def round_seconds(length: str | None, full: bool, quick: bool) -> float:
    """How long a cell lasts, from what was typed.

    :raises Trouble: if it is not a time, or given twice.
    """
    from wordline.base import units

    if (length is not None) + full + quick > 1:
        raise Trouble("--round, --full and --quick all set the length of a cell; give one of them")
    text = length if length is not None else STANDARD if full else QUICK if quick else USUAL
    try:
        seconds = units.picoseconds(text) / 1e12
    except ValueError as error:
        raise Trouble(f"--round: {error}") from None
    if not 0 < seconds <= 86_400:
        problem = "is zero" if seconds <= 0 else "is longer than a day"
        raise Trouble(f"--round: '{text}' {problem}; give a time such as {USUAL}")
    return seconds
