"""Published figures in the drawings of the studies: their places, and that no claim with a number lacks one."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from conftest import ROOT
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from wordline.base import drawing, palette
from wordline.studies import catalogue, charts
from wordline.studies.context import Context
from wordline.studies.outcome import Bars, Lines, LogLines, Published, Stack


def kept() -> dict[str, dict[str, Any]]:
    """The saved results, by study."""
    # A wheel has the studies without their results.
    return {it: json.loads((ROOT / "studies" / it / "result.json").read_text()) for it in catalogue.names()}


def marks(figure: Bars | Lines) -> tuple[Axes, list[tuple[float, float]]]:
    """The axes of a drawing, and the places of its hollow marks."""
    with drawing.colours(palette.LIGHT):
        canvas = Figure(figsize=charts.INCHES, layout="constrained")
        axes = canvas.subplots()
        (charts._lines if isinstance(figure, Lines) else charts._bars)(axes, figure)
        charts._published(canvas, axes, figure)
        hollow = [line for line in axes.get_lines() if line.get_markerfacecolor() == palette.PAPER]
        return axes, sorted(point for line in hollow for point in map(tuple, line.get_xydata()))


SERIES = {"one": [1.0, 2.0], "two": [3.0, 4.0]}


def test_a_mark_stands_on_the_bar_that_it_is_about() -> None:
    published = [Published("c", "as printed", 1, 5.0, 9.0, "two"), Published("c", "as printed", 0, 2.5, 2.5)]
    axes, found = marks(Bars("b", "T", "W", "%", ["a", "b"], SERIES, published))
    bar = next(patch for patch in axes.patches if patch.get_height() == 4.0)
    middle = bar.get_x() + bar.get_width() / 2
    assert found == [(0.0, 2.5), (pytest.approx(middle), 5.0), (pytest.approx(middle), 9.0)]
    assert axes.get_ylim()[1] > 9, "what was published is in sight"
    text = charts.draw(Bars("b", "T", "W", "%", ["a", "b"], SERIES, published), "study")
    assert text.count("as printed") == 1, "the legend names it once"


def test_a_mark_stands_at_the_step_of_a_line() -> None:
    published = [Published("c", "p", 1, 7.0, 7.0, "one"), Published("d", "q", 1, 7.0, 7.0, "two")]
    axes, found = marks(Lines("l", "T", "W", "x", "y", ["1", "2"], SERIES, published))
    assert found == [(1.0, 7.0), (1.0, 7.0)]
    sizes = [line.get_markersize() for line in axes.get_lines() if line.get_markerfacecolor() == palette.PAPER]
    assert len(set(sizes)) == 2, "one is seen around the other"


def test_lines_of_several_magnitudes_have_a_logarithmic_axis() -> None:
    for kind, scale in ((Lines, "linear"), (LogLines, "log")):
        axes, _ = marks(kind("l", "T", "W", "x", "y", ["1", "2"], SERIES, [Published("c", "p", 0, 1.0, 1.0)]))
        assert axes.get_yscale() == scale
    assert "<svg" in charts.draw(LogLines("l", "T", "W", "x", "y", ["1", "2"], {"one": [1.0, 2000.0]}), "study")


def test_what_is_published_is_that_of_the_claim() -> None:
    context = Context(catalogue.load("nand-validation"))
    assert context.published("jung13.latency-model-typical-sdp") == (48.7, 79.6)
    assert Context(catalogue.load("nand-dies")).published("jung13.dies-write") == (541.1, 541.1)
    with pytest.raises(KeyError):
        context.published("jung13.dies-write")
    with pytest.raises(KeyError):
        Context(catalogue.load("nand-scheduler")).published("jung13.die-first-plane-first")


NOT_DRAWN = {
    "chang11.metadata-store",
    "jung13.latency-range",
    "jung13.palloc-flash-first-iops",
    "jung13.palloc-flash-parallelism",
    "jung13.palloc-interference",
    "jung13.palloc-interference-way",
    "jung13.palloc-read-intensive",
    "jung13.palloc-sequential",
    "jung13.palloc-write-intensive",
}
"""Claims with a number that no drawing shows: slowest over fastest program, and differences between orders of page
allocation, are in tables."""


def test_every_number_that_is_drawn_has_the_published_one_beside_it() -> None:
    results = kept().values()
    numbers = {claim["id"] for result in results for claim in result["claims"] if "value" in claim}
    drawn = {it["claim"] for result in results for each in result["figures"] for it in each.get("published", [])}
    assert drawn == numbers - NOT_DRAWN
    for result in results:
        for each in result["figures"]:
            places = each.get("groups") or each.get("steps") or []
            for it in each.get("published", []):
                assert 0 <= it["at"] < len(places)
                assert it["series"] in ("", *each["series"])


def test_marks_follow_from_claim_and_measured_value() -> None:
    results = kept()
    dies = next(each for each in results["nand-dies"]["figures"] if each["name"] == "dies-write")
    (mark,) = dies["published"]
    assert dies["steps"][mark["at"]] == "16", "eight pages of 2 KB"
    assert mark["low"] == pytest.approx(dies["series"]["1 die"][0] * (1 + 541.1 / 100))
    models = next(each for each in results["nand-validation"]["figures"] if each["name"] == "write-sdp")
    typical = [it for it in models["published"] if it["series"] == "typical"]
    for it, right in zip(typical, models["series"]["per page"], strict=True):
        assert (it["low"], it["high"]) == pytest.approx((right * 1.487, right * 1.796))


def test_a_legend_of_many_long_names_stays_within_the_figure() -> None:
    names = [f"what reads wait for, number {n}" for n in range(7)]
    drawn = charts.draw(Stack("waits", "Waits", "Waits.", "µs", ["a", "b"], {name: [1.0, 2.0] for name in names}), "s")
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', drawn).group(1))
    starts = {text: float(x) for x, text in re.findall(r'<text [^>]*x="([\d.]+)"[^>]*>([^<]+)</text>', drawn)}
    # A letter takes about half of its height of ten points.
    assert all(starts[name] + 5 * len(name) < width for name in names)
