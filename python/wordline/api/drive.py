"""A drive that keeps its state from one workload to the next."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

from wordline.api import functions as api
from wordline.api.spoken import speaking
from wordline.base import units

if TYPE_CHECKING:
    from wordline._core import Array
    from wordline._core import Drive as OneDrive
    from wordline.api.replays import Replay
    from wordline.api.runs import Run
    from wordline.api.workload import Workload
    from wordline.base.progress import Told
    from wordline.policy import Policy

    Engine = Array | OneDrive


class Drive:
    """A simulated drive.

    It starts empty or from a snapshot, and each :meth:`run` continues from the state that the last one left. Its
    configuration never changes; :meth:`fork` makes another drive in the same state, with other policies if wanted. Only
    one thread at a time can use a drive. Several drives run in parallel in several threads: runs release the
    interpreter's lock::

        drive = wordline.Drive("tlc-nvme", {"capacity.raw_over_logical": 1.28}, seed=7)
        drive.precondition(fill=True, overwrites=2)
        other = drive.fork({"victim.policy": "fifo"})
        run = drive.run(wordline.Workload.job(rw="randwrite", bs="4k", iodepth=32, number_ios=100_000))
    """

    def __init__(
        self,
        drive: str | os.PathLike[str],
        sets: api.Sets = None,
        *,
        seed: int | None = None,
        snapshot: str | os.PathLike[str] | None = None,
        policies: Iterable[type[Policy]] = (),
    ) -> None:
        """Makes a drive. ``[precondition]`` is carried out only by :meth:`precondition`.

        :param drive: a preset's name or a TOML file, also that of an array of drives.
        :param sets: overrides of its keys.
        :param seed: of all its random streams; the engine's own if absent.
        :param snapshot: a preconditioned drive whose state this one takes over.
        :param policies: classes of policies in Python that it may name (see :mod:`wordline.policy`).
        :raises wordline.InputError: if configuration or snapshot are wrong.
        """
        from wordline import _core
        from wordline.policy import given

        path = None if snapshot is None else os.fspath(snapshot)
        texts, own_seed = api.set_texts(sets), api.seed_of(seed)
        # A class instead of a list gets a better message than "not iterable".
        self._policies: Iterable[type[Policy]] = policies if isinstance(policies, type) else tuple(policies)
        with speaking():
            kind = _core.Array if _core.is_array(os.fspath(drive)) else _core.Drive
            self._engine: Engine = kind(os.fspath(drive), texts, own_seed, path, policies=given(self._policies))

    @classmethod
    def _of(cls, engine: Engine, policies: Iterable[type[Policy]]) -> Drive:
        drive = cls.__new__(cls)
        drive._engine, drive._policies = engine, policies
        return drive

    def __copy__(self) -> Drive:
        """A drive of its own in the same state, as :meth:`fork` makes it."""
        return self.fork()

    def __deepcopy__(self, memo: dict[int, object]) -> Drive:
        """The same: a copy shares nothing that can change."""
        return self.fork()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles configuration and state, and classes of policies by their names.

        A policy in Python starts afresh in the other process, as from a snapshot.

        :raises wordline.RunError: if the drive is running or worn out.
        """
        return _unpacked, (*self._engine.pack(), self._policies)

    @cached_property
    def _described(self) -> dict[str, Any]:
        return json.loads(self._engine.describe())

    @property
    def name(self) -> str:
        """Its name: the preset's, or that in its file."""
        return self._described["name"]

    @property
    def title(self) -> str:
        """Its name in words."""
        return self._described["title"]

    @property
    def config(self) -> dict[str, Any]:
        """Every key of its configuration, section by section."""
        return self._described["config"]

    @property
    def origins(self) -> dict[str, str]:
        """Where each key that differs from its default was set."""
        return self._described["origins"]

    @property
    def derived(self) -> dict[str, Any]:
        """Derived figures: counts of parts, capacities in bytes, peak bandwidths in MiB/s."""
        return self._described["derived"]

    @property
    def capacity(self) -> int:
        """Logical capacity in bytes."""
        return self.derived["logical_bytes"]

    @property
    def seed(self) -> int:
        """The seed of its random streams."""
        return self._engine.seed

    @property
    def state(self) -> dict[str, Any]:
        """Its current state.

        ``simulated_s`` and ``runs`` so far, ``free_blocks``, ``erases`` of all blocks, ``most_erases`` of one, the last
        ``precondition``, and why it ``ended`` if it is worn out.
        """
        return json.loads(self._engine.state_json())

    def run(
        self,
        load: Workload | str | os.PathLike[str],
        load_sets: api.Sets = None,
        *,
        seed: int | None = None,
        progress: Told | bool | None = None,
        timeline: str | os.PathLike[str] | None = None,
        window: str | None = None,
        tables: str | Iterable[str] | None = None,
        out: str | os.PathLike[str] | None = None,
        sample: str | None = None,
        interval: str | None = None,
        repeat: int | None = None,
        time_of: bool = True,
    ) -> Run:
        """Runs a workload on the drive in its current state.

        The result covers this run alone, except ``wear`` and ``free_blocks``.

        :param load: a workload, or the name of a trace or workload file.
        :param load_sets: overrides of the file's keys.
        :param seed: of the workload's random streams; the drive's if absent.
        :param progress: a function that receives the run's progress; ``True`` for a progress bar, ``False`` for none.
            Without it there is a bar in notebooks only.
        :param timeline: a file to write a timeline to.
        :param window: the part of the run's time in timeline and tables, such as ``"0.5s..600ms"``.
        :param tables: tables to write as Parquet files, such as ``["requests"]`` or ``"all"``.
        :param out: the directory for them.
        :param sample: the share of requests to write, such as ``"1/100"``.
        :param interval: the length of intervals in the tables, such as ``"10ms"``; 100 ms if absent.
        :param repeat: run under so many seeds, ``seed`` and those that follow, each on a fork; the drive stays as
            it is. The result is that of the first, with mean and 95 % confidence interval of each figure under
            ``repeats``. Timeline and tables are of the first.
        :param time_of: False does not ask where the time of requests goes: ``time_of`` of the result is then None,
            with what comes from it, and the run takes a half to a third of the CPU time. The table ``requests`` asks in
            any case.
        :return: the result.
        :raises wordline.InputError: if the workload is wrong, or does not fit the drive.
        :raises wordline.RunError: if the run fails, or another thread uses the drive.
        :raises wordline.Interrupted: after Ctrl-C; a ``KeyboardInterrupt`` whose ``result`` is partial (``partial`` is
            true). The drive remains usable, unless a policy in Python was interrupted while it decided.
        """
        from wordline.api import interrupts
        from wordline.api import tables as tables_of
        from wordline.api.runs import Run
        from wordline.api.timeline import span, whole
        from wordline.api.workload import Workload
        from wordline.base.progress import shown
        from wordline.results import repeats

        wanted = tables_of.asked(tables, out, sample, interval, span(window))
        workload = Workload.given(load, load_sets)
        path = None if timeline is None else os.fspath(timeline)
        own_seed = api.seed_of(seed)
        forking = Lock()

        def one(seed: int, first: bool, told: Told) -> str:
            # Only one thread at a time may use a drive, also to fork it.
            with forking:
                fork = self._engine.fork([], None)
            return fork.run(
                workload.engine,
                seed,
                told,
                path if first else None,
                span(window) if first else None,
                tables=wanted if first else None,
                split=time_of,
            )

        with speaking(), shown(progress) as told:
            if repeat is None:
                document = self._engine.run(
                    workload.engine, own_seed, told, path, span(window), tables=wanted, split=time_of
                )
                result = json.loads(document)
            else:
                n = repeats.enough(repeat)
                together = 1 if self._policies else repeats.at_once(n, self.derived["state_bytes"])
                result = repeats.run(one, self.seed if own_seed is None else own_seed, n, told, together)
        return interrupts.whole(Run(tables_of.whole(whole(path, result))))

    def replay(
        self,
        load: Workload | str | os.PathLike[str],
        load_sets: api.Sets = None,
        *,
        times: int | None = 1,
        seed: int | None = None,
        progress: Told | bool | None = None,
    ) -> Replay:
        """Carries a workload out without time on the drive in its current state: wear and lifetime, but no latencies.

        The result covers this replay alone, except ``wear``, ``free_blocks``, and erases and bad blocks in its lifetime
        curve. After the end of its life a drive cannot go on.

        :param load: a workload, or the name of a trace or workload file.
        :param load_sets: overrides of the file's keys.
        :param times: how often in a row; None until the end of the drive's life.
        :param seed: of the workload's random streams; the drive's if absent.
        :param progress: a function that receives the progress; ``True`` for a progress bar, ``False`` for none.
            Without it there is a bar in notebooks only.
        :return: the result.
        :raises wordline.InputError: if the workload or times are wrong, or the workload does not fit the drive.
        :raises wordline.RunError: if it fails, or another thread uses the drive.
        :raises wordline.Interrupted: after Ctrl-C; a ``KeyboardInterrupt`` whose ``result`` is partial (``partial`` is
            true). The drive remains usable, unless a policy in Python was interrupted while it decided.
        """
        from wordline.api import replays
        from wordline.api.workload import Workload
        from wordline.base.progress import shown

        if not hasattr(self._engine, "replay"):
            raise TypeError("an array is not replayed without time; replay the workload on a drive")
        workload = Workload.given(load, load_sets)
        with speaking(), shown(progress) as told:
            text = self._engine.replay(workload.engine, api.seed_of(seed), api.times_of(times), told)
        return replays.whole(replays.Replay(json.loads(text)))

    def precondition(
        self,
        *,
        fill: bool | None = None,
        overwrites: float | None = None,
        steady_state: bool | None = None,
        block_reads: int | None = None,
        timed: bool | None = None,
        seed: int | None = None,
        progress: Told | bool | None = None,
    ) -> dict[str, Any]:
        """Preconditions the drive: fills and overwrites it, to measure it in the state of real use.

        Arguments that are not given come from ``[precondition]`` of its configuration.

        :param fill: write the whole capacity once, in order.
        :param overwrites: then write this many times the capacity at random.
        :param steady_state: then go on until write amplification is steady.
        :param block_reads: at last, give each block with data a random number of earlier page reads below this one,
            which count for read disturb and read scrubbing; 0 for none.
        :param timed: let this take simulated time.
        :param seed: of the random addresses; the drive's if absent.
        :return: the outcome, as under ``precondition`` in results.
        :raises wordline.InputError: if there is nothing to do.
        :raises wordline.RunError: if the drive wears out, or another thread uses it.
        :raises wordline.Interrupted: after Ctrl-C; a ``KeyboardInterrupt`` whose ``result`` is the partial outcome. The
            drive is then partly preconditioned and unusable: make another. The same holds if ``progress`` raises.
        """
        from wordline.api.interrupts import Interrupted
        from wordline.base.progress import shown

        own_seed = api.seed_of(seed)
        with speaking(), shown(progress) as told:
            done = json.loads(
                self._engine.precondition(told, fill, overwrites, steady_state, block_reads, timed, own_seed)
            )
        if done["interrupted"]:
            raise Interrupted(
                "the preconditioning was interrupted; the drive is only partly preconditioned: make another", done
            )
        return done

    def fork(self, sets: api.Sets = None, *, seed: int | None = None) -> Drive:
        """Another drive in the same state.

        Without ``sets`` and ``seed`` it behaves exactly like this one. With them it has other policies, and takes over
        data, maps and wear; a drive file is then read again.

        :raises wordline.InputError: if the overrides are wrong, or make a drive of another shape.
        """
        with speaking():
            return Drive._of(self._engine.fork(api.set_texts(sets), api.seed_of(seed)), self._policies)

    def save(self, path: str | os.PathLike[str]) -> int:
        """Writes a snapshot, from which ``Drive(…, snapshot=path)`` continues; returns its size in bytes.

        :raises wordline.RunError: if it cannot be written.
        """
        from wordline import _core
        from wordline.base.files import aside

        name = os.fspath(path)
        try:
            with speaking(), aside(name) as file:
                return self._engine.save(str(file), name)
        except OSError as error:
            reasons = {errno.ENOENT: "the directory does not exist; create it first"}
            reason = reasons.get(error.errno or 0, (error.strerror or str(error)).lower())
            raise _core.RunError(f"{name}: the snapshot cannot be written: {reason}") from None

    def __repr__(self) -> str:
        """The drive in a line."""
        return f"<Drive {self.name}: {units.size(self.capacity)}, {self.derived['dies']} dies, seed {self.seed}>"

    def _repr_html_(self) -> str:
        from wordline.api import notebook

        return notebook.drive(self)


def result_text(
    drive: Drive, load: Workload, told: Told, keys: Sequence[str] = (), seed: int | None = None
) -> tuple[str, str]:
    """The result of a run as the engine writes it, and its parts with these dotted keys in the same form.

    For those who keep it, or need but a few figures: laying all of it out takes as long as a small run.

    :param seed: as for :meth:`Drive.run`.
    :raises wordline.InputError: as :meth:`Drive.run`.
    :raises wordline.RunError: as :meth:`Drive.run`.
    """
    with speaking():
        return drive._engine.run_for(load.engine, seed, told, list(keys))


def _unpacked(about: str, state: bytes, policies: Iterable[type[Policy]]) -> Drive:
    """The drive from a pickle."""
    from wordline import _core
    from wordline.policy import given

    return Drive._of(_core.Drive.unpack(about, state, given(policies)), policies)
