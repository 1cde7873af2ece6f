"""The context of a study's run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from wordline.studies import traces
from wordline.studies.catalogue import Study, parsed
from wordline.studies.drives import OnDrive
from wordline.studies.experiments import Kind, Means, OnPackage, carry_out
from wordline.studies.packages import Chapter
from wordline.studies.traces import Recorded

Key = TypeVar("Key")
Report = Callable[[str, float | None, int, float], None]


def _nothing(*_: object) -> None:
    """Ignores progress."""


def _unwatched(experiment: Mapping[str, Any]) -> dict[str, Any]:
    """The same experiment without its table of intervals."""
    return {key: value for key, value in experiment.items() if key != "intervals"}


def _named(experiment: Mapping[str, Any], kept: Sequence[str] | None) -> str:
    """An experiment as a text."""
    return json.dumps([experiment, kept], sort_keys=True)


@dataclass(frozen=True)
class Context:
    """A study's access to the engine, and its thoroughness."""

    study: Study
    label: str = "study"
    """Names the work in the progress bar."""
    full: bool = False
    """Whole traces in the studies of AutoSSD; else ten times as many requests, for smoother figures."""
    seed: int = 1
    report: Report = field(default=_nothing)
    """Receives label, fraction done, requests and simulated seconds."""
    instead: Mapping[str, Any] = field(default_factory=dict)
    """Other values of open parameters in this run, by their keys."""
    asked: set[str] = field(default_factory=set)
    """Keys of the open parameters that the study's code has used."""
    means: Means = field(default_factory=Means)
    """Where experiments run, and where their results stay."""
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
        """Runs experiments on single packages, as :func:`wordline.package.run` takes them.

        :return: the results, under the same keys.
        :raises wordline.InputError: if an experiment is wrong.
        :raises KeyboardInterrupt: if it was interrupted.
        """
        return self._results(OnPackage, experiments, None)

    def drives(
        self, experiments: Mapping[Key, dict[str, Any]], kept: Sequence[str] | None = None
    ) -> dict[Key, dict[str, Any]]:
        """Runs experiments on whole drives (see :class:`wordline.studies.drives.OnDrive`), as :meth:`packages` does.

        :param kept: the parts of the results that are needed, if not all: many results take much memory.
        :raises wordline.InputError: if an experiment is wrong.
        :raises wordline.RunError: if one fails.
        :raises KeyboardInterrupt: if it was interrupted.
        """
        return self._results(OnDrive, experiments, kept)

    def _results(
        self,
        kind: Kind,
        experiments: Mapping[Key, dict[str, Any]],
        kept: Sequence[str] | None,
    ) -> dict[Key, dict[str, Any]]:
        """The results of experiments; the known ones if they ran before, since they would be the same."""
        whole = {key: {"seed": self.seed, **experiment} for key, experiment in experiments.items()}
        names = {key: _named(experiment, kept) for key, experiment in whole.items()}
        due = {name: whole[key] for key, name in names.items() if name not in self.known}
        found = carry_out(kind, list(due.values()), kept, self.means, self._told) if due else []
        for (name, experiment), result in zip(due.items(), found, strict=True):
            self.known[name] = result
            if "intervals" in experiment:
                # They only add to the result; runs with other choices do without them.
                self.known[_named(_unwatched(experiment), kept)] = result
        return {key: self.known[name] for key, name in names.items()}

    def _told(self, phase: str, fraction: float | None, requests: int, simulated_s: float) -> None:
        """Names the study in the progress."""
        self.report(phase.replace("sweep", self.label, 1), fraction, requests, simulated_s)
