"""Packages of many dies against packages of many planes, under application workloads."""

from __future__ import annotations

from wordline.studies.context import Context
from wordline.studies.outcome import Bars, Outcome, Published, Table
from wordline.studies.packages import gain, mean

COUNTS = (2, 4, 8)
PLACEMENTS = {"static": "static placement", "log": "placement in order of arrival"}


def run(context: Context) -> Outcome:
    """IOPS of every workload on both kinds of package."""
    chapter = context.chapter()
    requests = context.requests(context.choice("application_requests"))
    judged, compared = context.choice("addressing"), context.choice("compared")
    results = context.packages(
        {
            (workload, what, count, addressing): chapter.experiment(
                chapter.mix(workload, requests),
                dies=count if what == "dies" else 1,
                planes=count if what == "planes" else 1,
                package=chapter.roomy,
                host={
                    "planes_per_command": count if what == "planes" else 1,
                    "scheduler": "plane-first" if what == "planes" else "die-first",
                    "addressing": addressing,
                    "queue_depth": chapter.application_depth,
                },
            )
            for workload in chapter.workloads()
            for what in ("dies", "planes")
            for count in (1, *COUNTS)
            for addressing in PLACEMENTS
        }
    )
    iops = {key[:3]: result["iops"] for key, result in results.items() if key[3] == judged}

    def dies_over_planes(workload: str, count: int, addressing: str) -> float:
        """IOPS of many dies over many planes, in percent."""
        dies, planes = (results[workload, what, count, addressing]["iops"] for what in ("dies", "planes"))
        return gain(dies, planes)

    over = {
        (workload, count): dies_over_planes(workload, count, judged)
        for workload in chapter.workloads()
        for count in COUNTS
    }

    def grouped(workload: str, what: str, count: int) -> float:
        """Pages in multi-plane commands, in percent."""
        result = results[workload, what, count, judged]
        return 100 * result["multi_plane_pages"] / result["pages"]

    by_count = {n: mean(over[workload, n] for workload in chapter.workloads()) for n in COUNTS}
    measured = mean(over[workload, n] for workload in chapter.workloads() for n in compared)
    published = context.published("jung13.dies-over-planes")
    reading = [over[workload, count] for workload in ("web", "usr") for count in COUNTS]
    elsewhere = [dies_over_planes(workload, count, "log") for workload in chapter.workloads() for count in COUNTS]
    return Outcome(
        measured={"jung13.dies-over-planes": measured},
        tables=[
            Table(
                "IOPS",
                (
                    "workload",
                    "dies or planes",
                    "many dies",
                    "many planes",
                    "dies over planes, %",
                    "multi-plane pages, %",
                ),
                [
                    (
                        workload,
                        str(count),
                        iops[workload, "dies", count],
                        iops[workload, "planes", count],
                        over[workload, count],
                        grouped(workload, "planes", count),
                    )
                    for workload in chapter.workloads()
                    for count in COUNTS
                ],
            ),
            Table(
                "Many dies over many planes by number, mean of the workloads, %",
                ("dies or planes", *PLACEMENTS.values()),
                [
                    (
                        str(count),
                        *(
                            mean(dies_over_planes(workload, count, addressing) for workload in chapter.workloads())
                            for addressing in PLACEMENTS
                        ),
                    )
                    for count in COUNTS
                ],
                f"The column '{PLACEMENTS[judged]}' is judged. In order of arrival, pages always have partners.",
            ),
        ],
        figures=[
            Bars(
                f"iops-{what}",
                f"Gain of many {what} under application workloads",
                f"IOPS with two to eight {what}, relative to one.",
                f"relative to one {what[:-1]}",
                chapter.workloads(),
                {
                    f"{count} {what}": [
                        iops[workload, what, count] / iops[workload, what, 1] for workload in chapter.workloads()
                    ]
                    for count in COUNTS
                },
            )
            for what in ("dies", "planes")
        ]
        + [
            Bars(
                "dies-over-planes",
                "Many dies over many planes",
                "IOPS of many dies over many planes, mean of the workloads.",
                "%",
                [*(str(count) for count in COUNTS), "mean"],
                {"dies over planes": [*by_count.values(), measured]},
                [
                    Published("jung13.dies-over-planes", "published mean", len(COUNTS), *published),
                ],
            )
        ],
        discussed={"log mean": mean(elsewhere), "reading, least": min(reading), "reading, most": max(reading)}
        | {
            f"paired {which}, {n} planes": pick(grouped(workload, "planes", n) for workload in ("msnfs", "fin"))
            for n in (2, 8)
            for which, pick in (("least", min), ("most", max))
        },
    )
