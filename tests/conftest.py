"""The program for a user: the command with its output and exit status."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import inside
import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("WORDLINE", str(Path(sys.executable).parent / "wordline"))
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = os.environ.get("WORDLINE_BROWSER") or next((path for name in NAMES if (path := shutil.which(name))), None)
LONG = os.environ.get("WORDLINE_LONG") == "1"

# A shell that runs the tests in the background makes them and their children ignore Ctrl-C, and nohup a hang-up.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGTERM, signal.SIG_DFL)

LONGEST = [
    "costs",
    "studies_kept",
    "task_pages",
    "redundancy",
    "report",
    "command",
    "charts_browser",
    "report_browser",
    "bad_input",
    "policy_fork",
    "pts",
]
LONGEST += [
    "serve",
    "serve_clients",
    "live_view",
    "policy_families",
    "timeline_run",
    "python_process",
    "site",
    "mapping",
    "blocks",
    "blocks_browser",
    "charts",
]
LONGEST += ["run", "traces", "policies", "sharing", "figures", "policy_company", "viewer", "python_types", "timeline"]
"""Files of tests that take longest, longest first. They start first: no process is left with a long one at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts the files of tests: the longest first, the others as they were."""
    places = {f"test_{name}": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


BUNDLED = ROOT / "traces" / "pgbench-ext4.csv.zst"

Run = Callable[..., subprocess.CompletedProcess[str]]


def until_serving(process: subprocess.Popen[str]) -> str:
    """What a server with pipes says until it is ready."""
    assert process.stdout is not None and process.stderr is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("Serving"):
            return "".join(lines)
    raise AssertionError(process.stderr.read())


@contextmanager
def started(command: list[str | Path], **options: Any) -> Iterator[subprocess.Popen[str]]:  # noqa: ANN401
    """A process that is killed at the end of the test: one that ignores signals would block the test."""
    with subprocess.Popen(command, text=True, **options) as process:
        try:
            yield process
        finally:
            process.kill()


SMALL_DRIVE = """\
name = "small"

[geometry]
channels = 4
packages_per_channel = 1
dies_per_package = 2
planes_per_die = 2
blocks_per_plane = 40
pages_per_block = 64
page_kib = 16

[capacity]
raw_over_logical = 1.28

