"""The work of ``wordline study``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wordline.base.errors import Trouble
from wordline.base.progress import Progress
from wordline.studies import catalogue, page, runner, sensitivity
from wordline.studies.catalogue import Study
from wordline.studies.runner import SCHEMA, Report, totals
from wordline.studies.sensitivity import Sensitivity

OUT = Path("out", "studies")
"""Default folder of results, with a folder for each study."""


def list_json(studies: Sequence[Study]) -> list[dict[str, Any]]:
    """All studies, for programs."""
    return [
        {
            "study": study.name,
            "title": study.title,
            "paper": study.paper,
            "sections": study.sections,
            "stand_in": study.stand_in,
            "claims": [claim.row() for claim in study.claims],
        }
        for study in studies
    ]


def run_one(name: str, out: Path, *, full: bool, version: str, quiet: bool = False) -> tuple[Report, Path]:
    """Runs the study of that name, and writes its page into ``out``.

    :return: the report, and the path of its page.
    :raises Trouble: if there is no such study or its page cannot be written.
    """
    study = catalogue.load(name)
    ready(out)
    with Progress(quiet) as progress:
        done = runner.run(study, progress, name, full=full)
    return done, page.write(done, out / name, version)


def run_all(out: Path | None, *, full: bool, version: str, quiet: bool = False) -> tuple[list[Report], bool]:
    """Runs all studies; with ``out``, writes their pages there and one that lists them.

    :return: the reports, and True if an interrupt left some out.
    """
    studies = catalogue.every()
    if out is not None:
        ready(out)
    reports: list[Report] = []
    try:
        with Progress(quiet) as progress:
            for n, study in enumerate(studies, 1):
                reports.append(runner.run(study, progress, f"{study.name} ({n} of {len(studies)})", full=full))
                if out is not None:
                    page.write(reports[-1], out / study.name, version)
    except KeyboardInterrupt:
        return reports, True
    if out is not None:
        page.write_index(reports, out)
    return reports, False


def try_choices(
    name: str | None, out: Path, *, full: bool, version: str, quiet: bool = False
) -> tuple[list[tuple[Report, Sensitivity]], bool]:
    """Runs a study, or all of them, as chosen and with each alternative of each open parameter; writes their pages.

    :param name: the study, None for all.
    :return: the results, and True if an interrupt left some out. An unfinished study has no new page.
    :raises Trouble: if there is no such study or a page cannot be written.
    """
    studies = catalogue.every() if name is None else [catalogue.load(name)]
    done: list[tuple[Report, Sensitivity]] = []
    try:
        ready(out)
        with Progress(quiet) as progress:
            for n, study in enumerate(studies, 1):
                label = study.name if name else f"{study.name} ({n} of {len(studies)})"
                known: dict[str, dict[str, Any]] = {}
                report = runner.run(study, progress, label, full=full, known=known)
                tried = sensitivity.run(report, progress, label, known)
                done.append((report, tried))
                if tried.partial:
                    return done, True
                page.write(report, out / study.name, version, tried)
    except KeyboardInterrupt:
        return done, True
    if name is None:
        page.write_index([report for report, _ in done], out)
    return done, False


def sensitivity_json(
    done: Sequence[tuple[Report, Sensitivity]], version: str, partial: bool, *, everything: bool
) -> dict[str, Any]:
    """The sensitivity of one study or of all, for programs."""
    documents = [tried.json(version) for _, tried in done]
    if not everything and documents:
        return documents[0]
    return {"schema": SCHEMA, "version": version, "partial": partial, "studies": documents}


def all_json(reports: Sequence[Report], version: str, partial: bool) -> dict[str, Any]:
    """All reports, for programs."""
    head = {"schema": SCHEMA, "version": version, "partial": partial, "totals": _totals(reports)}
    return head | {"studies": [report.json(version) for report in reports]}


def scorecard_json(reports: Sequence[Report], version: str, partial: bool) -> dict[str, Any]:
    """All claims and their totals, for programs."""
    head = {"schema": SCHEMA, "version": version, "partial": partial, "totals": _totals(reports)}
    return head | {"claims": [row.json() for report in reports for row in report.rows]}


def _totals(reports: Sequence[Report]) -> dict[str, int]:
    return totals(row for report in reports for row in report.rows)


def ready(out: Path) -> None:
    """Makes the folder for results, before the work starts.

    :raises Trouble: if it cannot be made.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise Trouble(f"{out}: this is a file; give the name of a folder") from None
    except OSError as error:
        raise Trouble(f"{out}: cannot make this folder: {error.strerror}") from None
