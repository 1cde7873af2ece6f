"""The share of time that operations wait for the package's bus, SLC against MLC."""

from __future__ import annotations

from typing import Any

from wordline.studies.context import Context
from wordline.studies.outcome import Lines, Outcome, Published, Table
from wordline.studies.packages import STAGES, above, gain, mean

DEVICES = ("SLC", "MLC1")
COUNTS = (1, 2, 4, 8)


def contention(result: dict[str, Any]) -> float:
    """Time that ready operations waited for the bus, in percent of their total time."""
    waited = result["contention_us"]
    return 100 * waited / (waited + sum(result["stages_us"][stage] for stage in STAGES))


def run(context: Context) -> Outcome:
    """Contention of every workload on both devices with one to eight dies."""
    chapter = context.chapter()
    requests = context.requests(context.choice("application_requests"))
    compared, planes, addressing = (context.choice(key) for key in ("compared", "planes", "addressing"))
    results = context.packages(
        {
            (device, workload, dies): chapter.experiment(
                chapter.mix(workload, requests),
                device,
                dies=dies,
                planes=planes,
                package=chapter.roomy,
                host={"addressing": addressing, "queue_depth": chapter.application_depth},
            )
            for device in DEVICES
            for workload in chapter.workloads()
            for dies in COUNTS
        }
    )
    shares = {key: contention(result) for key, result in results.items()}
    means = {
        (device, dies): mean(shares[device, workload, dies] for workload in chapter.workloads())
        for device in DEVICES
        for dies in COUNTS
    }
    slc, mlc = (mean(means[device, dies] for dies in compared) for device in DEVICES)
    return Outcome(
        measured={"jung13.slc-contention": gain(slc, mlc)},
        tables=[
            Table(
                "Contention, % of the total time of operations, mean of the workloads",
                ("dies", *DEVICES, "SLC over MLC1, %"),
                [
                    (
                        str(dies),
                        means["SLC", dies],
                        means["MLC1", dies],
                        gain(means["SLC", dies], means["MLC1", dies]) if dies > 1 else None,
                    )
                    for dies in COUNTS
                ],
            ),
            Table(
                "Contention by workload, %",
                ("workload", "device", *(f"{dies} dies" if dies > 1 else "1 die" for dies in COUNTS)),
                [
                    (workload, device, *(shares[device, workload, dies] for dies in COUNTS))
                    for workload in chapter.workloads()
                    for device in DEVICES
                ],
            ),
        ],
        figures=[
            Lines(
                "contention",
                "Bus contention by number of dies",
                "Mean share of contention, which grows with the number of dies.",
                "dies",
                "% of the total time of operations",
                [str(dies) for dies in COUNTS],
                {device: [means[device, dies] for dies in COUNTS] for device in DEVICES},
                [
                    Published("jung13.slc-contention", words, COUNTS.index(dies), value, value, "SLC")
                    for words in ["MLC1 as measured, plus the published mean gain of SLC"]
                    for dies in compared
                    for value in [above(means["MLC1", dies], context.published("jung13.slc-contention")[0])]
                ],
            )
        ],
        discussed={f"{n} dies": gain(means["SLC", n], means["MLC1", n]) for n in COUNTS[1:]}
        | {"most of MLC1 under writes": max(shares["MLC1", workload, 8] for workload in ("msnfs", "fin"))},
    )
