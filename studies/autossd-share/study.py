"""Controlled shares against fixed ones under MSN-BEFS: figure 9 of kim18."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
    """The figure, and the order at its levels; the figure also with more requests a second."""
    traced = Traced(context, needed=NEEDED)
    if not context.instead:
        side_by_side(context, (traced, harder(context)))
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
    return outcome if context.instead else with_more(outcome, context, title)


def systems(traced: Traced) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """The systems by share, each with the overrides of its shape and others."""
    fixed = {f"{share} %": {"dispatch.policy": "debit", **traced.fixed(share)} for share in SHARES}
    return {**{name: ({}, then) for name, then in fixed.items()}, "controlled": traced.system(AUTO)}


def shares(traced: Traced) -> dict[str, dict[str, Any]]:
    """Results by share."""
    results = traced.each(systems(traced), traced.traces([TRACE]))
    return {name: result for (name, _), result in results.items()}


def harder(context: Context) -> Traced:
    """The same with a multiple of the requests a second."""
    more = Drive(context).chapter["harder"]
    return Traced(context, more["times"], more["requests"], needed=NEEDED)


def side_by_side(context: Context, both: Sequence[Traced]) -> None:
    """Runs both intensities system by system: their results are then known, and each system was warmed up once."""
    rows = [(traced, trace) for traced in both for trace in traced.traces([TRACE])]
    for traced, trace in rows:
        traced.check(trace)
    context.drives(
        {
            (name, traced.faster): traced.experiment(shape, then, trace)
            for name, (shape, then) in systems(both[0]).items()
            for traced, trace in rows
        }
    )


def with_more(outcome: Outcome, context: Context, title: str) -> Outcome:
    """The same with a multiple of the requests a second, which is not in the paper."""
    times = Drive(context).chapter["harder"]["times"]
    results = shares(harder(context))
    title = f"{title}, {times} times the intensity"
    told = {name: small(result) for name, result in results.items()}
    found = {f"{name}, more": value for name, value in discussed(results).items()}
    return replace(
        outcome,
        tables=[*outcome.tables, table(title, results)],
        figures=[*outcome.figures, small_reads("shares-more", title, WORDS, told)],
        discussed={**outcome.discussed, **found, "times": times},
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
