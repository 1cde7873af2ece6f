"""A background task is its family and one line of a list; everything else takes its name from there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import synthetic
from conftest import ROOT, Run, done
from wordline import _core

HOT = """
[[job]]
rw = "randread"
bs = "4k"
iodepth = 16
size = "16m"
number_ios = 60000
"""

SCRUB = ("--set", "refresh.policy=scrub", "--set", "refresh.start_reads=1000", "--set", "refresh.stop_reads=800")


def places(name: str, pattern: str) -> list[str]:
    """Lines of engine and package that name a task, outside its family, unit tests and studies."""
    files = [*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("python/wordline/**/*.py")]
    found = []
    for path in sorted(files):
        if f"policy/{name}/" in path.as_posix() or "/studies/" in path.as_posix():
            continue
        for line in path.read_text().partition("#[cfg(test)]")[0].splitlines():
            if re.search(pattern, line) and not line.lstrip().startswith("//"):
                found.append(f"{path.relative_to(ROOT).as_posix()}: {line.strip()}")
    return found


def test_a_task_is_named_in_two_places() -> None:
    # An argument of this name belongs to the library that draws on terminals.
    assert places("refresh", r"(?i)\brefresh\b(?!=)|\bRefresh(Config|Policy)\b") == [
        "crates/firmware/src/policy/mod.rs: pub mod refresh;",
        'crates/firmware/src/task.rs: REFRESH "refresh" "read refresh" refresh RefreshConfig RefreshPolicy;',
        # What lets it take policies in Python.
        "python/wordline/policy/__init__.py: Refresh,",
        'python/wordline/policy/__init__.py: "Refresh",',
        "python/wordline/policy/data.py: class Refresh(Upkeep):",
        'python/wordline/policy/data.py: family = "refresh"',
        "python/wordline/policy/families.py: Refresh,",
        'python/wordline/policy/families.py: "refresh": _Family(Refresh, ("next", "erased"), UpkeepSeat, None),',
    ]
    # The word alone, like the name of the module, also means the wear of blocks.
    named = r"\bWEAR\b|\bWear(Config|Policy)\b|\bwear-(read|write|erase)\b|\btasks\.wear\b"
    assert places("wear", named) == [
        'crates/firmware/src/task.rs: WEAR "wear" "wear leveling" wear WearConfig WearPolicy;',
    ]
    # Folding alone makes no sense without a cache, whatever its policy: the check of the cache says so.
    assert places(
        "fold", r"\bFOLD\b|\bFold(Config|Policy)\b|\bupkeep\.fold\b|\bfold-(read|write|erase)\b|\btasks\.fold\b"
    ) == [
        "crates/firmware/src/config/slc.rs: if upkeep.occasion(Task::FOLD) == Occasion::Never || has_cache {",
        'crates/firmware/src/config/slc.rs: Err(ConfigError::new("fold.policy", self.upkeep.fold.name(), problem))',
        'crates/firmware/src/task.rs: FOLD "fold" "SLC folding" fold FoldConfig FoldPolicy;',
    ]


def test_the_page_on_adding_a_task_quotes_the_policy_as_it_is() -> None:
    page = (ROOT / "docs/adding-a-task.md").read_text()
    quoted = [
        ("crates/firmware/src/policy/refresh/mod.rs", "upkeep_policies!"),
        ("crates/firmware/src/policy/refresh/scrub.rs", "fn next"),
        ("crates/firmware/src/task.rs", "/// Moves data before reads disturb"),
    ]
    blocks = re.findall(r"```rust\n(.*?)```", page, re.DOTALL)
    for path, begin in quoted:
        (block,) = [block for block in blocks if block.startswith(begin)]
        # The page does not indent what stands in an `impl` or a list.
        source = [line.strip() for line in (ROOT / path).read_text().splitlines()]
        lines = [line.strip() for line in block.splitlines()]
        at = source.index(lines[0])
        assert source[at : at + len(lines)] == lines, f"{path}: the page quotes it otherwise"


def test_the_engine_lists_its_tasks() -> None:
    assert [name for name, _ in _core.tasks()] == ["host", "gc", "refresh", "wear", "fold"]


def test_results_tables_and_pages_show_the_tasks_of_the_drive(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "hot.toml").write_text(HOT)
    run = ("run", "demo", "hot.toml", "--json", "r.json", "--tables", "requests,dies", "--out", "t")
    told = done(wordline(*run, *SCRUB))
    result = json.loads((tmp_path / "r.json").read_text())
    figures = result["tasks"]["refresh"]
    assert figures["blocks"] > 0
    assert re.search(rf"^Read refresh +{figures['blocks']} blocks emptied", told, re.MULTILINE)
    assert result["time_of"]["read"]["wait_die_refresh"] > 0
    page = synthetic.page_of(result, "time_of", "activity")
    assert "die held by read refresh" in page
    assert "By read refresh" in page
    assert "and in which read refresh held the die" in page
    columns = _columns(tmp_path / "t")
    assert {"refresh_reads", "refresh_us"} <= columns("dies")
    assert "wait_die_refresh_us" in columns("requests")

    done(wordline(*run))
    result = json.loads((tmp_path / "r.json").read_text())
    assert list(result["tasks"]) == ["host", "gc"]
    assert not any("refresh" in key for key in [*result["time_of"]["read"], *result["activity"]])
    assert not any("refresh" in column for table in ("dies", "requests") for column in columns(table))


def _columns(directory: Path) -> Callable[[str], set[str]]:
    import pyarrow.parquet

    return lambda table: set(pyarrow.parquet.read_schema(directory / f"{table}.parquet").names)
