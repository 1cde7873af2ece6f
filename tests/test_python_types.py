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


def mypy(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--no-incremental", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_users_get_types(tmp_path: Path) -> None:
    use, wrong = tmp_path / "use.py", tmp_path / "wrong.py"
    use.write_text(USE)
    wrong.write_text(WRONG)
    good = mypy("--config-file=", "--strict", "--follow-imports=silent", use)
    assert good.returncode == 0, good.stdout
    assert 'Revealed type is "wordline.api.drive.Drive"' in good.stdout
    bad = mypy("--config-file=", "--strict", "--follow-imports=silent", wrong).stdout
    assert [line.split(":")[1] for line in bad.splitlines() if ": error:" in line] == ["3", "4", "5"], bad


def test_the_stub_says_what_the_engine_has() -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "wordline._core", "--ignore-missing-stub", "--concise"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT / "tests",
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
