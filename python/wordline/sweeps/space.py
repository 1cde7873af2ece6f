"""The points of a sweep: every combination of values (a grid), a Latin hypercube, or a list."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wordline._core import InputError
from wordline.base.errors import or_nearest

DRIVE, LOAD, SEED = "drive", "load", "seed"
"""Factors that are no key: the drive, the workload and the seed of a point."""

GRID, HYPERCUBE, LIST = "grid", "latin-hypercube", "list"
DESIGNS = (GRID, HYPERCUBE, LIST)

MOST_POINTS = 1_000_000
"""More points than this are a mistake."""

RANGE_KEYS = ("from", "to", "scale", "whole")


@dataclass(frozen=True)
class Point:
    """One run of a sweep."""

    drive: Any
    load: Any
    seed: int
    sets: dict[str, Any] = field(default_factory=dict)
    """Overrides of the drive in which points differ."""
    load_sets: dict[str, Any] = field(default_factory=dict)
    """Overrides of the workload in which points differ."""
    factors: dict[str, Any] = field(default_factory=dict)
    """The value of each factor, by the name of its column."""


@dataclass(frozen=True)
class Range:
    """Values between two bounds, for a Latin hypercube."""

    low: float
    high: float
    logarithmic: bool = False
    whole: bool = False

    @classmethod
    def of(cls, name: str, given: Mapping[str, Any]) -> Range:
        """The range that a table describes.

        :raises wordline.InputError: if it describes none.
        """
        for key in given:
            if key not in RANGE_KEYS:
                raise InputError(f"{name}.{key}: no key of a range; {or_nearest(key, list(RANGE_KEYS), 'keys')}")
        low, high = given.get("from"), given.get("to")
        scale, whole = given.get("scale", "linear"), given.get("whole", False)
        if not _is_number(low) or not _is_number(high) or not low < high:
            raise InputError(
                f"{name}: a range needs two numbers, as in {{ from = 1.05, to = 1.3 }}, the first below the second"
            )
        if scale not in ("linear", "log"):
            raise InputError(f"{name}.scale = {scale!r}: the scales are 'linear' and 'log'")
        if not isinstance(whole, bool):
            raise InputError(f"{name}.whole = {whole!r}: must be true or false")
        if whole and math.ceil(low) > math.floor(high):
            raise InputError(f"{name}: there is no whole number from {low} to {high}")
        if scale == "log" and low <= 0:
            raise InputError(f"{name}.from = {low}: with scale = 'log' it must be above 0")
        return cls(low, high, scale == "log", whole)

    def at(self, share: float) -> float | int:
        """The value at a share (0 to 1) of the range."""
        if self.logarithmic:
            value = math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
        else:
            value = self.low + share * (self.high - self.low)
        if self.whole:
            return max(math.ceil(self.low), min(math.floor(self.high), round(value)))
        # Enough digits to tell points apart, and few enough to read.
        return float(f"{value:.6g}")


Values = Sequence[Any] | Range


@dataclass
class Space:
    """What a sweep varies."""

    drives: list[Any]
    loads: list[Any]
    seeds: list[int]
    drive_keys: dict[str, Values] = field(default_factory=dict)
    """Values of keys of the drive."""
    load_keys: dict[str, Values] = field(default_factory=dict)
    """Values of keys of the workload."""
    design: str = GRID
    count: int = 0
    """Points of a Latin hypercube, for each seed."""
    listed: list[Point] = field(default_factory=list)
    """The points of a list, with seed 0: all of the seeds are run."""

    def points(self) -> list[Point]:
        """All points, in order.

        :raises wordline.InputError: if the design does not fit what is varied.
        """
        if self.design == LIST:
            combinations = [(point.drive, point.load, point.sets, point.load_sets) for point in self.listed]
        elif self.design == HYPERCUBE:
            combinations = list(self._hypercube())
        else:
            combinations = list(self._grid())
        return self.expanded(combinations)

    def expanded(self, combinations: Sequence[tuple[Any, Any, dict[str, Any], dict[str, Any]]]) -> list[Point]:
        """The points of combinations of drive, workload and their overrides: one for each seed."""
        columns = self.columns()
        found = []
        for (drive, load, sets, load_sets), seed in itertools.product(combinations, self.seeds):
            every = {DRIVE: named(drive), LOAD: named(load), SEED: seed, **sets}
            every.update({load_column(key): value for key, value in load_sets.items()})
            factors = {column: every.get(column) for column in columns}
            found.append(Point(drive, load, seed, sets, load_sets, factors))
        return found

    def columns(self) -> list[str]:
        """The names of the factors: of a drive, a workload or a seed only if there are several."""
        several = [name for name, all_of in self._givens() if len(all_of) > 1]
        if self.design == LIST:
            drive_keys = list(dict.fromkeys(key for point in self.listed for key in point.sets))
            load_keys = list(dict.fromkeys(key for point in self.listed for key in point.load_sets))
        else:
            drive_keys, load_keys = list(self.drive_keys), list(self.load_keys)
        seed = [SEED] if SEED in several else []
        return [*(name for name in several if name != SEED), *drive_keys, *map(load_column, load_keys), *seed]

    def _givens(self) -> Iterator[tuple[str, list[Any]]]:
        drives = [point.drive for point in self.listed] if self.design == LIST else self.drives
        loads = [point.load for point in self.listed] if self.design == LIST else self.loads
        yield DRIVE, _distinct(drives)
        yield LOAD, _distinct(loads)
        yield SEED, self.seeds

    def _grid(self) -> Iterator[tuple[Any, Any, dict[str, Any], dict[str, Any]]]:
        axes = {**self.drive_keys, **self.load_keys}
        for name, values in axes.items():
            if isinstance(values, Range):
                raise InputError(
                    f"{name}: a range needs design = '{HYPERCUBE}'; for a grid list the values, as in [1.05, 1.1, 1.3]"
                )
        size = math.prod(len(values) for values in axes.values() if not isinstance(values, Range))
        if size * len(self.drives) * len(self.loads) * len(self.seeds) > MOST_POINTS:
            raise InputError(f"the grid has more than {MOST_POINTS:,} points; vary fewer keys, or choose '{HYPERCUBE}'")
        for drive, load in itertools.product(self.drives, self.loads):
            for choice in itertools.product(*axes.values()):  # type: ignore[arg-type]
                yield drive, load, *self._split(choice)

    def _hypercube(self) -> Iterator[tuple[Any, Any, dict[str, Any], dict[str, Any]]]:
        axes = {DRIVE: self.drives, LOAD: self.loads, **self.drive_keys, **self.load_keys}
        # The design is part of the question, so it does not change with the seeds of the runs.
        draw = random.Random(1)
        columns = []
        for values in axes.values():
            order = list(range(self.count))
            draw.shuffle(order)
            shares = [(place + draw.random()) / self.count for place in order]
            if isinstance(values, Range):
                columns.append([values.at(share) for share in shares])
            else:
                columns.append([values[int(share * len(values))] for share in shares])
        for drive, load, *choice in zip(*columns, strict=True):
            yield drive, load, *self._split(choice)

    def _split(self, choice: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The values of a point, by keys of the drive and of the workload."""
        count = len(self.drive_keys)
        sets = dict(zip(self.drive_keys, choice[:count], strict=True))
        return sets, dict(zip(self.load_keys, choice[count:], strict=True))


