"""The command ``wordline``: what to type. What is done and shown lies in the modules beside."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from wordline.errors import FAILED, INTERRUPTED, Trouble, status_of, tell
from wordline.files import OutputFile
from wordline.options import (
    Commands,
    Window,
    all_apart,
    as_typed,
    device_option,
    emit,
    format_option,
    json_file_option,
    json_flag,
    load_set_option,
    output_option,
    policy_option,
    print_json,
    quiet_option,
    seed_option,
    set_option,
    several,
    table_options,
    trace_sets,
)
from wordline.process import Signals, standard_streams, typed
from wordline.pts.cli import pts
from wordline.saved import compare, report
from wordline.timeline_cli import show_timeline
from wordline.trace_cli import trace

if TYPE_CHECKING:
    from wordline import api

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


MOST_SLICES = 2**63 - 1
"""More slices than this no timeline can hold."""


def print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Prints the version and leaves."""
    if wanted and not ctx.resilient_parsing:
        from wordline import _core

        click.echo(f"wordline {_core.version()}")
        ctx.exit()


@click.group(cls=Commands, context_settings=CONTEXT, no_args_is_help=False, invoke_without_command=True)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=print_version, help="The version.")
@click.pass_context
def wordline(ctx: click.Context) -> None:
    """Wordline, an SSD laboratory: simulates a solid-state drive from its NAND pins to its host's queue."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@wordline.command(short_help="Run a load on a drive.")
@click.argument("drive")
@click.argument("load")
@click.argument("more", nargs=-1)
@set_option
@load_set_option
@policy_option
@click.option("--from", "snapshot", metavar="SNAPSHOT", help="Start from a drive that 'wordline precondition' aged.")
@seed_option
@click.option(
    "--repeat",
    type=click.IntRange(min=2),
    metavar="N",
    help="Run under N seeds, --seed and those that follow; give means with 95 % intervals.",
)
@json_file_option
@click.option("--fio-json", "fio_name", metavar="FILE", help="Write results job by job in fio's JSON layout.")
@click.option("--report", "report_name", metavar="FILE", help="Write a report for a browser, one HTML file.")
@click.option("--timeline", "timeline_name", metavar="FILE", help="Write a timeline for ui.perfetto.dev.")
@click.option(
    "--window",
    type=Window(),
    metavar="A..B",
    help="Timeline: only this part of simulated time, such as 0.5s..600ms; ..1ms starts with the run.",
)
@click.option(
    "--timeline-limit",
    type=click.IntRange(min=1, max=MOST_SLICES),
    metavar="N",
    help="Timeline: cut it where it holds N slices.  [default: 2000000]",
)
@table_options
@quiet_option
@format_option
@device_option
@click.option("--pace", metavar="WHEN", help="Trace: by its 'timestamps', or 'asap', as fast as the queue takes it.")
@click.option("--speed", type=float, metavar="X", help="Trace: X times as fast as recorded.")
@click.option("--loops", type=click.IntRange(min=1), metavar="N", help="Trace: N times, one behind another.")
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
    quiet: bool,
    format_name: str | None,
    **shortcuts: object,
) -> None:
    """Run LOAD on DRIVE.

    DRIVE is a preset ('wordline drives') or a TOML file, LOAD a trace (plain, gz or zst), a workload TOML file or a
    job file of fio: its content tells which. A trace may be several files, a directory or a
    quoted pattern such as 'sda.blktrace.*'.
    """
    from wordline import _core, policyfile, repeats
    from wordline import tables as tables_of
    from wordline.progress import Progress

    taken_in = policyfile.taken_in(policy_files)
    shortcuts["format"] = format_name
    all_load_sets = [*several(load, more), *load_sets, *trace_sets(shortcuts)]
    wanted = (("json", json_name), ("fio-json", fio_name), ("report", report_name), ("timeline", timeline_name))
    names = {kind: name for kind, name in wanted if name is not None}
    all_apart(names)
    if timeline_name is None:
        for option, value in (("--window", window), ("--timeline-limit", timeline_limit)):
            if value is not None:
                raise Trouble(f"{option} is for a timeline; say by --timeline where it is to go")
    inputs = [drive, load, *more, *([snapshot] if snapshot else [])]
    wanted_tables = tables_of.asked(tables, out, sample, interval, dashes="--")
    with ExitStack() as open_files:
        outputs = {kind: open_files.enter_context(OutputFile(name, inputs)) for kind, name in names.items()}
        timeline = outputs.pop("timeline", None)
        path = None if timeline is None else str(timeline.path)
        watched = policyfile.shown(policy_files)

        def one(seed: int | None, first: bool, told: api.Progress) -> str:
            return _core.run(
                drive,
                load,
                list(sets),
                all_load_sets,
                seed,
                snapshot,
                told,
                # Of several seeds, the first has all that was asked for beside the figures.
                path if first else None,
                window if first else None,
                timeline_limit if first else None,
                tables=wanted_tables if first else None,
                job_by_job=first and fio_name is not None,
                # The summary says nothing of where the time went.
                split=first and ("json" in outputs or "report" in outputs),
                policies=taken_in,
            )

        with watched, Progress(quiet) as progress, as_typed(shortcuts), kept(timeline):
            if repeat is None:
                result = json.loads(one(seed, True, progress))
            else:
                repeats.read_again([load, *more])
                together = 1 if taken_in else repeats.at_once(repeat, state_bytes(drive, sets))
                result = repeats.run(one, _core.SEED if seed is None else seed, repeat, progress, together)
        finish(result, outputs, quiet, timeline)
    if result.get("partial"):
        sys.exit(INTERRUPTED)


def state_bytes(drive: str, sets: tuple[str, ...]) -> int:
    """What the state of a drive takes in memory."""
    from wordline import _core

    return json.loads(_core.check(drive, list(sets)))["derived"]["state_bytes"]


@contextmanager
def kept(timeline: OutputFile | None) -> Iterator[None]:
    """Of a run that fails half-way, the timeline remains: it shows how that came. It is empty before the run begins."""
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
    from wordline import jsontext

    def report_text() -> str:
        from wordline import report as page

        return page.html(result)

    fio = result.pop("fio", None)
    texts = {
        "json": lambda: jsontext.dumps(result) + "\n",
        "fio-json": lambda: jsontext.dumps(fio) + "\n",
        "report": report_text,
    }
    # A drive that was not even aged has no result that would be worth an older one.
    unmeasured = result["partial"] and (result["precondition"] or {}).get("interrupted", False)
    told = result.pop("timeline", None)
    if unmeasured:
        every = [*outputs.values(), *([] if timeline is None else [timeline])]
        old = [output.name for output in every if output.replaces]
        outputs = {kind: output for kind, output in outputs.items() if not output.replaces}
        timeline = None if timeline is None or timeline.replaces else timeline
        if old:
            tell(f"{', '.join(old)}: left as {'it was' if len(old) == 1 else 'they were'}, since nothing was measured")
    failures = [] if timeline is None else finish_timeline(told, timeline)
    # Where the tables went is no part of the result: the same run gives the same one.
    failures += [Trouble(problem, FAILED) for problem in result.pop("tables", {}).get("errors", [])]
    for kind, output in outputs.items():
        try:
            output.write(texts[kind]())
        except Trouble as trouble:
            failures.append(trouble)
    if not quiet:
        from wordline import summary
        from wordline.console import console

        # Standard output belongs to the file that was sent there.
        taken = any(output.standard for output in outputs.values())
        summary.show(console(stderr=taken), result)
    if failures:
        raise Trouble("\nwordline: ".join(failure.message for failure in failures), FAILED)


def finish_timeline(told: dict[str, Any], file: OutputFile) -> list[Trouble]:
    """Puts a timeline in its place, warns if it is not what was asked for, and gives what went wrong."""
    from wordline import timeline

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


@wordline.command(short_help="Check a drive; show its figures and settings.")
@click.argument("drive")
@set_option
@policy_option
@seed_option
@json_flag
@output_option
def check(
    drive: str,
    sets: tuple[str, ...],
    policy_files: tuple[str, ...],
    seed: int | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Check DRIVE: its figures and all its settings, or what is wrong with it.

    What 'wordline run' would refuse, this refuses. Which blocks come bad follows from the seed: give that of the run.
    """
    from wordline import _core, policyfile

    taken_in = policyfile.taken_in(policy_files)
    with policyfile.shown(policy_files):
        checked = json.loads(_core.check(drive, list(sets), taken_in, seed))
    from wordline import checking

    emit(checked, partial(checking.show, checked=checked), as_json=as_json, output=output, inputs=[drive])


