"""Policies written in Python: a class, used by its name in a run.

A policy derives from the class of its family and decides in one method::

    import wordline

    class Youngest(wordline.policy.Victim):
        "Of the blocks that gain space, the one invalidated last."

        name = "youngest"
        at_most: float = 0.9

        def choose(self, view):
            fit = view.valid <= self.at_most * view.units_per_block
            return view.blocks[fit][view.age[fit].argmin()] if fit.any() else None

    wordline.run("demo", "load.toml", {"victim.policy": "youngest"}, policies=[Youngest])

Annotated attributes are its options, keys of its family's section in a drive file (``victim.at_most = 0.8``). Their
types are bool, int, float, str or a ``Literal`` of strings; what stands in ``Annotated[float, "..."]`` explains one;
one without a value has to be given. They are set before ``__init__``, which takes no arguments and may refuse them.
Also set are ``self.drive``, a :class:`Shape`, and ``self.random``, a generator that the run's seed fixes: with another
source of chance, a run could not be repeated.

What a policy raises ends the run and comes back as it was raised; but after ``KeyboardInterrupt`` there is a result, of
what was done until then, as after any Ctrl-C.
"""

from __future__ import annotations

import copy
import json
import random
import typing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

KINDS = {bool: "boolean", int: "integer", float: "number", str: "string"}
"""The types of options, and what JSON calls them."""


@dataclass(frozen=True)
class Shape:
    """The drive, as far as a policy may know it."""

    seed: int
    """Seed of the run."""
    domains: int
    """Domains in which blocks are collected: 1, or one a plane."""
    planes: int
    """Planes in the drive."""
    blocks_per_plane: int
    """Blocks in a plane; block ``b`` lies in plane ``b // blocks_per_plane``."""
    pages_per_block: int
    """Pages in a block."""
    units_per_page: int
    """Mapping units in a page."""


class Policy:
    """What policies of all families have; derive from one of the families."""

    family: ClassVar[str]
    """The family; also its section in a drive file."""
    name: ClassVar[str]
    """The value of ``policy`` that names it."""
    drive: Shape
    """The drive that it decides in."""
    random: random.Random
    """Its source of chance, the same in every run with the same seed."""


class VictimView(NamedTuple):
    """The closed blocks of a domain (the drive or a plane): those that may be collected.

    The arrays have an entry for each block, ordered by valid units, fewest first; of equals, the one that has had that
    many longest comes first. They are read-only, and never change afterwards.
    """

    domain: int
    """The domain, from 0 on."""
    units_per_block: int
    """Mapping units in a block."""
    units_per_page: int
    """Mapping units in a page: a block with fewer invalid ones gains nothing and must not be chosen."""
    blocks: NDArray[numpy.int64]
    """Their numbers."""
    valid: NDArray[numpy.int64]
    """Their valid units."""
    erases: NDArray[numpy.int64]
    """How often each was erased."""
    age: NDArray[numpy.int64]
    """Pages programmed in the domain since a unit of the block was last invalidated, or the block was closed."""


class Victim(Policy):
    """Decides which block is collected next."""

    family = "victim"

    def choose(self, view: VictimView) -> int | None:
        """The number of the block to collect, one of ``view.blocks`` that gains a page; None to collect nothing now."""
        raise NotImplementedError

    def closed(self, block: int) -> None:
        """A block was closed: it may be collected from now on. Costs nothing unless it is overridden."""


class SpaceView(NamedTuple):
    """The free space of a domain (the drive or a plane)."""

    domain: int
    """The domain, from 0 on."""
    free: int
    """Its free blocks."""
    running: int
    """Blocks that are being collected in it; each becomes free."""


class Collect(Policy):
    """Decides when blocks are collected. Takes the options of ``on-demand`` besides its own: they say in what steps."""

    family = "collect"

    def wants(self, view: SpaceView) -> bool:
        """Whether another block should be collected now. Asked again with each page that is begun, and each erase."""
        raise NotImplementedError


class FreeBlock(Policy):
    """Decides which erased block of a plane is written next: the one of lowest rank; of equals, the lowest number."""

    family = "free_block"

    def rank(self, erases: int, order: int) -> int:
        """The rank of a block that becomes free, from 0 to 2**64 - 1; it keeps it until it is written.

        Asked once for each block that becomes free, and for all blocks, plane by plane, when the drive is made. A drive
        that takes over the state of another, from a snapshot or by a fork with overrides, asks again for those that are
        free.

        :param erases: how often the block was erased, this time included.
        :param order: how many blocks became free in its plane before; at first, the block's place in the plane.
        """
        raise NotImplementedError


class _VictimSeat:
    """What the engine asks of a victim policy."""

    def __init__(self, policy: Victim) -> None:
        import numpy

        self.policy = policy
        self.closed = policy.closed if type(policy).closed is not Victim.closed else None
        shape, choose, frombuffer, int64 = policy.drive, policy.choose, numpy.frombuffer, numpy.int64
        units = shape.pages_per_block * shape.units_per_page

        def decide(memory: bytes, count: int, domain: int) -> int | None:
            columns = frombuffer(memory, int64).reshape(4, count)
            return choose(VictimView(domain, units, shape.units_per_page, *columns))

        self.decide = decide

    def fork(self) -> _VictimSeat:
        """One with a policy of its own, in the same state."""
        return _VictimSeat(copy.deepcopy(self.policy))


