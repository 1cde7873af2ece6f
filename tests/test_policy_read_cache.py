"""Write buffers in Python that keep what was read: a read cache in the drive, which never serves old data."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy
import pytest
import wordline as package
from conftest import ROOT
from test_policy_buffer import DRIVES, MIXED, Chance, deciding, package_value
from wordline import Drive, Workload
from wordline.policy import Buffer, BufferView, Link, LinkCosts, Transfer

KIB = 1024
PAGE = 16 * KIB

READS = runpy.run_path(str(ROOT / "docs" / "examples" / "buffers.py"))["ReadCache"]


class Wire(Link):
    """A host interface that takes 1 µs for a command, for a completion, and for 16 KiB."""

    name = "wire"

    def costs(self) -> LinkCosts:
        data = Transfer(16_384.0)
        return LinkCosts(data, data, command_us=1.0, completion_us=1.0)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.toml"
    path.write_text(MIXED)
    return path


def asking(*requests: str, every_us: int = 10_000) -> Workload:
    """Requests such as ``"R 16 32"``: operation, offset and size in KiB; W! is a FUA write. They come one by one."""
    rows = [request.split() for request in requests]
    columns = {
        "time_us": [every_us * (number + 1) for number in range(len(rows))],
        "op": [op.rstrip("!") for op, *_ in rows],
        "offset": [int(place[0]) * KIB if place else 0 for _, *place in rows],
        "size": [int(place[1]) * KIB if place else 0 for _, *place in rows],
        "fua": [op.endswith("!") for op, *_ in rows],
    }
    return Workload.table(columns)


def caching(drive: Path, policy: type[Buffer] = READS, **sets: Any) -> Drive:  # noqa: ANN401
    """A filled drive with such a policy and the shadow disk."""
    given = {key.replace("__", "."): value for key, value in sets.items()}
    values = {"verify.shadow": True, "link.policy": "wire", "buffer.policy": policy.name, **given}
    made = Drive(drive, values, policies=[policy, Wire])
    made.precondition()
    return made


def flash_reads(drive: Drive, *requests: str) -> int:
    """How many pages these requests read from flash, old data of partial writes included."""
    return drive.run(asking(*requests))["flash"]["reads"]


def test_what_was_read_is_read_without_flash(drive: Path) -> None:
    """100 logical pages in a buffer of 128: the second time each takes the host interface alone."""
    made = caching(drive, buffer__size_kib=128 * 16)
    requests = [f"R {16 * page} 16" for page in range(100)]
    first, second = (made.run(asking(*requests)) for _ in range(2))
    assert [run["flash"]["reads"] for run in (first, second)] == [100, 0]
    assert first["latency_us"]["read"]["min"] > 50
    # Command, data and completion.
    latency = second["latency_us"]["read"]
    assert [latency[key] for key in ("min", "mean", "max")] == pytest.approx([3.0] * 3)
    parts = second["time_of"]["read"]
    assert parts["link"] == pytest.approx(100 * 3e-6)
    assert sum(value for key, value in parts.items() if key != "link") == 0
    assert second["flash"]["programs"] == second["flash"]["absorbed_units"] == 0


def test_the_page_read_last_stays(drive: Path) -> None:
    """Eight pages of room. What was read again is not the oldest any more."""
    made = caching(drive, buffer__size_kib=8 * 16)
    assert flash_reads(made, *(f"R {16 * page} 16" for page in range(8))) == 8
    assert flash_reads(made, "R 0 16", "R 128 16") == 1, "for it, the second page leaves"
    assert flash_reads(made, "R 0 16", *(f"R {16 * page} 16" for page in range(2, 9))) == 0
    assert flash_reads(made, "R 16 16") == 1
    # Of a read of several pages some may be there.
    assert flash_reads(made, "R 1616 16", "R 1600 64", "R 1600 64") == 1 + 3


def test_only_whole_pages_are_kept(drive: Path) -> None:
    asked: list[int] = []

    def keeps_read(_: Buffer, page: int) -> bool:
        asked.append(page)
        return True

    made = caching(drive, deciding(evict=lambda *_: None, keeps_read=keeps_read))
    assert flash_reads(made, "R 0 4", "R 12 8", "R 28 36", "R 64 36", "R 1000 24") == 1 + 2 + 3 + 3 + 2
    assert asked == [2, 3, 4, 5, 63]
    assert flash_reads(made, "R 36 4", "R 40 24", "R 96 4") == 1, "parts are read from whole pages"
    assert asked == [2, 3, 4, 5, 63], "they are kept"
    made = caching(drive, deciding(evict=lambda *_: None, keeps_read=keeps_read), mapping__unit_kib=4)
    asked.clear()
    assert flash_reads(made, "R 2 4", "R 0 16", "R 8 4", "R 6 20") > 0
    assert sorted(asked) == [0, 1, 2, 3, 4, 5], "of 26 KiB, from 6 on, the fourth and fifth are whole"


def test_a_write_and_a_trim_take_the_place_of_what_was_read(drive: Path) -> None:
    made = caching(drive)
    assert flash_reads(made, "R 0 64", "R 0 64") == 4
    # The buffer keeps no write: it is in flash, from where it is read again.
    assert flash_reads(made, "W 16 16", "F", "R 0 64", "R 0 64") == 1
    assert flash_reads(made, "W! 32 16", "R 0 64", "R 0 64") == 1
    assert flash_reads(made, "T 16 32", "R 0 64") == 0
    assert flash_reads(made, "W 0 64", "F", "R 0 64", "R 0 64") == 4
    # Of a part no old data are read: the whole page is in memory. The next one has left it.
    assert flash_reads(made, "W 0 4", "F") == 0
    assert flash_reads(made, "W! 16 4") == 0
    assert flash_reads(made, "W 0 4", "F") == 1


def test_what_was_read_and_is_written_is_kept_as_written(drive: Path) -> None:
    views: list[BufferView] = []
    policy = deciding(evict=lambda _, view: views.append(view), keeps_read=lambda *_: True)
    made = caching(drive, policy)
    assert flash_reads(made, "R 0 48", "W 20 4", "W 64 4", "R 16 16") == 3
    view = views[-1]
    assert view.pages.tolist() == [0, 2, 1, 4]
    assert view.clean.tolist() == [True, True, False, False]
    assert view.whole.tolist() == [True, True, True, False]
    assert view.came.tolist() == [1, 3, 4, 5]
    assert view.written.tolist() == [0, 0, 4, 5]
    assert view.read.tolist() == [1, 3, 2, 0]
    assert (view.room, view.leaving, view.waits, view.comes, view.rested) == (28, 0, False, None, False)
    # What was read stays from one workload to the next, and what was written has left.
    made.run(asking("R 0 4", "W 640 16"))
    view = views[-1]
    assert view.pages.tolist() == [0, 2, 40]
    assert view.read.tolist() == [7, 3, 0], "after a read of what was written"


def test_a_flush_leaves_alone_what_is_in_flash(drive: Path) -> None:
    made = caching(drive, deciding(evict=lambda *_: None, keeps_read=lambda *_: True))
    result = made.run(asking("R 0 64", "W 16 16", "F", "R 0 16", "R 32 32"))
    assert (result["flash"]["reads"], result["flash"]["programs"]) == (4, 1)
    # With nothing to write, a flush takes no time in flash.
    assert made.run(asking("F"))["latency_us"]["all"]["max"] == pytest.approx(2.0)


def test_a_write_that_waits_gets_the_room_of_what_was_read_at_once(drive: Path) -> None:
    """32 pages of room, all with what was read: a write of 20 pages waits for nothing."""
    views: list[BufferView] = []

    def evict(_: Buffer, view: BufferView) -> object:
        views.append(view)
        return view.pages[view.clean][:5] if view.waits else None

    made = caching(drive, deciding(evict=evict, keeps_read=lambda *_: True))
    assert flash_reads(made, *(f"R {16 * page} 16" for page in range(32))) == 32
    assert not views, "nothing was written"
    write = made.run(asking("W 1600 320"))
    assert [view.waits for view in views] == [True] * 4 + [False]
    assert [(view.room, view.leaving, len(view.pages)) for view in views] == [(0, 0, 32)] * 4 + [(0, 0, 32)]
    assert write["latency_us"]["write"]["max"] == pytest.approx(1 + 20 + 1)
    assert write["time_of"]["write"]["link"] == pytest.approx(22e-6)


def test_what_comes_is_shown_if_there_is_no_room(drive: Path) -> None:
    views: list[BufferView] = []

    def evict(_: Buffer, view: BufferView) -> object:
        views.append(view)
        return view.pages[:1] if view.comes == 33 else None

    made = caching(drive, deciding(evict=evict, keeps_read=lambda *_: True))
    flash_reads(made, *(f"R {16 * page} 16" for page in range(35)))
    assert [(view.comes, view.waits, view.room) for view in views] == [(page, False, 0) for page in (32, 33, 34)]
    assert flash_reads(made, "R 0 16", "R 512 16", "R 528 16", "R 544 16") == 3


def test_reads_take_turns_with_each_other_while_writes_wait(drive: Path, tmp_path: Path) -> None:
    """A policy may hold a share of a buffer for what was read, though it is full of writes: here a quarter."""
    path = tmp_path / "both.toml"
    job = 'bs = "16k"\nsize = "8m"\niodepth = {}\nnumber_ios = {}\n'
    writes = '[[job]]\nrw = "randwrite"\n' + job.format(64, 4_000) + 'offset = "64m"\n'
    path.write_text('[[job]]\nrw = "randread"\n' + job.format(1, 2_000) + writes)
    views: list[BufferView] = []

    def evict(_: Buffer, view: BufferView) -> object:
        views.append(view)
        if view.comes is not None and len(view.pages):
            return [view.pages[view.read.argmin()]]
        return None if view.leaving else view.pages[:1]

    policy = deciding(evict=evict, keeps=lambda *_: False, keeps_read=lambda *_: True)
    made = caching(drive, policy)
    flash_reads(made, *(f"R {16 * page} 16" for page in range(8)))
    views.clear()
    made.run(path)
    assert {len(view.pages) for view in views if view.waits and view.comes is not None} == {8}
    assert len({view.comes for view in views}) > 300, "all but the first are read while writes wait"


def test_a_read_under_way_is_not_kept_over_a_newer_write(drive: Path) -> None:
    """A write, a TRIM or a FUA write of the page comes while it is read, which takes more than 50 µs."""
    for change in ("W 0 16", "W 4 4", "T 0 16", "W! 0 16"):
        for every in (1, 5, 20, 40, 60, 100):
            asked: list[int] = []

            def keeps_read(_: Buffer, page: int, asked: list[int] = asked) -> bool:
                asked.append(page)
                return True

            methods = {"evict": lambda *_: None, "keeps": lambda *_: False, "keeps_read": keeps_read}
            made = caching(drive, deciding(**methods))
            made.run(asking("R 0 16", change, "R 0 4", every_us=every))
            if every < 50:
                assert not asked, (change, every)
            made.run(asking("R 0 16", "R 0 16"))
            assert asked.count(0) <= 2, "as it was first, and as it is now"


@pytest.mark.parametrize("sets", DRIVES)
def test_a_buffer_that_keeps_nothing_read_is_as_without(drive: Path, mixed: Path, sets: str) -> None:
    spare = {"capacity.raw_over_logical": 1.6, "verify.shadow": True}
    values = {**spare, **{key: package_value(value) for key, value in (pair.split("=") for pair in sets.split())}}
    nothing = deciding(evict=lambda *_: None, keeps=lambda *_: False, keeps_read=lambda *_: False)
    fifo = package.run(drive, mixed, {**values, "buffer.policy": "fifo", "buffer.capacity_kib": 512})
    own = package.run(drive, mixed, {**values, "buffer.policy": "odd"}, policies=[nothing])
    assert own["outcome"] == fifo["outcome"]
    # Of the same name, and so with the same random numbers.
    denying = type("Denying", (Chance,), {"name": "chance", "keeps_read": lambda *_: False})
    asked, not_asked = (
        package.run(drive, mixed, {**values, "buffer.policy": "chance"}, policies=[policy])
        for policy in (denying, Chance)
    )
    assert asked["outcome"] == not_asked["outcome"]


class ChanceReads(Chance):
    """Any choice will do, of what is read, too."""

    name = "chance-reads"

    def keeps_read(self, page: int) -> bool:
        return self.random.random() < 0.7

    def evict(self, view: BufferView) -> list[int]:
        pages = view.pages.tolist()
        assert len(set(pages)) == len(pages) and view.comes not in pages
        assert (view.came[1:] > view.came[:-1]).all()
        assert ((view.written == 0) == view.clean).all() and view.whole[view.clean].all()
        assert (numpy.maximum(view.written, view.read) >= view.came).all()
        assert view.comes is None or view.room == 0
        count = max(self.random.choice((0, 0, 0, 1, 3, 10, 100)), view.waits and view.leaving == 0)
        return self.random.sample(pages, min(count, len(pages)))


@pytest.mark.parametrize("sets", DRIVES)
def test_no_choice_serves_old_data_or_stops_the_drive(drive: Path, mixed: Path, sets: str, tmp_path: Path) -> None:
    shared = {"verify.shadow": True, "capacity.raw_over_logical": 1.6, "buffer.policy": "chance-reads"}
    values = {**shared, **{key: package_value(value) for key, value in (pair.split("=") for pair in sets.split())}}
    for kib in (64, 512, 4096):
        own = {**values, "buffer.kib": kib}
        first = package.run(drive, mixed, own, policies=[ChanceReads])
        tables = {"tables": "all", "out": tmp_path / str(kib)}
        again = package.run(drive, mixed, own, policies=[ChanceReads], **tables)
        assert again["outcome"] == first["outcome"]
        rows = again.requests().to_table().to_pylist() if kib == 512 else []
        for row in rows:
            names = list(row)
            parts = [row[name] for name in names[names.index("wait_link_us") : names.index("other_us") + 1]]
            assert sum(parts) == pytest.approx(row["service_us"], abs=1e-3)


def test_a_fork_has_what_was_read_and_a_snapshot_has_not(drive: Path, tmp_path: Path) -> None:
    made = caching(drive)
    assert flash_reads(made, "R 0 64") == 4
    copied = made.fork()
    assert flash_reads(copied, "R 0 64", "W 0 16", "F", "R 0 16") == 1
    assert flash_reads(made, "R 0 64") == 0, "a drive of its own"
    other = made.fork({"buffer.size_kib": 1024})
    assert flash_reads(other, "R 0 64") == 4, "made anew, with the same data"
    path = tmp_path / "cached.snapshot"
    made.save(path)
    sets = {"verify.shadow": True, "link.policy": "wire", "buffer.policy": READS.name}
    again = Drive(drive, sets, policies=[READS, Wire], snapshot=path)
    assert flash_reads(again, "R 0 64", "R 0 64") == 4


def test_nothing_that_was_read_is_left_when_a_drive_is_filled(drive: Path) -> None:
    made = caching(drive)
    assert flash_reads(made, "R 0 64") == 4
    made.precondition(fill=True)
    assert flash_reads(made, "R 0 64", "R 0 64") == 4


def test_garbage_collection_leaves_alone_what_was_read(drive: Path, tmp_path: Path) -> None:
    """All else is overwritten, twice, so that the pages are moved."""
    path = tmp_path / "others.toml"
    path.write_text('[[job]]\nrw = "randwrite"\nbs = "16k"\noffset = "1m"\niodepth = 16\nnumber_ios = 60_000\n')
    keeping = deciding(evict=lambda _, view: view.pages[~view.clean], keeps_read=lambda *_: True)
    made = caching(drive, keeping, capacity__raw_over_logical=1.4)
    assert flash_reads(made, "R 0 256") == 16
    assert made.run(path)["gc"]["moved_pages"] > 10_000
    assert flash_reads(made, "R 0 256") == 0


def test_a_fork_goes_on_as_its_original(drive: Path, mixed: Path) -> None:
    sets = {"buffer.policy": "chance-reads", "capacity.raw_over_logical": 1.6, "verify.shadow": True}
    made = Drive(drive, sets, policies=[ChanceReads])
    made.run(mixed)
    copied = made.fork()
    for _ in range(2):
        assert copied.run(mixed)["outcome"] == made.run(mixed)["outcome"]


def test_reads_that_are_kept_follow_rests(drive: Path) -> None:
    views: list[BufferView] = []

    def evict(_: Buffer, view: BufferView) -> object:
        views.append(view)
        return view.pages

    policy = deciding(evict=evict, keeps_read=lambda *_: True, after_rest=lambda _: 2_000)
    assert flash_reads(caching(drive, policy), "R 0 16", "R 0 16", "R 16 16") == 3
    assert [(view.rested, view.pages.tolist()) for view in views] == [(True, [0]), (True, [0])]


@pytest.mark.parametrize(
    ("methods", "why"),
    [
        (
            {"evict": lambda *_: None, "keeps_read": lambda *_: None},
            "its method 'keeps_read' is of no use: it answered None (NoneType); expected True or False",
        ),
        (
            {"evict": lambda _, view: [view.comes], "keeps_read": lambda *_: True},
            "it chose logical page 32, which the buffer does not keep, or which it named twice",
        ),
        (
            {"evict": lambda _, view: "ab", "keeps_read": lambda *_: True},
            "it answered 'ab' (str); expected a list of numbers of logical pages, or None",
        ),
    ],
)
def test_a_bad_choice_ends_the_run(drive: Path, methods: dict[str, object], why: str) -> None:
    made = caching(drive, deciding(**methods))
    with pytest.raises(package.RunError) as caught:
        made.run(asking(*(f"R {16 * page} 16" for page in range(33))))
    assert str(caught.value).startswith("the policy 'odd' (buffer), at 0.")
    assert str(caught.value).endswith(f" s: {why}")


def test_a_write_needs_room_if_the_policy_makes_none(drive: Path) -> None:
    made = caching(drive, deciding(evict=lambda *_: None, keeps_read=lambda *_: True))
    flash_reads(made, *(f"R {16 * page} 16" for page in range(32)))
    with pytest.raises(package.RunError, match="though a write waits and the buffer is full of the 32 that it keeps"):
        made.run(asking("W 1600 16"))


def test_an_exception_is_passed_on(drive: Path) -> None:
    def keeps_read(_: Buffer, page: int) -> bool:
        raise KeyError(page)

    made = caching(drive, deciding(evict=lambda *_: None, keeps_read=keeps_read))
    with pytest.raises(KeyError):
        made.run(asking("R 32 16"))


def test_reads_are_not_kept_without_a_choice_of_what_leaves(drive: Path) -> None:
    with pytest.raises((ValueError, package.InputError)) as caught:
        package.check(drive, {"buffer.policy": "odd"}, policies=[deciding(keeps_read=lambda *_: True)])
    assert "'keeps_read' has no effect without a method 'evict'" in str(caught.value)
