#!/usr/bin/env python3
"""Checks the rules of the house that no compiler checks.

- Crates depend on each other in one direction only; so do the rooms of the Python package, and the modules of a
  crate.
- A policy file says what it follows, and imports nothing but its family, views and settings.
- No crate of the engine reads a clock on the wall; the live disk and the binding do.
- No file names a directory of somebody's machine.

Prints ``file:line: rule``, a line a violation. Exit status 1 if there is any.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parent.parent

ALLOWED: dict[str, set[str]] = {
    "base": set(),
    "settings": set(),
    "theory": set(),
    "timeline": {"base"},
    "nand": {"base"},
    "flash": {"base", "nand", "timeline"},
    "firmware": {"base", "flash"},
    "workload": {"base", "settings"},
    "drive": {"base", "flash", "nand", "firmware", "workload", "settings"},
    "tables": {"base", "drive", "firmware"},
    "disk": {"base", "drive", "settings", "workload"},
    "python": {"disk", "drive", "tables", "flash", "nand", "workload", "settings", "base"},
    "bench": {"disk", "drive", "tables", "flash", "workload", "base"},
}
"""The workspace crates that a crate may depend on."""

ALLOWED_IN_TESTS: dict[str, set[str]] = {"drive": {"theory"}}
"""The workspace crates that its tests may use besides."""

ROOMS: dict[str, set[str]] = {
    "base": set(),
    "policy": set(),
    "results": {"base"},
    "reference": {"base"},
    "traces": {"base", "results"},
    "report": {"base", "results"},
    "api": {"base", "results", "report", "policy"},
    "package": {"api"},
    "pts": {"base", "report", "api", "policy"},
    "sweeps": {"base", "results", "report", "api"},
    "studies": {"base", "api", "package", "sweeps"},
    "live": {"base", "report"},
    "cli": {"base", "results", "reference", "traces", "report", "live", "api", "pts", "sweeps", "studies", "policy"},
    "__init__": {"api", "policy", "sweeps"},
    "__main__": {"cli"},
}
"""The rooms of the Python package, and which others each may import, also late or for types alone. All may call the
engine, ``_core``."""

POLICY_IMPORTS = [
    r"super::(?!super\b).*",
    r"crate::policies",
    r"crate::policy::\w+",
    r"crate::task::\w+",
    r"crate::blocks::\w*View",
    r"crate::ConfigError",
    r"wordline_base::(?!event\b|EventQueue\b|\*).*",
    r"wordline_firmware::policy::\w+",
    r"wordline_firmware::ConfigError",
    r"wordline_flash::Geometry\w*",
    r"schemars::.*",
    r"serde::.*",
    r"std::collections::.*",
]
"""What a policy file may import, as patterns of whole paths."""

POLICY_TABOOS = {
    r"\bEventQueue\b": "a policy has no event queue",
    r"\bcrate::kernel\b": "a policy does not reach into the kernel",
    r"\bsuper::super\b": "a policy does not climb out of its family",
    r"\bHash(Map|Set)\b": "hash iteration must not order events: use an ordered collection",
}

CLOCKS = re.compile(r"\bstd::time\b|\bInstant\b|\bSystemTime\b")

# Written in two halves, so that this file obeys its own rule.
MACHINE_PATH = re.compile(r"(?:^|[\s\"'`=(<\[:,])/" + r"(?:home|root|work)/\w")


@dataclass(frozen=True, order=True)
class Violation:
    """One broken rule and its place."""

    path: Path
    line: int
    rule: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.rule}"


def line_of(text: str, needle: str) -> int:
    """The number of the first line that holds ``needle``, or 1."""
    return next((n for n, line in enumerate(text.splitlines(), 1) if needle in line), 1)


def dependencies(manifest: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    """Every dependency in a manifest: whether it is for tests only, and its name."""
    tables = [manifest, *manifest.get("target", {}).values()]
    for table in tables:
        for kind in ("dependencies", "build-dependencies", "dev-dependencies"):
            for name, spec in table.get(kind, {}).items():
                real = spec.get("package", name) if isinstance(spec, dict) else name
                yield kind == "dev-dependencies", real


def check_direction(manifest_path: Path) -> Iterator[Violation]:
    """The crate depends only on those below it."""
    text = manifest_path.read_text()
    manifest = tomllib.loads(text)
    crate = manifest["package"]["name"].removeprefix("wordline-")
    if crate not in ALLOWED:
        yield Violation(manifest_path, 1, f"crate '{crate}' has no place in the order of crates (see ALLOWED)")
        return
    for for_tests, name in dependencies(manifest):
        if not name.startswith("wordline-"):
            continue
        below = name.removeprefix("wordline-")
        allowed = ALLOWED[crate] | (ALLOWED_IN_TESTS.get(crate, set()) if for_tests else set())
        if below not in allowed:
            rest = ", ".join(sorted(allowed)) or "no crate of the workspace"
            yield Violation(
                manifest_path, line_of(text, name), f"{crate} must not depend on {below}; it may on: {rest}"
            )


def module_of(path: Path) -> tuple[str, ...]:
    """The module in a file of a crate, as its names from the top; ``lib.rs`` has none."""
    parts = path.with_suffix("").parts
    inside = parts[parts.index("src") + 1 :]
    return tuple(name for name in inside if name not in ("mod", "lib"))


def check_circles(crate: Path) -> Iterator[Violation]:
    """No module of the crate imports another that imports it; a parent may take names from its own children."""
    modules = {module_of(path): path for path in sorted((crate / "src").rglob("*.rs"))}
    graph: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for module, path in modules.items():
        code = without_comments(path.read_text().split("#[cfg(test)]\nmod tests", 1)[0])
        trees = re.findall(r"\buse\s+((?:crate|super)\b[^;]*);", code) + re.findall(r"\bcrate(?:::\w+)+", code)
        used = graph.setdefault(module, set())
        for name in (name.split("::") for tree in trees for name in expand(tree)):
            above = list(module)
            while name[0] == "super":
                above, name = above[:-1], name[1:]
            whole = tuple(name[1:] if name[0] == "crate" else above + name)
            found = next((whole[:end] for end in range(len(whole), 0, -1) if whole[:end] in modules), ())
            used |= {found} - {module, ()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        names = ["::".join(module) for module in error.args[1]]
        yield Violation(modules[error.args[1][0]], 1, f"modules import each other in a circle: {' <- '.join(names)}")


def imported(text: str) -> Iterator[tuple[int, str]]:
    """The line of every import of the Python package, and what it takes: ``base.units``."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name.removeprefix("wordline.")) for name in names if name.startswith("wordline."))


