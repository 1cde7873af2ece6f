"""Ctrl-C during a decision of a policy in Python ends a run like any other: results so far are kept, and marked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import polars
import pytest
import wordline as package
from conftest import Run, done, parsed, refused
from test_policies import Greedy
from wordline.policy import (
    Arbiter,
    Collect,
    Dispatch,
    FreeBlock,
    Pack,
    Place,
    Placement,
    Policy,
    SpaceView,
    StageView,
    UpkeepView,
    VictimView,
    Wear,
)

# A signal from the policy itself arrives as if somebody had pressed Ctrl-C during its decision.
STOPPED = """\
import signal

from wordline.policy import Victim


class Stopped(Victim):
    name = "stopped"
    at: int = 5

    def __init__(self):
        self.asked = 0
        if self.at < 0:
            signal.raise_signal(signal.SIGINT)

    def choose(self, view):
        self.asked += 1
        if self.asked == self.at:
            signal.raise_signal(signal.SIGINT)
        fit = view.valid + view.units_per_page <= view.units_per_block
        return view.blocks[fit][0] if fit.any() else None
"""


class Counting(Policy):
    """Is interrupted at the n-th question, and must not be asked again."""

    calls: ClassVar[int] = 0
    last: ClassVar[int] = 5

    def called(self) -> None:
        type(self).calls += 1
        if self.calls == self.last:
            raise KeyboardInterrupt
        assert self.calls < self.last


class Choosing(Counting, Greedy):
    name = "choosing"

    def choose(self, view: VictimView) -> int | None:
        self.called()
        return super().choose(view)


class Closed(Counting, Greedy):
    name = "closed"

    def closed(self, block: int) -> None:
        self.called()


class Wanting(Counting, Collect):
    name = "wanting"
    # It is asked with each page from the first one on.
    last = 500

    def wants(self, view: SpaceView) -> bool:
        self.called()
        return view.free + view.running < 3


class Ranking(Counting, FreeBlock):
    name = "ranking"

    def rank(self, erases: int, order: int) -> int:
        if erases:
            self.called()
        return order


class Placing(Counting, Placement):
    name = "placing"
    # It is asked while the drive is filled, too: after its 8,000 pages.
    last = 10_000

    def place(self, page: int) -> Place:
        self.called()
        return None


class Serving(Counting, Arbiter):
    name = "serving"
    last = 500

    def choose(self, waiting: list[tuple[str, int]]) -> int:
        self.called()
        return 0


class Moving(Counting, Wear):
    name = "moving"

    def next(self, view: UpkeepView) -> int | None:
        self.called()
        return None


class Sending(Counting, Dispatch):
    name = "sending"
    last = 2000

    def next(self, view: StageView) -> int | None:
        self.called()
        return next((at for at, (_, _, die) in enumerate(view.staged) if die is not None), None)


class Packing(Counting, Pack):
    name = "packing"
    # It is asked while the drive is filled, too.
    last = 20_000

    def joins(self, lead: str, other: str) -> bool:
        self.called()
        return False


EVERY = [Choosing, Closed, Wanting, Ranking, Placing, Serving, Moving, Sending, Packing]


@pytest.fixture(autouse=True)
def _count_anew() -> None:
    for policy in EVERY:
        policy.calls = 0


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    path = tmp_path / "stopped.py"
    path.write_text(STOPPED)
    return path


def given(policy: type[Policy]) -> dict[str, str]:
    """The setting of a policy."""
    return {f"{policy.family}.policy": policy.name}


def interrupted(work: Callable[[], object]) -> Any:  # noqa: ANN401
    """Work done at the interrupt."""
    with pytest.raises(package.Interrupted) as raised:
        work()
    return raised.value.result


@pytest.mark.parametrize("policy", EVERY)
def test_what_was_done_until_then_is_the_result(drive: Path, writes: Path, policy: type[Counting]) -> None:
    made = package.Drive(drive, given(policy), policies=[policy])
    result = interrupted(lambda: made.run(writes))
    assert policy.calls == policy.last
    assert result.partial
    assert 0 < result["requests"] < 40_000
    assert result["latency_us"]["write"]["count"] == result["by_op"]["write"]["requests"]
    # The drive cannot continue without the policy's answer.
    story = f"the policy '{policy.name}' ({policy.family}), at "
    assert made.state["ended"].startswith(story)
    assert made.state["ended"].endswith(": it was interrupted")
    for use in (made.run, made.fork().run):
        with pytest.raises(package.RunError, match="failed before: the policy"):
            use(writes)
    for change in ({"victim.policy": "fifo"}, {"queue.depth": 4}):
        with pytest.raises(package.RunError, match="failed before: the policy"):
            made.fork(change)
    policy.calls = 0
    assert interrupted(lambda: package.run(drive, writes, given(policy), policies=[policy])).partial


def test_an_interrupt_before_anything_is_done(drive: Path, writes: Path) -> None:
    class Early(FreeBlock):
        name = "early"

        def rank(self, erases: int, order: int) -> int:
            raise KeyboardInterrupt

    result = interrupted(lambda: package.run(drive, writes, given(Early), policies=[Early]))
    assert (result.partial, result["requests"], result["precondition"]["interrupted"]) == (True, 0, True)
    sets = {**given(Early), "precondition.fill": False}
    result = interrupted(lambda: package.run(drive, writes, sets, policies=[Early]))
    assert (result.partial, result["requests"], result["precondition"]) == (True, 0, None)
    with pytest.raises(KeyboardInterrupt):
        package.Drive(drive, given(Early), policies=[Early])


def test_an_interrupt_while_the_drive_is_aged(drive: Path, writes: Path, tmp_path: Path) -> None:
    sets = {**given(Choosing), "precondition.overwrites": 2}
    made = package.Drive(drive, sets, policies=[Choosing])
    out = tmp_path / "out"
    timeline = tmp_path / "t.pftrace"
    result = interrupted(
        lambda: package.run(drive, writes, sets, policies=[Choosing], tables="all", out=out, timeline=timeline)
    )
    units = made.capacity // made.derived["unit_bytes"]
    aged = result["precondition"]
    assert (result.partial, result["requests"], aged["interrupted"]) == (True, 0, True)
    assert aged["filled_units"] == units
    assert 0 < aged["random_units"] < 2 * units
    assert result["timeline"]["cut"] == "interrupted"
    assert polars.read_parquet(out / "requests.parquet").is_empty()

    Choosing.calls = 0
    assert interrupted(made.precondition)["interrupted"]
    assert made.state["ended"].startswith(f"its preconditioning was interrupted after {units} units in order")


def test_the_command_keeps_and_marks_it(wordline: Run, drive: Path, writes: Path, stopped: Path) -> None:
    mine = ("--policy", stopped, "--set", "victim.policy=stopped")
    outputs = ("--json", "r.json", "--tables", "all", "--out", "out", "--timeline", "t.pftrace")
    outcome = wordline("run", drive, writes, *mine, *outputs)
    assert (outcome.returncode, outcome.stderr) == (130, "")
    assert "interrupted" in outcome.stdout
    place = stopped.parent
    result = parsed((place / "r.json").read_text())
    assert result["partial"] is True
    assert 0 < result["requests"] < 40_000
    requests = place / "out" / "requests.parquet"
    assert polars.read_parquet(requests).height == result["requests"]
    assert polars.read_parquet_metadata(requests)["wordline.partial"] == "true"
    assert (place / "t.pftrace").stat().st_size > 10_000
    whole = parsed(done(wordline("run", drive, writes, *mine, "--set", "victim.at=0", "-q", "--json", "-")))
    assert whole["partial"] is False


def test_commands_that_have_no_partial_result(wordline: Run, drive: Path, writes: Path, stopped: Path) -> None:
    mine = ("--policy", stopped, "--set", "victim.policy=stopped")
    aged = ("--set", "precondition.overwrites=2", "-o", "aged.snapshot")
    refused(wordline("precondition", drive, *mine, *aged), "interrupted; no snapshot was written", status=130)
    assert not (stopped.parent / "aged.snapshot").exists()
    # Before there is a drive, there is nothing to report.
    for command in (("run", drive, writes), ("check", drive)):
        outcome = wordline(*command, *mine, "--set", "victim.at=-1")
        assert (outcome.returncode, outcome.stderr.strip()) == (130, "wordline: interrupted")


def test_the_tests_of_the_pts_keep_what_was_done(wordline: Run, drive: Path, stopped: Path) -> None:
    # The first test collects nothing; it writes half of the drive.
    mine = ("--policy", stopped, "--set", "victim.policy=stopped", "--set", "mapping.unit_kib=4")
    tests = ("--test", "wsat,lat", "--quick", "--capacities", "0.5", "--json", "pts.json")
    outcome = wordline("pts", drive, *mine, *tests)
    assert (outcome.returncode, outcome.stderr) == (130, "")
    result = parsed((stopped.parent / "pts.json").read_text())
    assert result["partial"] is True
    assert [one["stopped"] for one in result["tests"]] == [None, "interrupted"]
