"""The figures of the SNIA tests, over made-up results: axes that show all values, and readable labels."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from matplotlib.figure import Figure
from wordline.base import drawing, palette
from wordline.pts import drawings

NAMES = ("0.5 KiB", "4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "1024 KiB")


def convergence(*last: float) -> dict[str, Any]:
    """A test of rounds whose cells ended with these values."""
    cells = [
        {"mix": "0/100", "block": block, "values": [value * wave for wave in (1.1, 0.9, 1.0, 1.0, 1.0)]}
        for block, value in zip(NAMES, last, strict=False)
    ]
    return {"title": "IOPS", "unit": "IOPS", "rounds": 5, "cells": cells, "tracked": cells[1]}


def drawn(figure: drawing.Drawing, inches: tuple[float, float] = drawing.WIDE) -> Figure:
    with drawing.colours(palette.LIGHT):
        made = Figure(figsize=(inches[0], inches[1] * figure.height), layout="constrained")
        figure.plot(made)
        made.draw_without_rendering()
    return made


@pytest.mark.parametrize("inches", [drawing.WIDE, drawing.NARROW])
@pytest.mark.parametrize(
    "last",
    [
        (21_000, 25_000, 12_000, 6_100, 3_050, 1_500, 750, 96),
        (100, 101, 102, 103, 104, 105, 106, 107),
        (5.0, 5.0, 5.0),
    ],
    ids=["spread", "close", "equal"],
)
def test_labels_at_the_ends_do_not_overlap(last: tuple[float, ...], inches: tuple[float, float]) -> None:
    (axes,) = drawn(drawings._convergence(convergence(*last)), inches).axes
    assert sorted(text.get_text() for text in axes.texts) == sorted(NAMES[: len(last)])
    boxes = {text.get_text(): text.get_window_extent() for text in axes.texts}
    for one, other in combinations(boxes, 2):
        overlap = min(boxes[one].y1, boxes[other].y1) - max(boxes[one].y0, boxes[other].y0)
        assert overlap < 0.2 * boxes[one].height, f"{one} over {other}"
    heights = [boxes[name].y0 for name in NAMES[: len(last)]]
    assert sorted(range(len(last)), key=heights.__getitem__) == sorted(range(len(last)), key=last.__getitem__)


def test_places_stay_where_there_is_room() -> None:
    assert drawing.apart([0.0, 50.0, 20.0], 10) == [0.0, 50.0, 20.0]
    assert drawing.apart([], 10) == []
    assert drawing.apart([5.0, 5.0], 10) == [0.0, 10.0]
    assert drawing.apart([0.0, 4.0, 8.0, 100.0], 10) == pytest.approx([-6.0, 4.0, 14.0, 100.0])
    assert drawing.apart([8.0, 0.0], 10) == pytest.approx([9.0, -1.0])


def test_the_largest_latency_has_a_logarithmic_axis() -> None:
    largest = {"100/0": 105.0, "65/35": 3_010.0, "0/100": 140_000.0}
    cells = [
        {"mix": mix, "block": block, "mean_us": 50.0 + n, "max_us": value * (1 + n)}
        for mix, value in largest.items()
        for n, block in enumerate(("8 KiB", "4 KiB"))
    ]
    shown = drawings._latencies({"title": "Latency", "unit": "µs", "cells": cells})
    mean, most = drawn(shown).axes
    assert mean.get_yscale() == "linear" and mean.get_ylim()[0] == 0
    assert most.get_yscale() == "log"
    low, high = most.get_ylim()
    for line, (mix, value) in zip(most.get_lines(), largest.items(), strict=True):
        assert list(line.get_ydata()) == [value, 2 * value], mix
        assert low < value and 2 * value < high
    assert len({line.get_marker() for line in most.get_lines()}) == 3, "a mark of its own for each mix"
    assert len({place for line in most.get_lines() for place in line.get_xdata()}) == 6
