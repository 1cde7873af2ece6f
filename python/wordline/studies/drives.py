"""Experiments on whole drives: preconditioned and warmed up once, forked for each experiment."""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from wordline.studies import traces
from wordline.sweeps.jobs import Done

if TYPE_CHECKING:
    from wordline.api.drive import Drive
    from wordline.api.workload import Workload
    from wordline.base.progress import Told

KEPT = 2
"""Prepared drives in memory: preparing takes longer than most runs."""


class Shelf:
    """Prepared drives in memory by the text of their description, the one used last at the end.

    Several threads may ask at once: a drive is made by the first, and only one thread at a time forks it.
    """

    def __init__(self) -> None:
        self.drives: dict[str, Drive] = {}
        self._own = Lock()
        self._locks: dict[str, Lock] = {}
        """For each description, held while its drive is made or forked."""

    def fork(self, description: Mapping[str, Any], make: Callable[[], Drive]) -> Drive:
        """A fork of the drive of that description, which is made if it is not here."""
        text = json.dumps(description, sort_keys=True)
        with self._own:
            lock = self._locks.setdefault(text, Lock())
        with lock:
            with self._own:
                drive = self.drives.pop(text, None)
            drive = drive or make()
            fork = drive.fork()
            with self._own:
                while len(self.drives) >= KEPT:
                    del self.drives[next(iter(self.drives))]
                self.drives[text] = drive
        return fork


SHELF = Shelf()
"""The prepared drives of this process."""


@dataclass(frozen=True)
class OnDrive:
    """Runs workloads on a prepared drive; its result is that of the last one."""

    experiment: dict[str, Any]
    """What to run, a dictionary with

    - ``drive``: the preset; ``sets``: overrides of its keys; ``precondition``: arguments of
      :meth:`wordline.Drive.precondition`. Experiments in which these are the same start from the same drive;
    - ``then``: overrides for this experiment, which keep the drive's shape;
    - ``warm``, if there: a job as below. Experiments that have ``then`` and this in common, too, start from one
      drive on which it was run;
    - ``jobs``: run one after the other: all but the last warm the drive up. Each has the options of ``[[job]]``; or
      ``stand_in``, a description of a trace as ``wordline trace synth`` takes it, and ``replay``, options of
      ``[trace]``; or ``stand_ins`` in its place, several of them, each with the first byte of its region, ``at``, and
      the description, ``of``; or is one of :meth:`wordline.studies.traces.Recorded.job`;
    - ``intervals``, if there: what :func:`watched` adds to the result;
    - ``replays``, if there: how often the last job is carried out, without time. The result is that of a replay;
    - ``seed`` of all random numbers.
    """
    kept: Sequence[str] | None = None
    """Parts of the result that are needed; None for all."""

    @property
    def is_warm(self) -> bool:
        """True if its drive is warmed up before it is forked."""
        return "warm" in self.experiment

    @property
    def sets(self) -> Mapping[str, Any]:
        """Overrides of its fork."""
        return {} if self.is_warm else self.experiment["then"]

    @property
    def start(self) -> dict[str, Any]:
        """What describes the drive that it starts from."""
        keys = ("drive", "sets", "precondition", "seed", *(("then", "warm") if self.is_warm else ()))
        return {key: self.experiment[key] for key in keys}

    def begin(self, told: Told) -> Drive:
        """The prepared drive that it starts from."""
        return warmed(self.start, told) if self.is_warm else prepared(self.start, told)

    def run(self, drive: Drive | None, told: Told) -> Done:
        """Runs the workloads on a drive of its own; gives the result of the last."""
        from wordline.api.drive import result_text

        assert drive is not None
        seed = self.experiment["seed"]
        # With the same random numbers, reads would follow the order of earlier writes, and so meet one die for a while.
        *before, (last, job) = enumerate(self.experiment["jobs"], seed + 1)
        for each, earlier in before:
            drive.run(workload(earlier, seed), seed=each, progress=told)
        load = workload(job, seed)
        if "replays" in self.experiment:
            replay = drive.replay(load, times=self.experiment["replays"], seed=last, progress=told)
            return Done(json.dumps(replay), "")
        if "intervals" in self.experiment:
            return Done(json.dumps(watched(drive, load, last, self.experiment["intervals"], told)), "")
        return Done(*result_text(drive, load, told, [*self.kept, "partial"] if self.kept else (), last))


