"""The example of a database on a live disk, as its page says to run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LONG, ROOT
from servers import FUSE, needs

EXAMPLE = ROOT / "docs" / "examples" / "database.py"


@FUSE
@needs("nbdfuse", "fusermount3", "mkfs.ext4", "mount", "umount")
@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator may mount")
@pytest.mark.skipif(not LONG, reason="four drives, file systems and databases: make test-long")
def test_a_database_runs_on_new_and_aged_drives(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLE), "--seconds", "5", "--pace", "1", "--json", "d.json", "--figure", "d.svg"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    runs = {(run["drive"], run["discard"]): run for run in json.loads((tmp_path / "d.json").read_text())}
    assert len(runs) == 4 and all(run["transactions"] > 0 for run in runs.values())
    # A file system that discards makes an aged drive as good as a new one; without, GC moves what nobody needs.
    assert runs["aged", False]["gc"]["moved_pages"] > 1000
    assert all(run["gc"]["moved_pages"] < 100 for key, run in runs.items() if key != ("aged", False))
    assert runs["new", True]["live"]["commands"]["trim"] > 0
    assert (tmp_path / "d.svg").read_text().startswith("<")


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLE)]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "not installed: nbdfuse, fusermount3, mkfs.ext4, mount\n"
