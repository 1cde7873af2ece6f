"""Some seconds of runs of kim18's systems, around the start of background work: parts a and b of figures 6, 7 and 11.

The paper shows windows in which "GC is active for all three systems", and does not say how it selected them. In our
runs GC starts at other times in each system, since it ended at other times before, and RAIN has more blocks. GC of all
three at one time would be chance, so each system has a window of its own, by this rule:

- the task is read scrubbing where a figure is about it and it runs in all three systems, else GC;
- a period of work is a time in which each sample of 100 ms has flash operations of the task; the period with the most
  operations counts, the first one of equals, among those whose window lies within the run;
- a tenth of the window is before the start of the period, the rest after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from wordline.studies.autossd import AUTO, QOSFC, RAIN, US_PER_MS, Also, Runs
from wordline.studies.context import Context
from wordline.studies.outcome import Course

WATCHED = (RAIN, QOSFC, AUTO)
"""The systems of the figures."""
SAMPLE_S = 0.1
BEFORE = 0.1
"""The part of a window before the start of the work."""
TASKS = {"refresh": "read scrubbing", "gc": "GC"}
"""Background tasks as in names of columns, and as in the paper."""
COLUMNS = (
    "start_s",
    "read_mean_us",
    "free_blocks",
    "most_reads",
    *(f"{task}_{column}" for task in TASKS for column in ("reads", "programs", "erases", "share")),
)

Intervals = Mapping[str, "np.ndarray[Any, Any]"]
"""Columns of a run's table of intervals, see :func:`wordline.studies.drives.watched`."""


def asked(context: Context, traces: Sequence[str]) -> Also:
    """What :func:`figures` needs of the experiments with these traces.

    Runs with other choices are for the claims alone. Without pyarrow, which not everybody has, there are no windows.
    """
    if context.instead or find_spec("pyarrow") is None:
        return {}
    wanted = {"intervals": {"every": f"{1000 * SAMPLE_S:.0f}ms", "columns": COLUMNS}}
    return {(system, trace): wanted for system in WATCHED for trace in traces}


@dataclass(frozen=True)
class Window:
    """Some samples of a run, by their numbers from its begin."""

    first: int
    """The first sample."""
    start: int
    """The one in which the work starts."""
    count: int

    @property
    def numbers(self) -> range:
        """The samples."""
        return range(self.first, self.first + self.count)


def numbers(intervals: Intervals) -> np.ndarray[Any, Any]:
    """The numbers of the samples that the rows are about, and -1 for rows of the work after the last completion."""
    exact = intervals["start_s"] / SAMPLE_S
    whole = np.rint(exact)
    # The run ends within a sample, and a row of the work after it begins there.
    return np.where(np.abs(exact - whole) < 1e-3, whole, -1).astype(int)


def operations(intervals: Intervals, task: str) -> np.ndarray[Any, Any]:
    """The flash operations of a task in each row: pages read and programmed, and blocks erased."""
    return intervals[f"{task}_reads"] + intervals[f"{task}_programs"] + intervals[f"{task}_erases"]


def around(intervals: Intervals, task: str, seconds: float) -> Window | None:
    """The window around the start of a task's largest work, by the rule of this module; None if there is none."""
    rows = numbers(intervals)
    work = np.zeros(rows.max(initial=0) + 1)
    work[rows[rows >= 0]] = operations(intervals, task)[rows >= 0]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], work > 0, [0]])))
    count = round(seconds / SAMPLE_S)
    before = round(BEFORE * count)
    periods = [
        (work[start:end].sum(), Window(start - before, start, count))
        for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
        if before <= start <= len(work) - count + before
    ]
    return max(periods, key=lambda it: it[0], default=(0.0, None))[1]


def sampled(intervals: Intervals, column: str, window: Window) -> list[float | None]:
    """A column in the window; None where the interval has no value or the drive was idle."""
    values = dict(zip(numbers(intervals).tolist(), intervals[column].tolist(), strict=True))
    # Not a number is no value.
    return [None if (value := values.get(n)) is None or value != value else value for n in window.numbers]


def held(intervals: Intervals, column: str, window: Window) -> list[float | None]:
    """A column that tells a state, which stays as it is while the drive is idle; None before the first row."""
    longer = Window(0, 0, window.first + window.count)
    state: float | None = None
    states = [state := state if value is None else value for value in sampled(intervals, column, longer)]
    return states[window.first :]


