"""Conversion and generation of traces."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from wordline.base import jsontext, units
from wordline.base.errors import Trouble
from wordline.base.files import OutputFile
from wordline.results import story

HOLD_COMMENTS = ("csv", "parquet")
"""Formats that can mark a stand-in in the file itself."""

Told = dict[str, Any]


def convert(
    file: str,
    output: str,
    to: str | None,
    sets: list[str],
    *,
    drop: bool,
    round_out: bool,
    window: tuple[int, int] | None,
    quiet: bool,
) -> Told:
    """Writes the trace ``file`` to ``output``; returns the figures of the conversion.

    :raises Trouble: if the output cannot be written.
    """
    from wordline import _core
    from wordline.base.progress import Progress

    with OutputFile(output, [file]) as out:
        with Progress(quiet or out.standard) as progress:
            path = None if out.standard else str(out.path)
            told = json.loads(_core.trace_convert(file, sets, path, output, to, drop, round_out, window, progress))
        mark(out, told)
        keep(out)
    return told


def synthesise(
    spec: str | None, output: str, to: str | None, sets: list[str], shortcuts: dict[str, object], *, quiet: bool
) -> Told:
    """Makes a stand-in; options stand for keys of the description. A format without comments gets a file beside it.

    :raises Trouble: if the statistics make no sense, or the output cannot be written.
    """
    from wordline import _core
    from wordline.base.progress import Progress

    given = {key: value for key, value in shortcuts.items() if value is not None}
    all_sets = [*sets, *(f"{key}={value}" for key, value in given.items())]
    with OutputFile(output, [spec] if spec else []) as out:
        try:
            with Progress(quiet or out.standard) as progress:
                path = None if out.standard else str(out.path)
                told = json.loads(_core.trace_synth(spec, all_sets, path, output, to, progress))
        except _core.InputError as error:
            raise Trouble(as_typed(str(error), given)) from None
        mark(out, told)
        keep(out)
    return told


OPTIONS = {
    "duration_s": "duration",
    "write_percent": "writes",
    "random_percent": "random",
    "gap_mean_us": "mean-gap",
    "gap_median_us": "median-gap",
    "burst_requests": "burst",
}
"""Options of ``synth`` whose names differ from their keys."""


def as_typed(message: str, given: dict[str, object]) -> str:
    """A message that names the options that the user typed."""
    for key, value in given.items():
        option = OPTIONS.get(key, key.replace("_", "-"))
        message = message.replace(f"--set {key}={value}:", f"--{option} {value}:")
    return message


def mark(out: OutputFile, told: Told) -> None:
    """Writes a mark file beside a stand-in in a format without comments; otherwise removes an old mark.

    :raises Trouble: if that fails.
    """
    if out.special:
        return
    beside = f"{out.name}.stand-in.json"
    if told["stand_in"] and told["format"] not in HOLD_COMMENTS:
        told["marked_by"] = beside
        # Before the trace itself, which must not be there without its mark.
        with OutputFile(beside) as file:
            file.write(jsontext.dumps(told) + "\n")
    else:
        try:
            Path(beside).unlink(missing_ok=True)
        except OSError as error:
            raise Trouble(f"{beside}: cannot remove the mark of an older trace: {error.strerror}", status=1) from None


def keep(out: OutputFile) -> None:
    """Puts a written file in its place.

    :raises Trouble: if that fails.
    """
    try:
        out.commit()
    except OSError as error:
        raise Trouble(f"{out.name}: cannot write: {error.strerror}", status=1) from None


def report(
    told: Told, output: str, rows: Callable[[Told, str], Iterator[tuple[str, str]]], *, quiet: bool, as_json: bool
) -> None:
    """Prints the figures, on standard error if the trace itself went to standard output."""
    from wordline.base.console import console, facts

    if as_json:
        # Standard output carries the trace.
        return click.echo(jsontext.dumps(told), err=output == "-")
    if quiet:
        return None
    return facts(console(stderr=output == "-"), rows(told, output), width=14)


def conversion(told: Told, output: str) -> Iterator[tuple[str, str]]:
    """The figures of a conversion."""
    source = told["detected"]
    yield "From", f"{told['file']}, {source['format']} ({source['reason']})"
    yield "To", f"{'standard output' if output == '-' else output}, {told['format']}"
    if told["stand_in"]:
        yield "Stand-in", "made from statistics; not a recorded trace"
    if told.get("marked_by"):
        yield "Marked by", told["marked_by"]
    yield "Requests", units.count(told["requests"])
    if not told["timed"]:
        yield "Times", untimed(told)
    yield from losses(told)


def untimed(told: Told) -> str:
    """Advice for a copy of a trace without time stamps."""
    none = "NONE: the trace has no time stamps, and the copy has 0 for each; "
    if told["says_untimed"]:
        return none + "Wordline reads it as an order only, other programs need an option for that"
    return none + "replay it with --pace asap, or all requests arrive at once"


def losses(told: Told) -> Iterator[tuple[str, str]]:
    """Losses of a conversion."""
    if told["times_cut"]:
        step = units.latency(told["resolution_ps"] / 1e6) if "resolution_ps" in told else "its resolution"
        yield "Times", f"{units.some(told['times_cut'], 'time')} truncated to whole steps of {step}"
    if told["dropped"]:
        yield "Left out", f"{units.some(told['dropped'], 'trim or flush', 'trims and flushes')}"
    if told["unmarked"]:
        yield "Marks", f"{units.some(told['unmarked'], 'request')} lost the flag of force unit access (FUA)"
    if told["rounded"]:
        yield "Rounded", f"{units.some(told['rounded'], 'request')}, outwards to 512 bytes"
    yield from story.left_out(told.get("left_out") or {})


def comparison(told: Told, output: str) -> Iterator[tuple[str, str]]:
    """Requested figures beside measured ones."""
    measured, asked = told["measured"], told["asked"]
    yield "Stand-in", f"{'standard output' if output == '-' else output}, {told['format']}: made from statistics"
    if told.get("marked_by"):
        yield "Marked by", told["marked_by"]
    yield "Requests", f"{units.count(measured['requests'])} in {units.duration(measured['duration_s'])}"

    def beside(key: str, text: str) -> str:
        return f"{text} (requested {asked[key]})" if key in asked else text

    yield "Writes", beside("write_percent", f"{measured['write_percent']:.3g} %")
    for kind in ("read", "write"):
        mean = measured[f"{kind}_size_bytes"]
        if mean is not None:
            yield f"Mean {kind}", beside(f"{kind}_size", units.size(mean))
    yield "Random", beside("random_percent", f"{measured['random_percent']:.3g} %")
    region = f"; addresses within {units.size(told['region_bytes'])}"
    yield "Footprint", beside("footprint", units.size(measured["footprint_bytes"])) + region
    for kind in ("mean", "median"):
        gap = measured[f"gap_{kind}_us"]
        if gap is not None:
            yield f"{kind.capitalize()} gap", beside(f"gap_{kind}_us", f"{units.three(gap)} µs")
    yield "Arrivals", f"{told['arrivals']}; excess over the median times {told['stretch']:.4g}"
    yield from losses(told["written"] | {"resolution_ps": told["resolution_ps"]})
