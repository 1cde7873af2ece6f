"""Mappings in Python that say which writes take the sequential log block."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import wordline as package
from conftest import ROOT, Run, done, parsed
from test_policy_families import settings, told_at_end
from test_policy_merges import WHERE, result_of
from wordline.policy import LogBlocks, Mapping, SequenceView

SCHEMES = ROOT / "docs" / "examples" / "logblocks.py"

STREAMS = """\
[[job]]
rw = "write"
bs = "64k"
iodepth = 4
number_ios = 500

[[job]]
rw = "randrw"
bs = "16k"
iodepth = 8
number_ios = 3_000
random_distribution = "zipf:1.1"
"""
"""Pages in order, and others among them."""


@pytest.fixture
def streams(tmp_path: Path) -> Path:
    path = tmp_path / "streams.toml"
    path.write_text(STREAMS)
    return path


def starting(starts: Callable[[SequenceView], object] | None, rule: LogBlocks | None = None) -> type[Mapping]:
    """FAST with this choice."""
    methods = {} if starts is None else {"starts_sequence": lambda _, view: starts(view)}
    scheme = rule or LogBlocks(log_blocks=40, sequential=True, one_by_one=True)
    return type("Odd", (Mapping,), {"name": "odd", "scheme": lambda _: scheme, **methods})


@pytest.mark.parametrize("where", WHERE)
def test_each_first_page_starts_a_sequence_without_a_choice(drive: Path, streams: Path, where: str) -> None:
    rule = LogBlocks(log_blocks=40 if where == "drive" else 4, sequential=True, one_by_one=True)
    seen: list[SequenceView] = []

    def starts(view: SequenceView) -> bool:
        seen.append(view)
        return True

    own = result_of(package.run, drive, streams, starting(None, rule), where)
    told = result_of(package.run, drive, streams, starting(starts, rule), where)
    assert told["outcome"] == own["outcome"]
    built_in = {"mapping.policy": "fast", "mapping.log_blocks": rule.log_blocks, "capacity.raw_over_logical": 1.4}
    fast = package.run(drive, streams, {**WHERE[where], **built_in, "verify.shadow": True})
    assert fast["outcome"] == own["outcome"]
    domains = told["drive"]["collection_domains"]
    assert {view.domain for view in seen} == set(range(domains))
    pages = {view.pages for view in seen}
    assert min(pages) == 1 < max(pages)
    assert all((view.holder is None) == (view.held_pages is None) for view in seen)
    assert any(view.held_pages for view in seen)


@pytest.mark.parametrize("where", WHERE)
def test_no_choice_loses_data_or_stops_the_drive(drive: Path, streams: Path, where: str) -> None:
    rule = LogBlocks(log_blocks=40 if where == "drive" else 4, sequential=True, one_by_one=True)

    class Chance(Mapping):
        name = "odd"

        def scheme(self) -> LogBlocks:
            return rule

        def starts_sequence(self, view: SequenceView) -> bool:
            return self.random.random() < 0.5

    for call in (package.run, package.replay):
        first = result_of(call, drive, streams, Chance, where)
        assert result_of(call, drive, streams, Chance, where)["outcome"] == first["outcome"]
        result_of(call, drive, streams, starting(lambda _: False, rule), where)


def test_the_example_is_fast_or_guards_its_sequence(wordline: Run, drive: Path, streams: Path) -> None:
    def result(policy: str) -> dict[str, Any]:
        sets = settings(policy, "mapping.log_blocks=30 capacity.raw_over_logical=1.4 verify.shadow=true")
        options = ("--policy", SCHEMES, "--quiet", "--json", "-")
        where = settings("collect.scope=drive placement.policy=least-busy")
        return parsed(done(wordline("run", drive, streams, *sets, *where, *options)))

    fast = result("mapping.policy=fast")
    assert result("mapping.policy=python-sequences mapping.least_pages=1")["outcome"] == fast["outcome"]
    assert result("mapping.policy=python-sequences")["outcome"] != fast["outcome"]


def test_an_answer_that_is_none_ends_the_run(drive: Path, streams: Path) -> None:
    told = told_at_end(drive, streams, starting(lambda _: None), collect__scope="drive", placement__policy="least-busy")
    assert told.endswith(" s: it answered None (NoneType); expected True or False")


def test_without_a_sequential_log_block_there_is_no_choice(drive: Path) -> None:
    odd = starting(lambda _: True, LogBlocks(log_blocks=40))
    with pytest.raises(ValueError, match="'starts_sequence' is never called without a scheme with sequential=True"):
        package.check(drive, {"mapping.policy": "odd"}, policies=[odd])
