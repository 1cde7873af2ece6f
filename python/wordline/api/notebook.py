"""Drives and runs in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from wordline.report import distributions
from wordline.report import page as report
from wordline.results import checking, story

if TYPE_CHECKING:
    from wordline.api.drive import Drive
    from wordline.api.runs import Run

COLOURS = {
    "--ink": "currentColor",
    "--faint": "#808080",
    "--grid": "#80808060",
    "--blue": "#1a70de",
    "--plum": "#884c7e",
    "--teal": "#0aa1b9",
    "--paper": "none",
    "--letters": "sans-serif",
}
"""The report's colours for notebooks: legible on light and on dark."""


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values as a table."""
    aligned = "style='text-align:left'"
    cells = (
        f"<tr><th {aligned}>{escape(name)}</th><td {aligned}>{escape(value)}</td></tr>" for name, value in rows if name
    )
    return f"<table>{''.join(cells)}</table>"


def drive(shown: Drive) -> str:
    """A drive: its title and derived figures."""
    return f"<p><b>{escape(shown.title or shown.name)}</b></p>{table(checking.figures(shown.derived))}"


def run(shown: Run) -> str:
    """A run: headline, key figures, latency by operation, and latency distribution."""
    parts = [f"<p>{escape(text)}</p>" for text in (story.fresh(shown),) if text]
    parts.append(f"<p><b>{escape(story.headline(shown))}</b></p>")
    if shown.partial:
        parts.append(f"<p>PARTIAL: {escape(story.partial(shown))}.</p>")
    wrote = story.wrote(shown)
    if wrote:
        parts.append(f"<p>The run {escape(wrote)}.</p>")
    parts.append(table((name, value) for value, name in report.tiles(shown)))
    latency = report.latency_table(shown)
    head = "".join(f"<th>{escape(text)}</th>" for text in ["Latency", *latency["ops"]])
    body = "".join(
        f"<tr><td>{escape(name)}</td>{''.join(f'<td>{escape(value)}</td>' for value in values)}</tr>"
        for name, values in latency["rows"]
    )
    parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    drawing = distributions.distribution(shown.get("cdf") or {})
    if drawing:
        colours = ";".join(f"{name}:{value}" for name, value in COLOURS.items())
        parts.append(f'<div style="max-width:48em;{colours}">{drawing.wide}</div><p>{escape(drawing.words)}</p>')
    return "".join(parts)
