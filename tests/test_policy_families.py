"""Policies in Python beside those of garbage collection: they do as built-in ones, and bad answers end the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import wordline as package
from conftest import ROOT, Run, done, parsed
from wordline.policy import Arbiter, Place, Placement

EXAMPLES = ROOT / "docs" / "examples"

PARTIAL = """\
[[job]]
rw = "randrw"
rwmixread = 30
bs = "4k"
iodepth = 16
number_ios = 20_000
"""

MEMBERS = [
    ("placement", "static", "places.py", "collect.scope=plane"),
    ("placement", "least-busy", "places.py", "collect.scope=drive"),
    ("arbiter", "first-come", "turns.py", ""),
    ("arbiter", "reads-first", "turns.py", ""),
    ("arbiter", "priority", "turns.py", "collect.pacing=false"),
]
"""Built-in policies, the examples that are written as they are, and the settings that they need."""

STAGED = "mapping.unit_kib=4 buffer.policy=fifo buffer.capacity_kib=1024 dispatch.policy=priority"
MORE = ["", STAGED]


@pytest.fixture
def partial(tmp_path: Path) -> Path:
    path = tmp_path / "partial.toml"
    path.write_text(PARTIAL)
    return path


def settings(*texts: str) -> list[str]:
    """Settings as options of a command."""
    return [part for text in texts for setting in text.split() for part in ("--set", setting)]


@pytest.mark.parametrize("more", MORE, ids=["direct", "staged"])
@pytest.mark.parametrize(("family", "name", "file", "needs"), MEMBERS, ids=lambda value: value)
def test_a_built_in_policy_in_python_does_the_very_same(
    wordline: Run, drive: Path, partial: Path, family: str, name: str, file: str, needs: str, more: str
) -> None:
    def result(policy: str) -> dict[str, Any]:
        sets = settings(needs, more, f"{family}.policy={policy}")
        options = ("--policy", EXAMPLES / file, "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, partial, *sets, *options)))

    built_in, in_python = result(name), result(f"python-{name}")
    assert in_python["outcome"] == built_in["outcome"]
    assert in_python["latency_us"] == built_in["latency_us"]
    assert in_python["digest"] != built_in["digest"], "the configuration is another one"


def placing(place: Callable[[int], object]) -> type[Placement]:
    """A placement policy with this choice."""
    return type("Odd", (Placement,), {"name": "odd", "place": lambda _, page: place(page)})


def told_at_end(drive: Path, load: Path, policy: type, **sets: object) -> str:
    """What a run says that a policy ends."""
    keys = {f"{policy.family}.policy": policy.name, **{key.replace("__", "."): value for key, value in sets.items()}}
    with pytest.raises(package.RunError) as caught:
        package.run(drive, load, keys, policies=[policy])
    told = str(caught.value)
    assert told.startswith(f"the policy '{policy.name}' ({policy.family}), at 0.")
    assert "defect" not in told
    return told


def test_a_placement_sees_every_write_and_the_shape_of_the_drive(drive: Path, writes: Path) -> None:
    pages: list[int] = []

    class Looker(Placement):
        name = "looker"

        def place(self, page: int) -> Place:
            shape = self.drive
            assert (shape.channels, shape.dies_per_channel, shape.planes_per_die, shape.dies) == (4, 2, 2, 8)
            pages.append(page)
            return ("channel", numpy.int64(page % 4))  # type: ignore[return-value]

    made = package.Drive(drive, {"placement.policy": "looker", "collect.scope": "plane"}, policies=[Looker])
    made.precondition(fill=True)
    filled = made.capacity // (16 * 1024)
    assert pages == list(range(filled))
    pages.clear()
    result = made.run(writes)
    # One page each, and none for the pages that are moved.
    assert len(pages) == result["by_op"]["write"]["requests"] == 40_000
    assert result["gc"]["collections"] > 100


@pytest.mark.parametrize(
    "answer", [-1, 2**32, True, 1.0, "die", ("die",), ("way", 0), ("die", -1), ("die", True), (0, "die"), [0]], ids=repr
)
def test_a_place_of_no_use_ends_the_run_with_its_story(drive: Path, writes: Path, answer: object) -> None:
    told = told_at_end(drive, writes, placing(lambda _: answer))
    assert (
        f": it answered {answer!r} ({type(answer).__name__}); expected the number of a plane, a pair such as " in told
    )


@pytest.mark.parametrize("what", ["channel", "die", "plane"])
def test_a_place_that_the_drive_does_not_have_is_told(drive: Path, writes: Path, what: str) -> None:
    count = {"channel": 4, "die": 8, "plane": 16}[what]
    told = told_at_end(drive, writes, placing(lambda _: (what, count)))
    assert f": it placed page 0 in {what} {count}, which does not exist: the drive has {what}s 0 to {count - 1}" in told


def test_a_placement_that_fills_a_plane_is_named(drive: Path, writes: Path) -> None:
    told = told_at_end(drive, writes, placing(lambda _: 3), collect__scope="plane")
    assert "writes wait for room in places that it chose; spread the pages evenly" in told


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        ({"redundancy.policy": "superblock"}, "pages of a superblock are written in stripes"),
        ({"mapping.policy": "block"}, "external policies place single pages"),
    ],
)
def test_a_placement_that_cannot_be_is_refused(drive: Path, sets: dict[str, object], words: str) -> None:
    odd = {"placement.policy": "odd", "collect.scope": "drive", "pack.policy": "none"}
    with pytest.raises(package.InputError, match=words):
        package.check(drive, {**odd, **sets}, policies=[placing(lambda _: None)])


def serving(choose: Callable[[list[tuple[str, int]]], object]) -> type[Arbiter]:
    """An arbiter with this choice."""
    return type("Odd", (Arbiter,), {"name": "odd", "choose": lambda _, waiting: choose(waiting)})


def test_an_arbiter_sees_the_oldest_of_each_class(drive: Path, partial: Path) -> None:
    seen: set[str] = set()

    def look(waiting: list[tuple[str, int]]) -> int:
        assert len(waiting) > 1
        names = [name for name, _ in waiting]
        assert len(set(names)) == len(names)
        seen.update(names)
        return numpy.int64(len(waiting) - 1)  # type: ignore[return-value]

    odd = {"arbiter.policy": "odd", "mapping.unit_kib": 4}
    result = package.run(drive, partial, odd, policies=[serving(look)])
    assert {"host-read", "host-write", "gc-read", "gc-write"} <= seen
    assert result["requests"] == 20_000


@pytest.mark.parametrize("answer", [-1, None, True, 0.0, "0", 2**70, [0]], ids=repr)
def test_an_index_of_no_use_ends_the_run_with_its_story(drive: Path, partial: Path, answer: object) -> None:
    told = told_at_end(drive, partial, serving(lambda _: answer))
    assert f": it answered {answer!r} ({type(answer).__name__}); expected the index of an operation in the list" in told


def test_an_index_beyond_the_list_is_told(drive: Path, partial: Path) -> None:
    told = told_at_end(drive, partial, serving(len))
    assert ": it chose operation 2, which does not exist: operations 0 to 1 wait" in told
