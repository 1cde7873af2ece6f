"""Collections of log blocks by firmware and by channels: figures 8 and 9 of chang11, section V."""

from __future__ import annotations

from typing import Any

from wordline.studies.catalogue import parsed
from wordline.studies.context import Context
from wordline.studies.outcome import Bars, Outcome, Table
from wordline.studies.packages import KIB

NK, FAST = "NK 16:32", "FAST"
FIRMWARE = (NK, FAST)
ASSOCIATION, CHANNELS = "chang11.fast-against-nk", "chang11.channels-split-spare"
OWN_CHANNEL, OWN_CHIP = "channel", "chip"
"""What has log blocks of its own."""
MANY = 32
"""Requests outstanding in the table of full channels."""
US_PER_MS = 1000.0

Case = tuple[str, int, str, int]
"""Firmware, channels, what has log blocks of its own, and requests outstanding."""


def run(context: Context) -> Outcome:
    """Figures 8 and 9, the same with more requests outstanding, and with log blocks of each chip."""
    chapter = parsed(context.study.folder.parent / f"{context.study.chapter}.toml")
    few, many = counts = chapter["office"]["channels"]
    usual = context.choice("outstanding")
    sets = list(dict.fromkeys([(OWN_CHANNEL, usual), (OWN_CHANNEL, MANY), (OWN_CHIP, usual)]))
    cases: list[Case] = [(it, channels, *each) for it in FIRMWARE for channels in counts for each in sets]
    results = context.drives({case: experiment(context, chapter, case) for case in cases})
    took = {case: result["log_blocks"]["mean_us"] / US_PER_MS for case, result in results.items()}
    merges = {case: result["log_blocks"]["merges"] for case, result in results.items()}
    waits = {case: result["latency_us"]["write"]["mean"] / US_PER_MS for case, result in results.items()}
    longer, more = {}, {}
    for channels in counts:
        at = (channels, OWN_CHANNEL, usual)
        longer[f"{channels} channels"] = took[(FAST, *at)] > took[(NK, *at)]
    for it in FIRMWARE:
        two, four = ((it, channels, OWN_CHANNEL, usual) for channels in (few, many))
        more[f"{it}: shorter"] = took[four] < took[two]
        more[f"{it}: more"] = merges[four] > merges[two]
    return Outcome(
        measured={ASSOCIATION: longer, CHANNELS: more},
        tables=[table(results, *each) for each in sets],
        figures=[
            Bars(
                "collections",
                "Mean time of a collection (figures 8 and 9)",
                "Mean time of a collection under NK 16:32 and FAST, with two and four channels.",
                "ms",
                [f"{channels} channels" for channels in counts],
                {it: [took[it, channels, OWN_CHANNEL, usual] for channels in counts] for it in FIRMWARE},
            )
        ],
        discussed={f"ms, {name(case)}": value for case, value in took.items()}
        | {f"collections, {name(case)}": float(value) for case, value in merges.items()}
        | {f"wait, {name(case)}": value for case, value in waits.items()}
        | {f"logical, {name(case)}": logical_blocks(result) for case, result in results.items()}
        | {
            f"logs, {name(case)}": result["drive"]["log_blocks_per_domain"] * owners(chapter, case)
            for case, result in results.items()
        },
    )


def name(case: Case) -> str:
    """A case in words, as the discussion names it."""
    it, channels, own, outstanding = case
    return f"{it.split()[0]}, {channels} channels, by {own}, {outstanding}"


def owners(chapter: dict[str, Any], case: Case) -> int:
    """How many channels, or chips, have log blocks of their own."""
    _, channels, own, _ = case
    return chapter["office"]["chips"] if own == OWN_CHIP else channels


def experiment(context: Context, chapter: dict[str, Any], case: Case) -> dict[str, Any]:
    """A filled drive, which gets the stand-in of the installation."""
    it, channels, _, outstanding = case
    office, shape, nand = chapter["office"], chapter["drive"]["geometry"], chapter["drive"]["nand"]
    chips = owners(chapter, case) // channels
    logical = office["blocks"] - office["spare_blocks"]
    mapping = {"mapping.policy": "fast"}
    if it == NK:
        whole = context.choice("whole_groups")
        sizes = {"group_blocks": 16, "group_log_blocks": 32, "whole_groups": whole}
        mapping = {"mapping.policy": "sast", **{f"mapping.{key}": value for key, value in sizes.items()}}
    for key in ("installation", "chips"):
        context.choice(key)
    return {
        "drive": "demo",
        "sets": {
            **{f"geometry.{key}": value for key, value in shape.items()},
            "geometry.channels": channels,
            "geometry.packages_per_channel": chips,
            "geometry.blocks_per_plane": office["blocks"] // (channels * chips),
            "capacity.raw_over_logical": office["blocks"] / logical,
            **{f"nand.{key}": value for key, value in nand.items()},
            "collect.scope": "plane",
            "placement.policy": "static",
            "buffer.policy": "none",
            **mapping,
        },
        "precondition": {"overwrites": 0},
        "then": {},
        "jobs": [
            {
                "stand_in": {
                    "requests": context.requests(office["requests"]),
                    "write_percent": 100,
                    "read_size": "4k",
                    "write_size": office["write_size"],
                    "align": 4 * KIB,
                    "random_percent": office["random_percent"],
                    "extent": logical * shape["pages_per_block"] * shape["page_kib"] * KIB,
                    # The pace of the replay is another, so these have no effect.
                    "gap_mean_us": 1000,
                    "gap_median_us": 300,
                },
                "replay": {"pace": "asap", "iodepth": outstanding},
            }
        ],
    }


def logical_blocks(result: dict[str, Any]) -> float:
    """Logical blocks that a collection merges."""
    told = result["log_blocks"]
    return sum(told[f"{kind}_merges"] for kind in ("switch", "partial", "full")) / told["merges"]


def table(results: dict[Case, dict[str, Any]], own: str, outstanding: int) -> Table:
    """Collections where each channel, or each chip, has log blocks of its own."""
    rows = []
    for (it, channels, *rest), result in results.items():
        told, writes = result["log_blocks"], result["latency_us"]["write"]
        if rest == [own, outstanding]:
            rows.append(
                [
                    it, channels, result["drive"]["log_blocks_per_domain"], told["merges"], told["mean_us"] / US_PER_MS,
                    logical_blocks(result), told["switch_merges"], told["partial_merges"], told["full_merges"],
                    writes["mean"] / US_PER_MS, writes["max"] / US_PER_MS,
                ]
            )  # fmt: skip
    return Table(
        f"Collections, each {own} with log blocks of its own; requests outstanding: {outstanding}",
        (
            "firmware", "channels", f"log blocks of a {own}", "collections", "mean time, ms", "logical blocks in one",
            "switch merges", "partial merges", "full merges", "write latency, mean, ms", "worst, ms",
        ),
        rows,
    )  # fmt: skip
