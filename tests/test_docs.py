"""The pages of the documentation agree with the program."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import subprocess
import textwrap
from pathlib import Path

import click
import wordline
from conftest import PROGRAM, ROOT, Run, done
from wordline import _core
from wordline.cli import program as cli
from wordline.results.causes import CAUSES, CROSSES


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
    """Every command on a page: the page, and the line."""
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
    """Runs Python code from a page."""
    python = Path(PROGRAM).parent / "python"
    ran = subprocess.run(
        [python, "-c", "\n".join(texts)], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_the_stand_in_of_the_page_can_be_made(wordline: Run, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "trace-tools.md").read_text()
    for block in blocks(text, "toml"):
        name = re.match(r"# (\S+\.toml)\n", block)
        assert name, "a file without a name"
        (tmp_path / name[1]).write_text(block)
    section = text.split("wordline trace synth`", 1)[1]
    lines = blocks(section, "console")[0].replace("\\\n", " ").splitlines()
    assert len(lines) == 2
    for line in lines:
        done(wordline(*shlex.split(line.removeprefix("$ "))[1:], timeout=300))
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
    # The same on a drive that is filled and overwritten quickly.
    python_runs(tmp_path, "import wordline", example.replace('"tlc-nvme"', '"demo"'))


def test_the_page_on_reports_names_every_cause() -> None:
    """The table of causes has each part of a request's time, in the order and with the names of the report.

    Waits for background tasks besides garbage collection are told of in one sentence.
    """
    text = (ROOT / "docs" / "report.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| `(\w+)` \| [^|]+ \|[^|]*\|$", text, re.M)
    assert rows == [(cause.name, cause.key) for cause in CAUSES if cause.hatch != CROSSES]


def test_the_results_that_the_pages_on_terms_name_exist() -> None:
    """Keys of a drive there are links, which the site checks; those of a result are plain."""
    known = set()
    for section in json.loads(_core.result_keys()):
        for key in section["keys"]:
            known |= set(spread(key["key"].replace("[]", "")))
    text = "".join((ROOT / "docs" / name).read_text() for name in ("concepts.md", "glossary.md", "not-modelled.md"))
    sections = "|".join(sorted({key.partition(".")[0] for key in known if "." in key} - {"workload", "drive"}))
    named = set(re.findall(rf"(?<!\[)`((?:{sections}|drive)\.[\w.]+)`", text))
    assert len(named) > 25
    assert not named - known


def spread(key: str) -> list[str]:
    """Keys written together, with braces."""
    braces = re.search(r"\{([^}]*)\}", key)
    if not braces:
        return [key]
    return [one for part in braces[1].split(",") for one in spread(key.replace(braces[0], part, 1))]


NO_SOURCES = {"crc16", "int16", "log10", "systor17", "uint16"}
"""Words of code, and a format of traces, that look like the key of a source."""


def test_every_source_has_its_reference() -> None:
    """Keys named by code, presets and studies, sources of all policies, authors that code quotes by year."""
    text = (ROOT / "docs" / "bibliography.md").read_text()
    entries = re.findall(r"^\| `?([^`|]+?)`? \| (.+) \|$", text, re.M)
    names = {name for name, _ in entries}
    assert len(names) == len(entries)
    files = [path for folder in ("crates", "drives", "studies", "python") for path in (ROOT / folder).rglob("*")]
    kinds = {".rs", ".toml", ".py", ".md"}
    texts = [
        path.read_text() for path in files if path.suffix in kinds and path.is_file() and "target" not in path.parts
    ]
    # Letters and a year; short ones count only in brackets.
    key = re.compile(r"\b[a-z]{3,}[012]\d\b|(?<=\[)[a-z]{2}[012]\d(?=\])")
    used = {found for one in texts for found in key.findall(one)} - NO_SOURCES
    assert {"jung13", "choi18", "kim18", "dirik09", "chang11", "isscc18", "at19", "th18"} <= used
    assert not used - names

    def known(source: str) -> bool:
        return any(name in source or source in about for name, about in entries)

    policies = {part.strip() for policy in json.loads(_core.policies()) for part in policy["source"].split(";")}
    assert len(policies) > 25
    assert not {source for source in policies if not known(source)}
    quoted = {
        (author, year)
        for one in texts
        for line in one.splitlines()
        if line.startswith(("//! Source:", "/// Source:", "//! * "))
        for author, year in re.findall(r"([A-Z][a-z]+)(?: et al\.)? \(?(?:[A-Z]+ )?((?:19|20)\d\d)\b", line)
    }
    rows = [f"{name} {about}" for name, about in entries]
    assert ("Desnoyers", "2014") in quoted
    assert not {pair for pair in quoted if not any(all(word in row for word in pair) for row in rows)}
