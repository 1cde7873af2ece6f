"""What a sweep of 1,000 small points costs beside its runs, and what a second core gives: a part of ``make bench``."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 3

SWEEP = """drive = "demo"
load = "load.toml"
precondition = "once"

[vary]
"queue.depth" = [{depths}]
"dispatch.window" = [{windows}]
""".format(depths=", ".join(map(str, range(1, 21))), windows=", ".join(map(str, range(1, 51))))

LOAD = """[[job]]
rw = "randread"
bs = "4k"
iodepth = 32
number_ios = 20_000
"""


def begin(folder: Path, out: str, jobs: int) -> subprocess.Popen[bytes]:
    """Starts the sweep as a user does, with its results in a folder of their own."""
    command = [Path(sys.executable).with_name("wordline"), "sweep", "sweep.toml", "-o", out, "--jobs", str(jobs), "-q"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)


def wall_s(folder: Path, outs: list[str], jobs: int) -> float:
    """Seconds until as many sweeps as there are names, begun at once, have ended."""
    start = time.perf_counter()
    for sweep in [begin(folder, out, jobs) for out in outs]:
        if sweep.wait():
            raise SystemExit("wordline sweep failed")
    return time.perf_counter() - start


def engine_s(results: Path) -> float:
    """CPU seconds of the runs of a sweep."""
    return sum(json.loads(path.read_text())["cpu_s"] for path in results.glob("*/*.json"))


def main() -> None:
    """Measures, prints a line, and adds the figures to ``bench.json`` if that is here."""
    outside, second, apart = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sweep.toml").write_text(SWEEP)
        (folder / "load.toml").write_text(LOAD)
        for number in range(ROUNDS):
            one = wall_s(folder, [f"{number}-one"], 1)
            two = wall_s(folder, [f"{number}-two"], 2)
            both = wall_s(folder, [f"{number}-first", f"{number}-second"], 1)
            outside.append(1 - engine_s(folder / f"{number}-one" / "results") / one)
            second.append(one / two)
            apart.append(2 * one / both)
    figures = {
        "outside_engine": statistics.median(outside),
        "two_jobs": statistics.median(second),
        "two_processes": statistics.median(apart),
    }
    print(
        f"sweep of 1,000 points: {figures['outside_engine']:.1%} of its time outside the engine (aim: 10 %); two jobs "
        f"{figures['two_jobs']:.2f} times as fast as one (aim: 1.8), two sweeps apart {figures['two_processes']:.2f} "
        f"(what this machine can do); medians of {ROUNDS}"
    )
    bench = Path("bench.json")
    if bench.exists():
        whole = json.loads(bench.read_text())
        whole["sweep"] = figures
        bench.write_text(json.dumps(whole, indent=2) + "\n")


if __name__ == "__main__":
    main()
