"""The runs of a sweep: which there are, which are known already, and what each is the result of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wordline._core import InputError
from wordline.api import functions as api
from wordline.api.workload import Workload
from wordline.results.keyfigures import value_of
from wordline.sweeps import store
from wordline.sweeps.file import ONCE, Plan
from wordline.sweeps.space import Point
from wordline.sweeps.store import FIGURES_OF_POINTS, Contents, Store


@dataclass
class Job:
    """A point, and what is known of its run."""

    point: Point
    sets: dict[str, Any]
    """All overrides of its drive."""
    load: Workload | None = None
    key: str = ""
    """The name of its result."""
    aged: str = ""
    """Points of one name start from the same preconditioned drive."""
    writes: bool = False
    """True if that drive is preconditioned."""
    state_bytes: int = 0
    figures: dict[str, float] | None = None
    """Main figures of its result, by their keys; None if it has not run. All of the results would fill the memory."""
    digest: str = ""
    text: str | None = None
    """Its result as the engine wrote it, unless a file keeps it."""
    error: str | None = None
    known: bool = False
    """True if the result was there before."""

    @property
    def is_due(self) -> bool:
        """True if it has to run."""
        return self.figures is None and self.error is None

    def done(self, result: dict[str, Any]) -> None:
        """Takes the figures of its result, or of the parts of it that :func:`store.parts` gives."""
        values = {key: value_of(result, key) for key in FIGURES_OF_POINTS}
        self.figures = {key: value for key, value in values.items() if value is not None}
        self.digest = result["digest"]


def jobs(plan: Plan, points: Sequence[Point], kept: Store | None) -> list[Job]:
    """The runs of some points. What is wrong with one of them is its error.

    :raises wordline.InputError: if all are wrong.
    """
    found = checked(plan, points, kept)
    if all(job.error is not None for job in found):
        first = found[0]
        values = ", ".join(f"{name} = {value}" for name, value in first.point.factors.items())
        of_all = f"none of {len(found)} points can run; the first, {values}: " if len(found) > 1 else ""
        raise InputError(f"{of_all}{first.error}")
    return found


def checked(plan: Plan, points: Sequence[Point], kept: Store | None) -> list[Job]:
    """The runs of some points. What is wrong with one of them is its error, also if it is wrong with all."""
    desk = _Desk(plan)
    found = [desk.job(point) for point in points]
    for job in found:
        if kept is not None and job.error is None:
            result = kept.figures(job.key)
            if result is not None:
                job.done(result)
                job.known = True
    return found


class _Desk:
    """Checks points; drives and workloads that several share are checked once."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.contents = Contents()
        self.drives: dict[str, dict[str, Any]] = {}
        self.loads: dict[str, tuple[Workload, Any]] = {}

    def job(self, point: Point) -> Job:
        """The run of a point."""
        job = Job(point, {**self.plan.sets, **point.sets})
        try:
            self._complete(job)
        except InputError as error:
            job.error = str(error)
        return job

    def _complete(self, job: Job) -> None:
        point = job.point
        checked = self._drive(point.drive, job.sets)
        job.load, load = self._load(point.load, {**self.plan.load_sets, **point.load_sets})
        base = self._drive(point.drive, self.plan.sets)["config"] if self.plan.precondition == ONCE else None
        config = checked["config"]
        job.aged = store.key(base or config, point.seed)
        job.key = store.key(config, point.seed, base, load)
        steps = (base or config)["precondition"]
        job.writes = bool(steps["fill"] or steps["overwrites"] or steps["steady_state"])
        job.state_bytes = checked["derived"]["state_bytes"]

    def _drive(self, drive: str, sets: dict[str, Any]) -> dict[str, Any]:
        at = json.dumps([drive, sets], sort_keys=True)
        if at not in self.drives:
            self.drives[at] = api.check(drive, sets)
        return self.drives[at]

    def _load(self, load: Any, sets: dict[str, Any]) -> tuple[Workload, Any]:  # noqa: ANN401
        at = json.dumps([load if isinstance(load, str) else id(load), sets], sort_keys=True)
        if at not in self.loads:
            if not isinstance(load, str) and sets:
                raise InputError(
                    "overrides of a workload go with the name of a file; a Workload has its options already"
                )
            read = Workload.given(load, sets if isinstance(load, str) else None)
            self.loads[at] = read, store.of_load(load, read.options, self.contents)
        return self.loads[at]


def by_drive(found: Sequence[Job]) -> list[list[Job]]:
    """The runs that are due, in groups that start from the same preconditioned drive."""
    groups: dict[str, list[Job]] = {}
    for job in found:
        if job.is_due:
            groups.setdefault(job.aged, []).append(job)
    return list(groups.values())


def largest_state(found: Sequence[Job]) -> int:
    """Bytes of memory for the largest drive that has to run."""
    return max((job.state_bytes for job in found if job.is_due), default=0)
