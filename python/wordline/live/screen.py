"""A view on the terminal."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from wordline.base.console import grid
from wordline.live import words

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.table import Table
    from rich.text import Text

BARS = " ▁▂▃▄▅▆▇█"

COLOURS = {"read": "cyan", "write": "blue", "gc": "yellow"}
"""Of what holds a die; other tasks have the last one."""

OTHER = "magenta"

MAP_ROWS = 8
"""Rows of the map of the blocks."""


def whole(view: dict[str, Any], width: int) -> Group:
    """All of it, in so many columns."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = [Text(words.title(view), style="bold"), table(view), Text(), dies(view, width)]
    if view["latency"]:
        parts += [Text(), latencies(view), histogram(view, width)]
    if view["map"] is not None:
        parts += [Text(), blocks(view, width)]
    return Group(*parts)


def table(view: dict[str, Any]) -> Table:
    """The facts, a line each."""
    from rich.text import Text

    rows = grid(8, None)
    for name, text in words.facts(view):
        rows.add_row(Text(name, style="cyan"), Text(text))
    return rows


def dies(view: dict[str, Any], width: int) -> Text:
    """Channels and dies: a bar for how busy each was lately, in the colour of what held it most; what it does now."""
    from rich.text import Text

    shape, doing, over = view["shape"], view["dies"]["doing"], view["over"]
    per_channel = shape["dies_per_channel"]
    text = Text()
    holders = list(view["dies"]["held_s"])
    text.append("Dies     ", style="cyan")
    for holder in holders:
        text.append(f"█ {holder}  ", style=COLOURS.get(holder, OTHER))
    text.append("lower case: what a die does now; bars: busy lately\n", style="dim")
    # A die takes a bar and a letter; channels share lines as long as there is room.
    cell = 8 + 3 * per_channel
    columns = max(1, min(shape["channels"], width // cell))
    for first in range(0, shape["channels"], columns):
        for channel in range(first, min(first + columns, shape["channels"])):
            share = over["channels"][channel] if over else 0.0
            style = "" if view["channels"]["busy"][channel] else "dim"
            text.append(f"ch{channel:<3}", style=style)
            text.append(bar(share) + " ", style="green")
            for die in range(channel * per_channel, (channel + 1) * per_channel):
                shares = {holder: over["dies"][holder][die] for holder in holders} if over else {}
                most = max(shares, key=lambda holder: shares[holder]) if shares else "read"
                now = doing[die]
                text.append(bar(sum(shares.values())), style=COLOURS.get(most, OTHER))
                text.append(f"{letter(now)} ", style=COLOURS.get(holder_of(now), OTHER) if now else "dim")
            text.append(" ")
        text.append("\n")
    text.rstrip()
    return text


def holder_of(doing: str | None) -> str:
    """Whose work that is."""
    if doing is None:
        return ""
    task, _, kind = doing.rpartition("-")
    return kind if task in ("", "host") else task


def letter(doing: str | None) -> str:
    """A letter for what a die does: read, write or erase, of whomever."""
    return "·" if doing is None else doing.rpartition("-")[2][:1]


def bar(share: float) -> str:
    """A share as a bar of one letter; only none is empty."""
    return BARS[0] if share <= 0 else BARS[max(1, min(8, round(8 * share)))]


def latencies(view: dict[str, Any]) -> Table:
    """The table of latencies."""
    from rich.text import Text

    rows = grid(*[8] * len(words.LATENCY_HEADS))
    for column in rows.columns[1:]:
        column.justify = "right"
    rows.add_row(*[Text(head, style="cyan") for head in words.LATENCY_HEADS])
    for row in words.latencies(view):
        rows.add_row(*[Text(text) for text in row])
    return rows


def histogram(view: dict[str, Any], width: int) -> Text:
    """The distribution of latencies, a line an operation: each letter is a class, as high as its share of requests."""
    from rich.text import Text

    from wordline.base import units

    rows = {op: view["latency"][op]["classes"] for op in words.OPS if op in view["latency"]}
    filled = [n for classes in rows.values() for n, count in enumerate(classes) if count]
    first, last = min(filled), max(filled)
    step = max(1, -(-(last - first + 1) // max(10, width - 30)))
    text = Text()
    for op, classes in rows.items():
        sums = [sum(classes[at : at + step]) for at in range(first, last + 1, step)]
        most = max(sums)
        text.append(f"{op:<9}")
        text.append("".join(bar(count / most) for count in sums), style=COLOURS.get(op, OTHER))
        text.append("\n")
    tops = view["latency_tops_us"]
    text.append(f"{'':9}{units.latency(tops[first])} to {units.latency(tops[last])}", style="dim")
    return text


def blocks(view: dict[str, Any], width: int) -> Text:
    """The map of the blocks: neighbours in a cell, as high as their valid share; victims and open ones stand out."""
    from rich.text import Text

    told = view["map"]
    valid, states = base64.b64decode(told["valid"]), told["state"]
    columns = max(16, width - 10)
    size = max(1, -(-len(states) // (columns * MAP_ROWS)))
    per_cell = told["blocks_per_cell"] * size
    text = Text()
    text.append("Blocks   ", style="cyan")
    text.append("▁▃▅█ valid data  ", style="blue")
    text.append("█ being emptied  ", style="yellow")
    text.append("█ open  ", style="green")
    text.append("· free", style="dim")
    text.append(f"   {per_cell} a letter\n" if per_cell > 1 else "   one a letter\n", style="dim")
    cells = [(valid[at : at + size], states[at : at + size]) for at in range(0, len(states), size)]
    for row in rows_of(cells, columns):
        text.append(" " * 9)
        for shares, letters in row:
            share = sum(shares) / 255 / len(shares)
            if "v" in letters:
                text.append(bar(max(share, 0.1)), style="yellow")
            elif "o" in letters:
                text.append(bar(max(share, 0.1)), style="green")
            elif set(letters) <= {"f", "s"}:
                text.append("·", style="dim")
            elif set(letters) == {"b"}:
                text.append("x", style="red")
            else:
                text.append(bar(share), style="blue")
        text.append("\n")
    text.rstrip()
    return text


def rows_of(cells: list[Any], columns: int) -> list[list[Any]]:
    """The cells in rows."""
    return [cells[at : at + columns] for at in range(0, len(cells), columns)]


def show(console: Console, view: dict[str, Any]) -> None:
    """Prints it once."""
    console.print(whole(view, console.width), soft_wrap=True)


class Screen:
    """The view on the terminal, renewed in place; a context."""

    def __init__(self, console: Console) -> None:
        from rich.live import Live

        self.console = console
        self.live = Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop")

    def show(self, view: dict[str, Any]) -> None:
        """Shows it in the place of the one before."""
        self.live.update(whole(view, self.console.width), refresh=True)

    def __enter__(self) -> Screen:
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()
