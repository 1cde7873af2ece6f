"""The rule for judging claims: the same for all, without exceptions.

- *reproduced*: the measured effect has the published direction and is within a factor of 1.5 of the published value
  or range; a published 0 is reproduced within 5 units either way; an order, if it holds in all its cases. A published
  bound is reproduced if the size of the measured effect stays below it, however small it is.
- *same direction*: the right direction, and at least a third of the published size.
- *not reproduced*: anything else.

The direction of an effect is its side of "no effect", which is 1 for a factor (unit ``x``) and 0 for all else. Its size
is its distance from there; against a range, the nearer end counts. If several values were measured for one claim, the
worst verdict counts.

Each verdict has the ratio of measured to published value. Of several values, the one farthest off counts; against a
range, the nearer end counts, and the ratio is 1 within it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum

from wordline.studies.claims import FACTOR, Claim

Measured = float | Sequence[float] | Mapping[str, bool]
"""A number, several numbers, or, for an order, True or False by the name of the case."""

CLOSE = 1.5
"""Within this factor of the published value an effect is reproduced."""

THIRD = 1 / 3
"""The minimum share of the published size for *same direction*."""

AROUND_ZERO = 5.0
"""The maximum of a reproduced 0, in the claim's unit."""


class Verdict(Enum):
    """Verdicts on a claim, best first."""

    REPRODUCED = "reproduced"
    SAME_DIRECTION = "same direction"
    NOT_REPRODUCED = "not reproduced"


RULES = {
    Verdict.REPRODUCED: f"within a factor of {CLOSE:g}",
    Verdict.SAME_DIRECTION: "at least a third of the published size",
    Verdict.NOT_REPRODUCED: "less than a third of the published size, or the other direction",
}
"""The rules of verdicts on numbers, in words."""

RULES_OF_ORDERS = {Verdict.REPRODUCED: "holds in every case", Verdict.NOT_REPRODUCED: "does not hold in every case"}
"""The rules of verdicts on orders."""

RULES_OF_NOUGHT = {
    Verdict.REPRODUCED: f"within {AROUND_ZERO:g} of 0",
    Verdict.NOT_REPRODUCED: f"farther than {AROUND_ZERO:g} from 0",
}
"""The rules of verdicts on a published 0."""


RULES_OF_BOUNDS = {Verdict.REPRODUCED: "stays below", Verdict.NOT_REPRODUCED: "does not stay below"}
"""The rules of verdicts on a published bound."""


def rule(claim: Claim, verdict: Verdict) -> str:
    """The condition of a claim for that verdict: ``within a factor of 1.5``."""
    if claim.is_order:
        return RULES_OF_ORDERS[verdict]
    if claim.bound:
        return RULES_OF_BOUNDS[verdict]
    return RULES_OF_NOUGHT[verdict] if _is_nought(claim) else RULES[verdict]


def judge(claim: Claim, measured: Measured) -> Verdict:
    """The verdict on ``claim``.

    :raises ValueError: if nothing was measured, or a measured value does not fit the claim.
    """
    if isinstance(measured, Mapping):
        if not claim.is_order or not measured:
            raise ValueError(f"{claim.id}: an order, and only an order, is measured in named cases that hold or do not")
        return Verdict.REPRODUCED if all(measured.values()) else Verdict.NOT_REPRODUCED
    values = list(measured) if isinstance(measured, Sequence) else [measured]
    if claim.is_order or not values or not all(map(math.isfinite, values)):
        raise ValueError(f"{claim.id}: cannot be judged by {measured!r}")
    return max((_of_number(claim, value) for value in values), key=list(Verdict).index)


def ratio(claim: Claim, measured: Measured) -> float | None:
    """Measured over published value, for the value farthest off; against the nearer end of a range, 1 within it.

    :return: None for an order and for a published 0, which have no ratio.
    """
    if isinstance(measured, Mapping) or claim.is_order or claim.value == (0.0,):
        return None
    values = list(measured) if isinstance(measured, Sequence) else [measured]
    worst = judge(claim, measured)
    return max(
        (_ratio(claim, value) for value in values if _of_number(claim, value) is worst),
        key=lambda it: it if claim.bound else math.inf if it <= 0 else abs(math.log(it)),
    )


def _ratio(claim: Claim, measured: float) -> float:
    if claim.bound:
        return abs(measured) / claim.value[0]
    near, far = min(claim.value, key=abs), max(claim.value, key=abs)
    if measured / near < 1:
        return measured / near
    return max(1.0, measured / far)


def _is_nought(claim: Claim) -> bool:
    return claim.value == (0.0,) and claim.unit != FACTOR


def _of_number(claim: Claim, measured: float) -> Verdict:
    if claim.bound:
        return Verdict.REPRODUCED if abs(measured) < claim.value[0] else Verdict.NOT_REPRODUCED
    if _is_nought(claim):
        return Verdict.REPRODUCED if abs(measured) <= AROUND_ZERO else Verdict.NOT_REPRODUCED
    if (measured - claim.neutral) * (claim.value[0] - claim.neutral) <= 0:
        return Verdict.NOT_REPRODUCED
    low, high = min(map(abs, claim.value)), max(map(abs, claim.value))
    if low / CLOSE <= abs(measured) <= high * CLOSE:
        return Verdict.REPRODUCED
    smallest = min(abs(value - claim.neutral) for value in claim.value)
    enough = abs(measured - claim.neutral) >= THIRD * smallest
    return Verdict.SAME_DIRECTION if enough else Verdict.NOT_REPRODUCED
