"""A drive under test: it is given one measurement after another, each with random numbers of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wordline import _core
from wordline.api.drive import Drive
from wordline.api.workload import Workload, toml_text
from wordline.base.progress import Told
from wordline.pts.matrix import KIB, Cell

if TYPE_CHECKING:
    from wordline.policy import Policy

INTERRUPTED = "interrupted"
"""Why a test stopped, if not for a message of the engine."""

ENDLESS = 10**15
"""Requests that no measurement comes to."""


@dataclass(frozen=True)
class Device:
    """What is tested: a preset's name or a file, with overrides, seed, and the classes of policies in Python."""

    name: str
    sets: Sequence[str]
    seed: int | None
    policies: Sequence[type[Policy]] = ()


@dataclass(frozen=True)
class Load:
    """What a measurement asks of the drive: a cell, whether at random places, and requests in flight."""

    cell: Cell
    random: bool
    depth: int


class Bench:
    """A new drive, empty as after a purge. An interrupted measurement raises ``KeyboardInterrupt``, and one that wears
    the drive out ``wordline.RunError``."""

    def __init__(self, device: Device, progress: Told) -> None:
        self.drive = Drive(device.name, device.sets, seed=device.seed, policies=device.policies)
        self.progress = progress
        self.runs = 0
        self.stopped: str | None = None
        self.failure: Exception | None = None
        # Where the next sequential measurement begins, for reads and for writes.
        self.reached = {"read": 0, "write": 0}
        self.stage("", 1)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """What ends a test early does not take what was measured with it.

        ``stopped`` then says what it was: Ctrl-C, or a message of the engine, such as of a worn-out drive. An exception
        of anybody else, such as a policy's, is kept as ``failure``, to be raised when all is written.
        """
        try:
            yield
        except KeyboardInterrupt:
            self.stopped = INTERRUPTED
        except _core.RunError as error:
            self.stopped = str(error)
        except Exception as error:
            self.stopped, self.failure = f"{type(error).__name__}: {error}", error

    def stage(self, name: str, parts: int) -> None:
        """What the next ``parts`` measurements are together, for the progress bar."""
        self.name, self.parts, self.done, self.requests, self.simulated_s = name, parts, 0, 0, 0.0

    def fill(self) -> None:
        """Workload-independent preconditioning: twice the capacity in order, in requests of 128 KiB."""
        self.stage("preconditioning", 1)
        self._run({"job": [{"rw": "write", "bs": 128 * KIB, "iodepth": 32, "io_size": "200%"}]})

    def measure(self, load: Load, *, seconds: float | None = None, requests: int | None = None) -> dict[str, Any]:
        """One measurement, ``seconds`` of simulated time or so many ``requests`` long. Sequential ones go on where the
        last of their kind ended, and at the drive's end from its beginning."""
        cell = load.cell
        kind = {100: "read", 0: "write"}.get(cell.reads, "rw")
        job: dict[str, Any] = {"rw": kind, "bs": cell.size, "iodepth": load.depth}
        if load.random:
            # Without a map of what was visited: a short measurement would else see the beginning of one permutation.
            job |= {"rw": f"rand{kind}", "norandommap": True}
        if kind == "rw":
            job["rwmixread"] = cell.reads
        count = ENDLESS if requests is None else requests
        jobs = [{**job, "number_ios": count}] if load.random else self._in_order(job, self.reached[kind], count)
        run = self._run({"job": jobs, "runtime_s": seconds}, seconds)
        if not load.random:
            self.reached[kind] = (self.reached[kind] + run["requests"] * cell.size) % self._whole(cell.size)
        latency = run["latency_us"]
        return {
            "requests": run["requests"],
            "written_bytes": (latency.get("write") or {}).get("count", 0) * cell.size,
            "simulated_s": run["simulated_s"],
            "iops": run["iops"],
            "mib_s": run["bandwidth_mib_s"],
            "mean_us": latency["all"]["mean"],
            "p99_9_us": latency["all"]["p99_9"],
            "p99_999_us": latency["all"]["p99_999"],
            "max_us": latency["all"]["max"],
            "write_amplification": run["write_amplification"],
        }

    def _whole(self, size: int) -> int:
        """Bytes of the drive in whole requests."""
        return self.drive.capacity // size * size

    def _in_order(self, job: dict[str, Any], start: int, count: int) -> list[dict[str, Any]]:
        """The jobs that do ``count`` requests in order: to the end of the drive, and from its beginning again."""
        whole = self._whole(job["bs"])
        start %= whole
        first = min(count, (whole - start) // job["bs"])
        jobs = [{**job, "offset": start, "number_ios": first}]
        return (
            jobs if first == count else [*jobs, {**job, "stonewall": True, "size": whole, "number_ios": count - first}]
        )

    def _run(self, load: dict[str, Any], seconds: float | None = None) -> dict[str, Any]:
        self.runs += 1
        seed = (self.drive.seed + self.runs) % 2**64

        def told(_: str, fraction: float | None, requests: int, simulated_s: float) -> None:
            # Of a run that time ends, the engine knows a share of its requests only.
            share = fraction or 0.0 if seconds is None else min(1.0, simulated_s / seconds)
            self.progress(
                self.name, (self.done + share) / self.parts, self.requests + requests, self.simulated_s + simulated_s
            )

        run = self.drive.run(Workload.text(toml_text(load)), seed=seed, progress=told)
        if run.partial:
            raise KeyboardInterrupt
        self.done += 1
        self.requests += run["requests"]
        self.simulated_s += run["simulated_s"]
        # The engine says nothing of a measurement that is done in a moment.
        told("", 0.0, 0, 0.0)
        return run
