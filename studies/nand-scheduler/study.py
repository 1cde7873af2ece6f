"""Die-first and plane-first scheduling of large and of small requests."""

from __future__ import annotations

from wordline.studies.context import Context
from wordline.studies.outcome import Lines, Outcome, Table
from wordline.studies.packages import KIB, Chapter, gain, random_mix, stream

SCHEDULERS = ("die-first", "plane-first")
SIZES_KIB = (2, 4, 8, 16, 32, 64)
LARGE_KIB = (32, 64)
DIES = PLANES = 2
PACES_US = {"read": 200.0, "write": 2000.0}
"""Between arrivals of small requests: two dies could serve about four reads or three writes of a page meanwhile."""
PACED, FULL = "at an even pace", "32 outstanding"


def run(context: Context) -> Outcome:
    """Sequential transfers of all sizes and small random requests, under both schedulers."""
    chapter = Chapter(context.shared("jung13-chapter-2"))
    page = chapter.page_bytes("MLC1")
    pages, requests = context.requests(4096), context.requests(4000)
    footprint = chapter.table["setting"]["footprint_pages"]

    def host(scheduler: str, **more: object) -> dict[str, object]:
        """A host with its scheduler: only plane-first collects pages for several planes."""
        return {"planes_per_command": PLANES if scheduler == "plane-first" else 1, "scheduler": scheduler, **more}

    rate = {
        key: result["bandwidth_mib_s"]
        for key, result in context.packages(
            {
                (op, kib, scheduler): chapter.experiment(
                    stream(op, kib * KIB, pages * page // (kib * KIB)), dies=DIES, planes=PLANES, host=host(scheduler)
                )
                for op in ("read", "write")
                for kib in SIZES_KIB
                for scheduler in SCHEDULERS
            }
        ).items()
    }
    small = context.packages(
        {
            (op, pace, scheduler): chapter.experiment(
                random_mix(
                    requests,
                    footprint,
                    write_percent=100.0 if op == "write" else 0.0,
                    write_bytes=page,
                    read_bytes=page,
                ),
                dies=DIES,
                planes=PLANES,
                package=chapter.roomy,
                host=host(
                    scheduler,
                    addressing="static",
                    queue_depth=chapter.application_depth,
                    arrival_us=PACES_US[op] if pace == PACED else 0.0,
                ),
            )
            for op in ("read", "write")
            for pace in (PACED, FULL)
            for scheduler in SCHEDULERS
        }
    )
    latency = {
        (op, scheduler): small[op, PACED, scheduler]["latency_us"]["mean"]
        for op in ("read", "write")
        for scheduler in SCHEDULERS
    }
    die, plane = SCHEDULERS
    holds = {
        f"large {op}s, {kib} KB": rate[op, kib, plane] > rate[op, kib, die]
        for op in ("read", "write")
        for kib in LARGE_KIB
    }
    holds |= {f"small {op}s": latency[op, die] < latency[op, plane] for op in ("read", "write")}
    return Outcome(
        measured={"jung13.die-first-plane-first": holds},
        tables=[
            Table(
                "Sequential transfers, one at a time, MiB/s",
                (
                    "transfer, KB",
                    "read, die-first",
                    "read, plane-first",
                    "%",
                    "write, die-first",
                    "write, plane-first",
                    "%",
                ),
                [
                    (
                        str(kib),
                        *(
                            cell
                            for op in ("read", "write")
                            for cell in (
                                rate[op, kib, die],
                                rate[op, kib, plane],
                                gain(rate[op, kib, plane], rate[op, kib, die]),
                            )
                        ),
                    )
                    for kib in SIZES_KIB
                ],
                "The third and sixth numbers: plane-first over die-first.",
            ),
            Table(
                "Random requests of about 2 KB",
                ("load", "arrivals", "scheduler", "mean latency, µs", "99th percentile, µs", "requests a second"),
                [
                    (f"{op}s", pace, scheduler, it["latency_us"]["mean"], it["latency_us"]["p99"], it["iops"])
                    for op in ("read", "write")
                    for pace in (PACED, FULL)
                    for scheduler in SCHEDULERS
                    for it in [small[op, pace, scheduler]]
                ],
                f"Judged are those {PACED}.",
            ),
        ],
        figures=[
            Lines(
                f"scheduler-{op}",
                f"{op.capitalize()} bandwidth under both schedulers",
                f"Sequential {op}s by transfer size, die-first and plane-first.",
                "transfer (KiB)",
                "MiB/s",
                [str(kib) for kib in SIZES_KIB],
                {scheduler: [rate[op, kib, scheduler] for kib in SIZES_KIB] for scheduler in SCHEDULERS},
            )
            for op in ("read", "write")
        ],
    )
