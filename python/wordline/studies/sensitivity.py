"""Sensitivity: how much the verdicts of a study depend on the choices of open parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from wordline.studies import runner
from wordline.studies.catalogue import Study
from wordline.studies.choices import Alternative, Left
from wordline.studies.experiments import Means
from wordline.studies.judge import judge
from wordline.studies.runner import SCHEMA, Report, Row
from wordline.studies.traces import Recorded


@dataclass(frozen=True)
class Trial:
    """The study's claims with one parameter at another value, and all others as chosen."""

    left: Left
    instead: Alternative
    rows: tuple[Row, ...]

    def changed(self, base: Sequence[Row]) -> list[Row]:
        """The claims that have another verdict than in ``base``."""
        return [row for row, before in zip(self.rows, base, strict=True) if row.verdict is not before.verdict]


@dataclass(frozen=True)
class Sensitivity:
    """A study with every open parameter at its alternatives, one at a time."""

    study: Study
    base: tuple[Row, ...]
    """The claims with everything as chosen."""
    trials: tuple[Trial, ...]
    full: bool
    seed: int
    partial: bool = False
    """True if an interrupt left alternatives out."""
    traces: tuple[Recorded, ...] = ()
    """True traces that were replayed with everything as chosen."""

    def movers(self) -> list[Left]:
        """The parameters with an alternative that changes a verdict."""
        moved = {trial.left.key: trial.left for trial in self.trials if trial.changed(self.base)}
        return list(moved.values())

    def json(self, version: str) -> dict[str, Any]:
        """For programs; also the saved file beside the study."""
        true = {"traces": [it.json() for it in self.traces]} if self.traces else {}
        return {
            "schema": SCHEMA,
            "version": version,
            "study": self.study.name,
            "full": self.full,
            "seed": self.seed,
            "partial": self.partial,
            **true,
            "claims": [row.json() for row in self.base],
            "alternatives": [
                {
                    "key": trial.left.key,
                    "parameter": trial.left.parameter,
                    "chosen": {"value": trial.left.value, "choice": trial.left.choice},
                    "instead": {"value": trial.instead.value, "choice": trial.instead.choice},
                    "claims": [
                        {"id": row.claim.id} | row.outcome() | {"changed": row.verdict is not before.verdict}
                        for row, before in zip(trial.rows, self.base, strict=True)
                    ],
                }
                for trial in self.trials
            ],
            "moved_by": [left.key for left in self.movers()],
        }


def run(
    report: Report,
    progress: Callable[..., None],
    label: str,
    known: dict[str, dict[str, Any]],
    means: Means | None = None,
) -> Sensitivity:
    """Runs a study with each alternative of each open parameter that it uses, after it was run as chosen.

    An interrupt ends it with the alternatives run so far.

    :param progress: receives the progress, as that of a run.
    :param label: names the study in the progress bar.
    :param known: results of the experiments of the run as chosen.
    :param means: where experiments run, and where their results stay.
    """
    study, full, seed = report.study, report.full, report.seed
    files = {it.name: it.source for it in report.traces}
    wanted = [(left, instead) for left in report.open for instead in left.alternatives]
    trials: list[Trial] = []
    try:
        for n, (left, instead) in enumerate(wanted, 1):
            name = f"{label}, alternative {n} of {len(wanted)}"
            other = {left.key: instead.value}
            done = runner.run(
                study, progress, name, full=full, seed=seed, instead=other, known=known, traces=files, means=means
            )
            trials.append(Trial(left, instead, done.rows))
    except KeyboardInterrupt:
        return Sensitivity(study, report.rows, tuple(trials), full, seed, partial=True, traces=report.traces)
    return Sensitivity(study, report.rows, tuple(trials), full, seed, traces=report.traces)


def kept(report: Report) -> Sensitivity | None:
    """The saved sensitivity, if it belongs to this result: same measured values, same choices, no true traces."""
    document = report.study.sensitivity()
    if document is None or document.get("schema") != SCHEMA or report.traces:
        return None
    if (document["full"], document["seed"]) != (report.full, report.seed):
        return None
    by_key = {left.key: left for left in report.open}
    claims = {row.claim.id: row for row in report.rows}
    tried = [(it["key"], it["chosen"], it["instead"]) for it in document["alternatives"]]
    if tried != [(left.key, *_words(left, instead)) for left in report.open for instead in left.alternatives]:
        return None
    if [(row["id"], row["measured"]) for row in document["claims"]] != [
        (row.claim.id, row.outcome()["measured"]) for row in report.rows
    ]:
        return None

    def again(kept: dict[str, Any]) -> Row:
        claim = claims[kept["id"]].claim
        verdict = judge(claim, kept["measured"])
        return Row(claim, kept["measured"], verdict, report.study.stand_in, report.study.doubt(claim.id))

    trials = tuple(
        Trial(by_key[it["key"]], Alternative(**it["instead"]), tuple(again(row) for row in it["claims"]))
        for it in document["alternatives"]
    )
    return Sensitivity(report.study, report.rows, trials, report.full, report.seed)


def _words(left: Left, instead: Alternative) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"value": left.value, "choice": left.choice}, {"value": instead.value, "choice": instead.choice}
