"""Does the runs of a sweep side by side. Those with the same preconditioned drive start from forks of it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

from wordline._core import InputError, RunError
from wordline.base import units
from wordline.sweeps.jobs import Job, by_group

if TYPE_CHECKING:
    from wordline.api.drive import Drive
    from wordline.base.progress import Told

EVERY_S = 0.1
"""Seconds between two looks at the runs under way, and between two reports."""

TELLING = 0.02
"""Share of the work after which the time left is told."""

Ended = Callable[[Sequence[Job]], None]
"""Hears of jobs that have ended."""


class _Group:
    """Jobs that start from the same preconditioned drive."""

    def __init__(self, jobs: list[Job], stays: bool = False) -> None:
        self.jobs = jobs
        self.left = len(jobs)
        self.stays = stays
        """True if others need the drive later."""
        self.drive: Drive | None = None
        self.lock = Lock()
        """Held while the drive is forked: only one thread at a time may use it."""

    def start(self, sets: Mapping[str, Any]) -> Drive | None:
        """A drive for a job with these overrides. The last one takes the drive itself, if it has none."""
        with self.lock:
            self.left -= 1
            drive = self.drive
            if drive is None:
                return None
            if sets:
                return drive.fork(sets)
            if self.left == 0 and not self.stays:
                self.drive = None
                return drive
            return drive.fork()


class Runner:
    """The work of a sweep."""

    def __init__(
        self,
        jobs: Sequence[Job],
        together: int,
        told: Told,
        ended: Ended,
        drives: dict[str, Drive] | None = None,
    ) -> None:
        """Takes the work.

        :param together: how many runs there are at once.
        :param drives: preconditioned drives by their groups, for jobs that come later.
        """
        self.drives = drives
        self.jobs, self.together, self.told, self.ended = jobs, together, told, ended
        self.stop = Event()
        self.begun = time.monotonic()
        self.shares: dict[int, float] = {}
        """Of each piece of work under way, how much is done."""
        self.pieces = self.done = 0
        self.points = sum(not job.is_due for job in jobs)
        """Points that have ended."""
        self.silent_until = 0.0
        """When the receiver of the progress hears something again."""

    def run(self) -> bool:
        """Does all jobs that are due; true if it was interrupted. A job that fails keeps its error.

        :raises Exception: what the receiver of the progress raised, or what is no fault of a point.
        """
        coming = deque(_Group(jobs, self.drives is not None) for jobs in by_group(self.jobs))
        self.pieces = sum(len(group.jobs) + group.jobs[0].prepares for group in coming)
        ready: deque[tuple[_Group, Job]] = deque()
        failed: BaseException | None = None
        with ThreadPoolExecutor(self.together) as threads:
            left: dict[Future[Any], tuple[_Group, Job | None]] = {}
            while left or ((coming or ready) and not self.stop.is_set()):
                try:
                    # One more than run: a thread goes on while the result of its last run is kept.
                    while len(left) <= self.together and (ready or coming) and not self.stop.is_set():
                        if ready:
                            group, job = ready.popleft()
                            left[threads.submit(self._point, group, job)] = group, job
                        else:
                            group = coming.popleft()
                            left[threads.submit(self._precondition, group)] = group, None
                    if not self.stop.is_set():
                        # A receiver may raise each time that it hears something.
                        self._tell()
                    for future in wait(left, timeout=EVERY_S, return_when="FIRST_COMPLETED").done:
                        ready.extend(self._take(future, *left.pop(future)))
                except KeyboardInterrupt:
                    self.stop.set()
                except BaseException as error:
                    failed = failed or error
                    self.stop.set()
        if failed is not None:
            raise failed
        return self.stop.is_set()

    def _take(self, future: Future[Any], group: _Group, job: Job | None) -> Iterator[tuple[_Group, Job]]:
        """Notes what a piece of work came to; gives the jobs that can start now.

        :raises BaseException: what is no fault of a point.
        """
        error = future.exception()
        concerned = group.jobs if job is None else [job]
        if error is None:
            if job is None:
                self.done += group.jobs[0].prepares
                return iter([(group, job) for job in group.jobs])
            self.done += 1
        elif isinstance(error, InputError | RunError):
            for one in concerned:
                one.error, one.is_input = str(error), isinstance(error, InputError)
            self.done += len(concerned) + (group.jobs[0].prepares if job is None else 0)
        elif isinstance(error, KeyboardInterrupt):
            return iter(())
        else:
            raise error
        self.points += len(concerned)
        self.ended(concerned)
        return iter(())

    def _precondition(self, group: _Group) -> None:
        first = group.jobs[0]
        if self.drives is not None and first.group in self.drives:
            group.drive = self.drives[first.group]
            return
        assert first.task is not None
        with self._piece(id(group)) as told:
            group.drive = first.task.begin(told)
        if self.drives is not None and group.drive is not None:
            self.drives[first.group] = group.drive

    def _point(self, group: _Group, job: Job) -> None:
        assert job.task is not None
        if self.stop.is_set():
            raise KeyboardInterrupt
        drive = group.start(job.task.sets)
        with self._piece(id(job)) as told:
            done = job.task.run(drive, told)
        job.take(done)

    @contextmanager
    def _piece(self, piece: int) -> Iterator[Told]:
        """What hears of the progress of a piece of work, while it lasts."""

        def told(_: str, fraction: float | None, __: int, ___: float) -> None:
            if self.stop.is_set():
                # This is how the engine learns of it on a thread that gets no signals.
                raise KeyboardInterrupt
            self.shares[piece] = fraction or 0.0

        try:
            yield told
        finally:
            self.shares.pop(piece, None)

    def _tell(self) -> None:
        now = time.monotonic()
        if now < self.silent_until:
            return
        self.silent_until = now + EVERY_S
        share = min(1.0, (self.done + sum(self.shares.copy().values())) / max(1, self.pieces))
        phase = f"sweep: {self.points} of {units.some(len(self.jobs), 'point')}"
        if share > TELLING:
            elapsed = now - self.begun
            phase += f", {units.duration(round(elapsed * (1 - share) / share))} left"
        self.told(phase, share, 0, 0.0)
