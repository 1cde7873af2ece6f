"""Searches of a design space for stated goals, by Optuna.

Trials are suggested in batches of a fixed size, whose runs go in parallel, so that a search is the same on every
machine. Their results are kept as those of a sweep: a search that was interrupted repeats its suggestions, and finds
the results there.
"""

from __future__ import annotations

import csv
import io
import os
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordline import _core
from wordline._core import InputError
from wordline.api.frames import Column, Frame
from wordline.base.errors import or_nearest
from wordline.results.keyfigures import FIGURES
from wordline.sweeps import file, work
from wordline.sweeps.file import ONCE, Plan
from wordline.sweeps.function import places, run_due
from wordline.sweeps.outcome import Sweep, column, status
from wordline.sweeps.space import DRIVE, LOAD, SEED, Range, load_column
from wordline.sweeps.store import FIGURES_OF_POINTS, Store
from wordline.sweeps.work import PointJob

if TYPE_CHECKING:
    from distributed import Client
    from optuna import Study
    from optuna.trial import FrozenTrial, Trial

    from wordline.api.workload import Workload
    from wordline.base.progress import Told

MINIMISE, MAXIMISE, LIMIT = "minimise", "maximise", "limit"
BELOW, ABOVE = "below", "above"

TRIALS, BATCH = 60, 8
"""How many points are tried if nothing else is said, and how many of them are suggested at once."""

MOST_TRIALS = 100_000

SEARCH_SEED = 1
"""Of the suggestions. It is not that of the runs, so that the same points are tried with other seeds."""

KEYS = (*file.SEARCH_KEYS, "trials", "batch", MINIMISE, MAXIMISE, LIMIT)


@dataclass(frozen=True)
class Limit:
    """A bound that a figure must keep."""

    key: str
    above: bool
    value: float

    def excess(self, figures: Mapping[str, float]) -> float:
        """How far a point is beyond it, relative to it; 0 or less if it keeps it."""
        beyond = figures[self.key] - self.value
        return (-beyond if self.above else beyond) / (abs(self.value) or 1.0)


@dataclass
class Wanted:
    """What a search is for."""

    plan: Plan
    goals: dict[str, bool]
    """The figures that matter, by their keys; true if more is better."""
    limits: list[Limit] = field(default_factory=list)
    trials: int = TRIALS
    batch: int = BATCH


@dataclass
class Tried:
    """A trial: its runs, one for each seed."""

    jobs: list[PointJob]
    error: str | None = None
    figures: dict[str, float] = field(default_factory=dict)
    """Means over the seeds, of the figures that all of them have."""

    @property
    def factors(self) -> dict[str, Any]:
        """The values of what varies."""
        return {name: value for name, value in self.jobs[0].point.factors.items() if name != "seed"}


