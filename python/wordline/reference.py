"""The reference of all configuration keys and policies, as Markdown, from what the engine says of itself.

``python -m wordline.reference`` prints the page that the repository keeps as ``docs/reference.md``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from wordline.explain import bare
from wordline.listing import default_text

Key = dict[str, Any]

HEAD = """\
# Reference

All keys of drive files and workload files, and all policies. This page is made from the code by `make docs`; a test
fails when it is out of date. `wordline explain KEY` and `wordline policies FAMILY` say the same on the terminal.

Both kinds of file are TOML. Units are part of a key's name. An unknown key is an error. `extends = "NAME"` at the top
of a file starts from a preset or from another file, named by its path from there. `--set KEY=VALUE` overrides a key of
the drive, `--load-set KEY=VALUE` one of the load; an element of an array is addressed by its number, as in
`--load-set job.0.bs=16k`.
"""


def page(drive_keys: list[Key], load_keys: list[Key], policies: list[dict[str, Any]]) -> str:
    """The whole page."""
    return "\n".join(
        [
            HEAD,
            "## Drive file\n",
            *sections(drive_keys),
            "## Policies\n",
            *families(policies),
            "## Workload file\n",
            *sections(load_keys),
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
            yield from table(inner)


def _head(key: Key) -> str:
    return bare(key["key"]).split(".", 1)[0]


def table(keys: list[Key]) -> Iterator[str]:
    """Keys in a table, with their choices below it."""
    lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
    for key in keys:
        default = (
            "required" if key["required"] else "" if "table" in key["kind"] else f"`{default_text(key['default'])}`"
        )
        with_variant = f" With `{key['variant']['name']}`." if key.get("variant") else ""
        name = bare(key["key"]).split(".", 1)[-1]
        lines.append(f"| `{name}` | {cell(key['kind'])} | {cell(default)} | {cell(key['doc'] + with_variant)} |")
    yield "\n".join(lines) + "\n"
    for key in keys:
        told = [choice for choice in key["choices"] if choice["doc"]]
        if told and not key["key"].endswith(".policy"):
            rows = "\n".join(f"- `{choice['name']}`: {flat(choice['doc'])}" for choice in told)
            yield f"`{bare(key['key'])}`:\n\n{rows}\n"


def families(policies: list[dict[str, Any]]) -> Iterator[str]:
    """The policies, family by family."""
    for family, members in groupby(policies, key=lambda policy: policy["family"]):
        listed = list(members)
        yield f"### `{family}.policy`\n"
        yield f"Decides {listed[0]['decides']}.\n"
        lines = ["| policy | what it does | source | note | options |", "|---|---|---|---|---|"]
        for policy in listed:
            name = f"`{policy['name']}`" + (" (default)" if policy.get("default") else "")
            options = ", ".join(f"`{option['key'].rsplit('.', 1)[-1]}`" for option in policy.get("options") or [])
            cells = (policy["summary"], policy["source"], policy.get("note") or "", options)
            lines.append(f"| {name} | " + " | ".join(map(cell, cells)) + " |")
        yield "\n".join(lines) + "\n"


def flat(text: str) -> str:
    """Paragraphs on one line."""
    return text.replace("\n\n", " ").replace("\n", " ")


def cell(text: str) -> str:
    """A text that cannot break out of its cell."""
    return flat(text).replace("|", "\\|")


def main() -> None:
    """Prints the page."""
    from wordline import _core

    print(page(json.loads(_core.keys()), json.loads(_core.load_keys()), json.loads(_core.policies())), end="")


if __name__ == "__main__":
    main()
