"""Runs a study and judges its claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from wordline.studies.catalogue import Study
from wordline.studies.choices import Left
from wordline.studies.claims import Claim
from wordline.studies.context import Context
from wordline.studies.judge import Measured, Verdict, judge, ratio, rule
from wordline.studies.outcome import Outcome

SCHEMA = 1
"""Schema of the JSON: a number that grows when a key changes its meaning."""


@dataclass(frozen=True)
class Row:
    """A claim with its measured value."""

    claim: Claim
    measured: Measured
    verdict: Verdict
    stand_in: bool

    @property
    def ratio(self) -> float | None:
        """Measured over published value; None if there is none."""
        return ratio(self.claim, self.measured)

    @property
    def rule(self) -> str:
        """The rule of the verdict."""
        return rule(self.claim, self.verdict)

    def json(self) -> dict[str, Any]:
        """For programs."""
        return self.claim.row() | self.outcome() | {"stand_in": self.stand_in}

    def outcome(self) -> dict[str, Any]:
        """For programs: measured value, ratio and verdict."""
        measured = self.measured if isinstance(self.measured, dict | float | int) else list(self.measured)
        return {"measured": measured, "ratio": self.ratio, "verdict": self.verdict.value, "rule": self.rule}


@dataclass(frozen=True)
class Report:
    """A study that has been run."""

    study: Study
    outcome: Outcome
    rows: tuple[Row, ...]
    open: tuple[Left, ...]
    """Open parameters that the study's code uses."""
    full: bool
    seed: int

    def json(self, version: str) -> dict[str, Any]:
        """For programs: definition, claims, tables and the data of the figures."""
        study = self.study
        return {
            "schema": SCHEMA,
            "version": version,
            "study": study.name,
            "title": study.title,
            "paper": study.paper,
            "sections": study.sections,
            "runs": study.runs,
            "stand_in": study.stand_in,
            "full": self.full,
            "seed": self.seed,
            "open": [asdict(left) for left in self.open],
            "claims": [row.json() for row in self.rows],
            "totals": totals(self.rows),
            "discussed": self.outcome.discussed,
            "tables": [asdict(table) for table in self.outcome.tables],
            "figures": [{"kind": type(it).__name__.lower(), **asdict(it)} for it in self.outcome.figures],
        }


def run(
    study: Study,
    report: Callable[..., None],
    label: str,
    *,
    full: bool = False,
    seed: int = 1,
    instead: Mapping[str, Any] | None = None,
    known: dict[str, dict[str, Any]] | None = None,
) -> Report:
    """Runs ``study``.

    :param report: receives the progress, as that of a run.
    :param label: names it in the progress bar.
    :param instead: other values of open parameters, by their keys.
    :param known: results of experiments of earlier runs of the study; those of this run are added.
    :raises ValueError: if it did not measure exactly its claims.
    """
    results = {} if known is None else known
    context = Context(study, label, full, seed, report, instead or {}, known=results)
    outcome = study.code()(context)
    left = tuple(it for it in study.open if it.key in context.asked or (it.no_alternative and not it.shared))
    return Report(study, outcome, tuple(settle(study, outcome)), left, full, seed)


def settle(study: Study, outcome: Outcome) -> Iterable[Row]:
    """The study's claims, judged by their measured values.

    :raises ValueError: if a claim was not measured, or a measured value has no claim.
    """
    known = {claim.id for claim in study.claims}
    if outcome.measured.keys() != known:
        raise ValueError(f"study {study.name} has the claims {sorted(known)}, measured were {sorted(outcome.measured)}")
    for claim in study.claims:
        measured = outcome.measured[claim.id]
        yield Row(claim, measured, judge(claim, measured), study.stand_in)


def totals(rows: Iterable[Row]) -> dict[str, int]:
    """Number of claims, in all and by verdict."""
    rows = list(rows)
    counts = Counter(row.verdict for row in rows)
    return {"claims": len(rows)} | {verdict.value.replace(" ", "_"): counts[verdict] for verdict in Verdict}
