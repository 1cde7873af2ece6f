"""Where garbage collection writes moved data: in the victim's channel or die, or where a policy in Python says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import wordline as package
from conftest import ROOT, Run, done, parsed, refused
from wordline.policy import Collect, MoveView, SpaceView

STAY = ROOT / "docs" / "examples" / "stay.py"
SETS = {"collect.scope": "drive", "placement.policy": "least-busy", "collect.start_blocks": 6, "collect.stop_blocks": 6}


class Wants(Collect):
    """Collects below six free blocks."""

    def wants(self, view: SpaceView) -> bool:
        return view.free + view.running < 6


def moving(place: Any) -> type[Collect]:  # noqa: ANN401
    """A collect policy with this place for moved data."""
    return type("Mover", (Wants,), {"name": "mover", "place": place})


def run(drive: Path, load: Path, place: Any, **sets: object) -> dict[str, Any]:  # noqa: ANN401
    keys = {f"collect.{key}": value for key, value in sets.items()}
    return package.run(drive, load, {**SETS, "collect.policy": "mover", **keys}, policies=[moving(place)])


@pytest.mark.parametrize("within", ["channel", "die"])
def test_a_policy_in_python_moves_as_the_built_in_one_does(wordline: Run, drive: Path, load: Path, within: str) -> None:
    def result(**sets: object) -> dict[str, Any]:
        keys = {**SETS, **{f"collect.{key}": value for key, value in sets.items()}}
        options = [part for key, value in keys.items() for part in ("--set", f"{key}={value}")]
        return parsed(done(wordline("run", drive, load, "--policy", STAY, "--quiet", "--json", "-", *options)))

    built_in = result(policy="on-demand", moves_to=f"same-{within}")
    in_python = result(policy="stay", start=6, within=within)
    assert built_in["gc"]["moved_pages"] > 1000
    assert in_python["outcome"] == built_in["outcome"] != result(policy="on-demand")["outcome"]
    assert in_python["gc"] == built_in["gc"]


def test_what_a_policy_sees_of_a_move(drive: Path, writes: Path) -> None:
    seen: list[MoveView] = []

    def place(self: Collect, view: MoveView) -> None:
        seen.append(view)
        shape = self.drive
        dies_per_channel = shape.packages_per_channel * shape.dies_per_package
        assert view.domain == 0
        assert view.channel == view.die // dies_per_channel
        assert view.die == view.block // (shape.blocks_per_plane * shape.planes_per_die)
        assert 1 <= view.valid <= shape.pages_per_block * shape.units_per_page
        assert view.of_table is False

    usual = package.run(drive, writes, {**SETS, "collect.policy": "on-demand"})
    result = run(drive, writes, place)
    assert result["outcome"] == usual["outcome"], "None is any die"
    assert result["gc"]["moved_pages"] > 100
    assert len({view.block for view in seen}) > 20
    assert len({view.unit for view in seen}) > 100


def test_places_may_change_and_be_full(drive: Path, writes: Path) -> None:
    asked: Counter[int] = Counter()

    def place(self: Collect, view: MoveView) -> object:
        asked[view.die] += 1
        return [0, ("die", 0), ("channel", view.unit % self.drive.channels), None][view.unit % 4]

    assert run(drive, writes, place, window_pages=1)["gc"]["moved_pages"] > 100
    assert len(asked) > 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (99, "to die 99, which does not exist: the drive has dies 0 to "),
        (("channel", 7), "to channel 7, which does not exist: the drive has channels 0 to "),
        (True, "it answered True (bool); expected the number of a die, a pair such as"),
        (-1, "it answered -1 (int); expected the number of a die"),
        (("plane", 1), "expected the number of a die, a pair such as"),
        ("die", "expected the number of a die, a pair such as"),
    ],
)
def test_an_answer_that_cannot_be_used_ends_the_run(drive: Path, writes: Path, answer: object, words: str) -> None:
    with pytest.raises(package.RunError) as caught:
        run(drive, writes, lambda *_: answer)
    assert "mover" in str(caught.value)
    assert words in str(caught.value)


def test_an_exception_is_passed_on(drive: Path, writes: Path) -> None:
    def place(_: Collect, view: MoveView) -> None:
        raise LookupError(f"no place for {view.unit}")

    with pytest.raises(LookupError, match="no place for"):
        run(drive, writes, place)


def test_what_does_not_go_together_is_refused(wordline: Run, drive: Path, writes: Path) -> None:
    def told(*sets: str) -> Any:  # noqa: ANN401
        options = [part for key in sets for part in ("--set", key)]
        return wordline("run", drive, writes, "--policy", STAY, *options)

    of_plane = ("collect.scope=plane", "placement.policy=static")
    refused(told(*of_plane, "collect.moves_to=same-die"), 'collect.moves_to = same-die: needs collect.scope = "drive"')
    refused(told(*of_plane, "collect.policy=stay"), "use a policy without the method 'place'")
    of_drive = ("collect.scope=drive", "placement.policy=least-busy")
    both = told(*of_drive, "collect.policy=stay", "collect.moves_to=same-die")
    refused(both, "has no effect: the method 'place' of \"stay\" says where moved data go")
    refused(told(*of_drive, "collect.policy=stay", "collect.copyback=checked"), 'collect.copyback = "checked"')