def figures(results: Runs, trace: str, seconds: float, scrubbing: bool = False) -> list[Course]:
    """Parts a and b of a figure; none if a run has no such window, or was not watched.

    :param scrubbing: the figure is about read scrubbing, not GC.
    """
    runs: dict[str, Intervals] = {it: results[it, trace].get("intervals", {}) for it in WATCHED}
    if not all(runs.values()):
        return []
    scrubs = scrubbing and all(operations(run, "refresh").any() for run in runs.values())
    task = "refresh" if scrubs else "gc"
    found = {system: around(run, task, seconds) for system, run in runs.items()}
    windows = {system: window for system, window in found.items() if window}
    if len(windows) < len(runs):
        return []
    about = About(trace, seconds, task, "refresh" if scrubbing else "gc")
    state = about.read_counts if scrubbing else about.free_blocks
    return [about.responses(runs, windows), *state(runs[AUTO], windows[AUTO])]


@dataclass(frozen=True)
class About:
    """What the figures of a window are about."""

    trace: str
    seconds: float
    task: str
    """The task that the windows are chosen by."""
    controlled: str
    """The task whose share is told."""

    def responses(self, runs: Mapping[str, Intervals], windows: Mapping[str, Window]) -> Course:
        """Part a: mean response times."""
        name = TASKS[self.task]
        starts = "; ".join(f"{system}: {window.start * SAMPLE_S:,.1f} s" for system, window in windows.items())
        return Course(
            f"{self.trace.lower()}-responses",
            f"Response times of reads under {self.trace} when {name} starts",
            "The mean response time of the reads, of all sizes, that complete in each 100 ms; it is missing where "
            f"none does. Each system has a window of its own, of {self.seconds:g} s: time 0 is the start of that "
            f"period of {name} without a pause that has the most flash operations (in simulated time, {starts}).",
            self._axis,
            "mean response time (ms)",
            self._times(windows[AUTO], 0.5),
            {
                system: [_ms(us) for us in sampled(runs[system], "read_mean_us", window)]
                for system, window in windows.items()
            },
        )

    def free_blocks(self, run: Intervals, window: Window) -> list[Course]:
        """Part b of figures 6 and 11: free blocks, and the share of GC."""
        return self._states(run, window, "free_blocks", "Free blocks", "free blocks", "The number of free blocks")

    def read_counts(self, run: Intervals, window: Window) -> list[Course]:
        """Part b of figure 7: page reads of the most-read block, and the share of read scrubbing."""
        words = "The number of page reads of the most-read block with data since it was erased"
        return self._states(run, window, "most_reads", "Reads of the most-read block", "page reads", words)

    def _states(self, run: Intervals, window: Window, column: str, title: str, y: str, words: str) -> list[Course]:
        key, name, times = self.trace.lower(), TASKS[self.controlled], self._times(window, 1.0)
        shares = sampled(run, f"{self.controlled}_share", window)
        known = {share for share in shares if share is not None}
        active = operations(run, self.controlled)[np.isin(numbers(run), window.numbers)].any()
        told = [f"{words}, in the same window of {AUTO}, at the end of each 100 ms."]
        told += [] if active else [f"{name[0].upper()}{name[1:]} does not run in this window."]
        constant = f" It is {min(known):.3g} % throughout." if len(known) == 1 else ""
        return [
            Course(
                f"{key}-{column.replace('_', '-')}",
                f"{title} of {AUTO} under {self.trace}",
                " ".join(told),
                self._axis,
                y,
                times,
                {AUTO: held(run, column, window)},
                from_zero=False,
            ),
            Course(
                f"{key}-share",
                f"Share of {name} of {AUTO} under {self.trace}",
                f"The share of {name} in the same window, at the end of each 100 ms; it is missing where the drive is "
                f"idle.{constant}",
                self._axis,
                "%",
                times,
                {AUTO: shares},
            ),
        ]

    @property
    def _axis(self) -> str:
        return f"time since the start of {TASKS[self.task]} (s)"

    def _times(self, window: Window, part: float) -> list[float]:
        """Times of the samples: ``part`` of a sample after their begin."""
        return [round((n - window.start + part) * SAMPLE_S, 3) for n in window.numbers]


def _ms(us: float | None) -> float | None:
    return None if us is None else us / US_PER_MS
