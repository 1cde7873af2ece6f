"""Lists of presets and policies."""

from __future__ import annotations

import json
import textwrap
from itertools import groupby
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.base.console import hanging
from wordline.base.errors import Trouble, nearest, or_nearest

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

SIZES = ("raw_bytes", "logical_bytes", "spare_bytes", "channels", "dies")
"""Derived figures in the list of drives."""


def sized(drives: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The presets with their sizes as the engine derives them; over-provisioning is spare over logical capacity."""
    from wordline import _core

    return [_sized(drive, json.loads(_core.check(drive["name"], []))["derived"]) for drive in drives]


def _sized(drive: dict[str, Any], derived: dict[str, Any]) -> dict[str, Any]:
    counts = f"{units.some(derived['channels'], 'channel')}, {units.some(derived['dies'], 'die')}"
    return {
        **drive,
        "summary": f"{units.size(derived['logical_bytes'])}, {counts}",
        **{key: derived[key] for key in SIZES},
        "over_provisioning_percent": 100 * derived["spare_bytes"] / derived["logical_bytes"],
    }


def show_drives(console: Console, drives: list[dict[str, Any]]) -> None:
    """Prints the presets: their sizes in line, with title and source below."""
    from rich.text import Text

    width = max((len(drive["name"]) for drive in drives), default=0)

    def row(name: str, *cells: str) -> Text:
        text = "".join(f"{cell:>{room}}" for cell, room in zip(cells, (12, 12, 12, 10, 7), strict=True))
        return Text.assemble((f"{name:<{width}}", "bold cyan"), text)

    console.print(
        Text(row("Drive", "logical", "raw", "over-prov.", "channels", "dies").plain, style="dim"), soft_wrap=True
    )
    for drive in drives:
        sizes = (units.size(drive["logical_bytes"]), units.size(drive["raw_bytes"]))
        spare = units.percent(drive["over_provisioning_percent"] / 100)
        counts = (units.count(drive["channels"]), units.count(drive["dies"]))
        console.print(row(drive["name"], *sizes, spare, *counts), soft_wrap=True)
        if drive.get("title"):
            hanging(console, Text(drive["title"]), 2, 2)
        if drive.get("source"):
            hanging(console, Text(f"Source: {drive['source']}", style="dim"), 2, 4)
    console.print()
    hanging(console, Text("over-prov.: over-provisioning, (raw - logical) / logical capacity", style="dim"), 0, 0)


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


def chosen(policies: list[dict[str, Any]], name: str | None) -> list[dict[str, Any]]:
    """The policies of a family, or those called ``name``, which several families may have; all of them without a name.

    :raises Trouble: if there is no such family or policy.
    """
    if name is None:
        return policies
    for kind in ("family", "name"):
        found = [policy for policy in policies if policy[kind] == name]
        if found:
            return found
    families = list(dict.fromkeys(policy["family"] for policy in policies))
    near = nearest(name, [*families, *(policy["name"] for policy in policies)])
    hint = f"did you mean '{near}'? The" if near else "the"
    raise Trouble(f"no policy or family '{name}'; {hint} families are: {', '.join(families)}")


def show_policies(console: Console, policies: list[dict[str, Any]], *, details: bool) -> None:
    """Prints policies family by family: one line each, or each with its source and options."""
    from rich.text import Text

    width = max((len(policy["name"]) for policy in policies), default=0)
    for n, (family, members) in enumerate(groupby(policies, key=lambda policy: policy["family"])):
        if n:
            console.print()
        listed = list(members)
        console.print(Text.assemble((family, "bold"), (f"  decides {listed[0]['decides']}", "dim")), soft_wrap=True)
        for policy in listed:
            if details:
                _policy(console, policy)
            else:
                _line(console, policy, width)
    if not details:
        console.print()
        hint = (
            "* is the default. 'wordline policies NAME' gives sources and options of one policy or family, -v of all."
        )
        console.print(Text(hint, style="dim"))


def _line(console: Console, policy: dict[str, Any], width: int) -> None:
    from rich.text import Text

    mark = "*" if policy.get("default") else " "
    head = f"  {policy['name']:<{width}} {mark} "
    # Pipes get complete lines; a terminal gets one line per policy.
    room = console.width - len(head) if console.is_terminal else len(policy["summary"])
    text = textwrap.shorten(policy["summary"], max(room, 20), placeholder=" …")
    console.print(Text.assemble((head, "cyan"), text), soft_wrap=True)


def _policy(console: Console, policy: dict[str, Any]) -> None:
    from rich.text import Text

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
    """An option in a sentence; with the meaning of its absence, if it has no default."""
    sentences = option["doc"].replace("\n\n", " ").split(". ")
    absent = next((s for s in sentences[1:] if s.startswith("Absent")), None) if option.get("default") is None else None
    return ". ".join([sentences[0], absent] if absent else [sentences[0]]).rstrip(".")


def default_text(default: object) -> str:
    """A default as a drive file would write it."""
    return "absent" if default is None else json.dumps(default, ensure_ascii=False)


def first_sentence(doc: str) -> str:
    """The beginning of a documentation, up to its first full stop."""
    return doc.split("\n\n", 1)[0].split(". ", 1)[0].rstrip(".")
