"""Documentation pages generated from the code, completely or in part.

``python -m wordline.reference.pages docs`` writes them into that folder; with ``--check`` it only lists those out
of date.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wordline.base.files import write_text
from wordline.reference.markdown import cell
from wordline.reference.markdown import page as reference

START, END = "<!-- From here on made by `make docs`. -->\n", "<!-- Up to here. -->\n"
"""Generated text of a hand-written page is between these lines."""


def pages(folder: Path) -> dict[str, str]:
    """The names of the pages and their contents; hand-written text is taken from ``folder``.

    :raises ValueError: if a page in part has lost the lines that mark the part.
    """
    from wordline import _core

    def around(name: str, made: str) -> str:
        kept = (folder / name).read_text(encoding="utf-8")
        head, start, rest = kept.partition(START)
        _, end, tail = rest.partition(END)
        if not start or not end:
            raise ValueError(
                f"{folder / name}: the lines {START.strip()} and {END.strip()} must be there, in this order"
            )
        return f"{head}{START}\n{made}\n{END}{tail}"

    parts = (_core.keys(), _core.array_keys(), _core.load_keys(), _core.policies(), _core.package_chains())
    return {
        "reference.md": reference(*map(json.loads, parts)),
        "tables.md": _core.tables_page(),
        "results.md": around("results.md", "\n".join(results(json.loads(_core.result_keys())))),
        "traces.md": around("traces.md", _core.format_table()),
    }


def results(sections: list[dict[str, Any]]) -> Iterator[str]:
    """The keys of a result, a table a section."""
    every = [key for section in sections for key in section["keys"]]
    for section in sections:
        yield f"## {section['title']}\n"
        if section["about"]:
            yield f"{section['about']}\n"
        if not any(key["in_runs"] for key in section["keys"]):
            yield f"Such a result also has these keys of a run: {', '.join(shared(every))}.\n"
        units = any(key["unit"] for key in section["keys"])
        lines = ["| key | unit | meaning |", "|---|---|---|"] if units else ["| key | meaning |", "|---|---|"]
        for key in section["keys"]:
            meaning = cell(key["meaning"]) + (" *Stable.*" if key["stable"] else "")
            cells = (f"`{key['key']}`", key["unit"], meaning) if units else (f"`{key['key']}`", meaning)
            lines.append(f"| {' | '.join(cells)} |")
        yield "\n".join(lines) + "\n"


def shared(keys: list[dict[str, Any]]) -> Iterator[str]:
    """The keys at the top that results of runs and of replays have, with those below them that replays lack."""
    of_runs = [key for key in keys if key["in_runs"]]
    for top in dict.fromkeys(re.split(r"[.[]", key["key"], maxsplit=1)[0] for key in of_runs):
        below = [key for key in of_runs if re.split(r"[.[]", key["key"], maxsplit=1)[0] == top]
        lacks = [key["key"].removeprefix(f"{top}.") for key in below if not key["in_replays"]]
        if len(lacks) < len(below):
            yield f"`{top}`" + (f" (without {', '.join(f'`{name}`' for name in lacks)})" if lacks else "")


def stale(folder: Path) -> dict[str, str]:
    """The pages in ``folder`` that are not what the code makes, with what it makes."""

    def kept(path: Path) -> str | None:
        return path.read_text(encoding="utf-8") if path.exists() else None

    return {name: text for name, text in pages(folder).items() if kept(folder / name) != text}


def main(arguments: list[str]) -> int:
    """Writes the pages, or lists those out of date; returns the exit status."""
    folders = [Path(argument) for argument in arguments if argument != "--check"]
    if len(folders) != 1 or not folders[0].is_dir():
        print("usage: python -m wordline.reference.pages [--check] FOLDER", file=sys.stderr)
        return 2
    (folder,) = folders
    try:
        old = stale(folder)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    if "--check" in arguments:
        for name in old:
            print(f"{folder / name} is out of date: run 'make docs'", file=sys.stderr)
        return 1 if old else 0
    for name, text in old.items():
        write_text(folder / name, text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
