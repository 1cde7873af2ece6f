"""Results of the tests in tables and sentences, shared by terminal and page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.pts import series, steady

if TYPE_CHECKING:
    from rich.console import Console

MOST_ROWS = 20
"""Points of a series that a terminal shows."""

TAILS = {f"{key}_us": units.percentile(key) for key in ("p99_999", "p99_9")}
"""Percentiles of latency, the rarest first."""


@dataclass(frozen=True)
class Table:
    """A table: ``rows`` begin with their names, and so does ``heads``."""

    title: str
    heads: list[str]
    rows: list[list[str]]


def headline(result: dict[str, Any]) -> str:
    """The tested drive and its settings."""
    drive = f"{result['drive']} ({units.size(result['capacity_bytes'])}), seed {result['seed']}"
    changed = f", with {', '.join(result['sets'])}" if result["sets"] else ""
    return f"SNIA PTS 2.0 on {drive}{changed}"


def name(one: dict[str, Any]) -> str:
    """The title of a test, with a note if it is incomplete."""
    return one["title"] + ("" if one["stopped"] is None else ", incomplete")


def sentences(one: dict[str, Any]) -> Iterator[str]:
    """The result of a test."""
    if one["stopped"] is not None:
        yield f"Stopped: {one['stopped']}."
    if "points" in one:
        yield from _settling(one)
        return
    found, tracked = one["steady_state"], one["tracked"]
    rounds = units.some(one["rounds"], "round")
    said = f"Steady state after {rounds}" if found["steady"] else f"No steady state after {rounds}"
    yield f"{said}, by R/W {tracked['mix']} at {tracked['block']}; queue depth {one['depth']}."
    if one["rounds"]:
        yield _written("All rounds together", one["written_capacities"], "Give longer rounds with --round.")


def _written(what: str, capacities: float, remedy: str) -> str:
    """The amount written, with a warning if it is less than the capacity."""
    text = f"{what} wrote {units.three(capacities)} times the capacity"
    return f"{text}: too little for a steady state. {remedy}" if capacities < 1 else f"{text}."


def _settling(one: dict[str, Any]) -> Iterator[str]:
    written = one["points"][-1]["capacities"] if one["phases"] else None
    if written is not None and written < 1:
        yield _written("Each workload", written, "Give more --capacities.")
    for phase in one["phases"]:
        text = (
            f"{phase['load']}: {_value(phase['first'], one['unit'])} at first, {_value(phase['settled'], one['unit'])} "
            f"in the last quarter"
        )
        if phase["write_amplification"] is not None:
            text += f", write amplification {units.three(phase['write_amplification'])}"
        if phase["recovery_s"] is None:
            yield f"{text}; not settled."
        elif phase["recovery_s"] == 0:
            yield f"{text}; within {100 * series.BAND:.0f} % of that mean from the start."
        else:
            yield (
                f"{text}; within {100 * series.BAND:.0f} % of that mean after {units.duration(phase['recovery_s'])}, "
                f"{phase['recovery_capacities']:.2f} times the capacity."
            )


def tables(one: dict[str, Any], most_rows: int | None = None) -> Iterator[Table]:
    """The tables of a test; of a series at most so many rows, evenly spread."""
    if "points" in one:
        yield from _series(one, most_rows)
    elif one["rounds"]:
        yield from _rounds(one)


def _rounds(one: dict[str, Any]) -> Iterator[Table]:
    count = min(one["rounds"], steady.WINDOW)
    window = f"mean of the last {count} rounds" if count > 1 else "the only round"
    if one["figure"] != "mean_us":
        yield _grid(one["cells"], one["figure"], f"{one['unit']}, {window}", units.three)
    else:
        yield _grid(one["cells"], "mean_us", f"Mean latency, {window}", units.latency)
        tail = next((key for key in TAILS if all(cell[key] is not None for cell in one["cells"])), None)
        if tail:
            yield _grid(one["cells"], tail, f"{TAILS[tail]} latency, {window}", units.latency)
        yield _grid(one["cells"], "max_us", "Largest latency in these rounds", units.latency)
    yield from _steady(one)


def _grid(cells: list[dict[str, Any]], key: str, title: str, text: Callable[[float], str]) -> Table:
    mixes = list(dict.fromkeys(cell["mix"] for cell in cells))
    blocks = list(dict.fromkeys(cell["block"] for cell in cells))
    values = {(cell["block"], cell["mix"]): cell[key] for cell in cells}
    rows = [[block, *(text(values[block, mix]) for mix in mixes)] for block in blocks]
    return Table(title, ["R/W", *mixes], rows)


def _steady(one: dict[str, Any]) -> Iterator[Table]:
    found, unit = one["steady_state"], one["unit"]
    count = found["rounds"]
    rounds = range(one["rounds"] - count + 1, one["rounds"] + 1)
    values = [_value(value, unit) for value in one["tracked"]["values"][-count:]]
    title = f"Steady state of R/W {one['tracked']['mix']}, {one['tracked']['block']}"
    yield Table(title, ["round", *map(str, rounds)], [["value", *values]])
    mean = found["mean"]
    checks = (("range", found["range"], steady.RANGE), ("slope excursion", found["excursion"], steady.SLOPE))
    rows = [["mean", _value(mean, unit), "", ""]]
    rows += [
        [name, _share(share, mean, unit), f"≤ {_share(limit, mean, unit)}", "pass" if share <= limit else "fail"]
        for name, share, limit in checks
    ]
    rows.append(["slope a round", _value(found["slope"], unit), "", ""])
    rows.append(["rounds", str(count), str(steady.WINDOW), "pass" if count == steady.WINDOW else "fail"])
    yield Table("", ["", "measured", "allowed", "PASS" if found["steady"] else "FAIL"], rows)


def _share(share: float, mean: float, unit: str) -> str:
    return f"{_value(share * mean, unit)} ({100 * share:.1f} %)"


def _value(value: float, unit: str) -> str:
    return units.latency(value) if unit == "µs" else f"{units.three(value)} {unit}"


def _series(one: dict[str, Any], most_rows: int | None) -> Iterator[Table]:
    phases = list(dict.fromkeys(point["phase"] for point in one["points"]))
    for phase in phases:
        points = [point for point in one["points"] if point["phase"] == phase]
        # Spread from the end, so that the last row is the final point.
        every = 1 if most_rows is None else -(-len(points) // max(1, most_rows // len(phases)))
        rows = [list(_row(point)) for point in points[::-1][::every][::-1]]
        title = points[0]["load"] + (f", every {every}th point" if every > 3 else "")
        yield Table(
            title, ["capacities", "time", "IOPS", "MiB/s", "mean", TAILS["p99_9_us"], "max", "write amp."], rows
        )


def _row(point: dict[str, Any]) -> Iterator[str]:
    yield f"{point['capacities']:.2f}"
    yield units.duration(point["time_s"])
    yield units.three(point["iops"])
    yield units.three(point["mib_s"])
    yield units.latency(point["mean_us"])
    yield units.latency(point["p99_9_us"])
    yield units.latency(point["max_us"])
    amplification = point["write_amplification"]
    yield units.NOTHING if amplification is None else units.three(amplification)


def show(console: Console, result: dict[str, Any]) -> None:
    """Prints the tables of all tests, and the differences from the standard."""
    console.print(headline(result), soft_wrap=True)
    for one in result["tests"]:
        console.print()
        console.print(name(one), style="bold")
        for text in sentences(one):
            console.print(text, soft_wrap=True)
        for table in tables(one, MOST_ROWS):
            _print(console, table)
    console.print()
    for text in result["differences"]:
        console.print(f"Difference from the standard: {text}.", style="dim", soft_wrap=True)


def _print(console: Console, table: Table) -> None:
    from rich.table import Table as Rich

    drawn = Rich(box=None, padding=(0, 1), pad_edge=False, header_style="bold")
    for n, head in enumerate(table.heads):
        drawn.add_column(head, justify="right" if n else "left", no_wrap=True)
    for row in table.rows:
        drawn.add_row(*row)
    if table.title:
        console.print()
        console.print(table.title, style="cyan", soft_wrap=True)
    console.print(drawn)
