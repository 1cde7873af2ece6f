"""The SLC cache, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wordline.base import units


def summed_up(result: dict[str, Any]) -> str:
    """What went through the cache in a sentence; empty on a drive without one."""
    cache = result.get("slc")
    if not cache:
        return ""
    blocks = f"{units.some(cache['blocks'], 'block')} in it at the end"
    if not cache["pages"]:
        return f"no page programmed in SLC mode; {blocks}"
    return f"{units.percent(cache['pages'] / result['flash']['programs'])} of programmed pages in SLC mode; {blocks}"


def listed(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The same as rows of a table."""
    cache = result.get("slc")
    if not cache:
        return
    yield "Pages programmed in SLC mode", units.count(cache["pages"])
    yield "Blocks in SLC mode at the end", units.count(cache["blocks"])
