"""Worst case, excess waiting time and collections of AGC and DGC: figures 7.8 to 7.15a of jung13, chapter 7."""

from __future__ import annotations

from collections.abc import Sequence

from wordline.studies.context import Context
from wordline.studies.idle_gc import (
    AGC,
    ANY,
    BOTH,
    CAUSES,
    DGC,
    DISKS,
    FULL,
    H_FTL,
    HIGH,
    L_FTL,
    LOW,
    P_FTL,
    PAIRS,
    SYSTEMS,
    Point,
    Result,
    Runs,
    collection_s,
    share_ahead,
    worst_ms,
)  # fmt: skip
from wordline.studies.outcome import Bars, Figure, LogLines, Outcome, Published, Table
from wordline.studies.packages import mean

FOUR = (L_FTL, H_FTL, P_FTL, BOTH)
BURSTS = (1000, 100, 30)
"""Mean requests of a burst in the runs of readings."""
EXTENTS = (100, 20, 5, 3, 2)
"""Percent of the drive in which requests fall in the runs of places; 2 % have as many as there are log blocks."""
PLACED = 5
"""The disk of these runs."""
GROUPS = ("LO", "HI")
PLACING = (L_FTL, H_FTL, AGC, DGC, BOTH)
READ = (1, 5)
"""The disks of the runs of readings, with bursts of low and of high intensity."""
MS_PER_SECOND = 1000.0
Found = dict[Point, Result]


