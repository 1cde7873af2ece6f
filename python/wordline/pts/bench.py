"""A drive under test: it is given one measurement after another, each with random numbers of its own."""

from __future__ import annotations

from typing import Any

from wordline.api import Progress
from wordline.drive import Drive
from wordline.pts.matrix import Cell
from wordline.workload import Workload


class Interrupted(Exception):
    """Ctrl-C: what was measured until then stands."""


class Bench:
    """A new drive, empty as after a purge."""

    def __init__(self, name: str, sets: list[str], seed: int | None, progress: Progress) -> None:
        self.drive = Drive(name, sets, seed=seed)
        self.progress = progress
        self.runs = 0

    def fill(self) -> None:
        """Workload-independent preconditioning: twice the capacity in order, in requests of 128 KiB."""
        self._run("preconditioning", {"rw": "write", "bs": "128k", "iodepth": 32, "io_size": "200%"})

    def measure(self, phase: str, cell: Cell, random: bool, depth: int, **length: object) -> dict[str, Any]:
        """One measurement, as long as the options ``length`` of a job say.

        :raises Interrupted: on Ctrl-C.
        """
        kind = {100: "read", 0: "write"}.get(cell.reads, "rw")
        job: dict[str, object] = {"rw": f"rand{kind}" if random else kind, "bs": cell.size, "iodepth": depth, **length}
        if random:
            # A short round would else visit only the beginning of one permutation.
            job["norandommap"] = True
        if kind == "rw":
            job["rwmixread"] = cell.reads
        run = self._run(phase, job)
        latency = run["latency_us"]["all"]
        return {
            "requests": run["requests"],
            "simulated_s": run["simulated_s"],
            "iops": run["iops"],
            "mib_s": run["bandwidth_mib_s"],
            "mean_us": latency["mean"],
            "max_us": latency["max"],
            "write_amplification": run["write_amplification"],
        }

    def _run(self, phase: str, job: dict[str, object]) -> dict[str, Any]:
        self.runs += 1
        seed = (self.drive.seed + self.runs) % 2**64

        def told(_: str, fraction: float | None, requests: int, simulated_s: float) -> None:
            self.progress(phase, fraction, requests, simulated_s)

        try:
            run = self.drive.run(Workload.job(**job), seed=seed, progress=told)
        except KeyboardInterrupt:
            raise Interrupted from None
        if run.partial:
            raise Interrupted
        return run
