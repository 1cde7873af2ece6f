"""What a sweep of 1,000 small points costs beside its runs, and what a second core gives: a part of ``make bench``."""

from __future__ import annotations

import contextlib
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


def command(out: str, jobs: int) -> list[str]:
    """The sweep as a user types it, with its results in a folder of their own."""
    return ["sweep", "sweep.toml", "-o", out, "--jobs", str(jobs), "-q"]


def wall_s(folder: Path, outs: list[str], jobs: int) -> float:
    """Seconds until as many sweeps as there are names, begun at once, have ended."""
    program = Path(sys.executable).with_name("wordline")
    start = time.perf_counter()
    begun = [subprocess.Popen([program, *command(out, jobs)], cwd=folder, stdout=subprocess.DEVNULL) for out in outs]
    for sweep in begun:
        if sweep.wait():
            raise SystemExit("wordline sweep failed")
    return time.perf_counter() - start


def outside(folder: Path, out: str) -> float:
    """Share of the time of a sweep with one job, its start included, outside runs, forks and preconditioning."""
    start = time.perf_counter()
    child = [sys.executable, __file__, "inside", *command(out, 1)]
    told = subprocess.run(child, cwd=folder, stdout=subprocess.PIPE, check=True, text=True).stdout
    return 1 - float(told) / (time.perf_counter() - start)


def inside(words: list[str]) -> None:
    """Does a sweep in this process, and prints how many seconds were spent in the engine."""
    from wordline.__main__ import main as program
    from wordline.api.drive import Drive
    from wordline.sweeps import work

    spent = 0.0

    def watched(owner: object, name: str) -> None:
        does = getattr(owner, name)

        def timed(*args: object, **options: object) -> object:
            nonlocal spent
            start = time.perf_counter()
            try:
                return does(*args, **options)
            finally:
                spent += time.perf_counter() - start

        setattr(owner, name, timed)

    for owner, name in ((Drive, "fork"), (work.PointTask, "begin"), (work, "result_text")):
        watched(owner, name)
    sys.argv = ["wordline", *words]
    kept = sys.stdout
    with Path("/dev/null").open("w") as sys.stdout, contextlib.suppress(SystemExit):
        program()
    print(spent, file=kept)


def main() -> None:
    """Measures, prints a line, and adds the figures to ``bench.json`` if that is here."""
    shares, second, apart = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sweep.toml").write_text(SWEEP)
        (folder / "load.toml").write_text(LOAD)
        for number in range(ROUNDS):
            shares.append(outside(folder, f"{number}-inside"))
            one = wall_s(folder, [f"{number}-one"], 1)
            second.append(one / wall_s(folder, [f"{number}-two"], 2))
            apart.append(2 * one / wall_s(folder, [f"{number}-first", f"{number}-second"], 1))
    figures = {
        "outside_engine": statistics.median(shares),
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
    if sys.argv[1:2] == ["inside"]:
        inside(sys.argv[2:])
    else:
        main()
