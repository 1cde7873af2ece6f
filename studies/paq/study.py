"""Queueing by physical addresses against queueing by virtual ones: figures 6.8 to 6.13 of jung13."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wordline.studies import queueing
from wordline.studies.context import Context
from wordline.studies.outcome import Bars, LogLines, Outcome, Published, Table
from wordline.studies.packages import mean
from wordline.studies.queueing import FREE, OTHER, PAQ0, PAQ1, PAQ2, PAQS, VAQ, Queueing, Result, Runs

SHOWN = "sql3"
"""The trace of figure 6.13."""
PERCENTS = (1, 10, 25, 50, 75, 90, 99, 99.9, 100)
SYSTEMS = (VAQ, *PAQS, OTHER, FREE)
FIGURES: dict[str, tuple[str, Callable[[Result], float]]] = {
    "jung13.paq-bandwidth": ("bandwidth, MiB/s", lambda it: it["bandwidth_mib_s"]),
    "jung13.paq-iops": ("IOPS", lambda it: it["iops"]),
    "jung13.paq-latency": ("mean latency, ms", queueing.latency_ms),
    "jung13.paq-idle": ("idle time of a die, s", queueing.idle_s),
}
"""What each claim is about."""
CONTENTION = "jung13.paq-contention"
CAUSES = ("web1", "usr1", "sql1", "msnfs6")
"""Traces for runs without a part of the load: nearly all reads; two with more writes; one with more reads."""
AS_CHOSEN, READS_ALONE, FREE_WRITES, FAST_BUS = (
    "as chosen",
    "reads alone",
    "writes to the least busy die",
    "channels at 133 MT/s",
)
VARIANTS: dict[str, dict[str, Any]] = {
    AS_CHOSEN: {},
    READS_ALONE: {},
    FREE_WRITES: {"placement.policy": "least-busy", "collect.scope": "drive"},
    FAST_BUS: {"nand.interface": "nv-ddr", "nand.rate_mt_s": 133},
}
DECISION_US = 1.77
"""6.6.3."""
BOUND_US = 2000


def run(context: Context) -> Outcome:
    """All figures from the same runs."""
    queue = Queueing(context)
    names = list(context.study.traces)
    results = queue.runs(SYSTEMS, names, context.choice("outstanding"))
    values = {claim: {key: of(it) for key, it in results.items()} for claim, (_, of) in FIGURES.items()}
    values[CONTENTION] = {key: queueing.contention_ms(it) for key, it in results.items()}
    changes = {
        (claim, system): [queueing.change(them, system, name) for name in names]
        for claim, them in values.items()
        for system in SYSTEMS[1:]
    }
    why, found = causes(context, queue)
    contention = dict(zip(names, changes[CONTENTION, PAQ2], strict=True))
    faster = dict(zip(names, changes["jung13.paq-iops", PAQ2], strict=True))
    return Outcome(
        measured={
            **{claim: mean(changes[claim, PAQ2]) for claim in FIGURES},
            CONTENTION: {name: by < 0 for name, by in contention.items()},
            "jung13.paq-never-worse": {name: by >= 0 for name, by in faster.items()},
        },
        tables=[
            changes_table(names, changes),
            *(
                by_trace(title, names, values[claim])
                for claim, (title, _) in (*FIGURES.items(), (CONTENTION, ("waiting for the bus, ms a request", float)))
            ),
            uses(names, results),
            why,
            options(context, queue, results),
        ],
        figures=[
            *(figure(context, claim, title, names, values[claim]) for claim, (title, _) in FIGURES.items()),
            figure(context, CONTENTION, "waiting for the bus, ms a request", names, values[CONTENTION]),
            distribution(results),
        ],
        discussed={
            f"{claim.removeprefix('jung13.paq-')}, {system}": mean(them) for (claim, system), them in changes.items()
        }
        | {f"best {claim.removeprefix('jung13.paq-')}": best(claim, changes[claim, PAQ2]) for claim in FIGURES}
        | found
        | {"lower contention": sum(by < 0 for by in contention.values())}
        | {f"packed, {it}": 100 * mean(packed(results[it, name]) for name in names) for it in (VAQ, *PAQS)}
        | {f"channels, {it}": 100 * mean(channels(results[it, name]) for name in names) for it in (VAQ, PAQ2)}
        | {
            f"dies, {it}": 100 * mean(mean(results[it, name]["utilisation"]["dies"]) for name in names)
            for it in (VAQ, PAQ2)
        },
    )


def best(claim: str, changes: Sequence[float]) -> float:
    """The largest change in the claim's direction."""
    return max(changes) if claim in ("jung13.paq-bandwidth", "jung13.paq-iops") else min(changes)