[precondition]
fill = true
"""

EMPTY_DRIVE = SMALL_DRIVE.replace("fill = true", "fill = false").replace("channels = 4", "channels = 1")

SMALL_LOAD = """\
[[job]]
name = "mixed"
rw = "randrw"
bs = "16k"
iodepth = 8
number_ios = 20_000
"""

MIXED = """\
[[job]]
rw = "randrw"
rwmixread = {reads}
bs = "4k"
rate_iops = 20000
rate_process = "poisson"
number_ios = 30000
iodepth = 256
"""

OVERWRITES = """\
[[job]]
rw = "randwrite"
bs = "16k"
iodepth = 8
number_ios = 40_000
random_distribution = "zipf:0.9"
"""

TRACE_ROWS = [
    ("R", 0, 4096),
    ("W", 16_384, 16_384),
    ("W", 65_536, 8_192),
    ("R", 16_384, 16_384),
    ("T", 65_536, 8_192),
    ("F", 0, 0),
    ("W", 1_048_576, 131_072),
    ("R", 1_048_576, 131_072),
]


@pytest.fixture(scope="session")
def program() -> Run:
    """Runs the command in the folder ``cwd``.

    It starts a process only where that may matter: with other options of a process, in another environment than
    ``COLUMNS``, and in all tests of ``make test-long``. Starting and loading takes far longer than most commands do.
    """

    def run(
        *arguments: str | Path,
        cwd: Path,
        timeout: float = 120,
        env: Mapping[str, str] | None = None,
        **options: Any,  # noqa: ANN401
    ) -> subprocess.CompletedProcess[str]:
        command = [PROGRAM, *map(str, arguments)]
        environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", **(env or {})}
        if LONG or "WORDLINE" in os.environ or options or set(env or ()) - {"COLUMNS"}:
            options = {"capture_output": True, "text": True, "check": False, **options}
            return subprocess.run(command, cwd=cwd, env=environment, timeout=timeout, **options)
        return inside.run(command, cwd, environment, timeout)

    return run


@pytest.fixture
def wordline(program: Run, tmp_path: Path) -> Run:
    """Runs the command in an empty directory."""
    return partial(program, cwd=tmp_path)


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    """A small filled drive."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL_DRIVE)
    return path


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A smaller drive that was never written."""
    path = tmp_path / "empty.toml"
    path.write_text(EMPTY_DRIVE)
    return path


@pytest.fixture
def load(tmp_path: Path) -> Path:
    """A small synthetic workload."""
    path = tmp_path / "load.toml"
    path.write_text(SMALL_LOAD)
    return path


@pytest.fixture
def writes(tmp_path: Path) -> Path:
    """A workload of skewed overwrites, for much GC."""
    path = tmp_path / "writes.toml"
    path.write_text(OVERWRITES)
    return path


@pytest.fixture
def mixed(wordline: Run, tmp_path: Path) -> Callable[[int], Any]:
    """Random reads and writes of 4 KiB on the demo: takes the percentage of reads, and gives what runs them."""

    def of(reads: int) -> Callable[..., tuple[str, dict[str, Any]]]:
        (tmp_path / "mixed.toml").write_text(MIXED.format(reads=reads))

        def told(*options: str) -> tuple[str, dict[str, Any]]:
            """The summary and the result."""
            summary = done(wordline("run", "demo", "mixed.toml", "--json", "r.json", *options))
            return summary, json.loads((tmp_path / "r.json").read_text())

        return told

    return of


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A small trace in plain CSV, one request per millisecond."""
    path = tmp_path / "small.csv"
    path.write_text(trace_text(TRACE_ROWS))
    return path


def trace_text(rows: list[tuple[str, int, int]]) -> str:
    """A CSV trace of ``rows`` (operation, offset and size in bytes)."""
    lines = [f"{1000 * n},{op},{offset},{size}" for n, (op, offset, size) in enumerate(rows)]
    return "\n".join(["time_us,op,offset_bytes,size_bytes", *lines]) + "\n"


def parsed(text: str) -> Any:  # noqa: ANN401
    """Standard JSON, without NaN and infinities."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def done(outcome: subprocess.CompletedProcess[str]) -> str:
    """The standard output of a run that must succeed."""
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


def refused(outcome: subprocess.CompletedProcess[str], *words: str, status: int = 2) -> str:
    """The message of a run that must be rejected; it must contain all of ``words``."""
    assert outcome.returncode == status, f"status {outcome.returncode}: {outcome.stderr}"
    assert outcome.stderr.startswith("wordline: "), outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert "panicked" not in outcome.stderr
    for word in words:
        assert word in outcome.stderr, f"'{word}' is not in: {outcome.stderr}"
    return outcome.stderr


QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
QUIET += ["--disable-component-update", "--disable-sync"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser, through playwright."""
    if BROWSER is None:
        pytest.skip("there is no Chromium; WORDLINE_BROWSER may name one")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=BROWSER, args=QUIET)
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any, files: dict[str, Path]) -> Iterator[Any]:  # noqa: ANN401
    """Opens a page of ``files`` without a network, and fails on any error in the browser."""
    complaints: list[str] = []
    contexts = []

    def opener(name: str = "report", width: int = 1100, scheme: str = "light", **options: Any) -> Any:  # noqa: ANN401
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: None if request.url.startswith(("file:", "data:")) else complaints.append(request.url),
        )
        page.goto(files[name].as_uri())
        return page

    yield opener
    for context in contexts:
        context.close()
    assert complaints == []
