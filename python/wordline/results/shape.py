"""Checks a result against the list of result keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from wordline.base.keys import expanded

SHOWN = 4
"""Missing keys that a message names."""

LARGEST = 1e30
"""No number of a result is as large."""

WORDS = {"number": "a number", "text": "a text", "boolean": "true or false", "object": "an object"}


@dataclass
class Part:
    """The shape of a part of a result."""

    keys: dict[str, Part] = field(default_factory=dict)
    """Shapes of an object's keys."""
    element: Part | None = None
    """Shape of the elements, for a list of objects."""
    holds: dict[str, Any] | None = None
    """Type of the value, unless it is an object with keys of its own."""
    null: bool = False
    """Whether it may be ``null`` or missing as a whole."""
    needed: bool = False
    """Whether its object always has it."""

    def at(self, path: str) -> Part:
        """The part below at a dotted path, made if it is not there; ``[]`` behind a name is each of its elements."""
        part = self
        for word in path.split("."):
            part = part.keys.setdefault(word.removesuffix("[]"), Part())
            if word.endswith("[]"):
                part.element = part = part.element or Part()
        return part


RUNS, REPLAYS = "in_runs", "in_replays"
"""Whose results have a key, as the engine's list says it."""


@cache
def whole(whose: str = RUNS) -> Part:
    """The shape of a result, from the engine's list of its keys.

    :param whose: ``RUNS`` or ``REPLAYS``.
    """
    from wordline import _core

    root = Part()
    for section in json.loads(_core.result_keys()):
        told = {path for key in section["keys"] if key[whose] for path in expanded(key["key"])}
        for key in section["keys"]:
            for path in told & set(expanded(key["key"])):
                part = root.at(path)
                part.holds, part.needed = key["holds"], key["needed"]
        for path in section["null"]:
            if any(f"{key}.".startswith((f"{path}.", f"{path}[].")) for key in told):
                root.at(path).null = True
    return root


def problem(result: dict[str, Any]) -> str | None:
    """The first value of a wrong type, or the missing keys; None for a valid result of a run or a replay.

    Unknown keys are ignored: another version may have them.
    """
    shape = whole(REPLAYS if "replay" in result else RUNS)
    missing = [f"'{key}'" for key in _missing(result, shape, "")]
    rest = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
    return next(_problems(result, shape, ""), None) or (
        f"this result is incomplete: it has no {', '.join(missing[:SHOWN])}{rest}" if missing else None
    )


def _missing(value: object, part: Part, path: str) -> Iterator[str]:
    """Keys that this result lacks and every result has."""
    if isinstance(value, list) and part.element is not None:
        for n, below in enumerate(value):
            yield from _missing(below, part.element, f"{path}[{n}]")
    for key, below in part.keys.items():
        name = f"{path}.{key}" if path else key
        there = value.get(key) if isinstance(value, dict) else None
        if there is not None:
            yield from _missing(there, below, name)
        elif (isinstance(value, dict) and key in value) or below.null:
            continue
        elif below.needed or any(_missing(None, below, name)):
            yield name


def _problems(value: object, part: Part, path: str) -> Iterator[str]:
    if value is None and part.null:
        return
    if part.element is not None:
        if not isinstance(value, list):
            yield _told(path, value, "a list")
            return
        for n, below in enumerate(value):
            yield from _problems(below, part.element, f"{path}[{n}]")
    elif part.keys or (part.holds or {}).get("of") == "object":
        if not isinstance(value, dict):
            yield _told(path, value, WORDS["object"])
            return
        for key, below in value.items():
            if key in part.keys:
                yield from _problems(below, part.keys[key], f"{path}.{key}" if path else key)
    elif part.holds is not None:
        yield from _misfits(value, part.holds, part.holds["depth"], path)


def _misfits(value: object, holds: dict[str, Any], depth: int, path: str) -> Iterator[str]:
    """Errors in a value, or in the values of a list."""
    if depth:
        if not isinstance(value, list):
            yield _told(path, value, "a list")
            return
        for n, below in enumerate(value):
            yield from _misfits(below, holds, depth - 1, f"{path}[{n}]")
    elif not _fits(value, holds):
        yield _told(path, value, WORDS[holds["of"]] + (" or null" if holds["null"] else ""))


def _fits(value: object, holds: dict[str, Any]) -> bool:
    if value is None:
        return bool(holds["null"])
    match holds["of"]:
        case "number":
            # No count, time or rate comes near the limit; larger values cannot be drawn or summed.
            return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST
        case "text":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case _:
            return True


def _told(path: str, value: object, wanted: str) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return f"'{path}' is {text if len(text) <= 60 else text[:60] + '…'}; it should be {wanted}"