def check_room(path: Path) -> Iterator[Violation]:
    """The module imports only from its own room and from those that this one may know."""
    inside = path.relative_to(ROOT / "python" / "wordline").with_suffix("")
    room = inside.parts[0]
    if room not in ROOMS:
        yield Violation(path, 1, f"'{room}' is no room of the Python package (see ROOMS)")
        return
    for line, name in imported(path.read_text()):
        other = name.partition(".")[0]
        if other not in ROOMS[room] | {room, "_core"}:
            rest = ", ".join(sorted(ROOMS[room])) or "no other room"
            yield Violation(path, line, f"{room} must not import from {other}; it may from: {rest}")


def without_comments(text: str) -> str:
    """The code with comments blanked, so that lines keep their numbers."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())  # noqa: E731
    return re.sub(r"//[^\n]*|/\*.*?\*/", blank, text, flags=re.DOTALL)


def expand(tree: str) -> list[str]:
    """The paths of a use tree: ``a::{b, c::d}`` gives ``a::b`` and ``a::c::d``."""
    tree = tree.strip()
    open_at = tree.find("{")
    if open_at < 0:
        return [re.sub(r"\s+as\s+\w+$", "", tree)] if tree else []
    prefix, inner = tree[:open_at], tree[open_at + 1 : tree.rindex("}")]
    parts, depth, start = [], 0, 0
    for at, char in enumerate(inner):
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            parts.append(inner[start:at])
            start = at + 1
    parts.append(inner[start:])
    return [prefix + path for part in parts for path in expand(part)]


def check_policy(path: Path) -> Iterator[Violation]:
    """The policy names its source, and imports only what a policy may know."""
    text = path.read_text()
    head = "\n".join(line for line in text.splitlines() if line.startswith("//!"))
    if not text.startswith("//!"):
        yield Violation(path, 1, "a policy file opens with a //! comment that says what it does")
    for word in ("Source:", "Faithful:"):
        if word not in head:
            yield Violation(path, 1, f"the //! comment of a policy has a paragraph '{word}'")
    # Tests may set up what they like.
    code = without_comments(text.split("#[cfg(test)]", 1)[0])
    family, families = path.parent.name, {p.name for p in path.parent.parent.iterdir() if p.is_dir()}
    for match in re.finditer(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", code, re.MULTILINE):
        line = code.count("\n", 0, match.start(1)) + 1
        for used in expand(match.group(1)):
            if not any(re.fullmatch(pattern, used) for pattern in POLICY_IMPORTS):
                yield Violation(path, line, f"a policy must not import '{used}'")
    for n, line in enumerate(code.splitlines(), 1):
        for pattern, rule in POLICY_TABOOS.items():
            if re.search(pattern, line):
                yield Violation(path, n, rule)
        for other in re.findall(r"\bpolicy::(?:\{[^}]*?\b)?(\w+)", line):
            if other in families - {family}:
                yield Violation(path, n, f"a policy of '{family}' must not know the family '{other}'")


def check_clock(path: Path) -> Iterator[Violation]:
    """The file reads no clock on the wall."""
    for n, line in enumerate(without_comments(path.read_text()).splitlines(), 1):
        if CLOCKS.search(line):
            yield Violation(path, n, "the engine must not read the wall clock: time comes from its caller")


def check_machine_paths(path: Path) -> Iterator[Violation]:
    """The text names no absolute directory of a machine."""
    try:
        text = path.read_text()
    except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
        return
    for n, line in enumerate(text.splitlines(), 1):
        if MACHINE_PATH.search(line):
            yield Violation(path, n, "an absolute path of somebody's machine")


def kept_files() -> list[Path]:
    """Files that are, or may become, part of the repository."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []  # an unpacked archive
    return [ROOT / name for name in listed.split("\0") if name]


