"""How long the command takes to say what it can do: a part of ``make bench``."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 10


def main() -> None:
    """Measures, prints a line, and adds the figure to ``bench.json`` if that is here."""
    command = [Path(sys.executable).with_name("wordline"), "--help"]
    walls = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        walls.append(time.perf_counter() - start)
    print(f"wordline --help: {min(walls) * 1e3:.0f} ms at best of {ROUNDS} (aim: 300 ms)")
    bench = Path("bench.json")
    if bench.exists():
        whole = json.loads(bench.read_text())
        whole["startup"] = {"rounds": ROUNDS, "wall_s": min(walls)}
        bench.write_text(json.dumps(whole, indent=2) + "\n")


if __name__ == "__main__":
    main()