def run(context: Context) -> Outcome:
    """All figures."""
    runs = Runs(context)
    six = {(system, disk): Point(system, (disk,)) for system in SYSTEMS for disk in DISKS}
    three = {(system, pair): Point(system, pair) for system in FOUR for pair in PAIRS}
    placed = {(it, extent): Point(it, (PLACED,), extent=extent) for extent in EXTENTS for it in PLACING}
    read = {
        (kind, bursts): [Point(BOTH, (disk,), compacts=kind, bursts=bursts) for disk in READ]
        for kind in (FULL, ANY)
        for bursts in BURSTS
    }
    readers = {point for points in read.values() for point in points}
    results = runs.of({*six.values(), *three.values(), *placed.values()} | readers)
    of = {key: results[point] for key, point in six.items()}
    worst = {key: worst_ms(result) for key, result in of.items()}
    # Without a merge of L-FTL there is nothing to move to idle periods.
    merging = [disk for disk in DISKS if of[L_FTL, disk]["log_blocks"]["merges"]]
    reductions = {
        other: mean([percent(worst[BOTH, disk], worst[other, disk]) for disk in merging])
        for other in (L_FTL, H_FTL, P_FTL)
    }
    erases = {it: sum(of[it, disk]["flash"]["erases"] for disk in DISKS) for it in SYSTEMS}
    busy = {it: sum(collection_s(of[it, disk]) for disk in HIGH) for it in SYSTEMS}
    ahead = share_ahead(of[BOTH, disk] for disk in merging)
    excess = {key: runs.excess(result) for key, result in of.items()}
    thrashing = {disk: worst[P_FTL, disk] / worst[L_FTL, disk] for disk in HIGH}
    read_ahead = {key: share_ahead(results[point] for point in points) for key, points in read.items()}
    groups = {it: [runs.excess_of([of[it, disk] for disk in group]) for group in (LOW, HIGH)] for it in SYSTEMS}
    measured: dict[str, float | Sequence[float]] = {
        "jung13.agc-dgc-wcrt-pftl": reductions[P_FTL],
        "jung13.agc-dgc-wcrt-lftl": reductions[L_FTL],
        "jung13.agc-dgc-wcrt-hftl": reductions[H_FTL],
        "jung13.agc-dgc-erases": percent(erases[BOTH], erases[L_FTL]),
        "jung13.agc-share": ahead,
        "jung13.agc-dgc-ewt": groups[BOTH],
        "jung13.pftl-thrashing": [thrashing[disk] for disk in HIGH],
        "jung13.hftl-overhead": percent(busy[H_FTL], busy[L_FTL]),
    }
    return Outcome(
        measured=dict(measured),
        tables=[
            by_disk("Worst-case response time in 6SSDs-RAID, ms (figure 7.10)", worst, SYSTEMS),
            by_disk(
                "Requests with excess waiting time in 6SSDs-RAID, % (figure 7.12)",
                excess,
                SYSTEMS,
                "The excess waiting time of a request is what it takes beyond 30 ms (7.6.3).",
            ),
            waits(of),
            collections(of, erases),
            started(of),
            places(results, placed),
            readings(results, read),
            larger(runs, results, three),
        ],
        figures=drawn(context, worst, excess, measured, read_ahead, {it: results[placed[BOTH, it]] for it in EXTENTS}),
        discussed={f"worst, {it}, {disk}": value for (it, disk), value in worst.items()}
        | {f"excess, {it}, {disk}": value for (it, disk), value in excess.items()}
        | {f"mean, {it}, {disk}": mean_ms(result) for (it, disk), result in of.items()}
        | {f"erases, {it}": float(value) for it, value in erases.items()}
        | {f"erases a write, {it}, {disk}": erases_a_write(result) for (it, disk), result in of.items()}
        | {f"merges, {it}, {disk}": float(result["log_blocks"]["merges"]) for (it, disk), result in of.items()}
        | {
            f"ms a merge, {it}, {disk}": (result["log_blocks"]["mean_us"] or 0) / 1000
            for (it, disk), result in of.items()
        }
        | runs.written()
        | {"erases a block": erases[L_FTL] / (len(DISKS) * runs.blocks(Point(L_FTL, DISKS[:1])))}
        | {"ahead": ahead, "busy saved": -percent(busy[H_FTL], busy[L_FTL])}
        | {f"{cause}, {disk}": part(of[BOTH, disk], cause) for cause in CAUSES for disk in merging}
        | {f"on demand, {disk}": float(of[BOTH, disk]["scheduled_merges"]["on_demand"]) for disk in DISKS}
        | {f"interruptions, {disk}": float(of[BOTH, disk]["scheduled_merges"]["interruptions"]) for disk in DISKS}
        | {
            f"pressed, {it}, {disk}": float(of[it, disk]["scheduled_merges"]["pressed"])
            for it in (P_FTL, BOTH)
            for disk in DISKS
        }
        | {f"delay blocks, {disk}": float(of[BOTH, disk]["scheduled_merges"]["delay_blocks"]) for disk in DISKS}
        | {f"proactive, {extent}": part(results[placed[BOTH, extent]], "proactive") for extent in EXTENTS}
        | {f"placed erases, {it}, {extent}": erases_a_write(results[point]) for (it, extent), point in placed.items()}
        | {f"placed time, {extent}": placed_time(results, placed, extent) for extent in EXTENTS}
        | {f"group, {it}, {name}": value for it in SYSTEMS for name, value in zip(GROUPS, groups[it], strict=True)}
        | {f"read, {kind}, {bursts}": value for (kind, bursts), value in read_ahead.items()}
        | {f"read erases, {kind}, {bursts}": erases_of(results, read[kind, bursts]) for kind, bursts in read}
        | {f"thrashing, {disk}": value for disk, value in thrashing.items()}
        | {f"against, {it}": value for it, value in reductions.items()}
        | {f"three, {it}, {nth}": worst_ms(results[three[it, pair]]) for it in FOUR for nth, pair in enumerate(PAIRS)},
    )


COMPARED = {
    "jung13.agc-dgc-wcrt-pftl": "worst: P-FTL",
    "jung13.agc-dgc-wcrt-lftl": "worst: L-FTL",
    "jung13.agc-dgc-wcrt-hftl": "worst: H-FTL",
    "jung13.agc-dgc-erases": "erases",
    "jung13.hftl-overhead": "H-FTL",
}
"""Claims on one system against another, in percent."""


