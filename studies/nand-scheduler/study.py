"""Die-first and plane-first scheduling of large and of small requests."""

from __future__ import annotations

from wordline.studies.context import Context
from wordline.studies.outcome import Lines, Outcome, Table
from wordline.studies.packages import KIB, gain, random_mix, stream

SCHEDULERS = ("die-first", "plane-first")
SIZES_KIB = (2, 4, 8, 16, 32, 64)
DIES = PLANES = 2
PACES_US = {"read": 200.0, "write": 2000.0}
"""Interval between small requests; in it, two dies could serve about four reads or three writes of a page."""
PACED, FULL = "evenly spaced", "queue always full"


def run(context: Context) -> Outcome:
    """Sequential transfers of all sizes and small random requests, under both schedulers."""
    chapter = context.chapter()
    large_kib, pace_of, better = (context.choice(key) for key in ("large", "pace", "better"))
    die_planes = context.choice("die-first")
    arrivals = FULL if pace_of == "full" else PACED
    times = 1.0 if pace_of == "full" else pace_of
    page = chapter.page_bytes("MLC1")
    pages, requests = context.requests(4096), context.requests(4000)
    footprint = chapter.footprint_pages

    def host(scheduler: str, **more: object) -> dict[str, object]:
        """A host with its scheduler: only plane-first collects pages for several planes."""
        planes = PLANES if scheduler == "plane-first" else die_planes
        return {"planes_per_command": planes, "scheduler": scheduler, **more}

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
                    arrival_us=PACES_US[op] * times if pace == PACED else 0.0,
                ),
            )
            for op in ("read", "write")
            for pace in (PACED, FULL)
            for scheduler in SCHEDULERS
        }
    )
    latency = {
        (op, scheduler): small[op, arrivals, scheduler]["latency_us"][better]
        for op in ("read", "write")
        for scheduler in SCHEDULERS
    }
    die, plane = SCHEDULERS
    holds = {
        f"large {op}s, {kib} KB": rate[op, kib, plane] > rate[op, kib, die]
        for op in ("read", "write")
        for kib in large_kib
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
                "The columns '%' are plane-first over die-first.",
            ),
            Table(
                "Random requests of about 2 KB",
                ("requests", "arrivals", "scheduler", "mean latency, µs", "p99 latency, µs", "IOPS"),
                [
                    (f"{op}s", pace, scheduler, it["latency_us"]["mean"], it["latency_us"]["p99"], it["iops"])
                    for op in ("read", "write")
                    for pace in (PACED, FULL)
                    for scheduler in SCHEDULERS
                    for it in [small[op, pace, scheduler]]
                ],
                f"The rows '{arrivals}' are judged.",
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
        discussed={
            f"large {op}s": gain(rate[op, SIZES_KIB[-1], plane], rate[op, SIZES_KIB[-1], die])
            for op in ("read", "write")
        }
        | {f"{op}s of 4 KB": gain(rate[op, 4, plane], rate[op, 4, die]) for op in ("read", "write")}
        | {
            f"full queue, {op}s": gain(small[op, FULL, plane]["iops"], small[op, FULL, die]["iops"])
            for op in ("read", "write")
        }
        | {f"p99 of reads, {it}": small["read", FULL, it]["latency_us"]["p99"] for it in SCHEDULERS},
    )
