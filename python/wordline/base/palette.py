"""The colours of pages and figures, on light and on dark.

Garbage collection has the one loud colour, and nothing else has. All others are cool or grey and told apart by
lightness, so that readers who confuse red and green tell them apart, too. Tests hold that by simulation.
"""

from __future__ import annotations

LIGHT = {
    "--paper": "#ffffff",
    "--ink": "#1b2230",
    "--faint": "#5f6878",
    "--grid": "#d9dde4",
    "--gc": "#d94801",
    "--blue": "#1c62b2",
    "--teal": "#4f94a4",
    "--plum": "#6e2b73",
    "--green": "#0a503f",
    "--lilac": "#9478e1",
    "--host-1": "#37383c",
    "--host-2": "#595a5b",
    "--host-3": "#73787b",
    "--host-4": "#a0a1a1",
    "--host-5": "#cccccc",
    "--buffer-1": "#2c3521",
    "--buffer-2": "#788d78",
    "--buffer-3": "#aeb99b",
    "--buffer-4": "#d2e9b2",
    "--die-1": "#224688",
    "--die-2": "#4566bb",
    "--die-3": "#5589e6",
    "--die-4": "#a9b7ff",
    "--flash-1": "#042f48",
    "--flash-2": "#16667b",
    "--flash-3": "#50849f",
    "--flash-4": "#70acc1",
    "--flash-5": "#bee1fe",
}
"""On white, by names of CSS. A family of parts has a hue; its first step is the farthest from the paper."""

DARK = {
    "--paper": "#12161d",
    "--ink": "#e4e8ee",
    "--faint": "#83909c",
    "--grid": "#333c4a",
    "--gc": "#ff8c2e",
    "--blue": "#3391fe",
    "--teal": "#9cbbc5",
    "--plum": "#8b75b0",
    "--green": "#58e4b7",
    "--lilac": "#bcb9fb",
    "--host-1": "#f0f1f2",
    "--host-2": "#c1c2c3",
    "--host-3": "#7e8185",
    "--host-4": "#626262",
    "--host-5": "#3a3c3e",
    "--buffer-1": "#d3e2c2",
    "--buffer-2": "#8ea592",
    "--buffer-3": "#586c46",
    "--buffer-4": "#29421f",
    "--die-1": "#a6aafd",
    "--die-2": "#3283de",
    "--die-3": "#54489f",
    "--die-4": "#012c5b",
    "--flash-1": "#a5e2fe",
    "--flash-2": "#8eb3c8",
    "--flash-3": "#4f93b0",
    "--flash-4": "#546e87",
    "--flash-5": "#304e66",
}
"""The same on a dark page."""


def called(variable: str) -> str:
    """The name of a page colour in figures."""
    return f"wordline {variable[2:]}"


def of_page(colour: str) -> str:
    """The same colour in a page's style."""
    return f"var(--{colour.removeprefix('wordline ')})"


PAPER, INK, FAINT, GRID, GC, BLUE, TEAL, PLUM, GREEN, LILAC = map(called, list(LIGHT)[:10])

HOST, BUFFER, DIE, FLASH = (
    tuple(called(key) for key in LIGHT if key.startswith(f"--{family}-"))
    for family in ("host", "buffer", "die", "flash")
)
"""The steps of each family of causes, from strong to weak."""

SERIES = (BLUE, INK, TEAL, PLUM, GREEN, LILAC, FAINT)
"""Colours of lines and bars of equal rank: operations, runs, mixes. Any two are distinguishable."""


def css(medium: str = "") -> str:
    """The CSS rules for the colours of a page or picture, with dark ones for dark mode.

    :param medium: what has the dark ones, with "and" behind it: ``screen and `` keeps paper white.
    """
    light, dark = (";".join(f"{key}:{value}" for key, value in each.items()) for each in (LIGHT, DARK))
    return f":root{{{light}}}@media {medium}(prefers-color-scheme:dark){{:root{{{dark}}}}}"
