"""The result page of a study, and the page of all of them: Markdown with figures beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from wordline.base import jsontext
from wordline.base.errors import FAILED, Trouble
from wordline.base.files import write_text
from wordline.studies import charts, sensitivity, words
from wordline.studies.outcome import Cell, Figure, Table
from wordline.studies.runner import Report, Row, totals
from wordline.studies.sensitivity import Sensitivity, Trial
from wordline.studies.traces import REPLAYED

CLOCK = (
    "**Measured on the clock of a machine**, the one described below: figures differ from run to run and from machine "
    "to machine, and so may verdicts. Those here are of one run."
)
"""What the page of such a study says."""


def write(report: Report, folder: Path, version: str, tried: Sensitivity | None = None) -> Path:
    """Writes the page, its figures and the result as JSON into ``folder``.

    :param tried: the sensitivity of the study, if it was run now; it is written too.
    :return: the page.
    :raises Trouble: if it cannot be written.
    """
    page = folder / "README.md"
    figures = folder / "figures"
    text = text_of(report, tried)
    drawn = {f"{figure.name}.svg": charts.draw(figure, report.study.name) for figure in report.outcome.figures}
    try:
        figures.mkdir(parents=True, exist_ok=True)
        for name, figure in drawn.items():
            write_text(figures / name, figure)
        write_text(folder / "result.json", jsontext.dumps(report.json(version)) + "\n")
        if tried is not None:
            write_text(folder / "sensitivity.json", jsontext.dumps(tried.json(version)) + "\n")
        write_text(page, text)
        # Figures of an earlier version are not on the page.
        for old in figures.glob("*.svg"):
            if old.name not in drawn:
                old.unlink()
    except OSError as error:
        raise Trouble(f"{error.filename or folder}: cannot write: {error.strerror}", FAILED) from None
    return page


def write_index(reports: Sequence[Report], folder: Path) -> Path:
    """Writes the page that lists all studies and all claims into ``folder``, beside their pages.

    :raises Trouble: if it cannot be written.
    """
    page = folder / "README.md"
    try:
        write_text(page, "\n".join(index(reports)) + "\n")
    except OSError as error:
        raise Trouble(f"{page}: cannot write: {error.strerror}", FAILED) from None
    return page


def text_of(report: Report, tried: Sensitivity | None = None) -> str:
    """The page of one study, with the given sensitivity or the saved one."""
    return "\n".join(_lines(report, tried or sensitivity.kept(report))) + "\n"


def _lines(report: Report, tried: Sensitivity | None) -> Iterator[str]:
    study = report.study
    yield from (f"# {study.title}", "", f"Source: {study.paper}, {study.sections}.", "")
    yield from (study.runs.strip(), "")
    if study.clock:
        yield from (CLOCK, "")
    if report.traces:
        yield from (*_true(report), "")
    elif report.stand_in:
        yield f"**{words.STAND_IN.capitalize()}**: workloads synthesised from published statistics replace the traces."
        yield ""
    yield from ("## Published and measured", "")
    yield from grid(("claim", "source", "published", "measured", "ratio", "verdict"), claim_rows(report))
    counted = f"{words.totals(totals(report.rows))}. {words.doubtful(report.rows)}".strip()
    yield from ("", counted, "", words.RATIO, "")
    if report.open:
        for departs, title in ((False, "Parameters left open by the paper"), (True, "Departs from the paper")):
            if left := [it for it in report.open if it.departs is departs]:
                yield from (f"## {title}", "")
                yield from grid(
                    ("parameter", "choice", "reason"), [(it.parameter, it.choice, it.reason) for it in left]
                )
                yield ""
        yield from (*_choices(report, tried), "")
    if report.traces:
        yield from _table(_replayed(report))
    for table in report.outcome.tables:
        yield from _table(table)
    for figure in report.outcome.figures:
        yield from _figure(figure)
    discussion = study.discussion()
    if discussion and report.traces:
        yield from ("## Discussion", "", "Left out: that of the study is about its results under stand-ins alone.", "")
    elif discussion:
        yield from ("## Discussion", "", words.filled(discussion, report.outcome.discussed, report.rows), "")
    yield f"Made by `{_command(report)}`, seed {report.seed}."


def _command(report: Report) -> str:
    """The command that makes a result."""
    true = f" --traces {report.traces[0].source.parent}" if report.traces else ""
    return f"wordline study {report.study.name}{true}{' --full' if report.full else ''}"


def _true(report: Report) -> Iterator[str]:
    """What was replayed instead of stand-ins, in a paragraph."""
    number, left = len(report.traces), len(report.stand_ins)
    if not left:
        yield "**True traces**: recorded traces were replayed instead of all stand-ins of the study."
        return
    yield f"**{words.STAND_IN.capitalize()}** for {left} of {number + left} traces: {words.traces(report)}."
    yield "Claims are judged by all of them together, so they keep the mark."


def _replayed(report: Report) -> Table:
    """The traces, and how true ones were replayed."""
    rows: list[list[Cell]] = [[it.name, "true trace", it.source.name, it.requests] for it in report.traces]
    rows += [[name, "stand-in", None, None] for name in report.stand_ins]
    note = f"{report.study.true_traces} {REPLAYED}".strip()
    return Table("Traces", ("trace", "workload", "file", "requests replayed"), rows, note)


def claim_rows(report: Report) -> Iterator[Sequence[Cell]]:
    """The claims of a study as rows of a table."""
    for row in report.rows:
        claim = row.claim
        says = f"{claim.says} (`{claim.id}`)"
        yield says, claim.at, words.published(claim), words.measured(claim, row.measured), row.ratio, words.verdict(row)


def _choices(report: Report, tried: Sensitivity | None) -> Iterator[str]:
    """The choices that change verdicts, and the results of each alternative."""
    command = f"`{_command(report)} --sensitivity`"
    yield from ("## Choices that change verdicts", "")
    if tried is None:
        yield f"Not run for this result; {command} runs them."
        return
    if not tried.trials:
        yield "No parameter has an alternative that is run."
        return
    yield f"{command} runs the alternatives of each parameter, one at a time."
    yield ""
    changing = [trial for trial in tried.trials if trial.changed(tried.base)]
    if not changing:
        yield "No alternative changes a verdict."
    else:
        yield f"{'These alternatives change' if len(changing) > 1 else 'This alternative changes'} a verdict:"
        yield ""
        head = ("parameter", "alternative", "claim", "measured", "ratio", "verdict", "as chosen")
        yield from grid(head, (cells for trial in changing for cells in _changes(trial, tried.base)))
    yield from ("", "Results of each alternative; an arrow marks a changed verdict.", "")
    names = [f"`{row.claim.id.partition('.')[2]}`" for row in tried.base]
    yield from grid(
        ("parameter", "alternative", *names),
        [
            ("as chosen", "", *(words.brief(row, changed=False) for row in tried.base)),
            *((trial.left.parameter, trial.instead.choice, *_briefs(trial, tried.base)) for trial in tried.trials),
        ],
    )
    yield from ("", f"Rules: {words.legend(tried.base)}.")


def _changes(trial: Trial, base: Sequence[Row]) -> Iterator[Sequence[Cell]]:
    before = {row.claim.id: row for row in base}
    for row in trial.changed(base):
        measured = words.measured(row.claim, row.measured)
        name = f"`{row.claim.id}`"
        was = words.verdict(before[row.claim.id])
        yield trial.left.parameter, trial.instead.choice, name, measured, row.ratio, words.verdict(row), was


def _briefs(trial: Trial, base: Sequence[Row]) -> Iterator[str]:
    for row, before in zip(trial.rows, base, strict=True):
        yield words.brief(row, row.verdict is not before.verdict)


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
    """A table in Markdown; columns of numbers are right-aligned."""
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
    yield "The experiments of the source papers: published and measured values."
    yield "`wordline study NAME` runs one, `make studies` regenerates these pages."
    yield ""
    yield from (f"**{words.totals(totals(rows))}.** {words.doubtful(rows)}".strip(), "")
    yield from (
        "*Reproduced*: the published direction, within a factor of 1.5 of the published value or range; an order that",
        "holds in every case. *Same direction*: at least a third of the published size. A row whose workload is",
        "synthesised from the paper's statistics says *stand-in workload*.",
        words.RATIO,
        "",
    )
    for report in reports:
        study = report.study
        yield from (f"## [{study.title}]({study.name}/README.md)", "", f"{study.paper}, {study.sections}.", "")
        cells = [
            (
                row.claim.says,
                words.published(row.claim),
                words.measured(row.claim, row.measured),
                row.ratio,
                words.verdict(row),
            )
            for row in report.rows
        ]
        yield from grid(("claim", "published", "measured", "ratio", "verdict"), cells)
        yield ""
        if report.traces:
            yield from (f"Traces: {words.traces(report)}.", "")
