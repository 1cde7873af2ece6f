"""Lazy wear leveling against static and none: figures 8 to 11 and 14, and table 2 of chang11's LCTES paper."""

from __future__ import annotations

from collections.abc import Mapping

from wordline.studies.context import Context
from wordline.studies.leveling import (
    LAZY,
    MAPPINGS,
    NONE,
    NOTEBOOK,
    SCHEMES,
    STATIC,
    Disk,
    Point,
    Result,
    Runs,
    deviations,
    increase_percent,
    stable_interval,
)
from wordline.studies.outcome import Bars, Cell, Course, LogLines, Outcome, Published, Table

GEOMETRIES = (Disk(page_kib=2, block_kib=128), Disk(), Disk(block_kib=2048))
SPARES = (1.25, 2.5, 5.0)
PROTOTYPE = Disk("sast", block_kib=2048)
STEPS = 100
"""Values of the curves of figure 14."""
GROWS = 25.0
"""Percent of what is written: half of what the second half adds. A stable interval that grows with it gains as much."""
MEDIA = "multimedia"
STAYING = "multimedia, 60 % of the disk never written"
STAYING_ZONES = "zoned:10/2:90/38:0/60"
"""The media player's workload on a part of the disk as large as the notebook's."""

HEAD = (
    "workload", "mapping", "wear leveling", "mean P/E cycles", "standard deviation", "mean more, %",
    "erases by wear leveling", "write amplification",
)  # fmt: skip

Results = Mapping[Point, Result]


