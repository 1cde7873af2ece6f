"""How long the report of a run of ten million requests takes, and how large it is: the last part of ``make bench``."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import wordline

REQUESTS = 10_000_000


def main() -> None:
    """Measures, prints a line, and adds the figures to ``bench.json`` if that is here."""
    load = wordline.Workload.job(rw="randrw", rwmixread=70, bs="4k", iodepth=32, norandommap=True, number_ios=REQUESTS)
    run = wordline.run("demo", load)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "run.html"
        start, wall = time.process_time(), time.perf_counter()
        run.report(page)
        cpu_s, wall_s = time.process_time() - start, time.perf_counter() - wall
        size = page.stat().st_size
    figures = {"requests": run["requests"], "cpu_s": cpu_s, "wall_s": wall_s, "bytes": size}
    print(f"report of {REQUESTS:,} requests: {cpu_s:.1f} s of CPU time, {size / 1e6:.2f} MB (aims: 10 s, 5 MB)")
    bench = Path("bench.json")
    if bench.exists():
        whole = json.loads(bench.read_text())
        whole["report"] = figures
        bench.write_text(json.dumps(whole, indent=2) + "\n")


if __name__ == "__main__":
    main()
