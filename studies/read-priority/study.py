"""Reads before writes: figure 10 of dirik09."""

from __future__ import annotations

from collections.abc import Sequence

from wordline.studies.context import Context
from wordline.studies.organisations import ALL, FIRST_COME, OPS, READS_FIRST, Bus, Measured, Organisation, Space, bus
from wordline.studies.outcome import Bars, Cell, Outcome, Published, Table
from wordline.studies.packages import mean

READS, WRITES = "dirik09.read-priority-reads", "dirik09.read-priority-writes"
CLAIMS = {"read": READS, "write": WRITES}
WORDS = {"read": "reads", "write": "writes", ALL: "all"}
ORDERS = (FIRST_COME, READS_FIRST)
SLOW, FAST = bus(8, 25), bus(32, 100)
MANY = Organisation(2, 4)


def run(context: Context) -> Outcome:
    """Figure 10, and the same for other organisations."""
    space = Space(context)
    banks = [Organisation(banks=it.gang) for it in space.superblocks]
    organisations = [*space.superblocks, *banks, MANY]
    measured = space.sweep(
        (organisation, wires, trace, order)
        for organisation in organisations
        for wires in space.buses
        for trace in space.traces
        for order in ORDERS
    )
    gains = {(it, op): change(measured, [it], op) for it in organisations for op in (*OPS, ALL)}
    rows: list[list[Cell]] = []
    for organisation in organisations:
        for wires in space.buses:
            rows.append(
                [
                    str(organisation), str(wires),
                    *(measured.ms(organisation, wires, op, order) for op in OPS for order in ORDERS),
                    *(change(measured, [organisation], op, [wires]) for op in (*OPS, ALL)),
                    ahead(measured, organisation, wires),
                ]
            )  # fmt: skip
    return Outcome(
        measured={claim: change(measured, space.superblocks, op) for op, claim in CLAIMS.items()},
        tables=[
            Table(
                "Reads first against first come, first served, changes of response times in percent",
                ("organisation", *(WORDS[op] for op in (*OPS, ALL))),
                [[str(it), *(gains[it, op] for op in (*OPS, ALL))] for it in organisations],
                "Means of all buses and traces.",
            ),
            Table(
                "Response times by bus (figure 10)",
                (
                    "organisation", "bus", *(f"{WORDS[op]}, {order}, ms" for op in OPS for order in ORDERS),
                    *(f"{WORDS[op]}, %" for op in (*OPS, ALL)), "reads that go before a write, %",
                ),
                rows,
                "Means of the traces.",
            ),
        ],
        figures=[drawn(context, measured, op) for op in OPS]
        + [
            Bars(
                "organisations",
                "Reads first, by organisation",
                "Change of the response times of reads, writes and all requests, mean of all buses and traces.",
                "% more than first come",
                [str(it) for it in organisations],
                {WORDS[op]: [gains[it, op] for it in organisations] for op in (*OPS, ALL)},
            )
        ],
        discussed={f"{op}, {it}": gain for (it, op), gain in gains.items()}
        | {
            f"{op}, {wires.mb_s} MB/s": change(measured, space.superblocks, op, [wires])
            for op in OPS
            for wires in (SLOW, FAST)
        }
        | {
            f"ahead, {wires.mb_s} MB/s": mean(ahead(measured, it, wires) for it in space.superblocks)
            for wires in (SLOW, FAST)
        },
    )  # fmt: skip


def change(
    measured: Measured, organisations: Sequence[Organisation], op: str, buses: Sequence[Bus] | None = None
) -> float:
    """Response time with reads first against first come, in percent: mean of organisations, buses and traces."""
    ratios = [
        measured.us(it, wires, trace, op, READS_FIRST) / measured.us(it, wires, trace, op)
        for it in organisations
        for wires in (measured.space.buses if buses is None else buses)
        for trace in measured.space.traces
    ]
    return 100 * (mean(ratios) - 1)


def ahead(measured: Measured, organisation: Organisation, wires: Bus) -> float:
    """Reads that go before an older write, in percent of the parts of reads."""
    told = [measured.results[organisation, wires, it, READS_FIRST]["banks"]["read"] for it in measured.space.traces]
    return 100 * sum(it["ahead"] for it in told) / sum(it["parts"] for it in told)


def drawn(context: Context, measured: Measured, op: str) -> Bars:
    """Response times of reads or of writes with both orders."""
    space = measured.space
    pairs = [(it, wires) for it in space.superblocks for wires in (SLOW, bus(8, 100), FAST)]
    series = {order: [measured.ms(it, wires, op, order) for it, wires in pairs] for order in ORDERS}
    published = context.published(CLAIMS[op])
    ends = [sorted(before * (1 + it / 100) for it in published) for before in series[FIRST_COME]]
    return Bars(
        f"priority-{WORDS[op]}",
        f"Response time of {WORDS[op]}, first come and reads first (figure 10)",
        f"Mean response time of {WORDS[op]} in superblocks of two, four and eight packages, with three buses.",
        "ms",
        [f"{it.gang}, {wires.mb_s} MB/s" for it, wires in pairs],
        series,
        [
            Published(CLAIMS[op], "published, from the measured value", at, low, high, READS_FIRST)
            for at, (low, high) in enumerate(ends)
        ],
    )
