"""The black-box test of the size of map zones: 4.4 of chang11's CPSNA paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wordline.studies.catalogue import parsed
from wordline.studies.context import Context
from wordline.studies.outcome import Lines, Outcome, Table
from wordline.studies.packages import KIB

ZONE = "chang11.mapping-zone"
LAYERS = ("bast", "sast", "fast")
MIB = KIB * KIB
APART = 1.2
"""Longest over shortest response from which on they differ."""
DRAWN = 32
"""Every so many MB there is a point in the drawing."""

Drive = tuple[str, int]
"""Translation layer, and zone size in MB."""
Reads = dict[int, float]
"""Mean response in microseconds by distance in MB."""


def run(context: Context) -> Outcome:
    """The test on each drive, and what it finds."""
    chapter = parsed(context.study.folder.parent / f"{context.study.chapter}.toml")["zones"]
    drives: list[Drive] = [(layer, size) for size in chapter["sizes_mib"] for layer in LAYERS]
    distances = {it: range(1, it[1] + chapter["beyond_mib"] + 1, chapter["step_mib"]) for it in drives}
    results = context.drives(
        {(*it, apart): experiment(context, chapter, it, apart) for it in drives for apart in distances[it]},
        ("latency_us", "mapping_table"),
    )
    responses = {
        it: {apart: results[(*it, apart)]["latency_us"]["read"]["mean"] for apart in distances[it]} for it in drives
    }
    found = {it: size_found(reads) for it, reads in responses.items()}
    shown = chapter["sizes_mib"][0]
    points = range(DRAWN, shown + chapter["beyond_mib"] + 1, DRAWN)
    return Outcome(
        measured={ZONE: {name(it): found[it] == it[1] for it in drives}},
        tables=[table(chapter, results, responses, found)],
        figures=[
            Lines(
                "zones",
                f"Response time of two reads in turn, zones of {shown} MB (figure 7h)",
                "Mean response time over the distance of two reads, by translation layer.",
                "distance, MB",
                "µs",
                [str(apart) for apart in points],
                {layer.upper(): [responses[layer, shown][apart] for apart in points] for layer in LAYERS},
            )
        ],
        discussed={f"near, {name(it)}": min(reads.values()) for it, reads in responses.items()}
        | {f"far, {name(it)}": max(reads.values()) for it, reads in responses.items()},
    )


def name(it: Drive) -> str:
    """A drive in words."""
    layer, size = it
    return f"{layer.upper()}, {size} MB"


def size_found(reads: Reads) -> int | None:
    """The first distance with a longer response: the size of a zone; None if no response is longer."""
    least, most = min(reads.values()), max(reads.values())
    if most < APART * least:
        return None
    return next(apart for apart, took in reads.items() if took > (least + most) / 2)


def experiment(context: Context, chapter: dict[str, Any], it: Drive, apart: int) -> dict[str, Any]:
    """Two reads in turn, so far apart, on a filled drive."""
    layer, size = it
    for key in ("rise", "flash"):
        context.choice(key)
    blocks, bytes_ = chapter["logical_blocks"], chapter["read_bytes"]
    job = {
        "name": "two reads",
        "rw": "read",
        # What is skipped after the first read ends at the second, and the region behind that: it begins anew.
        "rw_modifier": str(apart * MIB - bytes_),
        "bs": str(bytes_),
        "offset": str(context.choice("first") * MIB),
        "size": str(apart * MIB + 4 * KIB),
        "io_size": str(2 * context.requests(chapter["reads"]) * bytes_),
        "iodepth": 1,
    }
    return {
        "drive": "demo",
        "sets": {
            **{
                f"geometry.{key}": 1
                for key in ("channels", "packages_per_channel", "dies_per_package", "planes_per_die")
            },
            "geometry.blocks_per_plane": blocks + chapter["spare_blocks"],
            "geometry.pages_per_block": chapter["block_kib"] // chapter["page_kib"],
            "geometry.page_kib": chapter["page_kib"],
            "capacity.raw_over_logical": 1 + chapter["spare_blocks"] / blocks,
            **{f"nand.{key}": value for key, value in chapter["nand"].items()},
            "placement.policy": "least-busy",
            "collect.scope": "drive",
            "buffer.policy": "none",
            "mapping": {
                "policy": layer,
                "log_blocks": chapter["log_blocks"],
                "zone_blocks": size * KIB // chapter["block_kib"],
                "zone_tables": context.choice("tables"),
            },
        },
        "precondition": {"fill": True, "overwrites": 0},
        "then": {},
        # The first two reads find neither table in memory.
        "jobs": [{**job, "io_size": str(2 * bytes_)}, job],
    }


def table(
    chapter: dict[str, Any],
    results: Mapping[tuple[str, int, int], dict[str, Any]],
    responses: Mapping[Drive, Reads],
    found: Mapping[Drive, int | None],
) -> Table:
    """What the test finds on each drive."""
    rows = []
    for it, reads in responses.items():
        layer, size = it
        beyond = results[(layer, size, size + chapter["beyond_mib"])]["mapping_table"]
        rows.append(
            [
                layer.upper(), size, found[it], min(reads.values()), max(reads.values()), beyond["zone_loads"],
                beyond["reads"] / max(1, beyond["zone_loads"]),
            ]
        )  # fmt: skip
    return Table(
        "What the test finds",
        (
            "translation layer", "zone, MB", "found, MB", "shortest mean response, µs", "longest, µs",
            "tables loaded at the largest distance", "pages of a table",
        ),
        rows,
        "Responses are means of both reads at a distance; they come in turn. A dash: no response was longer.",
    )  # fmt: skip
