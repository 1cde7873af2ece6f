"""The pages of the documentation say what the program does."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import click
import pytest
from conftest import PROGRAM, ROOT, Run, done, parsed
from wordline import cli

STABLE = """
    schema version seed digest config workload simulated_s cpu_s requests iops bandwidth_mib_s
    latency_us.{all,read,write,trim}.{count,mean,min,p50,p90,p99,p99_9,p99_99,p99_999,p99_9999,max} write_amplification
    flash.{reads,programs,erases} gc.{collections,moved_pages} wear.{mean,max,stddev} energy_j partial
"""
"""The keys of a result that keep name and meaning whatever comes."""


def expanded(pattern: str) -> list[str]:
    """``a.{b,c}`` as ``a.b`` and ``a.c``."""
    parts = re.split(r"\{([^}]*)\}", pattern)
    return ["".join(pick) for pick in product(*(p.split(",") if n % 2 else [p] for n, p in enumerate(parts)))]


def documented() -> dict[str, tuple[str, bool]]:
    """The keys of the page with their units, and whether they are stable."""
    rows = re.findall(
        r"^\| `([^`]+)` \|.*\|([^|]*)\| ?(stable)? ?\|$", (ROOT / "docs" / "results.md").read_text(), re.M
    )
    return {key: (unit.strip(), stable == "stable") for pattern, unit, stable in rows for key in expanded(pattern)}


def leaves(value: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401
    """The dotted keys of a document."""
    if not isinstance(value, dict):
        yield path
        return
    for key, below in value.items():
        yield from leaves(below, f"{path}.{key}" if path else key)


@pytest.fixture(scope="module")
def pages() -> dict[str, tuple[str, bool]]:
    return documented()


def test_stable_keys_are_there_and_said_to_be(
    wordline: Run, drive: Path, load: Path, pages: dict[str, tuple[str, bool]]
) -> None:
    result = parsed(done(wordline("run", drive, load, "--quiet", "--json", "-")))
    wanted = {key for pattern in STABLE.split() for key in expanded(pattern)}
    assert {key for key, (_, stable) in pages.items() if stable} == wanted
    for key in wanted:
        value = result
        for part in key.split("."):
            assert part in value, key
            value = value[part]
    # And nothing is there that the page does not know.
    whole = {key for key, (unit, _) in pages.items() if unit == "object"}
    unknown = [key for key in leaves(result) if key not in pages and key.split(".")[0] not in whole]
    assert unknown == []


def test_the_reference_is_up_to_date() -> None:
    python = Path(PROGRAM).parent / "python"
    made = subprocess.run([python, "-m", "wordline.reference"], capture_output=True, text=True, timeout=60, check=True)
    kept = (ROOT / "docs" / "reference.md").read_text()
    assert made.stdout == kept, "docs/reference.md is out of date: 'make docs' makes it anew"


def shown_commands() -> list[tuple[str, str]]:
    """Every command that a page shows: the page, and the line."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    lines = ((page.name, line.strip()) for page in pages for line in page.read_text().splitlines())
    return [(page, line.removeprefix("$ ")) for page, line in lines if re.match(r"(\$ )?wordline [a-z]", line)]


def test_commands_that_pages_show_exist() -> None:
    commands = shown_commands()
    assert len(commands) > 30
    for page, line in commands:
        words = shlex.split(line.removesuffix("\\"), comments=True)[1:]
        command: click.Command = cli.wordline
        while isinstance(command, click.Group):
            name, *words = words
            found = command.get_command(click.Context(command), name)
            assert found is not None, f"{page}: {line}: there is no command {name}"
            command = found
        options = {option for param in command.params for option in (*param.opts, *param.secondary_opts)} | {"--help"}
        for word in words:
            option = word.split("=")[0]
            assert not option.startswith("--") or option in options, f"{page}: {line}: no option {option}"
