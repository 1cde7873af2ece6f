"""Lists of what there is: presets and policies."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from wordline.base.console import grid, hanging
from wordline.base.errors import Trouble, or_nearest


def show_drives(console: Console, drives: list[dict[str, Any]]) -> None:
    """Prints the presets."""
    width = max((len(drive["name"]) for drive in drives), default=0)
    for drive in drives:
        table = grid(width, None)
        table.add_row(Text(drive["name"], style="bold cyan"), Text(drive.get("title") or "", style="bold"))
        if drive.get("summary"):
            table.add_row("", drive["summary"])
        if drive.get("source"):
            table.add_row("", Text(f"Source: {drive['source']}", style="dim"))
        console.print(table)
    if not drives:
        console.print("No presets.")


def preset(drives: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """A preset with its file, as ``toml``.

    :raises Trouble: if there is no such preset.
    """
    from wordline import _core

    toml = _core.preset(name)
    if toml is None:
        raise Trouble(f"no preset '{name}'; {or_nearest(name, [drive['name'] for drive in drives], 'presets')}")
    about = next(drive for drive in drives if drive["name"] == name)
    return {**about, "toml": toml}


def of_family(policies: list[dict[str, Any]], family: str | None) -> list[dict[str, Any]]:
    """The policies of one family, or all of them.

    :raises Trouble: if there is no such family; a policy's name is answered with its families.
    """
    if family is None:
        return policies
    chosen = [policy for policy in policies if policy["family"] == family]
    if chosen:
        return chosen
    homes = sorted({policy["family"] for policy in policies if policy["name"] == family})
    if homes:
        raise Trouble(f"'{family}' is a policy of the family {' and '.join(homes)}; try 'wordline policies {homes[0]}'")
    families = list(dict.fromkeys(policy["family"] for policy in policies))
    raise Trouble(f"no policy family '{family}'; {or_nearest(family, families, 'families')}")


def show_policies(console: Console, policies: list[dict[str, Any]]) -> None:
    """Prints policies family by family, each with its source and options."""
    for n, (family, members) in enumerate(groupby(policies, key=lambda policy: policy["family"])):
        if n:
            console.print()
        listed = list(members)
        console.print(Text.assemble((family, "bold"), (f"  decides {listed[0]['decides']}", "dim")))
        for policy in listed:
            _policy(console, policy)


def _policy(console: Console, policy: dict[str, Any]) -> None:
    name = Text(policy["name"], style="bold cyan")
    if policy.get("default"):
        name.append(" (default)", style="not bold green")
    hanging(console, Text.assemble(name, f"  {policy['summary']}"), 2, 6)
    for word in ("source", "note"):
        if policy.get(word):
            hanging(console, Text(f"{word}: {policy[word]}", style="dim"), 6, 8)
    for option in policy.get("options") or []:
        text = Text.assemble((option["key"], "cyan"), f" = {default_text(option.get('default'))}  ")
        text.append(option_doc(option), style="dim")
        hanging(console, text, 6, 8)


def option_doc(option: dict[str, Any]) -> str:
    """An option in a sentence; with what happens without it, if it has no default to show."""
    sentences = option["doc"].replace("\n\n", " ").split(". ")
    absent = next((s for s in sentences[1:] if s.startswith("Absent")), None) if option.get("default") is None else None
    return ". ".join([sentences[0], absent] if absent else [sentences[0]]).rstrip(".")


def default_text(default: object) -> str:
    """A default as a drive file would write it."""
    return "absent" if default is None else json.dumps(default, ensure_ascii=False)


def first_sentence(doc: str) -> str:
    """The beginning of a documentation, up to its first full stop."""
    return doc.split("\n\n", 1)[0].split(". ", 1)[0].rstrip(".")
