"""The background tasks of a drive besides garbage collection, from the engine's list."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from wordline.base import units

OWN = ("host", "gc")
"""Tasks with rows, columns and sentences of their own."""


@cache
def others() -> dict[str, str]:
    """Names in keys, with names in sentences."""
    from wordline import _core

    return {name: title for name, title in _core.tasks() if name not in OWN}


def used(result: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Those that the drive of a result has: name, name in sentences, and figures."""
    told = result.get("tasks") or {}
    return ((name, title, told[name]) for name, title in others().items() if told.get(name))


def moved(figures: dict[str, Any]) -> str:
    """The work of a task."""
    blocks = figures.get("blocks")
    if not blocks:
        return "none needed"
    return f"{units.some(blocks, 'block')} emptied, {units.some(figures['moved_pages'], 'page')} moved"
