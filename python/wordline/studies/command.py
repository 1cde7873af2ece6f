"""The work of ``wordline study``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordline.base.errors import Trouble, tell
from wordline.base.progress import Progress
from wordline.studies import catalogue, page, runner, sensitivity, traces
from wordline.studies.catalogue import Study
from wordline.studies.experiments import Means
from wordline.studies.runner import SCHEMA, Report, totals
from wordline.studies.sensitivity import Sensitivity
from wordline.sweeps.store import Store

OUT = Path("out", "studies")
"""Default folder of pages, with a folder for each study."""

RESULTS = "results"
"""Folder beside them for the results of experiments."""


@dataclass(frozen=True)
class Where:
    """Where experiments are to run, and where their results are to stay."""

    results: Path | None = None
    """A folder; without it, results last as long as the command."""
    jobs: int | None = None
    """How many experiments run at once; as many as cores and memory allow if absent."""
    cluster: str | None = None
    """The address of a Dask scheduler to run them on instead."""

    @contextmanager
    def means(self) -> Iterator[Means]:
        """The folder, made if it is not there, and a client of the cluster.

        :raises Trouble: if the folder cannot be made.
        :raises wordline.InputError: if no scheduler answers.
        """
        kept = None
        if self.results is not None:
            ready(self.results)
            kept = Store(self.results, packed=True)
        with ExitStack() as stack:
            client = None
            if self.cluster is not None:
                from wordline.sweeps.cluster import connected

                client = stack.enter_context(connected(self.cluster))
            yield Means(self.jobs, client, kept)


HERE = Where()
"""On the cores of this machine."""


def list_json(studies: Sequence[Study]) -> list[dict[str, Any]]:
    """All studies, for programs."""
    return [
        {
            "study": study.name,
            "title": study.title,
            "paper": study.paper,
            "sections": study.sections,
            "stand_in": study.stand_in,
            "traces": list(study.traces),
            "claims": [claim.row() for claim in study.claims],
        }
        for study in studies
    ]


def run_one(
    name: str,
    out: Path,
    *,
    full: bool,
    version: str,
    quiet: bool = False,
    folder: Path | None = None,
    where: Where = HERE,
) -> tuple[Report, Path]:
    """Runs the study of that name, and writes its page into ``out``.

    :param folder: with true traces.
    :param where: where experiments run, and where their results stay.
    :return: the report, and the path of its page.
    :raises Trouble: if there is no such study, its page cannot be written, or the true traces cannot be read.
    """
    study = catalogue.load(name)
    true = true_traces(folder, [study])
    ready(out)
    with Progress(quiet) as progress, where.means() as means:
        done = runner.run(study, progress, name, full=full, traces=true, means=means)
    return done, page.write(done, out / name, version)


def run_all(
    out: Path | None,
    *,
    full: bool,
    version: str,
    quiet: bool = False,
    folder: Path | None = None,
    where: Where = HERE,
) -> tuple[list[Report], bool]:
    """Runs all studies; with ``out``, writes their pages there and one that lists them.

    :param folder: with true traces, for the studies that have any.
    :param where: where experiments run, and where their results stay.
    :return: the reports, and True if an interrupt left some out.
    :raises Trouble: if a page cannot be written or the true traces cannot be read.
    """
    studies = possible(catalogue.every())
    true = true_traces(folder, studies)
    if out is not None:
        ready(out)
    reports: list[Report] = []
    try:
        with Progress(quiet) as progress, where.means() as means:
            for n, study in enumerate(studies, 1):
                label = f"{study.name} ({n} of {len(studies)})"
                reports.append(runner.run(study, progress, label, full=full, traces=true, means=means))
                if out is not None:
                    page.write(reports[-1], out / study.name, version)
    except KeyboardInterrupt:
        return reports, True
    if out is not None:
        page.write_index(reports, out)
    return reports, False


def try_choices(
    name: str | None,
    out: Path,
    *,
    full: bool,
    version: str,
    quiet: bool = False,
    folder: Path | None = None,
    where: Where = HERE,
) -> tuple[list[tuple[Report, Sensitivity]], bool]:
    """Runs a study, or all of them, as chosen and with each alternative of each open parameter; writes their pages.

    :param name: the study, None for all.
    :param folder: with true traces, for the studies that have any.
    :param where: where experiments run, and where their results stay.
    :return: the results, and True if an interrupt left some out. An unfinished study has no new page.
    :raises Trouble: if there is no such study, a page cannot be written, or the true traces cannot be read.
    """
    studies = possible(catalogue.every()) if name is None else [catalogue.load(name)]
    true = true_traces(folder, studies)
    done: list[tuple[Report, Sensitivity]] = []
    try:
        ready(out)
        with Progress(quiet) as progress, where.means() as means:
            for n, study in enumerate(studies, 1):
                label = study.name if name else f"{study.name} ({n} of {len(studies)})"
                known: dict[str, dict[str, Any]] = {}
                report = runner.run(study, progress, label, full=full, known=known, traces=true, means=means)
                tried = sensitivity.run(report, progress, label, known, means)
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
    true = [{"study": report.study.name, **it.json()} for report in reports for it in report.traces]
    return (
        head
        | ({"traces": true} if true else {})
        | {"claims": [row.json() for report in reports for row in report.rows]}
    )


def _totals(reports: Sequence[Report]) -> dict[str, int]:
    return totals(row for report in reports for row in report.rows)


def true_traces(folder: Path | None, studies: Sequence[Study]) -> Mapping[str, Path]:
    """The true traces of these studies in ``folder``, looked at before the work starts; none without a folder.

    :raises Trouble: if no study has traces, the folder has none of them, or one of them cannot be replayed.
    """
    if folder is None:
        return {}
    names = names_of(studies)
    if not names:
        others = ", ".join(study.name for study in catalogue.every() if study.traces)
        which = " and ".join(study.name for study in studies)
        raise Trouble(f"{which}: this study replays no traces, so it takes no --traces; these do: {others}")
    found = traces.find(folder, names)
    for path in found.values():
        traces.check(path)
    return found


def names_of(studies: Iterable[Study]) -> list[str]:
    """The names of the traces of these studies, each once."""
    return list(dict.fromkeys(name for study in studies for name in study.traces))


def possible(studies: Sequence[Study]) -> list[Study]:
    """The studies for which this machine has the tools; tells which are left out."""
    for study in studies:
        if lacking := study.missing():
            tell(f"study {study.name} is left out: it needs {' and '.join(lacking)}")
    return [study for study in studies if not study.missing()]


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
