"""The result page of a study, and the page of all of them: Markdown with figures beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from wordline import jsontext
from wordline.errors import FAILED, Trouble
from wordline.files import write_text
from wordline.studies import charts, words
from wordline.studies.outcome import Cell, Figure, Table
from wordline.studies.runner import Report, totals


def write(report: Report, folder: Path, version: str) -> Path:
    """Writes the page, its figures and the result as JSON into ``folder``.

    :return: the page.
    :raises Trouble: if it cannot be written.
    """
    page = folder / "README.md"
    figures = folder / "figures"
    drawn = {f"{figure.name}.svg": charts.draw(figure, report.study.name) for figure in report.outcome.figures}
    try:
        figures.mkdir(parents=True, exist_ok=True)
        for name, text in drawn.items():
            write_text(figures / name, text)
        write_text(folder / "result.json", jsontext.dumps(report.json(version)) + "\n")
        write_text(page, text_of(report))
        # The page no longer shows those that another version drew.
        for old in figures.glob("*.svg"):
            if old.name not in drawn:
                old.unlink()
    except OSError as error:
        raise Trouble(f"{error.filename or folder}: cannot write: {error.strerror}", FAILED) from None
    return page


def write_index(reports: Sequence[Report], folder: Path) -> Path:
    """Writes the page that lists all studies and all claims into ``folder``, which holds theirs.

    :raises Trouble: if it cannot be written.
    """
    page = folder / "README.md"
    try:
        write_text(page, "\n".join(index(reports)) + "\n")
    except OSError as error:
        raise Trouble(f"{page}: cannot write: {error.strerror}", FAILED) from None
    return page


def text_of(report: Report) -> str:
    """The page of one study."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    study = report.study
    yield from (f"# {study.title}", "", f"Source: {study.paper}, {study.sections}.", "")
    yield from (study.runs.strip(), "")
    if study.stand_in:
        yield f"**{words.STAND_IN.capitalize()}**: synthetic loads with the published statistics replace the traces."
        yield ""
    yield from ("## Published and measured", "")
    yield from grid(("claim", "where", "published", "measured", "verdict"), claim_rows(report))
    yield from ("", f"{words.totals(totals(report.rows))}.", "")
    if study.open:
        yield from ("## Left open by the paper", "")
        yield from grid(("parameter", "taken", "why"), [(it.parameter, it.choice, it.reason) for it in study.open])
        yield ""
    for table in report.outcome.tables:
        yield from _table(table)
    for figure in report.outcome.figures:
        yield from _figure(figure)
    discussion = study.discussion()
    if discussion:
        yield from ("## Discussion", "", discussion, "")
    yield f"Made by `wordline study {study.name}{' --full' if report.full else ''}`, seed {report.seed}."


def claim_rows(report: Report) -> Iterator[Sequence[str]]:
    """The claims of a study as rows of a table."""
    for row in report.rows:
        claim = row.claim
        says = f"{claim.says} (`{claim.id}`)"
        yield says, claim.at, words.published(claim), words.measured(claim, row.measured), words.verdict(row)


def _table(table: Table) -> Iterator[str]:
    yield from (f"## {table.title}", "")
    if table.note:
        yield from (table.note, "")
    yield from grid(table.head, table.rows)
    yield ""


def _figure(figure: Figure) -> Iterator[str]:
    alternative = figure.words.replace("[", "(").replace("]", ")")
    yield from (f"## {figure.title}", "", f"![{alternative}](figures/{figure.name}.svg)", "", figure.words, "")


def grid(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterator[str]:
    """A table in Markdown; a column of numbers is set to the right."""
    rows = [list(row) for row in rows]
    numeric = [bool(rows) and all(not isinstance(row[n], str) for row in rows) for n in range(len(head))]
    yield _row(head)
    yield "|" + "|".join("---:" if right else "---" for right in numeric) + "|"
    for row in rows:
        yield _row([words.cell(cell) for cell in row])


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def index(reports: Sequence[Report]) -> Iterator[str]:
    """The lines of the page of all studies."""
    rows = [row for report in reports for row in report.rows]
    yield from ("# Studies", "")
    yield "The experiments of the source papers, run again here: published value beside measured."
    yield "`wordline study NAME` runs one, `make studies` makes these pages anew."
    yield ""
    yield from (f"**{words.totals(totals(rows))}.**", "")
    yield from (
        "*Reproduced*: the published direction, within a factor of 1.5 of the published value or range; an order that",
        "holds in every case. *Same direction*: at least a third of the published size. A row whose workload is",
        "synthesised from the paper's statistics says *stand-in workload*.",
        "",
    )
    for report in reports:
        study = report.study
        yield from (f"## [{study.title}]({study.name}/README.md)", "", f"{study.paper}, {study.sections}.", "")
        cells = [
            (row.claim.says, words.published(row.claim), words.measured(row.claim, row.measured), words.verdict(row))
            for row in report.rows
        ]
        yield from grid(("claim", "published", "measured", "verdict"), cells)
        yield ""
