"""Figures 1 and 4 of AutoSSD: random writes over time; bandwidth by channel rate, times by map cache and share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

from wordline.studies.autossd import CONTROLLED, Drive
from wordline.studies.context import Context
from wordline.studies.judge import CLOSE
from wordline.studies.outcome import Bars, Course, Lines, LogLines, Outcome, Table
from wordline.studies.packages import KIB, mean

RATES = (66, 133, 200, 266, 333, 400, 533, 667, 800, 933, 1066, 1200, 1333, 1466, 1600)
"""Rates of a channel in MB/s, all of them modes of NV-DDR3."""
NEAR = 1000
"""The rate near which reads saturate, in MB/s."""
WRITES = 4_000_000
SAMPLE_S = 0.5
"""The writes of figure 1, and the length of its intervals."""
SHARES = (20, 40, 60, 80)
SMALLER = (5, 10)
"""Shares below those of the paper, with which the host soon waits for free blocks."""
MB = 1e6
MS = 1000.0


def experiment(
    drive: Drive,
    jobs: Sequence[Mapping[str, Any]],
    then: Mapping[str, Any],
    precondition: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """An experiment of :meth:`Context.drives`, with AutoSSD's own shares unless ``then`` has others."""
    drive.context.choice("scrubbing")
    return {
        "drive": drive.chapter["preset"],
        "sets": {**drive.sets(), "dispatch.policy": "debit", **CONTROLLED},
        "precondition": dict(precondition or {}),
        "then": dict(then),
        "jobs": list(jobs),
    }


def run(context: Context) -> Outcome:
    """Figure 1, and the three parts of figure 4."""
    drive = Drive(context)
    parts = [bandwidths(context, drive), caches(context, drive), shares(context, drive), fresh(context, drive)]
    return Outcome(
        measured={name: value for part in parts for name, value in part.measured.items()},
        tables=[table for part in parts for table in part.tables],
        figures=[figure for part in parts for figure in part.figures],
        discussed={name: value for part in parts for name, value in part.discussed.items()},
    )


def fresh(context: Context, drive: Drive) -> Outcome:
    """Figure 1: random writes on a drive that is filled in order, over time.

    It has no claim, so runs with other choices do without it; so do those without pyarrow, which reads the table.
    """
    if context.instead or find_spec("pyarrow") is None:
        return Outcome({})
    context.choice("fresh")
    job = {"rw": "randwrite", "bs": "4k", "iodepth": 256, "number_ios": WRITES}
    columns = ("start_s", "end_s", "write_mib_s", "gc_reads", "gc_share", "free_blocks")
    wanted = {"intervals": {"every": f"{1000 * SAMPLE_S:.0f}ms", "columns": columns}}
    writes = experiment(drive, [job], in_progress(context), {"overwrites": 0})
    (result,) = context.drives({"fresh": writes | wanted}).values()
    rows = result["intervals"]
    # GC goes on after the last write, and the interval of the last write is not whole.
    whole = [n for n, end in enumerate(rows["end_s"]) if end <= result["simulated_s"]]
    rate, share, start = (rows[it][whole].tolist() for it in ("write_mib_s", "gc_share", "start_s"))
    begin = next(n for n, reads in enumerate(rows["gc_reads"]) if reads)
    last = len(whole) // 10
    return Outcome(
        {},
        figures=[
            Course(
                "random-writes",
                "Random writes of 4 KB on a drive that is filled in order",
                f"Data written in each {1000 * SAMPLE_S:.0f} ms, with {job['iodepth']} writes outstanding. GC begins "
                f"after {start[begin]:g} s.",
                "time (s)",
                "MiB/s",
                [round(it + SAMPLE_S / 2, 3) for it in start],
                {"writes": rate},
            )
        ],
        discussed={
            "writes before GC": mean(rate[:begin]),
            "GC begins": start[begin],
            "lowest writes": min(rate),
            "time of the lowest": start[rate.index(min(rate))],
            "writes at the end": mean(rate[-last:]),
            "least free blocks of writes": int(min(rows["free_blocks"][whole])),
            "largest share of writes": max(share),
            "writes last": start[-1] + SAMPLE_S,
            "end of writes": SAMPLE_S * last,
        },
    )


