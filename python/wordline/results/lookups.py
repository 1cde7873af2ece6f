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
    if "zone_loads" in table:
        loaded = units.some(table["zone_loads"], "zone table")
        return (
            f"{hits}{loaded} loaded ({units.some(table['reads'], 'page')} read), "
            f"{units.count(table['zone_stores'])} stored ({units.some(table['writes'], 'page')} written)"
        )
    return f"{hits}{units.some(table['reads'], 'map unit')} read, {units.count(table['writes'])} written"


def listed(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The same as rows of a table."""
    table = result.get("mapping_table")
    if not table:
        return
    if table.get("hit_rate") is not None:
        yield "Map look-ups found in memory", units.percent(table["hit_rate"])
    if "zone_loads" in table:
        yield "Zone tables loaded", units.count(table["zone_loads"])
        yield "Zone tables stored", units.count(table["zone_stores"])
        yield "Pages of zone tables read", units.count(table["reads"])
        yield "Pages of zone tables written", units.count(table["writes"])
        return
    yield "Map units read", units.count(table["reads"])
    yield "Map units written", units.count(table["writes"])
