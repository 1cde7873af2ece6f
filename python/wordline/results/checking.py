"""A checked drive: the figures derived from its configuration, and every value with where it was set."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.base.console import facts, hanging
from wordline.base.keys import unit, when_absent
from wordline.results import arrays

if TYPE_CHECKING:
    from rich.console import Console


def flat(config: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The dotted keys of a configuration with their values; tables in arrays are numbered as in ``origins``."""
    for key, value in config.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from flat(value, f"{path}.")
        elif isinstance(value, list) and value and all(isinstance(element, dict) for element in value):
            for n, element in enumerate(value):
                yield from flat(element, f"{path}.{n}.")
        else:
            yield path, value


def value_text(value: object) -> str:
    """A value as a drive file writes it."""
    return "(absent)" if value is None else json.dumps(value, ensure_ascii=False)


DERIVED: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "mapping.unit_kib": lambda derived, _: derived["unit_bytes"] // 1024,
    "collect.start_blocks": lambda derived, _: derived["start_blocks"],
    "collect.stop_blocks": lambda derived, _: derived["stop_blocks"],
    "collect.reserve_blocks": lambda derived, _: derived["reserve_blocks"],
    "collect.hard_blocks": lambda derived, _: derived["start_blocks"] - 1,
    "collect.background_blocks": lambda derived, _: 2 * derived["stop_blocks"],
    "collect.window_pages": lambda _, config: (
        config["geometry"]["pages_per_program"] if config["collect"]["policy"] == "preemptive" else 8
    ),
    "queue.depth": lambda derived, config: derived["queue_slots"] // config["queue"]["queues"],
    "dispatch.window": lambda derived, _: derived["queue_slots"],
}
"""The engine's value for an absent key, from derived figures and configuration."""


def in_use(key: str, checked: dict[str, Any], rule: str | None) -> object:
    """The engine's value for an absent key; None if unknown.

    :param rule: the documented meaning of an absent key, which may be just a number.
    """
    if key in DERIVED and "array" not in checked:
        return DERIVED[key](checked["derived"], checked["config"])
    return int(rule) if rule is not None and rule.isdigit() else None


