"""Runs a study and judges its claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wordline.base.errors import Trouble
from wordline.studies.catalogue import Study
from wordline.studies.choices import Left
from wordline.studies.claims import Claim
from wordline.studies.context import Context
from wordline.studies.experiments import Means
from wordline.studies.judge import Measured, Verdict, judge, ratio, rule
from wordline.studies.outcome import Outcome
from wordline.studies.traces import Recorded

SCHEMA = 1
"""Schema of the JSON: a number that grows when a key changes its meaning."""


@dataclass(frozen=True)
class Row:
    """A claim with its measured value."""

    claim: Claim
    measured: Measured
    verdict: Verdict
    stand_in: bool
    doubt: str = ""
    """Why the claim is no evidence for the model if it holds, in words; empty if it is."""

    @property
    def no_evidence(self) -> str:
        """Why the verdict is no evidence for the model; empty if it is, or if the claim does not hold."""
        return "" if self.verdict is Verdict.NOT_REPRODUCED else self.doubt

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
        mark = {"no_evidence": self.no_evidence} if self.no_evidence else {}
        return self.claim.row() | self.outcome() | {"stand_in": self.stand_in} | mark

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
    traces: tuple[Recorded, ...] = ()
    """True traces that were replayed, in the study's order."""

    @property
    def stand_in(self) -> bool:
        """True if a stand-in replaced any trace."""
        return self.study.stands_in([it.name for it in self.traces])

    @property
    def stand_ins(self) -> list[str]:
        """Names of the traces that stand-ins replaced."""
        true = {it.name for it in self.traces}
        return [name for name in self.study.traces if name not in true]

    def json(self, version: str) -> dict[str, Any]:
        """For programs: definition, claims, tables and the data of the figures."""
        study = self.study
        # Without true traces there is no such key: a result is then the same as ever.
        true = {"traces": [it.json() for it in self.traces]} if self.traces else {}
        return {
            "schema": SCHEMA,
            "version": version,
            "study": study.name,
            "title": study.title,
            "paper": study.paper,
            "sections": study.sections,
            "runs": study.runs,
            "stand_in": self.stand_in,
            **true,
            **({"clock": True} if study.clock else {}),
            "full": self.full,
            "seed": self.seed,
            "open": [left.json() for left in self.open],
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
    traces: Mapping[str, Path] | None = None,
    means: Means | None = None,
) -> Report:
    """Runs ``study``.

    :param report: receives the progress, as that of a run.
    :param label: names it in the progress bar.
    :param instead: other values of open parameters, by their keys.
    :param known: results of experiments of earlier runs of the study; those of this run are added.
    :param traces: files of true traces, by name, to replay instead of stand-ins.
    :param means: where experiments run, and where their results stay.
    :raises ValueError: if it did not measure exactly its claims.
    :raises Trouble: if this machine lacks a tool that it needs.
    """
    if lacking := study.missing():
        raise Trouble(f"study {study.name} needs {' and '.join(lacking)}, which this machine lacks; install it first")
    results = {} if known is None else known
    context = Context(
        study, label, full, seed, report, instead or {}, means=means or Means(), known=results, traces=traces or {}
    )
    outcome = study.code()(context)
    left = tuple(it for it in study.open if it.key in context.asked or (it.no_alternative and not it.shared))
    true = tuple(context.replayed[name] for name in study.traces if name in context.replayed)
    rows = tuple(settle(study, outcome, [it.name for it in true]))
    return Report(study, outcome, rows, left, full, seed, true)


def settle(study: Study, outcome: Outcome, true: Collection[str] = ()) -> Iterable[Row]:
    """The study's claims, judged by their measured values.

    :param true: names of the traces of which the true ones were replayed.
    :raises ValueError: if a claim was not measured, or a measured value has no claim.
    """
    known = {claim.id for claim in study.claims}
    if outcome.measured.keys() != known:
        raise ValueError(f"study {study.name} has the claims {sorted(known)}, measured were {sorted(outcome.measured)}")
    for claim in study.claims:
        measured = outcome.measured[claim.id]
        yield Row(claim, measured, judge(claim, measured), study.stands_in(true), study.doubt(claim.id))


def totals(rows: Iterable[Row]) -> dict[str, int]:
    """Number of claims, in all and by verdict."""
    rows = list(rows)
    counts = Counter(row.verdict for row in rows)
    return {"claims": len(rows)} | {verdict.value.replace(" ", "_"): counts[verdict] for verdict in Verdict}
