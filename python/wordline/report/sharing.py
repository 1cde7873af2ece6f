"""How tasks share the dies. Over time, where the drive sends operations from a commit stage: shares, operations
outstanding with their limits, operations waiting, and the largest read count. On every drive: what operations of each
task took."""

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

LIMIT = ":"
"""Style of the limit of a task's operations, in the colour of the task."""


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
            limits = _limits(stage.get("limits") or {}) if key == "outstanding" else ()
            found.append(Panel(f"operations\n{key}", "count", [*_curves(told), *limits]))
    if any_value(reads := stage.get("most_reads") or []):
        found.append(Panel("largest\nread count", "count", [Curve("largest read count", (BLUE, "-"), reads)]))
    return found


def _names() -> dict[str, str]:
    return {"host": "host", "gc": "GC"} | tasks.others()


def _curves(by_task: dict[str, Sequence[float | None]]) -> Iterator[Curve]:
    words = _names()
    return (Curve(words[name], LOOKS.get(name, OTHER), values) for name, values in by_task.items())


def _limits(by_task: dict[str, Sequence[float | None]]) -> Iterator[Curve]:
    curves = (curve for curve in _curves(by_task) if any_value(curve.values))
    return (Curve(f"limit of {name}", (colour, LIMIT), values) for name, (colour, _), values in curves)


def waits_table(result: dict[str, Any]) -> dict[str, Any]:
    """Flash operations of each task, their energy, and how long they waited, on average and by who held their dies:
    ``heads``, and ``rows``, each a task and its values; empty if the result does not tell it."""
    told = (result.get("time_of") or {}).get("operations") or {}
    waited = {name: of for name, of in told.items() if of.get("count")}
    if not waited:
        return {}
    words = _names()
    holders = {"read": "host reads", "write": "host writes", **{name: words[name] for name in told if name != "host"}}
    causes = {f"wait_die_{key}_us": f"die held by {name}" for key, name in holders.items()}
    causes["wait_free_us"] = "die free"
    # A cause that nothing waited for would be noughts.
    shown = {key: name for key, name in causes.items() if any(of.get(key) for of in waited.values())}

    def values(of: dict[str, Any]) -> list[str]:
        took = [units.count(of["count"]), units.energy(of["energy_j"])]
        return took + [units.latency(of.get(key)) for key in ("wait_us", *shown)]

    rows = [(words[name], values(of)) for name, of in waited.items()]
    return {"heads": ["operations", "energy", "wait", *shown.values()], "rows": rows}


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
    stage = result["activity"]["stage"]
    if any(map(any_value, (stage.get("limits") or {}).values())):
        words.append("Dotted: the most that a task may have outstanding")
    if stage.get("shares"):
        words.insert(0, "Shares of the background tasks; the host has the rest")
    if len(told) > 2 and told[-1].curves[0].name.startswith("largest"):
        words.append("Page reads of the most-read block since its erase")
    each = f"At the end of intervals of {interval_words(result['activity'])}."
    return Drawing("How tasks share the dies over time", ". ".join([*words, each]), plot, height=0.5 + 0.5 * len(told))
