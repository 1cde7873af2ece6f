"""Does the runs of a sweep on a Dask cluster, in chunks that start from the same preconditioned drive.

The client keeps the results, as a sweep on one machine does, so that an interrupted sweep goes on here or there. A
worker that is lost costs the chunks that it had under way: the scheduler gives them to others.
"""

from __future__ import annotations

import errno
import logging
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from wordline import _core
from wordline._core import InputError, RunError
from wordline.base import units
from wordline.sweeps.jobs import Done, Job, Task, by_group

if TYPE_CHECKING:
    from distributed import Client, Future

    from wordline.api.drive import Drive
    from wordline.base.progress import Told

CHUNKS_A_THREAD = 4
"""Chunks for each thread of the cluster into which the points of a drive are cut, so that all threads end together."""

MOST_POINTS = 32
"""Points of a chunk. It unpacks its drive once; its results come together, and a lost worker costs as much."""

AHEAD = 2
"""Chunks for each thread that the scheduler has. More would only hold more preconditioned drives in memory."""

PATIENCE_S = 10
"""Seconds in which a scheduler must answer."""

LOST = ("error", "lost", "cancelled")
"""States of a drive that has to be made anew."""

EVERY_S = 0.2
"""Seconds between two looks at what has ended."""


def preconditioned(version: str, first: Task) -> bytes:
    """On a worker: the drive that the tasks of a group start from, packed, so that it can be sent while it is used.

    :raises wordline.RunError: if the worker has another version of Wordline, whose results would be others.
    """
    if _core.version() != version:
        raise RunError(
            f"a worker of the cluster has Wordline {_core.version()}, and this is {version}; install the same on both"
        )
    return pickle.dumps(first.begin(_untold))


def chunk(packed: bytes, tasks: Sequence[Task]) -> list[tuple[Done | None, str | None]]:
    """On a worker: the result of each task, or why it failed."""
    drive = pickle.loads(packed)
    return [_result(drive, task) for task in tasks]


def _result(drive: Drive | None, task: Task) -> tuple[Done | None, str | None]:
    try:
        return task.run(None if drive is None else drive.fork(task.sets or None), _untold), None
    except (InputError, RunError) as error:
        return None, str(error)


def _untold(*_: object) -> None:
    """Takes no notice of progress: nobody sees that of a worker."""


@dataclass
class _Chunk:
    """Jobs that go to a worker together, and the drive that they start from."""

    jobs: list[Job]
    drive: Future


