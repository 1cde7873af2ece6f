"""The tables of the tests, in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wordline import units

if TYPE_CHECKING:
    from rich.console import Console


def show(console: Console, result: dict[str, Any]) -> None:
    """Prints the tables of all tests, and what differs from the standard."""
    console.print(f"SNIA PTS 2.0 on {result['drive']}, seed {result['seed']}")
    for one in result["tests"]:
        console.print()
        console.print(one["title"] + (", interrupted" if one["partial"] else ""), style="bold")
        if "points" in one:
            _series(console, one)
        else:
            _rounds(console, one)
    console.print()
    for text in result["differences"]:
        console.print(f"Differs from the standard: {text}", style="dim")


def _table(console: Console, heads: list[str], rows: list[list[str]]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for n, head in enumerate(heads):
        table.add_column(head, justify="right" if n else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _rounds(console: Console, one: dict[str, Any]) -> None:
    figures = [("max_us", "largest latency")] if one["figure"] == "mean_us" else []
    for key, name in [(one["figure"], f"mean over the window, {one['unit']}"), *figures]:
        _grid(console, one["cells"], key, name)
    found = one["steady_state"]
    said = "steady state" if found["steady"] else "no steady state"
    tracked = one["tracked"]
    console.print(f"{said} after {units.some(one['rounds'], 'round')}; tracked: {tracked['mix']}, {tracked['block']}")
    if found["mean"] is None:
        return
    last = tracked["values"][-found["rounds"] :]
    names = [f"round {one['rounds'] - len(last) + n + 1}" for n in range(len(last))]
    _table(console, [one["unit"], *names], [["tracked", *map(units.three, last)]])
    console.print(
        f"mean {units.three(found['mean'])}; range {units.percent(found['range'])} of it (at most 20 %); "
        f"slope excursion {units.percent(found['excursion'])} (at most 10 %)"
    )


def _grid(console: Console, cells: list[dict[str, Any]], key: str, name: str) -> None:
    mixes = list(dict.fromkeys(cell["mix"] for cell in cells))
    blocks = list(dict.fromkeys(cell["block"] for cell in cells))
    values = {(cell["block"], cell["mix"]): cell[key] for cell in cells}
    if cells:
        rows = [[block, *(units.three(values[block, mix]) for mix in mixes)] for block in blocks]
        _table(console, [f"{name}; R/W", *mixes], rows)


def _series(console: Console, one: dict[str, Any]) -> None:
    heads = ["load", "capacities", "IOPS", "MiB/s", "mean", "max", "write amp."]
    rows = []
    for point in one["points"]:
        amplification = point["write_amplification"]
        rows.append(
            [
                point["load"],
                f"{point['capacities']:.2f}",
                units.three(point["iops"]),
                units.three(point["mib_s"]),
                units.latency(point["mean_us"]),
                units.latency(point["max_us"]),
                units.NOTHING if amplification is None else units.three(amplification),
            ]
        )
    _table(console, heads, rows)
