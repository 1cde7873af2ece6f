"""The list of families, and the checks and descriptions of policies for the engine."""

from __future__ import annotations

import json
import random
import typing
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Literal, NamedTuple

from wordline.policy.base import Policy, Shape
from wordline.policy.commands import Arbiter, Buffer, Dispatch, Link, Pack, Processor, Shares, Suspend
from wordline.policy.data import (
    Collect,
    Fold,
    FreeBlock,
    Mapping,
    Placement,
    Refresh,
    Slc,
    Trim,
    Victim,
    Wear,
)
from wordline.policy.redundancy import Redundancy
from wordline.policy.seats import (
    ArbiterSeat,
    BufferSeat,
    CollectSeat,
    DispatchSeat,
    FreeBlockSeat,
    LinkSeat,
    MappingSeat,
    PackSeat,
    PlacementSeat,
    RedundancySeat,
    Seat,
    SlcSeat,
    SuspendSeat,
    UpkeepSeat,
    VictimSeat,
)

KINDS = {bool: "boolean", int: "integer", float: "number", str: "string"}
"""Types of options by their names in JSON."""


class _Family(NamedTuple):
    """Description of a family."""

    base: type[Policy]
    methods: tuple[str, ...]
    """The methods of which each policy must have one; none if it needs none."""
    seat: Callable[[Any], object]
    built_on: str | None
    """The built-in policy whose options its policies take besides their own."""


def _simple(base: type[Policy], method: str) -> _Family:
    return _Family(base, (method,), lambda policy: Seat(policy, method), None)


FAMILIES = {
    "placement": _Family(Placement, ("place", "place_for", "pattern"), PlacementSeat, None),
    "victim": _Family(Victim, ("choose",), VictimSeat, None),
    "collect": _Family(Collect, ("wants",), CollectSeat, "on-demand"),
    "free_block": _Family(FreeBlock, ("rank", "choose"), FreeBlockSeat, None),
    "arbiter": _Family(Arbiter, ("choose", "choose_in_time"), ArbiterSeat, None),
    "dispatch": _Family(Dispatch, ("next", "device_queue", "at_once"), DispatchSeat, None),
    "mapping": _Family(Mapping, ("evict", "scheme"), MappingSeat, "cached"),
    "refresh": _Family(Refresh, ("next", "erased"), UpkeepSeat, None),
    "wear": _Family(Wear, ("next", "erased"), UpkeepSeat, None),
    "fold": _Family(Fold, ("next", "erased"), UpkeepSeat, None),
    "shares": _simple(Shares, "control"),
    "suspend": _Family(Suspend, ("suspends",), SuspendSeat, None),
    "processor": _simple(Processor, "time_us"),
    "pack": _Family(Pack, (), PackSeat, None),
    "redundancy": _Family(Redundancy, (), RedundancySeat, None),
    "trim": _simple(Trim, "invalidates"),
    "slc": _Family(Slc, ("size",), SlcSeat, None),
    "link": _Family(Link, ("costs",), LinkSeat, None),
    "buffer": _Family(Buffer, ("capacity_kib",), BufferSeat, None),
}
"""The families that take policies in Python: all. A new one needs a line here, and its classes beside the others."""


def bases() -> str:
    """The classes that a policy may derive from, in words."""
    *others, last = (f"wordline.policy.{family.base.__name__}" for family in FAMILIES.values())
    return f"{', '.join(others)} or {last}"


