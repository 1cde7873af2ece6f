"""The report of a replay: one HTML file, as that of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from wordline.base import units
from wordline.report import inputs, lifefigures
from wordline.report.page import render, work
from wordline.results import lifetimes, replayed

Result = dict[str, Any]

SECTIONS = {
    "life": "Over the life",
    "blocks": "Blocks by their erases",
    "merges": "Merges",
    "flash": "Flash",
    "drive": "Drive",
    "start": "Start",
    "workload": "Workload",
    "configuration": "Configuration",
    "provenance": "Provenance",
}
"""Sections of the page by their names in it."""


def html(result: Result) -> str:
    """The whole page for ``result``."""
    drawings, about = lifefigures.all_of(result), inputs.of(result, "replay")
    absent = {*({"blocks", "merges"} - drawings.keys()), *([] if about["start"] else ["start"])}
    return render(
        "replay.html.j2",
        title=replayed.headline(result),
        partial=replayed.PARTIAL if result["partial"] else "",
        ending=replayed.ending(result),
        paragraph=replayed.paragraph(result),
        tiles=list(tiles(result)),
        sections=[(key, name) for key, name in SECTIONS.items() if key not in absent],
        life=life_table(result),
        drawings=defaultdict(lambda: None, drawings),
        work=[*requests(result), *work(result)],
        members={},
        **about,
    )


def tiles(result: Result) -> Iterator[tuple[str, str]]:
    """The key figures: value and name."""
    last, amplification = result["lifetime"][-1], result["write_amplification"]
    yield f"× {units.three(result['replay']['drive_writes'])}", "capacity written"
    yield units.NOTHING if amplification is None else units.three(amplification), "write amplification"
    yield units.short(result["flash"]["erases"]), "blocks erased"
    yield units.three(last["mean"]), "erases of a block, mean"
    yield units.short(last["most"]), "erases of a block, most"
    yield units.three(last["stddev"]), "standard deviation"


def life_table(result: Result) -> dict[str, Any]:
    """The drive at some points of its life: ``heads`` and ``rows``."""
    bad = lifetimes.has_bad_blocks(result)
    written, told = lifetimes.drive_writes(result), lifetimes.amplification(result)
    heads = ["written", "capacities", "mean erases", "standard deviation", "least", "most", "write amplification"]
    rows = []
    for n in lifetimes.picked(result, lifetimes.PARTS):
        point, ratio = result["lifetime"][n], told.since_start[n]
        row = [
            units.size(point["host_bytes"]),
            units.three(written[n]),
            units.three(point["mean"]),
            units.three(point["stddev"]),
            units.count(point["least"]),
            units.count(point["most"]),
            units.NOTHING if ratio is None else units.three(ratio),
        ]
        rows.append([*row, *([units.count(point[key]) for key in ("bad_blocks", "spare_blocks")] if bad else [])])
    return {"heads": [*heads, *(["bad blocks", "spare blocks"] if bad else [])], "rows": rows}


def requests(result: Result) -> Iterator[tuple[str, str]]:
    """Requests and their bytes, by operation."""
    for op, done in result["requests"].items():
        if done["count"]:
            size = f", {units.size(done['bytes'])}" if done["bytes"] else ""
            yield f"{units.plural(op).capitalize()} of the host", f"{units.count(done['count'])}{size}"
