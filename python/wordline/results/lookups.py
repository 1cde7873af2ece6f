"""Look-ups of a mapping table that lies in flash, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wordline.base import units


def summed_up(result: dict[str, Any]) -> str:
    """Hits and traffic of the mapping table in a sentence; empty if all of it is in memory."""
    table = result.get("mapping_table")
    if not table:
        return ""
    rate = table.get("hit_rate")
    hits = "" if rate is None else f"{units.percent(rate)} of look-ups found in memory; "
    return f"{hits}{units.some(table['reads'], 'map unit')} read, {units.count(table['writes'])} written"


def listed(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The same as rows of a table."""
    table = result.get("mapping_table")
    if not table:
        return
    if table.get("hit_rate") is not None:
        yield "Map look-ups found in memory", units.percent(table["hit_rate"])
    yield "Map units read", units.count(table["reads"])
    yield "Map units written", units.count(table["writes"])