class _CollectSeat:
    """What the engine asks of a collect policy."""

    closed = None

    def __init__(self, policy: Collect) -> None:
        self.policy = policy
        self.decide = lambda domain, free, running: policy.wants(SpaceView(domain, free, running))

    def fork(self) -> _CollectSeat:
        """One with a policy of its own, in the same state."""
        return _CollectSeat(copy.deepcopy(self.policy))


class _FreeBlockSeat:
    """What the engine asks of a free-block policy."""

    closed = None

    def __init__(self, policy: FreeBlock) -> None:
        self.policy = policy
        self.decide = policy.rank

    def fork(self) -> _FreeBlockSeat:
        """One with a policy of its own, in the same state."""
        return _FreeBlockSeat(copy.deepcopy(self.policy))


class _Family(NamedTuple):
    """What there is to know of a family."""

    base: type[Policy]
    method: str
    seat: Callable[[Any], object]
    built_on: str | None
    """The built-in policy whose options its policies take besides their own."""


FAMILIES = {
    "victim": _Family(Victim, "choose", _VictimSeat, None),
    "collect": _Family(Collect, "wants", _CollectSeat, "on-demand"),
    "free_block": _Family(FreeBlock, "rank", _FreeBlockSeat, None),
}
"""The families that take policies in Python. A new one needs a line here and its classes above."""


def bases() -> str:
    """The classes that a policy may derive from, in words."""
    *others, last = (f"wordline.policy.{family.base.__name__}" for family in FAMILIES.values())
    return f"{', '.join(others)} or {last}"


def described(policy: type[Policy]) -> dict[str, Any]:
    """What the engine has to know of a policy: ``family``, ``name``, ``summary``, and ``options`` as JSON schemas.

    :raises TypeError: if it is no policy that could be used; the message says why.
    """
    if not (isinstance(policy, type) and issubclass(policy, Policy)):
        raise TypeError(f"{policy!r} is no class of a policy; one is derived from {bases()}")
    title = f"the policy class {policy.__qualname__}"
    family = FAMILIES.get(getattr(policy, "family", ""))
    if family is None or not issubclass(policy, family.base):
        raise TypeError(f"{title} is of no family; derive it from {bases()}")
    name = getattr(policy, "name", None)
    if not isinstance(name, str) or not name:
        raise TypeError(f'{title} has no name; write, for example: name = "{policy.__name__.lower()}"')
    if getattr(policy, family.method) is getattr(family.base, family.method):
        raise TypeError(f"{title} does not say what it decides; write its method '{family.method}'")
    taken = {"policy", *_options_of(policy.family, family.built_on)}
    options = {}
    for key, hint in _options(policy).items():
        if key in taken or hasattr(family.base, key):
            raise TypeError(f"{title}: an option cannot be called '{key}', which has a meaning already")
        options[key] = _schema(f"{title}: the option '{key}'", hint, getattr(policy, key, ...))
    doc = (policy.__doc__ or "").strip().split("\n\n", 1)[0]
    return {"family": policy.family, "name": name, "summary": " ".join(doc.split()).rstrip("."), "options": options}


def given(policies: Iterable[type[Policy]]) -> list[tuple[str, Callable[[str, str], object]]]:
    """Policies as the engine takes them: a description, and what makes one from options and shape of the drive."""
    if isinstance(policies, type):
        raise TypeError(f"policies is a list of classes; write policies=[{policies.__name__}]")
    return [(json.dumps(described(policy)), _maker(policy)) for policy in policies]


def _maker(policy: type[Policy]) -> Callable[[str, str], object]:
    hints = _options(policy)

    def make(options: str, shape: str) -> object:
        made = policy.__new__(policy)
        for key, value in json.loads(options).items():
            # A whole number is written without a point, and is meant as what the option is.
            setattr(made, key, float(value) if _plain(hints.get(key)) is float else value)
        made.drive = Shape(**json.loads(shape))
        made.random = random.Random(f"{made.drive.seed} {policy.family} {policy.name}")
        made.__init__()  # type: ignore[misc]
        return FAMILIES[policy.family].seat(made)

    return make


def _options(policy: type[Policy]) -> dict[str, Any]:
    """The annotated attributes of a class and of those between it and the program's, with their types."""
    own: list[str] = []
    for base in reversed(policy.__mro__):
        if base.__module__ != __name__:
            own += [key for key in vars(base).get("__annotations__", {}) if not key.startswith("_")]
    hints = typing.get_type_hints(policy, include_extras=True) if own else {}
    return {key: hints[key] for key in own if key != "name" and typing.get_origin(hints[key]) is not ClassVar}


def _plain(hint: object) -> object:
    """A type without what ``Annotated`` says of it."""
    return typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint


def _schema(title: str, hint: object, default: object) -> dict[str, Any]:
    """The JSON schema of an option. ``...`` is no default."""
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
