"""Every command on the task pages runs, from the first page to the last in one folder, like a user."""

from __future__ import annotations

import gzip
import re
import shlex
import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from conftest import BUNDLED, ROOT, Run, parsed
from wordline.report import figures
from wordline.results import repeats

PAGES = ("first-run", "my-trace", "my-drive", "compare", "my-policy", "report")

REFUSED = {"wordline trace info my.trace.gz": "--format"}
"""Commands that a page shows for their message, and a word of it."""

WAITS = "--open"
"""An option with which a command waits for a browser."""


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """The fenced blocks of a page: language and text."""
    text = (ROOT / "docs" / f"{page}.md").read_text()
    yield from re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)


def commands(text: str) -> list[str]:
    """The commands of a console block."""
    return [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user's folder: with the bundled trace and their own trace, in milliseconds and blocks."""
    place = tmp_path_factory.mktemp("user")
    (place / "traces").mkdir()
    shutil.copy(BUNDLED, place / "traces")
    lines = (f"{n * 0.1:.3f} 0 {n * 7919 % 100_000 * 8} {8 << n % 3} {n % 2}\n" for n in range(5_000))
    (place / "my.trace.gz").write_bytes(gzip.compress("".join(lines).encode()))
    return place


def words(line: str) -> list[str]:
    """The arguments of a command on a page."""
    name, *arguments = shlex.split(line, comments=True)
    assert name == "wordline", line
    return arguments


def test_the_pages_run_from_first_to_last(program: Run, folder: Path) -> None:
    ran = []
    for page in PAGES:
        for language, text in blocks(page):
            name = re.match(r"# (\S+\.(?:toml|py))\n", text)
            if name:
                (folder / name[1]).write_text(text)
            for line in commands(text) if language == "console" else ():
                if WAITS in line:
                    continue
                outcome = program(*words(line), cwd=folder)
                ran.append(line)
                word = REFUSED.get(line)
                assert outcome.returncode == (2 if word else 0), f"{page}.md: {line}\n{outcome.stderr}"
                assert (word or "") in outcome.stderr
                assert outcome.stdout or word or "--figures" in line or " -o " in line, (
                    f"{page}.md: {line} says nothing"
                )
    assert set(REFUSED) <= set(ran)
    assert len(ran) > 25
    # Their output is that on the pages.
    digests = {path.stem: parsed(path.read_text())["digest"] for path in folder.glob("*.json")}
    assert digests["greedy"] == digests["own"] == digests["plain"]
    assert len({digests[name] for name in ("greedy", "fifo", "suspend", "young", "mine", "benefit")}) == 6
    # Each compared run wrote its drive at least once over, and the effects on the pages hold over seeds.
    saved = {path.stem: parsed(path.read_text()) for path in folder.glob("*.json")}
    compared = ("greedy", "fifo", "plain", "suspend", "young", "own", "mine", "benefit")
    assert all(saved[name]["written"]["of_capacity"] >= 1 for name in compared)

    def apart(one: str, other: str, key: str) -> bool | None:
        told = [repeats.figure(saved[name], key) for name in (one, other)]
        return repeats.apart(*(figure["values"] for figure in told if figure))

    assert apart("greedy", "fifo", "write_amplification")
    assert apart("greedy", "fifo", "latency_us.read.mean")
    assert apart("plain", "suspend", "latency_us.read.mean")
    assert apart("mine", "benefit", "write_amplification")
    assert not apart("greedy", "fifo", "latency_us.read.p50")
    assert not apart("own", "young", "write_amplification")
    for name in ("run.html", "both.html", "compare.html"):
        assert "</html>" in (folder / name).read_text()
    drawn = {figure.key: figure for figure in figures.all_of(saved["run"]).values()}
    assert len(drawn) > 10
    starts = {"svg": b"<?xml", "png": b"\x89PNG\r\n", "pdf": b"%PDF-"}
    files = {path.name: path for path in (folder / "figures").iterdir()}
    assert set(files) == {f"{key}.{form}" for key in drawn for form in starts}
    assert all(path.read_bytes().startswith(starts[path.suffix[1:]]) for path in files.values())
    for key, form in product(("where-the-time-went", "dies-over-time"), starts):
        again = folder / f"again.{form}"
        drawn[key].save(again)
        assert again.read_bytes() == files[f"{key}.{form}"].read_bytes(), "the same figure is the same file"


def test_the_error_that_my_drive_shows_is_the_programs(program: Run, folder: Path) -> None:
    drive = next(text for language, text in blocks("my-drive") if language == "toml")
    (folder / "mine.toml").write_text(drive.replace("channels", "chanels"))
    page = (ROOT / "docs" / "my-drive.md").read_text()
    shown = re.search(r"^mine\.toml:\d.*$", page, re.M)
    assert shown
    assert shown[0] in program("check", "mine.toml", cwd=folder).stderr
