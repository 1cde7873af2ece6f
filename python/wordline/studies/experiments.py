"""The experiments of a study, done by the engine of sweeps: side by side, each once, kept by what it depends on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordline import _core, package
from wordline._core import InputError, RunError
from wordline.api import functions as api
from wordline.studies.drives import OnDrive
from wordline.sweeps import store
from wordline.sweeps.function import run_due
from wordline.sweeps.jobs import Done, Job, Task
from wordline.sweeps.store import Contents, Store

if TYPE_CHECKING:
    from distributed import Client

    from wordline.base.progress import Told

FORM = 1
"""Grows when an experiment of the same description is carried out otherwise: what was kept before does not count."""


@dataclass(frozen=True)
class Means:
    """Where experiments run, and where their results stay."""

    jobs: int | None = None
    """How many run at once; as many as cores and memory allow if absent."""
    cluster: Client | str | None = None
    """A Dask cluster to run on instead."""
    results: Store | None = None
    """Without it, results last as long as the study runs."""


@dataclass(frozen=True)
class OnPackage:
    """An experiment on a single package, as :func:`wordline.package.run` takes it."""

    experiment: dict[str, Any]
    kept: Sequence[str] | None = None
    """Parts of the result that are needed; None for all."""

    @property
    def sets(self) -> Mapping[str, Any]:
        """None: it has no drive."""
        return {}

    def begin(self, _: Told) -> None:
        """It starts from a new package."""

    def run(self, _: object, told: Told) -> Done:
        """Its result."""
        return Done(json.dumps(package.run(self.experiment, told)), "")


Kind = Callable[[dict[str, Any], "Sequence[str] | None"], Task]
"""Makes the task of an experiment, given the parts of its result that are needed."""


@dataclass
class Experiment(Job):
    """An experiment, and its result when it has ended."""

    kept: Sequence[str] | None = None
    """Parts of the result that are needed; None for all."""
    result: dict[str, Any] = field(default_factory=dict)

    @property
    def is_due(self) -> bool:
        """True if it has to run."""
        return not self.result and self.error is None

    def take(self, done: Done) -> None:
        """Takes its result.

        :raises KeyboardInterrupt: if it is partial.
        """
        result = json.loads(done.text if self.kept is None else done.parts or self.part(done.text))
        if result.get("partial"):
            raise KeyboardInterrupt
        if "intervals" in result:
            import numpy as np

            result["intervals"] = {name: np.array(values) for name, values in result["intervals"].items()}
        self.text = done.text
        self.result = result if self.kept is None else {key: result[key] for key in self.kept if key in result}

    def part(self, text: str) -> str:
        """The parts of a result that are needed: reading all of it takes as long as a small run."""
        return _core.part_of_result(text, [*(self.kept or ()), "partial"])


def carry_out(
    kind: Kind,
    wanted: Sequence[dict[str, Any]],
    kept: Sequence[str] | None,
    means: Means,
    told: Told,
) -> list[dict[str, Any]]:
    """Does experiments that are all different, and gives their results in order.

    :param kind: :class:`OnDrive` or :class:`OnPackage`.
    :param kept: the parts of the results that are needed; None for all.
    :param told: receives the progress.
    :raises wordline.InputError: if an experiment is wrong, or no cluster answers.
    :raises wordline.RunError: if one fails, or the cluster cannot do the work.
    :raises KeyboardInterrupt: if it was interrupted.
    """
    contents = Contents()
    found = [_job(kind, experiment, kept, contents) for experiment in wanted]
    if means.results is not None:
        for job in found:
            _recall(job, means.results)
    if run_due(found, means.results, means.jobs, told, _refuse, means.cluster):
        raise KeyboardInterrupt
    for job in found:
        job.text = None
    return [job.result for job in found]


def _job(
    kind: Kind,
    experiment: dict[str, Any],
    kept: Sequence[str] | None,
    contents: Contents,
) -> Experiment:
    task = kind(experiment, kept)
    job = Experiment(task, kept=kept)
    config = None
    if isinstance(task, OnDrive):
        about = _checked(experiment["drive"], json.dumps(experiment["sets"], sort_keys=True))
        config, job.state_bytes = about["config"], about["derived"]["state_bytes"]
        job.group, job.prepares = json.dumps(task.start, sort_keys=True), True
        experiment = {**experiment, "jobs": [_held(it, contents) for it in experiment["jobs"]]}
    job.key = store.key(FORM, _engine(), type(task).__name__, experiment, config)
    return job


def _recall(job: Experiment, results: Store) -> None:
    """Takes the result that is kept, if there is one."""
    text = results.text(job.key)
    if text is None:
        return
    try:
        job.take(Done(text, ""))
    except (ValueError, KeyError, KeyboardInterrupt):
        # Damaged: it is run again.
        return
    job.text, job.known = None, True


def _refuse(ended: Sequence[Experiment]) -> None:
    """Ends the study with the first experiment that fails: its figures would be missing."""
    for job in ended:
        if job.error is not None:
            raise (InputError if job.is_input else RunError)(job.error)


def _held(job: Mapping[str, Any], contents: Contents) -> Mapping[str, Any]:
    """A job with what its true trace holds in place of the name of the file."""
    if "trace" not in job:
        return job
    return {**job, "trace": {**job["trace"], "file": contents.of(job["trace"]["file"])}}


@cache
def _checked(drive: str, sets: str) -> dict[str, Any]:
    """A drive as ``wordline check`` tells it."""
    return api.check(drive, json.loads(sets))


@cache
def _engine() -> str:
    """What the engine is: one that was built anew may have the same version."""
    return Contents().of(str(Path(_core.__file__)))
