"""Studies on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wordline.console import facts, grid, hanging
from wordline.studies import words
from wordline.studies.catalogue import Study
from wordline.studies.judge import Verdict
from wordline.studies.runner import Report, Row, totals

STYLES = {Verdict.REPRODUCED: "green", Verdict.SAME_DIRECTION: "yellow", Verdict.NOT_REPRODUCED: "red"}


def listing(console: Console, studies: Sequence[Study]) -> None:
    """Prints what studies there are."""
    width = max((len(study.name) for study in studies), default=0)
    for study in studies:
        table = grid(width, None)
        table.add_row(Text(study.name, style="bold cyan"), Text(study.title, style="bold"))
        table.add_row("", Text(f"{study.paper}, {study.sections}", style="dim"))
        console.print(table)
    console.print()
    hanging(console, Text("'wordline study NAME' runs one, 'wordline study --all' all of them."), 0, 0)


def report(console: Console, done: Report, page: Path) -> None:
    """Prints the claims of a study that was run, and where its page is."""
    study = done.study
    console.print(Text(study.title, style="bold"))
    hanging(console, Text(f"{study.paper}, {study.sections}", style="dim"), 0, 0)
    console.print()
    console.print(claims_table(done.rows))
    console.print()
    facts(console, [("Claims", words.totals(totals(done.rows))), ("Page", str(page))])


def scorecard(console: Console, reports: Sequence[Report], partial: bool) -> None:
    """Prints all claims and how many fared how."""
    if partial:
        hanging(console, Text("PARTIAL: interrupted before all studies were run.", style="bold red"), 0, 0)
    rows = [row for done in reports for row in done.rows]
    console.print(claims_table(rows))
    console.print()
    by_stand_in = [(f"of them {words.STAND_IN}", sum(row.stand_in for row in rows))]
    console.print(Text(words.totals(totals(rows)), style="bold"))
    facts(console, [(name, str(n)) for name, n in by_stand_in if n], width=26)


def claims_table(rows: Iterable[Row]) -> Table:
    """Published beside measured."""
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    table.add_column("claim", style="cyan", no_wrap=True)
    table.add_column("published", justify="right", no_wrap=True)
    table.add_column("measured", justify="right", overflow="fold", min_width=11)
    table.add_column("verdict", overflow="fold", min_width=14)
    for row in rows:
        claim = row.claim
        verdict = Text(words.verdict(row), style=STYLES[row.verdict])
        table.add_row(claim.id, words.published(claim), words.measured(claim, row.measured), verdict)
    return table