def watched(drive: Drive, load: Workload, seed: int, wanted: Mapping[str, Any], told: Told) -> dict[str, Any]:
    """Runs a workload, and adds columns of its table of intervals to the result, under ``intervals``.

    Each is a list of floating-point numbers, with NaN for a missing value. It needs pyarrow.

    :param wanted: the length of an interval, ``every``, such as ``"100ms"``, and the ``columns``.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = drive.run(load, seed=seed, progress=told, tables=["intervals"], out=folder, interval=wanted["every"])
        table = result.table("intervals").to_table(columns=list(wanted["columns"]))
    # The file is gone.
    del result["tables"]
    result["intervals"] = {it: table[it].to_numpy().astype(float).tolist() for it in wanted["columns"]}
    return result


def prepared(start: Mapping[str, Any], told: Told) -> Drive:
    """A preconditioned drive.

    :param start: the keys of an experiment that tell its preset, overrides, preconditioning and seed.
    """
    from wordline.api.drive import Drive

    def make() -> Drive:
        drive = Drive(start["drive"], start["sets"], seed=start["seed"])
        drive.precondition(**start["precondition"], progress=told)
        return drive

    return SHELF.fork({key: start[key] for key in ("drive", "sets", "precondition", "seed")}, make)


def warmed(start: Mapping[str, Any], told: Told) -> Drive:
    """The same with other overrides, on which a job was run: the keys ``then`` and ``warm`` tell them."""

    def make() -> Drive:
        drive = prepared(start, told).fork(start["then"])
        drive.run(workload(start["warm"], start["seed"]), seed=start["seed"], progress=told)
        return drive

    return SHELF.fork(start, make)


def workload(job: Mapping[str, Any], seed: int) -> Workload:
    """The workload of a job of an experiment: a ``[[job]]``, or the replay of a true trace or a stand-in."""
    from wordline.api.workload import Workload

    if "trace" in job:
        return traces.workload(job)
    if "stand_ins" in job:
        return Workload.table(_side_by_side(json.dumps(job["stand_ins"], sort_keys=True), seed), **job["replay"])
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


@lru_cache(maxsize=16)
def _side_by_side(descriptions: str, seed: int) -> Any:  # noqa: ANN401
    """The requests of several synthesised traces by time, each in a region and with random numbers of its own."""
    from wordline.api.workload import Workload

    rows: list[tuple[float, int, list[str]]] = []
    with tempfile.TemporaryDirectory() as folder:
        for nth, each in enumerate(json.loads(descriptions)):
            path = Path(folder) / f"{nth}.csv"
            write_stand_in(each["of"], seed + nth, path)
            with path.open(newline="") as file:
                head, *lines = csv.reader(line for line in file if not line.startswith("#"))
            time, offset = head.index("time_us"), head.index("offset_bytes")
            for line in lines:
                line[offset] = str(int(line[offset]) + each["at"])
                rows.append((float(line[time]), nth, line))
        both = Path(folder) / "both.csv"
        with both.open("w", newline="") as file:
            csv.writer(file).writerows([head, *(line for *_, line in sorted(rows, key=lambda row: row[:2]))])
        return Workload.trace(both).to_frame()


def write_stand_in(description: Mapping[str, Any], seed: int, path: Path) -> None:
    """Writes a stand-in, which is described as ``wordline trace synth`` takes it, as a Parquet file."""
    from wordline import _core
    from wordline.api import functions as api

    _core.trace_synth(None, api.set_texts({**description, "seed": seed}), str(path), str(path), None, _silent)


def _silent(*_: object) -> None:
    """Takes no notice of progress."""
