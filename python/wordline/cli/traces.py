"""The commands ``wordline trace``."""

from __future__ import annotations

import json
from functools import partial

import click

from wordline.cli.options import (
    Commands,
    Window,
    as_typed,
    by_key,
    device_option,
    emit,
    format_option,
    json_flag,
    load_set_option,
    output_option,
    quiet_option,
    quiet_progress_option,
    seed_option,
    several,
    to_option,
    trace_sets,
)


@click.group(cls=Commands)
def trace() -> None:
    """Inspect, convert and generate traces."""


@trace.command()
@click.argument("file")
@click.argument("more", nargs=-1)
@format_option
@load_set_option
@device_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N requests.")
@click.option(
    "--k",
    type=click.IntRange(min=1, max=4096),
    default=10,
    show_default=True,
    metavar="K",
    help="A request is sequential if it starts where one of the previous K ended.",
)
@quiet_progress_option
@json_flag
@output_option
def info(
    file: str,
    more: tuple[str, ...],
    load_sets: tuple[str, ...],
    k: int,
    quiet: bool,
    as_json: bool,
    output: str | None,
    **shortcuts: object,
) -> None:
    """Describe the trace FILE, or several as one: counts, sizes, order, arrivals, footprint, rewrites."""
    from wordline import _core
    from wordline.base.progress import Progress

    named = by_key(shortcuts)
    with Progress(quiet) as progress, as_typed(named):
        found = json.loads(_core.trace_info(file, [*several(file, more), *load_sets, *trace_sets(named)], k, progress))
    from wordline.traces import info as traceinfo

    name = f"{file} and {len(more)} more" if more else file
    show = partial(traceinfo.show, name=name, info=found)
    emit(found, show, as_json=as_json, output=output, inputs=[file, *more])


@trace.command(short_help="Write a trace in another format.")
@click.argument("file", metavar="IN")
@click.argument("output", metavar="OUT")
@to_option
@click.option("--drop", is_flag=True, help="Leave out requests that the new format cannot express, such as trims.")
@click.option("--round", "round_out", is_flag=True, help="Round outwards to 512 bytes where the new format needs it.")
@click.option("--window", type=Window(), metavar="A..B", help="Only this part of the trace's time, such as 10s..20s.")
@device_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Write N requests at most.")
@click.option("--speed", type=float, metavar="X", help="Divide all times by X.")
@format_option
@load_set_option
@quiet_option
@json_flag
def convert(
    file: str,
    output: str,
    to: str | None,
    drop: bool,
    round_out: bool,
    window: tuple[int, int] | None,
    load_sets: tuple[str, ...],
    quiet: bool,
    as_json: bool,
    **shortcuts: object,
) -> None:
    """Write the trace IN to OUT in another format.

    The extension of OUT selects the format, unless --to does; .gz or .zst compresses. - is standard output.
    """
    from wordline.traces import writing as traces

    named = by_key(shortcuts)
    sets = [*load_sets, *trace_sets(named)]
    with as_typed(named):
        told = traces.convert(file, output, to, sets, drop=drop, round_out=round_out, window=window, quiet=quiet)
    traces.report(told, output, traces.conversion, quiet=quiet, as_json=as_json)


@trace.command(short_help="Generate a trace from published statistics.")
@click.argument("spec", required=False)
@click.option("-o", "--output", required=True, metavar="OUT", help="The file to write; - for standard output.")
@to_option
@click.option("--requests", metavar="N", help="Requests to make.")
@click.option("--duration", "duration_s", metavar="S", help="Duration in seconds, instead of --requests.")
@click.option("--writes", "write_percent", metavar="PERCENT", help="Percentage of writes.")
@click.option("--read-size", metavar="SIZE", help="Sizes of reads: the mean, 7.4k, or shares, 4k:60,64k:40.")
@click.option("--write-size", metavar="SIZE", help="Sizes of writes, in the same form.")
@click.option("--random", "random_percent", metavar="PERCENT", help="Percentage of requests to random addresses.")
@click.option("--footprint", metavar="SIZE", help="Bytes of all pages accessed, such as 2g.")
@click.option("--mean-gap", "gap_mean_us", metavar="US", help="Mean interarrival time in microseconds.")
@click.option("--median-gap", "gap_median_us", metavar="US", help="Median interarrival time in microseconds.")
@click.option("--burst", "burst_requests", metavar="N", help="Mean number of requests in a burst.")
@seed_option
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Set any key of SPEC. May be repeated.")
@quiet_option
@json_flag
def synth(
    spec: str | None,
    output: str,
    to: str | None,
    sets: tuple[str, ...],
    quiet: bool,
    as_json: bool,
    **shortcuts: object,
) -> None:
    """Generate a stand-in for a trace that is known only by its statistics.

    The statistics come from the TOML file SPEC, from the options, or both; an option wins. See docs/trace-tools.md.
    """
    from wordline.traces import writing as traces

    told = traces.synthesise(spec, output, to, list(sets), shortcuts, quiet=quiet)
    traces.report(told, output, traces.comparison, quiet=quiet, as_json=as_json)
