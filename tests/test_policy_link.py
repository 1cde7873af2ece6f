"""Host interfaces in Python that say how long each transfer takes."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import wordline as package
from conftest import ROOT
from test_policy_families import partial, told_at_end
from test_policy_partners import PLANE, keys
from wordline.policy import Link, LinkCosts, Transfer, TransferView

__all__ = ["partial"]
"""The load of the other families."""

DROWSY: type[Link] = runpy.run_path(str(ROOT / "docs" / "examples" / "sizes.py"))["Drowsy"]

COSTS = LinkCosts(Transfer(1000.0), Transfer(2000.0), command_us=0.25, latency_us=1.0, completion_us=0.5)
"""16 KiB take 16.384 us from the host, and half of that to it."""


def timing(transfer: Callable[..., object] | None = None, costs: LinkCosts = COSTS, **more: object) -> type[Link]:
    """A host interface with these costs, and this time of a transfer."""
    methods = {"transfer_us": transfer} if transfer else {}
    return type("Odd", (Link,), {"name": "odd", "costs": lambda _: costs, **methods, **more})


def requests(*given: tuple[float, str, int]) -> package.Workload:
    """Requests at these times, of these kinds, and of so many pages each."""
    times, ops, pages = zip(*given, strict=True)
    offsets = [at * 65_536 for at in range(len(given))]
    sizes = [count * 16_384 for count in pages]
    return package.Workload.table({"time_us": times, "op": ops, "offset_bytes": offsets, "size_bytes": sizes})


def run(drive: Path, load: object, policy: type[Link], **sets: object) -> dict[str, Any]:
    """The result with a host interface."""
    result: dict[str, Any] = package.run(drive, load, {"link.policy": "odd", **sets}, policies=[policy])  # type: ignore[arg-type]
    return result


@pytest.mark.parametrize("half_duplex", [False, True])
def test_usual_times_are_those_of_the_costs(drive: Path, partial: Path, half_duplex: bool) -> None:
    costs = COSTS._replace(half_duplex=half_duplex)
    fixed = run(drive, partial, timing(costs=costs))
    asked = run(drive, partial, timing(lambda _, view: view.usual_us, costs))
    assert asked["outcome"] == fixed["outcome"]
    assert asked["latency_us"] == fixed["latency_us"]
    slower = run(drive, partial, timing(lambda _, view: 2 * view.usual_us, costs))
    assert slower["outcome"] != fixed["outcome"]


def test_what_is_told_of_transfers(drive: Path) -> None:
    seen: list[TransferView] = []

    def transfer(_: Link, view: TransferView) -> float:
        seen.append(view)
        return view.usual_us

    result = run(drive, requests((0, "R", 1), (1000, "W", 1)), timing(transfer))
    assert [(view.what, view.bytes) for view in seen] == [
        ("command", 0),
        ("data-out", 16_384),
        ("completion", 0),
        ("command", 0),
        ("data-in", 16_384),
        ("completion", 0),
    ]
    assert [view.usual_us for view in seen] == [0.25, 8.192, 0.5, 0.25, 16.384, 0.5]
    latency = {kind: result["latency_us"][kind]["max"] for kind in ("read", "write")}
    first, data, end, second, inward, last = seen
    start = first.time_us
    # Directions rest on their own: nothing came from the host since its first command.
    assert (second.time_us, second.idle_us) == (start + 1000, 1000 - 0.25)
    assert (inward.time_us, inward.idle_us) == (start + 1001.25, 1.0)
    assert (end.time_us, end.idle_us) == (pytest.approx(data.time_us + 8.192), 0)
    assert latency["read"] == pytest.approx(end.time_us + 0.5 - start)
    assert (last.time_us, last.idle_us) == (
        pytest.approx(start + 1000 + latency["write"] - 0.5),
        pytest.approx(last.time_us - end.time_us - 0.5),
    )


@pytest.mark.parametrize(
    ("what", "read", "write"), [("command", 7, 7), ("data-in", 0, 7), ("data-out", 7, 0), ("completion", 7, 7)]
)
def test_latency_grows_by_what_transfers_take_longer(drive: Path, what: str, read: float, write: float) -> None:
    load = requests((0, "R", 1), (1000, "W", 1))
    usual = run(drive, load, timing())["latency_us"]
    longer = timing(lambda _, view: view.usual_us + 7 * (view.what == what))
    longest = run(drive, load, longer)["latency_us"]
    assert longest["read"]["max"] == pytest.approx(usual["read"]["max"] + read)
    assert longest["write"]["max"] == pytest.approx(usual["write"]["max"] + write)


def test_what_transfers_take_longer_is_time_of_waiting(drive: Path) -> None:
    load = requests((0, "R", 1))
    usual = run(drive, load, timing())["time_of"]["read"]
    longer = run(drive, load, timing(lambda _, view: view.usual_us + 7))["time_of"]["read"]
    assert (usual["link"], usual["wait_link"]) == (pytest.approx(9.942e-6), 0)
    assert (longer["link"], longer["wait_link"]) == (pytest.approx(9.942e-6), pytest.approx(21e-6))


def test_an_interface_that_sleeps_wakes_with_the_next_command(drive: Path) -> None:
    load = requests((0, "R", 1), (1000, "R", 1), (1200, "R", 1), (3000, "R", 1))

    def result(after: float) -> dict[str, Any]:
        given = {"link.policy": "python-drowsy", "link.sleeps_after_us": after}
        told: dict[str, Any] = package.run(drive, load, given, policies=[DROWSY])
        return told

    awake, drowsy = result(1e6), result(500)
    assert awake["policy_figures"]["link"]["woken"] == 0
    # Two of four come after a rest of half a millisecond, and wait 10 us.
    assert drowsy["policy_figures"]["link"]["woken"] == 2
    assert drowsy["latency_us"]["read"]["mean"] == pytest.approx(awake["latency_us"]["read"]["mean"] + 5)


@pytest.mark.parametrize(
    "sets",
    [
        "",
        PLANE,
        "buffer.policy=fifo buffer.capacity_kib=1024",
        "dispatch.policy=weighted-fair",
        "dispatch.policy=in-order",
        "arbiter.policy=priority suspend.policy=reads",
        "queue.queues=4 queue.depth=4",
        "mapping.policy=cached mapping.cache_kib=64",
    ],
)
@pytest.mark.parametrize("half_duplex", [False, True])
def test_no_times_lose_data_or_stop_the_drive(drive: Path, partial: Path, sets: str, half_duplex: bool) -> None:
    def transfer(link: Link, view: TransferView) -> float:
        assert view.idle_us >= 0
        assert (view.bytes > 0) == view.what.startswith("data")
        return link.random.choice([0, 0.001, view.usual_us, 10 * view.usual_us, 300])

    policy = timing(transfer, COSTS._replace(half_duplex=half_duplex))
    first, again = (run(drive, partial, policy, **keys(f"verify.shadow=true {sets}")) for _ in range(2))
    assert again["outcome"] == first["outcome"]
    without = run(drive, partial, timing(costs=COSTS._replace(half_duplex=half_duplex)), **keys(sets))
    assert first["requests"] == without["requests"]


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (None, "None (NoneType)"),
        (-1, "-1 (int)"),
        (1e7, "10000000.0 (float)"),
        (True, "True (bool)"),
        ("1", "'1' (str)"),
    ],
)
def test_a_time_of_no_use_ends_the_run(drive: Path, partial: Path, answer: object, shown: str) -> None:
    words = f"its method 'transfer_us' is of no use: it answered {shown}; expected a number of microseconds from 0 to"
    assert words in told_at_end(drive, partial, timing(lambda *_: answer))


@pytest.mark.parametrize("what", ["command", "data-in", "data-out", "completion"])
def test_what_it_raises_is_passed_on(drive: Path, what: str) -> None:
    def transfer(_: Link, view: TransferView) -> float:
        if view.what == what:
            raise ArithmeticError(f"no {what}")
        return view.usual_us

    # A single request: nothing is asked afterwards.
    load = requests((0, "W" if what == "data-in" else "R", 1))
    with pytest.raises(ArithmeticError, match=f"no {what}"):
        run(drive, load, timing(transfer))


def test_a_fork_has_a_copy(drive: Path, partial: Path) -> None:
    counts: list[int] = []

    def transfer(link: Link, view: TransferView) -> float:
        link.asked += 1  # type: ignore[attr-defined]
        return view.usual_us + link.asked % 3  # type: ignore[attr-defined]

    policy = timing(
        transfer,
        __init__=lambda link: setattr(link, "asked", 0),
        figures=lambda link: counts.append(link.asked) or {"asked": link.asked},
    )
    first = package.Drive(drive, {"link.policy": "odd"}, policies=[policy])
    first.run(partial)
    second = first.fork()
    results = [one.run(partial) for one in (first, second)]
    assert results[0]["outcome"] == results[1]["outcome"]
    assert counts[1] == counts[2] > counts[0] > 0
