"""Claims and cells in words, the same on terminal and page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from wordline.base.units import NOTHING, count, some, three
from wordline.studies.claims import BELOW, Claim
from wordline.studies.judge import RULES, RULES_OF_BOUNDS, RULES_OF_ORDERS, Measured, Verdict
from wordline.studies.outcome import Cell
from wordline.studies.runner import Report, Row

STAND_IN = "stand-in workload"


def published(claim: Claim) -> str:
    """The published value with its unit: ``48.7 … 79.6 %``."""
    if claim.is_order:
        return "order"
    best = f" (best {with_unit([claim.max], claim.unit)})" if claim.max is not None else ""
    bound = f"{claim.bound} " if claim.bound else ""
    return bound + with_unit(claim.value, claim.unit) + best


def measured(claim: Claim, value: Measured) -> str:
    """The measured value with its unit; for an order, the cases in which it holds or fails."""
    if isinstance(value, Mapping):
        failed = [name for name, holds in value.items() if not holds]
        if not failed:
            return f"holds{_in_all(len(value))}"
        if len(failed) == len(value):
            return f"fails{_in_all(len(value))}"
        return f"fails in {len(failed)} of {len(value)} cases: {'; '.join(failed)}"
    values = [value] if isinstance(value, float | int) else list(value)
    return with_unit([min(values), max(values)] if len(values) > 1 else values, claim.unit)


def _in_all(cases: int) -> str:
    return {1: "", 2: " in both cases"}.get(cases, f" in all {cases} cases")


def with_unit(values: Iterable[float], unit: str) -> str:
    """Numbers in three digits, as a range if there are several: ``8.80 … 11.4 x``."""
    texts = [number(value) for value in values]
    same = list(dict.fromkeys(texts))
    return f"{' … '.join(same)} {unit}"


def number(value: float) -> str:
    """Three digits and a proper minus sign."""
    return three(value).replace("-", "−")


def cell(value: Cell) -> str:
    """A cell of a table: numbers in three digits, whole ones in full."""
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return value
    return count(value).replace("-", "−") if isinstance(value, int) else number(value)


def verdict(row: Row) -> str:
    """The verdict with its rule, and its marks: ``reproduced (within a factor of 1.5), stand-in workload``."""
    marks = [STAND_IN] if row.stand_in else []
    marks += [f"no evidence: {row.no_evidence}"] if row.no_evidence else []
    return ", ".join([f"{row.verdict.value} ({row.rule})", *marks])


def traces(report: Report) -> str:
    """Which traces are true ones, and which stand-ins: ``true ones of mds_0, proj_0; stand-ins of hm_0``."""
    true = f"true ones of {', '.join(it.name for it in report.traces)}"
    return f"{true}; stand-ins of {', '.join(report.stand_ins)}" if report.stand_ins else true


def brief(row: Row, changed: bool) -> str:
    """Measured value, ratio and verdict for a cell of a table with a legend: ``76.5 %, ratio 1.00: reproduced``."""
    beside = "" if row.ratio is None else f", ratio {number(row.ratio)}"
    arrow = "→ " if changed else ""
    return f"{measured(row.claim, row.measured)}{beside}: {arrow}{row.verdict.value}"


def legend(rows: Iterable[Row]) -> str:
    """The rules by which these claims are judged: ``reproduced: within a factor of 1.5; …``."""
    kinds = {"order" if row.claim.is_order else row.claim.bound for row in rows}
    parts = []
    for verdict in Verdict:
        rules = [RULES[verdict]] if "" in kinds else []
        rules += [f"an order {RULES_OF_ORDERS[verdict]}"] if "order" in kinds and verdict in RULES_OF_ORDERS else []
        rules += [f"a bound {RULES_OF_BOUNDS[verdict]}"] if BELOW in kinds and verdict in RULES_OF_BOUNDS else []
        parts += [f"{verdict.value}: {', '.join(rules)}"] if rules else []
    return "; ".join(parts)


RATIO = (
    "The ratio is measured over published value. Of several values, the one farthest off counts; against a range, the "
    "nearer end counts, and the ratio is 1 within it. An order has none."
)


def totals(counts: dict[str, int]) -> str:
    """``20 claims: 15 reproduced, …``, with the rule of each verdict that occurs."""
    return f"{some(counts['claims'], 'claim')}: {', '.join(_fared(it, counts) for it in Verdict)}"


def doubtful(rows: Iterable[Row]) -> str:
    """How many verdicts are no evidence for the model, and why; empty if all are."""
    counts = Counter(row.no_evidence for row in rows if row.no_evidence)
    if not counts:
        return ""
    reasons = {"decides a choice": "decided a choice that the paper leaves open", "by chance": "holds by chance"}
    told = " and ".join(f"{number} {reasons[mark]}" for mark, number in counts.items())
    number = counts.total()
    return f"Of those that hold, {number} {'is' if number == 1 else 'are'} no evidence for the model: {told}."


def _fared(verdict: Verdict, counts: dict[str, int]) -> str:
    number = counts[verdict.value.replace(" ", "_")]
    order = RULES_OF_ORDERS.get(verdict)
    rule = f" ({RULES[verdict]}{f'; an order: {order}' if order else ''})" if number else ""
    return f"{number} {verdict.value}{rule}"


PLACE = re.compile(r"\{([^{}:]+)(?::(\d))?\}")
"""A place for a figure in a discussion: its name, and its number of decimals if not three digits in all."""


def filled(text: str, figures: Mapping[str, float], rows: Iterable[Row]) -> str:
    """A discussion with its figures: ``{name}``, ``{name:0}``, ``{measured CLAIM}`` or ``{published CLAIM}``.

    :raises ValueError: if it names an unknown figure.
    """
    by_id = {row.claim.id: row for row in rows}

    def figure(place: re.Match[str]) -> str:
        name, digits = place.groups()
        kind, _, claim = name.partition(" ")
        if claim in by_id and kind == "measured":
            return measured(by_id[claim].claim, by_id[claim].measured)
        if claim in by_id and kind == "published":
            return published(by_id[claim].claim)
        if name not in figures:
            known = ", ".join([*sorted(figures), *sorted(by_id)])
            raise ValueError(f"the discussion names '{name}', which was not measured; there are {known}")
        return number(figures[name]) if digits is None else f"{figures[name]:,.{digits}f}".replace("-", "−")

    return PLACE.sub(figure, text)
