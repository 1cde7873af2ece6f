"""The runs that ``make wheel`` learns from: each drive and each workload is one that the program takes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from conftest import ROOT, Run

SPEC = importlib.util.spec_from_file_location("training", ROOT / "benches" / "training.py")
assert SPEC is not None and SPEC.loader is not None
training = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(training)


@pytest.mark.parametrize("run", training.RUNS, ids=lambda run: f"{run[0]}-{run[1]}")
def test_a_run_is_accepted(wordline: Run, tmp_path: Path, run: tuple[str, str, list[str]]) -> None:
    drive, load, settings = run
    (tmp_path / "load.toml").write_text(f"[[job]]\n{training.LOADS[load]}\n")
    # One request is enough to read the files and to build the drive.
    one = ("precondition.fill=false", "precondition.overwrites=0")
    options = [word for setting in [*settings, *one] for word in ("--set", setting)]
    done = wordline("run", drive, "load.toml", *options, "--load-set", "job.0.number_ios=1", "-q")
    assert done.returncode == 0, done.stderr


def test_every_load_is_used() -> None:
    assert {load for _, load, _ in training.RUNS} == set(training.LOADS)
    assert training.BUNDLED.exists()
