"""Results of preconditioning on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.base.console import facts

if TYPE_CHECKING:
    from rich.console import Console


def show(console: Console, snapshot: Path, done: dict[str, Any]) -> None:
    """Prints where the snapshot is and how the drive was preconditioned."""
    from rich.text import Text

    console.print(Text(f"Snapshot in {snapshot}, {units.size(snapshot.stat().st_size)}", style="bold"))
    facts(console, rows(done), width=20)


def rows(done: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Figures of the preconditioning, each with its name."""
    yield from figures(done["precondition"])
    yield "Free blocks", units.count(done["free_blocks"])
    yield "Seed", str(done["seed"])


def figures(did: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Results of preconditioning."""
    timed = ", in simulated time" if did["timed"] else ""
    if did["filled_units"]:
        yield "Filled", f"{units.count(did['filled_units'])} logical pages in order{timed}"
    if did["random_units"]:
        yield "Overwritten", f"{units.count(did['random_units'])} logical pages at random{timed}"
    if did["rounds"]:
        steady = "steady" if did["steady"] else "NOT STEADY after the last round"
        yield "Rounds", f"{units.count(len(did['rounds']))} of a quarter of the capacity: {steady}"
    if did.get("read_blocks"):
        yield "Earlier reads", f"given to {units.count(did['read_blocks'])} blocks"
    if did.get("write_amplification") is not None:
        yield "Write amplification", units.three(did["write_amplification"])
    if did.get("interrupted"):
        yield "Interrupted", "before it was done"
