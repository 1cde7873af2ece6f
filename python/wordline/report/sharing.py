"""How tasks share the dies over time, where the drive sends operations from a commit stage: shares, operations
outstanding and waiting, and the largest read count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from wordline.base import units
from wordline.base.drawing import Drawing, any_value, interval_words, legend, line, time_axes
from wordline.base.palette import BLUE, GC, INK
from wordline.results import tasks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS = {"host": (BLUE, "-"), "gc": (GC, "-")}
"""Colour and style of a task's curve; others have dashes."""

OTHER = (INK, "--")


class Curve(NamedTuple):
    """A series of a panel."""

    name: str
    look: tuple[str, str]
    values: Sequence[float | None]


class Panel(NamedTuple):
    """Curves on one axis."""

    label: str
    form: str
    curves: list[Curve]


def panels(result: dict[str, Any]) -> list[Panel]:
    """What there is to draw; nothing without a commit stage."""
    stage = (result.get("activity") or {}).get("stage") or {}
    found = []
    if shares := stage.get("shares"):
        # The host has the rest.
        found.append(Panel("share, %", "ratio", [curve for curve in _curves(shares) if curve.name != "host"]))
    for key in ("outstanding", "waiting"):
        if told := stage.get(key):
            found.append(Panel(f"operations\n{key}", "count", list(_curves(told))))
    if any_value(reads := stage.get("most_reads") or []):
        found.append(Panel("largest\nread count", "count", [Curve("largest read count", (BLUE, "-"), reads)]))
    return found


def _curves(by_task: dict[str, Sequence[float | None]]) -> Iterator[Curve]:
    words = {"host": "host", "gc": "GC"} | tasks.others()
    return (Curve(words[name], LOOKS.get(name, OTHER), values) for name, values in by_task.items())


def over_time(result: dict[str, Any], end_s: float) -> Drawing | None:
    """The panels one above another."""
    told = panels(result)
    if not told:
        return None
    step = result["activity"]["interval_s"]

    def plot(figure: Figure) -> None:
        from matplotlib.ticker import FuncFormatter

        rows = figure.subplots(len(told), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (label, _, curves) in zip(rows, told, strict=True):
            for name, (colour, style), values in curves:
                x = [(n + 0.5) * step for n in range(len(values))]
                line(axes, x, values, color=colour, linestyle=style, label=name)
            axes.set_ylim(bottom=0)
            axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: units.short(round(v, 6))))
            axes.set_ylabel(label)
        time_axes(figure, rows, end_s)
        most = max(rows, key=lambda axes: len(axes.get_lines()))
        handles, names = most.get_legend_handles_labels()
        legend(rows[0], len(names), handles=handles, labels=names)

    words = [
        "Operations sent to their dies and not ended, and those that wait to be sent (of writes the mapping units)"
    ]
    if result["activity"]["stage"].get("shares"):
        words.insert(0, "Shares of the background tasks; the host has the rest")
    if len(told) > 2 and told[-1].curves[0].name.startswith("largest"):
        words.append("Page reads of the most-read block since its erase")
    each = f"At the end of intervals of {interval_words(result['activity'])}."
    return Drawing("How tasks share the dies over time", ". ".join([*words, each]), plot, height=0.5 + 0.5 * len(told))
