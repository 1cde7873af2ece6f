"""The study of page allocation orders: orders, the simulated drive, its stand-ins, and figures by hand."""

from __future__ import annotations

import runpy
from typing import Any

import pytest
from conftest import ROOT
from wordline.studies import catalogue
from wordline.studies.context import Context
from wordline.studies.drives import workload
from wordline.studies.packages import resolved

STUDY = runpy.run_path(str(ROOT / "studies" / "palloc" / "study.py"))
NAMES = ("fin1", "fin2", "msnfs", "usr", "web", "sql0", "sql1", "sql2", "sql3")


def drive(**instead: Any) -> Any:  # noqa: ANN401
    """The drive of the study with other choices."""
    return STUDY["Drive"](Context(catalogue.load("palloc"), instead=instead))


def test_there_are_24_orders_in_four_families() -> None:
    orders = STUDY["ORDERS"]
    assert len(set(orders)) == 24 and orders[0] == "CWDP" and all(sorted(it) == list("CDPW") for it in orders)
    assert [len(it) for it in STUDY["FAMILIES"].values()] == [6, 6, 6, 6]
    parts = STUDY["split"](orders)
    assert [len(it) for it in parts.values()] == [12, 12]
    assert "DCWP" in parts["channels before ways"] and "PWCD" in parts["ways before channels"]


def test_the_drive_has_all_channels_and_ways_and_its_threshold() -> None:
    of, config = drive(), resolved("jung13-ch3")
    assert of.planes == 8 * 8 * 2 * 2 and config["queue"]["depth"] == of.sets["queue.depth"] == 32
    # Below 5 % of 80 blocks.
    assert (of.sets["collect.start_blocks"], of.sets["collect.stop_blocks"]) == (4, 5)
    # Addresses stay within the logical capacity.
    raw = of.planes * 80 * 128 * 2048
    assert 0.7 < of.extent / (raw / config["capacity"]["raw_over_logical"]) <= 0.75
    # Requests that span the drive twice.
    assert of.straight("read")["bs"] == 2 * 256 * 2048


def test_sizes_are_pages_or_kib() -> None:
    assert drive().pages(7.5) == 7.5
    # 1 KB at multiples of 512 bytes touches a second page in one of four cases.
    assert drive(sizes="kib").pages(1) == pytest.approx(1.25)
    # 93.9 % of 10 pages and the rest of 23.5.
    assert drive().mean_pages("msnfs") == pytest.approx(0.939 * 10 + 0.061 * 23.5)


@pytest.mark.parametrize("name", NAMES)
def test_stand_ins_have_the_statistics_of_the_table(name: str) -> None:
    of = drive(length=40000)
    told = workload(of.job(name, 32), 1).to_frame().to_arrow().to_pydict()
    row = of.chapter["workload"][name]
    sizes: dict[str, list[int]] = {"read": [], "write": []}
    for op, size, offset in zip(told["op"], told["size_bytes"], told["offset_bytes"], strict=True):
        assert size % 2048 == 0 and offset % 2048 == 0 and offset + size <= of.extent
        sizes[op].append(size // 2048)
    count = sum(map(len, sizes.values()))
    assert 100 * len(sizes["write"]) / count == pytest.approx(row["write_percent"], abs=4)
    for op, key in (("read", "read_size"), ("write", "write_size")):
        if len(sizes[op]) > 500:
            assert sum(sizes[op]) / len(sizes[op]) == pytest.approx(row[key], rel=0.12)


def test_shares_and_means_by_hand() -> None:
    pages = {"single": 1, "planes": 2, "dies": 3, "dies_and_planes": 4}
    told = {"transactions": {op: {"pages": pages} for op in ("read", "write")}}
    assert STUDY["share_of"](told, ["planes", "dies_and_planes"]) == pytest.approx(60)
    values = {("A", "x"): 1.0, ("B", "x"): 3.0, ("C", "x"): 4.0, ("A", "y"): 2.0, ("B", "y"): 2.0, ("C", "y"): 1.0}
    # A half of C in x, and twice as much in y.
    assert STUDY["against"](values, ["x", "y"], ["A", "B"], ["C"]) == pytest.approx(100 * ((0.5 + 2) / 2 - 1))


def test_one_placement_is_preconditioned_for_all_systems_of_an_order() -> None:
    of = drive()
    jobs = {name: of.job(name, 32) for name in STUDY["TRIED"]}
    found = STUDY["variants"](of, "PWCD", jobs)
    texts = {str(it["sets"]) for (_, _, title), it in found.items() if title != STUDY["STATIC"]}
    assert len(texts) == 1 and "'in-turn'" in next(iter(texts))
    others = {str(it["sets"]) for (_, _, title), it in found.items() if title == STUDY["STATIC"]}
    assert len(others) == 1 and "'static'" in next(iter(others))