def bandwidths(context: Context, drive: Drive) -> Outcome:
    """Figure 4a: sequential reads and writes by channel rate."""
    context.choice("rates")
    ordered = context.choice("sequential-data") == "in order"
    criterion, depth = context.choice("saturation"), context.choice("depth")
    requests = context.requests(8000)

    def sequential(op: str, rate: int) -> dict[str, Any]:
        job = {"rw": op, "bs": "128k", "iodepth": depth, "number_ios": requests}
        return experiment(drive, [job], {"nand.rate_mt_s": rate}, {"overwrites": 0} if ordered else None)

    results = context.drives({(op, rate): sequential(op, rate) for op in ("read", "write") for rate in RATES})
    total = {key: result["bandwidth_mib_s"] * KIB * KIB / MB for key, result in results.items()}
    busy = {key: 100 * mean(result["utilisation"]["dies"]) for key, result in results.items()}
    reached = {op: saturation([total[op, rate] for rate in RATES], criterion) for op in ("read", "write")}
    read, write = reached["read"], reached["write"]
    return Outcome(
        measured={
            "kim18.bandwidth-saturation": {
                "writes, at half the rate of reads or earlier": write is not None and write <= (read or RATES[-1]) / 2,
                f"reads, within a factor of {CLOSE:g} of {NEAR} MB/s": read is not None
                and NEAR / CLOSE <= read <= NEAR * CLOSE,
            }
        },
        tables=[
            Table(
                "Sequential requests of 128 KB by channel bandwidth",
                ("channel, MB/s", "read, MB/s", "of the channels, %", "write, MB/s", "of the channels, %", "dies, %"),
                [
                    (
                        str(rate),
                        total["read", rate],
                        100 * total["read", rate] / (4 * rate),
                        total["write", rate],
                        100 * total["write", rate] / (4 * rate),
                        busy["write", rate],
                    )
                    for rate in RATES
                ],
                f"Four channels. The last column is the time in which dies are busy with writes. {told(reached)}",
            )
        ],
        figures=[
            Lines(
                "bandwidth",
                "Sequential bandwidth by channel bandwidth",
                "Writes are limited by program latency early, reads follow the channels much longer.",
                "channel (MB/s)",
                "MB/s",
                [str(rate) for rate in RATES],
                {f"{op}s": [total[op, rate] for rate in RATES] for op in ("read", "write")},
            )
        ],
        discussed={f"{op}s saturate": rate or RATES[-1] for op, rate in reached.items()}
        | {f"{op}s at {rate}": total[op, rate] for op in ("read", "write") for rate in (400, 1066, 1600)},
    )


def told(reached: Mapping[str, int | None]) -> str:
    """The points of saturation in words."""
    at = {op: f"at {rate} MB/s" if rate else "at none of these rates" for op, rate in reached.items()}
    return f"Reads saturate {at['read']}, writes {at['write']}."


def saturation(totals: Sequence[float], criterion: float) -> int | None:
    """The rate from which on bandwidth grows by less than this part of the rate's growth; None if there is none."""
    steps = list(zip(pairwise(RATES), pairwise(totals), strict=True))
    slow = [(more - less) / less < criterion * (high - low) / low for (low, high), (less, more) in steps]
    for at, (low, _) in enumerate(pairwise(RATES)):
        if all(slow[at:]):
            return low
    return None


