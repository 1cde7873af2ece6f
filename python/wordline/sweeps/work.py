"""The runs of a sweep: which there are, which are known already, and what each is the result of."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from wordline._core import InputError
from wordline.api import functions as api
from wordline.api.drive import Drive, result_text
from wordline.api.workload import Workload
from wordline.results.keyfigures import value_of
from wordline.sweeps import store
from wordline.sweeps.file import ONCE, Plan
from wordline.sweeps.jobs import Done, Job
from wordline.sweeps.space import Point
from wordline.sweeps.store import FIGURES_OF_POINTS, Contents, Store

if TYPE_CHECKING:
    from wordline.base.progress import Told


@dataclass(frozen=True)
class PointTask:
    """The run of a point."""

    drive: str
    common: Mapping[str, Any]
    """Overrides of the drive that the points of its group start from."""
    seed: int
    prepares: bool
    sets: Mapping[str, Any]
    """Overrides of the point's own."""
    load: Workload

    def begin(self, told: Told) -> Drive:
        """The preconditioned drive of its group."""
        drive = Drive(self.drive, self.common, seed=self.seed)
        if self.prepares:
            drive.precondition(progress=told)
        return drive

    def run(self, drive: Drive | None, told: Told) -> Done:
        """The result of the workload on a drive."""
        assert drive is not None
        return Done(*result_text(drive, self.load, told, store.PARTS))


@dataclass
class PointJob(Job):
    """The run of a point of a sweep."""

    point: Point = field(kw_only=True)
    figures: dict[str, float] | None = None
    """Main figures of its result, by their keys; None if it has not run. All of the results would fill the memory."""
    digest: str = ""

    @property
    def is_due(self) -> bool:
        """True if it has to run."""
        return self.figures is None and self.error is None

    def take(self, done: Done) -> None:
        """Takes its result.

        :raises KeyboardInterrupt: if it is partial.
        """
        result = json.loads(done.parts)
        if result["partial"]:
            raise KeyboardInterrupt
        self.text = done.text
        self.done(result)

    def done(self, result: dict[str, Any]) -> None:
        """Takes the figures of its result, or of the parts of it that :func:`store.parts` gives."""
        values = {key: value_of(result, key) for key in FIGURES_OF_POINTS}
        self.figures = {key: value for key, value in values.items() if value is not None}
        self.digest = result["digest"]


def jobs(plan: Plan, points: Sequence[Point], kept: Store | None) -> list[PointJob]:
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


def checked(plan: Plan, points: Sequence[Point], kept: Store | None) -> list[PointJob]:
    """The runs of some points. What is wrong with one of them is its error, also if it is wrong with all."""
    desk = _Desk(plan)
    # Most of a check is in the engine, where several go on at once.
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        found = list(threads.map(desk.job, points))
    for job in found:
        if kept is not None and job.error is None:
            result = kept.figures(job.key)
            if result is not None:
                job.done(result)
                job.known = True
    return found


class _Drive(NamedTuple):
    """What points need to know of a drive. All of its configuration would take as long to compare as to check."""

    digest: str
    """Of the whole configuration."""
    prepares: bool
    state_bytes: int

    @classmethod
    def of(cls, resolved: Mapping[str, Any]) -> _Drive:
        """That of a resolved drive."""
        config = resolved["config"]
        steps = config["precondition"]
        prepares = bool(steps["fill"] or steps["overwrites"] or steps["steady_state"])
        return cls(store.digest(config), prepares, resolved["derived"]["state_bytes"])


class _Desk:
    """Checks points; drives and workloads that several share are checked once."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.contents = Contents()
        self.drives: dict[str, _Drive] = {}
        self.loads: dict[str, tuple[Workload, str]] = {}

    def job(self, point: Point) -> PointJob:
        """The run of a point."""
        job = PointJob(point=point)
        try:
            self._complete(job)
        except InputError as error:
            job.error = str(error)
        return job

    def _complete(self, job: PointJob) -> None:
        plan, point = self.plan, job.point
        every = {**plan.sets, **point.sets}
        drive = self._drive(point.drive, every)
        workload, load = self._load(point.load, {**plan.load_sets, **point.load_sets})
        once = plan.precondition == ONCE
        base = self._drive(point.drive, plan.sets) if once else None
        job.group = store.key((base or drive).digest, point.seed)
        job.key = store.key(drive.digest, point.seed, base and base.digest, load)
        job.prepares = (base or drive).prepares
        job.state_bytes = drive.state_bytes
        common, own = (plan.sets, point.sets) if once else (every, {})
        job.task = PointTask(point.drive, common, point.seed, job.prepares, own, workload)

    def _drive(self, drive: str, sets: dict[str, Any]) -> _Drive:
        at = json.dumps([drive, sets], sort_keys=True)
        if at not in self.drives:
            self.drives[at] = _Drive.of(api.resolve(drive, sets))
        return self.drives[at]

    def _load(self, load: Any, sets: dict[str, Any]) -> tuple[Workload, str]:  # noqa: ANN401
        at = json.dumps([load if isinstance(load, str) else id(load), sets], sort_keys=True)
        if at not in self.loads:
            if not isinstance(load, str) and sets:
                raise InputError(
                    "overrides of a workload go with the name of a file; a Workload has its options already"
                )
            read = Workload.given(load, sets if isinstance(load, str) else None)
            self.loads[at] = read, store.digest(store.of_load(load, read.options, self.contents))
        return self.loads[at]