@wordline.command(short_help="List the drives that come with Wordline, or print one.")
@click.argument("name", required=False)
@json_flag
@output_option
def drives(name: str | None, as_json: bool, output: str | None) -> None:
    """List the drives that come with Wordline; with NAME, print that one as a TOML file to start a drive from."""
    from wordline import _core, listing

    listed = json.loads(_core.drives())
    if name is None:
        return emit(listed, partial(listing.show_drives, drives=listed), as_json=as_json, output=output)
    one = listing.preset(listed, name)
    if as_json:
        return emit(one, lambda _: None, as_json=True, output=output)
    # The text as it is: no line of a file is to be broken.
    if output is None or output == "-":
        return click.echo(one["toml"], nl=False)
    with OutputFile(output) as file:
        file.write(one["toml"])
    return None


@wordline.command(short_help="List the policies with their sources and options.")
@click.argument("family", required=False)
@policy_option
@json_flag
@output_option
def policies(family: str | None, policy_files: tuple[str, ...], as_json: bool, output: str | None) -> None:
    """List the policies of firmware and host, of all families or of FAMILY."""
    from wordline import _core, listing, policyfile

    listed = listing.of_family(policyfile.listed(json.loads(_core.policies()), policy_files), family)
    emit(listed, partial(listing.show_policies, policies=listed), as_json=as_json, output=output, inputs=policy_files)


