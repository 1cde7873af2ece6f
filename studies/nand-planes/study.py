"""Throughput of a die with one to eight planes."""

from __future__ import annotations

from wordline.studies.context import Context
from wordline.studies.outcome import Lines, Outcome, Table
from wordline.studies.packages import KIB, Chapter, gain, stream

COUNTS = (1, 2, 4, 8)
SIZES_KIB = (2, 4, 8, 16, 32, 64)


def run(context: Context) -> Outcome:
    """Bandwidth by planes: transfers of a page a plane, a queue of 2 KB requests, and transfers of fixed sizes."""
    chapter = Chapter(context.shared("jung13-chapter-2"))
    page = chapter.page_bytes("MLC1")
    pages = context.requests(4096)
    loads = {
        "spanning": lambda planes: (planes * page, 1),
        "queued": lambda _: (page, chapter.application_depth),
        **{kib: (lambda _, kib=kib: (kib * KIB, 1)) for kib in SIZES_KIB},
    }
    results = context.packages(
        {
            (op, load, planes): chapter.experiment(
                stream(op, size, pages * page // size),
                planes=planes,
                host={"planes_per_command": planes, "scheduler": "plane-first", "queue_depth": depth},
            )
            for op in ("write", "read")
            for load, setting in loads.items()
            for planes in COUNTS
            for size, depth in [setting(planes)]
        }
    )
    rate = {key: result["bandwidth_mib_s"] for key, result in results.items()}
    return Outcome(
        measured={
            "jung13.planes-write": gain(rate["write", "spanning", 8], rate["write", "spanning", 1]),
            "jung13.planes-read": gain(rate["read", "spanning", 8], rate["read", "spanning", 1]),
            "jung13.planes-read-saturation": gain(rate["read", "spanning", 8], rate["read", "spanning", 4]),
        },
        tables=[
            Table(
                title,
                ("planes", "write, MiB/s", "against one, %", "read, MiB/s", "against one, %", "against half, %"),
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
                note,
            )
            for load, title, note in (
                ("spanning", "A page for each plane in a transfer, one transfer at a time", "These values are judged."),
                ("queued", "Requests of 2 KB, 32 outstanding", "Not judged."),
            )
        ],
        figures=[
            Lines(
                f"planes-{op}",
                f"{op.capitalize()} bandwidth by transfer size and planes",
                f"Sequential {op}s, one transfer at a time: a die with more planes gains once a transfer covers them.",
                "transfer (KiB)",
                "MiB/s",
                [str(kib) for kib in SIZES_KIB],
                {f"{n} planes" if n > 1 else "1 plane": [rate[op, kib, n] for kib in SIZES_KIB] for n in COUNTS},
            )
            for op in ("write", "read")
        ],
    )
