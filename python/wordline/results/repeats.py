"""The same run under several seeds: the mean of each figure, and its variation by chance.

The seeds are the run's own and those that follow. Each run preconditions its own drive, or starts from a fork of one
that was read from a snapshot or is given, and draws its own workload; anything not random (a trace, a snapshot, a job
with a ``randseed``) is the same in all.
"""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.results.keyfigures import FIGURES, of_policies, value_of

if TYPE_CHECKING:
    from concurrent.futures import Future

    from wordline.base.progress import Told

Result = dict[str, Any]

One = Callable[[int, bool, "Told"], str]
"""Does the run of a seed, the first one or another, and gives its result as JSON."""

OPS = ("all", "read", "write", "trim")

PERCENTILES = ("mean", "min", "p50", "p90", "p99", "p99_9", "p99_99", "p99_999", "max")

KEYS = (
    "simulated_s",
    "requests",
    "iops",
    "bandwidth_mib_s",
    *(f"latency_us.{op}.{key}" for op in OPS for key in PERCENTILES),
    "waiting_us.mean",
    "waiting_us.max",
    "gc_affected_requests",
    "gc_affected_us.read.mean",
    "gc_affected_us.write.mean",
    "written.of_capacity",
    "write_amplification",
    "flash.reads",
    "flash.programs",
    "flash.erases",
    "gc.collections",
    "gc.moved_pages",
    "gc.plane_utilisation",
    "wear.mean",
    "wear.max",
    "wear.stddev",
    "energy_j",
    "utilisation.dies",
    "utilisation.channels",
    "activity.dies_gc",
)
"""The figures reported over repeats."""

CONFIDENCE = 0.95

EVERY_S = 0.1
"""Seconds between two looks at the runs under way."""

TOGETHER_BYTES = 1 << 30
"""Drives whose state takes more than this in all do not run at once."""


