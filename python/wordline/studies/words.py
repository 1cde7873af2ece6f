"""Claims and cells in words, the same on terminal and page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wordline.studies.claims import Claim
from wordline.studies.judge import Measured, Verdict
from wordline.studies.outcome import Cell
from wordline.studies.runner import Row
from wordline.units import NOTHING, count, some, three

STAND_IN = "stand-in workload"


def published(claim: Claim) -> str:
    """The published value with its unit: ``48.7 … 79.6 %``."""
    if claim.is_order:
        return "order"
    best = f" (best {with_unit([claim.max], claim.unit)})" if claim.max is not None else ""
    return with_unit(claim.value, claim.unit) + best


def measured(claim: Claim, value: Measured) -> str:
    """The measured value with its unit; of an order, in how many cases it holds, and where it does not."""
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
    """The verdict, with the mark of a stand-in."""
    return f"{row.verdict.value}, {STAND_IN}" if row.stand_in else row.verdict.value


def totals(counts: dict[str, int]) -> str:
    """``20 claims: 15 reproduced, 3 same direction, 2 not reproduced``."""
    parts = [f"{counts[it.value.replace(' ', '_')]} {it.value}" for it in Verdict]
    return f"{some(counts['claims'], 'claim')}: {', '.join(parts)}"
