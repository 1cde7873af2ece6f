"""How drives and runs show themselves in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from wordline import checking

if TYPE_CHECKING:
    from wordline.drive import Drive


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values as a table."""
    cells = (
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in rows
    )
    return f"<table>{''.join(cells)}</table>"


def drive(shown: Drive) -> str:
    """A drive: its title and what follows from its configuration."""
    title = shown.title or shown.name
    return f"<p><b>{escape(title)}</b></p>{table(checking.figures(shown.derived))}"