def load_column(key: str) -> str:
    """The column of a key of the workload."""
    return f"load.{key}"


def named(given: object) -> str:
    """A drive or a workload as the table shows it."""
    return given if isinstance(given, str) else repr(given)


def values_of(name: str, given: object) -> Values:
    """The values of a factor.

    :raises wordline.InputError: if there are none.
    """
    if isinstance(given, Mapping):
        return Range.of(name, given)
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError(f"{name} = {given!r}: must be a list of values, as in [{given!r}], or a range")
    if not given:
        raise InputError(f"{name}: the list is empty; give at least one value")
    return list(given)


def seeds_of(given: object, default: int) -> list[int]:
    """The seeds of a sweep: ``default`` and those that follow for a number of seeds, or those of a list.

    :raises wordline.InputError: if it is neither.
    """
    if given is None:
        return [default]
    if isinstance(given, int) and not isinstance(given, bool):
        if not 1 <= given <= MOST_POINTS:
            raise InputError(f"seeds = {given}: must be at least 1 and at most {MOST_POINTS:,}, or a list of seeds")
        return [(default + n) % 2**64 for n in range(given)]
    right = isinstance(given, Sequence) and not isinstance(given, str) and len(given) > 0
    if not right or not all(isinstance(s, int) and not isinstance(s, bool) and 0 <= s < 2**64 for s in given):  # type: ignore[attr-defined]
        raise InputError(f"seeds = {given!r}: must be a number of seeds, or a list of whole numbers from 0")
    return _distinct(list(given))  # type: ignore[call-overload]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _distinct(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
