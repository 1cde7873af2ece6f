"""Sweep files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordline import _core
from wordline._core import InputError
from wordline.base import toml
from wordline.base.errors import or_nearest
from wordline.sweeps.space import DESIGNS, GRID, HYPERCUBE, LIST, MOST_POINTS, Point, Space, seeds_of, values_of

KEYS = (
    "title",
    "drive",
    "load",
    "design",
    "points",
    "seeds",
    "precondition",
    "set",
    "load_set",
    "vary",
    "vary_load",
    "point",
)
SEARCH_KEYS = ("title", "drive", "load", "seeds", "precondition", "set", "load_set", "vary", "vary_load")
"""Keys of a search that are those of a sweep."""

POINT_KEYS = ("drive", "load", "set", "load_set")

Place = str | os.PathLike[str]
"""The name of a file or of a directory, or that of a preset."""

EACH, ONCE = "each", "once"
PRECONDITIONS = (EACH, ONCE)


@dataclass
class Plan:
    """What a sweep does."""

    space: Space
    sets: dict[str, Any] = field(default_factory=dict)
    """Overrides of the drive at all points."""
    load_sets: dict[str, Any] = field(default_factory=dict)
    """Overrides of the workload at all points."""
    precondition: str = EACH
    """``each``: every configuration preconditions its own drive. ``once``: all points of a drive and a seed are forks
    of one drive that was preconditioned without what varies."""
    title: str = ""


def read(name: str) -> Plan:
    """The plan in a sweep file.

    Names of files in it are relative to its directory; a name that no file has is that of a preset.

    :raises wordline.InputError: if the file cannot be read or is wrong.
    """
    given = loaded(name)
    try:
        return plan(given, Path(name).parent)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def loaded(name: str) -> dict[str, Any]:
    """What a sweep file holds.

    :raises wordline.InputError: if it cannot be read.
    """
    try:
        return toml.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{name}: {(error.strerror or str(error)).lower()}; give a sweep file") from None
    except (toml.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: this is not TOML: {error}") from None


def plan(given: Mapping[str, Any], beside: Path | None = None) -> Plan:
    """The plan that the keys of a sweep file describe.

    :param beside: the directory that names of files are relative to.
    :raises wordline.InputError: if it is wrong.
    """
    known(given, KEYS, "")
    for key in ("drive", "load"):
        if key not in given and "point" not in given:
            raise InputError(f"'{key}' is missing; add it, as in {key} = {example(key)}")
    precondition = one_of("precondition", given.get("precondition", EACH), PRECONDITIONS)
    design = one_of("design", given.get("design", LIST if "point" in given else GRID), DESIGNS)
    drives, loads = (places(key, given.get(key, []), beside) for key in ("drive", "load"))
    vary, vary_load = table("vary", given), table("vary_load", given)
    space = Space(drives, loads, seeds_of(given.get("seeds"), _core.SEED), design=design)
    space.drive_keys = {key: values_of(f"vary.{key}", values) for key, values in dotted(vary)}
    space.load_keys = {key: values_of(f"vary_load.{key}", values) for key, values in dotted(vary_load)}
    if design == LIST:
        if vary or vary_load:
            raise InputError("[vary] and [vary_load] do not go with a list of [[point]]; give its values at each point")
        space.listed = points(given.get("point"), drives, loads, beside)
    elif "point" in given:
        raise InputError(f"[[point]] needs design = '{LIST}'; here it is '{design}'")
    if design == HYPERCUBE:
        count = given.get("points")
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise InputError(f"points = {count!r}: design = '{HYPERCUBE}' needs their number, as in points = 20")
        if count * len(space.seeds) > MOST_POINTS:
            raise InputError(f"points = {count}: with all seeds that is more than {MOST_POINTS:,} runs")
        space.count = count
    elif "points" in given:
        raise InputError(f"points: their number goes with design = '{HYPERCUBE}'; here it is '{design}'")
    title = given.get("title", "")
    if not isinstance(title, str):
        raise InputError(f"title = {title!r}: must be a text")
    sets, load_sets = dict(dotted(table("set", given))), dict(dotted(table("load_set", given)))
    return Plan(space, sets, load_sets, precondition, title)


def points(given: object, drives: Sequence[str], loads: Sequence[str], beside: Path | None) -> list[Point]:
    """The points of a list.

    :raises wordline.InputError: if one is wrong.
    """
    if not isinstance(given, list) or not given:
        raise InputError(f"design = '{LIST}' needs at least one [[point]]")
    found = []
    for number, one in enumerate(given):
        name = f"point.{number}"
        if not isinstance(one, Mapping):
            raise InputError(f"{name}: must be a table, as in [[point]]")
        known(one, POINT_KEYS, f"{name}.")
        chosen = []
        for key, default in (("drive", drives), ("load", loads)):
            own = places(f"{name}.{key}", one[key], beside) if key in one else list(default)
            if len(own) != 1:
                raise InputError(f"{name}: needs one {key}, here or for all points; there are {len(own)}")
            chosen.append(own[0])
        sets, load_sets = dict(dotted(table("set", one, f"{name}."))), dict(dotted(table("load_set", one, f"{name}.")))
        found.append(Point(chosen[0], chosen[1], 0, sets, load_sets))
    return found


def known(given: Mapping[str, Any], keys: Sequence[str], prefix: str) -> None:
    """:raises wordline.InputError: if a key is none of these."""
    for key in given:
        if key not in keys:
            raise InputError(f"{prefix}{key}: no such key in a sweep file; {or_nearest(key, list(keys), 'keys')}")


def one_of(name: str, value: object, choices: Sequence[str]) -> str:
    """:raises wordline.InputError: if it is none of the choices."""
    if value not in choices:
        raise InputError(f"{name} = {value!r}: {or_nearest(str(value), list(choices), 'choices')}")
    return str(value)


def table(name: str, given: Mapping[str, Any], prefix: str = "") -> Mapping[str, Any]:
    """:raises wordline.InputError: if it is no table."""
    found = given.get(name, {})
    if not isinstance(found, Mapping):
        raise InputError(f"{prefix}{name} = {found!r}: must be a table, as in [{name}]")
    return found


def dotted(given: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Keys with dots and their values; a table with ``from`` is a range, and no section."""
    found: list[tuple[str, Any]] = []
    for key, value in given.items():
        if isinstance(value, Mapping) and "from" not in value and "to" not in value:
            found += dotted(value, f"{prefix}{key}.")
        else:
            found.append((f"{prefix}{key}", value))
    return found


def places(name: str, given: object, beside: Path | None) -> list[Any]:
    """One or several names of drives or workloads.

    :raises wordline.InputError: if they are none.
    """
    listed = given if isinstance(given, list | tuple) else [given]
    if beside is None:
        return list(listed)
    if not all(isinstance(place, str) and place for place in listed):
        raise InputError(f"{name} = {given!r}: must be a name, or a list of names, as in {example(name)}")
    # As typed if there is such a file beside the sweep file, otherwise perhaps a preset.
    return [str(beside / place) if (beside / place).exists() else place for place in listed]


def example(key: str) -> str:
    """A value for a message."""
    return '"demo"' if key.endswith("drive") else '"load.toml"'