def drawn(
    context: Context,
    worst: dict[tuple[str, int], float],
    excess: dict[tuple[str, int], float],
    measured: dict[str, float | Sequence[float]],
    read_ahead: dict[tuple[str, int], float],
    placed: dict[int, Result],
) -> list[Figure]:
    """All figures of the page."""
    ssds = [f"SSD {disk}" for disk in DISKS]
    factor, _ = context.published("jung13.pftl-thrashing")
    share, _ = context.published("jung13.agc-share")
    return [
        LogLines(
            "worst",
            "Worst-case response time in 6SSDs-RAID (figure 7.10)",
            "The longest request of each SSD of 6SSDs-RAID, in milliseconds, by translation layer and collection.",
            "SSD",
            "ms",
            [str(disk) for disk in DISKS],
            {it: [worst[it, disk] for disk in DISKS] for it in FOUR},
            [
                Published(
                    "jung13.pftl-thrashing", f"published, P-FTL {factor:g} times L-FTL", DISKS.index(disk),
                    factor * worst[L_FTL, disk], factor * worst[L_FTL, disk], P_FTL,
                )
                for disk in HIGH
            ],
        ),
        Bars(
            "excess",
            "Requests with excess waiting time in 6SSDs-RAID (figure 7.12)",
            "Percentage of the requests of each SSD that take over 30 ms, by translation layer and collection.",
            "%",
            ssds,
            {it: [excess[it, disk] for disk in DISKS] for it in FOUR},
            [Published("jung13.agc-dgc-ewt", "published, AGC+DGC", at, 0, 0, BOTH) for at in range(len(DISKS))],
        ),
        Bars(
            "compared",
            "Worst case of AGC+DGC against P-, L- and H-FTL; its erases, and H-FTL's collections, against L-FTL",
            "Worst case of AGC+DGC against P-, L- and H-FTL, erases and H-FTL's collections against L-FTL, in %.",
            "%",
            list(COMPARED.values()),
            {"measured": [it for it in map(measured.get, COMPARED) if isinstance(it, float)]},
            [Published(it, "published", at, *context.published(it), "measured") for at, it in enumerate(COMPARED)],
        ),
        Bars(
            "ahead",
            "Merges that AGC starts, by what is compacted and by the length of bursts (figure 7.15a)",
            "Percentage of the merges of AGC+DGC that AGC started, by requests of a burst and what is compacted.",
            "%",
            [f"{bursts:,} requests" for bursts in BURSTS],
            {f"{kind} log blocks": [read_ahead[kind, bursts] for bursts in BURSTS] for kind in (FULL, ANY)},
            [
                Published("jung13.agc-share", "published, at least", at, share, share, f"{kind} log blocks")
                for at in range(len(BURSTS))
                for kind in (FULL, ANY)
            ],
        ),
        Bars(
            "causes",
            "Why merges of AGC+DGC started, by where requests go (figure 7.15a)",
            "Merges of AGC+DGC on SSD 5 by cause, in percent, by the part of the drive that requests go to.",
            "%",
            [f"{extent} %" for extent in placed],
            {cause.replace("_", " "): [part(result, cause) for result in placed.values()] for cause in CAUSES},
        ),
    ]  # fmt: skip


def percent(value: float, before: float) -> float:
    """How much a value is above another, in percent of that."""
    return 100 * (value / before - 1)


def mean_ms(result: Result) -> float:
    """The mean latency of writes, in milliseconds."""
    return float(result["latency_us"]["write"]["mean"]) / 1000


def erases_a_write(result: Result) -> float:
    """Erases for each write of the host."""
    return float(result["flash"]["erases"]) / result["by_op"]["write"]["requests"]


def part(result: Result, cause: str) -> float:
    """The percentage of merges that started for a reason."""
    told = result["scheduled_merges"]
    return 100 * float(told[cause]) / (sum(told[it] for it in CAUSES) or 1)


def by_disk(title: str, values: dict[tuple[str, int], float], systems: Sequence[str], note: str = "") -> Table:
    """A figure of each SSD under each system."""
    head = ("SSD", "group", *systems)
    rows = [[disk, GROUPS[disk in HIGH], *(values[it, disk] for it in systems)] for disk in DISKS]
    return Table(title, head, rows, note)


def waits(of: dict[tuple[str, int], Result]) -> Table:
    """Mean and tail of writes."""
    head = ("SSD", *(f"{it}: mean" for it in SYSTEMS), *(f"{it}: 99 %" for it in FOUR))
    rows = []
    for disk in DISKS:
        tails = [of[it, disk]["latency_us"]["write"].get("p99") for it in FOUR]
        row = [mean_ms(of[it, disk]) for it in SYSTEMS]
        rows.append([disk, *row, *(None if tail is None else tail / 1000 for tail in tails)])
    return Table("Latency of writes in 6SSDs-RAID, ms", head, rows)


