"""The types of the Python interface, for a type checker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import ROOT

USE = """
import wordline
from wordline import Drive, Run, Workload

drive = Drive("demo", {"a": 1}, seed=3)
load: Workload = Workload.job(rw="read") + Workload.table({"time_us": [1]})
run: Run = drive.run(load, progress=True)
again: Run = wordline.run("demo", "load.toml", ["a=1"])
value: float = run.iops
count: int = len(run.cdf())
reveal_type(run["requests"])
reveal_type(drive.fork())
wordline.InputError("x").args
"""

WRONG = """
from wordline import Drive
Drive("demo", seed="7")
Drive("demo").run(3)
Drive("demo").iops
"""


def checked(module: str, *arguments: str | Path, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """What a type checker says."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def test_users_get_types(tmp_path: Path) -> None:
    use, wrong = tmp_path / "use.py", tmp_path / "wrong.py"
    use.write_text(USE)
    wrong.write_text(WRONG)
    # What it found out about the libraries is kept for the next time.
    options = ("--config-file=", "--strict", "--follow-imports=silent", "--cache-dir", ROOT / "target" / "mypy")
    told = checked("mypy", *options, use, wrong).stdout
    assert 'Revealed type is "wordline.api.drive.Drive"' in told
    errors = [line.split(":")[:2] for line in told.splitlines() if ": error:" in line]
    assert [(Path(file).name, line) for file, line in errors] == [("wrong.py", line) for line in ("3", "4", "5")], told


def test_the_stub_says_what_the_engine_has(tmp_path: Path) -> None:
    # The stub needs no types of others; without this they would all be read.
    alone = tmp_path / "mypy.ini"
    alone.write_text("[mypy]\nfollow_imports = skip\n")
    options = ("wordline._core", "--ignore-missing-stub", "--concise", "--mypy-config-file", alone)
    outcome = checked("mypy.stubtest", *options, folder=ROOT / "tests")
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