def violations() -> Iterator[Violation]:
    """Everything that is wrong in the repository."""
    for manifest in sorted([*ROOT.glob("crates/*/Cargo.toml"), *ROOT.glob("benches/Cargo.toml")]):
        yield from check_direction(manifest)
    for crate in sorted(ROOT.glob("crates/*/Cargo.toml")):
        yield from check_circles(crate.parent)
    for policy in sorted(ROOT.glob("crates/*/src/policy/*/*.rs")):
        if policy.name != "mod.rs":
            yield from check_policy(policy)
    # Through no link: the studies themselves are no part of a room.
    for top in sorted((ROOT / "python" / "wordline").glob("*")):
        for module in [top] if top.suffix == ".py" else sorted(top.glob("*.py")):
            yield from check_room(module)
    for source in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        crate, *below = source.relative_to(ROOT / "crates").parts
        # Programs beside the library measure real time: that is their purpose.
        if crate not in ("disk", "python") and below[:2] != ["src", "bin"]:
            yield from check_clock(source)
    for path in kept_files():
        yield from check_machine_paths(path)


def main() -> int:
    """Runs all checks; the number of the exit status."""
    found = sorted(set(violations()))
    for violation in found:
        print(violation)
    if found:
        print(f"{len(found)} violation{'s' if len(found) > 1 else ''} of the rules of the house", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
