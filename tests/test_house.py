"""The checker of the house's rules finds violations."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT

GOOD = """\
//! The block with the fewest valid units.
//!
//! Source: somebody.
//! Faithful: all of it.

use super::Victim;
use crate::blocks::VictimView;
use crate::policy::{About, Build};
use crate::ConfigError;
use std::collections::VecDeque;
use wordline_base::{ps_from_us, Stream};
"""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("house", ROOT / "tools" / "house.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["house"] = module
    spec.loader.exec_module(module)
    module.ROOT = tmp_path  # type: ignore[attr-defined]
    (tmp_path / "crates" / "firmware" / "src" / "policy" / "victim").mkdir(parents=True)
    (tmp_path / "crates" / "firmware" / "src" / "policy" / "collect").mkdir()
    yield module
    del sys.modules["house"]


def found(house: ModuleType, path: str, text: str) -> list[str]:
    """The violations in a tree with this one file."""
    target = house.ROOT / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    return [str(violation) for violation in house.violations()]


POLICY = "crates/firmware/src/policy/victim/greedy.rs"


def test_a_proper_policy_passes(house: ModuleType) -> None:
    assert found(house, POLICY, GOOD) == []


@pytest.mark.parametrize(
    "line",
    [
        "use std::time::Instant;",
        "use wordline_base::EventQueue;",
        "use wordline_base::{event, Stream};",
        "use wordline_base::*;",
        "use crate::kernel::Kernel;",
        "use crate::{ConfigError, kernel::Kernel};",
        "use crate::policy::collect::Scope;",
        "use super::super::collect::Scope;",
        "use std::collections::HashMap;",
        "use std::fs;",
        "use wordline_flash::Array;",
        "fn f() -> crate::policy::collect::Scope {}",
        "fn f() { crate::kernel::stop() }",
    ],
)
def test_a_forbidden_import_is_found(house: ModuleType, line: str) -> None:
    violations = found(house, POLICY, GOOD + line + "\n")
    assert violations
    assert all(violation.startswith(f"{POLICY}:{GOOD.count(chr(10)) + 1}: ") for violation in violations)


def test_tests_and_comments_may_say_anything(house: ModuleType) -> None:
    tail = "// use std::time::Instant;\n#[cfg(test)]\nmod tests {\n    use crate::kernel::Kernel;\n}\n"
    assert found(house, POLICY, GOOD + tail) == []


def test_a_policy_names_its_source(house: ModuleType) -> None:
    violations = found(house, POLICY, GOOD.replace("Source:", "From:"))
    assert len(violations) == 1 and "'Source:'" in violations[0]


def test_dependencies_point_one_way(house: ModuleType) -> None:
    text = '[package]\nname = "wordline-nand"\n\n[dependencies]\nwordline-base.workspace = true\n'
    assert found(house, "crates/nand/Cargo.toml", text) == []
    violations = found(house, "crates/nand/Cargo.toml", text + 'wordline-drive = { path = "../drive" }\n')
    assert violations == ["crates/nand/Cargo.toml:6: nand must not depend on drive; it may on: base"]


def test_rooms_import_one_way(house: ModuleType) -> None:
    good = "from wordline import _core\nfrom wordline.base.units import three\nimport json\n"
    assert found(house, "python/wordline/results/story.py", good) == []
    for line in (
        "from wordline.report import page",
        "from wordline.report.page import html",
        "import wordline.report.page",
        "from wordline import report",
        "def f() -> None:\n    from wordline.report import page",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from wordline.report.page import Page",
    ):
        at = (good + line).count("\n") + 1
        assert found(house, "python/wordline/results/story.py", good + line) == [
            f"python/wordline/results/story.py:{at}: results must not import from report; it may from: base"
        ]


def test_a_new_room_has_its_place(house: ModuleType) -> None:
    assert found(house, "python/wordline/attic/old.py", "") == [
        "python/wordline/attic/old.py:1: 'attic' is no room of the Python package (see ROOMS)"
    ]
    assert found(house, "python/wordline/stray.py", "")


def test_the_rooms_make_no_circle(house: ModuleType) -> None:
    done: set[str] = set()
    while len(done) < len(house.ROOMS):
        ready = {room for room, below in house.ROOMS.items() if below <= done} - done
        assert ready, f"a circle among: {sorted(house.ROOMS.keys() - done)}"
        done |= ready


def test_the_rooms_are_those_that_are_described(house: ModuleType) -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text().partition("### The rooms of the Python package")[2]
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", text.partition("\n## ")[0], re.MULTILINE)
    described = {room: set(re.findall(r"`(\w+)`", below)) for room, below in rows}
    doors = {"__init__", "__main__", "package"}
    assert described.pop("cli") == {"package"}
    assert house.ROOMS["cli"] == house.ROOMS.keys() - doors - {"cli"}
    assert described == {room: below for room, below in house.ROOMS.items() if room not in doors | {"cli"}}
    package = ROOT / "python" / "wordline"
    assert house.ROOMS.keys() == {path.parent.name for path in package.glob("*/__init__.py")} | {
        path.stem for path in package.glob("*.py")
    }


def test_theory_is_for_tests(house: ModuleType) -> None:
    head = '[package]\nname = "wordline-drive"\n'
    assert (
        found(house, "crates/drive/Cargo.toml", head + "[dev-dependencies]\nwordline-theory.workspace = true\n") == []
    )
    assert found(house, "crates/drive/Cargo.toml", head + "[dependencies]\nwordline-theory.workspace = true\n")


def test_the_engine_reads_no_clock(house: ModuleType) -> None:
    clock = "fn f() { let t = std::time::Instant::now(); }\n"
    assert found(house, "crates/flash/src/bin/bench.rs", clock) == []
    assert found(house, "crates/flash/src/array.rs", clock)


def test_paths_of_a_machine_are_found(house: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    place = "/" + "home" + "/somebody/trace.csv"
    page = house.ROOT / "notes.md"
    page.write_text(f"see `{place}`\nhttps://example.org{place} and a/home/b are fine\n")
    monkeypatch.setattr(house, "kept_files", lambda: [page])
    assert [str(violation) for violation in house.violations()] == [
        "notes.md:1: an absolute path of somebody's machine"
    ]


def test_modules_that_import_each_other_are_found(house: ModuleType) -> None:
    manifest = house.ROOT / "crates" / "flash" / "Cargo.toml"
    manifest.parent.mkdir(parents=True)
    manifest.write_text('[package]\nname = "wordline-flash"\n')
    assert found(house, "crates/flash/src/bus.rs", "use crate::unit::Lane;\n") == []
    assert found(house, "crates/flash/src/unit.rs", "use crate::bus::Wire as Cable;\n\npub struct Lane;\n") == [
        "crates/flash/src/bus.rs:1: modules import each other in a circle: bus <- unit <- bus"
    ]
    assert found(house, "crates/flash/src/unit.rs", "//! Beside `crate::bus`.\n\npub struct Lane;\n") == []
