"""Policies in Python that give figures once: SLC cache, with limits during a run, write buffer, host interface."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import wordline as package
from conftest import ROOT, Run, done, parsed
from test_policy_families import BUFFERED, partial, settings
from wordline.policy import Buffer, Link, LinkCosts, Policy, Slc, SlcSize, SlcView, Transfer

SIZES = ROOT / "docs" / "examples" / "sizes.py"

__all__ = ["partial"]
"""The load of the other families."""

CACHE = {"nand.slc_read_us": 25.0, "nand.slc_program_us": 200.0}
IN_SLC = "nand.slc_read_us=25 nand.slc_program_us=200"

METHODS: dict[type[Policy], str] = {Slc: "size", Buffer: "capacity_kib", Link: "costs"}


def answering(base: type[Policy], answer: object) -> type[Policy]:
    """A policy of a family with this answer."""
    return type("Odd", (base,), {"name": "odd", METHODS[base]: lambda _: answer})


def as_built_in(drive: Path, load: Path, built_in: dict[str, object], policy: type[Policy], **more: object) -> None:
    """A policy gives the results of a built-in one."""
    keys = {key.replace("__", "."): value for key, value in more.items()}
    own = package.run(drive, load, {**keys, **built_in})
    other = package.run(drive, load, {**keys, f"{policy.family}.policy": policy.name}, policies=[policy])
    assert other["outcome"] == own["outcome"]
    assert other["latency_us"] == own["latency_us"]
    assert other["digest"] != own["digest"], "the configuration is another one"


def test_the_examples_do_as_built_in_policies(wordline: Run, drive: Path, partial: Path) -> None:
    def result(*sets: str) -> dict[str, Any]:
        options = ("--policy", SIZES, "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, partial, *settings(*sets), *options)))

    # 10 % of 40 blocks in each of 16 planes.
    own = result(IN_SLC, "slc.policy=static slc.blocks=64 capacity.raw_over_logical=1.6")
    other = result(IN_SLC, "slc.policy=python-portion slc.percent=10 capacity.raw_over_logical=1.6")
    assert own["slc"]["pages"] > 0
    assert other["outcome"] == own["outcome"]
    # 4 rows of 16 pages of 16 KiB.
    own, other = result(BUFFERED), result("mapping.unit_kib=4 buffer.policy=python-rows buffer.rows=4")
    assert other["outcome"] == own["outcome"]
    few, many = (result(f"mapping.unit_kib=4 buffer.policy=python-rows buffer.rows={rows}") for rows in (1, 64))
    assert few["latency_us"]["write"]["mean"] > many["latency_us"]["write"]["mean"]
    slow, fast = (result(f"link.policy=python-sas link.rate_gb_s={rate}") for rate in (3.0, 12.0))
    assert slow["latency_us"]["read"]["p50"] > fast["latency_us"]["read"]["p50"] + 3
    checked = parsed(done(wordline("check", drive, "--policy", SIZES, *settings("link.policy=python-sas"), "--json")))
    assert checked["derived"]["queue_slots"] == 64


def test_a_cache_in_python_is_that_of_built_in_policies(drive: Path, partial: Path) -> None:
    spare = {"capacity__raw_over_logical": 1.6, "nand__slc_read_us": 25.0, "nand__slc_program_us": 200.0}
    as_built_in(drive, partial, {"slc.policy": "dynamic"}, answering(Slc, SlcSize()), **spare)
    built_in = {"slc.policy": "dynamic", "slc.free_blocks": 8, "slc.most_blocks": 112}
    as_built_in(drive, partial, built_in, answering(Slc, SlcSize(112, 8)), **spare)
    built_in = {"slc.policy": "static", "slc.blocks": 32}
    as_built_in(drive, partial, built_in, answering(Slc, SlcSize(32, 0, set_aside=True)), **spare)
    as_built_in(drive, partial, {"slc.policy": "none"}, answering(Slc, None), **spare)


def limited(limit: object) -> type[Slc]:
    """A cache of free blocks with a limit of its own."""
    return type("Odd", (Slc,), {"name": "odd", "size": lambda _: SlcSize(), "limit": limit})


def test_a_limit_of_the_cache_is_kept(drive: Path, partial: Path) -> None:
    spare = {"capacity__raw_over_logical": 1.6, "nand__slc_read_us": 25.0, "nand__slc_program_us": 200.0}
    as_built_in(drive, partial, {"slc.policy": "dynamic"}, limited(lambda *_: None), **spare)
    as_built_in(drive, partial, {"slc.policy": "none"}, limited(lambda *_: 0), **spare)
    seen: list[SlcView] = []

    def limit(_: Slc, view: SlcView) -> int:
        seen.append(view)
        return 6

    sets = {**CACHE, "capacity.raw_over_logical": 1.6, "slc.policy": "odd", "verify.shadow": True}
    result = package.run(drive, partial, sets, policies=[limited(limit)])
    blocks = [view.slc_blocks for view in seen]
    assert max(blocks) == 6
    assert {view.domain for view in seen} == set(range(result["drive"]["collection_domains"]))
    times = [view.time_us for view in seen]
    assert times == sorted(times) and times[-1] > 0
    assert seen[-1].host_units > 0 and {view.free for view in seen} > {1, 2, 3}
    # The one with the limit writes past the cache.
    dynamic = package.run(drive, partial, {**sets, "slc.policy": "dynamic"})
    assert dynamic["slc"]["pages"] > result["slc"]["pages"] > 0


def choosing(planes: object) -> type[Slc]:
    """A cache of free blocks that chooses its planes."""
    return type("Odd", (Slc,), {"name": "odd", "size": lambda _: SlcSize(), "planes": planes})


@pytest.mark.parametrize("scope", ["plane", "drive"])
def test_a_cache_in_all_planes_is_that_of_dynamic(drive: Path, partial: Path, scope: str) -> None:
    placement = "static" if scope == "plane" else "least-busy"
    spare = {"capacity__raw_over_logical": 1.6, "nand__slc_read_us": 25.0, "nand__slc_program_us": 200.0}
    spare |= {"collect__scope": scope, "placement__policy": placement, "verify__shadow": True}
    domains = {"plane": lambda view: [view.domain], "drive": lambda _: range(16)}[scope]
    as_built_in(drive, partial, {"slc.policy": "dynamic"}, choosing(lambda *_: None), **spare)
    as_built_in(drive, partial, {"slc.policy": "dynamic"}, choosing(lambda _, view: domains(view)), **spare)
    as_built_in(drive, partial, {"slc.policy": "none"}, choosing(lambda *_: []), **spare)


def test_a_cache_is_in_the_planes_that_it_chooses_alone(drive: Path, partial: Path) -> None:
    sets = {**CACHE, "capacity.raw_over_logical": 1.6, "slc.policy": "odd", "verify.shadow": True}

    def pages(*planes: int) -> int:
        odd = choosing(lambda _, view: [view.domain] if view.domain in planes else [])
        return package.run(drive, partial, sets, policies=[odd])["slc"]["pages"]

    every, quarter = pages(*range(16)), pages(0, 4, 8, 12)
    assert 0.15 * every < quarter < 0.35 * every
    # They may change at any time.
    odd = choosing(lambda self, view: [view.domain] if self.random.random() < 0.5 else None)
    assert 0 < package.run(drive, partial, sets, policies=[odd])["slc"]["pages"] <= every


def test_a_placement_and_a_cache_decide_which_writes_go_there(wordline: Run, drive: Path, tmp_path: Path) -> None:
    hot = ROOT / "docs" / "examples" / "hotcache.py"

    def pages(cache: str, distribution: str) -> int:
        load = tmp_path / "load.toml"
        job = 'rw = "randwrite"\nbs = "16k"\niodepth = 16\nnumber_ios = 20_000'
        load.write_text(f'[[job]]\n{job}\nrandom_distribution = "{distribution}"\n')
        spare = "capacity.raw_over_logical=1.8 collect.scope=plane verify.shadow=true"
        policies = f"placement.policy=python-hot placement.lately=500 slc.policy={cache}"
        options = ("--policy", hot, "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, load, *settings(IN_SLC, spare, policies), *options)))["slc"]["pages"]

    of_hot, of_others = pages("python-hot-cache", "zipf:1.3"), pages("python-hot-cache", "random")
    assert of_hot > 4 * of_others
    assert pages("dynamic", "random") > 1.5 * of_others, "without the choice they go to the cache, too"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (3, "it answered 3 (int); expected a list of numbers of planes, or None"),
        (["x"], "it answered ['x'] (list); expected a list of numbers of planes, or None"),
        ([1], "it chose plane 1 for domain 0, which has planes 0 to 0"),
    ],
)
def test_planes_of_no_use_end_the_run(drive: Path, partial: Path, answer: object, why: str) -> None:
    sets = {**CACHE, "capacity.raw_over_logical": 1.6, "slc.policy": "odd"}
    with pytest.raises(package.RunError) as caught:
        package.run(drive, partial, sets, policies=[choosing(lambda *_: answer)])
    assert str(caught.value) == f"the policy 'odd' (slc), at 0.000000 s: {why}"
    sets |= {"redundancy.policy": "superblock", "redundancy.dies": 4, "collect.scope": "drive"}
    with pytest.raises(package.InputError, match="it chooses planes, but those of a superblock open their blocks tog"):
        package.check(drive, {**sets, "placement.policy": "least-busy"}, policies=[choosing(lambda *_: answer)])


def test_the_example_with_a_limit_keeps_to_it(wordline: Run, drive: Path, partial: Path) -> None:
    def result(percent: int) -> dict[str, Any]:
        cache = f"slc.policy=python-modest slc.percent={percent} capacity.raw_over_logical=1.6"
        options = ("--policy", SIZES, "--quiet", "--json", "-")
        return parsed(done(wordline("run", drive, partial, *settings(IN_SLC, cache), *options)))

    less, more = result(20), result(60)
    assert 0 < less["slc"]["pages"] < more["slc"]["pages"]
    figures = less["policy_figures"]["slc"]
    assert 100 < figures["at_its_limit"] < figures["asked"]


@pytest.mark.parametrize(
    ("answer", "shown"), [(-1, "-1 (int)"), (2.5, "2.5 (float)"), (True, "True (bool)"), ("x", "'x' (str)")]
)
def test_a_limit_that_is_none_ends_the_run(drive: Path, partial: Path, answer: object, shown: str) -> None:
    sets = {**CACHE, "capacity.raw_over_logical": 1.6, "slc.policy": "odd"}
    with pytest.raises(package.RunError) as caught:
        package.run(drive, partial, sets, policies=[limited(lambda *_: answer)])
    wanted = f"it answered {shown}; expected a number of blocks from 0 to 2**32 - 1, or None"
    assert str(caught.value) == f"the policy 'odd' (slc), at 0.000000 s: {wanted}"


def test_a_buffer_in_python_is_that_of_built_in_policies(drive: Path, partial: Path) -> None:
    more = {"mapping__unit_kib": 4}
    built_in = {"buffer.policy": "fifo", "buffer.capacity_kib": 1024}
    as_built_in(drive, partial, built_in, answering(Buffer, 1024), **more)
    as_built_in(drive, partial, {"buffer.policy": "none"}, answering(Buffer, 0), **more)


def test_a_host_interface_in_python_is_that_of_built_in_policies(drive: Path, partial: Path) -> None:
    # PCI Express: 3.0 with 4 lanes, 130 bits for 16 bytes, and 24 bytes around 256.
    data = Transfer(Fraction(4 * 8_000_000, 130) * 16 / 1000, packet_bytes=256, packet_overhead=24)

    def ps(size: int) -> float:
        return -(-(size + 24) * 130_000 // (128 * 4)) / 1e6

    nvme = LinkCosts(data, data, ps(64), 0.5, ps(16), usual_depth=1024)
    as_built_in(drive, partial, {"link.policy": "nvme"}, answering(Link, nvme))
    # Serial ATA at 6 Gb/s: 600 MB/s, frames with 16 bytes around each.
    fis = [-(-(size + 16) * 5_000 // 3) / 1e6 for size in (20, 28, 8)]
    data = Transfer(600, fis[1], 8192, 20)
    sata = LinkCosts(data, data, 2 * fis[0], 0, fis[2], True, 1, 32, 32)
    as_built_in(drive, partial, {"link.policy": "sata"}, answering(Link, sata))
    with pytest.raises(package.InputError, match="odd has 1 to 1 queues"):
        package.check(drive, {"link.policy": "odd", "queue.queues": 2}, policies=[answering(Link, sata)])
    with pytest.raises(package.InputError, match="a queue of odd holds 1 to 32 commands"):
        package.check(drive, {"link.policy": "odd", "queue.depth": 33}, policies=[answering(Link, sata)])


GOOD = Transfer(1000.0)


@pytest.mark.parametrize(
    ("base", "answer", "words"),
    [
        (Slc, 7, "its method 'size' is of no use: it answered 7 (int); expected an SlcSize, or None"),
        (Slc, SlcSize(0), "its most_blocks is 0: must be a multiple of 16, the planes"),
        (Slc, SlcSize(656), "its most_blocks is 656: must be a multiple of 16, the planes"),
        (Slc, SlcSize(True), "its most_blocks is of no use: it answered True (bool)"),
        (Slc, SlcSize(-1), "its most_blocks is of no use: it answered -1 (int); expected a number of blocks, or None"),
        (Slc, SlcSize(16, 40), "its free_blocks is 40: more than 39 leave no block for the cache"),
        (Slc, SlcSize(16, 1.5), "its free_blocks is of no use: it answered 1.5 (float)"),
        (Slc, SlcSize(None, 0, True), "it sets blocks aside, but does not say how many"),
        (Slc, SlcSize(16, 0, None), "its set_aside is of no use: it answered None"),
        (Buffer, None, "its method 'capacity_kib' is of no use: it answered None (NoneType); expected a whole number"),
        (Buffer, True, "it answered True (bool)"),
        (Buffer, 512.0, "it answered 512.0 (float)"),
        (Buffer, -1, "it answered -1 (int)"),
        (Buffer, 63, "its capacity of 63 KiB must lie between 64 (four pages) and 4194304, or be 0 for no buffer"),
        (Buffer, 4_194_305, "its capacity of 4194305 KiB must lie between"),
        (Link, None, "its method 'costs' is of no use: it answered None (NoneType); expected LinkCosts"),
        (Link, LinkCosts(GOOD, 3), "its data_out is of no use: it answered 3 (int); expected a Transfer"),
        (Link, LinkCosts(Transfer(0.5), GOOD), "its mb_per_s is of no use: it answered 0.5 (float)"),
        (Link, LinkCosts(Transfer(float("nan")), GOOD), "its mb_per_s is of no use: it answered nan"),
        (Link, LinkCosts(Transfer("1"), GOOD), "its mb_per_s is of no use: it answered '1' (str)"),
        (Link, LinkCosts(Transfer(2e7), GOOD), "expected a number from 1 to 10,000,000"),
        (Link, LinkCosts(Transfer(9, packet_bytes=0), GOOD), "its data_in.packet_bytes is 0: must lie between 1 and"),
        (Link, LinkCosts(Transfer(9, packet_overhead=4097), GOOD), "data_in.packet_overhead is 4097: must be at most"),
        (Link, LinkCosts(GOOD, GOOD, command_us=-1), "its command_us is of no use: it answered -1 (int)"),
        (Link, LinkCosts(GOOD, GOOD, latency_us=1e7), "expected a number of microseconds from 0 to 1,000,000"),
        (Link, LinkCosts(GOOD, GOOD, most_depth=0), "its most_depth is 0: must lie between 1 and 65535"),
        (Link, LinkCosts(GOOD, GOOD, most_queues=65_536), "its most_queues is 65536: must lie between 1 and 65535"),
        (Link, LinkCosts(GOOD, GOOD, most_depth=8), "its usual_depth is 32: must lie between 1 and most_depth, 8"),
        (Link, LinkCosts(GOOD, GOOD, half_duplex=None), "its half_duplex is of no use: it answered None"),
    ],
)
def test_figures_of_no_use_are_refused(drive: Path, base: type[Policy], answer: object, words: str) -> None:
    with pytest.raises(package.InputError) as caught:
        package.check(drive, {f"{base.family}.policy": "odd", **CACHE}, policies=[answering(base, answer)])
    assert words in str(caught.value)
    assert f"{base.family}.policy = odd: " in str(caught.value)


def test_a_cache_is_refused_what_built_in_ones_are(drive: Path) -> None:
    def check(answer: object, **keys: object) -> None:
        sets = {"slc.policy": "odd", **{key.replace("__", "."): value for key, value in keys.items()}}
        package.check(drive, sets, policies=[answering(Slc, answer)])

    times = {"nand__slc_read_us": 25.0, "nand__slc_program_us": 200.0}
    with pytest.raises(package.InputError, match=r"needs nand\.slc_read_us"):
        check(SlcSize())
    with pytest.raises(package.InputError, match="must be a multiple of 8, the blocks of a superblock"):
        superblocks = {"collect__scope": "drive", "placement__policy": "least-busy"}
        check(SlcSize(6), **superblocks, redundancy__policy="superblock", redundancy__dies=4, **times)
    with pytest.raises(package.InputError, match="too little spare"):
        check(SlcSize(320, 0, set_aside=True), **times)
    with pytest.raises(package.InputError, match="has no effect without an SLC cache"):
        check(None, fold__policy="coldest", **times)
    check(SlcSize(), fold__policy="coldest", **times)


@pytest.mark.parametrize("base", METHODS)
def test_an_exception_or_an_interrupt_is_passed_on(drive: Path, partial: Path, base: type[Policy]) -> None:
    def fail(_: object) -> None:
        raise ArithmeticError("no idea")

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    sets = {f"{base.family}.policy": "odd"}
    with pytest.raises(ArithmeticError, match="no idea") as caught:
        package.run(drive, partial, sets, policies=[type("Odd", (base,), {"name": "odd", METHODS[base]: fail})])
    assert f"{base.family}.policy = odd: it raised ArithmeticError: no idea" in caught.value.__notes__[0]
    with pytest.raises(KeyboardInterrupt):
        package.run(drive, partial, sets, policies=[type("Odd", (base,), {"name": "odd", METHODS[base]: stop})])


@pytest.mark.parametrize("base", METHODS)
def test_unknown_options_and_taken_names_are_refused(drive: Path, base: type[Policy]) -> None:
    policy = answering(base, {Slc: SlcSize(), Buffer: 0, Link: LinkCosts(GOOD, GOOD)}[base])
    with pytest.raises(package.InputError, match="unknown key"):
        package.check(drive, {f"{base.family}.policy": "odd", f"{base.family}.od": 1, **CACHE}, policies=[policy])
    taken = type("Taken", (policy,), {"name": {Slc: "static", Buffer: "fifo", Link: "nvme"}[base]})
    with pytest.raises(package.InputError, match="a policy of this name comes with the program"):
        package.check(drive, policies=[taken])


def test_a_snapshot_of_such_a_drive_goes_on(drive: Path, partial: Path, tmp_path: Path) -> None:
    keys = {"buffer.policy": "odd", "link.policy": "odd", "mapping.unit_kib": 4}
    policies = [answering(Buffer, 1024), answering(Link, LinkCosts(GOOD, GOOD))]
    made = package.Drive(drive, keys, policies=policies)
    made.precondition(fill=True)
    made.save(tmp_path / "kept.snapshot")
    kept = package.Drive(drive, keys, snapshot=tmp_path / "kept.snapshot", policies=policies)
    assert kept.run(partial)["outcome"] == made.run(partial)["outcome"]
