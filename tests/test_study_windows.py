"""Windows of runs in the studies of kim18: their choice on made-up tables, their gaps, and how they are drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from experiments import carried_out
from matplotlib.figure import Figure
from wordline.base import drawing, palette
from wordline.studies import catalogue, charts, drives, windows
from wordline.studies.context import Context
from wordline.studies.outcome import Course
from wordline.studies.windows import AUTO, QOSFC, RAIN, Window


def table(work: Mapping[int, float], task: str = "gc", samples: int = 200, **columns: Any) -> dict[str, Any]:  # noqa: ANN401
    """A table of intervals in which a task reads pages in some samples; other columns are given, or 0."""
    made = {name: np.zeros(samples) for name in windows.COLUMNS}
    made["start_s"] = np.arange(samples) * 0.1
    for number, pages in work.items():
        made[f"{task}_reads"][number] = pages
    return made | {name: np.asarray(values, float) for name, values in columns.items()}


def without(intervals: Mapping[str, Any], *idle: int) -> dict[str, Any]:
    """The same without the rows of some samples."""
    return {name: np.delete(values, idle) for name, values in intervals.items()}


def test_the_window_is_around_the_start_of_the_largest_work() -> None:
    work = dict.fromkeys(range(20, 30), 5.0) | dict.fromkeys(range(60, 64), 50.0) | dict.fromkeys(range(120, 124), 50.0)
    assert windows.around(table(work), "gc", 5) == Window(55, 60, 50), "the first one of equals"
    assert windows.around(table(work | {64: 1.0}), "gc", 5) == Window(55, 60, 50)
    assert windows.around(table(work | {119: 1.0}), "gc", 5) == Window(114, 119, 50)
    assert windows.around(table(work), "refresh", 5) is None


def test_programs_and_erases_are_work_too() -> None:
    given = table({50: 1.0, 80: 5.0})
    given["gc_programs"][49], given["gc_erases"][48] = 6, 1
    assert windows.around(given, "gc", 5) == Window(43, 48, 50)


def test_a_window_lies_within_the_run() -> None:
    assert windows.around(table({4: 9.0, 155: 9.0, 100: 1.0}), "gc", 5) == Window(150, 155, 50)
    assert windows.around(table({4: 9.0, 156: 9.0, 100: 1.0}), "gc", 5) == Window(95, 100, 50)
    assert windows.around(table({4: 9.0}), "gc", 5) is None


def test_work_after_the_run_does_not_count() -> None:
    given = table({100: 1.0})
    after = {name: np.append(values, 0.0) for name, values in given.items()}
    after["start_s"][-1], after["gc_reads"][-1] = 19.98, 99.0
    assert windows.around(after, "gc", 5) == windows.around(given, "gc", 5)


def test_an_idle_time_has_no_means_but_keeps_its_blocks() -> None:
    given = table({}, samples=6, free_blocks=[7, 8, 9, 10, 11, 12], read_mean_us=[1, math.nan, 3, 4, 5, 6])
    window = Window(1, 2, 4)
    assert windows.sampled(given, "read_mean_us", window) == [None, 3, 4, 5]
    idle = without(given, 2, 3)
    assert windows.sampled(idle, "read_mean_us", window) == [None, None, None, 5]
    assert windows.held(idle, "free_blocks", window) == [8, 8, 8, 11]
    assert windows.held(without(given, 0, 1, 2), "free_blocks", window) == [None, None, 10, 11]


def runs(**of_auto: Any) -> dict[tuple[str, str], dict[str, Any]]:  # noqa: ANN401
    """The runs of the three systems with GC at different times."""
    starts = {RAIN: 100, QOSFC: 60, AUTO: 40}
    return {
        (system, "T"): {"intervals": table({start: 1.0, start + 1: 2.0}, **(of_auto if system == AUTO else {}))}
        for system, start in starts.items()
    }


def test_each_system_has_its_own_window_on_one_axis() -> None:
    means = np.full(200, math.nan)
    means[[35, 40]] = 2000.0, 5000.0
    response, state, _ = windows.figures(runs(read_mean_us=means, free_blocks=range(200)), "T", 5)
    assert response.at[:6] == [-0.45, -0.35, -0.25, -0.15, -0.05, 0.05]
    assert {len(values) for values in response.series.values()} == {50}
    assert [(n, it) for n, it in enumerate(response.series[AUTO]) if it is not None] == [(0, 2.0), (5, 5.0)]
    assert "RAIN: 10.0 s; QoSFC: 6.0 s; AutoSSD: 4.0 s" in response.words
    assert (state.at[0], state.series[AUTO][0], state.series[AUTO][-1]) == (-0.4, 35, 84)


def test_a_share_is_drawn_and_told_if_it_never_changes() -> None:
    *_, share = windows.figures(runs(gc_share=[5.0] * 200), "T", 5)
    assert share.words.endswith("It is 5 % throughout.")
    assert set(share.series[AUTO]) == {5.0}
    *_, share = windows.figures(runs(gc_share=[5.0] * 50 + [9.0] * 150), "T", 5)
    assert share.words.endswith("the drive is idle.")
    assert (share.series[AUTO][14], share.series[AUTO][15]) == (5, 9)


def test_read_scrubbing_chooses_the_windows_if_all_systems_have_it() -> None:
    given = runs(most_reads=range(200))
    _, state, share = windows.figures(given, "T", 5, scrubbing=True)
    assert share.title == "Share of read scrubbing of AutoSSD under T"
    assert (state.name, state.series[AUTO][0]) == ("t-most-reads", 35)
    assert "Read scrubbing does not run in this window." in state.words
    for n, result in enumerate(given.values()):
        result["intervals"]["refresh_reads"][50 + n] = 1.0
    response, state, _ = windows.figures(given, "T", 5, scrubbing=True)
    assert "RAIN: 5.0 s; QoSFC: 5.1 s; AutoSSD: 5.2 s" in response.words
    assert state.series[AUTO][0] == 47
    assert "does not run" not in state.words


def test_without_gc_or_table_there_is_no_figure() -> None:
    given = runs()
    given[RAIN, "T"]["intervals"]["gc_reads"][:] = 0
    assert windows.figures(given, "T", 5) == []
    del given[RAIN, "T"]["intervals"]
    assert windows.figures(given, "T", 5) == []


def test_runs_with_other_choices_have_no_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    study = catalogue.load("autossd")
    assert set(windows.asked(Context(study), ["T"])) == {(RAIN, "T"), (QOSFC, "T"), (AUTO, "T")}
    assert windows.asked(Context(study, instead={"weights": 40}), ["T"]) == {}
    monkeypatch.setattr(windows, "find_spec", lambda _: None)
    assert windows.asked(Context(study), ["T"]) == {}, "studies run without pyarrow, too"


def experiment() -> dict[str, Any]:
    """Some random writes on the smallest preset."""
    return {
        "drive": "demo",
        "sets": {"capacity.raw_over_logical": 1.5},
        "precondition": {"overwrites": 0.5},
        "then": {},
        "jobs": [{"rw": "randrw", "bs": "4k", "iodepth": 4, "number_ios": 1500}],
        "seed": 1,
    }


def test_the_table_only_adds_to_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(drives, "SHELF", drives.Shelf())
    plain = carried_out(experiment())
    wanted = {"intervals": {"every": "1ms", "columns": ["start_s", "reads", "write_mean_us"]}}
    context = Context(catalogue.load("autossd"))
    (result,) = context.drives({"a": experiment() | wanted}).values()
    intervals = result["intervals"]
    assert {it: result[it] for it in result if it not in ("intervals", "cpu_s")} == {
        it: plain[it] for it in plain if it != "cpu_s"
    }
    assert intervals["reads"].sum() == plain["by_op"]["read"]["requests"]
    assert not np.isnan(intervals["write_mean_us"]).all()
    assert context.drives({"b": experiment()})["b"] is result, "the run serves other choices, too"


def lines(figure: Course) -> list[Any]:
    """The lines of a drawing."""
    with drawing.colours(palette.LIGHT):
        axes = Figure().subplots()
        charts._course(axes, figure)
        return [axes.get_xlim(), axes.get_ylim()[0], *axes.get_lines()]


def test_a_course_has_gaps_and_dots() -> None:
    at, values = [0.0, 1.0, 2.0, 3.0, 4.0], [1.0, 2.0, None, 4.0, None]
    span, lowest, line = lines(Course("c", "T", "W", "s", "ms", at, {"one": values}))
    assert (span, lowest) == ((0.0, 4.0), 0.0)
    assert line.get_linestyle() == "-"
    assert np.isnan(line.get_ydata()).tolist() == [False, False, True, False, True]
    assert line.get_markevery() == [3], "a value between gaps is seen"
    *_, line = lines(Course("c", "T", "W", "s", "ms", at, {"one": [None, None, None, 4.0, 5.0]}))
    assert (line.get_linewidth(), line.get_marker()) == (0, "o"), "mostly gaps: dots"
    _, lowest, _ = lines(Course("c", "T", "W", "s", "n", at, {"one": [80200.0] * 4 + [80210.0]}, from_zero=False))
    assert lowest > 80000


def test_a_course_without_values_is_drawn() -> None:
    text = charts.draw(Course("c", "T", "W", "s", "ms", [0.0, 1.0], {"one": [None, None], "two": [None, 1.0]}), "study")
    assert "<svg" in text and "two" in text
