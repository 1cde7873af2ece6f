"""The tests by name, and the result of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from wordline.base import units
from wordline.base.errors import Trouble, or_nearest
from wordline.base.progress import Told
from wordline.pts import matrix, rounds, series
from wordline.pts.bench import INTERRUPTED, Bench, Device

OF_ROUNDS, OVER_TIME = ["iops", "tp", "lat"], ["wsat", "xsr"]
NAMES = [*OF_ROUNDS, *OVER_TIME]
STANDARD_ROUND_S = 60.0
STANDARD_CAPACITIES = 4.0
"""End of write saturation in the standard, within a day."""

Test = Callable[[Bench], dict[str, Any]]


def asked(text: str) -> list[str]:
    """The tests named in ``iops,tp``, each once; ``all`` stands for every one.

    :raises Trouble: if there is no such test.
    """
    names = [name.strip().lower() for name in text.split(",")]
    for name in names:
        if name not in (*NAMES, "all"):
            raise Trouble(f"--test: there is no test '{name}'; {or_nearest(name, [*NAMES, 'all'], 'tests')}")
    return NAMES if "all" in names else list(dict.fromkeys(names))


def of_use(options: Sequence[str], names: Sequence[str], users: Sequence[str]) -> None:
    """Options that only some tests heed need one of them.

    :raises Trouble: if there is none.
    """
    if options and not set(users) & set(names):
        raise Trouble(f"{options[0]} is for the tests {', '.join(users)}, and --test asks for {', '.join(names)}")


def run(
    device: Device, names: Sequence[str], round_s: float, capacities: float, progress: Told
) -> tuple[dict[str, Any], Exception | None]:
    """Does the tests, each on a new drive.

    After Ctrl-C the rest is skipped, and ``partial`` is true. The same holds after an exception of a policy in Python,
    which is returned with the result, to be raised once the result is saved.
    """
    from wordline import _core

    # An invalid drive is an error before hours of work.
    first: Bench | None = Bench(device, progress)
    described = first.drive
    done: list[dict[str, Any]] = []
    interrupted = False
    failure: Exception | None = None
    try:
        for name, test in tests(names, round_s, capacities):
            bench, first = first or Bench(device, progress), None
            done.append({"test": name, **test(bench)})
            interrupted, failure = bench.stopped == INTERRUPTED, bench.failure
            if interrupted or failure is not None:
                break
    except KeyboardInterrupt:
        interrupted = True
    except Exception as error:
        # The policy may fail in a later drive.
        failure = error
    result = {
        "pts": "2.0",
        "version": _core.version(),
        "drive": described.name,
        "title": described.title,
        "capacity_bytes": described.capacity,
        "sets": list(device.sets),
        "seed": described.seed,
        "round_s": round_s,
        "capacities": capacities,
        "partial": interrupted or failure is not None,
        "differences": differences(names, round_s, capacities),
        "tests": done,
    }
    return result, failure


def tests(names: Sequence[str], round_s: float, capacities: float) -> Iterator[tuple[str, Test]]:
    """The tests of each name: throughput has one for each request size."""
    of_rounds = {"iops": [matrix.IOPS], "tp": matrix.TP, "lat": [matrix.LAT]}
    for name in names:
        for kind in of_rounds.get(name, ()):
            yield name, partial(rounds.test, matrix=kind, round_s=round_s)
        if name == "wsat":
            yield name, partial(series.saturation, capacities=capacities)
        elif name == "xsr":
            yield name, partial(series.recovery, capacities=capacities)


def differences(names: Sequence[str], round_s: float, capacities: float) -> list[str]:
    """Differences from the standard, in words."""
    said = []
    if set(OF_ROUNDS) & set(names) and round_s != STANDARD_ROUND_S:
        said.append(f"each cell of a round lasts {units.duration(round_s)} of simulated time instead of 60 s")
    if "wsat" in names:
        end = "" if capacities == STANDARD_CAPACITIES else f", and ends after {capacities:g} times the capacity"
        said.append(f"write saturation has a point for each 5 % of the capacity instead of each minute{end}")
    if "xsr" in names:
        said.append(
            f"each workload of cross-stimulus recovery writes {capacities:g} times the capacity, with a point for each "
            "5 % of it, instead of running for 6 or 8 hours"
        )
    return said
