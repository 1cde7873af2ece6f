"""Throughput of a package with one to eight dies or planes: the common part of both studies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wordline.studies.context import Context
from wordline.studies.outcome import Lines, Outcome, Published, Table
from wordline.studies.packages import KIB, above, gain, stream

COUNTS = (1, 2, 4, 8)
SIZES_KIB = (2, 4, 8, 16, 32, 64)

Package = Callable[[int, dict[str, Any]], dict[str, Any]]
"""The package with this number of them, for a host with these keys: arguments of :meth:`Chapter.experiment`."""


JUDGED = "These values are judged."


def scaling(context: Context, part: str, package: Package, what_happens: str, *, pages_each: int = 1) -> Outcome:
    """Bandwidth by number of parts: transfers of one page per part, a queue of 2 KB requests, transfers of fixed sizes.

    :param part: the part that varies in number, ``die`` or ``plane``; its plural is in the names of the claims.
    :param what_happens: the result in the figures, in a few words.
    :param pages_each: pages of one part in a command.
    """
    parts = f"{part}s"
    chapter = context.chapter()
    judged = context.choice("transfers")
    page = chapter.page_bytes("MLC1")
    pages = context.requests(4096)
    loads = {
        "spanning": lambda count: (count * pages_each * page, 1),
        "queued": lambda _: (page, chapter.application_depth),
        **{f"{kib} KiB": (lambda _, kib=kib: (kib * KIB, 1)) for kib in SIZES_KIB},
    }
    results = context.packages(
        {
            (op, load, count): chapter.experiment(
                stream(op, size, pages * page // size),
                **package(count, {"queue_depth": depth}),
            )
            for op in ("write", "read")
            for load, setting in loads.items()
            for count in COUNTS
            for size, depth in [setting(count)]
        }
    )
    rate = {key: result["bandwidth_mib_s"] for key, result in results.items()}
    # Size of the judged transfers of eight, for its place in the figures; queued requests have none.
    kib = {"spanning": 8 * pages_each * page // KIB, "64 KiB": 64}.get(judged)

    def published(op: str, claim: str, fewer: int) -> list[Published]:
        """The published gain of eight, applied to the measured rate of ``fewer``."""
        if kib not in SIZES_KIB:
            return []
        value = above(rate[op, judged, fewer], context.published(claim)[0])
        words = f"{parts if fewer > 1 else part} as measured, plus the published gain of eight"
        numbers = {1: "one", 4: "four"}
        at = SIZES_KIB.index(kib)
        return [Published(claim, f"{numbers[fewer]} {words}", at, value, value, f"8 {parts}")]

    return Outcome(
        measured={
            f"jung13.{parts}-write": gain(rate["write", judged, 8], rate["write", judged, 1]),
            f"jung13.{parts}-read": gain(rate["read", judged, 8], rate["read", judged, 1]),
            f"jung13.{parts}-read-saturation": gain(rate["read", judged, 8], rate["read", judged, 4]),
        },
        tables=[
            Table(
                title,
                (parts, "write, MiB/s", "against one, %", "read, MiB/s", "against one, %", "against half, %"),
                [
                    (
                        str(n),
                        rate["write", load, n],
                        gain(rate["write", load, n], rate["write", load, 1]),
                        rate["read", load, n],
                        gain(rate["read", load, n], rate["read", load, 1]),
                        gain(rate["read", load, n], rate["read", load, n // 2]) if n > 1 else None,
                    )
                    for n in COUNTS
                ],
                JUDGED if load == judged else "Not judged.",
            )
            for load, title in (
                ("spanning", f"Transfers of one page per {part}, one at a time"),
                ("queued", f"Requests of 2 KB, {chapter.application_depth} outstanding"),
            )
        ],
        figures=[
            Lines(
                f"{parts}-{op}",
                f"{op.capitalize()} bandwidth by transfer size and {parts}",
                f"Sequential {op}s, one transfer at a time: {what_happens}.",
                "transfer (KiB)",
                "MiB/s",
                [str(kib) for kib in SIZES_KIB],
                {f"{n} {parts if n > 1 else part}": [rate[op, f"{kib} KiB", n] for kib in SIZES_KIB] for n in COUNTS},
                [
                    *published(op, f"jung13.{parts}-{op}", 1),
                    *(published(op, f"jung13.{parts}-read-saturation", 4) if op == "read" else []),
                ],
            )
            for op in ("write", "read")
        ],
        discussed={f"queued {op} gain": gain(rate[op, "queued", 8], rate[op, "queued", 1]) for op in ("write", "read")},
    )
