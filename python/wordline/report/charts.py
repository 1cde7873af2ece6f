"""Data of the interactive charts over simulated time: the series of a run.

On paper and without scripts, the static figures of the same names show the same. Every value of the result is in the
page, to six digits: the engine keeps at most 600 intervals of series, 128 of causes and of latency classes, and 32,768
cells of a map, so the data of a run stay below half a megabyte.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.base.drawing import any_value
from wordline.base.palette import BLUE, GC, INK
from wordline.report import comparefigures, figures, maps, sharing
from wordline.results import amplification, causes, tasks

if TYPE_CHECKING:
    from wordline.report.compare import Run

DASHES = {"-": [], "--": [6, 3], ":": [2, 3], "-.": [7, 3, 2, 3]}
"""Line styles of figures as dashes of the page, in pixels."""

DASH_SCALE = 2
"""Pixels for a unit of a style that is given by its dashes."""

Panel = dict[str, Any]


class Charts:
    """The charts of a page by their places in it; series of the same intervals share one list of them."""

    def __init__(self, end_s: float) -> None:
        self.end_s = end_s
        self.grids: list[dict[str, Any]] = []
        self.figures: dict[str, list[Panel]] = {}

    def grid(self, starts: Sequence[float], step: float) -> int:
        """The number of a list of intervals."""
        told = {"starts": [number(start) for start in starts], "step": step}
        if told not in self.grids:
            self.grids.append(told)
        return self.grids.index(told)

    def regular(self, step: float, count: int) -> int:
        """The number of a list of intervals from the start of the run on."""
        return self.grid([n * step for n in range(count)], step)

    def add(self, place: str, panels: Sequence[Panel]) -> None:
        """Adds the panels of a place, one above another, unless there is none."""
        if panels:
            self.figures[place] = list(panels)

    def json(self) -> str:
        """As the page holds them: JSON that may stand inside of a script element. Empty if there is nothing to draw."""
        if not self.figures or self.end_s <= 0:
            return ""
        told = {"end": self.end_s, "grids": self.grids, "figures": self.figures}
        return json.dumps(told, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def number(value: float | None) -> float | None:
    """A value to six digits; nothing for what is no number."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded == int(rounded) else rounded


def numbers(values: Sequence[float | None]) -> list[float | None]:
    """A series to six digits."""
    return [number(value) for value in values]


def colour(name: str) -> str:
    """The page's variable of a colour."""
    return f"--{name.rpartition(' ')[2]}"


def dashes(style: str | tuple[int, tuple[int, ...]]) -> list[int]:
    """The dashes of a line style."""
    return DASHES[style] if isinstance(style, str) else [DASH_SCALE * length for length in style[1]]


def line(name: str, look: tuple[str, Any], grid: int, values: Sequence[float | None]) -> dict[str, Any]:
    """A series of a panel of lines."""
    return {"name": name, "colour": colour(look[0]), "dash": dashes(look[1]), "grid": grid, "values": numbers(values)}


def lines(label: str, form: str, series: list[dict[str, Any]], **more: Any) -> Panel:  # noqa: ANN401
    """A panel of lines. ``form`` is the kind of values: latency in µs, rate, count or ratio."""
    return {"kind": "lines", "label": label, "form": form, "series": series, **more}


def of_run(result: dict[str, Any]) -> Charts:
    """The charts of the report of a run."""
    charts = Charts(figures.end(result))
    series = result.get("series") or {}
    if series.get("start_s"):
        grid = charts.grid(series["start_s"], series["interval_s"])
        charts.add("latency", list(_latency(series, grid)))
        charts.add("throughput", list(_throughput(series, grid)))
        charts.add("space", list(_space(result, grid)))
    charts.add("latencies", list(_latencies(charts, result)))
    charts.add("causes", list(_causes(charts, result)))
    activity = result.get("activity") or {}
    charts.add("stage", list(_stage(charts, result)))
    charts.add("dies", list(_dies(charts, activity)))
    charts.add("channels", list(_channels(charts, activity)))
    return charts


def _latency(series: dict[str, Any], grid: int) -> Iterator[Panel]:
    for label, curves in figures.latency_panels(series).items():
        # A latency of nought has no place on a logarithmic axis.
        drawn = [line(name, look, grid, [value or None for value in series[key]]) for name, key, *look in curves]
        # One scale for all operations.
        yield lines(label, "latency", drawn, unit="", common=True)


def _latencies(charts: Charts, result: dict[str, Any]) -> Iterator[Panel]:
    """Maps of latency: how many requests of each interval are in each class."""
    shown = maps.counts(result.get("latency_over_time") or {})
    for op, columns in shown.columns.items() if shown else ():
        yield {
            "kind": "counts", "label": "latency", "form": "latency", "name": units.plural(op), "colour": colour(BLUE),
            "most": shown.most, "pale": maps.LEAST, "edges": numbers(shown.edges_us), "open": shown.is_open,
            "grid": charts.regular(shown.interval_s, len(columns)), "columns": columns,
        }  # fmt: skip


