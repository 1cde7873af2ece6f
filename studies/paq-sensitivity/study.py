"""Channels and queue length: figures 6.14 and 6.15 of jung13."""

from __future__ import annotations

from collections.abc import Mapping

from wordline.studies.context import Context
from wordline.studies.outcome import Lines, Outcome, Table
from wordline.studies.packages import mean
from wordline.studies.queueing import PAQ0, PAQ1, PAQ2, PAQS, US_PER_MS, VAQ, Queueing

CHANNELS = (4, 8, 16)
QUEUES = (16, 32, 64, 128)
SYSTEMS = (VAQ, *PAQS)
LINKS = {
    "nvme": {"link.policy": "nvme", "link.pcie_generation": 3, "link.pcie_lanes": 4},
    "two-lanes": {"link.policy": "nvme", "link.pcie_generation": 2, "link.pcie_lanes": 2},
}
US_PER_S = 1e6
NOTHING = 5.0
"""A gain of nothing is one within these percent, as a published 0 is in all studies."""

Values = Mapping[tuple[str, int, int], float]
"""By system, channels and queue length."""


def run(context: Context) -> Outcome:
    """Both figures from the same runs."""
    queue, names = Queueing(context), context.choice("workload")
    link = LINKS[context.choice("link")]
    iops: dict[tuple[str, int, int], float] = {}
    waiting: dict[tuple[str, int, int], float] = {}
    load = context.choice("load")
    for channels in CHANNELS:
        gaps: dict[str, float] = {}
        for length in QUEUES:
            sets = {"geometry.channels": channels, "queue.depth": length, **link}
            results = queue.runs(SYSTEMS, names, length, sets)
            # The same requests come to all queues and systems.
            gaps = gaps or {name: US_PER_S / (load * results[VAQ, name]["iops"]) for name in names}
            timed = queue.runs(SYSTEMS, names, length, sets, gaps)
            for system in SYSTEMS:
                key = system, channels, length
                iops[key] = mean(results[system, name]["iops"] for name in names)
                waiting[key] = mean(timed[system, name]["waiting_us"]["mean"] for name in names) / US_PER_MS
    gains = {
        (system, channels): 100 * (iops[system, channels, QUEUES[-1]] / iops[system, channels, QUEUES[0]] - 1)
        for system in SYSTEMS
        for channels in CHANNELS
    }
    return Outcome(
        measured={
            "jung13.paq-queue-depth": {
                **{f"VAQ gains nothing, {it} channels": abs(gains[VAQ, it]) <= NOTHING for it in CHANNELS},
                **{f"{paq} gains, {it} channels": gains[paq, it] > NOTHING for paq in PAQS for it in CHANNELS},
                **{
                    f"PAQ0 gains most, {it} channels": gains[PAQ0, it] >= max(gains[PAQ1, it], gains[PAQ2, it])
                    for it in CHANNELS
                },
            },
            "jung13.paq-waiting": {
                **{
                    f"PAQ0 at times above VAQ, {it} channels": any(
                        waiting[PAQ0, it, length] > waiting[VAQ, it, length] for length in QUEUES
                    )
                    for it in CHANNELS
                },
                **{
                    f"PAQ2 below VAQ, {it} channels": all(
                        waiting[PAQ2, it, length] < waiting[VAQ, it, length]
                        for length in QUEUES
                        if waiting[VAQ, it, length] > 0
                    )
                    for it in CHANNELS
                },
            },
        },
        tables=[
            Table(
                f"Gain of IOPS from {QUEUES[0]} to {QUEUES[-1]} queue entries, in percent",
                ("channels", *SYSTEMS),
                [(str(it), *(gains[system, it] for system in SYSTEMS)) for it in CHANNELS],
            ),
            table("IOPS", iops),
            table("Waiting for a queue entry, mean, ms", waiting),
        ],
        figures=[
            *(lines("iops", "IOPS", "requests/s", it, iops) for it in CHANNELS),
            *(lines("waiting", "Waiting for a queue entry", "ms", it, waiting) for it in CHANNELS),
        ],
        discussed={f"gain, {system}, {it}": gain for (system, it), gain in gains.items()}
        | {
            f"waiting, {paq}, {it}": 100 * (waiting[paq, it, QUEUES[0]] / waiting[VAQ, it, QUEUES[0]] - 1)
            for paq in (PAQ0, PAQ1, PAQ2)
            for it in CHANNELS
        },
    )


def table(title: str, values: Values) -> Table:
    """A figure as a table."""
    return Table(
        title,
        ("channels", "queue", *SYSTEMS),
        [
            (str(channels), str(length), *(values[system, channels, length] for system in SYSTEMS))
            for channels in CHANNELS
            for length in QUEUES
        ],
    )


def lines(name: str, title: str, unit: str, channels: int, values: Values) -> Lines:
    """A part of figure 6.14 or 6.15."""
    return Lines(
        f"{name}-{channels}",
        f"{title}, {channels} channels",
        f"{title} by the length of the queue, with {channels} channels.",
        "queue entries",
        unit,
        [str(it) for it in QUEUES],
        {system: [values[system, channels, it] for it in QUEUES] for system in SYSTEMS},
    )
