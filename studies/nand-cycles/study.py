"""The stages of reads and writes: their shares, and all stages of a short run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, zip_longest
from typing import Any

from wordline.studies.context import Context
from wordline.studies.outcome import Bars, Outcome, Published, Stack, Table, Timeline
from wordline.studies.packages import BUS_STAGES, CELL_STAGES, MODES, STAGES, share, stream

SHORT_MODES = ("legacy", "cache", "2x")
"""The modes of figures 2.13 and 2.14."""
PAGES, BLOCKS = 8, 2
"""Pages in each block of the short run."""
BUS_NAMES = tuple(map(str.upper, BUS_STAGES))
"""The stages on the bus, by their names in the log."""
NS_A_CYCLE = 1
"""From the caption of figure 2.13: one cycle is a nanosecond."""

Log = Sequence[dict[str, Any]]


def bus_between_cells_us(log: Log) -> float:
    """Total bus time in the gaps between consecutive programs, in microseconds."""
    cells = sorted((entry["start_us"], entry["end_us"]) for entry in log if entry["stage"] == "TIN")
    bus = [(entry["start_us"], entry["end_us"]) for entry in log if entry["stage"] in BUS_NAMES]
    gaps = [(end, start) for (_, end), (start, _) in pairwise(cells) if start > end]
    return sum(max(0.0, min(end, b) - max(start, a)) for start, end in gaps for a, b in bus)


def run(context: Context) -> Outcome:
    """Shares of the stages in long runs, and all stages of sixteen requests."""
    chapter = context.chapter()
    counted = {"all": STAGES, "bus and cells": (*BUS_STAGES, *CELL_STAGES)}[context.choice("counted")]
    block = {"pages_per_block": PAGES} if context.choice("blocks") == "short" else {}
    page, depth = chapter.page_bytes("MLC1"), chapter.application_depth
    requests = context.requests(2048)
    long = context.packages(
        {
            (op, mode): chapter.experiment(
                stream(op, page, requests),
                planes=host["planes_per_command"],
                host=host | {"queue_depth": depth},
            )
            for op in ("write", "read")
            for mode, host in MODES.items()
        }
    )
    short = context.packages(
        {
            (op, mode): chapter.experiment(
                stream(op, page, PAGES * BLOCKS),
                planes=MODES[mode]["planes_per_command"],
                package=block,
                host=MODES[mode] | {"queue_depth": depth},
                stage_log=True,
            )
            for op in ("write", "read")
            for mode in SHORT_MODES
        }
    )
    in_cells = {mode: share(long["write", mode]["stages_us"], ["tin"], counted) for mode in MODES}
    on_bus = {mode: share(long["read", mode]["stages_us"], BUS_STAGES, counted) for mode in MODES}
    idle_us = bus_between_cells_us(short["write", "cache"]["log"])
    return Outcome(
        measured={
            "jung13.write-array-share": list(in_cells.values()),
            "jung13.read-bus-share": min(on_bus.values()),
            "jung13.cache-write-hides-bus": {
                "no bus time between programs": idle_us < 0.001,
                "less bus time between programs than in legacy mode": idle_us
                < bus_between_cells_us(short["write", "legacy"]["log"]),
            },
        },
        tables=[
            *(_shares(op, {mode: long[op, mode]["stages_us"] for mode in MODES}) for op in ("write", "read")),
            Table(
                "Bus time between programs, sixteen writes",
                ("mode", "programs", "bus time between them, µs", "total time, µs"),
                [
                    (mode, _count(log, "TIN"), bus_between_cells_us(log), max(entry["end_us"] for entry in log))
                    for mode in SHORT_MODES
                    for log in [short["write", mode]["log"]]
                ],
            ),
            Table(
                "Cycles of each program",
                ("program", *SHORT_MODES),
                [
                    (str(n), *cycles)
                    for n, cycles in enumerate(
                        zip_longest(*(_programs(short["write", it]["log"]) for it in SHORT_MODES)), 1
                    )
                ],
                "A cycle is a nanosecond. In 2x mode one program has a page in each of the two blocks.",
            ),
            *(
                _cycles(f"Cycles of sixteen {op}s, {mode} mode", short[op, mode]["log"])
                for op in ("write", "read")
                for mode in SHORT_MODES
            ),
        ],
        figures=[
            _published(context, {"writes, cells": in_cells, "reads, bus": on_bus}),
            *(
                Stack(
                    f"shares-{op}",
                    f"Shares of the stages of {op}s",
                    f"Share of each stage of {op}s, by mode.",
                    "%",
                    list(MODES),
                    {
                        stage.upper(): [share(long[op, mode]["stages_us"], [stage]) for mode in MODES]
                        for stage in STAGES
                        if any(long[op, mode]["stages_us"][stage] for mode in MODES)
                    },
                )
                for op in ("write", "read")
            ),
            *(_timeline(op, mode, short[op, mode]["log"]) for op in ("write", "read") for mode in SHORT_MODES),
        ],
        discussed={f"cells, {mode}": in_cells[mode] for mode in MODES}
        | {f"bus of reads, {mode}": on_bus[mode] for mode in MODES}
        | {
            "bus of writes, 2x": share(long["write", "2x"]["stages_us"], BUS_STAGES, counted),
            "page on the bus": _a_page_us(long["write", "legacy"], "tir"),
            "page in the cells": _a_page_us(long["write", "legacy"], "tin"),
            "register copy": _a_page_us(long["read", "cache"], "register"),
        },
    )


def _published(context: Context, shares: dict[str, dict[str, float]]) -> Bars:
    """The shares with published numbers, and these numbers."""
    claims = {"writes, cells": "jung13.write-array-share", "reads, bus": "jung13.read-bus-share"}
    words = {"writes, cells": "published range, writes", "reads, bus": "published minimum, reads"}
    return Bars(
        "shares",
        "Shares with published values",
        "Share of the cells in the stages of writes, and of the bus in the stages of reads, by mode.",
        "%",
        list(MODES),
        {name: [by_mode[mode] for mode in MODES] for name, by_mode in shares.items()},
        [
            Published(claim, words[name], n, *context.published(claim), name)
            for name, claim in claims.items()
            for n in range(len(MODES))
        ],
    )


def _a_page_us(result: dict[str, Any], stage: str) -> float:
    """The mean time of a page in a stage."""
    return result["stages_us"][stage] / result["pages"]


def _programs(log: Log) -> list[int]:
    """The cycles of every program, in the order of time."""
    programs = sorted((entry["start_us"], entry["end_us"]) for entry in log if entry["stage"] == "TIN")
    return [round((end - start) * 1000 / NS_A_CYCLE) for start, end in programs]


def _count(log: Log, stage: str) -> int:
    return sum(entry["stage"] == stage for entry in log)


def _shares(op: str, by_mode: dict[str, dict[str, float]]) -> Table:
    seen = [stage for stage in STAGES if any(stages[stage] for stages in by_mode.values())]
    rows = [
        (mode, *(share(stages, [stage]) for stage in seen), share(stages, BUS_STAGES))
        for mode, stages in by_mode.items()
    ]
    return Table(f"Shares of the stages of {op}s, %", ("mode", *map(str.upper, seen), "bus, total"), rows)


def _cycles(title: str, log: Log) -> Table:
    """Number and cycles of every stage."""
    by_stage: dict[str, list[float]] = {}
    for entry in sorted(log, key=lambda entry: entry["start_us"]):
        by_stage.setdefault(entry["stage"], []).append((entry["end_us"] - entry["start_us"]) * 1000 / NS_A_CYCLE)
    rows = [
        (stage, len(cycles), round(min(cycles)), round(max(cycles)), round(sum(cycles)))
        for stage, cycles in by_stage.items()
    ]
    head = ("stage", "number", "shortest", "longest", "total")
    return Table(title, head, rows, "A cycle is a nanosecond, as in the paper's figure.")


def _timeline(op: str, mode: str, log: Log) -> Timeline:
    first_us = max(entry["end_us"] for entry in log) / 4
    spans = [
        (_lane(entry), entry["stage"], entry["start_us"], min(entry["end_us"], first_us))
        for entry in log
        if entry["start_us"] < first_us
    ]
    return Timeline(
        f"cycles-{op}-{mode}",
        f"The first quarter of sixteen {op}s, {mode} mode",
        f"Stages of {op}s of 2 KB to two blocks in {mode} mode: the bus above, the cells below.",
        [lane for lane in ("bus", "registers", "cells") if any(span[0] == lane for span in spans)],
        spans,
    )


def _lane(entry: dict[str, Any]) -> str:
    if entry["stage"] in (*BUS_NAMES, "wait"):
        return "bus"
    return "cells" if entry["stage"] in ("TIN", "TON", "BER") else "registers"
