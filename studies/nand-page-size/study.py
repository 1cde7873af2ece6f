"""Throughput of a dual-die package by page size, and the mean gain of writes from doublings."""

from __future__ import annotations

from typing import Any

from wordline.studies.context import Context
from wordline.studies.outcome import Bars, Lines, Outcome, Published, Table
from wordline.studies.packages import KIB, MODES, above, gain, mean, stream

SIZES_KIB = (2, 4, 8, 16)
COUNTS = (1, 2, 4, 8)
DIES = PLANES = 2


def run(context: Context) -> Outcome:
    """Bandwidth by page size in all modes, and of four and eight dies and planes."""
    chapter = context.chapter()
    pages = context.requests(4096)
    judged, transfers = context.choice("mode"), context.choice("transfers")

    def load(op: str, page: int, spanned: int) -> tuple[dict[str, Any], dict[str, int]]:
        """A workload with this page size, whose transfers span ``spanned`` pages if so chosen; and the host's queue."""
        size = {"spanning": spanned * page, "queued": page, "64 KiB": 64 * KIB}[transfers]
        queue = {"queue_depth": chapter.application_depth} if transfers == "queued" else {}
        return stream(op, size, pages * page // size), queue

    def by_page(op: str, kib: int, mode: str) -> dict[str, Any]:
        """A dual-die package with pages of ``kib``."""
        sent, queue = load(op, kib * KIB, DIES * MODES[mode]["planes_per_command"])
        return chapter.experiment(
            sent, dies=DIES, planes=PLANES, package={"page_bytes": kib * KIB}, host=MODES[mode] | queue
        )

    def by_count(what: str, count: int) -> dict[str, Any]:
        """A package of ``count`` dies of one plane, or of one die with ``count`` planes."""
        dies, planes = (count, 1) if what == "dies" else (1, count)
        sent, queue = load("write", chapter.page_bytes("MLC1"), count)
        return chapter.experiment(sent, dies=dies, planes=planes, host={"planes_per_command": planes} | queue)

    rate = {
        key: result["bandwidth_mib_s"]
        for key, result in context.packages(
            {(op, kib, mode): by_page(op, kib, mode) for op in ("write", "read") for kib in SIZES_KIB for mode in MODES}
        ).items()
    }
    counted = {
        key: result["bandwidth_mib_s"]
        for key, result in context.packages(
            {(what, count): by_count(what, count) for what in ("dies", "planes") for count in COUNTS}
        ).items()
    }
    ends = {"last": [(4, 8)], "all": [(1, 2), (2, 4), (4, 8)]}[context.choice("doublings")]
    doublings = {
        f"{low} to {high} {what}": gain(counted[what, high], counted[what, low])
        for what in ("dies", "planes")
        for low, high in ends
    } | {
        f"{low} to {high} KB pages": gain(rate["write", high, judged], rate["write", low, judged])
        for low, high in (ends if len(ends) == 1 else [(2, 4), (4, 8), (8, 16)])
    }
    larger = above(rate["read", 4, judged], context.published("jung13.page-size-read")[0])
    published = [
        Published(
            "jung13.page-size-read",
            f"4 KiB as measured in {judged} mode, plus the published gain of 8 KiB",
            SIZES_KIB.index(8),
            larger,
            larger,
            judged,
        )
    ]
    return Outcome(
        measured={
            "jung13.page-size-read": gain(rate["read", 8, judged], rate["read", 4, judged]),
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
                + (
                    "bandwidth grows with the page."
                    if op == "write"
                    else "the bus is the bottleneck for all page sizes."
                ),
                "page (KiB)",
                "MiB/s",
                [str(kib) for kib in SIZES_KIB],
                {mode: [rate[op, kib, mode] for kib in SIZES_KIB] for mode in MODES},
                published if op == "read" else [],
            )
            for op in ("write", "read")
        ]
        + [
            Bars(
                "doublings",
                "Gain of writes from doublings",
                "Gain of each doubling, and their mean.",
                "%",
                [*doublings, "mean"],
                {"writes": [*doublings.values(), mean(doublings.values())]},
                [
                    Published(
                        "jung13.page-size-write",
                        "published mean",
                        len(doublings),
                        *context.published("jung13.page-size-write"),
                    )
                ],
            )
        ],
        discussed={f"reads, {mode}": gain(rate["read", 8, mode], rate["read", 4, mode]) for mode in MODES}
        | {"doubling, least": min(doublings.values()), "doubling, most": max(doublings.values())},
    )
