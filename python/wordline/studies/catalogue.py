"""The studies: their folders, read and checked."""

from __future__ import annotations

import json
import runpy
import shutil
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordline.base import toml
from wordline.base.errors import Trouble, or_nearest
from wordline.studies import choices, claims
from wordline.studies.choices import Left
from wordline.studies.claims import Claim

if TYPE_CHECKING:
    from wordline.studies.context import Context
    from wordline.studies.outcome import Outcome

REQUIRED = ("title", "paper", "sections", "runs", "stand_in")
OPTIONAL = ("chapter", "open", "claim", "traces", "clock", "tools", "by_chance")


@dataclass(frozen=True)
class Study:
    """A reproduction of one experiment of a paper."""

    name: str
    folder: Path
    title: str
    paper: str
    sections: str
    runs: str
    """Description of the runs, in a sentence or two."""
    stand_in: bool
    """True if workloads are synthesised from the paper's statistics, because its traces are not available."""
    open: tuple[Left, ...]
    """Open parameters of this study, then of all studies of its chapter."""
    claims: tuple[Claim, ...]
    chapter: str = ""
    """The shared TOML file beside the studies' folders, without its ending."""
    traces: tuple[str, ...] = ()
    """Names of the traces that stand-ins replace, and that true ones can take the place of."""
    true_traces: str = ""
    """How the study replays true traces, in a sentence or two."""

    clock: bool = False
    """True if it measures on the clock of the wall: figures then differ from run to run, and with the machine."""
    tools: tuple[str, ...] = ()
    """Programs that it needs and that are not Wordline's."""
    by_chance: tuple[str, ...] = ()
    """Claims that hold by chance, as the discussion shows: no evidence for the model."""

    def doubt(self, claim: str) -> str:
        """Why a claim that holds is no evidence for the model, in words; empty if it is."""
        if any(claim in left.decided_by for left in self.open):
            return "decides a choice"
        return "by chance" if claim in self.by_chance else ""

    def missing(self) -> list[str]:
        """The tools that this machine lacks."""
        return [tool for tool in self.tools if shutil.which(tool) is None]

    def stands_in(self, true: Collection[str]) -> bool:
        """True if a stand-in replaces any trace.

        :param true: names of the traces that are true ones.
        """
        return self.stand_in and not (self.traces and set(self.traces) <= set(true))

    def code(self) -> Callable[[Context], Outcome]:
        """The function ``run`` of the study's ``study.py``."""
        return runpy.run_path(str(self.folder / "study.py"), run_name=f"study {self.name}")["run"]

    def discussion(self) -> str:
        """The discussion of deviations, with places for measured figures; empty if not written yet."""
        path = self.folder / "discussion.md"
        return path.read_text(encoding="utf-8").strip() if path.exists() else ""

    def sensitivity(self) -> dict[str, Any] | None:
        """The saved sensitivity of the study; None if there is none.

        :raises Trouble: if the file is damaged.
        """
        path = self.folder / "sensitivity.json"
        try:
            return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        except ValueError as error:
            remedy = f"delete it, or regenerate it with 'wordline study {self.name} --sensitivity'"
            raise Trouble(f"{path}: this is not JSON ({error}); {remedy}") from None


def collection() -> Path:
    """The folder of studies: in the installed package, or in the checkout.

    :raises Trouble: if there is none.
    """
    # The package has a link to the checkout's folder; without links the folder itself is used.
    installed = Path(str(resources.files("wordline.studies"))) / "collection"
    for place in (installed, Path(__file__).resolve().parents[3] / "studies"):
        if place.is_dir():
            return place
    raise Trouble("this installation has no studies; reinstall Wordline, or run it from its source")


def names() -> list[str]:
    """The names of all studies, sorted."""
    return sorted(path.parent.name for path in collection().glob("*/study.toml"))


def every() -> list[Study]:
    """All studies, sorted by name."""
    return [load(name) for name in names()]


def load(name: str) -> Study:
    """The study of that name.

    :raises Trouble: if there is none, with the nearest names; or its definition is wrong.
    """
    known = names()
    if name not in known:
        raise Trouble(f"no study '{name}'; {or_nearest(name, known, 'studies')}")
    return read(collection() / name)


def read(folder: Path) -> Study:
    """The study in ``folder``.

    :raises Trouble: if its ``study.toml`` is wrong.
    """
    path = folder / "study.toml"
    table = parsed(path)
    missing, unknown = set(REQUIRED) - table.keys(), table.keys() - {*REQUIRED, *OPTIONAL}
    if missing or unknown:
        raise Trouble(f"{path}: missing {sorted(missing)}, unknown {sorted(unknown)}")
    rows = tuple(claims.parse(row, str(path)) for row in table.get("claim", []))
    strays = [claim.id for claim in rows if claim.study != folder.name]
    if strays:
        raise Trouble(f"{path}: {', '.join(strays)}: belongs to another study")
    left = [choices.parse(row, str(path)) for row in table.get("open", [])]
    chapter, true_traces = table.get("chapter", ""), ""
    if chapter:
        shared = folder.parent / f"{chapter}.toml"
        common = parsed(shared)
        left += [choices.parse(row, str(shared), shared=True) for row in common.get("open", [])]
        true_traces = common.get("true_traces", "").strip()
    twice = [key for key, n in Counter(it.key for it in left).items() if n > 1]
    if twice:
        raise Trouble(f"{path}: {', '.join(twice)}: left open twice")
    chance = tuple(table.get("by_chance", ()))
    if unknown := set(chance) - {claim.id for claim in rows}:
        raise Trouble(f"{path}: by_chance names {sorted(unknown)}, which are no claims of the study")
    plain = {key: table[key] for key in REQUIRED}
    traces = tuple(table.get("traces", ()))
    return Study(
        folder.name,
        folder,
        **plain,
        open=tuple(left),
        claims=rows,
        chapter=chapter,
        traces=traces,
        true_traces=true_traces,
        clock=table.get("clock", False),
        tools=tuple(table.get("tools", ())),
        by_chance=chance,
    )


def parsed(path: Path) -> dict[str, Any]:
    """The TOML file at ``path``.

    :raises Trouble: if it cannot be read, or is no TOML.
    """
    try:
        return toml.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Trouble(f"{path}: cannot read: {error.strerror}") from None
    except toml.TOMLDecodeError as error:
        raise Trouble(f"{path}: {error}") from None
