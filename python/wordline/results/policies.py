"""Figures that policies in Python tell of themselves, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wordline.base import units

SHOWN = 8
"""Numbers of a list that are shown; the rest is in the result."""


def summed_up(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """A row for each policy that tells figures: its family with its name, and the figures in a sentence."""
    for family, figures in (result.get("policy_figures") or {}).items():
        told = ", ".join(f"{name} {_words(value)}" for name, value in figures.items())
        named = (result["config"].get(family) or {}).get("policy") or ""
        yield f"{family} {named}".rstrip(), told


def _words(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, list):
        more = f", and {units.count(len(value) - SHOWN)} more" if len(value) > SHOWN else ""
        return f"[{', '.join(map(_words, value[:SHOWN]))}{more}]"
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    return units.number(value)
