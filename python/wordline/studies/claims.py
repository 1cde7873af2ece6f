"""Published claims: the values of a paper, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wordline.base.errors import Trouble

ORDER = "order"
"""The unit of a claim without a number: a direction or a ranking."""

FACTOR = "x"
"""The unit of a factor; 1 is no effect."""

BELOW = "below"
"""The bound of a claim whose number is not reached."""

KEYS = {"id", "at", "study", "says", "value", "unit", "max", "bound"}


@dataclass(frozen=True)
class Claim:
    """One published claim, with its source."""

    id: str
    at: str
    """Chapter, section, figure."""
    study: str
    """The study that judges it."""
    says: str
    value: tuple[float, ...]
    """The published number, or the ends of a range, lower first; empty for an order."""
    unit: str
    max: float | None = None
    """The published best case beside a mean; shown, not judged."""
    bound: str = ""
    """:data:`BELOW` if the published number is one that the effect stays below; else empty."""

    @property
    def is_order(self) -> bool:
        """True without a number."""
        return self.unit == ORDER

    @property
    def neutral(self) -> float:
        """The value that would mean no effect."""
        return 1.0 if self.unit == FACTOR else 0.0

    def row(self) -> dict[str, Any]:
        """The claim as it was written."""
        row: dict[str, Any] = {"id": self.id, "at": self.at, "study": self.study, "says": self.says}
        if self.value:
            row["value"] = self.value[0] if len(self.value) == 1 else list(self.value)
        if self.max is not None:
            row["max"] = self.max
        if self.bound:
            row["bound"] = self.bound
        return row | {"unit": self.unit}


def parse(row: Mapping[str, Any], where: str) -> Claim:
    """Reads a ``[[claim]]`` row.

    :param where: the file, for messages.
    :raises Trouble: if a key is missing or unknown, or the published value cannot be judged.
    """
    name = f"{where}: claim {row.get('id', 'without id')}"
    missing = KEYS - {"value", "max", "bound"} - row.keys()
    if missing or row.keys() - KEYS:
        raise Trouble(f"{name}: missing {sorted(missing)}, unknown {sorted(row.keys() - KEYS)}")
    value = _numbers(row.get("value"))
    claim = Claim(
        row["id"], row["at"], row["study"], row["says"], value, row["unit"], row.get("max"), row.get("bound", "")
    )
    if claim.is_order == bool(value) or len(value) > 2 or list(value) != sorted(value):
        raise Trouble(f"{name}: value is one number, or [low, high], or absent if the unit is '{ORDER}'")
    if claim.bound not in ("", BELOW) or (claim.bound and (len(value) != 1 or value[0] <= 0)):
        raise Trouble(f"{name}: bound is '{BELOW}', beside one value above 0")
    if len(value) == 2 and (value[0] - claim.neutral) * (value[1] - claim.neutral) <= 0:
        raise Trouble(f"{name}: a range must not hold {claim.neutral:g}, which is no effect")
    return claim


def _numbers(value: float | list[float] | None) -> tuple[float, ...]:
    if value is None:
        return ()
    return tuple(map(float, value)) if isinstance(value, list) else (float(value),)
