"""A drive that keeps its state from one load to the next."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wordline.api import functions as api
from wordline.api.spoken import speaking
from wordline.base import units

if TYPE_CHECKING:
    from wordline._core import Drive as Engine
    from wordline.api.runs import Run
    from wordline.api.workload import Workload
    from wordline.base.progress import Told
    from wordline.policy import Policy


class Drive:
    """A simulated drive.

    It is made empty, or from a snapshot, and each :meth:`run` goes on from where the last one ended. Its configuration
    never changes; :meth:`fork` makes another drive in the same state, with other policies if wanted. One thread at a
    time can work with a drive; several drives run in parallel in several threads, as the interpreter's lock is free
    meanwhile::

        drive = wordline.Drive("tlc-nvme", {"capacity.raw_over_logical": 1.28}, seed=7)
        drive.precondition(fill=True, overwrites=2)
        aged = drive.fork({"victim.policy": "fifo"})
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
        """Makes a drive. What ``[precondition]`` says is done by :meth:`precondition`, and not before.

        :param drive: a preset's name or a TOML file.
        :param sets: overrides of its keys.
        :param seed: of all its random streams; the engine's own if absent.
        :param snapshot: an aged drive whose state this one takes over.
        :param policies: classes of policies in Python that it may name (see :mod:`wordline.policy`).
        :raises wordline.InputError: if configuration or snapshot are wrong.
        """
        from wordline import _core
        from wordline.policy import given

        path = None if snapshot is None else os.fspath(snapshot)
        texts, own_seed = api.set_texts(sets), api.seed_of(seed)
        # A class alone is refused with a better message than that it cannot be walked.
        self._policies: Iterable[type[Policy]] = policies if isinstance(policies, type) else tuple(policies)
        with speaking():
            self._engine: Engine = _core.Drive(os.fspath(drive), texts, own_seed, path, policies=given(self._policies))

    @classmethod
    def _of(cls, engine: Engine, policies: Iterable[type[Policy]]) -> Drive:
        drive = cls.__new__(cls)
        drive._engine, drive._policies = engine, policies
        return drive

    def __copy__(self) -> Drive:
        """A drive of its own in the same state, as :meth:`fork` makes it."""
        return self.fork()

    def __deepcopy__(self, memo: dict[int, object]) -> Drive:
        """The same: nothing is shared with a copy that could change."""
        return self.fork()

    def __reduce__(self) -> tuple[object, ...]:
        """For another process: configuration and state go along, and classes of policies by their names.

        A policy in Python starts anew there, as from a snapshot.

        :raises wordline.RunError: of a drive that is at work, or has come to its end.
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
        """Where each key that is no default was set."""
        return self._described["origins"]

    @property
    def derived(self) -> dict[str, Any]:
        """What follows from the configuration: counts of parts, capacities in bytes, peak bandwidths in MiB/s."""
        return self._described["derived"]

    @property
    def capacity(self) -> int:
        """Bytes that the host sees."""
        return self.derived["logical_bytes"]

    @property
    def seed(self) -> int:
        """The seed of its random streams."""
        return self._engine.seed

    @property
    def state(self) -> dict[str, Any]:
        """How it stands now.

        ``simulated_s`` it has lived, ``runs`` it has done, ``free_blocks``, ``erases`` of all blocks, ``most_erases``
        of one, what ``precondition`` last did, and why it ``ended`` if it is worn out.
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
    ) -> Run:
        """Runs a load on the drive as it is. All of the result is of this run alone, but ``wear`` and ``free_blocks``.

        :param load: a workload, or the name of a trace or workload file.
        :param load_sets: overrides of the file's keys.
        :param seed: of the load's random streams; the drive's if absent.
        :param progress: a function that is told how far the run is; ``True`` for a progress bar, ``False`` for none.
            Without it there is a bar in notebooks only.
        :param timeline: a file to write a timeline to.
        :param window: what part of simulated time it shows, such as ``"0.5s..600ms"``.
        :param tables: tables to write as Parquet files, such as ``["requests"]`` or ``"all"``.
        :param out: the directory for them.
        :param sample: of the requests, write such a share: ``"1/100"``.
        :param interval: how long the intervals of the tables are, such as ``"10ms"``; 100 ms if absent.
        :return: the result.
        :raises wordline.InputError: if the load is wrong, or does not fit the drive.
        :raises wordline.RunError: if the run could not be carried through, or another thread uses the drive.
        :raises wordline.Interrupted: after Ctrl-C; a ``KeyboardInterrupt`` whose ``result`` holds what was done until
            then, with ``partial`` true. The drive can be used on, unless a policy in Python was interrupted while
            it decided.
        """
        from wordline.api import interrupts
        from wordline.api import tables as tables_of
        from wordline.api.runs import Run
        from wordline.api.timeline import span, whole
        from wordline.api.workload import Workload
        from wordline.base.progress import shown

        wanted = tables_of.asked(tables, out, sample, interval)
        workload = Workload.given(load, load_sets)
        path = None if timeline is None else os.fspath(timeline)
        with speaking(), shown(progress) as told:
            document = self._engine.run(workload.engine, api.seed_of(seed), told, path, span(window), tables=wanted)
        return interrupts.whole(Run(tables_of.whole(whole(path, json.loads(document)))))

    def precondition(
        self,
        *,
        fill: bool | None = None,
        overwrites: float | None = None,
        steady_state: bool | None = None,
        timed: bool | None = None,
        seed: int | None = None,
        progress: Told | bool | None = None,
    ) -> dict[str, Any]:
        """Writes the drive full and over, so that it is measured as it will be used.

        What is not given is as ``[precondition]`` of its configuration says.

        :param fill: write the whole capacity once, in order.
        :param overwrites: then write this many times the capacity at random.
        :param steady_state: then go on until write amplification is steady.
        :param timed: let this take simulated time.
        :param seed: of the random addresses; the drive's if absent.
        :return: what was done, as under ``precondition`` in results.
        :raises wordline.InputError: if nothing is asked for.
        :raises wordline.RunError: if the drive wears out over it, or another thread uses it.
        :raises wordline.Interrupted: after Ctrl-C; a ``KeyboardInterrupt`` whose ``result`` tells what was done. The
            drive is then half aged and refuses to go on: make another. So it is if ``progress`` raises something.
        """
        from wordline.api.interrupts import Interrupted
        from wordline.base.progress import shown

        own_seed = api.seed_of(seed)
        with speaking(), shown(progress) as told:
            done = json.loads(self._engine.precondition(told, fill, overwrites, steady_state, timed, own_seed))
        if done["interrupted"]:
            raise Interrupted("the preconditioning was interrupted; the drive is half aged: make another", done)
        return done

    def fork(self, sets: api.Sets = None, *, seed: int | None = None) -> Drive:
        """Another drive in the same state.

        Without ``sets`` and ``seed`` it does exactly what this one would have done. With them it has other policies,
        and takes over data, maps and wear; a drive file is then read again.

        :raises wordline.InputError: if the overrides are wrong, or make a drive of another shape.
        """
        with speaking():
            return Drive._of(self._engine.fork(api.set_texts(sets), api.seed_of(seed)), self._policies)

    def save(self, path: str | os.PathLike[str]) -> int:
        """Writes a snapshot, from which ``Drive(…, snapshot=path)`` goes on; gives its size in bytes.

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


def _unpacked(about: str, state: bytes, policies: Iterable[type[Policy]]) -> Drive:
    """The drive that another process packed."""
    from wordline import _core
    from wordline.policy import given

    return Drive._of(_core.Drive.unpack(about, state, given(policies)), policies)