class Search:
    """The trials of a search, in their order."""

    def __init__(self, wanted: Wanted, tried: list[Tried], sweep: Sweep) -> None:
        self.wanted = wanted
        self.tried = tried
        self.sweep = sweep
        """All trials as a sweep, with its frame, report and runs."""
        self.interrupted = sweep.interrupted

    @property
    def best(self) -> list[Tried]:
        """The best trial; with several goals those that no other beats in all of them, by the first goal.

        Trials that do not keep the limits are none of these.
        """
        kept = [tried for tried in self.tried if self.keeps(tried)]
        goals = self.wanted.goals

        def value(tried: Tried, goal: str) -> float:
            return -tried.figures[goal] if goals[goal] else tried.figures[goal]

        scores = [tuple(value(tried, goal) for goal in goals) for tried in kept]
        front: dict[tuple[float, ...], Tried] = {}
        for score, tried in zip(scores, kept, strict=True):
            if score not in front and not any(_beats(other, score) for other in scores):
                front[score] = tried
        return [front[score] for score in sorted(front)]

    def keeps(self, tried: Tried) -> bool:
        """True if a trial keeps all limits."""
        return tried.error is None and all(limit.excess(tried.figures) <= 0 for limit in self.wanted.limits)

    @property
    def nearest(self) -> Tried | None:
        """The trial that is least beyond the limits, if any has run."""
        ran = [tried for tried in self.tried if tried.error is None]
        excess = {id(it): max((limit.excess(it.figures) for limit in self.wanted.limits), default=0.0) for it in ran}
        return min(ran, key=lambda it: excess[id(it)], default=None)

    def csv(self) -> str:
        """A row for each trial: number, factors, figures of goals and limits, whether it is a best one, error."""
        names = [name for name in self.sweep.columns if name != "seed"]
        figures = list(dict.fromkeys([*self.wanted.goals, *(limit.key for limit in self.wanted.limits)]))
        best = {id(tried) for tried in self.best}
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["trial", *names, *figures, "keeps_limits", "best", "error"])
        for number, tried in enumerate(self.tried):
            values = [*(tried.factors[name] for name in names), *(tried.figures.get(key) for key in figures)]
            told = [int(self.keeps(tried)), int(id(tried) in best), tried.error]
            writer.writerow([number, *values, *told])
        return text.getvalue()

    def frame(self) -> Frame:
        """A row for each trial: number, factors, figures as means over the seeds, whether it is a best one."""
        names = [name for name in self.sweep.columns if name != SEED]
        keys = [key for key in FIGURES_OF_POINTS if any(key in tried.figures for tried in self.tried)]
        best = {id(tried) for tried in self.best}
        figures = {key: [tried.figures.get(key) for tried in self.tried] for key in keys}
        columns: list[Column] = [
            ("trial", "int", list(range(len(self.tried)))),
            *(column(name, [tried.factors[name] for tried in self.tried]) for name in names),
            *((key, "float", [None if it is None else float(it) for it in values]) for key, values in figures.items()),
            ("keeps_limits", "bool", [self.keeps(tried) for tried in self.tried]),
            ("best", "bool", [id(tried) in best for tried in self.tried]),
            ("status", "text", [status(tried.error, True) for tried in self.tried]),
            ("error", "text", [tried.error for tried in self.tried]),
        ]
        return Frame.of(columns)

    def document(self) -> dict[str, Any]:
        """All of it for JSON."""
        best = {id(tried) for tried in self.best}
        return {
            "schema": 1,
            "version": _core.version(),
            "title": self.wanted.plan.title,
            "partial": self.interrupted,
            "goals": {key: MAXIMISE if more else MINIMISE for key, more in self.wanted.goals.items()},
            "limits": [{"key": it.key, (ABOVE if it.above else BELOW): it.value} for it in self.wanted.limits],
            "trials": [
                {
                    "factors": tried.factors,
                    "digests": [job.digest for job in tried.jobs],
                    "figures": tried.figures,
                    "keeps_limits": self.keeps(tried),
                    "best": id(tried) in best,
                    "error": tried.error,
                }
                for tried in self.tried
            ],
        }

    def __repr__(self) -> str:
        """The search in a line."""
        return f"<Search for {', '.join(self.wanted.goals)}: {len(self.tried)} trials, {len(self.best)} best>"


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    """True if one is as good in all goals, and better in one."""
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def optimise(
    drive: file.Place | Sequence[file.Place],
    load: Workload | file.Place | Sequence[Workload | file.Place],
    vary: Mapping[str, object] | None = None,
    vary_load: Mapping[str, object] | None = None,
    *,
    minimise: str | Sequence[str] = (),
    maximise: str | Sequence[str] = (),
    limit: Mapping[str, Mapping[str, float]] | None = None,
    trials: int = TRIALS,
    batch: int = BATCH,
    sets: Mapping[str, object] | None = None,
    load_sets: Mapping[str, object] | None = None,
    seeds: int | Sequence[int] | None = None,
    precondition: str = "each",
    out: file.Place | None = None,
    jobs: int | None = None,
    dask: Client | str | None = None,
    progress: Told | bool | None = None,
) -> Search:
    """Searches a design space for the best point, by Optuna's tree-structured Parzen estimator.

    :param drive: as for :func:`wordline.sweep`, as are ``load``, ``vary`` (also with ranges), ``vary_load``, ``sets``,
        ``load_sets``, ``seeds`` (a trial's figures are means over them), ``precondition``, ``out``, ``jobs``, ``dask``
        and ``progress``.
    :param minimise: keys of figures of a result that should be low, such as ``"latency_us.read.p99_99"``.
    :param maximise: keys of figures that should be high.
    :param limit: bounds that figures must keep: ``{"write_amplification": {"below": 3}}``.
    :param trials: how many points are tried.
    :param batch: how many are suggested at once. More let more cores work, and fewer learn more from each.
    :return: the trials, with the best.
    :raises wordline.InputError: if something is wrong, or no point of the first batch can run.
    :raises wordline.RunError: if the cluster cannot do the work.
    :raises KeyboardInterrupt: after Ctrl-C. With ``out``, what is done is kept.
    """
    from wordline.base.progress import shown

    given = {
        "drive": places(drive),
        "load": places(load),
        "vary": vary,
        "vary_load": vary_load,
        "set": sets,
        "load_set": load_sets,
        "seeds": seeds if seeds is None or isinstance(seeds, int) else list(seeds),
        "precondition": precondition,
        MINIMISE: minimise or None,
        MAXIMISE: maximise or None,
        LIMIT: limit,
        "trials": trials,
        "batch": batch,
    }
    if dask is not None and jobs is not None:
        raise InputError("jobs: the cluster says how many runs there are at once; give jobs or dask")
    asked = wanted({key: value for key, value in given.items() if value is not None})
    with shown(progress) as told:
        done = carry_out(asked, out, jobs, told, lambda _: None, dask)
    if done.interrupted:
        raise KeyboardInterrupt
    return done


