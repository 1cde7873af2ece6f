"""Dispatch policies in Python without a commit stage that choose among transactions, and requests of a die."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import wordline as package
from conftest import ROOT, Run, done, parsed
from test_policy_families import partial, settings, told_at_end
from wordline.policy import AtOnce, Dispatch, WaitingOperation, WaitingRequest, WaitingTransaction

QUEUES = ROOT / "docs" / "examples" / "queues.py"

__all__ = ["partial"]
"""The load of the other families."""

FIXED = "placement.policy=static collect.scope=plane verify.shadow=true"

DRIVES = [
    "",
    "pack.policy=planes",
    "mapping.unit_kib=4",
    "mapping.unit_kib=4 pack.policy=planes arbiter.policy=priority",
]


@pytest.fixture
def result(wordline: Run, drive: Path, partial: Path) -> Callable[..., dict[str, Any]]:
    """The result of a run with the examples."""

    def run(*sets: str) -> dict[str, Any]:
        options = ("--policy", QUEUES, "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, partial, *settings(FIXED, *sets), *options)))

    return run


@pytest.mark.parametrize("sets", [*DRIVES, "placement.policy=in-turn capacity.raw_over_logical=1.5"])
@pytest.mark.parametrize("options", ["", "dispatch.wait_for_bus=false", "dispatch.unit=die"])
def test_transactions_chosen_in_order_are_those_of_in_order(
    result: Callable[..., dict[str, Any]], sets: str, options: str
) -> None:
    own = result(sets, options, "dispatch.policy=in-order")
    other = result(sets, options, "dispatch.policy=python-transactions")
    assert other["outcome"] == own["outcome"]
    assert other["latency_us"] == own["latency_us"]
    assert other["transactions"] == own["transactions"]


@pytest.mark.parametrize(
    ("sets", "window"),
    [*((sets, 8) for sets in DRIVES), ("pack.policy=none", 1), ("pack.policy=planes pack.window=2", 2)],
)
@pytest.mark.parametrize(
    "options",
    ["", "dispatch.unit=die", "placement.policy=in-turn capacity.raw_over_logical=1.5 dispatch.wait_for_bus=false"],
)
def test_operations_chosen_by_age_are_those_of_in_order(
    result: Callable[..., dict[str, Any]], sets: str, window: int, options: str
) -> None:
    own = result(sets, options, "dispatch.policy=in-order")
    other = result(sets, options, f"dispatch.policy=python-operations dispatch.window={window}")
    assert other["outcome"] == own["outcome"]
    assert other["latency_us"] == own["latency_us"]
    assert other["transactions"] == own["transactions"]


def test_operations_of_one_request_are_those_that_join(result: Callable[..., dict[str, Any]]) -> None:
    planes = "pack.policy=planes mapping.unit_kib=4"
    own = result(f"{planes} pack.across_requests=false", "dispatch.policy=in-order")
    keeps = "dispatch.policy=python-operations dispatch.across_requests=false"
    assert result(f"{planes} pack.across_requests=false", keeps)["outcome"] == own["outcome"]
    # By the packer, what lies in other dies may be of any request; and it packs what was committed of several.
    assert result(planes, keeps)["transactions"] != result(planes, "dispatch.policy=in-order")["transactions"]


def test_what_leads_and_joins_decides_the_order(result: Callable[..., dict[str, Any]]) -> None:
    own = result("dispatch.policy=in-order mapping.unit_kib=4")
    reads = result("dispatch.policy=python-operations dispatch.lead=reads-first mapping.unit_kib=4 dispatch.window=1")
    assert reads["latency_us"]["read"]["mean"] < 0.8 * own["latency_us"]["read"]["mean"]


ONE_DIE = {
    "geometry.channels": 1,
    "geometry.dies_per_package": 1,
    "placement.policy": "static",
    "collect.scope": "plane",
    "pack.policy": "planes",
    "dispatch.policy": "odd",
}
"""A die of two planes: consecutive pages lie side by side."""


def reading(*pages: int, count: int = 1) -> package.Workload:
    """Reads of so many pages from each of these on, all at one time."""
    offsets = [page * 16_384 for page in pages]
    columns = {"time_us": [0] * len(pages), "op": ["R"] * len(pages), "offset_bytes": offsets}
    return package.Workload.table({**columns, "size_bytes": [count * 16_384] * len(pages)})


def test_the_youngest_leads_if_it_is_chosen(drive: Path, tmp_path: Path) -> None:
    led: list[tuple[int, int]] = []

    def leads(_: Dispatch, place: int, waiting: list[WaitingOperation]) -> int:
        assert place == 0
        assert [one.before for one in waiting] == list(range(len(waiting)))
        led.append((len(waiting), waiting[-1].page or 0))
        return len(waiting) - 1

    # All in the first plane.
    pages = [0, 2, 4, 6, 8]
    package.run(drive, reading(*pages), ONE_DIE, policies=[choosing(AtOnce("die"), leads=leads)])
    assert led == [(4, 4), (3, 3), (2, 2)], "the first found the die free, and the last was alone"


@pytest.mark.parametrize(
    ("joins", "single", "planes"),
    [(lambda *_: None, 6, 0), (lambda *_: 0, 0, 3), (lambda _, chosen, waiting: None if chosen[0].page else 0, 4, 1)],
)
def test_transactions_have_what_joins(drive: Path, joins: Callable[..., object], single: int, planes: int) -> None:
    result = package.run(drive, reading(0, count=6), ONE_DIE, policies=[choosing(AtOnce("die"), joins=joins)])
    assert result["transactions"]["read"]["count"] == {
        "single": single,
        "planes": planes,
        "dies": 0,
        "dies_and_planes": 0,
    }
    assert result["flash"]["reads"] == 6


def test_only_what_can_join_is_shown(drive: Path, tmp_path: Path) -> None:
    load = tmp_path / "mixed.toml"
    load.write_text(MIXED)
    asked = [0, 0]

    def leads(policy: Dispatch, place: int, waiting: list[WaitingOperation]) -> int:
        asked[0] += 1
        assert len(waiting) > 1
        assert {one.plane // policy.drive.planes_per_die // policy.drive.dies_per_package for one in waiting} == {place}
        return policy.random.randrange(len(waiting))

    def joins(policy: Dispatch, chosen: list[WaitingOperation], waiting: list[WaitingOperation]) -> int | None:
        asked[1] += 1
        assert {one.writes for one in (*chosen, *waiting)} == {chosen[0].writes}
        assert not {one.plane for one in chosen} & {one.plane for one in waiting}
        for one in waiting:
            beside = {other.page for other in chosen if other.plane // 2 == one.plane // 2}
            assert beside <= {one.page}
        return policy.random.choice([None, *range(len(waiting))])

    policy = choosing(AtOnce("package"), leads=leads, joins=joins)
    sets: dict[str, object] = {"placement.policy": "static", "collect.scope": "plane", "capacity.raw_over_logical": 1.6}
    sets |= {"verify.shadow": True, "dispatch.policy": "odd", "mapping.unit_kib": 4, "pack.policy": "planes"}
    first = package.run(drive, load, sets, policies=[policy])
    assert min(asked) > 500
    assert package.run(drive, load, sets, policies=[policy])["outcome"] == first["outcome"]
    # A fork goes on with the random numbers of the drive.
    mine = package.Drive(drive, sets, policies=[policy])
    mine.run(load)
    fork = mine.fork()
    assert fork.run(load)["outcome"] == mine.run(load)["outcome"]


@pytest.mark.parametrize("sets", DRIVES)
@pytest.mark.parametrize("order", ["first-come", "reads-first"])
def test_requests_chosen_in_an_order_are_those_of_one_request(
    result: Callable[..., dict[str, Any]], sets: str, order: str
) -> None:
    own = result(sets, f"dispatch.policy=one-request dispatch.order={order}")
    other = result(sets, f"dispatch.policy=python-requests dispatch.order={order}")
    assert other["outcome"] == own["outcome"]
    assert other["latency_us"] == own["latency_us"]


def test_other_choices_give_other_results(result: Callable[..., dict[str, Any]]) -> None:
    in_order = result("dispatch.policy=in-order")
    out_of_order = result("dispatch.policy=python-transactions dispatch.in_order=false")
    assert out_of_order["iops"] > 1.3 * in_order["iops"]
    short = result("dispatch.policy=python-requests dispatch.order=shortest mapping.unit_kib=4")
    assert short["outcome"] != result("dispatch.policy=one-request mapping.unit_kib=4")["outcome"]


MIXED = """\
[[job]]
rw = "randrw"
bsrange = "4k-128k"
iodepth = 24
number_ios = 2_500
random_distribution = "zipf:1.3"
"""


@pytest.mark.parametrize("placement", ["static", "in-turn"])
def test_no_choice_loses_data_or_stops_the_drive(drive: Path, tmp_path: Path, placement: str) -> None:
    load = tmp_path / "mixed.toml"
    load.write_text(MIXED)
    seen: list[WaitingRequest | WaitingTransaction] = []

    class Requests(Dispatch):
        name = "requests"

        def at_once(self) -> AtOnce:
            return AtOnce(requests="chosen")

        def next_request(self, die: int, waiting: list[WaitingRequest]) -> int:
            assert 0 <= die < self.drive.dies
            assert [one.sequence for one in waiting] == sorted({one.sequence for one in waiting})
            assert len({one.request for one in waiting}) == len(waiting)
            seen.extend(waiting)
            return self.random.randrange(len(waiting))

    class Transactions(Dispatch):
        name = "transactions"

        def at_once(self) -> AtOnce:
            return AtOnce(transactions="die", waits_for_bus=self.random.random() < 0.5)

        def next_transaction(self, waiting: list[WaitingTransaction]) -> int | None:
            assert [one.sequence for one in waiting] == sorted(one.sequence for one in waiting)
            assert len({one.place for one in waiting}) == len(waiting)
            seen.extend(waiting)
            goes = [at for at, one in enumerate(waiting) if one.can_go]
            rests = any(one.waited_us == 0 for one in waiting) and any(not one.free for one in waiting)
            return None if rests and self.random.random() < 0.3 else self.random.choice(goes)

    for policy in (Requests, Transactions):
        for more in ({}, {"mapping.unit_kib": 4, "pack.policy": "planes"}):
            sets = {"placement.policy": placement, "collect.scope": "plane", "capacity.raw_over_logical": 1.6}
            sets |= {"verify.shadow": True, "dispatch.policy": policy.name, **more}
            seen.clear()
            first = package.run(drive, load, sets, policies=[policy])
            assert any(one.operations > 1 for one in seen) and any(one.waited_us > 0 for one in seen)
            assert {one.writes for one in seen} == {True, False}
            assert package.run(drive, load, sets, policies=[policy])["outcome"] == first["outcome"]


def choosing(how: AtOnce, **methods: object) -> type[Dispatch]:
    """A policy that chooses."""
    return type("Odd", (Dispatch,), {"name": "odd", "at_once": lambda _: how, **methods})


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (
            choosing(AtOnce(requests="chosen"), next_request=lambda *_: None),
            "it answered None (NoneType); expected the index of a request in the list",
        ),
        (
            choosing(AtOnce(requests="chosen"), next_request=lambda *_: True),
            "it answered True (bool); expected the index of a request in the list",
        ),
        (
            choosing(AtOnce(requests="chosen"), next_request=lambda *_: 70),
            "it chose request 70 of die 0, which does not exist: requests 0 to 0 wait",
        ),
        (
            choosing(AtOnce("die"), next_transaction=lambda *_: "x"),
            "it answered 'x' (str); expected the index of a transaction in the list, or None",
        ),
        (
            choosing(AtOnce("die"), next_transaction=lambda *_: 70),
            "it chose transaction 70, which does not exist: transactions 0 to 0 wait",
        ),
        (
            choosing(AtOnce("die"), next_transaction=lambda _, waiting: len(waiting) - 1),
            ", which waits for ",
        ),
        (
            choosing(AtOnce("die"), next_transaction=lambda *_: None),
            "it chose none of the 8 transactions that could go",
        ),
        (
            choosing(AtOnce("die"), leads=lambda *_: None),
            "it answered None (NoneType); expected the index of an operation in the list",
        ),
        (
            choosing(AtOnce("die"), leads=lambda *_: 70),
            ", which does not exist: operations 0 to 1 wait",
        ),
        (
            choosing(AtOnce("package"), joins=lambda *_: False),
            "it answered False (bool); expected the index of an operation in the list, or None",
        ),
        (
            choosing(AtOnce("package"), joins=lambda *_: 70),
            "it chose operation 70 to join a transaction, which does not exist: operations 0 to 0 can join",
        ),
    ],
)
def test_a_bad_choice_ends_the_run(drive: Path, partial: Path, policy: type[Dispatch], why: str) -> None:
    told = told_at_end(drive, partial, policy, placement__policy="static", collect__scope="plane")
    assert why in told.replace("die 1,", "die 0,").replace("die 2,", "die 0,").replace("die 3,", "die 0,")


def test_choices_that_are_never_asked_for_are_refused(drive: Path) -> None:
    def refused(policy: type[Dispatch], error: type[Exception] = ValueError) -> str:
        with pytest.raises(error) as caught:
            package.check(drive, {"dispatch.policy": "odd"}, policies=[policy])
        return str(caught.value)

    chosen = AtOnce(requests="chosen")
    assert 'write the method "next_request"' in refused(choosing(chosen), NotImplementedError)
    never = "its method 'next_request' is never called without AtOnce(requests=\"chosen\")"
    assert never in refused(choosing(AtOnce(requests="first-come"), next_request=lambda *_: 0))
    never = "its method 'next_transaction' is never called without AtOnce(transactions=...)"
    assert never in refused(choosing(chosen, next_request=lambda *_: 0, next_transaction=lambda *_: 0))
    for method in ("leads", "joins"):
        never = f"its method {method!r} is never called without AtOnce(transactions=...)"
        assert never in refused(choosing(AtOnce(), **{method: lambda *_: 0}))