def described(keys: list[dict[str, Any]], config: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The documentation of each key that this configuration has, of options those of the policy that was chosen."""
    values = dict(flat(config))
    return {
        key["key"]: key
        for key in keys
        if not key.get("variant") or values.get(key["variant"]["tag"]) == key["variant"]["name"]
    }


def changed(checked: dict[str, Any], about: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A checked drive with no settings but those whose values are not the defaults.

    A key without documentation, such as an option of a policy in Python, counts as changed where it was set.
    """
    origins = checked["origins"]
    kept = {
        key
        for key, value in flat(checked["config"])
        if (value != about[key]["default"] if key in about else key in origins)
    }

    def within(table: dict[str, Any], prefix: str) -> dict[str, Any]:
        parts = {key: within(it, f"{prefix}{key}.") if isinstance(it, dict) else it for key, it in table.items()}
        return {key: it for key, it in parts.items() if (it if isinstance(it, dict) else f"{prefix}{key}" in kept)}

    config = within(checked["config"], "")
    return checked | {"config": config, "origins": {key: place for key, place in origins.items() if key in kept}}


def show(
    console: Console, checked: dict[str, Any], about: dict[str, dict[str, Any]], *, only_changed: bool = False
) -> None:
    """Prints the figures, then the configuration, or only its changed settings.

    :param about: the documentation of its keys, as :func:`described` gives it.
    """
    from rich.text import Text

    heading = Text(checked.get("name") or "drive", style="bold")
    if checked.get("title"):
        heading.append(f"  {checked['title']}", style="not bold")
    hanging(console, heading, 0, 2)
    if checked.get("source"):
        hanging(console, Text(f"Source: {checked['source']}", style="dim"), 0, 2)
    console.print()
    if checked.get("array"):
        facts(console, [("Array", arrays.layout(checked["array"]))], width=16)
    facts(console, figures(checked["derived"]), width=16)
    console.print()
    left = changed(checked, about) if only_changed else checked
    for section, rows in groupby(flat(left["config"]), key=lambda row: row[0].rpartition(".")[0]):
        if section:
            console.print(Text(f"[{section}]", style="bold"))
        for key, value in rows:
            _setting(console, key, value, checked, about.get(key))
    console.print()
    hidden = len(list(flat(checked["config"]))) - len(list(flat(left["config"])))
    rest = f"{units.some(hidden, 'other setting has its', 'other settings have their')} default."
    told = rest if only_changed else "The others are defaults; derived and absent values follow from other settings."
    hanging(console, Text(f"Beside a value: where it was set. {told}", style="dim"), 0, 0)


def _setting(console: Console, key: str, value: object, checked: dict[str, Any], about: dict[str, Any] | None) -> None:
    """Prints a key with its value, in its unit, and where that comes from."""
    from rich.text import Text

    section, _, name = key.rpartition(".")
    indent = "  " if section else ""
    origin = checked["origins"].get(key)
    place, style = origin or "", "yellow"
    rule = when_absent(about["doc"]) if about else None
    if value is None:
        value = in_use(key, checked, rule)
        place, style = "derived", "green"
    if value is None:
        text = Text(f"{indent}{name}  absent" + (f": {rule}" if rule else ""), style="dim")
        hanging(console, text, 0, len(indent) + 2)
        return
    number = isinstance(value, int | float | list) and not isinstance(value, bool)
    measure = unit(key) if number else None
    line = f"{indent}{name} = {value_text(value)}" + (f" {measure}" if measure else "")
    text = Text(f"{line:<38}" if place else line, style="cyan" if origin else "dim")
    text.append(f"  {place}" if place else "", style=style)
    console.print(text, soft_wrap=True)


def figures(derived: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Derived figures, in words."""
    d = derived
    yield (
        "Flash",
        ", ".join(units.some(d[f"{part}s"], part) for part in ("channel", "package", "die", "plane", "block")),
    )
    yield "Page", f"{units.size(d['page_bytes'])}, logical page (mapping unit) {units.size(d['unit_bytes'])}"
    yield "Raw capacity", capacity(d["raw_bytes"])
    yield "Logical capacity", f"{capacity(d['logical_bytes'])}: visible to the host"
    yield (
        "Spare",
        f"{capacity(d['spare_bytes'])}: over-provisioning {units.percent(d['spare_bytes'] / d['logical_bytes'])} "
        f"(raw/logical {d['raw_over_logical']:.4g})",
    )
    if d.get("parity_bytes"):
        yield "Parity", f"{capacity(d['parity_bytes'])} of it"
    yield "GC", collection(d)
    if d.get("table_bytes"):
        logs = d.get("log_blocks_per_domain")
        scope = "" if d.get("collection_domains") == 1 else " in each plane"
        beside = f"; up to {units.some(logs, 'log block')}{scope}" if logs else ""
        yield "Mapping table", f"{units.size(d['table_bytes'])} in the drive's memory (4 bytes an entry){beside}"
    if zones := d.get("map_zones"):
        held = min(zones["tables"], zones["count"])
        yield (
            "Map zones",
            f"{units.count(zones['count'])}, each with a table of {units.size(zones['table_bytes'])} "
            f"({units.some(zones['table_units'], 'page')}); memory holds {units.count(held)}",
        )
    if d.get("slc_bytes"):
        full = d["slc_bytes_when_full"]
        yield "SLC cache", f"{units.size(d['slc_bytes'])} on an empty drive, {units.size(full)} on a full one"
    yield "Host", f"{units.some(d['queue_slots'], 'queue slot')}, {buffer(d['buffer_bytes'])}"
    peak = d.get("peak_mib_s") or {}
    for name, into, out in (
        ("Peak interface", "link_in", "link_out"),
        ("Peak channels", "channels_write", "channels_read"),
    ):
        if {into, out} <= peak.keys():
            yield name, f"{units.bandwidth(peak[into])} in, {units.bandwidth(peak[out])} out"
    if {"dies_read", "dies_program"} <= peak.keys():
        yield (
            "Peak dies",
            f"{units.bandwidth(peak['dies_program'])} programming, {units.bandwidth(peak['dies_read'])} reading",
        )
    if d.get("state_bytes"):
        each = d.get("state_bytes_per_unit")
        yield (
            "Simulator memory",
            units.size(d["state_bytes"]) + (f", {each:.3g} bytes per logical page" if each else ""),
        )


def capacity(n: int) -> str:
    """A capacity for reading and for computing: ``120 GiB (128,849,018,880 bytes)``."""
    return f"{units.size(n)} ({units.count(n)} bytes)"


def buffer(n: int | None) -> str:
    """The write buffer in words."""
    return f"a write buffer of {units.size(n)}" if n else "no write buffer"


def collection(d: dict[str, Any]) -> str:
    """Domains and thresholds of garbage collection in words."""
    domains = d["collection_domains"]
    each = "" if domains == 1 else " each"
    where = "drive-wide" if domains == 1 else f"in {units.count(domains)} domains"
    return (
        f"{where}; {units.some(d['spare_blocks_per_domain'], 'spare block')}{each}, {d['reserve_blocks']} in reserve; "
        f"starts below {d['start_blocks']} free, stops at {d['stop_blocks']}"
    )
