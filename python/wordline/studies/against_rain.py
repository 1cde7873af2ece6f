"""Response times of small reads on the systems of kim18, against RAIN: what figures 5 and 10 have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wordline.base.errors import FAILED, Trouble
from wordline.studies.autossd import AUTO, QOSFC, RAIN, SYSTEMS, US_PER_MS, VANILLA, Runs, Traced, six_nines, small
from wordline.studies.context import Context
from wordline.studies.outcome import Bars, LogLines, Outcome, Published, Stack, Table
from wordline.studies.packages import mean

OTHERS = (VANILLA, QOSFC, AUTO)
"""The systems that are compared with RAIN."""
LEVELS: dict[str, tuple[str, Callable[[Mapping[str, Any]], float | None]]] = {
    "mean": ("mean", lambda result: small(result)["mean"]),
    "three-nines": ("99.9 %", lambda result: small(result)["p99_9"]),
    "six-nines": ("99.9999 %", six_nines),
}
"""By the claims' names: their names in tables, and their values in microseconds."""
PERCENTILES = {"p50": "50", "p90": "90", "p99": "99", "p99_9": "99.9", "p99_99": "99.99"}


def compared(context: Context, results: Runs, suffix: str = "") -> Outcome:
    """Means, 99.9 % and 99.9999 % of small reads, against RAIN.

    :param suffix: of the claims' names.
    """
    traces = list(dict.fromkeys(trace for _, trace in results))
    ratios = {
        (level, system): [against(results, level, system, trace) for trace in traces]
        for level in LEVELS
        for system in OTHERS
    }
    changes = {level: average(ratios[level, AUTO]) - 100 for level in LEVELS}
    collected = [
        n for n, it in enumerate(traces) if all(results[system, it]["gc"]["collections"] for system in SYSTEMS)
    ]
    return Outcome(
        measured={f"kim18.{level}{suffix}": change for level, change in changes.items()},
        tables=[
            levels(traces, results),
            *(changed(level, traces, ratios) for level in LEVELS),
            work(traces, results),
        ],
        figures=[bars(context, level, traces, ratios, f"kim18.{level}{suffix}") for level in LEVELS],
        discussed={
            f"best {level}": min(each for each in ratios[level, AUTO] if each is not None) - 100 for level in LEVELS
        }
        | {
            f"{level}, {system}": average(ratios[level, system]) - 100
            for level in LEVELS
            for system in (VANILLA, QOSFC)
        }
        | {
            f"{level} where all have GC": mean(known) - 100
            for level in LEVELS
            if (known := [it for n in collected if (it := ratios[level, AUTO][n]) is not None])
        }
        | {f"WAF, {system}": mean(results[system, it]["write_amplification"] for it in traces) for system in SYSTEMS}
        | {f"dies, {system}": 100 * mean(busy(results[system, it]) for it in traces) for system in SYSTEMS},
    )


def judged(traced: Traced, suffix: str = "") -> Outcome:
    """The claims alone, from the two systems that they compare: what runs with other choices are for."""
    results = traced.runs((RAIN, AUTO))
    traces = list(dict.fromkeys(trace for _, trace in results))
    return Outcome(
        {
            f"kim18.{level}{suffix}": average([against(results, level, AUTO, it) for it in traces]) - 100
            for level in LEVELS
        }
    )


def against(results: Runs, level: str, system: str, trace: str) -> float | None:
    """The value of a system in percent of RAIN's; None if a run has too few reads for it."""
    of = LEVELS[level][1]
    own, rain = of(results[system, trace]), of(results[RAIN, trace])
    return None if own is None or rain is None else 100 * own / rain


def average(values: Sequence[float | None]) -> float:
    """The mean over the traces that have a value.

    :raises Trouble: if none has, which only true traces can be too short for.
    """
    known = [value for value in values if value is not None]
    if not known:
        raise Trouble("no trace has enough reads of at most 64 KiB for their 99.9 %; longer traces are needed", FAILED)
    return mean(known)


def busy(result: Mapping[str, Any]) -> float:
    """The part of the time in which dies are busy."""
    return mean(result["utilisation"]["dies"])


def levels(traces: Sequence[str], results: Runs) -> Table:
    """Response times of all systems."""
    head = ["trace", "small reads", *(f"{name}, {system}, ms" for name, _ in LEVELS.values() for system in SYSTEMS)]

    def row(trace: str) -> list[Any]:
        values = [of(results[system, trace]) for _, of in LEVELS.values() for system in SYSTEMS]
        count = int(small(results[RAIN, trace])["count"])
        return [trace, count, *(None if us is None else us / US_PER_MS for us in values)]

    return Table(
        "Response times of small reads",
        head,
        [row(it) for it in traces],
        "Where a run has too few small reads, the 99.9 % is missing, and the largest stands for the 99.9999 %.",
    )


