"""The outcome of a study: measured values, tables, and the data of its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from wordline.studies.judge import Measured

Cell = str | float | int | None
"""A cell of a table; None for no value."""


@dataclass(frozen=True)
class Table:
    """A table of the result page."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    """A sentence below the title."""


@dataclass(frozen=True)
class Published:
    """A published figure at its place beside the measured ones, in the unit of the drawing."""

    claim: str
    """Its id."""
    words: str
    """The legend entry: the published figure itself, or one derived from it and a measured one."""
    at: int
    """The index of its group or step, from 0."""
    low: float
    high: float
    """The ends of a range; the same for a single number."""
    series: str = ""
    """Its series; empty for the whole group."""


@dataclass(frozen=True)
class Bars:
    """Groups of bars: a value for each series in each group."""

    name: str
    """Name of the file, without extension."""
    title: str
    words: str
    """Description of the figure, for screen readers."""
    y: str
    groups: Sequence[str]
    series: dict[str, Sequence[float | None]]
    published: Sequence[Published] = ()


@dataclass(frozen=True)
class Stack:
    """Bars of parts: a bar for each group, the series on top of each other."""

    name: str
    title: str
    words: str
    y: str
    groups: Sequence[str]
    series: dict[str, Sequence[float]]


@dataclass(frozen=True)
class Lines:
    """Lines over a few steps on the x axis, evenly spaced regardless of their values."""

    name: str
    title: str
    words: str
    x: str
    y: str
    steps: Sequence[str]
    series: dict[str, Sequence[float | None]]
    published: Sequence[Published] = ()


@dataclass(frozen=True)
class LogLines(Lines):
    """Lines with a logarithmic y axis, for values of several orders of magnitude."""


@dataclass(frozen=True)
class Course:
    """Values over simulated time: a line for each series, with gaps where it has no value."""

    name: str
    title: str
    words: str
    x: str
    y: str
    at: Sequence[float]
    """Times of the values."""
    series: dict[str, Sequence[float | None]]
    from_zero: bool = True
    """The y axis begins at 0; if not, with the smallest value."""


@dataclass(frozen=True)
class Timeline:
    """Stages over time, a lane for each resource; times in microseconds."""

    name: str
    title: str
    words: str
    lanes: Sequence[str]
    spans: Sequence[tuple[str, str, float, float]]
    """Lane, stage, start, end."""


Figure = Bars | Stack | Lines | Course | Timeline


@dataclass(frozen=True)
class Outcome:
    """The result of a study's experiments."""

    measured: dict[str, Measured]
    """By claim id: a value for every claim of the study."""
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    discussed: dict[str, float] = field(default_factory=dict)
    """Measured figures that the discussion names, by their names there."""