def collections(of: dict[tuple[str, int], Result], erases: dict[str, int]) -> Table:
    """Merges and what they take."""
    rows = []
    for it in SYSTEMS:
        found = [of[it, disk] for disk in DISKS]
        merges = sum(result["log_blocks"]["merges"] for result in found)
        times = [(result["log_blocks"]["mean_us"] or 0) * result["log_blocks"]["merges"] for result in found]
        writes = sum(result["by_op"]["write"]["requests"] for result in found)
        moved = sum(result["gc"]["moved_pages"] for result in found)
        rows.append([it, merges, sum(times) / merges / 1000, moved, erases[it], erases[it] / writes])
    head = ("system", "merges", "mean time, ms", "pages copied", "erases", "erases a write")
    return Table("Collections in 6SSDs-RAID", head, rows)


def started(of: dict[tuple[str, int], Result]) -> Table:
    """Why merges started (figure 7.15a)."""
    rows = []
    for it in (AGC, DGC, BOTH):
        for disk in DISKS:
            told = of[it, disk]["scheduled_merges"]
            if sum(told[cause] for cause in CAUSES):
                counts = [told[cause] for cause in CAUSES]
                rows.append([it, disk, *counts, told["interruptions"], told["pressed"], told["delay_blocks"]])
    head = (
        "system", "SSD", "on demand", "look-ahead", "proactive", "retroactive", "interruptions",
        "went on beside the host", "delay blocks",
    )  # fmt: skip
    return Table("Why merges started (figure 7.15a)", head, rows)


def placed_time(results: Found, placed: dict[tuple[str, int], Point], extent: int) -> float:
    """How much longer all of H-FTL's collections take than L-FTL's, in percent, with requests in a part of a drive."""
    return percent(*(collection_s(results[placed[it, extent]]) for it in (H_FTL, L_FTL)))


def places(results: Found, placed: dict[tuple[str, int], Point]) -> Table:
    """L-FTL, H-FTL, and both schedulings alone and together, where requests fall in a part of the drive."""
    rows = []
    for extent in EXTENTS:
        erases = [erases_a_write(results[placed[it, extent]]) for it in PLACING]
        both = results[placed[BOTH, extent]]
        shares = [part(both, cause) for cause in CAUSES]
        rows.append([extent, *erases, placed_time(results, placed, extent), *shares, worst_ms(both)])
    head = (
        "part of the drive, %", *(f"erases a write, {it}" for it in PLACING), "collections, H-FTL against L-FTL, %",
        "on demand, %", "look-ahead, %", "proactive, %", "retroactive, %", "worst, ms",
    )  # fmt: skip
    note = f"SSD {PLACED}, whose requests are spread evenly over a part of the drive. Causes and worst case: AGC+DGC."
    return Table("Erases, collections and their causes, by where requests go", head, rows, note)


def erases_of(results: Found, points: Sequence[Point]) -> float:
    """Erases for each write of several runs."""
    erases = sum(results[point]["flash"]["erases"] for point in points)
    return erases / sum(results[point]["by_op"]["write"]["requests"] for point in points)


def readings(results: Found, read: dict[tuple[str, int], list[Point]]) -> Table:
    """AGC+DGC by what is compacted, and by the length of bursts."""
    rows = []
    for (kind, bursts), points in read.items():
        found = [results[point]["scheduled_merges"] for point in points]
        counts = [sum(told[cause] for told in found) for cause in CAUSES]
        worst = max(worst_ms(results[point]) for point in points)
        rows.append(
            [kind, bursts, *counts, share_ahead(results[it] for it in points), erases_of(results, points), worst]
        )
    head = (
        "compacted log blocks", "requests of a burst", "on demand", "look-ahead", "proactive", "retroactive", "AGC, %",
        "erases a write", "worst, ms",
    )  # fmt: skip
    note = f"AGC+DGC on SSDs {' and '.join(map(str, READ))}."
    return Table("Why merges started, by what is compacted and by the length of bursts", head, rows, note)


def larger(runs: Runs, results: Found, three: dict[tuple[str, tuple[int, ...]], Point]) -> Table:
    """3SSDs-RAID (figures 7.13 and 7.14)."""
    rows = []
    for nth, pair in enumerate(PAIRS):
        found = [results[three[it, pair]] for it in FOUR]
        shares = [runs.excess(result) for result in found]
        rows.append([nth, " and ".join(map(str, pair)), *map(worst_ms, found), *shares])
    head = ("SSD", "disks", *(f"{it}: worst, ms" for it in FOUR), *(f"{it}: excess, %" for it in FOUR))
    return Table("Worst case and requests with excess waiting time in 3SSDs-RAID (figures 7.13 and 7.14)", head, rows)
