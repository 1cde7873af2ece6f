"""The page on concepts: its commands run, its numbers are theirs, and its effects hold over seeds."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from conftest import LONG, PROGRAM, ROOT, parsed
from wordline.results import repeats

pytestmark = pytest.mark.skipif(not LONG, reason="all runs of the page take minutes: make test-long")

TEXT = (ROOT / "docs" / "concepts.md").read_text()

TOLD = [
    ("qd1", "latency_us.read.mean", "53.9 µs"),
    ("op28", "write_amplification", "2.48"),
    ("op28", "iops", "20,300"),
    ("unit16", "write_amplification", "9.51"),
    ("unit16", "iops", "5,400"),
    ("op15", "write_amplification", "4.20"),
    ("op15", "iops", "11,000"),
    ("op15", "latency_us.write.p99", "21.9 ms"),
    ("op28", "latency_us.write.p99", "8.3 ms"),
    ("op50", "write_amplification", "1.66"),
    ("op50", "iops", "32,900"),
    ("op50", "latency_us.write.p99", "3.2 ms"),
    ("op100", "write_amplification", "1.19"),
    ("op100", "iops", "51,400"),
    ("op100", "latency_us.write.p99", "1.6 ms"),
    ("fifo", "write_amplification", "2.54"),
    ("chance", "write_amplification", "4.09"),
    ("skewed", "write_amplification", "1.63"),
    ("benefit", "write_amplification", "1.59"),
    ("oldest", "write_amplification", "1.77"),
    ("empty", "write_amplification", "1.70"),
    ("buffer", "latency_us.write.mean", "1.09 µs"),
    ("buffer", "write_amplification", "1.95"),
    ("unbuffered", "latency_us.write.mean", "402 µs"),
    ("unbuffered", "write_amplification", "6.58"),
    ("trim", "write_amplification", "1.04"),
    ("untrimmed", "write_amplification", "2.64"),
    ("hot", "wear.mean", "14.0 erases"),
    ("hot", "wear.stddev", "deviation of 15.0"),
    ("hotfifo", "wear.stddev", "deviation is 15.0"),
    ("mix", "latency_us.read.mean", "121 µs"),
    ("mix", "latency_us.read.p50", "54.0 µs"),
    ("mix", "latency_us.read.p99", "1,960 µs"),
    ("mix", "latency_us.read.p99_9", "2,960 µs"),
    ("suspend", "latency_us.read.mean", "63.3 µs"),
    ("suspend", "latency_us.read.p50", "54.0 µs"),
    ("suspend", "latency_us.read.p99", "136 µs"),
    ("suspend", "latency_us.read.p99_9", "989 µs"),
    ("planes", "bandwidth_mib_s", "249 MiB/s"),
    ("single", "bandwidth_mib_s", "182 MiB/s"),
    ("out", "utilisation.channels", "7.9 %"),
    ("inside", "utilisation.channels", "1.8 %"),
    ("out", "iops", "6,230"),
    ("inside", "iops", "6,370"),
    *(("qd1", "iops", "18,500"), ("qd4", "iops", "60,800"), ("qd16", "iops", "122,000"), ("qd64", "iops", "159,000")),
    *(("qd4", "latency_us.read.mean", "65.8 µs"), ("qd16", "latency_us.read.mean", "131 µs")),
    *(("qd64", "latency_us.read.mean", "401 µs"), ("qd1", "utilisation.dies", "12 %")),
    *(("qd4", "utilisation.dies", "38 %"), ("qd16", "utilisation.dies", "75 %"), ("qd64", "utilisation.dies", "91 %")),
]
"""Results of the page, their keys, and the number on the page."""

APART = [
    ("op28", "unit16", "write_amplification"),
    ("op15", "op28", "write_amplification"),
    ("op28", "op50", "write_amplification"),
    ("op50", "op100", "write_amplification"),
    ("op28", "fifo", "write_amplification"),
    ("fifo", "chance", "write_amplification"),
    ("benefit", "skewed", "write_amplification"),
    ("skewed", "oldest", "write_amplification"),
    ("empty", "op28", "write_amplification"),
    ("buffer", "unbuffered", "write_amplification"),
    ("trim", "untrimmed", "write_amplification"),
    ("mix", "suspend", "latency_us.read.p99"),
    ("mix", "suspend", "latency_us.read.p99_9"),
    ("planes", "single", "bandwidth_mib_s"),
    ("out", "inside", "utilisation.channels"),
    ("out", "inside", "iops"),
]
"""Pairs of results with a difference stated on the page, and its direction."""

Values = dict[str, list[float]]


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Values]:
    """The values of each key over the seeds, by result."""
    folder = tmp_path_factory.mktemp("concepts")
    for name, text in re.findall(r"^```toml\n# (\S+)\n(.*?)^```$", TEXT, re.M | re.S):
        (folder / name).write_text(text)
    for line in re.findall(r"^\$ wordline (run .*)$", TEXT, re.M):
        done = subprocess.run([PROGRAM, *shlex.split(line)], cwd=folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    return {path.stem: values(path) for path in folder.glob("*.json")}


def values(path: Path) -> Values:
    return {figure["key"]: figure["values"] for figure in parsed(path.read_text())["repeats"]["figures"]}


def test_the_numbers_are_what_the_commands_give(figures: dict[str, Values]) -> None:
    wrong = []
    for name, key, told in TOLD:
        seen = figures[name][key]
        mean = sum(seen) / len(seen) * (100 if told.endswith("%") else 0.001 if told.endswith("ms") else 1)
        number = re.search(r"\d[\d.,]*", told)
        assert number
        digits = number[0].replace(",", "")
        # Half of the last printed digit, or a percent: whichever is larger.
        decimals = len(digits.partition(".")[2])
        if told not in TEXT or abs(mean - float(digits)) > max(0.5 * 10**-decimals, 0.01 * mean):
            wrong.append(f"{name} {key}: the page tells {told}, measured {mean:.4g}")
    assert not wrong, "\n".join(wrong)
    assert {name for name, _, _ in TOLD} == set(figures)


def test_the_effects_hold_over_seeds(figures: dict[str, Values]) -> None:
    chance = [f"{one}, {other}: {key}" for one, other, key in APART if not apart(figures, one, other, key)]
    assert not chance, "\n".join(chance)
    assert not apart(figures, "hot", "hotfifo", "wear.stddev")


def apart(figures: dict[str, Values], one: str, other: str, key: str) -> bool | None:
    return repeats.apart(figures[one][key], figures[other][key])
