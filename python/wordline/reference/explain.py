"""Meanings of keys of drive files and workload files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from wordline.base.console import grid
from wordline.base.errors import Trouble, nearest
from wordline.base.keys import unit
from wordline.reference.listing import default_text, first_sentence, option_doc

if TYPE_CHECKING:
    from rich.console import Console

Key = dict[str, Any]


def bare(key: str) -> str:
    """A key as people say it: ``job.rw`` for ``job[].rw``."""
    return key.replace("[]", "")


def find(keys: list[Key], wanted: str) -> list[Key]:
    """The entries for ``wanted``: the key itself, or every key that ends with it. Variants may share a name."""
    wanted = bare(wanted.strip().strip("."))
    exact = [key for key in keys if bare(key["key"]) == wanted]
    return exact or [key for key in keys if bare(key["key"]).endswith(f".{wanted}")]


def below(keys: list[Key], section: str) -> list[Key]:
    """The keys of a section."""
    return [key for key in keys if bare(key["key"]).startswith(f"{bare(section)}.")]


def unknown(keys: list[Key], wanted: str, others: list[str]) -> Trouble:
    """The message for a key that does not exist.

    :param others: other known terms.
    """
    names = [bare(key["key"]) for key in keys]
    # By the last part too: 'reed_us' is far from 'nand.read_us' and near to its end.
    ends = {name.rsplit(".", 1)[-1]: name for name in reversed(names)}
    near = nearest(wanted, names) or ends.get(nearest(wanted.rsplit(".", 1)[-1], ends) or "") or nearest(wanted, others)
    sections = ", ".join(dict.fromkeys(name.split(".", 1)[0] for name in names))
    hint = f"did you mean '{near}'? The" if near else "the"
    return Trouble(f"no key '{wanted}'; {hint} sections are: {sections}")


def numeric(entry: Key) -> bool:
    """Whether a key's value is or holds a number."""
    return any(word in entry["kind"] for word in ("integer", "number"))


RANGE = re.compile(r",? (at least|at most|from) (-?[\d.e+-]+)(?: to (-?[\d.e+-]+))?$")
"""The end of a kind that holds a range."""


def document(entry: Key, keys: list[Key], file: str) -> dict[str, Any]:
    """An entry for programs; a section has its keys.

    :param file: the kind of file that it is a key of, ``drive`` or ``workload``.
    """
    bounds = RANGE.search(entry["kind"])
    told = {
        "key": bare(entry["key"]),
        "file": file,
        "description": entry["doc"],
        "type": RANGE.sub("", entry["kind"]),
        "unit": unit(bare(entry["key"])) if numeric(entry) else None,
        "default": entry["default"],
        "required": entry["required"],
        "range": _range(*bounds.groups()) if bounds else None,
        "choices": [{"name": choice["name"], "description": choice["doc"]} for choice in entry["choices"]],
        "only_with": entry["variant"] and {bare(entry["variant"]["tag"]): entry["variant"]["name"]},
    }
    inner = below(keys, entry["key"])
    # Including keys of inner sections: each key has its full name.
    return told | {"keys": [document(key, [], file) for key in inner]} if inner else told


def _range(word: str, first: str, second: str | None) -> dict[str, float | None]:
    least = None if word == "at most" else json.loads(first)
    return {"min": least, "max": json.loads(first) if word == "at most" else second and json.loads(second)}


def tops(keys: list[Key]) -> list[Key]:
    """The sections, and the keys that stand in none."""
    return [key for key in keys if "." not in key["key"]]


def show_sections(console: Console, kinds: dict[str, list[Key]]) -> None:
    """Prints the sections of both kinds of file."""
    from rich.padding import Padding
    from rich.text import Text

    for kind, keys in kinds.items():
        console.print(Text(f"{kind.capitalize()} file", style="bold"))
        table = grid(14, None)
        for key in tops(keys):
            table.add_row(Text(bare(key["key"]), style="cyan"), first_sentence(key["doc"]))
        console.print(Padding(table, (0, 0, 0, 2)))


def show(console: Console, entries: list[Key], keys: list[Key]) -> None:
    """Prints ``entries``; a section is followed by its keys."""
    for n, entry in enumerate(entries):
        if n:
            console.print()
        _entry(console, entry)
        inner = below(keys, entry["key"])
        if inner:
            console.print()
            _list(console, inner)


def _entry(console: Console, entry: Key) -> None:
    from rich.padding import Padding
    from rich.text import Text

    title = Text(bare(entry["key"]), style="bold cyan")
    if entry.get("variant"):
        title.append(f"  with {entry['variant']['tag']} = {default_text(entry['variant']['name'])}", style="dim")
    console.print(title)
    for paragraph in filter(None, entry["doc"].split("\n\n")):
        console.print(Padding(Text(paragraph), (0, 0, 0, 2)))
    table = grid(8, None)
    table.add_row(Text("kind", style="dim"), entry["kind"])
    measure = unit(bare(entry["key"])) if numeric(entry) else None
    if measure:
        table.add_row(Text("unit", style="dim"), measure)
    if entry["required"]:
        table.add_row(Text("default", style="dim"), "none: required")
    elif entry["kind"] not in ("table", "array of tables"):
        table.add_row(Text("default", style="dim"), default_text(entry["default"]))
    console.print(Padding(table, (0, 0, 0, 2)))
    if entry["choices"]:
        table = grid(None, None)
        for choice in entry["choices"]:
            table.add_row(Text(choice["name"], style="cyan"), choice["doc"])
        console.print(Padding(table, (1, 0, 0, 2)))


def _list(console: Console, keys: list[Key]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    table = grid(None, None)
    for key in keys:
        value = Text(bare(key["key"]), style="cyan")
        measure = unit(bare(key["key"])) if numeric(key) and key["default"] is not None else None
        default = default_text(key["default"]) + (f" {measure}" if measure else "")
        value.append("\n  " + ("required" if key["required"] else f"= {default}"), style="dim")
        if key.get("variant"):
            value.append(f"\n  with {key['variant']['name']}", style="dim")
        table.add_row(value, option_doc(key) or key["kind"])
    console.print(Padding(table, (0, 0, 0, 2)))
