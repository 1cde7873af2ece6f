"""Parameters that a paper leaves open: the choice, the reason, and the alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from wordline.base.errors import Trouble

PLAIN = {"key", "parameter", "choice", "reason"}
"""Keys of every parameter."""

TO_RUN = {"value", "alternatives"}
"""Further keys if other values can be run."""

MARKS = {"departs", "decided_by"}
"""Keys of few parameters."""


@dataclass(frozen=True)
class Alternative:
    """Another value of a parameter."""

    value: Any
    choice: str
    """The value in words."""


@dataclass(frozen=True)
class Left:
    """A parameter that the paper leaves open: the choice, and the reason."""

    key: str
    """Its name in the code of the studies."""
    parameter: str
    """Its name in words."""
    choice: str
    """The choice, in words."""
    reason: str
    value: Any = None
    """The choice, for the code."""
    alternatives: tuple[Alternative, ...] = ()
    no_alternative: str = ""
    """Why no other value can be run, if none can."""
    departs: bool = False
    """True if the paper gives a value, and the choice is another."""
    decided_by: tuple[str, ...] = ()
    """Claims that decide the choice: their verdicts are no evidence for it."""
    devices: tuple[str, ...] = ()
    """Devices whose presets have it: ``value`` is then a table of ``[nand]`` keys, and an alternative replaces them."""
    shared: bool = False
    """True if it is open to all studies of the chapter."""

    def json(self) -> dict[str, Any]:
        """For programs: as it was written, with marks that few parameters have only where they are set."""
        unset = [key for key in MARKS if not getattr(self, key)]
        return {key: value for key, value in asdict(self).items() if key not in unset}


def parse(row: Mapping[str, Any], where: str, *, shared: bool = False) -> Left:
    """Reads an ``[[open]]`` row.

    :param where: the file, for messages.
    :param shared: True for the file of a chapter.
    :raises Trouble: if a key is missing or unknown, or an alternative is invalid.
    """
    name = f"{where}: open parameter {row.get('key', 'without key')}"
    wanted = PLAIN | ({"no_alternative"} if "no_alternative" in row else TO_RUN)
    missing, unknown = wanted - row.keys(), row.keys() - wanted - {"devices", *MARKS}
    if missing or unknown:
        raise Trouble(f"{name}: missing {sorted(missing)}, unknown {sorted(unknown)}")
    others = row.get("alternatives", [])
    if any(it.keys() != {"value", "choice"} for it in others):
        raise Trouble(f"{name}: an alternative has the keys value and choice")
    if "no_alternative" not in row and (not others or any(it["value"] == row["value"] for it in others)):
        raise Trouble(f"{name}: alternatives hold at least one value, and each is another than the one chosen")
    plain = {key: row[key] for key in wanted if key != "alternatives"}
    alternatives = tuple(Alternative(**it) for it in others)
    return Left(
        **plain,
        alternatives=alternatives,
        departs=row.get("departs", False),
        decided_by=tuple(row.get("decided_by", ())),
        devices=tuple(row.get("devices", ())),
        shared=shared,
    )
