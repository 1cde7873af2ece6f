"""Erases of AGC by its free-block threshold: figure 7.15b of jung13, chapter 7."""

from __future__ import annotations

from collections.abc import Sequence

from wordline.studies.context import Context
from wordline.studies.idle_gc import AGC, ANY, FULL, L_FTL, Point, Result, Runs
from wordline.studies.outcome import Lines, Outcome, Published, Table

SHARES = (37.5, 50, 62.5, 75, 87.5, 100)
"""Thresholds in percent of the GC threshold, from three blocks of eight in a chip on: no fewer are free."""
LEVEL = 1.01
"""Erases up to this many times those of L-FTL are at its level."""
DISKS = (0, 1, 5)
"""Two of low and one of high intensity: the others have few writes, or are like the last."""
KINDS = (FULL, ANY)


def run(context: Context) -> Outcome:
    """All figures."""
    runs = Runs(context)
    base = {disk: Point(L_FTL, (disk,)) for disk in DISKS}

    def point(kind: str, share: float, disk: int) -> Point:
        blocks = max(1, round(runs.free(base[disk]) * share / 100))
        return Point(AGC, (disk,), threshold=blocks, compacts=kind)

    points = {(kind, share, disk): point(kind, share, disk) for kind in KINDS for share in SHARES for disk in DISKS}
    results = runs.of({*base.values(), *points.values()})
    usual = a_block(runs, [results[base[disk]] for disk in DISKS], base[DISKS[0]])
    erases = {
        (kind, share): a_block(runs, [results[points[kind, share, disk]] for disk in DISKS], base[DISKS[0]])
        for kind in KINDS
        for share in SHARES
    }
    ends = {kind: up_to(SHARES, [erases[kind, share] for share in SHARES], usual) for kind in KINDS}
    proactive = {
        (kind, share): sum(results[points[kind, share, disk]]["scheduled_merges"]["proactive"] for disk in DISKS)
        for kind, share in erases
    }
    end, _ = context.published("jung13.agc-threshold")
    return Outcome(
        measured={"jung13.agc-threshold": ends[runs.compacts]},
        tables=[
            by_threshold(erases, proactive, usual, [points[FULL, share, DISKS[0]].threshold for share in SHARES]),
            by_disk(results, base, points),
        ],
        figures=[
            Lines(
                "erases",
                "Erases of AGC by threshold (figure 7.15b)",
                "Erases of AGC against L-FTL, in percent, by threshold, compacting full log blocks and any.",
                "threshold, % of the GC threshold",
                "erases against L-FTL, %",
                [f"{share:g}" for share in SHARES],
                {f"{kind} log blocks": [percent(erases[kind, share], usual) for share in SHARES] for kind in KINDS},
                [Published("jung13.agc-threshold", f"published end, {end:g} %", SHARES.index(75), 0, 0)],
            )
        ],
        discussed={f"end, {kind}": value for kind, value in ends.items()}
        | {f"erases, {kind}, {share}": value for (kind, share), value in erases.items()}
        | {f"more, {kind}, {share}": percent(value, usual) for (kind, share), value in erases.items()}
        | {f"proactive, {kind}, {share}": float(value) for (kind, share), value in proactive.items()}
        | {"usual": usual, "lowest": SHARES[0]},
    )  # fmt: skip


WHAT = ("erases a block", "against L-FTL, %", "proactive merges")


def a_block(runs: Runs, found: Sequence[Result], point: Point) -> float:
    """Mean erases of a block of several SSDs."""
    return sum(result["flash"]["erases"] for result in found) / (runs.blocks(point) * len(found))


def percent(value: float, before: float) -> float:
    """How much a value is above another, in percent of that."""
    return 100 * (value / before - 1)


def up_to(shares: Sequence[float], erases: Sequence[float], usual: float) -> float:
    """The threshold up to which erases stay at L-FTL's level, on lines between the steps; the last if all do."""
    level = LEVEL * usual
    low, before = 0.0, min(level, erases[0])
    for share, value in zip(shares, erases, strict=True):
        if value > level:
            return low + (share - low) * (level - before) / (value - before)
        low, before = share, value
    return low


def by_threshold(
    erases: dict[tuple[str, float], float],
    proactive: dict[tuple[str, float], int],
    usual: float,
    blocks: Sequence[int | None],
) -> Table:
    """Erases of a block, and proactive merges, for both readings."""
    rows = []
    for share, free in zip(SHARES, blocks, strict=True):
        row: list[str | float | int | None] = [share, free]
        for kind in KINDS:
            row += [erases[kind, share], percent(erases[kind, share], usual), proactive[kind, share]]
        rows.append(row)
    of_kinds = (f"{kind} log blocks: {it}" for kind in KINDS for it in WHAT)
    head = ("threshold, % of the GC threshold", "free blocks", *of_kinds)
    note = f"Mean of SSDs {', '.join(map(str, DISKS))}; L-FTL erases each block {usual:.2f} times."
    return Table("Erases a block, and proactive merges, by threshold (figure 7.15b)", head, rows, note)


def by_disk(results: dict[Point, Result], base: dict[int, Point], points: dict[tuple[str, float, int], Point]) -> Table:
    """Erases of each SSD at the lowest and the highest threshold."""
    rows = []
    for disk in DISKS:
        usual = results[base[disk]]["flash"]["erases"]
        cells = [
            results[points[kind, share, disk]]["flash"]["erases"] for kind in KINDS for share in (SHARES[0], SHARES[-1])
        ]
        rows.append([disk, usual, *cells])
    head = ("SSD", L_FTL, *(f"{kind} log blocks, {share} %" for kind in KINDS for share in (SHARES[0], SHARES[-1])))
    return Table("Erases of each SSD", head, rows)
