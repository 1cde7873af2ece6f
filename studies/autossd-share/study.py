"""Controlled shares against fixed ones under MSN-BEFS: figure 9 of kim18."""

from __future__ import annotations

from collections.abc import Mapping
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
    results = shares(Traced(context, needed=NEEDED))
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


def shares(traced: Traced) -> dict[str, dict[str, Any]]:
    """Results by share."""
    fixed = {f"{share} %": {"dispatch.policy": "debit", **traced.fixed(share)} for share in SHARES}
    systems = {**{name: ({}, then) for name, then in fixed.items()}, "controlled": traced.system(AUTO)}
    return {name: result for (name, _), result in traced.each(systems, traced.traces([TRACE])).items()}


def with_more(outcome: Outcome, context: Context, title: str) -> Outcome:
    """The same with a multiple of the requests a second, which is not in the paper."""
    more = Drive(context).chapter["harder"]
    results = shares(Traced(context, more["times"], more["requests"], needed=NEEDED))
    title = f"{title}, {more['times']} times the intensity"
    told = {name: small(result) for name, result in results.items()}
    found = {f"{name}, more": value for name, value in discussed(results).items()}
    return replace(
        outcome,
        tables=[*outcome.tables, table(title, results)],
        figures=[*outcome.figures, small_reads("shares-more", title, WORDS, told)],
        discussed={**outcome.discussed, **found, "times": more["times"]},
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