def packed(result: Result) -> float:
    """The share of the pages that were read or programmed in a multi-plane command."""
    flash = result["flash"]
    return flash["multi_plane_pages"] / max(1, flash["reads"] + flash["programs"])


def channels(result: Result) -> float:
    """The part of the time in which a channel is in use."""
    return mean(result["utilisation"]["channels"])


def changes_table(names: Sequence[str], changes: Mapping[tuple[str, str], Sequence[float]]) -> Table:
    """The means over the traces, and the best trace."""
    heads = {claim: title.split(",")[0] for claim, (title, _) in FIGURES.items()} | {CONTENTION: "waiting for the bus"}
    return Table(
        "Changes against VAQ, in percent, means of the traces",
        ("", *SYSTEMS[1:], f"best trace of {PAQ2}"),
        [
            (
                head,
                *(mean(changes[claim, system]) for system in SYSTEMS[1:]),
                names[changes[claim, PAQ2].index(best(claim, changes[claim, PAQ2]))],
            )
            for claim, head in heads.items()
        ],
        f"{OTHER}: the alternative of the first open parameter of the chapter below. {FREE}: reads go whenever their "
        "die is free, the oldest first.",
    )


def by_trace(title: str, names: Sequence[str], values: Mapping[tuple[str, str], float]) -> Table:
    """A figure of the chapter as a table."""
    return Table(
        title[0].upper() + title[1:],
        ("trace", *SYSTEMS, f"{PAQ2} against {VAQ}, %"),
        [(name, *(values[system, name] for system in SYSTEMS), queueing.change(values, PAQ2, name)) for name in names],
    )


def uses(names: Sequence[str], results: Runs) -> Table:
    """What the schemes do to packing, channels and dies."""
    shown = (VAQ, PAQ2)
    return Table(
        "Pages in multi-plane commands, use of channels and dies, in percent",
        (
            "trace",
            *(f"packed, {it}" for it in (VAQ, *PAQS)),
            *(f"channels, {it}" for it in shown),
            *(f"dies, {it}" for it in shown),
        ),
        [
            (
                name,
                *(100 * packed(results[it, name]) for it in (VAQ, *PAQS)),
                *(100 * channels(results[it, name]) for it in shown),
                *(100 * mean(results[it, name]["utilisation"]["dies"]) for it in shown),
            )
            for name in names
        ],
    )


def causes(context: Context, queue: Queueing) -> tuple[Table, dict[str, float]]:
    """What remains of the gain without writes, without their fixed dies, or on faster channels."""
    outstanding = context.choice("outstanding")
    requests = context.requests(queue.chapter["most_requests"])

    def job(name: str, variant: str) -> dict[str, Any]:
        told = queue.stand_in(name, requests, queue.channels)
        only = {"write_percent": 0} if variant == READS_ALONE else {}
        return {"stand_in": {**told, **only}, "replay": {"pace": "asap", "iodepth": outstanding}}

    systems = queue.systems()
    results = context.drives(
        {
            (system, name, variant): {
                "drive": queue.chapter["preset"],
                "sets": queue.keys(more),
                "precondition": {"overwrites": context.choice("spare")},
                "then": systems[system],
                "jobs": [job(name, variant)],
            }
            for variant, more in VARIANTS.items()
            for name in CAUSES
            for system in (VAQ, PAQ2)
        }
    )
    rows: list[tuple[str | float, ...]] = []
    found: dict[str, float] = {}
    for name in CAUSES:
        for variant in VARIANTS:
            vaq, paq = results[VAQ, name, variant], results[PAQ2, name, variant]
            gain = 100 * (paq["iops"] / vaq["iops"] - 1)
            wait = 100 * (queueing.contention_ms(paq) / queueing.contention_ms(vaq) - 1)
            rows.append((name, variant, vaq["iops"], gain, wait, 100 * channels(vaq), 100 * channels(paq)))
            found |= {f"gain, {name}, {variant}": gain, f"wait, {name}, {variant}": wait}
            found |= {f"channels of VAQ, {name}, {variant}": 100 * channels(vaq)}
            found |= {f"channels of PAQ2, {name}, {variant}": 100 * channels(paq)}
    head = (
        "trace",
        "",
        f"IOPS, {VAQ}",
        f"{PAQ2} against it, %",
        "waiting for the bus, against it, %",
        f"channels, {VAQ}, %",
        f"channels, {PAQ2}, %",
    )
    return Table("What the gain depends on", head, rows, "The stand-ins, also where there is a true trace."), found