def run(context: Context) -> Outcome:
    """All figures."""
    runs = Runs(context)
    workloads = [Point(Disk(), it, wear) for it in runs.workloads for wear in SCHEMES]
    runs.workloads[STAYING] = {**runs.workloads[MEDIA], "random_distribution": STAYING_ZONES}
    media = [Point(Disk(), it, wear) for it in (MEDIA, STAYING) for wear in (NONE, LAZY)]
    mappings = [Point(Disk(it), NOTEBOOK, wear) for it in MAPPINGS for wear in SCHEMES]
    disks = [*GEOMETRIES, *(Disk(spare_percent=it) for it in SPARES if it != Disk().spare_percent)]
    shaped = [Point(disk, NOTEBOOK, wear) for disk in (*disks, PROTOTYPE) for wear in (NONE, LAZY)]
    curves = [it for it in workloads if it.wear != NONE]
    results = runs.worn(dict.fromkeys([*mappings, *workloads, *media, *shaped]))
    courses = {it: deviations(results[it], STEPS) for it in curves}
    stable = {it: intervals(course) for it, course in courses.items()}
    deviation = {it: results[it]["wear"]["stddev"] for it in results}
    costs = {it: cost(results, it) for it in results if it.wear == LAZY and it.workload != STAYING}
    of_fast, of_prototype = (Point(disk, NOTEBOOK, LAZY) for disk in (Disk(), PROTOTYPE))
    without = none_of(of_prototype)
    timed = runs.in_time([without, of_prototype])
    iops = 100 * (timed[of_prototype]["iops"] / timed[without]["iops"] - 1)
    statics = {it.disk.mapping: deviation[it] for it in mappings if it.wear == STATIC}
    return Outcome(
        measured={
            "chang11.lazy-deviation": [deviation[it] for it in mappings if it.wear == LAZY],
            "chang11.static-deviation": [statics["fast"], statics["bast"]],
            "chang11.lazy-cost": list(costs.values()),
            "chang11.none-against-lazy": 100 * (deviation[of_prototype] / deviation[without] - 1),
            "chang11.lazy-iops": iops,
            "chang11.stability": {
                f"{it.wear} wear leveling {'is stable' if it.wear == LAZY else 'drifts'}, {it.workload}":
                (stable[it][1] - stable[it][0] >= GROWS) == (it.wear == LAZY)
                for it in curves
            },
        },
        tables=[
            Table(
                "Wear leveling with the three mappings, and under the four workloads (figures 8 and 9)",
                HEAD,
                [told(results, it) for it in dict.fromkeys([*mappings, *workloads])],
                "As much written as by 100 replays of the notebook's trace, 135 times the size of the disk.",
            ),
            Table(
                "Geometry, over-provisioning, and SAST with blocks of 2 MB (figures 10 and 11, table 2)",
                ("pages and blocks", "mapping", "over-provisioning, %", "wear leveling", "mean P/E cycles",
                 "standard deviation", "mean more, %"),
                [shape(results, it) for it in shaped],
                "As much written as by 100 replays of the notebook's trace.",
            ),
            Table(
                "Writes in time on SAST with blocks of 2 MB (table 2)",
                ("wear leveling", "writes", "IOPS"),
                [[str(it.wear), timed[it]["requests"], timed[it]["iops"]] for it in (without, of_prototype)],
            ),
            Table(
                "The media player's writes, with and without data that stay",
                HEAD,
                [told(results, it) for it in media],
                "As much written as by 100 replays of the notebook's trace.",
            ),
            Table(
                "Stability (5.4)",
                ("workload", "wear leveling", "standard deviation at half", "at the end",
                 "stable interval at half, %", "at the end, %"),
                [
                    [it.workload, it.wear, courses[it][STEPS // 2 - 1], deviation[it], *stable[it]]
                    for it in curves
                ],
                "The longest time after which the standard deviation is what it was, in percent of what is written.",
            ),
        ],
        figures=[
            mapping_lines(context, deviation, mappings),
            workload_bars(deviation, workloads),
            against_none(context, results, of_fast, of_prototype, iops),
            *(course(courses, [it for it in curves if it.wear == wear], wear) for wear in (LAZY, STATIC)),
            shapes(deviation, disks),
        ],
        discussed={
            f"deviation, {it.workload}, {it.disk.mapping}, {it.wear}": deviation[it] for it in [*mappings, *workloads]
        }
        | {f"cost, {it.workload}, {it.disk.mapping}": costs[it] for it in mappings if it.wear == LAZY}
        | {f"static cost, {it.disk.mapping}": cost(results, it) for it in mappings if it.wear == STATIC}
        | {"most cost": max(costs.values()), "least cost": min(costs.values())}
        | {f"mean, {it}": results[Point(PROTOTYPE, NOTEBOOK, it)]["wear"]["mean"] for it in (NONE, LAZY)}
        | {f"prototype, {it}": deviation[Point(PROTOTYPE, NOTEBOOK, it)] for it in (NONE, LAZY)}
        | {"prototype cost": costs[of_prototype], "media cost": cost(results, media[1])}
        | {"staying cost": cost(results, media[3])}
        | {f"interval, {it.workload}, {it.wear}": stable[it][1] for it in curves},
    )  # fmt: skip


def none_of(point: Point) -> Point:
    """The same run without wear leveling."""
    return Point(point.disk, point.workload, NONE)


def cost(results: Results, point: Point) -> float:
    """How much larger the mean of the P/E cycles is than without wear leveling, in percent."""
    return increase_percent(results, point, none_of(point))


def intervals(deviations: list[float]) -> tuple[float, float]:
    """The stable interval of the first half and of all that is written, in percent of all."""
    half = len(deviations) // 2
    return tuple(100 * stable_interval(it) / len(deviations) for it in (deviations[:half], deviations))  # type: ignore[return-value]


def told(results: Results, point: Point) -> list[Cell]:
    """A row about a run of the first table."""
    result = results[point]
    more = None if point.wear == NONE else cost(results, point)
    moved = result["tasks"].get("wear", {}).get("erases", 0)
    wear = result["wear"]
    return [
        point.workload, point.disk.mapping, str(point.wear), wear["mean"], wear["stddev"], more, moved,
        result["write_amplification"],
    ]  # fmt: skip


def shape(results: Results, point: Point) -> list[Cell]:
    """A row about a run of the second table."""
    result, disk = results[point], point.disk
    more = None if point.wear == NONE else cost(results, point)
    return [
        str(disk), disk.mapping, disk.spare_percent, str(point.wear), result["wear"]["mean"], result["wear"]["stddev"],
        more,
    ]  # fmt: skip


def mapping_lines(context: Context, deviation: Mapping[Point, float], points: list[Point]) -> LogLines:
    """Standard deviations of each mapping, with the published ones."""
    series = {str(wear): [deviation[it] for it in points if it.wear == wear] for wear in SCHEMES}
    low, high = context.published("chang11.lazy-deviation")
    of_fast, of_bast = context.published("chang11.static-deviation")
    lazy = [Published("chang11.lazy-deviation", "published, lazy", at, low, high, LAZY) for at in range(len(MAPPINGS))]
    static = [
        Published("chang11.static-deviation", "published, static", MAPPINGS.index(mapping), value, value, STATIC)
        for mapping, value in (("bast", of_bast), ("fast", of_fast))
    ]
    return LogLines(
        "mappings",
        "Standard deviation of P/E cycles by mapping (figure 8)",
        "Standard deviation of P/E cycles with no, lazy and static wear leveling, under BAST, SAST and FAST.",
        "mapping",
        "erases",
        [it.upper() for it in MAPPINGS],
        series,
        [*lazy, *static],
    )


def workload_bars(deviation: Mapping[Point, float], points: list[Point]) -> LogLines:
    """Standard deviations under each workload."""
    return LogLines(
        "workloads",
        "Standard deviation of P/E cycles by workload (figure 9)",
        "Standard deviation of P/E cycles with no, lazy and static wear leveling, under four workloads.",
        "workload",
        "erases",
        list(dict.fromkeys(it.workload for it in points)),
        {str(wear): [deviation[it] for it in points if it.wear == wear] for wear in SCHEMES},
    )


def against_none(context: Context, results: Results, of_fast: Point, of_prototype: Point, iops: float) -> Bars:
    """Lazy wear leveling against none: table 2."""
    claims = ("chang11.lazy-cost", "chang11.none-against-lazy", "chang11.lazy-iops")

    def changes(point: Point) -> list[float | None]:
        now, before = results[point]["wear"], results[none_of(point)]["wear"]
        return [100 * (now[key] / before[key] - 1) for key in ("mean", "stddev")]

    return Bars(
        "against-none",
        "Lazy wear leveling against none (table 2)",
        "Change of mean and standard deviation of P/E cycles, and of write IOPS, by lazy wear leveling.",
        "%",
        ["mean P/E cycles", "standard deviation", "write IOPS"],
        {f"SAST, {PROTOTYPE}": [*changes(of_prototype), iops], f"FAST, {Disk()}": [*changes(of_fast), None]},
        [
            Published(claim, "published", at, *context.published(claim), f"SAST, {PROTOTYPE}")
            for at, claim in enumerate(claims)
        ],
    )


def course(courses: Mapping[Point, list[float]], points: list[Point], wear: str) -> Course:
    """Figure 14: the standard deviation while the disk is written."""
    return Course(
        f"course-{wear}",
        f"Standard deviation over what is written, {wear} wear leveling (figure 14)",
        f"Standard deviation of P/E cycles with {wear} wear leveling while the disk is written, for four workloads.",
        "written, % of all",
        "erases",
        [100 * (step + 1) / STEPS for step in range(STEPS)],
        {it.workload: courses[it] for it in points},
    )


def shapes(deviation: Mapping[Point, float], disks: list[Disk]) -> LogLines:
    """Figures 10 and 11: standard deviations by geometry and over-provisioning."""
    return LogLines(
        "shapes",
        "Standard deviation by geometry and over-provisioning (figures 10 and 11)",
        "Standard deviation of P/E cycles with lazy and no wear leveling, by geometry and over-provisioning.",
        "pages and blocks, and over-provisioning if it is not 2.5 %",
        "erases",
        [str(it) if it.spare_percent == Disk().spare_percent else f"{it.spare_percent:g} %" for it in disks],
        {wear: [deviation[Point(disk, NOTEBOOK, wear)] for disk in disks] for wear in (NONE, LAZY)},
    )