def described(policy: type[Policy]) -> dict[str, Any]:
    """The description of a policy for the engine: ``family``, ``name``, ``summary``, and ``options`` as JSON schemas.

    :raises TypeError: if the policy is unusable; the message says why.
    """
    if not (isinstance(policy, type) and issubclass(policy, Policy)):
        raise TypeError(f"{policy!r} is not a policy class; derive it from {bases()}")
    title = f"the policy class {policy.__qualname__}"
    family = FAMILIES.get(getattr(policy, "family", ""))
    if family is None or not issubclass(policy, family.base):
        raise TypeError(f"{title} has no family; derive it from {bases()}")
    name = getattr(policy, "name", None)
    if not isinstance(name, str) or not name:
        raise TypeError(f'{title} has no name; write, for example: name = "{policy.__name__.lower()}"')
    if family.methods and all(getattr(policy, method) is getattr(family.base, method) for method in family.methods):
        named = " or ".join(f"'{method}'" for method in family.methods)
        raise TypeError(f"{title} has no decision; write its method {named}")
    taken = {"policy", *_options_of(policy.family, family.built_on)}
    given = _options(family.base)
    options = {}
    for key, hint in _options(policy).items():
        # The options of its family keep their types, since the engine reads them.
        is_free = _plain(hint) is _plain(given[key]) if key in given else not hasattr(family.base, key)
        if key in taken or not is_free:
            raise TypeError(f"{title}: an option cannot be called '{key}', which is already in use")
        options[key] = _schema(f"{title}: the option '{key}'", hint, getattr(policy, key, ...))
    doc = (policy.__doc__ or "").strip().split("\n\n", 1)[0]
    return {"family": policy.family, "name": name, "summary": " ".join(doc.split()).rstrip("."), "options": options}


def given(policies: Iterable[type[Policy]]) -> list[tuple[str, Callable[[str, str], object]]]:
    """Policies for the engine: a description, and a function that makes one from options and drive shape."""
    if isinstance(policies, type):
        raise TypeError(f"policies is a list of classes; write policies=[{policies.__name__}]")
    return [(json.dumps(described(policy)), _maker(policy)) for policy in policies]


def _maker(policy: type[Policy]) -> Callable[[str, str], object]:
    hints = _options(policy)

    def make(options: str, shape: str) -> object:
        made = policy.__new__(policy)
        for key, value in json.loads(options).items():
            # A float option may be given as a whole number.
            setattr(made, key, float(value) if _plain(hints.get(key)) is float else value)
        made.drive = Shape(**json.loads(shape))
        made.random = random.Random(f"{made.drive.seed} {policy.family} {policy.name}")
        made.__init__()  # type: ignore[misc]
        return FAMILIES[policy.family].seat(made)

    return make


def _options(policy: type[Policy]) -> dict[str, Any]:
    """The annotated attributes of a class and its bases up to that of its family, with their types."""
    own: list[str] = []
    for base in reversed(policy.__mro__):
        if base is not Policy:
            own += [key for key in vars(base).get("__annotations__", {}) if not key.startswith("_")]
    hints = typing.get_type_hints(policy, include_extras=True) if own else {}
    return {key: hints[key] for key in own if key != "name" and typing.get_origin(hints[key]) is not ClassVar}


def _plain(hint: object) -> object:
    """A type without its ``Annotated`` notes."""
    return typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint


def _schema(title: str, hint: object, default: object) -> dict[str, Any]:
    """The JSON schema of an option. ``...`` means no default."""
    plain, notes = _plain(hint), [note for note in typing.get_args(hint)[1:] if isinstance(note, str)]
    words = typing.get_args(plain)
    if typing.get_origin(plain) is Literal and all(isinstance(word, str) for word in words):
        schema: dict[str, Any] = {"type": "string", "enum": list(words)}
        fits = default in words
    elif isinstance(plain, type) and plain in KINDS:
        schema = {"type": KINDS[plain]}
        fits = type(default) is plain or (plain is float and type(default) is int)
    else:
        raise TypeError(
            f"{title} is of type {plain}; options are of type bool, int, float, str, or a Literal of strings"
        )
    if default is not ...:
        if not fits:
            raise TypeError(f"{title} has the default {default!r}, which is not of its type")
        schema["default"] = float(default) if plain is float else default  # type: ignore[arg-type]
    return {**schema, "description": " ".join(notes)}


def _options_of(family: str, name: str | None) -> Iterator[str]:
    """The options of a built-in policy."""
    from wordline import _core

    for policy in json.loads(_core.policies()) if name else ():
        if (policy["family"], policy["name"]) == (family, name):
            yield from (option["key"].rpartition(".")[2] for option in policy["options"])