def read(name: str) -> Wanted:
    """The search that a file describes.

    :raises wordline.InputError: if it cannot be read or is wrong.
    """
    given = file.loaded(name)
    try:
        return wanted(given, Path(name).parent)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def wanted(given: Mapping[str, Any], beside: Path | None = None) -> Wanted:
    """The search that the keys of a file describe.

    :raises wordline.InputError: if it is wrong.
    """
    file.known(given, KEYS, "")
    goals = dict(_goals(given))
    if not goals:
        raise InputError(f'a search needs a goal: add {MINIMISE} = "latency_us.read.p99_99" or {MAXIMISE} = "iops"')
    limits = list(_limits(file.table(LIMIT, given)))
    numbers = []
    for key, default in (("trials", TRIALS), ("batch", BATCH)):
        value = given.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_TRIALS:
            raise InputError(f"{key} = {value!r}: must be a whole number from 1 to {MOST_TRIALS:,}")
        numbers.append(value)
    plan = file.plan({key: value for key, value in given.items() if key in file.SEARCH_KEYS}, beside)
    axes = _axes(plan)
    if not axes:
        raise InputError("nothing varies; add values or ranges in [vary] or [vary_load]")
    return Wanted(plan, goals, limits, *numbers)


def _goals(given: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    seen = set()
    for name, more in ((MINIMISE, False), (MAXIMISE, True)):
        keys = given.get(name, [])
        for key in [keys] if isinstance(keys, str) else keys if isinstance(keys, list | tuple) else [keys]:
            _figure(name, key)
            if key in seen:
                raise InputError(f"{name} = {key!r}: it is a goal already")
            seen.add(key)
            yield key, more


def _limits(given: Mapping[str, Any]) -> Iterator[Limit]:
    for key, bounds in _bounds(given):
        _figure(LIMIT, key)
        if not isinstance(bounds, Mapping) or not bounds:
            raise InputError(f"{LIMIT}.{key} = {bounds!r}: must be a table, as in {{ {BELOW} = 3 }}")
        for side, value in bounds.items():
            if side not in (BELOW, ABOVE):
                raise InputError(f"{LIMIT}.{key}.{side}: no such bound; {or_nearest(side, [BELOW, ABOVE], 'bounds')}")
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise InputError(f"{LIMIT}.{key}.{side} = {value!r}: must be a number")
            yield Limit(key, side == ABOVE, float(value))


def _bounds(given: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The limits by dotted keys: TOML makes tables of keys with dots that are not quoted."""
    for key, value in given.items():
        if isinstance(value, Mapping) and not set(value) & {BELOW, ABOVE} and f"{prefix}{key}" not in FIGURES_OF_POINTS:
            yield from _bounds(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _figure(name: str, key: object) -> None:
    """:raises wordline.InputError: if it is no figure of a result."""
    if key not in FIGURES_OF_POINTS:
        raise InputError(
            f"{name} = {key!r}: no figure of a result; {or_nearest(str(key), list(FIGURES_OF_POINTS), 'figures')}"
        )


def _axes(plan: Plan) -> dict[str, Sequence[Any] | Range]:
    """What varies, by the names of columns; first the drive and the workload."""
    space = plan.space
    several = {name: given for name, given in ((DRIVE, space.drives), (LOAD, space.loads)) if len(given) > 1}
    return {**several, **space.drive_keys, **{load_column(key): values for key, values in space.load_keys.items()}}


def carry_out(
    wanted: Wanted,
    out: file.Place | None,
    jobs: int | None,
    told: Told,
    ended: Callable[[Sequence[PointJob]], None],
    cluster: Client | str | None = None,
) -> Search:
    """Does a search here or on a cluster, as far as it is not interrupted.

    :raises wordline.InputError: if Optuna is missing, or no point of the first batch can run.
    :raises wordline.RunError: if the cluster cannot do the work.
    :raises OSError: if a result cannot be kept.
    """
    with ExitStack() as stack:
        if cluster is not None:
            from wordline.sweeps.cluster import connected

            # One client for all batches: with it the preconditioned drives stay on the workers.
            cluster = stack.enter_context(connected(cluster))
        return _searched(wanted, out, jobs, told, ended, cluster)


def _searched(
    wanted: Wanted,
    out: file.Place | None,
    jobs: int | None,
    told: Told,
    ended: Callable[[Sequence[PointJob]], None],
    cluster: Client | None,
) -> Search:
    study = _study(wanted)
    kept = None if out is None else Store(Path(os.fspath(out)) / "results")
    drives: dict[str, Any] | None = {} if wanted.plan.precondition == ONCE else None
    known: dict[str, PointJob] = {}
    tried: list[Tried] = []
    heard: set[str | None] = set()
    """Errors of points that cannot run, each told once."""
    interrupted = False
    while len(tried) < wanted.trials and not interrupted:
        trials = [study.ask() for _ in range(min(wanted.batch, wanted.trials - len(tried)))]
        batch = [Tried(_jobs(wanted, trial, kept)) for trial in trials]
        if not tried and all(job.error is not None for it in batch for job in it.jobs):
            raise InputError(f"no point of the first {len(batch)} can run; the first: {batch[0].jobs[0].error}")
        found = [job for it in batch for job in it.jobs]
        refused = {job.error: job for job in found if job.error is not None and job.error not in heard}
        heard.update(refused)
        ended(list(refused.values()))
        new = {job.key: job for job in found if job.is_due and job.key not in known}

        def telling(_: str, share: float | None, __: int, ___: float, done: int = len(tried)) -> None:
            here = done + (share or 0.0) * len(batch)  # noqa: B023
            told(f"search: {done} of {wanted.trials} trials", here / wanted.trials, 0, 0.0)

        interrupted = run_due(list(new.values()), kept, jobs, telling, ended, cluster, drives)
        known.update({key: job for key, job in new.items() if not job.is_due})
        for job in found:
            _repeat(job, known.get(job.key))
        for trial, it in zip(trials, batch, strict=True):
            if any(job.is_due for job in it.jobs):
                # What ended after it is kept, and known when the search goes on, in its place.
                break
            _settle(it, wanted)
            tried.append(it)
            _tell(study, trial, it, wanted)
    columns = wanted.plan.space.columns()
    sweep = Sweep(wanted.plan.title, columns, [job for it in tried for job in it.jobs], interrupted, kept)
    return Search(wanted, tried, sweep)


def _study(wanted: Wanted) -> Study:
    """:raises wordline.InputError: if Optuna is missing."""
    try:
        import optuna
    except ModuleNotFoundError:
        raise InputError("a search needs Optuna: pip install 'wordline[optimise]'") from None
    import warnings

    def excess(trial: FrozenTrial) -> Sequence[float]:
        return trial.user_attrs[LIMIT]

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        # In some versions these options are new, and said to be so.
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.TPESampler(
            seed=SEARCH_SEED, constant_liar=True, constraints_func=excess if wanted.limits else None
        )
    directions = ["maximize" if more else "minimize" for more in wanted.goals.values()]
    return optuna.create_study(directions=directions, sampler=sampler)


def _jobs(wanted: Wanted, trial: Trial, kept: Store | None) -> list[PointJob]:
    """The runs of a trial, one for each seed."""
    plan, space = wanted.plan, wanted.plan.space
    chosen = {name: _suggested(trial, name, values) for name, values in _axes(plan).items()}
    drive, load = chosen.pop(DRIVE, space.drives[0]), chosen.pop(LOAD, space.loads[0])
    sets = {key: chosen[key] for key in space.drive_keys}
    load_sets = {key: chosen[load_column(key)] for key in space.load_keys}
    points = space.expanded([(drive, load, sets, load_sets)])
    return work.checked(plan, points, kept)


def _suggested(trial: Trial, name: str, values: Sequence[Any] | Range) -> Any:  # noqa: ANN401
    if isinstance(values, Range):
        if values.whole:
            low, high = values.at(0), values.at(1)
            return trial.suggest_int(name, int(low), int(high), log=values.logarithmic)
        return float(f"{trial.suggest_float(name, values.low, values.high, log=values.logarithmic):.6g}")
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        # Neighbours in a list of numbers are alike.
        ordered = sorted(values)
        return ordered[trial.suggest_int(name, 0, len(ordered) - 1)]
    return values[trial.suggest_categorical(name, list(range(len(values))))]


def _repeat(job: PointJob, known: PointJob | None) -> None:
    """A point that was tried before has the same result."""
    if known is not None and known is not job and job.is_due:
        job.figures, job.digest, job.text, job.error, job.known = (
            known.figures,
            known.digest,
            known.text,
            known.error,
            True,
        )


def _settle(it: Tried, wanted: Wanted) -> None:
    """Notes the figures of a trial whose runs have ended, or why it has none."""
    it.error = next((job.error for job in it.jobs if job.error is not None), None)
    if it.error is not None:
        return
    every = [job.figures or {} for job in it.jobs]
    it.figures = {
        key: statistics.fmean(f[key] for f in every) for key in FIGURES_OF_POINTS if all(key in f for f in every)
    }
    needed = [*wanted.goals, *(limit.key for limit in wanted.limits)]
    missing = next((key for key in needed if key not in it.figures), None)
    if missing is not None:
        it.error = f"its result has no {missing}: nothing of that kind happened"


def _tell(study: Study, trial: Trial, it: Tried, wanted: Wanted) -> None:
    """Tells Optuna what a trial came to."""
    from optuna.trial import TrialState

    if it.error is not None:
        study.tell(trial, state=TrialState.FAIL)
        return
    if wanted.limits:
        trial.set_user_attr(LIMIT, [limit.excess(it.figures) for limit in wanted.limits])
    study.tell(trial, [it.figures[goal] for goal in wanted.goals])


def written(key: str, value: float) -> tuple[str, str]:
    """A figure as it is told: its name and its value."""
    for figure in FIGURES:
        if figure.key == key:
            return figure.name, figure.text(value)
    return key, f"{value:.6g}"
