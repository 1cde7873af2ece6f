"""The organisations of PC solid-state disks: figures 6 to 9 of dirik09."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from wordline.studies.context import Context
from wordline.studies.organisations import (
    ALL,
    FIRST_COME,
    KEPT,
    OPS,
    PAGE_KIB,
    READS_FIRST,
    US_PER_MS,
    Bus,
    Measured,
    Organisation,
    Space,
    bus,
)
from wordline.studies.outcome import Bars, Cell, LogLines, Outcome, Published, Table
from wordline.studies.packages import KIB, mean

BANKING, FLATTEN, CHANNELS, SUPERBLOCKS, SLOW_BUS, SATURATION, FIXED = (
    "dirik09.banking",
    "dirik09.banking-reads-flatten",
    "dirik09.two-channels",
    "dirik09.superblocks",
    "dirik09.superblocks-slow-bus",
    "dirik09.bus-saturation",
    "dirik09.fixed-bandwidth",
)
EIGHT, EIGHT_ON_TWO = Organisation(banks=8), Organisation(2, 4)
SLOW, MIDDLE, FAST = bus(8, 25), bus(8, 100), bus(32, 100)
"""The slowest bus, one of 100 MB/s, the fastest."""
SHOWN = (SLOW, MIDDLE, FAST)
ENOUGH_MB_S = 100
"""5.3: a bus brings no significant gain beyond."""
SIGNIFICANT = 10
"""Percent of the response time; the paper gives no number. It calls 10 % a gain of superblocks (5.2)."""
WHOLE_BITS = 32
"""Of the bus that is split (figure 9b)."""
WORDS = {"read": "reads", "write": "writes", ALL: "all"}
ONE = Organisation()

AS_CHOSEN, READS_BEFORE, ALONE, SPREAD, PAGES = (
    "as chosen",
    "reads first",
    "requests alone",
    "old data page by page in all banks",
    "banks take pages of any requests",
)
"""Experiments on causes."""
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    AS_CHOSEN: ({}, {}),
    READS_BEFORE: ({"dispatch.order": READS_FIRST}, {}),
    ALONE: ({}, {"gap_mean_us": 1e6, "gap_median_us": None, "burst_requests": None}),
    SPREAD: ({"placement.fill_kib": 2}, {}),
    PAGES: ({"dispatch": {"policy": "fifo"}}, {}),
}
"""Overrides of the drive, and of the arrival of requests."""
TRIED = "pc2"
"""The trace of these experiments."""


def run(context: Context) -> Outcome:
    """All figures, from one sweep of the design space."""
    space = Space(context)
    organisations = [*space.banking, *space.superblocks, *space.several]
    points = [
        (organisation, wires, trace, FIRST_COME)
        for organisation in organisations
        for wires in space.buses
        for trace in space.traces
    ]
    measured = space.sweep(points)
    parts = [
        banking(context, measured),
        superblocks(context, measured),
        transfer(measured),
        concurrency(measured),
        splitting(measured),
        fixed_bandwidth(measured),
        all_points(measured, organisations),
    ]
    # They explain what was measured; a run with another choice does without them.
    if not context.instead:
        parts.append(causes(space))
    return Outcome(
        measured={name: value for part in parts for name, value in part.measured.items()},
        tables=[table for part in parts for table in part.tables],
        figures=[figure for part in parts for figure in part.figures],
        discussed={name: value for part in parts for name, value in part.discussed.items()},
    )


def courses(measured: Measured, organisations: Sequence[Organisation], buses: Sequence[Bus]) -> dict[str, list[float]]:
    """Response times of reads and writes over organisations, a line for each bus."""
    return {
        f"{WORDS[op]}, {wires.mb_s} MB/s": [measured.ms(it, wires, op) for it in organisations]
        for wires in buses
        for op in OPS
    }


def range_from(before: float, published: tuple[float, float]) -> tuple[float, float]:
    """What a published change in percent makes of a measured value."""
    ends = sorted(before * (1 + change / 100) for change in published)
    return ends[0], ends[1]


def banking(context: Context, measured: Measured) -> Outcome:
    """Figure 6a, and eight banks on two channels."""
    space = measured.space
    steps = list(pairwise(space.banking))
    changes = {(op, after.banks): measured.change(after, before, op) for before, after in steps for op in OPS}
    lines = courses(measured, space.banking, SHOWN)
    published = context.published(BANKING)
    marks = []
    for at in (1, 2):
        for op in OPS:
            name = f"{WORDS[op]}, {MIDDLE.mb_s} MB/s"
            low, high = range_from(lines[name][at - 1], published)
            marks.append(Published(BANKING, "published, from the measured value before", at, low, high, name))
    on_two = measured.change(EIGHT_ON_TWO, EIGHT, "read")
    by_bus: list[list[Cell]] = []
    for wires in space.buses:
        row: list[Cell] = [str(wires), wires.mb_s]
        for before, after in steps:
            row += [measured.change(after, before, op, [wires]) for op in OPS]
        row += [measured.channels_used(EIGHT, wires), measured.change(EIGHT_ON_TWO, EIGHT, "read", [wires])]
        by_bus.append(row)
    each = {
        (op, trace): measured.change(EIGHT, Organisation(banks=4), op, traces=[trace])
        for op in OPS
        for trace in space.traces
    }
    on_two_mark = range_from(measured.ms(EIGHT, SLOW, "read"), context.published(CHANNELS))
    return Outcome(
        measured={
            BANKING: [changes[op, banks] for banks in (2, 4) for op in OPS],
            FLATTEN: {trace: each["read", trace] > each["write", trace] for trace in space.traces},
            CHANNELS: on_two,
        },
        tables=[
            Table(
                "Response time with more banks on a channel, changes in percent (figure 6a)",
                (
                    "bus", "MB/s", *(f"{WORDS[op]}, {a.banks} to {b.banks}" for a, b in steps for op in OPS),
                    "bus in use with 8 banks, %", "reads, 8 banks on two channels against one",
                ),
                by_bus,
                "Means of the traces.",
            ),
        ],
        figures=[
            LogLines(
                "banking",
                "Banking (figure 6a)",
                "Mean response time of reads and writes over the banks of one channel, with three buses.",
                "banks on one channel",
                "ms",
                [str(it.banks) for it in space.banking],
                lines,
                marks,
            ),
            Bars(
                "two-channels",
                "Eight banks on one channel and on two (section 5.1)",
                "Mean response time of reads with eight banks on one channel, and on two, for each bus.",
                "ms",
                [str(it) for it in space.buses],
                {str(it): [measured.ms(it, wires, "read") for wires in space.buses] for it in (EIGHT, EIGHT_ON_TWO)},
                [Published(CHANNELS, "published", 0, *on_two_mark, str(EIGHT_ON_TWO))],
            ),
        ],
        discussed={f"banking {op} {banks}": value for (op, banks), value in changes.items()}
        | {f"slow {op} 8": measured.change(EIGHT, Organisation(banks=4), op, [SLOW]) for op in OPS}
        | {f"fast {op} 8": measured.change(EIGHT, Organisation(banks=4), op, [FAST]) for op in OPS}
        | {f"slow {op} 4": measured.change(Organisation(banks=4), Organisation(banks=2), op, [SLOW]) for op in OPS}
        | {"slow bus in use": measured.channels_used(EIGHT, SLOW)}
        | {"two channels, slow": measured.change(EIGHT_ON_TWO, EIGHT, "read", [SLOW])}
        | {"two channels, 100 MB/s": measured.change(EIGHT_ON_TWO, EIGHT, "read", [MIDDLE])},
    )  # fmt: skip


def superblocks(context: Context, measured: Measured) -> Outcome:
    """Figures 6b and 6c."""
    space = measured.space
    pairs = [(gang, Organisation(banks=gang.gang)) for gang in space.superblocks]
    changes = {gang.gang: measured.change(gang, banks, ALL) for gang, banks in pairs}
    banks_win = measured.change(EIGHT, Organisation(gang=8), "write", [SLOW])
    published = context.published(SUPERBLOCKS)
    groups = [str(it) for it in space.buses]
    bars = {
        f"{WORDS[op]}, {gang.gang}": [measured.change(gang, banks, op, [wires]) for wires in space.buses]
        for gang, banks in pairs
        for op in OPS
    }
    slow = context.published(SLOW_BUS)[0]
    # Banking has so much less than superblocks; superblocks have so much more than banking.
    turned = 100 * (1 / (1 + slow / 100) - 1)
    rows: list[list[Cell]] = []
    for wires in space.buses:
        row: list[Cell] = [str(wires), wires.mb_s]
        for gang, banks in pairs:
            row += [measured.change(gang, banks, op, [wires]) for op in (*OPS, ALL)]
        rows.append(row)
    return Outcome(
        measured={SUPERBLOCKS: list(changes.values()), SLOW_BUS: banks_win},
        tables=[
            Table(
                "Response time of superblocks against as many banks, changes in percent (figure 6c)",
                ("bus", "MB/s", *(f"{WORDS[op]}, {gang.gang}" for gang, _ in pairs for op in (*OPS, ALL))),
                rows,
                "Means of the traces.",
            )
        ],
        figures=[
            LogLines(
                "superblocks",
                "Superblocks (figure 6b)",
                "Mean response time of reads and writes over the packages of a superblock, with three buses.",
                "packages of the superblock",
                "ms",
                ["1", *(str(it.gang) for it in space.superblocks)],
                courses(measured, [ONE, *space.superblocks], SHOWN),
            ),
            Bars(
                "against-banking",
                "Superblocks against banking (figure 6c)",
                "Mean response time of superblocks of two, four and eight packages against that of as many banks.",
                "% more than banking",
                groups,
                bars,
                [
                    Published(SLOW_BUS, "published, slow bus", groups.index(str(SLOW)), turned, turned, "writes, 8"),
                ],
            ),
            Bars(
                "superblocks-mean",
                "Superblocks against banking, mean of all buses (section 5.2)",
                "Mean response time of superblocks against that of as many banks, mean of all buses and traces.",
                "% more than banking",
                [str(it) for it in changes],
                {"all requests": list(changes.values())},
                [Published(SUPERBLOCKS, "published", at, published[0], published[1]) for at in range(len(changes))],
            ),
        ],
        discussed={f"superblock {gang}": value for gang, value in changes.items()}
        | {
            f"superblock {gang.gang}, {wires.mb_s} MB/s": measured.change(gang, banks, ALL, [wires])
            for gang, banks in pairs
            for wires in SHOWN
        }
        | {f"slow superblock {op}": measured.change(Organisation(gang=8), EIGHT, op, [SLOW]) for op in OPS},
    )


def transfer(measured: Measured) -> Outcome:
    """Figure 7."""
    space = measured.space
    organisations = [*space.banking, *space.superblocks]
    rates = sorted({it.mb_s for it in space.buses})

    def at(organisation: Organisation, rate: int, op: str) -> float:
        return mean(measured.ms(organisation, it, op) for it in space.buses if it.mb_s == rate)

    faster = {it: 100 * (at(it, rates[-1], ALL) / at(it, ENOUGH_MB_S, ALL) - 1) for it in organisations}
    before = {it: 100 * (at(it, ENOUGH_MB_S, ALL) / at(it, rates[0], ALL) - 1) for it in organisations}
    rows = [
        [str(it), *(at(it, rate, op) for op in OPS for rate in rates), before[it], faster[it]] for it in organisations
    ]
    return Outcome(
        measured={SATURATION: {str(it): change > -SIGNIFICANT for it, change in faster.items()}},
        tables=[
            Table(
                "Response time over the rate of the bus (figure 7)",
                (
                    "organisation", *(f"{WORDS[op]}, {rate} MB/s, ms" for op in OPS for rate in rates),
                    "25 to 100 MB/s, %", "100 to 400 MB/s, %",
                ),
                rows,
                "Means of the traces, and of the buses of a rate. The last columns are changes of all requests.",
            )
        ],
        figures=[
            LogLines(
                f"transfer-{WORDS[op]}",
                f"Response time of {WORDS[op]} over the rate of the bus (figure 7)",
                f"Mean response time of {WORDS[op]} over the rate of the bus, for organisations with one channel.",
                "MB/s of the bus",
                "ms",
                [str(rate) for rate in rates],
                {str(it): [at(it, rate, op) for rate in rates] for it in organisations},
            )
            for op in OPS
        ],
        discussed={f"beyond 100 MB/s, {it}": change for it, change in faster.items()}
        | {
            f"transfer of a page{words}": members * PAGE_KIB * KIB / ENOUGH_MB_S
            for members, words in ((1, ""), (8, " of eight"))
        },
    )  # fmt: skip


def concurrency(measured: Measured) -> Outcome:
    """Figure 9a: channels and banks, each channel with a bus of 8 bits."""
    space = measured.space
    organisations = [*space.banking, *space.several]
    buses = [it for it in space.buses if it.bits == min(each.bits for each in space.buses)]
    series = {
        f"{WORDS[op]}, {wires.mhz} MHz": [measured.ms(it, wires, op) for it in organisations]
        for wires in buses
        for op in OPS
    }
    four = (Organisation(2, 2), Organisation(4, 1))
    return Outcome(
        measured={},
        figures=[
            LogLines(
                "concurrency",
                "Channels and banks (figure 9a)",
                "Mean response time of reads and writes with more channels of 8 bits, and more banks on each.",
                "channels x banks of each",
                "ms",
                [f"{it.channels} x {it.banks}" for it in organisations],
                series,
            )
        ],
        discussed={
            f"four banks on four channels, {it.mhz} MHz": measured.change(four[1], four[0], ALL, [it]) for it in buses
        },
    )


def splitting(measured: Measured) -> Outcome:
    """Figure 9b: a bus of 32 bits at 25 MHz as one, two or four channels."""
    space = measured.space
    mhz = min(it.mhz for it in space.buses)
    parts = [(1, 32), (2, 16), (4, 8)]
    found = {
        (total, op): [
            measured.ms(Organisation(channels, total // channels), bus(bits, mhz), op) for channels, bits in parts
        ]
        for total in (4, 8)
        for op in OPS
    }
    return Outcome(
        measured={},
        figures=[
            Bars(
                "splitting",
                "Splitting a bus of 32 bits at 25 MHz (figure 9b)",
                "Mean response time with one bus of 32 bits, two of 16 or four of 8, and four or eight banks in all.",
                "ms",
                [f"{channels} x {bits} bits" for channels, bits in parts],
                {f"{WORDS[op]}, {total} banks": values for (total, op), values in found.items()},
            )
        ],
        discussed={
            f"split {op}, {total} banks": 100 * (values[-1] / values[0] - 1) for (total, op), values in found.items()
        },
    )


def fixed_bandwidth(measured: Measured) -> Outcome:
    """Figure 9c: channels and banks with the same bandwidth in all."""
    space = measured.space
    totals = sorted({it.mb_s for it in space.buses if it.bits == WHOLE_BITS})
    cases: dict[str, bool] = {}
    groups: list[str] = []
    series: dict[str, list[float | None]] = {f"{WORDS[op]}, {banks} banks": [] for banks in (4, 8) for op in OPS}
    rows: list[list[Cell]] = []
    found: dict[str, float] = {}
    for total in totals:
        mhz = next(it.mhz for it in space.buses if it.mb_s == total and it.bits == WHOLE_BITS)
        parts = [(channels, bus(WHOLE_BITS // channels, mhz)) for channels in (1, 2, 4)]
        groups += [f"{channels} x {wires.mb_s}" for channels, wires in parts]
        for banks in (4, 8):
            for op in OPS:
                times = [measured.ms(Organisation(channels, banks // channels), wires, op) for channels, wires in parts]
                series[f"{WORDS[op]}, {banks} banks"] += times
                rows.append([total, banks, WORDS[op], *times])
                fewer = all(a < b for a, b in pairwise(times))
                more = all(a > b for a, b in pairwise(times))
                prefer = "faster channels" if op == "read" else "more channels"
                cases[f"{total} MB/s, {banks} banks: {WORDS[op]} prefer {prefer}"] = fewer if op == "read" else more
                found[f"{total} MB/s, {banks} banks, {op}"] = 100 * (times[-1] / times[0] - 1)
    return Outcome(
        measured={FIXED: cases},
        tables=[
            Table(
                "Response time with a fixed total bandwidth, in ms (figure 9c)",
                ("MB/s in all", "banks in all", "requests", "one channel", "two channels", "four channels"),
                rows,
            )
        ],
        figures=[
            Bars(
                "fixed-bandwidth",
                "Channels at a fixed total bandwidth (figure 9c)",
                "Mean response time with one, two and four channels that share 100, 200 or 400 MB/s.",
                "ms",
                groups,
                series,
            )
        ],
        discussed=found,
    )


def causes(space: Space) -> Outcome:
    """What bounds reads and writes: the same with one thing changed at a time."""
    four, eight = Organisation(banks=4), EIGHT
    whole = bus(WHOLE_BITS, SLOW.mhz)
    pairs = {
        **{f"8 banks against 4, {it.mb_s} MB/s": ((eight, it), (four, it)) for it in (SLOW, MIDDLE)},
        **{
            f"{banks} banks on 4 channels against 1": (
                (Organisation(4, banks // 4), SLOW),
                (Organisation(banks=banks), whole),
            )
            for banks in (4, 8)
        },
    }
    points = {
        (name, place): space.point((*place, TRIED, FIRST_COME), sets, arrivals)
        for name, (sets, arrivals) in VARIANTS.items()
        for place in dict.fromkeys(each for pair in pairs.values() for each in pair)
    }
    results = space.context.drives(points, KEPT[:1])

    def us(name: str, place: tuple[Organisation, Bus], op: str) -> float:
        return results[name, place]["latency_us"][op]["mean"]

    found = {
        (name, what, op): 100 * (us(name, after, op) / us(name, before, op) - 1)
        for name in VARIANTS
        for what, (after, before) in pairs.items()
        for op in OPS
    }
    rows: list[list[Cell]] = [
        [
            name,
            *(us(name, (eight, SLOW), op) / US_PER_MS for op in OPS),
            *(found[name, what, op] for what in pairs for op in OPS),
        ]
        for name in VARIANTS
    ]
    return Outcome(
        measured={},
        tables=[
            Table(
                "Experiments on causes: changes of response times in percent",
                (
                    "experiment", *(f"{WORDS[op]}, 8 banks, 25 MB/s, ms" for op in OPS),
                    *(f"{WORDS[op]}, {what}" for what in pairs for op in OPS),
                ),
                rows,
                f"Trace {TRIED}. Four channels have 8 bits each, and one has 32, all at 25 MHz.",
            )
        ],
        discussed={f"{name}, {op}, {what}": value for (name, what, op), value in found.items()},
    )  # fmt: skip


def all_points(measured: Measured, organisations: Sequence[Organisation]) -> Outcome:
    """The whole design space."""
    rows: list[list[Cell]] = []
    for organisation in organisations:
        for wires in measured.space.buses:
            rows.append(
                [
                    str(organisation), organisation.packages, str(wires), organisation.channels * wires.mb_s,
                    *(measured.ms(organisation, wires, op) for op in (*OPS, ALL)),
                    measured.channels_used(organisation, wires),
                ]
            )  # fmt: skip
    return Outcome(
        measured={},
        tables=[
            Table(
                "The design space (figures 6 to 9)",
                (
                    "organisation", "packages", "bus of a channel", "MB/s in all",
                    *(f"{WORDS[op]}, ms" for op in (*OPS, ALL)), "buses in use, %",
                ),
                rows,
                "Means of the traces.",
            )
        ],
    )  # fmt: skip
