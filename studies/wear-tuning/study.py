"""Overhead and tuning of lazy wear leveling: figures 12 and 13 of chang11's LCTES paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wordline.studies.context import Context
from wordline.studies.leveling import NOTEBOOK, Disk, Point, Result, Runs
from wordline.studies.outcome import Lines, Outcome, Published, Table
from wordline.studies.packages import mean

DELTAS = (4, 8, 16, 32)
"""Thresholds of figure 12."""
REPLAYS = 10
"""What is written, in replays of a workload: `written` in the definition has the reason."""
LAMBDA, STEEPER = -0.1, -0.2
LENGTHS = (1000, 2000, 3000)
ALIKE = 0.1
"""The result is insensitive if no figure is farther than this part from that of the first length."""
SESSIONS = 16
"""Sessions in a figure."""
WHAT = ("overhead, %", "K / 2 delta, %", "standard deviation")
TUNING = ("sessions", "last", "overhead", "deviation")


@dataclass(frozen=True)
class Configuration:
    """C1 or C2 of 5.3."""

    name: str
    disk: Disk
    workload: str

    def point(self, **wear: float) -> Point:
        """A run with keys of ``[wear]``."""
        return Point(self.disk, self.workload, tuple(wear.items()))


C1 = Configuration("C1", Disk("bast", block_kib=2048, spare_percent=1.25, logical_blocks=320), "desktop 2")
C2 = Configuration("C2", Disk("fast", block_kib=2048, spare_percent=0.625, logical_blocks=960), NOTEBOOK)
BOTH = (C1, C2)


def run(context: Context) -> Outcome:
    """All figures."""
    fixed = {(it, delta): it.point(delta_cycles=delta) for it in BOTH for delta in DELTAS}
    tuned = {it: it.point(lambda_percent=LAMBDA) for it in BOTH}
    steeper = C2.point(lambda_percent=STEEPER)
    lengths = {it: C2.point(lambda_percent=LAMBDA, session_erases=it) for it in LENGTHS[1:]}
    lengths = {LENGTHS[0]: tuned[C2], **lengths}
    results = Runs(context).worn([*fixed.values(), *tuned.values(), steeper, *lengths.values()], REPLAYS)
    overheads = {key: percent(results[point]) for key, point in fixed.items()}
    deviations = {key: results[point]["wear"]["stddev"] for key, point in fixed.items()}
    factors = {it: mean([2 * delta * overheads[it, delta] / 100 for delta in DELTAS]) for it in BOTH}
    off = {
        it: max(abs(overheads[it, delta] / (100 * model(factors[it], delta)) - 1) for delta in DELTAS) * 100
        for it in BOTH
    }
    by_length = {it: (tuned_percent(results[point]), results[point]["wear"]["stddev"]) for it, point in lengths.items()}
    first = by_length[LENGTHS[0]]

    def row(of: Configuration, delta: int) -> tuple[float, float, float]:
        return overheads[of, delta], 100 * model(factors[of], delta), deviations[of, delta]

    return Outcome(
        measured={
            "chang11.overhead-model": [factors[C2], factors[C1]],
            "chang11.tuned-overhead": [tuned_percent(results[tuned[it]]) for it in (C2, C1)],
            "chang11.session-length": {
                f"{name}, {length:,} erases": abs(value / usual - 1) <= ALIKE
                for length in LENGTHS[1:]
                for name, value, usual in zip(("overhead", "standard deviation"), by_length[length], first, strict=True)
            },
        },
        tables=[
            Table(
                "Overhead and standard deviation with thresholds that stay (figure 12)",
                ("threshold", *(f"{it.name}, {what}" for it in BOTH for what in WHAT)),
                [[delta, *(value for it in BOTH for value in row(it, delta))] for delta in DELTAS],
                "The overhead is erases by wear leveling over those of GC. "
                "K is the mean of twice threshold times overhead.",
            ),
            Table(
                "Tuned thresholds (figure 13)",
                (
                    "run", "lambda, %", "erases of a session", "sessions", "last threshold",
                    "overhead after the first, %", "standard deviation",
                ),
                [
                    *([it.name, LAMBDA, LENGTHS[0], *tuning(results[tuned[it]])] for it in BOTH),
                    ["C2", STEEPER, LENGTHS[0], *tuning(results[steeper])],
                    *(["C2", LAMBDA, it, *tuning(results[lengths[it]])] for it in LENGTHS[1:]),
                ],
            ),
        ],
        figures=[
            lines(
                context, "overhead", "Overhead by threshold (figure 12b)", "overhead, %",
                {it.name: [overheads[it, delta] for delta in DELTAS] for it in BOTH}
                | {
                    f"{it.name}, K = {factors[it]:.2f}": [100 * model(factors[it], delta) for delta in DELTAS]
                    for it in BOTH
                },
                [
                    Published(
                        "chang11.overhead-model", "published, K 0.76 and 1.2", at,
                        *(100 * model(k, delta) for k in context.published("chang11.overhead-model")),
                    )
                    for at, delta in enumerate(DELTAS)
                ],
            ),
            lines(
                context, "deviation", "Standard deviation by threshold (figure 12a)", "standard deviation",
                {it.name: [deviations[it, delta] for delta in DELTAS] for it in BOTH}, [],
            ),
            *(sessions(context, it, results[tuned[it]]) for it in BOTH),
        ],
        discussed={f"off, {it.name}": off[it] for it in BOTH}
        | {f"K, {it.name}": factors[it] for it in BOTH}
        | {
            f"{what}, {it.name}": value
            for it in BOTH
            for what, value in zip(TUNING, tuning(results[tuned[it]]), strict=True)
        }
        | {"steeper overhead": tuned_percent(results[steeper]), "steeper deviation": results[steeper]["wear"]["stddev"]}
        | {f"straight, {it.name}": correlation([(delta, deviations[it, delta]) for delta in DELTAS]) for it in BOTH}
        | {f"overhead, {length}": by_length[length][0] for length in LENGTHS}
        | {f"deviation, {length}": by_length[length][1] for length in LENGTHS},
    )  # fmt: skip


def percent(result: Result) -> float:
    """The overhead ratio of a run (4.1), in percent."""
    return float(100 * result["wear_leveling"]["overhead"])


def tuned_percent(result: Result) -> float:
    """The same after the first session, whose threshold is given and not tuned."""
    told = result["wear_leveling"]
    overhead = told["sessions"]["overhead"][0]
    first = result["config"]["wear"]["session_erases"]
    return float(100 * (told["wear_erases"] - first) / (told["gc_erases"] - first / overhead))


def model(factor: float, delta: float) -> float:
    """The overhead ratio by equation 1."""
    return factor / (2 * delta)


def tuning(result: Result) -> tuple[int, float, float, float]:
    """Sessions, the last threshold, overhead in percent and standard deviation of a run."""
    told = result["wear_leveling"]
    return len(told["sessions"]["delta"]), told["delta"], tuned_percent(result), result["wear"]["stddev"]


def correlation(points: Iterable[tuple[float, float]]) -> float:
    """The coefficient of correlation of points."""
    xs, ys = zip(*points, strict=True)
    x, y = mean(xs), mean(ys)
    products = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    return products / math.sqrt(sum((a - x) ** 2 for a in xs) * sum((b - y) ** 2 for b in ys))


def lines(
    context: Context,
    name: str,
    title: str,
    y: str,
    series: dict[str, Sequence[float | None]],
    published: list[Published],
) -> Lines:
    """A figure over thresholds."""
    words = f"{title}: C1 and C2 with thresholds of {DELTAS[0]} to {DELTAS[-1]} P/E cycles."
    return Lines(name, title, words, "threshold, P/E cycles", y, [str(it) for it in DELTAS], series, published)


def sessions(context: Context, of: Configuration, result: Result) -> Lines:
    """Figure 13: threshold, overhead and standard deviation of sessions."""
    told = result["wear_leveling"]["sessions"]
    low, high = context.published("chang11.tuned-overhead")
    value = high if of is C1 else low
    overhead = "overhead, %"
    shown = spread(len(told["delta"]), SESSIONS)
    few = f"{len(shown)} of {len(told['delta'])} sessions"
    return Lines(
        f"sessions-{of.name.lower()}",
        f"{of.name}, session by session (figure 13)",
        f"Threshold, overhead in percent and standard deviation of P/E cycles in {of.name} in {few}.",
        "session",
        "P/E cycles; %",
        [str(it + 1) for it in shown],
        {
            "threshold": [told["delta"][it] for it in shown],
            "standard deviation": [told["stddev"][it] for it in shown],
            overhead: [100 * told["overhead"][it] for it in shown],
        },
        [
            Published(
                "chang11.tuned-overhead", f"published overhead, {value:g} %", len(shown) - 1, value, value, overhead
            )
        ],
    )


def spread(count: int, most: int) -> list[int]:
    """Numbers below ``count``, at most so many and evenly apart, with the first and the last."""
    return sorted({round(it * (count - 1) / (most - 1)) for it in range(most)})
