"""What preconditioning did, on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from wordline import units
from wordline.checking import flat, value_text
from wordline.console import facts


def show(console: Console, snapshot: Path, done: dict[str, Any]) -> None:
    """Prints where the snapshot is and how the drive was aged."""
    console.print(Text(f"Snapshot in {snapshot}, {units.size(snapshot.stat().st_size)}", style="bold"))
    facts(console, rows(done), width=20)


def rows(done: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What is known of the aging, each figure with its name."""
    if done.get("write_amplification") is not None:
        yield "write amplification", units.three(done["write_amplification"])
    for key, value in flat(done.get("precondition") or {}):
        # Lists, such as a figure for each round, are for the JSON.
        if not isinstance(value, list):
            yield key.replace("_", " "), value_text(value).strip('"')