class ClusterRunner:
    """The work of a sweep on a cluster."""

    def __init__(
        self,
        jobs: Sequence[Job],
        cluster: Client | str,
        told: Told,
        ended: Callable[[Sequence[Job]], None],
        drives: dict[str, Future] | None = None,
    ) -> None:
        """Takes the work.

        :param cluster: the address of a Dask scheduler, or a client of one.
        :param drives: preconditioned drives by their groups, for jobs that come later. They stay on the workers that
            have them while this and the client are there.
        """
        self.drives = drives
        self.jobs, self.cluster, self.told, self.ended = jobs, cluster, told, ended
        self.begun = time.monotonic()
        self.due = sum(job.is_due for job in jobs)
        self.left = self.due

    def run(self) -> bool:
        """Does all jobs that are due; true if it was interrupted. A job that fails keeps its error.

        :raises wordline.InputError: if there is no scheduler at the address.
        :raises wordline.RunError: if the cluster cannot do the work, or its scheduler is lost.
        """
        with connected(self.cluster) as client:
            try:
                self._all(client)
            except KeyboardInterrupt:
                return True
        return False

    def _all(self, client: Client) -> None:
        coming = deque(by_group(self.jobs))
        chunks: deque[_Chunk] = deque()
        running: dict[Future, _Chunk] = {}
        ended: SimpleQueue[Future] = SimpleQueue()
        while coming or chunks or running:
            threads = max(1, sum(client.nthreads().values()))
            while len(running) < AHEAD * threads and (chunks or coming):
                if not chunks:
                    chunks.extend(self._cut(client, coming.popleft(), threads))
                one = chunks.popleft()
                future = self._submit(client, one)
                running[future] = one
                future.add_done_callback(ended.put)
            self._tell(threads if client.nthreads() else 0)
            with suppress(Empty):
                future = ended.get(timeout=EVERY_S)
                chunks.extendleft(self._take(future, running.pop(future)))

    def _cut(self, client: Client, jobs: list[Job], threads: int) -> Iterator[_Chunk]:
        """The chunks of a group. Their drive is made by one worker, and goes once to each other that needs it."""
        first = jobs[0]
        drive = None if self.drives is None else self.drives.get(first.group)
        if drive is None or drive.status in LOST:
            drive = client.submit(preconditioned, _core.version(), first.task, pure=False)
            if self.drives is not None:
                self.drives[first.group] = drive
        size = min(MOST_POINTS, -(-len(jobs) // (CHUNKS_A_THREAD * threads)))
        for start in range(0, len(jobs), size):
            yield _Chunk(jobs[start : start + size], drive)

    def _submit(self, client: Client, one: _Chunk) -> Future:
        return client.submit(chunk, one.drive, [job.task for job in one.jobs], pure=False)

    def _take(self, future: Future, one: _Chunk) -> Iterator[_Chunk]:
        """Notes what a chunk came to; gives what is to be done anew."""
        import asyncio
        import concurrent.futures

        from distributed.scheduler import KilledWorker

        try:
            results = future.result()
        except (InputError, RunError) as error:
            # Of its drive: those of a point come with the results.
            results = [(None, str(error))] * len(one.jobs)
        except KilledWorker:
            if len(one.jobs) > 1:
                # One of them ends its worker each time; the others need not fail with it.
                return iter([_Chunk([job], one.drive) for job in one.jobs])
            results = [(None, "its worker ended each time, perhaps for want of memory")]
        except (asyncio.CancelledError, concurrent.futures.CancelledError):
            raise RunError("the scheduler of the cluster is gone; the same command goes on") from None
        except ModuleNotFoundError as error:
            raise RunError(f"a worker of the cluster lacks a module: {error}; install Wordline there") from None
        for job, (done, error) in zip(one.jobs, results, strict=True):
            if done is None:
                job.error = error
            else:
                job.take(done)
        self.left -= len(one.jobs)
        self.ended(one.jobs)
        return iter(())

    def _tell(self, threads: int) -> None:
        share = (self.due - self.left) / self.due
        points = units.some(len(self.jobs), "point")
        phase = f"sweep on {units.some(threads, 'thread')}: {len(self.jobs) - self.left} of {points}"
        if not threads:
            phase += ", no worker yet"
        elif share:
            elapsed = time.monotonic() - self.begun
            phase += f", {units.duration(round(elapsed * (1 - share) / share))} left"
        self.told(phase, share, 0, 0.0)


@contextmanager
def connected(cluster: Client | str) -> Iterator[Client]:
    """A client of a cluster. What waits there is forgotten when its own client ends; what runs ends by itself.

    :raises wordline.InputError: if there is no scheduler.
    """
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise InputError("a sweep on a cluster needs Dask: pip install 'wordline[dask]'") from None
    if not isinstance(cluster, str):
        yield cluster
        return
    # What it logs are traces of its own code; what matters comes as an error.
    log = logging.getLogger("distributed.client")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with Client(_address(cluster), timeout=PATIENCE_S, set_as_default=False) as client:
            yield client
    except OSError as error:
        if error.filename is not None or error.errno == errno.ENOSPC:
            # A result cannot be kept.
            raise
        raise InputError(f"{cluster}: no Dask scheduler answers there within {PATIENCE_S} s") from None
    finally:
        log.setLevel(level)


def _address(text: str) -> str:
    """:raises wordline.InputError: if it is no address."""
    parts = urlsplit(text if "://" in text else f"tcp://{text}")
    try:
        if parts.hostname and parts.port:
            return text
    except ValueError:
        pass
    raise InputError(f"{text}: this is no address of a Dask scheduler; give one such as tcp://127.0.0.1:8786")
