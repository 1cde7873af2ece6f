"""The pages of the documentation say what the program does."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import click
from conftest import PROGRAM, ROOT
from wordline import cli


def test_pages_from_the_code_are_up_to_date() -> None:
    """The references of keys, policies, results, tables and formats."""
    python = Path(PROGRAM).parent / "python"
    command = [python, "-m", "wordline.pages", "--check", ROOT / "docs"]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_a_page_that_is_out_of_date_is_named_and_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("reference.md", "tables.md", "results.md", "traces.md"):
        text = (ROOT / "docs" / name).read_text()
        row = next(line for line in text.splitlines() if line.startswith("| `"))
        (folder / name).write_text(text.replace(row, "| `gone` | |"))
    python = Path(PROGRAM).parent / "python"

    def pages(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [python, "-m", "wordline.pages", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    checked = pages("--check", folder)
    assert checked.returncode == 1
    assert [line.split(" ")[0] for line in checked.stderr.splitlines()] == [
        str(folder / name) for name in ("reference.md", "tables.md", "results.md", "traces.md")
    ]
    assert pages(folder).returncode == 0
    for path in folder.iterdir():
        assert path.read_text() == (ROOT / "docs" / path.name).read_text()
    (folder / "traces.md").write_text("no marks")
    lost = pages("--check", folder)
    assert lost.returncode == 2
    assert "traces.md: the lines" in lost.stderr


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
