"""The command that carries a workload out without time."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from typing import Any

import click

from wordline.base.errors import FAILED, INTERRUPTED, Trouble
from wordline.base.files import OutputFile
from wordline.cli.options import (
    Command,
    all_apart,
    as_typed,
    device_option,
    format_option,
    json_file_option,
    load_set_option,
    output_option,
    policy_option,
    printed_to,
    quiet_option,
    seed_option,
    set_option,
    several,
    trace_sets,
)

MOST_TIMES = 2**63 - 1
"""More times than this no life lasts."""


@click.command(cls=Command, short_help="Wear a drive with a workload, without time.")
@click.argument("drive")
@click.argument("load", metavar="WORKLOAD")
@click.argument("more", nargs=-1)
@click.option(
    "--times",
    type=click.IntRange(min=1, max=MOST_TIMES),
    metavar="N",
    help="Carry the whole workload out N times in a row.  [default: 1]",
)
@click.option(
    "--to-end-of-life",
    is_flag=True,
    help="Go on until a block needs an erase beyond nand.reliability.endurance, or a bad block has no replacement.",
)
@set_option
@load_set_option
@policy_option
@click.option("--from", "snapshot", metavar="SNAPSHOT", help="Start from a snapshot.")
@click.option("--save", metavar="SNAPSHOT", help="Save the state at the end, for --from.")
@seed_option
@json_file_option
@click.option("--report", "report_name", metavar="FILE", help="Write a report for a browser, one HTML file.")
@output_option
@quiet_option
@format_option
@device_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Trace: stop after N requests.")
@click.option("--past-end", metavar="WHAT", help="Trace: requests beyond the drive are an 'error', 'wrap' or 'scale'.")
def replay(
    drive: str,
    load: str,
    more: tuple[str, ...],
    times: int | None,
    to_end_of_life: bool,
    sets: tuple[str, ...],
    load_sets: tuple[str, ...],
    policy_files: tuple[str, ...],
    snapshot: str | None,
    save: str | None,
    seed: int | None,
    json_name: str | None,
    report_name: str | None,
    output: str | None,
    quiet: bool,
    format_name: str | None,
    **shortcuts: object,
) -> None:
    """Carry WORKLOAD out on DRIVE without time, each request after the one before, as often as wanted.

    Writes, trims, garbage collection, merges and wear leveling leave the state that they would leave in time; there
    are no latencies. The result has write amplification, merges, erases, and the lifetime curve. WORKLOAD is as in
    'wordline run'.
    """
    from wordline import _core
    from wordline.base.progress import Progress
    from wordline.cli import policyfile

    if times is not None and to_end_of_life:
        raise Trouble("--times and --to-end-of-life exclude each other; give one")
    taken_in = policyfile.taken_in(policy_files)
    shortcuts["format"] = format_name
    all_load_sets = [*several(load, more), *load_sets, *trace_sets(shortcuts)]
    json_name, output = printed_to(json_name, output)
    if save == "-":
        raise Trouble("a snapshot cannot go to standard output; give the name of a file")
    wanted = (("json", json_name), ("report", report_name), ("output", output), ("save", save))
    names = {kind: name for kind, name in wanted if name is not None}
    all_apart(names)
    inputs = [drive, load, *more, *([snapshot] if snapshot else [])]
    with ExitStack() as open_files:
        outputs = {kind: open_files.enter_context(OutputFile(name, inputs)) for kind, name in names.items()}
        saved = outputs.pop("save", None)
        if saved is not None and saved.special:
            raise Trouble(f"{save}: a snapshot cannot go to a device or a pipe; give the name of a file")
        with policyfile.shown(policy_files), Progress(quiet) as progress, as_typed(shortcuts):
            text = _core.replay(
                drive,
                load,
                list(sets),
                all_load_sets,
                seed,
                snapshot,
                progress,
                None if to_end_of_life else times or 1,
                save=None if saved is None else (str(saved.path), saved.name),
                policies=taken_in,
            )
        result = json.loads(text)
        unsaved = saved is not None and not result.pop("saved")
        if saved is not None and not unsaved:
            saved.commit()
        finish(result, outputs, quiet)
    if result["partial"]:
        sys.exit(INTERRUPTED)
    if unsaved:
        raise Trouble(f"{save}: not written: the drive has come to its end of life and cannot go on", FAILED)


def finish(result: dict[str, Any], outputs: dict[str, OutputFile], quiet: bool) -> None:
    """Writes and prints a result. Files first: they must not depend on anybody reading the summary.

    :raises Trouble: if a file could not be written; the others and the summary are there all the same.
    """
    from wordline.base import jsontext
    from wordline.base.console import console, shown
    from wordline.results import replayed

    def report_text() -> str:
        from wordline.report import replaypage

        return replaypage.html(result)

    texts = {
        "output": lambda: shown(lambda to: replayed.show(to, result)),
        "json": lambda: jsontext.dumps(result) + "\n",
        "report": report_text,
    }
    failures = []
    for kind, file in outputs.items():
        try:
            file.write(texts[kind]())
        except Trouble as trouble:
            failures.append(trouble)
    if not quiet and "output" not in outputs:
        # Standard output carries a file.
        replayed.show(console(stderr=any(file.standard for file in outputs.values())), result)
    if failures:
        raise Trouble("\nwordline: ".join(failure.message for failure in failures), FAILED)
