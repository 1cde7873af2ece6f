"""The end of the pages of runs and replays: the drive, its state at the start, the workload, every setting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from wordline.base import units
from wordline.results import aged, arrays, checking


def of(result: dict[str, Any], noun: str) -> dict[str, Any]:
    """What the template ``inputs.html.j2`` needs.

    :param noun: what the result is of: ``run`` or ``replay``.
    """
    config = list(config_rows(result))
    return {
        "noun": noun,
        "drive": list(checking.figures(result["drive"])),
        "changed": [row for row in config if row["origin"]],
        "config": [row for row in config if not row["origin"]],
        "workload": [row for row in checking.flat(result.get("workload") or {}) if row[1] is not None],
        "start": list(start(result)),
        "value_text": checking.value_text,
        "provenance": list(provenance(result)),
    }


def config_rows(result: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Every key of the drive with its value; for a changed key, also its place and the preset's value."""
    origins = {change["key"]: change.get("origin") or "changed" for change in result.get("changes") or []}
    preset = preset_of(result) if origins else {}
    for key, value in checking.flat(result["config"]):
        before = checking.value_text(preset[key]) if key in preset else ""
        text = checking.value_text(value)
        yield {"key": key, "value": text, "origin": origins.get(key, ""), "preset": before if before != text else ""}


def preset_of(result: dict[str, Any]) -> dict[str, Any]:
    """The keys of the preset of the drive's name, if this version of the program has it and made the result."""
    from wordline import _core

    if arrays.of(result):
        return {}
    name = result["config"].get("name")
    if result["version"] != _core.version() or all(drive["name"] != name for drive in json.loads(_core.drives())):
        return {}
    return dict(checking.flat(json.loads(_core.check(name, []))["config"]))


def start(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """State of the drive at the start."""
    if result.get("snapshot"):
        yield "Snapshot", str(result["snapshot"])
    if result.get("precondition"):
        yield from aged.figures(result["precondition"])


def provenance(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What identifies and reproduces the result."""
    yield "Wordline", str(result["version"])
    yield "Seed", str(result["seed"])
    yield "Digest", str(result["digest"])
    if "simulated_s" in result:
        yield "Simulated time", units.duration(result["simulated_s"])
    if result.get("cpu_s") is not None:
        yield "CPU time", units.duration(result["cpu_s"])
    yield "Result schema", str(result["schema"])