def _throughput(series: dict[str, Any], grid: int) -> Iterator[Panel]:
    for unit, label in (("mib_s", "MiB/s"), ("iops", "requests/s")):
        drawn = [
            line(op, figures.OP_LOOKS[op], grid, series[f"{op}_{unit}"])
            for op in ("read", "write")
            if any_value(series.get(f"{op}_{unit}"))
        ]
        if drawn:
            yield lines(label, "rate", drawn, unit=label)


def _space(result: dict[str, Any], grid: int) -> Iterator[Panel]:
    free, told = result["series"].get("free_blocks") or [], amplification.over_time(result)
    if any(value is not None for value in free):
        yield lines("free blocks", "count", [line("free blocks", (BLUE, "-"), grid, free)], unit="")
    if told:
        drawn = [
            line("rolling", (BLUE, "-"), grid, told.rolling),
            line("since the start", (INK, "--"), grid, told.since_start),
        ]
        # The line at 1 is a drive without garbage collection.
        yield lines("write amplification", "ratio", drawn, unit="", rule=1)


def _stage(charts: Charts, result: dict[str, Any]) -> Iterator[Panel]:
    for label, form, curves in sharing.panels(result):
        grid = charts.regular(result["activity"]["interval_s"], len(curves[0].values))
        drawn = [line(name, look, grid, values) for name, look, values in curves]
        yield lines(label.replace("\n", " "), form, drawn, unit="%" if form == "ratio" else "")


def _causes(charts: Charts, result: dict[str, Any]) -> Iterator[Panel]:
    told = (result.get("time_of") or {}).get("series") or {}
    for op in causes.OPS:
        spent = told.get(op) or {}
        shown = [cause for cause in causes.CAUSES if cause.key in spent]
        if not shown:
            continue
        columns = list(zip(*(spent[cause.key] for cause in shown), strict=True))
        totals = [sum(value or 0.0 for value in column) for column in columns]
        series = [
            {
                "name": cause.name,
                "colour": colour(cause.colour),
                "hatch": cause.hatch,
                "css": cause.css,
                "values": [
                    number((value or 0.0) / total) if total > 0 else None
                    for value, total in zip(spent[cause.key], totals, strict=True)
                ],
            }
            for cause in shown
        ]
        yield {
            "kind": "stack", "label": f"share of {units.plural(op)}’ time", "op": op, "series": series,
            "grid": charts.regular(told["interval_s"], len(columns)),
        }  # fmt: skip


def _heat(charts: Charts, activity: dict[str, Any], name: str, part: str, key: str, tint: str) -> Panel:
    """A map: a row for each part, a column for each interval. Shares are in thousandths."""
    rows = activity[key]
    return {
        "kind": "heat", "label": part, "name": name, "colour": colour(tint),
        "grid": charts.regular(activity["interval_s"], len(rows[0])),
        "rows": [[round(1000 * share) for share in row] for row in rows],
    }  # fmt: skip


def _dies(charts: Charts, activity: dict[str, Any]) -> Iterator[Panel]:
    others = ((f"held by {title}", f"dies_{name}", BLUE) for name, title in tasks.others().items())
    for name, key, tint in (("array busy", "dies", BLUE), ("held by GC", "dies_gc", GC), *others):
        if any(any(row) for row in activity.get(key) or []):
            yield _heat(charts, activity, name, "die", key, tint)


def _channels(charts: Charts, activity: dict[str, Any]) -> Iterator[Panel]:
    if any(any(row) for row in activity.get("channels") or []):
        yield _heat(charts, activity, "bus in use", "channel", "channels", BLUE)


def of_runs(runs: Sequence[Run], shown: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> Charts:
    """The charts of a comparison: of each place in the page its name, and label and key of the series of its panels."""
    charts = Charts(max(figures.end(run.result) for run in runs))
    for place, panels in shown:
        told = []
        for label, key in panels:
            latency = comparefigures.is_latency(key)
            drawn = []
            for look, run in zip(comparefigures.LOOKS, runs, strict=False):
                series = run.result.get("series") or {}
                values = [(value or None) if latency else value or 0.0 for value in series.get(key) or []]
                if values:
                    grid = charts.grid(series["start_s"], series["interval_s"])
                    drawn.append(line(run.name, look, grid, values))
            if any(any_value(one["values"]) for one in drawn):
                form = "latency" if latency else "rate"
                told.append(lines(label, form, drawn, unit="" if latency else label.partition(" ")[2]))
        charts.add(place, told)
    return charts