def changed(level: str, traces: Sequence[str], ratios: Mapping[tuple[str, str], Sequence[float | None]]) -> Table:
    """Figure 5 or 10 as a table."""
    rows: list[list[Any]] = [[it, *(ratios[level, system][n] for system in OTHERS)] for n, it in enumerate(traces)]
    rows.append(["mean", *(average(ratios[level, system]) for system in OTHERS)])
    return Table(f"The {LEVELS[level][0]} in percent of RAIN's", ("trace", *OTHERS), rows)


def bars(
    context: Context,
    level: str,
    traces: Sequence[str],
    ratios: Mapping[tuple[str, str], Sequence[float | None]],
    claim: str,
) -> Bars:
    """Figure 5 or 10: a level of the four systems, in percent of RAIN."""
    published = 100 + context.published(claim)[0]
    return Bars(
        level,
        f"{LEVELS[level][0]} response time of small reads",
        f"The {LEVELS[level][0]} response time of small reads on each system, in percent of that with RAIN.",
        "% of RAIN",
        [*traces, "mean"],
        {system: [*ratios[level, system], average(ratios[level, system])] for system in OTHERS},
        [Published(claim, "published mean", len(traces), published, published, AUTO)],
    )


def work(traces: Sequence[str], results: Runs) -> Table:
    """What the drives have done meanwhile."""
    return Table(
        "Work of the drives",
        (
            "trace",
            *(f"victims, {system}" for system in SYSTEMS),
            *(f"WAF, {system}" for system in SYSTEMS),
            *(f"dies, {system}, %" for system in SYSTEMS),
            "rebuilt reads, RAIN",
            "least free blocks, AutoSSD",
        ),
        [
            [
                it,
                *(results[system, it]["gc"]["collections"] for system in SYSTEMS),
                *(results[system, it]["write_amplification"] for system in SYSTEMS),
                *(100 * busy(results[system, it]) for system in SYSTEMS),
                results[RAIN, it]["superblocks"]["rebuilt_reads"],
                min(results[AUTO, it]["series"]["free_blocks"]),
            ]
            for it in traces
        ],
        "Victims are blocks that GC emptied; WAF is write amplification; dies: the time in which they are busy.",
    )


def distribution(results: Runs, trace: str) -> LogLines:
    """Figures 6c, 7c and 11c: the distribution of response times under a trace."""
    told = {system: small(results[system, trace]) for system in SYSTEMS if (system, trace) in results}
    words = "The response time that each share of the small reads takes at most, by system."
    return small_reads(f"{trace.lower()}-distribution", f"Response times of small reads under {trace}", words, told)


def small_reads(name: str, title: str, words: str, told: Mapping[str, Mapping[str, float]]) -> LogLines:
    """Distributions of the response times of small reads, as far as all of them are known."""
    known = [key for key in PERCENTILES if all(each[key] for each in told.values())]
    return LogLines(
        name,
        title,
        words,
        "share of small reads (%)",
        "ms, logarithmic",
        [PERCENTILES[key] for key in known],
        {name: [each[key] / US_PER_MS for key in known] for name, each in told.items()},
    )


WAITS = {
    "GC": ("wait_die_gc", "wait_buffer_gc"),
    "read scrubbing": ("wait_die_refresh", "wait_buffer_refresh"),
    "other reads": ("wait_die_read", "wait_die_own"),
    "writes": ("wait_die_write",),
    "mapping table": ("wait_map",),
    "queues before the dies": ("wait_space",),
    "channel": ("wait_bus",),
}
"""Figure 8: what reads wait for, by parts of their latency."""


def waits(results: Runs, trace: str) -> Stack:
    """Figure 8: what reads of all sizes wait for under a trace."""

    def us(system: str, parts: Sequence[str]) -> float:
        result = results[system, trace]
        return (
            sum(result["time_of"]["read"].get(part, 0.0) for part in parts) * 1e6 / result["by_op"]["read"]["requests"]
        )

    return Stack(
        "waits",
        f"What reads wait for under {trace}",
        "The mean time that reads of all sizes wait, by what they wait for.",
        "µs",
        list(SYSTEMS),
        {name: [us(system, parts) for system in SYSTEMS] for name, parts in WAITS.items()},
    )
