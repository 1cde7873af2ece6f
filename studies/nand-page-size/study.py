"""Throughput of a dual-die package by page size, and the mean gain of writes from doublings."""

from __future__ import annotations

from typing import Any

from wordline.studies.context import Context
from wordline.studies.outcome import Lines, Outcome, Table
from wordline.studies.packages import KIB, MODES, Chapter, gain, mean, stream

SIZES_KIB = (2, 4, 8, 16)
DIES = PLANES = 2
MODE = "2x"


def run(context: Context) -> Outcome:
    """Bandwidth by page size in all modes, and of four and eight dies and planes."""
    chapter = Chapter(context.shared("jung13-chapter-2"))
    pages = context.requests(4096)

    def by_page(op: str, kib: int, mode: str) -> dict[str, Any]:
        """A dual-die package with pages of ``kib``."""
        transfer = DIES * MODES[mode]["planes_per_command"]
        return chapter.experiment(
            stream(op, transfer * kib * KIB, pages // transfer),
            dies=DIES,
            planes=PLANES,
            package={"page_bytes": kib * KIB},
            host=MODES[mode],
        )

    def by_count(what: str, count: int) -> dict[str, Any]:
        """A package of ``count`` dies of one plane, or of one die with ``count`` planes."""
        dies, planes = (count, 1) if what == "dies" else (1, count)
        load = stream("write", count * chapter.page_bytes("MLC1"), pages // count)
        return chapter.experiment(load, dies=dies, planes=planes, host={"planes_per_command": planes})

    rate = {
        key: result["bandwidth_mib_s"]
        for key, result in context.packages(
            {(op, kib, mode): by_page(op, kib, mode) for op in ("write", "read") for kib in SIZES_KIB for mode in MODES}
        ).items()
    }
    counted = {
        key: result["bandwidth_mib_s"]
        for key, result in context.packages(
            {(what, count): by_count(what, count) for what in ("dies", "planes") for count in (4, 8)}
        ).items()
    }
    doublings = {
        "4 to 8 dies": gain(counted["dies", 8], counted["dies", 4]),
        "4 to 8 planes": gain(counted["planes", 8], counted["planes", 4]),
        "4 to 8 KB pages": gain(rate["write", 8, MODE], rate["write", 4, MODE]),
    }
    return Outcome(
        measured={
            "jung13.page-size-read": gain(rate["read", 8, MODE], rate["read", 4, MODE]),
            "jung13.page-size-write": mean(doublings.values()),
        },
        tables=[
            Table(
                "Gain of writes from doublings",
                ("doubling", "gain, %"),
                [*doublings.items(), ("mean", mean(doublings.values()))],
            ),
            *(
                Table(
                    f"{op.capitalize()} bandwidth by page size, dual-die package",
                    ("mode", *(f"{kib} KB, MiB/s" for kib in SIZES_KIB), "8 KB against 4 KB, %"),
                    [
                        (mode, *(rate[op, kib, mode] for kib in SIZES_KIB), gain(rate[op, 8, mode], rate[op, 4, mode]))
                        for mode in MODES
                    ],
                )
                for op in ("write", "read")
            ),
        ],
        figures=[
            Lines(
                f"page-size-{op}",
                f"{op.capitalize()} bandwidth by page size",
                f"Sequential {op}s on a dual-die package: "
                + ("bandwidth grows with the page." if op == "write" else "the bus sets the limit, whatever the page."),
                "page (KiB)",
                "MiB/s",
                [str(kib) for kib in SIZES_KIB],
                {mode: [rate[op, kib, mode] for kib in SIZES_KIB] for mode in MODES},
            )
            for op in ("write", "read")
        ],
    )
