"""Colours that readers with red-green blindness can distinguish: garbage collection from all, and all neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import pytest
from wordline.api import notebook
from wordline.base import palette
from wordline.pts import drawings as pts
from wordline.report import comparefigures, distributions, figures
from wordline.results import causes
from wordline.studies import charts

Triple = tuple[float, float, float]

LEAST = 10.0
"""CIEDE2000: about ten times the just noticeable difference side by side."""

LOUD = 20.0
"""Distance of garbage collection from all others."""

# G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A Physiologically-based Model for Simulation of Color Vision
# Deficiency", IEEE Transactions on Visualization and Computer Graphics 15 (6), 2009: severity 1.0, on linear RGB.
EYES: dict[str, tuple[Triple, Triple, Triple]] = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}

# IEC 61966-2-1, to XYZ under D65.
XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
WHITE = (0.95047, 1.0, 1.08883)

MODES = {"light": palette.LIGHT, "dark": palette.DARK}


def times(matrix: Sequence[Triple], vector: Triple) -> Triple:
    x, y, z = (sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix)
    return x, y, z


def linear(colour: str) -> Triple:
    r, g, b = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    one = lambda v: v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4  # noqa: E731
    return one(r), one(g), one(b)


def lab(colour: str, eyes: str) -> Triple:
    """CIELAB of a colour for these eyes."""
    r, g, b = (min(1.0, max(0.0, v)) for v in times(EYES[eyes], linear(colour)))
    one = lambda t: t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116  # noqa: E731
    x, y, z = (one(v / white) for v, white in zip(times(XYZ, (r, g, b)), WHITE, strict=True))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def ciede2000(one: Triple, other: Triple) -> float:
    """The difference of two colours, as defined by CIE 142-2001."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    grey = 1 + 0.5 * (1 - math.sqrt(mean**7 / (mean**7 + 25**7)))
    c1, c2 = math.hypot(grey * a1, b1), math.hypot(grey * a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, grey * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2))
    light, c = (l1 + l2) / 2, (c1 + c2) / 2
    h = (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2
    cos = lambda degrees: math.cos(math.radians(degrees))  # noqa: E731
    t = 1 - 0.17 * cos(h - 30) + 0.24 * cos(2 * h) + 0.32 * cos(3 * h + 6) - 0.20 * cos(4 * h - 63)
    bend = 30 * math.exp(-(((h - 275) / 25) ** 2))
    twist = -math.sin(math.radians(2 * bend)) * 2 * math.sqrt(c**7 / (c**7 + 25**7))
    sl, sc, sh = 1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2), 1 + 0.045 * c, 1 + 0.015 * c * t
    parts = ((l2 - l1) / sl, (c2 - c1) / sc, hue / sh)
    return math.sqrt(sum(part**2 for part in parts) + twist * parts[1] * parts[2])


# Some of the pairs of Sharma, Wu and Dalal for testing implementations (2005, Table 1).
PUBLISHED = [
    ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
    ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
    ((50.0, 2.5, 0.0), (58.0, 24.0, 15.0), 19.4535),
    ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
    ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ((50.0, -1.0, 2.0), (50.0, 0.0, 0.0), 2.3669),
]


@pytest.mark.parametrize(("one", "other", "wanted"), PUBLISHED)
def test_the_measure_is_the_published_one(one: Triple, other: Triple, wanted: float) -> None:
    assert ciede2000(one, other) == pytest.approx(wanted, abs=5e-5)
    assert ciede2000(other, one) == pytest.approx(wanted, abs=5e-5)


def nearest(pairs: Iterable[tuple[str, str]], values: Mapping[str, str]) -> tuple[float, str, str, str]:
    """The two colours, by their names in figures, with the smallest difference for some eyes."""
    of = {palette.called(key): value for key, value in values.items()}
    return min(
        (ciede2000(lab(of[one], eyes), lab(of[other], eyes)), one, other, eyes) for one, other in pairs for eyes in EYES
    )


# Everything side by side in a stack or a legend. In a stack any two may be neighbours, if all between them are zero.
TOGETHER: dict[str, list[str]] = {
    "causes": list(dict.fromkeys(cause.colour for cause in causes.CAUSES)),
    "operations": [colour for colour, _ in distributions.OP_LOOKS.values()],
    "latencies": [colour for _, _, colour, _ in figures.LATENCIES],
    "runs": [colour for colour, _ in comparefigures.LOOKS],
    "mixes": [colour for colour, _ in pts.LOOKS],
    "series of studies": list(charts.SERIES),
    "stages of studies": list(dict.fromkeys(charts.STAGES.values())),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("what", TOGETHER)
def test_neighbours_can_be_told_apart(what: str, mode: str) -> None:
    assert len(TOGETHER[what]) > 2
    assert nearest(combinations(TOGETHER[what], 2), MODES[mode])[0] >= LEAST


@pytest.mark.parametrize("mode", MODES)
def test_garbage_collection_is_told_from_all_else(mode: str) -> None:
    others = [palette.called(key) for key in MODES[mode]]
    others.remove(palette.GC)
    assert nearest(((palette.GC, other) for other in others), MODES[mode])[0] >= LOUD
    assert {cause.key for cause in causes.CAUSES if cause.colour == palette.GC} == {"wait_buffer_gc", "wait_die_gc"}
    used = {colour for what in TOGETHER if what != "causes" for colour in TOGETHER[what]}
    assert palette.GC not in used


@pytest.mark.parametrize("mode", MODES)
def test_lines_are_seen_on_the_page(mode: str) -> None:
    def light(colour: str) -> float:
        return times(XYZ, linear(colour))[1]

    paper = light(MODES[mode]["--paper"])
    for colour in (*palette.SERIES, palette.GC):
        low, high = sorted((paper, light(MODES[mode][f"--{colour.split(' ')[1]}"])))
        assert (high + 0.05) / (low + 0.05) >= 3, "WCAG 2.2 asks for 3:1 of what is drawn"


@pytest.mark.parametrize("paper", ["#ffffff", "#111111"])
def test_a_notebook_has_colours_for_any_background(paper: str) -> None:
    drawn = {value for value in notebook.COLOURS.values() if value.startswith("#") and len(value) == 7} | {paper}
    assert len(drawn) >= 4
    pairs = combinations(sorted(drawn), 2)
    assert min(ciede2000(lab(one, eyes), lab(other, eyes)) for one, other in pairs for eyes in EYES) >= LEAST


def test_both_modes_have_the_same_names() -> None:
    assert list(palette.LIGHT) == list(palette.DARK)
    assert all(f"{key}:{value}" in palette.css() for values in MODES.values() for key, value in values.items())
