"""What a request costs, in instructions and events, against recorded figures.

The figures are of the cases of ``make bench``, on a small drive, those of replay on their own: the difference of two
runs of different length, a request. Events are the same on every machine. Instructions depend on the compiler too, so
they are recorded with its version.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import LONG, ROOT

TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or "target")
PROGRAM = Path(os.environ.get("WORDLINE_BENCH") or ROOT / TARGET / "release" / "wordline-bench")
RECORDED = json.loads((ROOT / "benches" / "recorded.json").read_text())
CASES = list(RECORDED["cases"])
QUICK = ["read", "sequential", "write", "write-4k-map", "mix", "read-debit", "trace"]
"""Cases whose instructions are counted in every test, within 50 seconds of one core: one at least of reads, writes with
GC, mixes, an arbiter and replay. The others are variants of these, and take minutes."""

MARGIN = 0.05
OTHER_COMPILER = 0.15
"""How far instructions may be off if another version of the compiler made the program."""

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built; make test builds it")


def counted(*arguments: str) -> dict[str, Any]:
    outcome = subprocess.run([PROGRAM, "--count", *arguments], capture_output=True, text=True, timeout=600)
    assert outcome.returncode == 0, outcome.stderr
    document: dict[str, Any] = json.loads(outcome.stdout)
    return document


def complaint(case: str, what: str, recorded: float, now: float, margin: float) -> str | None:
    """What is wrong with a figure, if it is off by more than the margin."""
    change = now / recorded - 1
    if abs(change) <= margin:
        return None
    return (
        f"{case}: {now:,g} {what} a request, recorded are {recorded:,g}: {change:+.1%}, allowed are {margin:.0%}. "
        "If that is the price of what changed, record it: make bench-record"
    )


def check(case: str, what: str, now: float, margin: float) -> None:
    wrong = complaint(case, what, RECORDED["cases"][case][what], now, margin)
    assert wrong is None, wrong


@pytest.mark.parametrize("case", ["read", "mix", "mix-4k-map", "kim18"])
def test_debit_scheduling_costs_at_most_1_3_times_first_come(case: str) -> None:
    # The other tests hold these figures.
    with_debit, first_come = (RECORDED["cases"][name]["instructions"] for name in (f"{case}-debit", case))
    assert with_debit <= 1.3 * first_come


def test_a_figure_may_be_off_by_the_margin() -> None:
    assert complaint("read", "events", 4.0, 4.19, MARGIN) is None
    assert complaint("read", "events", 4.0, 3.81, MARGIN) is None
    assert complaint("read", "instructions", 2000.0, 2120.0, OTHER_COMPILER) is None
    assert complaint("read", "instructions", 2000.0, 2120.0, MARGIN) == (
        "read: 2,120 instructions a request, recorded are 2,000: +6.0%, allowed are 5%. "
        "If that is the price of what changed, record it: make bench-record"
    )
    cheaper = complaint("read", "events", 4.0, 3.7, MARGIN)
    assert cheaper is not None and "-7.5%" in cheaper


def test_events_cost_what_is_recorded() -> None:
    figures = counted("--events")["cases"]
    assert list(figures) == CASES, "other cases than recorded: make bench-record"
    for case in CASES:
        check(case, "events", figures[case]["events"], MARGIN)


@pytest.mark.parametrize("case", CASES)
def test_instructions_cost_what_is_recorded(case: str) -> None:
    if case not in QUICK and not LONG:
        pytest.skip("make test-long counts the instructions of all cases")
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind counts instructions, and is not installed")
    document = counted(case)
    if document["processor"] != RECORDED["processor"]:
        pytest.skip(f"instructions are recorded for {RECORDED['processor']}, this is {document['processor']}")
    margin = MARGIN if document["rustc"] == RECORDED["rustc"] else OTHER_COMPILER
    check(case, "instructions", document["cases"][case]["instructions"], margin)


def test_the_record_command_exists() -> None:
    assert re.search(r"^bench-record:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_what_is_no_case_is_refused() -> None:
    outcome = subprocess.run([PROGRAM, "--count", "nonsense"], capture_output=True, text=True, timeout=60)
    assert outcome.returncode == 2
    assert "usage" in outcome.stderr
