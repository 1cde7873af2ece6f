"""The report of a run: one HTML file that needs no network."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import resources
from typing import TYPE_CHECKING, Any

from wordline.base import palette, units
from wordline.report import blockfigure, charts, figures, inputs, sharing
from wordline.results import (
    arrays,
    causes,
    collections,
    jobs,
    limits,
    log_blocks,
    lookups,
    policies,
    redundancy,
    repeats,
    slc,
    story,
    tasks,
)

if TYPE_CHECKING:
    from markupsafe import Markup

PERCENTILES = {
    "mean": "mean",
    "min": "fastest",
    **{key: units.percentile(key) for key in ("p50", "p90", "p99", "p99_9", "p99_99", "p99_999", "p99_9999")},
    "max": "slowest",
}

OPS = ("read", "write", "trim", "flush")
SIZES = {"up_to_64k": "≤ 64 KiB", "above_64k": "> 64 KiB"}


TIMED = ("latency", "latencies", "throughput", "causes", "space", "stage", "dies-map", "channels-map")
"""Figures over simulated time, which share a cursor and a zoom."""

SECTIONS = {
    "repeats": "Repeats",
    "latency": "Latency",
    "jobs": "Jobs",
    "members": "Members",
    "where": "Where the time went",
    "over-time": "Over time",
    "blocks": "Blocks",
    "utilisation": "Utilisation",
    "wear": "Wear",
    "flash": "Flash",
    "drive": "Drive",
    "start": "Start",
    "workload": "Workload",
    "configuration": "Configuration",
    "provenance": "Provenance",
}
"""Sections of the page by their names in it."""


def html(result: dict[str, Any]) -> str:
    """The whole page for ``result``."""
    drawings = figures.all_of(result)
    timed = [(key.removesuffix("-map"), drawings[key]) for key in TIMED if key in drawings]
    about = inputs.of(result, "run")
    parts = jobs.of(result)
    absent = {
        *([] if parts else ["jobs"]),
        *([] if arrays.of(result) else ["members"]),
        *([] if repeats.block(result) else ["repeats"]),
        *([] if "where" in drawings else ["where"]),
        *([] if timed else ["over-time"]),
        *([] if "blocks" in drawings else ["blocks"]),
        *([] if "wear" in drawings else ["wear"]),
        *([] if about["start"] else ["start"]),
    }
    return render(
        "report.html.j2",
        title=f"{story.load_name(result)} on {story.drive_name(result)}",
        partial=story.partial(result),
        paragraph=story.paragraph(result),
        limits=limits.sentences(result),
        tiles=list(tiles(result)),
        sections=[(key, name) for key, name in SECTIONS.items() if key not in absent],
        latency=latency_table(result),
        jobs=[
            (jobs.RATES, list(jobs.rates(parts)), "Jobs"),
            (jobs.LATENCIES, list(jobs.latencies(parts)), "Latency by job"),
        ]
        if parts
        else [],
        members=members_table(result),
        repeats=repeats_table(result),
        drawings=defaultdict(lambda: None, drawings),
        timed=timed,
        charts=charts.of_run(result).json() if timed else "",
        blocks=blockfigure.of_page(result),
        where=where_table(result),
        waits=sharing.waits_table(result),
        link=link_words(result),
        work=list(work(result)),
        afterwards=list(afterwards(result)),
        **about,
    )


def render(template: str, **values: Any) -> str:  # noqa: ANN401
    """A page from its template."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("wordline.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(tight=tight, breakable=breakable)
    environment.globals.update(charts="", blocks="", part=part)
    # Names of files and jobs may hold characters that a page must not.
    return units.visible(environment.get_template(template).render(palette=palette.css("screen and "), **values)) + "\n"


def part(name: str) -> Markup:
    """The text of a style sheet, script or licence that pages carry, as it is."""
    from markupsafe import Markup

    return Markup((resources.files("wordline.report") / "templates" / name).read_text(encoding="utf-8").strip())


def tight(text: str) -> str:
    """Keeps numbers and their units on one line."""
    return re.sub(r"(\d) (?=(?:%|[mµn]?s|min|h|[KMGTP]i?B|B|[kMGT])(?:\W|$))", "\\1\u00a0", text)


def breakable(key: str) -> Markup:
    """Lets a long key break behind its dots and underscores."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"([._])", r"\1<wbr>", str(escape(key))))


def tiles(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The key figures: value and name."""
    of_all = result["latency_us"]["all"]
    yield f"{units.short(result['iops'])}/s", "requests"
    yield units.bandwidth(result["bandwidth_mib_s"]), "bandwidth"
    yield units.latency(of_all.get("p50")), "p50 latency"
    yield units.latency(of_all.get("p99")), "p99 latency"
    amplification = result.get("write_amplification")
    yield units.NOTHING if amplification is None else units.three(amplification), "write amplification"
    busy = story.parts(result)
    if busy:
        yield units.percent(busy[0].mean), f"{busy[0].name} busy"


