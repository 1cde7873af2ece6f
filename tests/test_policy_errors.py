"""Background tasks in Python that say how far the state that they keep is from its target."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
import wordline as package
from conftest import ROOT
from test_policy_families import partial, skewed, told_at_end
from wordline.policy import Refresh, Shares, UpkeepView, Wear

__all__ = ["partial", "skewed"]
"""The loads of the other families."""

SCRUB: type[Refresh] = runpy.run_path(str(ROOT / "docs" / "examples" / "upkeep.py"))["Scrub"]

CONTROLLED = {"dispatch.policy": "weighted-fair", "verify.shadow": True}


def watching(told: list[dict[str, float]]) -> type[Shares]:
    """A control of shares that notes what it is told."""

    class Watching(Shares):
        name = "watching"

        def control(self, errors: dict[str, float]) -> dict[str, float]:
            told.append(dict(errors))
            return {}

    return Watching


def wearing(answer: object) -> type[Wear]:
    """Wear leveling that moves nothing, with this error."""
    return type("Odd", (Wear,), {"name": "odd", "next": lambda *_: None, "error": lambda *_: answer})


@pytest.mark.parametrize("error", [0, 0.25, 1e6])
def test_what_a_task_tells_is_what_control_sees(drive: Path, partial: Path, error: float) -> None:
    told: list[dict[str, float]] = []
    given = {**CONTROLLED, "wear.policy": "odd", "shares.policy": "watching"}
    package.run(drive, partial, given, policies=[wearing(error), watching(told)])
    assert told[0] == {"gc": 0, "wear": 0}, "the control is asked at the target when the drive is built"
    others = [errors["wear"] for errors in told if errors != told[0]]
    assert len(others) > 10
    assert set(others) == {error}


def test_the_share_of_a_task_grows_with_its_error(drive: Path, partial: Path) -> None:
    def share(error: float) -> float:
        given = {**CONTROLLED, "wear.policy": "odd", "shares.policy": "feedback"}
        result = package.run(drive, partial, given, policies=[wearing(error)])
        shares: list[float] = result["activity"]["stage"]["shares"]["wear"]
        return max(shares)

    # A step keeps 0.99 of the share and adds 1.28 % of the error, which would come to 128 % of it in the end.
    assert share(0) == pytest.approx(5)
    assert share(0.5) > 10
    assert share(10) == pytest.approx(75), "at most 80 % for all, of which gc has 5 %"


@pytest.mark.parametrize("policy", ["debit", "weighted-fair"])
def test_the_error_of_reads_in_python_is_the_built_in_one(drive: Path, skewed: Path, policy: str) -> None:
    class Told(SCRUB):  # type: ignore[misc,valid-type]
        name = "told"

        def error(self, view: UpkeepView) -> float:
            # A block that is being moved counts, too.
            return max(view.reads.max() - self.start_reads, 0) / self.start_reads

    def result(name: str, *policies: type[Refresh]) -> dict[str, Any]:
        given = {
            "dispatch.policy": policy,
            "shares.policy": "feedback",
            "refresh.policy": name,
            "refresh.start_reads": 80,
            "refresh.stop_reads": 60,
        }
        told: dict[str, Any] = package.run(drive, skewed, given, policies=policies)
        return told

    built_in = result("scrub")
    assert max(built_in["activity"]["stage"]["shares"]["refresh"]) > 5
    assert result("told", Told)["outcome"] == built_in["outcome"]


@pytest.mark.parametrize("answer", [None, -0.1, float("inf"), float("nan"), 2e6, True, "0.1"])
def test_an_error_of_no_use_ends_the_run(drive: Path, partial: Path, answer: object) -> None:
    told = told_at_end(drive, partial, wearing(answer), dispatch__policy="debit", shares__policy="feedback")
    words = f"its method 'error' is of no use: it answered {answer!r} ({type(answer).__name__}); expected a number from"
    assert words in told


def test_it_is_not_asked_with_fixed_shares(drive: Path, partial: Path) -> None:
    given = {"dispatch.policy": "debit", "wear.policy": "odd"}
    package.run(drive, partial, given, policies=[wearing("nothing")])


def test_what_it_raises_is_passed_on(drive: Path, partial: Path) -> None:
    class Lost(Wear):
        name = "lost"

        def next(self, _: UpkeepView) -> None:
            return None

        def error(self, _: UpkeepView) -> float:
            raise LookupError("no target")

    given = {"dispatch.policy": "debit", "shares.policy": "feedback", "wear.policy": "lost"}
    with pytest.raises(LookupError, match="no target"):
        package.run(drive, partial, given, policies=[Lost])
