"""A checked drive: the figures that follow from its configuration, and every value with where it was set."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from wordline.base import units
from wordline.base.console import facts


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


def show(console: Console, checked: dict[str, Any]) -> None:
    """Prints the figures, then the configuration."""
    title = Text(checked.get("name") or "drive", style="bold")
    if checked.get("source"):
        title.append(f"  {checked['source']}", style="dim")
    console.print(title)
    console.print()
    facts(console, figures(checked["derived"]), width=16)
    console.print()
    show_config(console, checked["config"], checked.get("origins") or {})


def figures(derived: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What follows from the configuration, in words."""
    d = derived
    yield (
        "Flash",
        ", ".join(units.some(d[f"{part}s"], part) for part in ("channel", "package", "die", "plane", "block")),
    )
    yield "Page", f"{units.size(d['page_bytes'])}, mapped in units of {units.size(d['unit_bytes'])}"
    yield "Raw capacity", capacity(d["raw_bytes"])
    yield "Logical capacity", f"{capacity(d['logical_bytes'])}: what the host sees"
    yield "Spare", f"{capacity(d['spare_bytes'])}: raw/logical {d['raw_over_logical']:.4g}"
    yield "Collection", collection(d)
    yield "Host", f"{units.some(d['queue_slots'], 'queue slot')}, {buffer(d['buffer_bytes'])}"
    peak = d.get("peak_mib_s") or {}
    for name, into, out in (
        ("Peak of link", "link_in", "link_out"),
        ("Peak of channels", "channels_write", "channels_read"),
    ):
        if {into, out} <= peak.keys():
            yield name, f"{units.bandwidth(peak[into])} in, {units.bandwidth(peak[out])} out"
    if {"dies_read", "dies_program"} <= peak.keys():
        yield (
            "Peak of dies",
            f"{units.bandwidth(peak['dies_program'])} programming, {units.bandwidth(peak['dies_read'])} reading",
        )
    if d.get("state_bytes"):
        each = d.get("state_bytes_per_unit")
        yield "Memory to run it", units.size(d["state_bytes"]) + (f", {each:.3g} bytes a mapping unit" if each else "")


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


def show_config(console: Console, config: dict[str, Any], origins: dict[str, str]) -> None:
    """Prints all keys as a drive file has them; what is no default is bright and says where it was set."""
    keys = list(flat(config))
    section = None
    for key, value in keys:
        head, _, name = key.rpartition(".")
        if head != section and head:
            console.print(Text(f"[{head}]", style="bold"))
        section = head
        origin = origins.get(key)
        line = f"{'  ' if head else ''}{name} = {value_text(value)}"
        text = Text(f"{line:<38}" if origin else line, style="cyan" if origin else "dim")
        text.append(f"  {origin}" if origin else "", style="yellow")
        console.print(text, soft_wrap=True)
    console.print()
    console.print(Text("Values with a place beside them were set there; the others are defaults.", style="dim"))
