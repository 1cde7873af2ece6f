"""GC that takes waiting host operations along, on dies of two planes: figures 3 and 8 to 13 of choi18."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from wordline.studies import parallel_gc as scheme
from wordline.studies.context import Context
from wordline.studies.outcome import Bars, LogLines, Outcome, Published, Stack, Table
from wordline.studies.packages import mean
from wordline.studies.parallel_gc import BASELINE, IDEAL, OPS, PAR, PARALLEL, SYSTEMS, VIC, Drive, Runs

SHOWN = ("mds_0", "proj_0")
"""The volumes of figures 3 and 11."""
PERCENTS = (50, 60, 70, 75, 80, 85, 90, 95)
"""Points of the distributions of figures 3 and 11, which end at 95 %."""
ALONG, PAIRS = "4.1 alone", "4.2 alone"
PARTS = {ALONG: scheme.JOINED, PAIRS: scheme.OPENED}
"""Parts of GC-PAR. With 4.1 alone, host operations go along where page offsets happen to match, and each plane has one
open block. With 4.2 alone, planes have second open blocks, but no host operation goes along: what this gains is no gain
of shared commands."""
LATER = 2
"""Free blocks above its start at which GC ends in the table of victims in a row."""


def run(context: Context) -> Outcome:
    """All figures from the same runs, but for throughput."""
    drive = Drive(context, {})
    gaps = drive.gaps()
    results = drive.runs(gaps, SYSTEMS)
    volumes = list(gaps)
    parts = [
        workloads(context, drive, gaps, results),
        caught(context, volumes, results),
        company(context, volumes, results),
        everything(context, volumes, results),
        throughput(context, volumes, drive.at_full_speed(gaps, {it: SYSTEMS[it] for it in (BASELINE, *PARALLEL)})),
        causes({**results, **drive.runs(gaps, PARTS, SHOWN)}),
        in_a_row(context, gaps),
    ]
    return Outcome(
        measured={name: value for part in parts for name, value in part.measured.items()},
        tables=[table for part in parts for table in part.tables],
        figures=[figure for part in parts for figure in part.figures],
        discussed={name: value for part in parts for name, value in part.discussed.items()},
    )


def workloads(context: Context, drive: Drive, gaps: Mapping[str, float], results: Runs) -> Outcome:
    """Table 2 and figure 8: the intensities, and the requests that GC delays in the baseline."""
    rows = []
    for it in drive.volumes():
        base, ideal = results[BASELINE, it.name], results[IDEAL, it.name]
        rows.append(
            (
                it.name,
                gaps[it.name],
                it.affected_percent,
                scheme.affected(base),
                base["gc"]["moved_pages"] / base["gc"]["collections"],
                100 * mean(base["utilisation"]["dies"]),
                100 * mean(ideal["utilisation"]["dies"]),
            )
        )
    means = ["mean", None, *(mean(column) for column in list(zip(*rows, strict=True))[2:])]
    base = {it: results[BASELINE, it] for it in gaps}
    hit = {op: [scheme.affected(it, op) for it in base.values()] for op in OPS}
    other = {
        op: [100 * it["by_op"][op]["requests"] / it["requests"] - scheme.affected(it, op) for it in base.values()]
        for op in OPS
    }
    return Outcome(
        measured={},
        tables=[
            Table(
                "Workloads on the baseline",
                (
                    "volume",
                    "mean interarrival time, µs",
                    "delayed by GC, %, Table 2",
                    "delayed by GC, %",
                    "pages moved a victim",
                    "dies, %",
                    f"dies, {IDEAL}, %",
                ),
                [*rows, means],
                "The interarrival time is chosen by the share of requests that GC delays. The last columns: the time "
                "in which dies are busy.",
            )
        ],
        figures=[
            Stack(
                "affected",
                "Requests delayed by GC",
                "Shares of reads and writes that GC delayed in the baseline, and of the others.",
                "% of requests",
                list(gaps),
                {
                    "writes delayed": hit["write"],
                    "reads delayed": hit["read"],
                    "other writes": other["write"],
                    "other reads": other["read"],
                },
            )
        ],
        discussed={f"delayed {op}s": mean(hit[op]) for op in OPS}
        | {
            "base reads": percentile(results[BASELINE, "mds_0"], "read", 95),
            "base writes": percentile(results[BASELINE, "mds_0"], "write", 95),
            "moved a victim": mean(row[4] for row in rows),
            "ideal writes": percentile(results[IDEAL, "mds_0"], "write", 95),
        },
    )


def caught(context: Context, volumes: Sequence[str], results: Runs) -> Outcome:
    """Figure 9: response times of requests that GC caught."""
    values = {
        op: {
            (system, it): scheme.caught_ms(context, results, op, system, it)
            for system in (BASELINE, *PARALLEL)
            for it in volumes
        }
        for op in OPS
    }
    by = {(op, it): mean(scheme.against(values[op], it, volumes)) - 100 for op in OPS for it in PARALLEL}

    def marks(claims: Sequence[tuple[str, str]]) -> list[tuple[str, str, float]]:
        return [(claim, system, context.published(claim)[0]) for claim, system in claims]

    return Outcome(
        measured={
            "choi18.read-par": by["read", PAR],
            "choi18.read-vic": by["read", VIC],
            "choi18.write": [by["write", it] for it in PARALLEL],
        },
        tables=[
            scheme.caught_table(
                volumes, values, "The mean change is the mean over the volumes, as in the paper's averages."
            )
        ],
        figures=[
            scheme.normalised(
                "caught-reads",
                "Response time of reads caught by GC",
                "Mean response times of reads that GC delayed, against the baseline.",
                volumes,
                values["read"],
                marks([("choi18.read-par", PAR), ("choi18.read-vic", VIC)]),
            ),
            scheme.normalised(
                "caught-writes",
                "Response time of writes caught by GC",
                "Mean response times of writes that GC delayed, against the baseline.",
                volumes,
                values["write"],
                marks([("choi18.write", PAR), ("choi18.write", VIC)]),
            ),
        ],
        discussed={
            f"caught {op}s, {system}": mean(values[op][system, it] for it in volumes)
            for op in OPS
            for system in (BASELINE, *PARALLEL)
        },
    )


def company(context: Context, volumes: Sequence[str], results: Runs) -> Outcome:
    """Figure 10: planes in use during GC."""
    claim = "choi18.plane-utilisation"
    used = {system: [scheme.utilisation(results[system, it]) for it in volumes] for system in (BASELINE, *PARALLEL)}
    published = context.published(claim)[0]
    return Outcome(
        measured={claim: [mean(used[it]) for it in PARALLEL]},
        tables=[scheme.company_table(volumes, results)],
        figures=[scheme.planes_figure(volumes, used, claim, published)],
        discussed={
            f"{op}s along, {system}": 100 * mean(scheme.along(results, system, it, op) for it in volumes)
            for op in OPS
            for system in PARALLEL
        }
        | {
            "rise": mean(used[PAR]) - mean(used[BASELINE]),
            "published rise": published - mean(used[BASELINE]),
            "least planes": min(used[PAR]),
            "most planes": max(used[PAR]),
            "valid share": 100
            * mean(
                results[BASELINE, it]["gc"]["moved_pages"] / results[BASELINE, it]["gc"]["collections"]
                for it in volumes
            )
            / PAGES_A_BLOCK,
        },
    )


PAGES_A_BLOCK = 512


def everything(context: Context, volumes: Sequence[str], results: Runs) -> Outcome:
    """Figure 12: response times of all requests; figures 3 and 11: their distributions."""
    kinds = (*OPS, "all")
    values = {
        op: {(system, it): scheme.response_ms(results[system, it], op) for system in SYSTEMS for it in volumes}
        for op in kinds
    }
    ratios = {(op, system): scheme.against(values[op], system, volumes) for op in kinds for system in PARALLEL}
    by = {key: mean(them) - 100 for key, them in ratios.items()}
    claims = [
        ("choi18.all-reads-par", "read", PAR),
        ("choi18.all-reads-vic", "read", VIC),
        ("choi18.all-requests", "all", VIC),
    ]
    return Outcome(
        measured={claim: by[op, system] for claim, op, system in claims},
        tables=[
            Table(
                "Response times of all requests, in percent of the baseline",
                ("volume", *(f"{op if op == 'all' else op + 's'}, {it}" for op in kinds for it in PARALLEL)),
                [[name, *(ratios[op, it][n] for op in kinds for it in PARALLEL)] for n, name in enumerate(volumes)]
                + [["mean", *(by[op, it] + 100 for op in kinds for it in PARALLEL)]],
            )
        ],
        figures=[
            Bars(
                "all-requests",
                "Response time of all requests",
                "Mean response times of all requests against the baseline, mean over the volumes.",
                "% of the baseline",
                ["reads", "writes", "all"],
                {it: [by[op, it] + 100 for op in kinds] for it in PARALLEL},
                [
                    Published(claim, "published", kinds.index(op), 100 + value, 100 + value, system)
                    for claim, op, system in claims
                    for value in context.published(claim)[:1]
                ],
            ),
            *(distribution(results, name, op) for name in SHOWN for op in OPS),
        ],
        discussed={f"all {op}, {system}": by[op, system] for op in kinds for system in PARALLEL},
    )


def distribution(results: Runs, name: str, op: str) -> LogLines:
    """A distribution of figures 3 and 11."""
    return LogLines(
        f"{name.replace('_', '-')}-{op}s",
        f"Response times of {op}s of {name}",
        f"The response time that each share of the {op}s takes at most, by system.",
        f"share of {op}s (%)",
        "ms, logarithmic",
        [str(it) for it in PERCENTS],
        {system: [percentile(results[system, name], op, it) for it in PERCENTS] for system in SYSTEMS},
    )


def percentile(result: Mapping[str, Any], op: str, percent: float) -> float:
    """The response time that this share of requests takes at most, in milliseconds."""
    return next(us for us, share in result["cdf"][op] if share >= percent / 100) / scheme.US_PER_MS


def throughput(context: Context, volumes: Sequence[str], results: Runs) -> Outcome:
    """Figure 13: requests a second as fast as the drive takes them."""
    claim = "choi18.throughput"
    rates = {key: result["iops"] for key, result in results.items()}
    gains = {it: [ratio - 100 for ratio in scheme.against(rates, it, volumes)] for it in PARALLEL}
    published = context.published(claim)[0]
    return Outcome(
        measured={claim: [mean(gains[it]) for it in PARALLEL]},
        tables=[
            Table(
                "Throughput",
                ("volume", "baseline, requests/s", *(f"{it}, change, %" for it in PARALLEL)),
                [[name, rates[BASELINE, name], *(gains[it][n] for it in PARALLEL)] for n, name in enumerate(volumes)]
                + [["mean", None, *(mean(gains[it]) for it in PARALLEL)]],
            )
        ],
        figures=[
            scheme.normalised(
                "throughput",
                "Throughput",
                "Requests a second if they come as fast as the drive takes them, against the baseline.",
                volumes,
                rates,
                [(claim, it, published) for it in PARALLEL],
            )
        ],
        discussed={"best gain": max(max(them) for them in gains.values())},
    )


def causes(results: Runs) -> Outcome:
    """What each part of the scheme does to two volumes."""
    systems = (BASELINE, *PARTS, PAR, VIC)
    rows = part_rows(results, systems)
    return Outcome(
        measured={},
        tables=[
            Table(
                "The parts of the scheme",
                PART_HEAD,
                rows,
                "Requests caught by the GC of each system. With 4.1 alone, each plane has one open block; with 4.2 "
                "alone, no host operation goes along.",
            )
        ],
        discussed={f"gc writes, {row[1]}, {row[0]}": row[7] for row in rows} | gains("gain", rows),
    )


def in_a_row(context: Context, gaps: Mapping[str, float]) -> Outcome:
    """The parts of the scheme if GC ends later: second open blocks then save victims, whatever goes along."""
    if context.instead:
        # Runs with other choices are for the claims alone.
        return Outcome({})
    drive = Drive(replace(context, instead={"stop": LATER}), {})
    systems = {it: {**SYSTEMS, **PARTS}[it] for it in (BASELINE, PAIRS, PAR)}
    rows = part_rows(drive.runs(gaps, systems, SHOWN), tuple(systems))
    return Outcome(
        measured={},
        tables=[
            Table(
                "Victims in a row",
                PART_HEAD,
                rows,
                f"The same requests as above, with GC that ends {LATER} free blocks above its start instead of one.",
            )
        ],
        discussed=gains("later gain", rows),
    )


PART_HEAD = (
    "volume",
    "system",
    "caught reads, ms",
    "90 % of them, ms",
    "caught writes, ms",
    "planes during GC, %",
    "reads a GC read, %",
    "writes a GC write, %",
    "victims",
)


def part_rows(results: Runs, systems: Sequence[str]) -> list[tuple[Any, ...]]:
    """Two volumes on these systems."""
    rows = []
    for name in SHOWN:
        for system in systems:
            result = results[system, name]
            gc, late = result["gc"], result["gc_affected_us"]
            rows.append(
                (
                    name,
                    system,
                    late["read"]["mean"] / scheme.US_PER_MS,
                    late["read"]["p90"] / scheme.US_PER_MS,
                    late["write"]["mean"] / scheme.US_PER_MS,
                    scheme.utilisation(result),
                    100 * gc["joined_reads"] / gc["moved_pages"],
                    100 * gc["joined_writes"] / gc["moved_pages"],
                    gc["collections"],
                )
            )
    return rows


def gains(label: str, rows: Sequence[tuple[Any, ...]]) -> dict[str, float]:
    """By how many percent caught requests are shorter than in the baseline, by kind, system and volume."""
    base = {row[0]: row for row in rows if row[1] == BASELINE}
    return {
        f"{label} {what}, {row[1]}, {row[0]}": 100 * (1 - row[column] / base[row[0]][column])
        for row in rows
        for what, column in (("reads", 2), ("writes", 4))
    }