def latency_table(result: dict[str, Any]) -> dict[str, Any]:
    """Latency by percentile, operation and size: ``ops`` and ``rows``, each a name and its values."""
    columns = dict(latency_columns(result))
    rows = [("requests", [units.count(told.get("count") or 0) for told in columns.values()])]
    for key, name in PERCENTILES.items():
        values = [told.get(key) for told in columns.values()]
        # Without enough samples for a percentile its row would be dashes.
        if any(value is not None for value in values):
            rows.append((name, [units.latency(value) for value in values]))
    return {"ops": list(columns), "rows": rows}


def latency_columns(result: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Latency of each operation, and of its small and large requests where it has both."""
    latency = result["latency_us"]
    present = [op for op in OPS if (latency.get(op) or {}).get("count")]
    # "All" first: on a phone it is visible without scrolling.
    if len(present) != 1:
        yield "all", latency.get("all") or {}
    yield from ((op, latency[op]) for op in present)
    # Behind all operations: on a narrow page only the first columns are visible without scrolling.
    for op in present:
        by_size = (result.get("latency_by_size_us") or {}).get(op) or {}
        sizes = [(name, by_size.get(key) or {}) for key, name in SIZES.items()]
        if all(told.get("count") for _, told in sizes):
            yield from ((f"{op} {name}", told) for name, told in sizes)


def repeats_table(result: dict[str, Any]) -> dict[str, Any]:
    """The main figures over all seeds: ``heads`` and ``rows``, and how the runs differ; empty without repeats."""
    told = repeats.block(result)
    if told is None:
        return {}
    seeds = f"{told['seeds'][0]} to {told['seeds'][-1]}" if told["n"] > 1 else str(told["seeds"][0])
    return {
        "n": told["n"],
        "seeds": seeds,
        "varied": repeats.varied(result),
        "heads": repeats.HEADS,
        "rows": list(repeats.rows(result)),
    }


def members_table(result: dict[str, Any]) -> dict[str, Any]:
    """The drives of an array side by side: ``heads``, ``rows``, and its layout and parity; empty for a drive."""
    array = arrays.of(result)
    if array is None:
        return {}
    sentences = [arrays.layout(array), *arrays.parity(result)]
    return {
        "words": " ".join(f"{text[0].upper()}{text[1:]}." for text in sentences),
        "heads": arrays.COLUMNS,
        "rows": list(arrays.rows(result)),
        "facts": list(arrays.facts(result)),
    }


def link_words(result: dict[str, Any]) -> str:
    """Utilisation of the host interface as a sentence."""
    busy = result.get("utilisation") or {}
    if busy.get("link_in") is None or busy.get("link_out") is None:
        return ""
    inwards, outwards = units.percent(busy["link_in"]), units.percent(busy["link_out"])
    return f"The host interface was busy {inwards} of the time inbound, {outwards} outbound."


def work(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Flash operations and garbage collection."""
    flash, wear = result["flash"], result["wear"]
    yield "Pages read", units.count(flash["reads"])
    yield "Pages programmed", units.count(flash["programs"])
    yield "Blocks erased", units.count(flash["erases"])
    for key, name in (
        ("commands", "Flash commands"),
        ("multi_plane_pages", "Pages in multi-plane commands"),
        ("merge_reads", "Reads for read-modify-write"),
        ("padded_units", "Logical pages of padding"),
        ("absorbed_units", "Logical pages absorbed by the write buffer"),
    ):
        if flash.get(key) is not None:
            yield name, units.count(flash[key])
    yield from collections.listed(result)
    yield from lookups.listed(result)
    yield from log_blocks.listed(result)
    yield from redundancy.listed(result)
    yield from slc.listed(result)
    for _, title, done in tasks.used(result):
        yield f"By {title}", tasks.moved(done)
    yield from policies.summed_up(result)
    yield "P/E cycles a block", f"{units.three(wear['mean'])} on average, {units.count(wear['max'])} at most"
    if result.get("free_blocks") is not None:
        when = "last completion" if "simulated_s" in result else "end"
        yield f"Free blocks at the {when}", units.count(result["free_blocks"])
    if result.get("energy_j") is not None:
        yield "Energy", units.energy(result["energy_j"])


def afterwards(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Background work after the last completion."""
    after = result.get("afterwards")
    if not after:
        return
    yield "Until the drive was idle", units.duration(after["simulated_s"])
    yield "Pages read", units.count(after["reads"])
    yield "Pages programmed", units.count(after["programs"])
    yield "Blocks erased", units.count(after["erases"])
    yield "Blocks collected by GC", units.count(after["collections"])
    yield "Pages moved by GC", units.count(after["moved_pages"])
    yield "Energy", units.energy(after["energy_j"])


def where_table(result: dict[str, Any]) -> dict[str, Any]:
    """Causes of latency: ``ops`` and ``rows``, each a cause with its share and its mean for each operation."""
    spent = {op: {part[0].key: part for part in causes.shares(result, op)} for op in causes.OPS}
    ops = [op for op, parts in spent.items() if parts]
    rows = []
    for cause in causes.CAUSES:
        if not any(cause.key in spent[op] for op in ops):
            continue
        values = []
        for op in ops:
            _, seconds, share = spent[op].get(cause.key, (cause, None, None))
            mean = None if seconds is None else 1e6 * seconds / result["latency_us"][op]["count"]
            values += [units.percent(share), units.latency(mean)]
        rows.append((cause, values))
    return {"ops": ops, "rows": rows}
