"""The reference of keys, policies and NAND operations, as Markdown, from the engine's descriptions.

:mod:`wordline.reference.pages` writes it, as ``docs/reference.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from wordline.reference.explain import bare
from wordline.reference.listing import default_text

Key = dict[str, Any]

HEAD = """\
# Reference

All keys of drive files, array files and workload files, all policies, and the operations of a NAND package. This page
is made from the code by `make docs`; a test fails when it is out of date. `wordline explain KEY` and
`wordline policies FAMILY` show the same on the terminal.

All kinds of file are TOML. Units are part of a key's name. An unknown key is an error. `extends = "NAME"` at the top
of a file starts from a preset or from another file, named by its path from there. `--set KEY=VALUE` overrides a key of
the drive, `--load-set KEY=VALUE` one of the workload; an element of an array is addressed by its number, as in
`--load-set job.0.bs=16k`.

Each section is folded: a click or a link to a key opens it, such as
[`capacity.raw_over_logical`](#capacity.raw_over_logical).
"""


def page(
    drive_keys: list[Key],
    array_keys: list[Key],
    load_keys: list[Key],
    policies: list[dict[str, Any]],
    chains: dict[str, list[dict[str, Any]]],
) -> str:
    """The whole page."""
    return "\n".join(
        [
            HEAD,
            "## Drive file\n",
            *sections(drive_keys),
            "## Policies\n",
            *families(policies),
            "## Array file\n",
            "An array file also has `name`, `title` and `source`, as a drive file.\n",
            *sections([key for key in array_keys if _head(key) == "array" or key["key"] == "array"]),
            "## Workload file\n",
            *sections(load_keys),
            "## Operations of a NAND package\n",
            *operations(chains),
        ]
    )


def sections(keys: list[Key]) -> Iterator[str]:
    """The keys of a file: those at the top, then section by section."""
    heads = [key for key in keys if "." not in key["key"]]
    # A section has keys; what is at the top and has none is a value.
    by_head = {head["key"]: [key for key in keys if _head(key) == head["key"] and key is not head] for head in heads}
    top = [head for head in heads if not by_head[head["key"]]]
    if top:
        yield from table(top)
    for head in heads:
        inner = by_head[head["key"]]
        if inner:
            title = f"[[{head['key']}]]" if head["kind"].startswith("array") else f"[{head['key']}]"
            yield f"### `{title}`\n"
            yield f"{head['doc']}\n"
            yield from folded(counted(len(inner), "key", "keys"), table(inner))


def folded(summary: str, lines: Iterable[str]) -> Iterator[str]:
    """Folded text below a visible heading; a click or a link to an anchor inside opens it."""
    yield f'<details markdown="1">\n<summary>{summary}</summary>\n'
    yield from lines
    yield "</details>\n"


def counted(number: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else many}"


def _head(key: Key) -> str:
    return bare(key["key"]).split(".", 1)[0]


def table(keys: list[Key]) -> Iterator[str]:
    """Keys in a table, with their choices below it."""
    lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
    seen: set[str] = set()
    for key in keys:
        default = (
            "required" if key["required"] else "" if "table" in key["kind"] else f"`{default_text(key['default'])}`"
        )
        with_variant = f" With `{key['variant']['name']}`." if key.get("variant") else ""
        name = bare(key["key"]).split(".", 1)[-1]
        # Variants may share a name; a link leads to the first.
        mark = "" if key["key"] in seen else anchor(key)
        seen.add(key["key"])
        cells = (key["kind"], default, key["doc"] + with_variant)
        lines.append(f"| `{name}`{mark} | " + " | ".join(map(cell, cells)) + " |")
    yield "\n".join(lines) + "\n"
    for key in keys:
        told = [choice for choice in key["choices"] if choice["doc"]]
        if told and not key["key"].endswith(".policy"):
            rows = "\n".join(f"- `{choice['name']}`: {flat(choice['doc'])}" for choice in told)
            yield f"`{bare(key['key'])}`:\n\n{rows}\n"


def anchor(key: Key) -> str:
    """Where a link to the key leads: ``reference.md#capacity.raw_over_logical``."""
    return f'<a id="{bare(key["key"])}"></a>'


def families(policies: list[dict[str, Any]]) -> Iterator[str]:
    """The policies, family by family."""
    for family, members in groupby(policies, key=lambda policy: policy["family"]):
        listed = list(members)
        yield f"### `{family}.policy`\n"
        yield f"Decides {listed[0]['decides']}.\n"
        lines = ["| policy | decision | source | note | options |", "|---|---|---|---|---|"]
        for policy in listed:
            name = f"`{policy['name']}`" + (" (default)" if policy.get("default") else "")
            options = ", ".join(f"`{option['key'].rsplit('.', 1)[-1]}`" for option in policy.get("options") or [])
            cells = (policy["summary"], policy["source"], policy.get("note") or "", options)
            lines.append(f"| {name} | " + " | ".join(map(cell, cells)) + " |")
        yield from folded(counted(len(listed), "policy", "policies"), ["\n".join(lines) + "\n"])


def operations(chains: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """The operation modes, their segments and the timing modes of the interfaces."""
    yield (
        "An operation is a chain of segments. A segment is an uninterrupted transfer on the bus; after it the die may "
        "be busy. Dies of a package interleave these operations. Codes and waits are those of ONFI 4.2; "
        "suspend and resume, which it does not define, have the codes of Micron's data sheets.\n"
    )
    lines = ["| operation | chain |", "|---|---|"]
    for operation in chains["operations"]:
        steps = (f"{step['segment']} {'' if step['times'] == 'once' else step['times']}" for step in operation["chain"])
        lines.append(f"| {operation['name']} | {cell('; '.join(step.strip() for step in steps))} |")
    yield from folded(counted(len(chains["operations"]), "operation", "operations"), ["\n".join(lines) + "\n"])
    lines = ["| segment | on the bus | then busy |", "|---|---|---|"]
    for segment in chains["segments"]:
        lines.append(f"| {segment['name']} | {', '.join(segment['cycles'])} | {segment['busy']} |")
    yield from folded(counted(len(chains["segments"]), "segment", "segments"), ["\n".join(lines) + "\n"])
    yield (
        "Timing modes of the interfaces, in nanoseconds. A double-data-rate bus moves two bytes in a data cycle; a "
        "command or address byte takes a latch cycle.\n"
    )
    columns = ("latch", "data in", "data out", "tADL", "tWB", "tRR", "tCCS", "tWHR")
    lines = [f"| interface | MT/s | {' | '.join(columns)} |", "|---|---|" + "---|" * len(columns)]
    for mode in chains["modes"]:
        figures = " | ".join(f"{mode[column]:g}" for column in columns)
        lines.append(f"| `{mode['interface']}` | {mode['rate_mt_s']} | {figures} |")
    yield from folded(counted(len(chains["modes"]), "timing mode", "timing modes"), ["\n".join(lines) + "\n"])


def flat(text: str) -> str:
    """Paragraphs on one line."""
    return text.replace("\n\n", " ").replace("\n", " ")


def cell(text: str) -> str:
    """A text escaped for a table cell."""
    return flat(text).replace("|", "\\|")
