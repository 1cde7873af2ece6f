"""The report of the tests: one HTML file that needs no network."""

from __future__ import annotations

from typing import Any

from wordline.pts import drawings, tables
from wordline.report.page import render


def html(result: dict[str, Any]) -> str:
    """The whole page for ``result``."""
    tests = [
        {
            "key": f"test-{n}",
            "title": tables.name(one),
            "sentences": list(tables.sentences(one)),
            "drawings": drawings.of_test(one),
            "tables": list(tables.tables(one)),
            "series": "points" in one,
        }
        for n, one in enumerate(result["tests"], 1)
    ]
    return render("pts.html.j2", title=tables.headline(result), result=result, tests=tests)
