"""Policies in Python that decide about time: shares of tasks, suspension, computing time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
import wordline as package
from conftest import ROOT, Run, done, parsed
from test_policy_families import partial, told_at_end
from wordline.policy import Processor, Running, Shares, Suspend

EXAMPLES = ROOT / "docs" / "examples"

__all__ = ["partial"]
"""The load of the other families."""


def test_constant_computing_times_are_those_between_equal_limits(wordline: Run, drive: Path, partial: Path) -> None:
    def result(*sets: str) -> dict[str, Any]:
        keys = [part for setting in sets for part in ("--set", setting)]
        options = ("--policy", EXAMPLES / "times.py", "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, partial, *keys, *options)))

    limits = ("lookup_us=[0.75, 0.75]", "host_us=[1.5, 1.5]", "background_us=[2.0, 2.0]")
    built_in = result("processor.policy=uniform", *(f"processor.{limit}" for limit in limits))
    in_python = result("processor.policy=python-constant")
    assert in_python["outcome"] == built_in["outcome"]
    assert in_python["latency_us"] == built_in["latency_us"]


def test_shares_are_what_the_policy_gives(drive: Path, partial: Path) -> None:
    told: list[dict[str, float]] = []

    class Given(Shares):
        name = "given"
        gc: float = 30.0

        def control(self, errors: dict[str, float]) -> dict[str, float]:
            told.append(dict(errors))
            return {"gc": numpy.float64(self.gc)}

    def shares(keys: dict[str, object]) -> dict[str, Any]:
        sets = {"dispatch.policy": "debit", "shares.policy": "given", **keys}
        return package.run(drive, partial, sets, policies=[Given])["activity"]["stage"]["shares"]

    given = shares({})
    assert set(given["gc"]) == {30.0}
    assert set(given["host"]) == {70.0}
    assert told[0] == {"gc": 0.0}, "it is called when the drive is built"
    assert len(told) > 10
    assert set(shares({"shares.gc": 55.5})["gc"]) == {55.5}
    few = len(told)
    shares({"shares.interval_ms": 1000.0})
    assert len(told) - few < 10, "a longer interval has fewer steps"


def controlling(answer: object) -> type[Shares]:
    """A control of shares with this answer."""
    return type("Odd", (Shares,), {"name": "odd", "control": lambda *_: answer})


@pytest.mark.parametrize(
    "answer", [None, 7, {"wear": 3.0}, {"gc": "x"}, {"gc": True}, {"gc": float("nan")}, {3: 1}], ids=repr
)
def test_shares_of_no_use_end_the_run(drive: Path, partial: Path, answer: object) -> None:
    told = told_at_end(drive, partial, controlling(answer), dispatch__policy="debit")
    assert (
        f": it answered {answer!r} ({type(answer).__name__}); expected a dict of shares in percent, by task: gc" in told
    )


@pytest.mark.parametrize("share", [0.0, -1.0, 100.0])
def test_shares_beyond_their_bounds_end_the_run(drive: Path, partial: Path, share: float) -> None:
    told = told_at_end(drive, partial, controlling({"gc": share}), dispatch__policy="debit")
    assert f"it gave gc a share of {share:g} %; it must be above 0 and below 100" in told


def test_an_interval_of_no_use_is_refused(drive: Path) -> None:
    sets = {"dispatch.policy": "debit", "shares.policy": "odd", "shares.interval_ms": 0.0}
    with pytest.raises(package.InputError, match="'interval_ms' is of no use"):
        package.check(drive, sets, policies=[controlling({})])


def test_shares_need_a_dispatch_policy_that_takes_them(drive: Path) -> None:
    with pytest.raises(package.InputError, match='takes no shares; use "debit" or "weighted-fair"'):
        package.check(drive, {"shares.policy": "odd"}, policies=[controlling({})])


def test_a_suspension_sees_what_runs(drive: Path, partial: Path) -> None:
    seen: list[Running] = []

    class Once(Suspend):
        name = "once"

        def suspends(self, running: Running) -> bool:
            seen.append(running)
            return running.suspensions == 0

    result = package.run(drive, partial, {"suspend.policy": "once"}, policies=[Once])
    assert result["flash"]["suspensions"] > 100
    assert {running.erase for running in seen} == {False, True}
    assert max(running.left_us for running in seen) > 1000
    assert {running.suspensions for running in seen} == {0, 1}


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (type("Odd", (Suspend,), {"name": "odd", "suspends": lambda *_: None}), "expected True or False"),
        (type("Odd", (Processor,), {"name": "odd", "time_us": lambda *_: -1}), "expected a number of microseconds"),
        (type("Odd", (Processor,), {"name": "odd", "time_us": lambda *_: True}), "it answered True (bool)"),
    ],
)
def test_times_of_no_use_end_the_run(drive: Path, partial: Path, policy: type, words: str) -> None:
    assert words in told_at_end(drive, partial, policy)


@pytest.mark.parametrize("base", [Shares, Suspend, Processor])
def test_an_exception_is_passed_on(drive: Path, partial: Path, base: type) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError("no idea")

    method = {Shares: "control", Suspend: "suspends", Processor: "time_us"}[base]
    policy = type("Failing", (base,), {"name": "failing", method: fail})
    sets = {f"{base.family}.policy": "failing"} | ({"dispatch.policy": "debit"} if base is Shares else {})
    with pytest.raises(ArithmeticError, match="no idea") as caught:
        package.run(drive, partial, sets, policies=[policy])
    assert f"the policy 'failing' ({base.family}), at " in caught.value.__notes__[0]
