"""The wheel on a fresh system: in an empty environment, with the first commands of the README."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import wordline
from conftest import BUNDLED, PROGRAM, ROOT, parsed

WHEELS = sorted((ROOT / "target" / "wheels").glob(f"wordline-{wordline.__version__}-*.whl"))

pytestmark = pytest.mark.skipif(not WHEELS, reason="there is no wheel of this version in target/wheels; make builds it")

# The environment of the tests must not help.
BARE = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}


def told(*command: str | Path, within: Path) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=within, env=BARE)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel, its dependencies, and those of the README's example."""
    folder = tmp_path_factory.mktemp("empty")
    told(sys.executable, "-m", "venv", folder / "venv", within=folder)
    programs = folder / "venv" / "bin"
    quiet = ("-m", "pip", "--disable-pip-version-check", "--quiet", "install")
    told(programs / "python", *quiet, f"{WHEELS[-1]}[tables]", "pandas>=2.2", within=folder)
    return programs


def test_a_run_is_the_same_everywhere(empty: Path, tmp_path: Path) -> None:
    digests = []
    for program in (empty / "wordline", Path(PROGRAM)):
        told(program, "run", "demo", BUNDLED, "--limit", "5000", "--quiet", "--json", "r.json", within=tmp_path)
        digests.append(parsed((tmp_path / "r.json").read_text())["digest"])
    assert digests[0] == digests[1]


def test_the_example_of_the_readme_runs(empty: Path, tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    printed = told(empty / "python", "-c", code, within=tmp_path)
    first, *rows = printed.splitlines()
    assert float(first.split()[0]) > 0, printed
    assert len(rows) > 3, printed


def test_report_and_studies_come_with_it(empty: Path, tmp_path: Path) -> None:
    told(empty / "wordline", "run", "demo", BUNDLED, "--limit", "500", "--report", "r.html", within=tmp_path)
    assert "</html>" in (tmp_path / "r.html").read_text()
    assert "nand-scheduler" in told(empty / "wordline", "study", within=tmp_path)
