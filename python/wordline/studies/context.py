"""The context of a study's run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from wordline import package
from wordline.studies import drives, traces
from wordline.studies import points as engine
from wordline.studies.catalogue import Study, parsed
from wordline.studies.packages import Chapter
from wordline.studies.traces import Recorded

Key = TypeVar("Key")
Report = Callable[[str, float | None, int, float], None]
Run = Callable[[dict[str, Any], Report], dict[str, Any]]
"""Runs one experiment, and tells its progress."""


def _nothing(*_: object) -> None:
    """Ignores progress."""


def _unwatched(experiment: Mapping[str, Any]) -> dict[str, Any]:
    """The same experiment without its table of intervals."""
    return {key: value for key, value in experiment.items() if key != "intervals"}


@dataclass(frozen=True)
class Context:
    """A study's access to the engine, and its thoroughness."""

    study: Study
    label: str = "study"
    """Names the work in the progress bar."""
    full: bool = False
    """More requests, for smoother figures."""
    seed: int = 1
    report: Report = field(default=_nothing)
    """Receives label, fraction done, requests and simulated seconds."""
    instead: Mapping[str, Any] = field(default_factory=dict)
    """Other values of open parameters in this run, by their keys."""
    asked: set[str] = field(default_factory=set)
    """Keys of the open parameters that the study's code has used."""
    known: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Results of experiments by their text; an experiment that several runs share is run once."""
    traces: Mapping[str, Path] = field(default_factory=dict)
    """Files of true traces, by the names of the traces; stand-ins replace the others."""
    replayed: dict[str, Recorded] = field(default_factory=dict)
    """The true traces that the study's code has used; of several parts of one, the longest."""

    def choice(self, key: str) -> Any:  # noqa: ANN401
        """The value of an open parameter of the study or its chapter.

        :raises KeyError: if there is no such open parameter.
        """
        chosen = {left.key: left.value for left in self.study.open}[key]
        self.asked.add(key)
        return self.instead.get(key, chosen)

    def published(self, claim: str) -> tuple[float, float]:
        """The published range of a claim of the study, in its unit; a single number is both ends.

        :raises KeyError: if the study has no such claim, or the claim has no number.
        """
        value = {each.id: each.value for each in self.study.claims if each.value}[claim]
        return value[0], value[-1]

    def chapter(self) -> Chapter:
        """Devices and workloads of the study's chapter."""
        table = parsed(self.study.folder.parent / f"{self.study.chapter}.toml")
        held = {left.key: left.devices for left in self.study.open if left.devices}
        return Chapter(table, self.choice, held)

    def requests(self, usual: int) -> int:
        """A number of requests: ``usual``, and ten times as many in a full run."""
        return 10 * usual if self.full else usual

    def recorded(self, name: str, align: int, limit: int) -> Recorded | None:
        """The part of a true trace to replay; None if a stand-in replaces the trace.

        :param align: requests are rounded outwards to multiples of this many bytes.
        :param limit: the most requests to take; a full run takes all.
        :raises Trouble: if the trace cannot be read.
        """
        if name not in self.traces:
            return None
        part = traces.recorded(name, self.traces[name], align, None if self.full else limit)
        self.replayed[name] = max(part, self.replayed.get(name, part), key=lambda it: it.requests)
        return part

    def packages(self, experiments: Mapping[Key, dict[str, Any]]) -> dict[Key, dict[str, Any]]:
        """Runs experiments on single packages, one after the other, and returns the results under the same keys.

        :raises KeyboardInterrupt: if one was interrupted.
        """
        return self._each(experiments, package.run)

    def drives(self, experiments: Mapping[Key, dict[str, Any]]) -> dict[Key, dict[str, Any]]:
        """Runs experiments on whole drives (see :func:`wordline.studies.drives.run`), as :meth:`packages` does.

        :raises KeyboardInterrupt: if one was interrupted.
        """
        return self._each(experiments, drives.run)

    def sweep(self, points: Mapping[Key, dict[str, Any]], kept: Sequence[str]) -> dict[Key, dict[str, Any]]:
        """Runs points of a design space as one sweep, side by side (see :func:`wordline.studies.points.run`).

        :param kept: the parts of the results that are needed; the others take much memory where there are many.
        :raises KeyboardInterrupt: if it was interrupted.
        """
        texts = {
            key: json.dumps({"seed": self.seed, "kept": list(kept), **it}, sort_keys=True) for key, it in points.items()
        }
        due = {text: points[key] for key, text in texts.items() if text not in self.known}
        if due:
            told = self._of_many(0, 1, 0, 0.0)
            for text, result in zip(due, engine.run(list(due.values()), self.seed, told), strict=True):
                self.known[text] = {it: result[it] for it in kept}
        return {key: self.known[text] for key, text in texts.items()}

    def _each(self, experiments: Mapping[Key, dict[str, Any]], run: Run) -> dict[Key, dict[str, Any]]:
        results: dict[Key, dict[str, Any]] = {}
        requests, simulated_s = 0, 0.0
        for key, experiment in experiments.items():
            told = self._of_many(len(results), len(experiments), requests, simulated_s)
            told("", 0.0, 0, 0.0)
            result = self._result({"seed": self.seed, **experiment}, told, run)
            requests, simulated_s = requests + result["requests"], simulated_s + result["simulated_s"]
            results[key] = result
        return results

    def _result(self, experiment: dict[str, Any], told: Report, run: Run) -> dict[str, Any]:
        """The result of an experiment; the known one if it ran before, since it would be the same."""
        text = json.dumps(experiment, sort_keys=True)
        if text not in self.known:
            result = run(experiment, told)
            if result.get("partial"):
                raise KeyboardInterrupt
            self.known[text] = result
            if "intervals" in experiment:
                # They only add to the result; runs with other choices do without them.
                self.known[json.dumps(_unwatched(experiment), sort_keys=True)] = result
        return self.known[text]

    def _of_many(self, before: int, number: int, requests: int, simulated_s: float) -> Report:
        """The progress receiver of one of ``number`` runs, after ``before`` with all their requests and time."""

        def told(_: str, fraction: float | None, done: int, done_s: float) -> None:
            self.report(self.label, (before + (fraction or 0.0)) / number, requests + done, simulated_s + done_s)

        return told
