"""A drive under test: a sequence of measurements, each with its own random numbers."""

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
"""Reason of a stop by Ctrl-C."""

ENDLESS = 10**15
"""More requests than any measurement."""


@dataclass(frozen=True)
class Device:
    """The tested drive: a preset's name or a file, with overrides, seed, and policy classes."""

    name: str
    sets: Sequence[str]
    seed: int | None
    policies: Sequence[type[Policy]] = ()


@dataclass(frozen=True)
class Load:
    """The workload of a measurement: a cell, random or sequential, and requests in flight."""

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
        """Keeps earlier measurements when a test ends early.

        ``stopped`` is then the reason: Ctrl-C, or a message of the engine, such as a worn-out drive. Any other
        exception, such as a policy's, is kept as ``failure``, to be raised after the output.
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
        """Names the next ``parts`` measurements for the progress bar."""
        self.name, self.parts, self.done, self.requests, self.simulated_s = name, parts, 0, 0, 0.0

    def fill(self) -> None:
        """Workload-independent preconditioning: twice the capacity, sequentially, in requests of 128 KiB."""
        self.stage("preconditioning", 1)
        self._run({"job": [{"rw": "write", "bs": 128 * KIB, "iodepth": 32, "io_size": "200%"}]})

    def measure(self, load: Load, *, seconds: float | None = None, requests: int | None = None) -> dict[str, Any]:
        """One measurement, ``seconds`` of simulated time or so many ``requests`` long. Sequential ones continue where
        the last of their kind ended, and wrap at the end of the drive."""
        cell = load.cell
        kind = {100: "read", 0: "write"}.get(cell.reads, "rw")
        job: dict[str, Any] = {"rw": kind, "bs": cell.size, "iodepth": load.depth}
        if load.random:
            # Without a map of visited blocks: a short measurement would otherwise see the beginning of one permutation.
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
        """The jobs for ``count`` sequential requests, wrapping at the end of the drive."""
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
            # For a run limited by time, the engine only knows the fraction of requests.
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
        # The engine reports no progress of a very short measurement.
        told("", 0.0, 0, 0.0)
        return run
