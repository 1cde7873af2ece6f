"""Figures of policies in Python: what they tell of themselves in results, and how the wrong ones are told."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy
import pytest
import wordline as package
from conftest import ROOT, SMALL_DRIVE, Run, done, parsed
from test_policy_families import settings, skewed
from wordline.policy import Buffer, Link, Slc, SlcSize, Victim, VictimView
from wordline.policy.base import Figure

__all__ = ["skewed"]
"""A load of the other families."""


class Counting(Victim):
    """Greedy, counted."""

    name = "counting"

    def __init__(self) -> None:
        self.begun, self.valid = 0, []

    def begin_measuring(self) -> None:
        """What was done before does not count."""
        self.begun += 1
        self.valid = []

    def choose(self, view: VictimView) -> int | None:
        """The first that gains a page."""
        if not len(view.blocks) or view.valid[0] + view.units_per_page > view.units_per_block:
            return None
        self.valid.append(view.valid[0])
        return view.blocks[0]

    def figures(self) -> dict[str, Figure]:
        """In kinds of Python and of NumPy."""
        mean = numpy.mean(self.valid) if self.valid else None
        return {
            "begun": self.begun,
            "chosen": len(self.valid),
            "mean_valid": mean,
            "first": numpy.array(self.valid[:9]),
        }


COUNTING = {"victim.policy": "counting", "precondition.fill": True, "precondition.overwrites": 1}
MOVES = package.Workload.job(rw="randwrite", bs="16k", iodepth=8, number_ios=6000)


def told(result: dict[str, Any]) -> dict[str, Any]:
    """The figures of the policy above."""
    return result["policy_figures"]["victim"]


def test_figures_are_those_of_the_measured_part(drive: Path) -> None:
    result = package.run(drive, MOVES, COUNTING, policies=[Counting])
    figures = told(result)
    # Each victim that was chosen is collected, at the latest when the drive comes to rest.
    assert 0 <= figures["chosen"] - result["gc"]["collections"] <= 16
    assert figures["begun"] == 1, "once, when the run began: filling is no measuring"
    assert len(figures["first"]) == 9
    assert figures["mean_valid"] > 0
    greedy = package.run(drive, MOVES, {**COUNTING, "victim.policy": "greedy"})
    assert "policy_figures" not in greedy
    assert greedy["outcome"] == result["outcome"]


def test_a_ramp_does_not_count(drive: Path) -> None:
    ramp = package.Workload.job(rw="randwrite", bs="16k", iodepth=8, time_based=True, runtime_s=0.5, ramp_time_s=0.5)
    result = package.run(drive, ramp, COUNTING, policies=[Counting])
    assert told(result)["begun"] == 2, "at the start of the run, and at the end of the ramp"
    assert 0 <= told(result)["chosen"] - result["gc"]["collections"] <= 16


def test_each_seed_and_run_has_its_own(drive: Path) -> None:
    result = package.run(drive, MOVES, COUNTING, policies=[Counting], repeat=2)
    assert told(result)["begun"] == 1
    over_seeds = {figure["key"]: figure for figure in result["repeats"]["figures"]}
    chosen = over_seeds["policy_figures.victim.chosen"]
    assert chosen["values"][0] == told(result)["chosen"]
    assert len({*chosen["values"]}) == 2
    assert "policy_figures.victim.first" not in over_seeds, "a list is no figure over seeds"
    kept = package.Drive(drive, COUNTING, policies=[Counting])
    kept.precondition(fill=True, overwrites=1)
    first, other = kept.run(MOVES), kept.fork()
    assert told(first) == told(result)
    again, copied = kept.run(MOVES), other.run(MOVES)
    assert told(again) == told(copied) != told(first)
    assert told(again)["begun"] == 2
    replayed = package.replay(drive, MOVES, COUNTING, policies=[Counting])
    assert told(replayed)["chosen"] == replayed["gc"]["collections"]


def test_members_of_an_array_have_their_own(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL_DRIVE + '\n[victim]\npolicy = "counting"\n')
    array = tmp_path / "array.toml"
    array.write_text('[array]\nkind = "raid0"\nmembers = 2\nstripe_kib = 64\ndrive = "small.toml"\n')
    load = package.Workload.job(rw="randwrite", bs="16k", iodepth=16, number_ios=12_000)
    result = package.run(array, load, policies=[Counting])
    assert "policy_figures" not in result
    for member in result["array"]["drives"]:
        assert 0 <= told(member)["chosen"] - member["gc"]["collections"] <= 16


def test_an_interrupted_run_has_them(drive: Path) -> None:
    def interrupt(phase: str, *_: object) -> None:
        if phase == "run":
            os.kill(os.getpid(), signal.SIGINT)

    load = package.Workload.job(rw="randwrite", bs="16k", iodepth=8, time_based=True, runtime_s=1e6)
    with pytest.raises(package.Interrupted) as stopped:
        package.run(drive, load, COUNTING, policies=[Counting], progress=interrupt)
    assert told(stopped.value.result)["chosen"] > 0


def test_figures_are_compared(wordline: Run, drive: Path, tmp_path: Path) -> None:
    for name, depth, repeat in (("a", 4, None), ("b", 16, 2)):
        load = package.Workload.job(rw="randwrite", bs="16k", iodepth=depth, number_ios=6000)
        result = package.run(drive, load, COUNTING, policies=[Counting], repeat=repeat)
        (tmp_path / f"{name}.json").write_text(json.dumps(result))
        (tmp_path / f"{name}.chosen").write_text(str(told(result)["chosen"]))
    lines = done(wordline("compare", tmp_path / "a.json", tmp_path / "b.json")).splitlines()
    row = next(line for line in lines if line.startswith("victim: chosen"))
    assert f" {int((tmp_path / 'a.chosen').read_text()):,} " in row
    assert " ± " in row
    assert "better" not in row and "worse" not in row, "nobody knows which is better"
    assert any(line.startswith("victim: mean_valid") for line in lines)
    assert not any(line.startswith("victim: first") for line in lines)


@pytest.mark.parametrize("how", ["run", "replay"])
def test_figures_are_shown(wordline: Run, drive: Path, tmp_path: Path, how: str) -> None:
    (tmp_path / "load.toml").write_text('[[job]]\nrw = "randwrite"\nbs = "16k"\niodepth = 8\nnumber_ios = 6000\n')
    (tmp_path / "own.py").write_text(
        "from wordline.policy import Victim\n"
        "class Own(Victim):\n"
        '    """First."""\n'
        '    name = "own"\n'
        "    def choose(self, view):\n"
        "        fit = len(view.blocks) and view.valid[0] + view.units_per_page <= view.units_per_block\n"
        "        return view.blocks[0] if fit else None\n"
        "    def figures(self):\n"
        '        return {"many": 12345, "share": 0.25, "none": None, "tiny": 1e-9, "on": True, "list": [*range(10)]}\n'
    )
    report, options = tmp_path / "report.html", ("--policy", tmp_path / "own.py", "--set", "victim.policy=own")
    ran = done(wordline(how, drive, tmp_path / "load.toml", *options, "--report", report))
    text = " ".join(ran.split())
    words = "many 12,345, share 0.250, none –, tiny 1e-09, on true, list [0, 1, 2, 3, 4, 5, 6, 7, and 2 more]"
    assert f"victim own {words}" in text
    assert words in report.read_text() or how == "replay"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (5, "TypeError: its method 'figures' gave 5; expected a dict such as {'moved_pages': 12}, or None"),
        ({3: 4}, "its method 'figures' gave the name 3; expected a word such as 'moved_pages'"),
        ({"a b": 4}, "its method 'figures' gave the name 'a b'; expected a word"),
        ({"a": "x"}, "gave 'x' as 'a'; expected a number, a list of numbers, or None"),
        ({"a": [1, None]}, "gave [1, None] as 'a'; expected a number"),
        ({"a": {"b": 1}}, "gave {'b': 1} as 'a'; expected a number"),
        ({"a": float("nan")}, "ValueError: its method 'figures' gave nan as 'a', and nan is no figure; give None"),
        ({"a": [1.0, float("inf")]}, "gave [1.0, inf] as 'a', and inf is no figure"),
    ],
)
def test_wrong_figures_end_the_run(drive: Path, answer: object, words: str) -> None:
    class Wrong(Counting):
        name = "wrong"

        def figures(self) -> Any:  # noqa: ANN401
            return answer

    kind = ValueError if "ValueError" in words or "no figure" in words else TypeError
    with pytest.raises(kind) as caught:
        package.run(drive, MOVES, {"victim.policy": "wrong"}, policies=[Wrong])
    assert words.split("Error: ")[-1] in str(caught.value)
    assert any("the policy 'wrong' (victim), at " in note for note in caught.value.__notes__)


@pytest.mark.parametrize("method", ["figures", "begin_measuring"])
def test_an_exception_there_is_passed_on(drive: Path, method: str) -> None:
    class Failing(Counting):
        name = "failing"

    def fail(_: object) -> None:
        raise LookupError("lost")

    setattr(Failing, method, fail)
    for call in (package.run, package.replay):
        with pytest.raises(LookupError, match="lost"):
            call(drive, MOVES, {"victim.policy": "failing"}, policies=[Failing])


def test_policies_without_a_part_in_a_run_have_none(drive: Path) -> None:
    for own in ("figures", "begin_measuring"):
        odd = type("Odd", (Link,), {"name": "odd", "costs": lambda _: 0, own: lambda _: None})
        with pytest.raises(ValueError, match=f"'{own}' is never called without a method 'transfer_us'"):
            package.check(drive, {"link.policy": "odd"}, policies=[odd])
        odd = type("Odd", (Buffer,), {"name": "odd", "capacity_kib": lambda _: 0, own: lambda _: None})
        with pytest.raises(ValueError, match=f"'{own}' is never called without a method 'evict'"):
            package.check(drive, {"buffer.policy": "odd"}, policies=[odd])
    odd = type("Odd", (Slc,), {"name": "odd", "size": lambda _: SlcSize(), "figures": lambda _: None})
    with pytest.raises(ValueError, match="'figures' is never called without a method 'limit' or 'planes'"):
        package.check(drive, {"slc.policy": "odd"}, policies=[odd])


@pytest.mark.parametrize("mapping", ["bast", "block"])
def test_lazy_wear_leveling_in_python_tells_what_the_built_in_one_does(
    wordline: Run, drive: Path, skewed: Path, mapping: str
) -> None:
    def result(policy: str) -> dict[str, Any]:
        tuned = "wear.delta_cycles=2 wear.lambda_percent=-0.5 wear.session_erases=20"
        whole = "collect.scope=drive placement.policy=least-busy capacity.raw_over_logical=1.5"
        sets = settings(f"{whole} mapping.policy={mapping} wear.policy={policy} {tuned}")
        options = ("--policy", ROOT / "docs" / "examples" / "upkeep.py", "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, skewed, *sets, *options)))

    built_in, in_python = result("lazy"), result("python-lazy")
    assert in_python["outcome"] == built_in["outcome"]
    figures, wanted = in_python["policy_figures"]["wear"], built_in["wear_leveling"]
    assert len(figures["session_delta"]) > 1
    for key in ("delta", "gc_erases", "wear_erases"):
        assert figures[key] == pytest.approx(wanted[key], rel=1e-12), key
    for key in ("delta", "overhead", "stddev"):
        assert figures[f"session_{key}"] == pytest.approx(wanted["sessions"][key], rel=1e-9), key
