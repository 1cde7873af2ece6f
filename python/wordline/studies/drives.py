"""Experiments on whole drives: preconditioned and warmed up once, forked for each experiment."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordline.studies import traces

if TYPE_CHECKING:
    from wordline.api.drive import Drive
    from wordline.api.workload import Workload

Report = Callable[[str, float | None, int, float], None]

KEPT = 2
"""Prepared drives in memory: preparing takes longer than most runs."""

_prepared: dict[str, Drive] = {}
"""Preconditioned and warmed-up drives by the text of their description, the one used last at the end."""


def run(experiment: dict[str, Any], told: Report) -> dict[str, Any]:
    """Runs workloads on a prepared drive, and returns the result of the last one.

    :param experiment: what to run, a dictionary with

        - ``drive``: the preset; ``sets``: overrides of its keys; ``precondition``: arguments of
          :meth:`wordline.Drive.precondition`. Experiments in which these are the same start from the same drive;
        - ``then``: overrides for this experiment, which keep the drive's shape;
        - ``warm``, if there: a job as below. Experiments that have ``then`` and this in common, too, start from one
          drive on which it was run;
        - ``jobs``: run one after the other: all but the last warm the drive up. Each has the options of ``[[job]]``; or
          ``stand_in``, a description of a trace as ``wordline trace synth`` takes it, and ``replay``, options of
          ``[trace]``; or is one of :meth:`wordline.studies.traces.Recorded.job`;
        - ``intervals``, if there: what :func:`watched` adds to the result;
        - ``seed`` of all random numbers.
    :param told: receives the progress.
    """
    seed = experiment["seed"]
    drive = (
        warmed(experiment, told).fork() if "warm" in experiment else prepared(experiment, told).fork(experiment["then"])
    )
    # With the same random numbers, reads would follow the order of earlier writes, and so meet one die for a while.
    *before, (last, job) = enumerate(experiment["jobs"], seed + 1)
    for each, earlier in before:
        drive.run(workload(earlier, seed), seed=each, progress=told)
    load = workload(job, seed)
    if "intervals" in experiment:
        return watched(drive, load, last, experiment["intervals"], told)
    return drive.run(load, seed=last, progress=told)


def watched(drive: Drive, load: Workload, seed: int, wanted: Mapping[str, Any], told: Report) -> dict[str, Any]:
    """Runs a workload, and adds columns of its table of intervals to the result, under ``intervals``.

    Each is an array of floating-point numbers, with NaN for a missing value. It needs pyarrow.

    :param wanted: the length of an interval, ``every``, such as ``"100ms"``, and the ``columns``.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = drive.run(load, seed=seed, progress=told, tables=["intervals"], out=folder, interval=wanted["every"])
        table = result.table("intervals").to_table(columns=list(wanted["columns"]))
    # The file is gone.
    del result["tables"]
    result["intervals"] = {it: table[it].to_numpy().astype(float) for it in wanted["columns"]}
    return result


def prepared(experiment: dict[str, Any], told: Report) -> Drive:
    """The preconditioned drive that an experiment starts from. It must not be run itself, only forks of it."""
    from wordline.api.drive import Drive

    def make() -> Drive:
        drive = Drive(experiment["drive"], experiment["sets"], seed=experiment["seed"])
        drive.precondition(**experiment["precondition"], progress=told)
        return drive

    return _kept(experiment, ("drive", "sets", "precondition", "seed"), make)


def warmed(experiment: dict[str, Any], told: Report) -> Drive:
    """The drive that an experiment with ``warm`` starts from. It must not be run itself, only forks of it."""

    def make() -> Drive:
        drive = prepared(experiment, told).fork(experiment["then"])
        drive.run(workload(experiment["warm"], experiment["seed"]), seed=experiment["seed"], progress=told)
        return drive

    return _kept(experiment, ("drive", "sets", "precondition", "seed", "then", "warm"), make)


def _kept(experiment: dict[str, Any], keys: tuple[str, ...], make: Callable[[], Drive]) -> Drive:
    text = json.dumps({key: experiment[key] for key in keys}, sort_keys=True)
    drive = _prepared.pop(text, None) or make()
    while len(_prepared) >= KEPT:
        del _prepared[next(iter(_prepared))]
    _prepared[text] = drive
    return drive


def workload(job: Mapping[str, Any], seed: int) -> Workload:
    """The workload of a job of an experiment: a ``[[job]]``, or the replay of a true trace or a stand-in."""
    from wordline.api.workload import Workload

    if "trace" in job:
        return traces.workload(job)
    if "stand_in" not in job:
        return Workload.job(**job)
    return Workload.table(_stand_in(json.dumps(job["stand_in"], sort_keys=True), seed), **job.get("replay", {}))


@lru_cache(maxsize=16)
def _stand_in(description: str, seed: int) -> Any:  # noqa: ANN401
    """The requests of a synthesised trace: the systems of a study replay the same ones."""
    from wordline.api.workload import Workload

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stand-in.parquet"
        write_stand_in(json.loads(description), seed, path)
        return Workload.trace(path).to_frame()


def write_stand_in(description: Mapping[str, Any], seed: int, path: Path) -> None:
    """Writes a stand-in, which is described as ``wordline trace synth`` takes it, as a Parquet file."""
    from wordline import _core
    from wordline.api import functions as api

    _core.trace_synth(None, api.set_texts({**description, "seed": seed}), str(path), str(path), None, _silent)


def _silent(*_: object) -> None:
    """Takes no notice of progress."""