def options(context: Context, queue: Queueing, results: Runs) -> Table:
    """6.6.3 and 6.6.4: the time of decisions, and a bound on the wait of reads that are passed."""
    paq = queue.systems()[PAQ2]
    others = {
        f"each decision takes {DECISION_US} µs (6.6.3)": {**paq, "dispatch.decision_us": DECISION_US},
        f"reads go first after {BOUND_US / 1000:g} ms (6.6.4)": {**paq, "dispatch.bound_us": BOUND_US},
    }
    job = queue.job(SHOWN, context.choice("outstanding"), queue.channels)
    base = {
        "drive": queue.chapter["preset"],
        "sets": queue.keys({}),
        "precondition": {"overwrites": context.choice("spare")},
        "jobs": [job],
    }
    more = context.drives({name: {**base, "then": then} for name, then in others.items()})
    shown = {VAQ: results[VAQ, SHOWN], PAQ2: results[PAQ2, SHOWN], **{f"{PAQ2}, {it}": more[it] for it in others}}
    return Table(
        f"{SHOWN}: time of decisions, and a bound for reads that others pass",
        ("", "IOPS", "mean latency, ms", "99 %, ms", "longest, ms"),
        [
            (
                name,
                it["iops"],
                queueing.latency_ms(it),
                it["latency_us"]["all"]["p99"] / queueing.US_PER_MS,
                it["latency_us"]["all"]["max"] / queueing.US_PER_MS,
            )
            for name, it in shown.items()
        ],
    )


def figure(
    context: Context, claim: str, title: str, names: Sequence[str], values: Mapping[tuple[str, str], float]
) -> Bars:
    """A figure of the chapter, in percent of VAQ, with the mean of the traces."""
    key = claim.removeprefix("jung13.paq-")
    series = {it: [100 + queueing.change(values, it, name) for name in names] for it in (PAQ0, PAQ1, PAQ2)}
    number = context.published(claim)[0] if claim in FIGURES else None
    marks = [Published(claim, "published mean", len(names), 100 + number, 100 + number, PAQ2)] if number else []
    return Bars(
        key,
        f"{title.split(',')[0].capitalize() if title != 'IOPS' else title} against VAQ",
        f"{title.split(',')[0]} of each trace, in percent of that with VAQ, and the mean.",
        "% of VAQ",
        [*names, "mean"],
        {it: [*them, mean(them)] for it, them in series.items()},
        marks,
    )


def distribution(results: Runs) -> LogLines:
    """Figure 6.13: how many requests PAQ delays, and how long."""
    return LogLines(
        "latencies",
        f"Latencies of {SHOWN}",
        "The latency that each share of the requests takes at most.",
        "share of requests (%)",
        "ms, logarithmic",
        [f"{it:g}" for it in PERCENTS],
        {it: [at_most(results[it, SHOWN], percent) for percent in PERCENTS] for it in (VAQ, PAQ2)},
    )


def at_most(result: Result, percent: float) -> float:
    """The latency that this share of the reads takes at most, in milliseconds."""
    return next(us for us, share in result["cdf"]["read"] if share >= percent / 100 - 1e-9) / queueing.US_PER_MS
