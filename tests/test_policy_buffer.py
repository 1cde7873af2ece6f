"""Write buffers in Python that choose what they keep: as the built-in one, and otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import wordline as package
from conftest import ROOT, Run, done, parsed
from test_policy_families import settings
from wordline.policy import Buffer, BufferView

BUFFERS = ROOT / "docs" / "examples" / "buffers.py"

MIXED = """\
[[job]]
rw = "randrw"
rwmixread = 30
bsrange = "1k-64k"
iodepth = 16
number_ios = 2_000
random_distribution = "zipf:1.1"
fsync = 40

[[job]]
rw = "randtrim"
bsrange = "4k-64k"
iodepth = 2
number_ios = 400
random_distribution = "zipf:1.1"
"""

DRIVES = [
    "",
    "mapping.unit_kib=4 placement.policy=least-busy collect.scope=drive",
    "mapping.unit_kib=4 mapping.policy=cached mapping.cache_kib=64",
    "mapping.policy=fast",
    "mapping.policy=block",
    "redundancy.policy=rain redundancy.dies=4 collect.scope=drive placement.policy=least-busy",
    "redundancy.policy=ttflash redundancy.dies=4",
    "dispatch.policy=deadline mapping.unit_kib=4",
    "dispatch.policy=one-queue processor.policy=uniform mapping.unit_kib=4",
    "dispatch.policy=paq pack.policy=planes",
    "slc.policy=dynamic nand.slc_read_us=25 nand.slc_program_us=200",
]
"""Drives with room to spare that have a write buffer."""


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.toml"
    path.write_text(MIXED)
    return path


@pytest.fixture
def result(wordline: Run, drive: Path, mixed: Path) -> Callable[..., dict[str, Any]]:
    """The result of a run with the examples."""

    def run(*sets: str) -> dict[str, Any]:
        options = ("--policy", BUFFERS, "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, mixed, *settings(*sets), *options)))

    return run


def deciding(**methods: object) -> type[Buffer]:
    """A buffer of 512 KiB with these methods."""
    return type("Odd", (Buffer,), {"name": "odd", "capacity_kib": lambda _: 512, **methods})


@pytest.mark.parametrize("sets", DRIVES)
def test_a_buffer_that_keeps_nothing_is_that_of_fifo(result: Callable[..., dict[str, Any]], sets: str) -> None:
    spare = f"{sets} capacity.raw_over_logical=1.6 verify.shadow=true"
    own = result(spare, "buffer.policy=fifo buffer.capacity_kib=512")
    other = result(spare, "buffer.policy=python-fifo buffer.size_kib=512")
    assert other["outcome"] == own["outcome"]
    assert other["latency_us"] == own["latency_us"]
    assert own["flash"]["programs"] > 0


def test_what_is_named_at_once_leaves_as_with_fifo(drive: Path, mixed: Path) -> None:
    """One request at a time: what a request writes leaves together, as it would with ``fifo``."""
    sets = {"capacity.raw_over_logical": 1.6, "mapping.unit_kib": 4}
    everything = deciding(evict=lambda _, view: view.pages)
    mixed.write_text('[[job]]\nrw = "randrw"\nbs = "64k"\nnumber_ios = 2_000\nfsync = 40\n')
    own = package.run(drive, mixed, {**sets, "buffer.policy": "fifo", "buffer.capacity_kib": 512})
    other = package.run(drive, mixed, {**sets, "buffer.policy": "odd"}, policies=[everything])
    assert other["outcome"] == own["outcome"]


def test_the_examples_keep_what_is_written_again(result: Callable[..., dict[str, Any]]) -> None:
    spare = "capacity.raw_over_logical=1.6"
    fifo = result(spare, "buffer.policy=fifo buffer.capacity_kib=512")
    for name in ("lru", "blocks", "hot"):
        own = result(spare, f"buffer.policy=python-{name} buffer.size_kib=512 verify.shadow=true")
        assert own["flash"]["absorbed_units"] > fifo["flash"]["absorbed_units"], name
        # Flushes may leave so little that none has to be chosen.
        assert own["policy_figures"]["buffer"]["chosen"] > 0 or name == "hot"
        assert own["requests"] == fifo["requests"]


class Chance(Buffer):
    """Any choice will do."""

    name = "chance"
    kib: int = 512

    def capacity_kib(self) -> int:
        return self.kib

    def keeps(self, page: int) -> bool:
        return self.random.random() < 0.8

    def evict(self, view: BufferView) -> list[int]:
        pages = view.pages.tolist()
        assert len(set(pages)) == len(pages)
        assert (view.came[1:] > view.came[:-1]).all()
        assert (view.written >= view.came).all()
        assert view.room >= 0 <= view.leaving
        count = max(self.random.choice((0, 0, 0, 1, 3, 10, 100)), view.waits and view.leaving == 0)
        return self.random.sample(pages, min(count, len(pages)))


@pytest.mark.parametrize("sets", DRIVES)
def test_no_choice_loses_data_or_stops_the_drive(drive: Path, mixed: Path, sets: str, tmp_path: Path) -> None:
    for kib in (64, 512, 4096):
        given = dict(pair.split("=") for pair in sets.split())
        policy = {"buffer.policy": "chance", "buffer.kib": kib, "verify.shadow": True, "capacity.raw_over_logical": 1.6}
        values = {key: package_value(value) for key, value in given.items()}
        first = package.run(drive, mixed, {**values, **policy}, policies=[Chance])
        tables = {"tables": "all", "out": tmp_path / str(kib)}
        again = package.run(drive, mixed, {**values, **policy}, policies=[Chance], **tables)
        assert again["outcome"] == first["outcome"]


def package_value(text: str) -> object:
    """A value of a setting."""
    return int(text) if text.isdigit() else text


def test_a_fork_keeps_what_its_original_does(drive: Path, mixed: Path) -> None:
    made = package.Drive(drive, {"buffer.policy": "chance", "capacity.raw_over_logical": 1.6}, policies=[Chance])
    made.run(mixed)
    copied = made.fork()
    assert copied.run(mixed)["outcome"] == made.run(mixed)["outcome"]


def test_a_rewrite_needs_no_room_and_a_read_no_flash(drive: Path, tmp_path: Path) -> None:
    """A buffer that only ever has the same few logical pages programs none until the end."""
    load = tmp_path / "few.toml"
    load.write_text('[[job]]\nrw = "randrw"\nbs = "16k"\nsize = "512k"\niodepth = 4\nnumber_ios = 4_000\n')
    keeping = deciding(evict=lambda _, view: None)
    sets = {"buffer.policy": "odd"}
    result = package.run(drive, load, sets, policies=[keeping])
    assert result["flash"]["programs"] == 0
    assert result["flash"]["absorbed_units"] > 1_800
    assert result["latency_us"]["read"]["p90"] < 50


def test_what_is_kept_may_leave_while_the_host_rests(drive: Path, tmp_path: Path) -> None:
    load = tmp_path / "bursts.toml"
    load.write_text(
        '[[job]]\nrw = "randwrite"\nbs = "16k"\niodepth = 1\nnumber_ios = 200\n'
        "thinktime_blocks = 20\nthinktime_us = 50000\n"
    )
    views: list[BufferView] = []

    def evict(_: Buffer, view: BufferView) -> object:
        views.append(view)
        return view.pages if view.rested else view.pages[: int(view.waits)]

    calm = deciding(evict=evict, after_rest=lambda _: 5_000)
    rested = package.run(drive, load, {"buffer.policy": "odd"}, policies=[calm])
    # After each burst but the last.
    assert [len(view.pages) > 10 for view in views if view.rested] == [True] * 9
    assert not any(view.waits for view in views), "there is room after each rest"
    views.clear()
    busy = package.run(drive, load, {"buffer.policy": "odd"}, policies=[deciding(evict=evict)])
    assert any(view.waits for view in views) and not any(view.rested for view in views)
    assert rested["latency_us"]["write"]["max"] < busy["latency_us"]["write"]["max"]


PAGES = "expected a list of numbers of logical pages, or None"


@pytest.mark.parametrize(
    ("methods", "why"),
    [
        ({"evict": lambda *_: 3}, f"it answered 3 (int); {PAGES}"),
        ({"evict": lambda *_: ["x"]}, f"it answered ['x'] (list); {PAGES}"),
        ({"evict": lambda *_: [True]}, f"it answered [True] (list); {PAGES}"),
        (
            {"evict": lambda _, view: view.pages[[0, 0]]},
            "it chose logical page 0, which the buffer does not keep, or which it named twice",
        ),
        (
            {"evict": lambda *_: []},
            "it named no logical page that leaves, though a write waits and the buffer is full of the 32 that it keeps",
        ),
        ({"evict": lambda *_: [], "keeps": lambda *_: None}, "it answered None (NoneType); expected True or False"),
    ],
)
def test_a_bad_choice_ends_the_run(drive: Path, tmp_path: Path, methods: dict[str, object], why: str) -> None:
    load = tmp_path / "writes.toml"
    load.write_text('[[job]]\nrw = "write"\nbs = "16k"\niodepth = 4\nnumber_ios = 100\n')
    with pytest.raises(package.RunError) as caught:
        package.run(drive, load, {"buffer.policy": "odd"}, policies=[deciding(**methods)])
    assert str(caught.value).startswith("the policy 'odd' (buffer), at 0.00")
    assert str(caught.value).endswith(f" s: {why}")


def test_what_would_never_be_called_is_refused(drive: Path) -> None:
    def refused(policy: type[Buffer]) -> str:
        with pytest.raises((ValueError, package.InputError)) as caught:
            package.check(drive, {"buffer.policy": "odd"}, policies=[policy])
        return str(caught.value)

    assert "'keeps' has no effect without a method 'evict'" in refused(deciding(keeps=lambda *_: True))
    assert "'after_rest' has no effect without a method 'evict'" in refused(deciding(after_rest=lambda _: 5.0))
    odd = deciding(evict=lambda *_: None, after_rest=lambda _: -1)
    assert "its method 'after_rest' is of no use: it answered -1 (int); expected a number of micro" in refused(odd)
    none = deciding(evict=lambda *_: None, capacity_kib=lambda _: 0)
    assert "it chooses what the buffer keeps, but has none: its capacity is 0 KiB" in refused(none)
