"""The commands that run a drive and precondition one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wordline.base.errors import FAILED, INTERRUPTED, Trouble, tell
from wordline.base.files import OutputFile
from wordline.cli.options import (
    Command,
    Slowness,
    Window,
    all_apart,
    as_typed,
    dashboard_options,
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
    table_options,
    trace_sets,
)

if TYPE_CHECKING:
    from rich.console import Console

    from wordline.base.progress import Told

MOST_SLICES = 2**63 - 1
"""More slices than this no timeline can hold."""


@click.command(cls=Command, short_help="Run a workload on a drive.")
@click.argument("drive")
@click.argument("load", metavar="WORKLOAD")
@click.argument("more", nargs=-1)
@set_option
@load_set_option
@policy_option
@click.option("--from", "snapshot", metavar="SNAPSHOT", help="Start from a snapshot of 'wordline precondition'.")
@seed_option
@click.option(
    "--repeat",
    type=click.IntRange(min=2),
    metavar="N",
    help="Run under N seeds, --seed and those that follow; give means with 95 % intervals.",
)
@json_file_option
@click.option("--fio-json", "fio_name", metavar="FILE", help="Write results per job in fio's JSON layout.")
@click.option("--report", "report_name", metavar="FILE", help="Write a report for a browser, one HTML file.")
@click.option("--timeline", "timeline_name", metavar="FILE", help="Write a timeline for ui.perfetto.dev.")
@click.option(
    "--window",
    type=Window(),
    metavar="A..B",
    help="Timeline and tables: only this part of simulated time, such as 0.5s..600ms; ..1ms starts with the run.",
)
@click.option(
    "--timeline-limit",
    type=click.IntRange(min=1, max=MOST_SLICES),
    metavar="N",
    help="Timeline: stop recording after N slices.  [default: 2000000]",
)
@table_options
@click.option(
    "--watch",
    type=Slowness(),
    metavar="PACE",
    help="Watch the drive at work, slowed down: '1000x' is a thousand times as slow as real time (1 ms takes 1 s), "
    "'0.1x' ten times as fast, 'max' as fast as it goes. The result is the same.",
)
@dashboard_options
@output_option
@quiet_option
@format_option
@device_option
@click.option(
    "--pace", metavar="WHEN", help="Trace: by its 'timestamps', or 'asap', as fast as the queue accepts requests."
)
@click.option("--speed", type=float, metavar="X", help="Trace: X times as fast as recorded.")
@click.option("--loops", type=click.IntRange(min=1), metavar="N", help="Trace: replay it N times in a row.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Trace: stop after N requests.")
@click.option(
    "--iodepth", type=click.IntRange(min=1), metavar="N", help="Trace: at most N in flight, with --pace asap."
)
@click.option("--past-end", metavar="WHAT", help="Trace: requests beyond the drive are an 'error', 'wrap' or 'scale'.")
def run(
    drive: str,
    load: str,
    more: tuple[str, ...],
    sets: tuple[str, ...],
    load_sets: tuple[str, ...],
    policy_files: tuple[str, ...],
    snapshot: str | None,
    seed: int | None,
    repeat: int | None,
    json_name: str | None,
    fio_name: str | None,
    report_name: str | None,
    timeline_name: str | None,
    window: tuple[int, int] | None,
    timeline_limit: int | None,
    tables: str | None,
    out: str | None,
    sample: str | None,
    interval: str | None,
    watch: float | None,
    dashboard: int | None,
    dashboard_control: bool,
    output: str | None,
    quiet: bool,
    format_name: str | None,
    **shortcuts: object,
) -> None:
    """Run WORKLOAD on DRIVE.

    DRIVE is a preset ('wordline drives') or a TOML file. WORKLOAD is a trace (plain, gz or zst), a workload TOML file
    or a fio job file, detected by content. A trace may be several files, a directory or a quoted pattern such as
    'sda.blktrace.*'.
    """
    from wordline import _core
    from wordline.api import tables as tables_of
    from wordline.base.progress import Progress
    from wordline.cli import policyfile
    from wordline.cli.desks import desk_of_run

    if repeat is not None and (watch is not None or dashboard is not None):
        raise Trouble("--watch and --dashboard are for one run; omit --repeat")
    if dashboard_control and dashboard is None:
        raise Trouble("--dashboard-control is for a page; give --dashboard, too")
    taken_in = policyfile.taken_in(policy_files)
    shortcuts["format"] = format_name
    all_load_sets = [*several(load, more), *load_sets, *trace_sets(shortcuts)]
    json_name, output = printed_to(json_name, output)
    wanted = (("json", json_name), ("fio-json", fio_name), ("report", report_name), ("timeline", timeline_name))
    names = {kind: name for kind, name in (*wanted, ("output", output)) if name is not None}
    all_apart(names)
    if timeline_name is None:
        if timeline_limit is not None:
            raise Trouble("--timeline-limit is for a timeline; give its file with --timeline")
        if window is not None and tables is None:
            raise Trouble(
                "--window is for a timeline and for tables; give --timeline FILE, or --tables intervals --out DIR. "
                "A report is of the whole run"
            )
    inputs = [drive, load, *more, *([snapshot] if snapshot else [])]
    wanted_tables = tables_of.asked(tables, out, sample, interval, window, dashes="--")
    with ExitStack() as open_files:
        outputs = {kind: open_files.enter_context(OutputFile(name, inputs)) for kind, name in names.items()}
        timeline = outputs.pop("timeline", None)
        path = None if timeline is None else str(timeline.path)
        watched = policyfile.shown(policy_files)
        first_seed = _core.SEED if seed is None else seed
        aged = None if snapshot is None or repeat is None else _core.Aged(first_seed, repeat)

        def one(seed: int | None, first: bool, told: Told) -> str:
            return _core.run(
                drive,
                load,
                list(sets),
                all_load_sets,
                seed,
                snapshot,
                told,
                # With several seeds, only the first writes timeline and tables.
                path if first else None,
                window if first else None,
                timeline_limit if first else None,
                tables=wanted_tables if first else None,
                job_by_job=first and fio_name is not None,
                # The summary does not show causes of latency.
                split=first and ("json" in outputs or "report" in outputs),
                policies=taken_in,
                watch=desk.looks(told),
                aged=aged,
            )

        title = f"{Path(load).name} on {Path(drive).name.removesuffix('.toml')}"
        with (
            watched,
            Progress(quiet) as progress,
            desk_of_run(title, watch, dashboard, dashboard_control) as desk,
            as_typed(shortcuts),
            kept(timeline),
        ):
            if repeat is None:
                result = json.loads(one(seed, True, desk.hears(progress)))
            else:
                from wordline.results import repeats

                repeats.read_again([load, *more])
                together = 1 if taken_in else repeats.at_once(repeat, state_bytes(drive, sets))
                result = repeats.run(one, first_seed, repeat, progress, together)
        finish(result, outputs, quiet, timeline)
    if result.get("partial"):
        sys.exit(INTERRUPTED)


def state_bytes(drive: str, sets: tuple[str, ...]) -> int:
    """Bytes of memory for the state of a drive."""
    from wordline import _core

    return json.loads(_core.check(drive, list(sets)))["derived"]["state_bytes"]


@contextmanager
def kept(timeline: OutputFile | None) -> Iterator[None]:
    """Keeps the timeline of a run that fails half-way: it shows why. It is empty before the run begins."""
    try:
        yield
    except BaseException:
        if timeline is not None and timeline.path.stat().st_size:
            timeline.commit()
        raise


def finish(
    result: dict[str, Any], outputs: dict[str, OutputFile], quiet: bool, timeline: OutputFile | None = None
) -> None:
    """Writes and prints a result. Files first: they must not depend on anybody reading the summary.

    :raises Trouble: if a file could not be written; the others and the summary are there all the same.
    """
    from wordline.base import jsontext
    from wordline.base.console import console, shown

    def report_text() -> str:
        from wordline.report import page

        return page.html(result)

    def show(console: Console) -> None:
        from wordline.results import summary

        summary.show(console, result)

    fio = result.pop("fio", None)
    texts = {
        "output": lambda: shown(show),
        "json": lambda: jsontext.dumps(result) + "\n",
        "fio-json": lambda: jsontext.dumps(fio) + "\n",
        "report": report_text,
    }
    # Without complete preconditioning there is no result worth replacing an older one.
    unmeasured = result["partial"] and (result["precondition"] or {}).get("interrupted", False)
    told = result.pop("timeline", None)
    if unmeasured:
        every = [*outputs.values(), *([] if timeline is None else [timeline])]
        old = [output.name for output in every if output.replaces]
        outputs = {kind: output for kind, output in outputs.items() if not output.replaces}
        timeline = None if timeline is None or timeline.replaces else timeline
        if old:
            tell(f"{', '.join(old)}: not overwritten, because nothing was measured")
    failures = [] if timeline is None else finish_timeline(told, timeline)
    # The location of tables is not part of the result: the same run gives the same result.
    failures += [Trouble(problem, FAILED) for problem in result.pop("tables", {}).get("errors", [])]
    for kind, output in outputs.items():
        try:
            output.write(texts[kind]())
        except Trouble as trouble:
            failures.append(trouble)
    if not quiet and "output" not in outputs:
        # Standard output carries a file.
        taken = any(output.standard for output in outputs.values())
        show(console(stderr=taken))
    if failures:
        raise Trouble("\nwordline: ".join(failure.message for failure in failures), FAILED)


def finish_timeline(told: dict[str, Any], file: OutputFile) -> list[Trouble]:
    """Puts a timeline in its place, warns if it was cut, and returns errors."""
    from wordline.api import timeline

    if told["error"]:
        return [Trouble(f"{file.name}: cannot write: {told['error']}", FAILED)]
    try:
        file.commit()
    except OSError as error:
        return [Trouble(f"{file.name}: cannot write: {error.strerror}", FAILED)]
    warning = timeline.warning(told)
    if warning:
        tell(f"{file.name}: {warning}")
    return []


@click.command(cls=Command, short_help="Precondition a drive and save its state.")
@click.argument("drive")
@click.option("-o", "--output", required=True, metavar="SNAPSHOT", help="The file to write.")
@set_option
@policy_option
@seed_option
@json_file_option
@quiet_option
def precondition(
    drive: str,
    output: str,
    sets: tuple[str, ...],
    policy_files: tuple[str, ...],
    seed: int | None,
    json_name: str | None,
    quiet: bool,
) -> None:
    """Precondition DRIVE by its [precondition] section, and save its state for 'wordline run --from'."""
    from wordline import _core
    from wordline.base.progress import Progress
    from wordline.cli import policyfile

    taken_in = policyfile.taken_in(policy_files)
    if output == "-":
        raise Trouble("a snapshot cannot go to standard output; give the name of a file")
    names = {"output": output} | ({} if json_name is None else {"json": json_name})
    all_apart(names)
    with ExitStack() as open_files:
        file = open_files.enter_context(OutputFile(output, [drive]))
        beside = None if json_name is None else open_files.enter_context(OutputFile(json_name, [drive]))
        if file.special:
            raise Trouble(f"{output}: a snapshot cannot go to a device or a pipe; give the name of a file")
        with policyfile.shown(policy_files), Progress(quiet) as progress:
            done = json.loads(_core.precondition(drive, list(sets), seed, str(file.path), output, progress, taken_in))
        if done.get("partial"):
            raise Trouble("interrupted; no snapshot was written", INTERRUPTED)
        file.commit()
        if beside is not None:
            from wordline.base import jsontext

            beside.write(jsontext.dumps(done) + "\n")
        if not quiet:
            from wordline.base.console import console
            from wordline.results import aged

            aged.show(console(stderr=beside is not None and beside.standard), Path(output), done)
