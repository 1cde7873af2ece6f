"""Studies on the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wordline.base.console import facts, grid, hanging
from wordline.studies import words
from wordline.studies.catalogue import Study
from wordline.studies.judge import Verdict
from wordline.studies.runner import Report, Row, totals
from wordline.studies.sensitivity import Sensitivity

CHOICE = 20
"""The minimum width of the column of choices."""

STYLES = {Verdict.REPRODUCED: "green", Verdict.SAME_DIRECTION: "yellow", Verdict.NOT_REPRODUCED: "red"}


def listing(console: Console, studies: Sequence[Study]) -> None:
    """Prints the list of studies."""
    width = max((len(study.name) for study in studies), default=0)
    for study in studies:
        table = grid(width, None)
        table.add_row(Text(study.name, style="bold cyan"), Text(study.title, style="bold"))
        table.add_row("", Text(f"{study.paper}, {study.sections}", style="dim"))
        console.print(table)
    console.print()
    hanging(console, Text("'wordline study NAME' runs one, 'wordline study --all' all of them."), 0, 0)


def report(console: Console, done: Report, page: Path) -> None:
    """Prints the claims of a study that was run, and the path of its page."""
    study = done.study
    console.print(Text(study.title, style="bold"))
    hanging(console, Text(f"{study.paper}, {study.sections}", style="dim"), 0, 0)
    console.print()
    console.print(claims_table(done.rows))
    console.print()
    hanging(console, Text(words.RATIO, style="dim"), 0, 0)
    facts(
        console, [("Claims", words.totals(totals(done.rows))), *_doubts(done.rows), *_traces(done), ("Page", str(page))]
    )


def _doubts(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Which verdicts are no evidence, if any."""
    return [("No evidence", told)] if (told := words.doubtful(rows)) else []


def _traces(done: Report) -> list[tuple[str, str]]:
    """Which traces are true ones, if any are."""
    return [("Traces", words.traces(done))] if done.traces else []


def scorecard(console: Console, reports: Sequence[Report], partial: bool) -> None:
    """Prints all claims and the totals of verdicts."""
    if partial:
        hanging(console, Text("PARTIAL: interrupted before all studies were run.", style="bold red"), 0, 0)
    rows = [row for done in reports for row in done.rows]
    console.print(claims_table(rows))
    console.print()
    by_stand_in = [(f"of them {words.STAND_IN}", sum(row.stand_in for row in rows))]
    hanging(console, Text(words.RATIO, style="dim"), 0, 0)
    hanging(console, Text(words.totals(totals(rows)), style="bold"), 0, 0)
    for _, told in _doubts(rows):
        hanging(console, Text(told), 0, 0)
    facts(console, [(name, str(n)) for name, n in by_stand_in if n], width=26)
    true = dict.fromkeys(it.name for done in reports for it in done.traces)
    facts(console, [("true traces", ", ".join(true))] if true else [], width=26)


def claims_table(rows: Iterable[Row]) -> Table:
    """Published and measured values."""
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    table.add_column("claim", style="cyan", no_wrap=True)
    table.add_column("published", justify="right", overflow="fold")
    table.add_column("measured", justify="right", overflow="fold")
    table.add_column("ratio", justify="right", no_wrap=True)
    table.add_column("verdict", overflow="fold")
    for row in rows:
        claim = row.claim
        verdict = Text(words.verdict(row), style=STYLES[row.verdict])
        measured = words.measured(claim, row.measured)
        table.add_row(claim.id, words.published(claim), measured, words.cell(row.ratio), verdict)
    return table


def choices(console: Console, done: Sequence[tuple[Report, Sensitivity]], folder: Path, partial: bool) -> None:
    """Prints the sensitivity of each study, and the folder of its page."""
    for n, (chosen, tried) in enumerate(done):
        if n:
            console.print()
        sensitivity(console, tried)
        facts(console, _traces(chosen))
        if not tried.partial:
            facts(console, [("Page", str(folder / tried.study.name / "README.md"))])
    if partial and not (done and done[-1][1].partial):
        hanging(console, Text("PARTIAL: interrupted before all studies were run.", style="bold red"), 0, 0)


def sensitivity(console: Console, tried: Sensitivity) -> None:
    """Prints the claims of a study under each alternative of its open parameters: one column per claim."""
    console.print(Text(f"{tried.study.title} ({tried.study.name}), with other choices", style="bold"))
    if tried.partial:
        hanging(console, Text("PARTIAL: interrupted before all alternatives were run.", style="bold red"), 0, 0)
    console.print()
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="cyan")
    number = len(tried.base)
    width = max(12, min(24, (console.width - CHOICE - 2 * number) // number))
    table.add_column("choice", overflow="fold", width=max(CHOICE, console.width - number * (width + 2)))
    for row in tried.base:
        name = "\n".join(textwrap.wrap(row.claim.id.partition(".")[2], width))
        table.add_column(name, overflow="fold", width=width)
    table.add_row(Text("as chosen", style="bold"), *(_cell(row, row) for row in tried.base))
    for trial in tried.trials:
        choice = Text.assemble((trial.left.parameter, "bold"), f": {trial.instead.choice}")
        table.add_row(choice, *(_cell(row, before) for row, before in zip(trial.rows, tried.base, strict=True)))
    console.print(table)
    console.print()
    names = "; ".join(left.parameter for left in tried.movers())
    so_far = " so far" if tried.partial else ""
    changed = f"changed{so_far} (→) by: {names}" if names else f"changed{so_far} by no alternative"
    facts(console, [("Verdicts", changed), ("Rules", words.legend(tried.base))])


def _cell(row: Row, before: Row) -> Text:
    """Result of a claim under a choice; a changed verdict is highlighted."""
    changed = row.verdict is not before.verdict
    style = f"bold {STYLES[row.verdict]}" if changed else STYLES[row.verdict]
    return Text(words.brief(row, changed), style=style)