@wordline.command(short_help="Explain a key of a drive or workload file.")
@click.argument("key", required=False)
def explain(key: str | None) -> None:
    """Explain KEY of a drive file or a workload file; a section is explained with its keys."""
    from wordline import _core
    from wordline import explain as explaining
    from wordline.console import console

    drive_keys, load_keys = json.loads(_core.keys()), json.loads(_core.load_keys())
    if key is None:
        return explaining.show_sections(console(), drive_keys, load_keys)
    # The names of policies are no keys, and yet what one would ask for.
    if not any(explaining.find(keys, key) for keys in (drive_keys, load_keys)):
        homes = [policy["family"] for policy in json.loads(_core.policies()) if policy["name"] == key]
        if homes:
            raise Trouble(
                f"'{key}' is a policy of the family {' and '.join(homes)}; try 'wordline policies {homes[0]}'"
            )
    # One after the other: a short name is the drive's before it is the load's.
    keys = next((keys for keys in (drive_keys, load_keys) if explaining.find(keys, key)), None)
    if keys is None:
        raise explaining.unknown([*drive_keys, *load_keys], key)
    return explaining.show(console(), explaining.find(keys, key), keys)


@wordline.command(short_help="Age a drive and keep its state.")
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
    """Age DRIVE as its [precondition] section says, and keep its state for 'wordline run --from'."""
    from wordline import _core, policyfile
    from wordline.progress import Progress

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
            from wordline import jsontext

            beside.write(jsontext.dumps(done) + "\n")
        if not quiet:
            from wordline import aged
            from wordline.console import console

            aged.show(console(stderr=beside is not None and beside.standard), Path(output), done)


@wordline.command(short_help="Rerun the experiments of the source papers.")
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Run all studies.")
@click.option("--scorecard", is_flag=True, help="Run all studies and print how each claim fared; writes no pages.")
@click.option(
    "--sensitivity", is_flag=True, help="Also try the alternatives of what the paper leaves open, one at a time."
)
@click.option("--full", is_flag=True, help="Ten times as many requests, for smoother figures.")
@click.option("--out", metavar="DIR", help="Write pages and figures there, a folder a study.  [default: out/studies]")
@json_flag
def study(
    name: str | None, everything: bool, scorecard: bool, sensitivity: bool, full: bool, out: str | None, as_json: bool
) -> None:
    """Rerun the experiment NAME of a paper: published values beside measured ones; without NAME, list what there is."""
    from wordline import _core
    from wordline.console import console
    from wordline.studies import catalogue, command, show

    if bool(name) + everything + scorecard > 1:
        raise click.UsageError("give the name of one study, or --all, or --scorecard")
    if not (name or everything or scorecard):
        if full or sensitivity or out is not None:
            raise click.UsageError("--full, --sensitivity and --out are for a study to run; give its name, or --all")
        listed = catalogue.every()
        return print_json(command.list_json(listed)) if as_json else show.listing(console(), listed)
    if scorecard and out is not None:
        raise click.UsageError("--scorecard writes no pages, so that --out has no use with it; did you mean --all?")
    if scorecard and sensitivity:
        raise click.UsageError("--scorecard runs nothing but what was chosen; give --all with --sensitivity")
    version, folder = _core.version(), command.OUT if out is None else Path(out)
    if sensitivity:
        tried, partial = command.try_choices(name, folder, full=full, version=version)
        if as_json:
            print_json(command.sensitivity_json(tried, version, partial, everything=everything))
        else:
            show.choices(console(), tried, folder, partial)
        if partial:
            sys.exit(INTERRUPTED)
        return None
    if name:
        done, page = command.run_one(name, folder, full=full, version=version)
        return print_json(done.json(version)) if as_json else show.report(console(), done, page)
    reports, partial = command.run_all(None if scorecard else folder, full=full, version=version)
    if as_json:
        to_json = command.scorecard_json if scorecard else command.all_json
        print_json(to_json(reports, version, partial))
    else:
        show.scorecard(console(), reports, partial)
    if partial:
        sys.exit(INTERRUPTED)
    return None


wordline.add_command(report)
wordline.add_command(compare)
wordline.add_command(trace)
wordline.add_command(show_timeline)
wordline.add_command(pts)


def carry_out(arguments: list[str]) -> None:
    """Does what was typed. Click's own ``main`` has another status for output that nobody reads."""
    try:
        with wordline.make_context("wordline", arguments) as context:
            wordline.invoke(context)
    except click.exceptions.Exit as left:
        sys.exit(left.exit_code)


def main() -> NoReturn:
    """The program: runs the command line and ends the process with its exit status."""
    signals = Signals()
    standard_streams()
    status = status_of(lambda: carry_out(typed(sys.argv[1:])))
    sys.exit(signals.status(status))
