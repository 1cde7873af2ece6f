"""The pages of the documentation say what the program does."""

from __future__ import annotations

import inspect
import re
import shlex
import subprocess
import textwrap
from pathlib import Path

import click
import wordline
from conftest import PROGRAM, ROOT
from wordline.cli import program as cli


def test_pages_from_the_code_are_up_to_date() -> None:
    """The references of keys, policies, results, tables and formats."""
    python = Path(PROGRAM).parent / "python"
    command = [python, "-m", "wordline.reference.pages", "--check", ROOT / "docs"]
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
        command = [python, "-m", "wordline.reference.pages", *arguments]
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


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def python_runs(folder: Path, *texts: str) -> None:
    """Runs Python as it stands on a page."""
    python = Path(PROGRAM).parent / "python"
    ran = subprocess.run(
        [python, "-c", "\n".join(texts)], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_the_stand_in_of_the_page_can_be_made(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "trace-tools.md").read_text()
    for block in blocks(text, "toml"):
        name = re.match(r"# (\S+\.toml)\n", block)
        assert name, "a file without a name"
        (tmp_path / name[1]).write_text(block)
    section = text.split("wordline trace synth`", 1)[1]
    lines = blocks(section, "console")[0].replace("\\\n", " ").splitlines()
    assert len(lines) == 2
    for line in lines:
        command = [PROGRAM, *shlex.split(line.removeprefix("$ "))[1:]]
        made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
        assert made.returncode == 0, made.stderr
    assert (tmp_path / "dap-ps.parquet").stat().st_size > 1_000_000


def test_the_python_of_the_page_on_tables_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "tables.md").read_text()
    python_runs(tmp_path, *blocks(text, "python"))
    assert {path.name for path in (tmp_path / "DIR").iterdir()} == {"requests.parquet", "intervals.parquet"}


def test_the_example_in_the_help_of_a_drive_runs(tmp_path: Path) -> None:
    help_text = inspect.getdoc(wordline.Drive) or ""
    example = textwrap.dedent(help_text.split("::\n", 1)[1])
    assert "fork(" in example
    assert 'Drive("tlc-nvme"' in example
    # The same on a drive that is filled and overwritten in a moment.
    python_runs(tmp_path, "import wordline", example.replace('"tlc-nvme"', '"demo"'))