def within(t: float, freedom: int) -> float:
    """The probability that Student's t with so many degrees of freedom lies between ``-t`` and ``t``.

    By the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    angle = math.atan(t / math.sqrt(freedom))
    cosine, odd = math.cos(angle), freedom % 2
    term = total = cosine if odd else 1.0
    for k in range(3 if odd else 2, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    if not odd:
        return math.sin(angle) * total
    return 2 / math.pi * (angle + (math.sin(angle) * total if freedom > 1 else 0.0))


def student(freedom: int) -> float:
    """The t that 95 % lie within, for so many degrees of freedom."""
    low, high = 0.0, 13.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle, freedom) < CONFIDENCE else (low, middle)
    return high


def half_width(values: Sequence[float]) -> float | None:
    """Half of the 95 % confidence interval of the mean of ``values``; none of a single one."""
    if len(values) < 2:
        return None
    return student(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


def apart(one: Sequence[float], other: Sequence[float]) -> bool | None:
    """Whether the means of two samples differ by more than chance explains; None if one of them is a single value.

    They do if zero lies outside the 95 % confidence interval of their difference (Welch's, for unequal variances).
    """
    if min(len(one), len(other)) < 2:
        return None
    difference = abs(statistics.fmean(one) - statistics.fmean(other))
    spreads = [statistics.variance(values) / len(values) for values in (one, other)]
    if not sum(spreads):
        return difference > 0
    freedom = sum(spreads) ** 2 / sum(
        spread**2 / (len(values) - 1) for spread, values in zip(spreads, (one, other), strict=True)
    )
    # Fewer degrees of freedom are the more careful choice; rounding must not make one less of a whole number.
    return difference > student(max(1, math.floor(freedom + 1e-9))) * math.sqrt(sum(spreads))


def seeds(first: int, n: int) -> list[int]:
    """The seeds of ``n`` runs.

    :raises ValueError: if there are not so many behind the first.
    """
    if first + n > units.SEEDS:
        raise ValueError(f"fewer than {n} seeds from {first} on; the last is {units.SEEDS - 1}")
    return list(range(first, first + n))


def enough(n: object) -> int:
    """How many runs, from what a caller of the Python interface gave.

    :raises wordline.InputError: if it is no whole number of 2 or more.
    """
    from wordline._core import InputError

    if isinstance(n, bool) or not hasattr(n, "__index__") or n.__index__() < 2:
        raise InputError(f"repeat: {n!r} is no number of runs; give a whole number of 2 or more, or None for one run")
    return n.__index__()


def read_again(loads: Sequence[str]) -> None:
    """Checks that each run can read the workload again.

    :raises wordline.InputError: if one of its files can be read only once.
    """
    from wordline._core import InputError

    for load in loads:
        path = Path(load)
        if load == "-" or (path.exists() and not path.is_file() and not path.is_dir()):
            raise InputError(f"{load}: this can be read only once, but --repeat reads it for every seed; give a file")


def at_once(n: int, state_bytes: int | None, memory: int = TOGETHER_BYTES) -> int:
    """How many runs to do at once: one a core, as far as so many bytes hold their drives; one if it is not known what a
    drive takes."""
    if state_bytes is None:
        return 1
    return max(1, min(n, len(os.sched_getaffinity(0)), memory // max(1, state_bytes)))


@dataclass
class _Runs:
    """What is known of the runs so far."""

    seeds: list[int]
    first: Result | None = None
    """The result of the first seed."""
    whole: dict[int, tuple[str, str, dict[str, float]]] = field(default_factory=dict)
    """Of each run that was done: digest, outcome, figures."""
    under_way: dict[int, tuple[float, int, float]] = field(default_factory=dict)
    """Of each run under way: fraction done, requests, simulated seconds."""
    done: tuple[int, float] = (0, 0.0)
    """Requests and simulated seconds of those that were done."""

    def take(self, seed: int, text: str) -> bool:
        """Takes a result; tells whether it is whole."""
        result = json.loads(text)
        if seed == self.seeds[0]:
            self.first = result
        self.under_way.pop(seed, None)
        if result.get("partial"):
            return False
        keys = (*KEYS, *(own.key for own in of_policies([result])))
        figures = {key: value for key in keys if (value := value_of(result, key)) is not None}
        self.whole[seed] = (result["digest"], result["outcome"], figures)
        self.done = (self.done[0] + result["requests"], self.done[1] + result["simulated_s"])
        return True

    def note(self, seed: int, phase: str, fraction: float | None, requests: int, simulated_s: float) -> None:
        """A run under way tells how far it is; nobody knows beforehand what part of it the aging is."""
        self.under_way[seed] = ((fraction or 0.0) if phase == "run" else 0.0, requests, simulated_s)

    def tell(self, progress: Told) -> None:
        """Tells how far all of them are."""
        ways = list(self.under_way.values())
        fraction = (len(self.whole) + sum(way[0] for way in ways)) / len(self.seeds)
        requests = self.done[0] + sum(way[1] for way in ways)
        phase = f"{len(self.whole)} of {len(self.seeds)} seeds"
        progress(phase, fraction, requests, self.done[1] + sum(way[2] for way in ways))

    def result(self) -> Result:
        """The result of the first seed, with those of all seeds that were done beside."""
        if self.first is None:
            raise KeyboardInterrupt
        told = self.first
        told["partial"] = len(self.whole) < len(self.seeds)
        done = sorted(self.whole)
        keys = dict.fromkeys((*KEYS, *(key for seed in done for key in self.whole[seed][2])))
        columns = {key: [self.whole[seed][2].get(key) for seed in done] for key in keys}
        told["repeats"] = {
            "asked": len(self.seeds),
            "n": len(done),
            "seeds": done,
            "digests": [self.whole[seed][0] for seed in done],
            "distinct": len({self.whole[seed][1] for seed in done}),
            "figures": [
                {
                    "key": key,
                    "mean": statistics.fmean(values),
                    "ci95": half_width(values),
                    "min": min(values),
                    "max": max(values),
                    "values": values,
                }
                for key, column in columns.items()
                if column and len(values := [value for value in column if value is not None]) == len(column)
            ],
        }
        return told


def run(one: One, first: int, n: int, progress: Told, together: int) -> Result:
    """Does a run under ``n`` seeds, ``together`` of them at once.

    An interrupt ends it with the runs that were done until then; the result is partial.

    :raises wordline.InputError: if there are not so many seeds.
    :raises wordline.RunError: if one of the runs could not be carried through; its message names the seed.
    """
    from wordline._core import InputError

    try:
        runs = _Runs(seeds(first, n))
    except ValueError as error:
        raise InputError(f"repeat: {error}") from None
    (_in_order if together == 1 else _side_by_side)(one, runs, progress, together)
    return runs.result()


def _named(one: One, seed: int, is_first: bool, progress: Told) -> str:
    from wordline._core import RunError

    try:
        return one(seed, is_first, progress)
    except RunError as error:
        raise RunError(f"with seed {seed}: {error}") from None


def _in_order(one: One, runs: _Runs, progress: Told, _: int) -> None:
    try:
        for seed in runs.seeds:

            def told(phase: str, fraction: float | None, requests: int, simulated_s: float, seed: int = seed) -> None:
                runs.note(seed, phase, fraction, requests, simulated_s)
                runs.tell(progress)

            if not runs.take(seed, _named(one, seed, seed == runs.seeds[0], told)):
                return
    except KeyboardInterrupt:
        # Between two runs: the result tells that it is partial.
        return


def _side_by_side(one: One, runs: _Runs, progress: Told, together: int) -> None:
    from concurrent.futures import ThreadPoolExecutor, wait

    stop = Event()

    def of(seed: int) -> str:
        def told(phase: str, fraction: float | None, requests: int, simulated_s: float) -> None:
            if stop.is_set():
                # This is how the engine learns of it on a thread that gets no signals.
                raise KeyboardInterrupt
            runs.note(seed, phase, fraction, requests, simulated_s)

        return _named(one, seed, seed == runs.seeds[0], told)

    with ThreadPoolExecutor(together) as threads:
        left: dict[Future[str], int] = {threads.submit(of, seed): seed for seed in runs.seeds}
        failed: BaseException | None = None
        while left:
            try:
                if not stop.is_set():
                    runs.tell(progress)
                ended, _ = wait(left, timeout=EVERY_S, return_when="FIRST_COMPLETED")
                for future in sorted(ended, key=left.__getitem__):
                    if not future.cancelled():
                        error = future.exception()
                        if error is None:
                            runs.take(left[future], future.result())
                        else:
                            failed = failed or error
                    del left[future]
            except KeyboardInterrupt:
                stop.set()
            except Exception as error:  # of the caller's progress function
                failed = failed or error
            if failed is not None:
                stop.set()
            if stop.is_set():
                for future in left:
                    future.cancel()
        if failed is not None:
            raise failed


def block(result: Result) -> Result | None:
    """The repeats, if at least one was completed."""
    repeats = result.get("repeats")
    return repeats if repeats and repeats["n"] else None


def figure(result: Result, key: str) -> Result | None:
    """A figure over all repeats, if they have it."""
    found = (block(result) or {}).get("figures") or []
    return next((figure for figure in found if figure["key"] == key), None)


def varied(result: Result) -> str:
    """How the runs differ, in a sentence; empty without repeats."""
    told = block(result)
    if told is None:
        return ""
    n = told["n"]
    if told["distinct"] == 1 and n > 1:
        return f"All {n} seeds gave the same run: nothing in it is random."
    if "earlier_runs" in result:
        return "Each run started from a fork of the same drive."
    if result.get("snapshot"):
        return "Each run started from the same preconditioned drive."
    return "Each run preconditioned its own drive." if result.get("precondition") else ""


def rows(result: Result) -> Iterator[tuple[str, str, str, str, str]]:
    """The main figures over all repeats: name, mean, half of the interval, least and largest."""
    for main in (*FIGURES, *of_policies([result])):
        told = figure(result, main.key)
        if told is None or not any(told["values"]):
            continue
        half = units.NOTHING if told["ci95"] is None else main.text(told["ci95"])
        yield main.name, main.text(told["mean"]), half, main.text(told["min"]), main.text(told["max"])


HEADS = ("mean", "± 95 %", "min", "max")
"""Column heads of :func:`rows` after the name."""