def caches(context: Context, drive: Drive) -> Outcome:
    """Figure 4b: random reads by size of the map cache."""
    sizes, requests, writes = context.choice("cache-sizes"), context.requests(200_000), context.choice("writes")
    random = {"bs": "4k", "iodepth": 1024, "rate_process": context.choice("arrivals")}
    reads = {**random, "rw": "randread", "rate_iops": 100_000, "number_ios": requests}
    before = [{**random, "rw": "randwrite", "rate_iops": 20_000, "number_ios": writes}] if writes else []

    def by_cache(percent: float) -> dict[str, Any]:
        jobs = [*before, {**reads, "number_ios": requests // 2}, reads]
        return experiment(drive, jobs, {"mapping.cache_kib": drive.cache_kib(percent)})

    results = context.drives({percent: by_cache(percent) for percent in sizes})
    latency = {percent: result["latency_us"]["read"] for percent, result in results.items()}
    busy = {percent: 100 * mean(result["utilisation"]["dies"]) for percent, result in results.items()}
    hits = {percent: 100 * result["mapping_table"]["hit_rate"] for percent, result in results.items()}
    falls = {
        f"{name}, {less:g} against {more:g} % of the table": latency[less][key] > latency[more][key]
        for less, more in pairwise(sizes)
        for key, name in (("mean", "mean"), ("p99_9", "99.9 %"))
    }
    least, most = sizes[0], sizes[-1]
    return Outcome(
        measured={"kim18.map-cache": falls},
        tables=[
            Table(
                "Random reads of 4 KB by size of the map cache",
                ("cache, % of the table", "mean, µs", "99.9 %, µs", "hits, %", "waiting for the map, µs", "dies, %"),
                [
                    (
                        f"{percent:g}",
                        latency[percent]["mean"],
                        latency[percent]["p99_9"],
                        hits[percent],
                        waiting(results[percent]),
                        busy[percent],
                    )
                    for percent in sizes
                ],
                "The last two columns: the part of the mean, and the time in which dies are busy.",
            )
        ],
        figures=[
            Bars(
                "map-cache-latency",
                "Response time by size of the map cache",
                "Response time falls as the cache grows.",
                "ms",
                [f"{percent:g} %" for percent in sizes],
                {
                    "mean": [latency[percent]["mean"] / MS for percent in sizes],
                    "99.9 %": [latency[percent]["p99_9"] / MS for percent in sizes],
                },
            ),
            Lines(
                "map-cache-use",
                "Use of the flash by size of the map cache",
                "Reads of the mapping table add to the work of the dies.",
                "cache (% of the table)",
                "%",
                [f"{percent:g}" for percent in sizes],
                {"dies busy": [busy[it] for it in sizes], "hits in the map cache": [hits[it] for it in sizes]},
            ),
        ],
        discussed={
            "mean, least": latency[least]["mean"],
            "mean, most": latency[most]["mean"],
            "dies, least": busy[least],
            "dies, most": busy[most],
        },
    )


def waiting(result: Mapping[str, Any]) -> float:
    """The part of the mean latency of reads that is spent waiting for the mapping table, in microseconds."""
    return 1e6 * result["time_of"]["read"]["wait_map"] / result["by_op"]["read"]["requests"]


def shares(context: Context, drive: Drive) -> Outcome:
    """Figure 4c: random requests by fixed share of GC."""
    for key in ("warm-up", "tail"):
        context.choice(key)
    requests, small, work = context.requests(context.choice("length")), context.choice("small"), in_progress(context)
    mixed = {"rw": "randrw", "rwmixread": 10, "bs": "4k", "iodepth": 1024, "rate_process": context.choice("arrivals")}

    def fixed(share: int) -> dict[str, Any]:
        warm = {**mixed, "rate_iops": 20_000, "number_ios": requests // 3}
        job = {**mixed, "rate_iops": 20_000, "number_ios": requests}
        then = {"shares": {"policy": "fixed", "percent": {"gc": share}}, **work}
        return experiment(drive, [warm, job], then)

    results = context.drives({share: fixed(share) for share in (*SMALLER, *SHARES)})
    latency = {share: result["latency_us"]["read"] for share, result in results.items()}
    erases = {share: progress(result) for share, result in results.items()}
    free = {share: min(result["series"]["free_blocks"]) for share, result in results.items()}
    larger = [share for share in SHARES if share > small]
    holds = {f"erases, {more} against {less} %": erases[more] > erases[less] for less, more in pairwise(SHARES)}
    holds |= {
        f"99.9 %, {more} against {less} %": latency[more]["p99_9"] > latency[less]["p99_9"]
        for less, more in pairwise(SHARES)
    }
    best = min(latency[share]["max"] for share in larger)
    holds[f"largest, {small} % against the best of larger shares"] = latency[small]["max"] > best
    groups = [*SMALLER, *SHARES]
    return Outcome(
        measured={"kim18.gc-share": holds},
        tables=[
            Table(
                "Random requests of 4 KB by share of GC",
                (
                    "share, %",
                    "erases a second while active",
                    "mean read, µs",
                    "99.9 %, µs",
                    "largest, µs",
                    "fewest free blocks",
                    "dies, %",
                    "write amplification",
                ),
                [
                    (
                        str(share),
                        erases[share],
                        latency[share]["mean"],
                        latency[share]["p99_9"],
                        latency[share]["max"],
                        free[share],
                        100 * mean(results[share]["utilisation"]["dies"]),
                        results[share]["write_amplification"],
                    )
                    for share in groups
                ],
                f"Reads of the host. Shares of {' and '.join(map(str, SMALLER))} % are not in the paper.",
            )
        ],
        figures=[
            Bars(
                "share-erases",
                "Progress of GC by its share",
                "Erases a second while GC is active.",
                "erases/s",
                [f"{share} %" for share in groups],
                {"erases": [erases[share] for share in groups]},
            ),
            LogLines(
                "share-latency",
                "Response times of reads by share of GC",
                "With too small a share of GC the host waits for free blocks, with a large one for its own places.",
                "share of GC (%)",
                "ms, logarithmic",
                [str(share) for share in groups],
                {
                    "largest": [latency[share]["max"] / MS for share in groups],
                    "99.9 %": [latency[share]["p99_9"] / MS for share in groups],
                    "mean": [latency[share]["mean"] / MS for share in groups],
                },
            ),
        ],
        discussed={f"free at {share}": free[share] for share in groups}
        | {f"erases at {share}": erases[share] for share in groups}
        | {f"largest at {share}": latency[share]["max"] / MS for share in groups},
    )


def in_progress(context: Context) -> dict[str, int]:
    """What GC has in progress at a time."""
    return {"collect.blocks_at_a_time": context.choice("victims"), "collect.window_pages": context.choice("moves")}


def progress(result: Mapping[str, Any]) -> float:
    """Erases a second in the intervals in which GC occupies dies."""
    activity = result["activity"]
    active = sum(any(interval) for interval in zip(*activity["dies_gc"], strict=True))
    return result["tasks"]["gc"]["erases"] / (active * activity["interval_s"])
