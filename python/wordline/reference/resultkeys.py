"""Meanings of result keys, from the engine's list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wordline.base.console import grid, hanging
from wordline.base.keys import expanded
from wordline.reference.listing import first_sentence

if TYPE_CHECKING:
    from rich.console import Console

Key = dict[str, Any]


def names(key: Key) -> list[str]:
    """The keys that an entry stands for, as one types them: ``jobs.name`` for ``jobs[].name``."""
    return expanded(key["key"].replace("[]", ""))


def pattern(key: Key) -> str:
    """The key as the list has it, with room for ends of lines: ``by_op.{read, write}.bytes``."""
    return key["key"].replace(",", ", ")


def every(sections: list[dict[str, Any]]) -> list[Key]:
    """The keys of all sections of the list."""
    return [key for section in sections for key in section["keys"]]


def find(keys: list[Key], wanted: str) -> list[Key]:
    """The entries for ``wanted``: the key itself and keys inside it; otherwise keys that end with it."""
    exact = [key for key in keys if any(f"{name}.".startswith(f"{wanted}.") for name in names(key))]
    return exact or [key for key in keys if any(name.endswith(f".{wanted}") for name in names(key))]


def measure(key: Key) -> str | None:
    """The unit of a key's numbers, without the container named before it."""
    last = key["unit"].rpartition(", ")[2]
    return None if last in ("", "object", "list", "lists", "list of pairs", "list of lists") else last


def kind(key: Key) -> str:
    """The type of its value: ``number``, ``list of texts or null``."""
    holds = key["holds"]
    one = "any value" if holds["of"] == "any" else holds["of"]
    many = {0: one, 1: f"list of {one}s", 2: f"list of lists of {one}s"}[holds["depth"]]
    return many + (" or null" if holds["null"] else "")


def document(key: Key) -> dict[str, Any]:
    """An entry for programs, with the fields of a drive's key, and ``stable``."""
    return {
        "key": key["key"],
        "file": "result",
        "description": key["meaning"],
        "type": kind(key),
        "unit": measure(key),
        "default": None,
        "required": key["needed"],
        "range": None,
        "choices": [],
        "only_with": None,
        "stable": key["stable"],
        "in_runs": key["in_runs"],
        "in_replays": key["in_replays"],
    }


def place(key: Key) -> str:
    """Where the key is found: in results of runs, of replays, or of both."""
    return "a result" if key["in_runs"] else "a result of a replay"


def show_sections(console: Console, sections: list[dict[str, Any]]) -> None:
    """Prints the sections of a result with the keys at its top."""
    from rich.padding import Padding
    from rich.text import Text

    console.print(Text("Result", style="bold"))
    table = grid(14, None)
    for section in sections:
        tops = dict.fromkeys(name.split(".", 1)[0] for key in section["keys"] for name in names(key))
        table.add_row(Text(section["title"]), Text(", ".join(tops), style="cyan"))
    console.print(Padding(table, (0, 0, 0, 2)))


def show(console: Console, keys: list[Key]) -> None:
    """Prints ``keys``: in full, or as a list if there are many."""
    from rich.padding import Padding
    from rich.text import Text

    if len(keys) > 2:
        for key in keys:
            hanging(console, Text(pattern(key), style="cyan"), 0, 4)
            told = Text.assemble((f"{_facts(key)}: ", "dim"), first_sentence(key["meaning"]))
            hanging(console, told, 2, 4)
        return
    for n, key in enumerate(keys):
        if n:
            console.print()
        hanging(console, Text.assemble((pattern(key), "bold cyan"), (f"  in {place(key)}", "dim")), 0, 4)
        console.print(Padding(Text(key["meaning"]), (0, 0, 0, 2)))
        table = grid(8, None)
        table.add_row(Text("kind", style="dim"), kind(key))
        if measure(key):
            table.add_row(Text("unit", style="dim"), measure(key))
        table.add_row(
            Text("stable", style="dim"),
            "yes: name and meaning stay" if key["stable"] else "no: later versions may change it",
        )
        console.print(Padding(table, (0, 0, 0, 2)))


def _facts(key: Key) -> str:
    unit = measure(key)
    return kind(key) + (f", {unit}" if unit else "")
