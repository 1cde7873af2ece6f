"""Packers in Python that refuse partners of a multi-plane command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import wordline as package
from conftest import ROOT, Run, done, parsed
from test_policy_at_once import ONE_DIE, reading
from test_policy_families import partial, settings, told_at_end
from wordline.policy import Pack, PackedOperation

COMPANY = ROOT / "docs" / "examples" / "company.py"

__all__ = ["partial"]
"""The load of the other families."""

PLANE = "placement.policy=static collect.scope=plane"
SMALL = "mapping.unit_kib=4"

DRIVES = [
    PLANE,
    f"{PLANE} {SMALL}",
    f"placement.policy=least-busy collect.scope=drive {SMALL}",
    f"{PLANE} {SMALL} suspend.policy=reads",
    f"{PLANE} {SMALL} collect.copyback=internal arbiter.policy=priority",
    f"{PLANE} {SMALL} dispatch.policy=weighted-fair",
    f"{PLANE} {SMALL} dispatch.policy=deadline",
    f"placement.policy=least-busy collect.scope=drive {SMALL} dispatch.policy=deadline",
    f"{SMALL} buffer.policy=fifo buffer.capacity_kib=1024",
    f"{PLANE} {SMALL} mapping.policy=cached mapping.cache_kib=64",
    f"{PLANE} {SMALL} redundancy.policy=ttflash",
    f"placement.policy=least-busy collect.scope=drive {SMALL} redundancy.policy=rain redundancy.dies=4",
    "mapping.policy=block",
    "mapping.policy=fast mapping.log_blocks=12",
]
"""Drives that put commands together in different places."""

QUEUES = [
    f"{PLANE} {SMALL} dispatch.policy=out-of-order dispatch.packing=true",
    f"{PLANE} {SMALL} dispatch.policy=vaq",
    f"{PLANE} {SMALL} dispatch.policy=in-order",
    f"{PLANE} {SMALL} dispatch.policy=one-request",
]
"""Others, whose queues look at what may share a command."""

AMPLE = "capacity.raw_over_logical=1.6 verify.shadow=true"


@pytest.fixture
def result(wordline: Run, drive: Path, partial: Path) -> Callable[..., dict[str, Any]]:
    """The result of a run with the examples."""

    def run(*sets: str) -> dict[str, Any]:
        options = ("--policy", COMPANY, "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, partial, *settings(AMPLE, *sets), *options)))

    return run


@pytest.mark.parametrize("sets", [*DRIVES, *QUEUES])
def test_what_refuses_nothing_is_the_rule_of_planes(result: Callable[..., dict[str, Any]], sets: str) -> None:
    own, other = result(sets, "pack.policy=planes"), result(sets, "pack.policy=python-partners")
    assert other["outcome"] == own["outcome"]
    assert other["latency_us"] == own["latency_us"]
    assert own["flash"]["multi_plane_pages"] > 10


WITHIN = [
    sets for sets in DRIVES if not any(what in sets for what in ("suspend", "deadline", "mapping.policy=block", "fast"))
]
"""Those where ``planes`` looks at the request wherever it puts a command together."""


@pytest.mark.parametrize("sets", WITHIN)
def test_partners_of_one_request_are_those_within_a_request(result: Callable[..., dict[str, Any]], sets: str) -> None:
    own = result(sets, "pack.policy=planes pack.across_requests=false")
    other = result(sets, "pack.policy=python-partners pack.across_requests=false")
    assert other["outcome"] == own["outcome"]
    assert other["latency_us"] == own["latency_us"]


def packing(fits: Callable[..., object], **options: object) -> type[Pack]:
    """A packer that refuses what this does not let in."""
    return type("Odd", (Pack,), {"name": "odd", "fits": fits, **options})


def keys(sets: str) -> dict[str, object]:
    """Settings of a call."""
    values = {"true": True, "false": False}
    pairs = (setting.split("=") for setting in f"{AMPLE} {sets}".split())
    return {key: json.loads(value) if value[0].isdigit() else values.get(value, value) for key, value in pairs}


ALONE = [sets for sets in DRIVES if "least-busy" not in sets or sets.endswith(SMALL)]
"""Those that look at what may share a command only where it is put together, or where each page has its plane."""


@pytest.mark.parametrize("sets", ALONE)
def test_what_refuses_all_packs_nothing(
    result: Callable[..., dict[str, Any]], drive: Path, partial: Path, sets: str
) -> None:
    own = result(sets, "pack.policy=none")
    refusing = {**keys(sets), "pack.policy": "odd"}
    other = package.run(drive, partial, refusing, policies=[packing(lambda *_: False)])
    assert other["outcome"] == own["outcome"]
    assert other["flash"]["multi_plane_pages"] == 0


def test_kinds_can_be_refused(result: Callable[..., dict[str, Any]]) -> None:
    host = result(PLANE, SMALL, "pack.policy=python-partners pack.reads_alone=true")["tasks"]["host"]
    assert host["multi_plane_reads"] > 10
    assert host["multi_plane_programs"] == 0


@pytest.mark.parametrize(
    ("fits", "shared"),
    [
        (lambda *_: True, 8),
        (lambda _, command, other: other.page % 2 == 0, 4),
        (lambda _, command, other: command[0].plane == 1, 0),
        (lambda policy, command, other: (other.plane, command[0].plane) == (1, 0), 8),
    ],
)
def test_commands_have_what_fits(drive: Path, fits: Callable[..., object], shared: int) -> None:
    # Pages 0 to 3 of a block in both planes.
    policy = packing(fits)
    sets = {**ONE_DIE, "dispatch.policy": "fifo", "pack.policy": "odd"}
    result = package.run(drive, reading(0, count=8), sets, policies=[policy])
    assert result["flash"]["reads"] == 8
    assert result["flash"]["multi_plane_pages"] == shared


@pytest.mark.parametrize(
    "sets", [*DRIVES, *QUEUES, f"placement.policy=least-busy collect.scope=drive {SMALL} pack.gather=true"]
)
def test_no_refusal_loses_data_or_stops_the_drive(drive: Path, partial: Path, sets: str) -> None:
    seen: list[tuple[list[PackedOperation], PackedOperation]] = []

    def fits(policy: Pack, command: list[PackedOperation], other: PackedOperation) -> bool:
        if len(seen) < 50_000 or other.kind not in ("host-read", "host-write"):
            seen.append((command, other))
        return policy.random.random() < 0.6

    policy = packing(fits)
    first = package.run(drive, partial, {**keys(sets), "pack.policy": "odd"}, policies=[policy])
    for command, other in seen:
        assert {one.kind for one in command} == {other.kind}
        assert {one.plane // 2 for one in command} == {other.plane // 2}
        assert other.plane not in {one.plane for one in command}
        assert {one.page for one in command} == {other.page}
        assert (other.page is None) == other.kind.endswith("-erase")
        assert other.kind.startswith("host-") or other.request is None
    assert {other.kind for _, other in seen} & {"host-write", "gc-read"}
    again = package.run(drive, partial, {**keys(sets), "pack.policy": "odd"}, policies=[policy])
    assert again["outcome"] == first["outcome"]


def test_partners_of_other_tasks_can_be_refused(drive: Path, partial: Path) -> None:
    seen: set[tuple[str, str]] = set()

    def fits(_: Pack, command: list[PackedOperation], other: PackedOperation) -> bool:
        seen.add((command[0].kind, other.kind))
        return command[0].kind == other.kind or other.kind == "host-read"

    sets = {"pack.policy": "odd", "verify.shadow": True, "mapping.unit_kib": 4}
    joins = {"joins": lambda _, lead, other: lead.startswith("gc")}
    result = package.run(drive, partial, sets, policies=[packing(fits, **joins)])
    assert ("gc-write", "host-write") in seen
    assert result["gc"]["joined_reads"] > 10
    assert result["gc"]["joined_writes"] == 0


def test_a_missing_answer_ends_the_run(drive: Path, partial: Path) -> None:
    told = told_at_end(drive, partial, packing(lambda *_: None))
    assert "the policy 'odd' (pack), at 0.0" in told
    assert ": it answered None (NoneType); expected True or False" in told


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        ({"pack.window": 0}, r"packs nothing, so that the method 'fits' has no effect; use 1 to 64"),
    ],
)
def test_packing_that_cannot_be_is_refused(drive: Path, sets: dict[str, object], words: str) -> None:
    with pytest.raises(package.InputError, match=words):
        package.check(drive, {"pack.policy": "odd", **sets}, policies=[packing(lambda *_: True)])
