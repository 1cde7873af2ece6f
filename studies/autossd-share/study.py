"""Controlled shares against fixed ones under MSN-BEFS: figure 9 of kim18."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wordline.studies.against_rain import small_reads
from wordline.studies.autossd import AUTO, US_PER_MS, Drive, Traced, small
from wordline.studies.context import Context
from wordline.studies.outcome import Outcome, Table

TRACE = "MSN-BEFS"
SHARES = (5, 10, 20)
WORDS = "Response times that parts of the small reads take at most, with fixed and with controlled shares."
NEEDED = 100_000
"""Small reads for their 99.99 %."""
NAMES = {"p99": "99 %", "p99_9": "99.9 %", "p99_99": "99.99 %", "max": "largest"}


def run(context: Context) -> Outcome:
    """The figure, and the order at its levels; the figure also with more requests a second, even and alternating."""
    traced = Traced(context, needed=NEEDED)
    more = [] if context.instead else others(context)
    if more:
        side_by_side(context, [traced, *(it.traced for it in more)])
    results = shares(traced)
    told = {name: small(result) for name, result in results.items()}
    own = told["controlled"]
    measured = {
        f"{NAMES[level]}, against {share} %": own[level] < told[f"{share} %"][level]
        for share in SHARES
        for level in context.choice("levels")
    }
    title = f"Response times of small reads under {TRACE} by share of GC"
    outcome = Outcome(
        measured={"kim18.dynamic-share": measured},
        tables=[table(title, results)],
        figures=[small_reads("shares", title, WORDS, told)],
        discussed=discussed(results),
    )
    for other in more:
        outcome = with_other(outcome, other, title)
    return outcome


def systems(traced: Traced) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """The systems by share, each with the overrides of its shape and others."""
    fixed = {f"{share} %": {"dispatch.policy": "debit", **traced.fixed(share)} for share in SHARES}
    return {**{name: ({}, then) for name, then in fixed.items()}, "controlled": traced.system(AUTO)}


def shares(traced: Traced) -> dict[str, dict[str, Any]]:
    """Results by share."""
    results = traced.each(systems(traced), traced.traces([TRACE]))
    return {name: result for (name, _), result in results.items()}


@dataclass(frozen=True)
class Other:
    """A comparison that is not in the paper."""

    traced: Traced
    name: str
    """In the names of its figures."""
    words: str
    """After the title of the first comparison."""
    times: int
    """The multiple of the requests a second."""


def others(context: Context) -> list[Other]:
    """The same with a multiple of the requests a second; and with pauses, if no true trace has its own."""
    chapter = Drive(context).chapter
    more, turns = chapter["harder"], chapter["alternating"]
    found = [
        Other(
            Traced(context, more["times"], more["requests"], needed=NEEDED),
            "more",
            f"{more['times']} times the intensity",
            more["times"],
        )
    ]
    if TRACE not in context.traces:
        alternating = Traced(context, turns["times"], turns["requests"], needed=NEEDED, burst=turns["burst_requests"])
        words = f"{turns['times']} times the intensity with busy times and pauses"
        found.append(Other(alternating, "turns", words, turns["times"]))
    return found


def side_by_side(context: Context, every: Sequence[Traced]) -> None:
    """Runs all intensities system by system: their results are then known, and each system was warmed up once."""
    rows = [(traced, trace) for traced in every for trace in traced.traces([TRACE])]
    for traced, trace in rows:
        traced.check(trace)
    context.drives(
        {
            (name, nth): traced.experiment(shape, then, trace)
            for name, (shape, then) in systems(every[0]).items()
            for nth, (traced, trace) in enumerate(rows)
        }
    )


def with_other(outcome: Outcome, other: Other, title: str) -> Outcome:
    """The same with the tables and figures of another comparison."""
    results = shares(other.traced)
    title = f"{title}, {other.words}"
    told = {name: small(result) for name, result in results.items()}
    found = {f"{name}, {other.name}": value for name, value in discussed(results).items()}
    return replace(
        outcome,
        tables=[*outcome.tables, table(title, results)],
        figures=[*outcome.figures, small_reads(f"shares-{other.name}", title, WORDS, told)],
        discussed={**outcome.discussed, **found, "times": other.times},
    )


def discussed(results: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Percentiles and least free blocks, by name."""
    return {
        f"{NAMES[key]} at {name}": small(result)[key] / US_PER_MS for name, result in results.items() for key in NAMES
    } | {f"least free at {name}": min(result["series"]["free_blocks"]) for name, result in results.items()}


def table(title: str, results: Mapping[str, Mapping[str, Any]]) -> Table:
    """Response times and what GC did, by share."""
    return Table(
        title,
        ("share of GC", "mean, ms", *(f"{name}, ms" for name in NAMES.values()), "victims", "least free blocks"),
        [
            [
                name,
                small(result)["mean"] / US_PER_MS,
                *(small(result)[key] / US_PER_MS for key in NAMES),
                result["gc"]["collections"],
                min(result["series"]["free_blocks"]),
            ]
            for name, result in results.items()
        ],
    )
