"""The tests by their names, and what a whole call of them gives."""

from __future__ import annotations

from typing import Any

from wordline import units
from wordline.api import Progress
from wordline.errors import Trouble, or_nearest
from wordline.pts import matrix, rounds, series
from wordline.pts.bench import Bench

NAMES = ["iops", "tp", "lat", "wsat", "xsr"]
STANDARD_ROUND_S = 60.0


def asked(text: str) -> list[str]:
    """The tests named in ``iops,tp``, each once.

    :raises Trouble: if there is no such test.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in NAMES:
            raise Trouble(f"--test: there is no test '{name}'; {or_nearest(name, NAMES, 'tests')}")
    return list(dict.fromkeys(names))


def run(
    drive: str,
    tests: list[str],
    sets: list[str],
    seed: int | None,
    round_s: float,
    capacities: float,
    progress: Progress,
) -> dict[str, Any]:
    """Does the tests, each on a new drive; ``partial`` is true if Ctrl-C ended them early."""
    done: list[dict[str, Any]] = []
    used = 0
    for name in tests:
        kinds = {"iops": (matrix.IOPS,), "tp": matrix.TP, "lat": (matrix.LAT,)}.get(name, (None,))
        for kind in kinds:
            bench = Bench(drive, sets, seed, progress)
            used = bench.drive.seed
            if kind is not None:
                found = rounds.test(bench, kind, round_s)
            else:
                over_time = series.saturation if name == "wsat" else series.recovery
                found = over_time(bench, capacities)
            done.append({"test": name, **found})
            if found["partial"]:
                break
        if done[-1]["partial"]:
            break
    return {
        "drive": drive,
        "seed": used,
        "round_s": round_s,
        "capacities": capacities,
        "partial": done[-1]["partial"],
        "differences": differences(tests, round_s, capacities),
        "tests": done,
    }


def differences(tests: list[str], round_s: float, capacities: float) -> list[str]:
    """In what the tests differ from the standard, in words."""
    said = []
    if {"iops", "tp", "lat"} & set(tests) and round_s != STANDARD_ROUND_S:
        said.append(f"each cell of a round runs for {units.duration(round_s)} of simulated time instead of 60 s")
    if "tp" in tests:
        said.append("each sequential measurement begins at the first byte of the drive")
    if "wsat" in tests:
        said.append(f"write saturation ends after {capacities:g} times the capacity, whatever time that takes")
    if "xsr" in tests:
        said.append(f"each load of the recovery test moves {capacities:g} times the capacity instead of taking hours")
    return said
