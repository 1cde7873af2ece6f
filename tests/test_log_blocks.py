"""Mappings with log blocks: they do what a model of a hundred lines does, page by page, and the words about it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import wordline
from conftest import ROOT, Run, done, refused
from log_block_model import Model, Scheme
from wordline import Workload
from wordline.results import excess

PAGES = 16
PAGE = 16_384
DRIVE = f"""\
geometry = {{ channels = 2, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1, blocks_per_plane = 32,
              pages_per_block = {PAGES}, page_kib = 16 }}
capacity = {{ raw_over_logical = 1.4 }}
collect = {{ policy = "on-demand", scope = "drive", reserve_blocks = 1, start_blocks = 2, stop_blocks = 2 }}
placement = {{ policy = "least-busy" }}
buffer = {{ policy = "none" }}
precondition = {{ fill = false, overwrites = 0 }}
verify = {{ shadow = true }}
"""
"""Sixty-four blocks, 46 of them for logical blocks."""
LOTS = 45

SCHEMES = {
    "bast": (Scheme(1, 1, 6), {"mapping.policy": "bast", "mapping.log_blocks": 6}),
    "sast": (
        Scheme(4, 3, 7),
        {
            "mapping.policy": "sast",
            "mapping.group_blocks": 4,
            "mapping.group_log_blocks": 3,
            "mapping.log_blocks": 7,
        },
    ),
    "sast, one by one": (
        Scheme(3, 3, 7, one_by_one=True),
        {
            "mapping.policy": "sast",
            "mapping.group_blocks": 3,
            "mapping.group_log_blocks": 3,
            "mapping.whole_groups": False,
            "mapping.log_blocks": 7,
        },
    ),
    "pftl": (Scheme(0, 0, 5, one_by_one=True), {"mapping.policy": "pftl", "mapping.log_blocks": 5}),
    "fast": (Scheme(0, 0, 5, sequential=True, one_by_one=True), {"mapping.policy": "fast", "mapping.log_blocks": 5}),
}


def requests(seed: int) -> Iterator[tuple[str, int]]:
    """Logical pages: written in order, from a place on, at random in a few logical blocks, anywhere; some trimmed."""
    draw = random.Random(seed)
    for _ in range(400):
        lot = draw.randrange(LOTS)
        first = lot * PAGES
        match draw.randrange(6):
            case 0:
                yield from (("W", first + page) for page in range(PAGES))
            case 1:
                yield from (("W", first + page) for page in range(draw.randrange(1, PAGES)))
            case 2:
                start = draw.randrange(PAGES)
                yield from (("W", first + page) for page in range(start, PAGES))
            case 3:
                yield from (("W", draw.randrange(4 * PAGES)) for _ in range(12))
            case 4:
                yield from (("W", draw.randrange(LOTS * PAGES)) for _ in range(8))
            case _ if draw.random() < 0.3:
                yield from (("T", first + page) for page in range(PAGES))
            case _:
                yield from (("T", first + draw.randrange(PAGES)) for _ in range(3))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SCHEMES)
def test_a_model_of_the_scheme_merges_and_erases_as_much(tmp_path: Path, name: str, seed: int) -> None:
    scheme, settings = SCHEMES[name]
    model = Model(scheme, PAGES)
    rows = ["time_us,op,offset_bytes,size_bytes"]
    for nth, (op, page) in enumerate(requests(seed)):
        (model.write if op == "W" else model.trim)(page)
        # Far apart, so that each comes alone.
        rows.append(f"{nth * 1_000_000},{op},{page * PAGE},{PAGE}")
    (tmp_path / "drive.toml").write_text(DRIVE)
    (tmp_path / "load.csv").write_text("\n".join(rows) + "\n")
    result = wordline.run(tmp_path / "drive.toml", Workload.trace(tmp_path / "load.csv"), settings)
    told = result["log_blocks"]
    measured = {kind: told[f"{kind}_merges"] for kind in ("switch", "partial", "full")}
    measured |= {"merges": told["merges"], "erases": result["flash"]["erases"]}
    measured |= {"copies": result["gc"]["moved_units"], "empty": result["flash"]["padded_units"]}
    assert measured == {key: model.done[key] for key in measured}
    # In the buffer of P-FTL a logical block rarely has a block for itself.
    kinds = ("full", "empty") if name == "pftl" else ("switch", "partial", "full", "empty")
    assert all(measured[kind] > 10 for kind in kinds), "each kind is hit"


def test_merges_are_told(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text('[[job]]\nrw = "randwrite"\nbs = "16k"\niodepth = 4\nnumber_ios = 4000\n')
    mapping = ("--set", "mapping.policy=bast", "--set", "precondition.overwrites=0", "--set", "mapping.log_blocks=4")
    told = done(wordline("run", "demo", "job.toml", *mapping, "--json", "r.json", "--report", "r.html"))
    assert "of log blocks" in told and "full" in told
    assert "Full merges of logical blocks" in (tmp_path / "r.html").read_text()
    other = wordline("run", "demo", "job.toml", *mapping, "--set", "mapping.log_blocks=100000")
    refused(other, "mapping.log_blocks = 100000", "use at most")


def test_steps_and_excess_waiting_time_are_told(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text('[[job]]\nrw = "randwrite"\nbs = "16k"\nnumber_ios = 4000\n')
    sets = (
        "mapping.policy=pftl",
        "mapping.log_blocks=8",
        "precondition.overwrites=0",
        "collect.policy=partial",
        "collect.scope=drive",
        "collect.threshold_blocks=100000",
    )
    told = done(
        wordline("run", "demo", "job.toml", *(part for it in sets for part in ("--set", it)), "--json", "r.json")
    )
    result = json.loads((tmp_path / "r.json").read_text())
    merges, longest = result["scheduled_merges"], result["latency_us"]["all"]["max"]
    assert merges["partial"] > 5 and merges["pressed"] > 5, "the buffer is too small for a step a page"
    assert result["log_blocks"]["merges"] >= merges["partial"] - 1
    waited = excess.of(result)
    assert waited.worst_us == longest - 30_000 and 0 < waited.share < 0.1
    assert "in steps" in told and excess.told(waited) in " ".join(told.split())


def test_excess_waiting_time_by_hand() -> None:
    latency = {"all": {"max": 50_000.0}}
    cdfs = {"read": [[1_000.0, 0.5], [29_000.0, 1.0]], "write": [[10_000.0, 0.75], [40_000.0, 0.875], [50_000.0, 1.0]]}
    result = {"latency_us": latency, "cdf": cdfs, "by_op": {"read": {"requests": 24}, "write": {"requests": 8}}}
    # Two of eight writes take longer than 30 ms, of 32 requests in all.
    assert excess.of(result) == excess.Excess(30_000.0, 2 / 32, 20_000.0)
    assert excess.of(result, 45_000) == excess.Excess(45_000, 1 / 32, 5_000.0)
    assert excess.of(result, 50_000) == excess.Excess(50_000, 0.0, 0.0)
    assert excess.told(excess.of(result, 50_000)) == "excess waiting time: none above 50.0 ms"
    assert excess.told(excess.of(result)) == "excess waiting time above 30.0 ms: 6.2 % of requests, 20.0 ms at most"


def test_a_snapshot_keeps_the_log_blocks(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text('[[job]]\nrw = "randwrite"\nbs = "16k"\nnumber_ios = 3000\n')
    mapping = ("--set", "mapping.policy=fast", "--set", "mapping.log_blocks=8", "--set", "precondition.overwrites=0.1")
    done(wordline("precondition", "demo", *mapping, "-o", "d.snap"))
    done(wordline("run", "demo", "job.toml", *mapping[:4], "--from", "d.snap", "--json", "r.json"))
    assert json.loads((tmp_path / "r.json").read_text())["log_blocks"]["full_merges"] > 0
    other = wordline("run", "demo", "job.toml", "--set", "mapping.policy=block", "--from", "d.snap")
    refused(other, "mapping.policy = block", "was made with bast, sast, fast or pftl")


def test_check_tells_the_memory_of_the_mapping_table(wordline: Run) -> None:
    def told(*sets: str) -> str:
        lines = done(wordline("check", "demo", *(part for each in sets for part in ("--set", each)))).splitlines()
        return next(line for line in lines if line.startswith("Mapping table"))

    # 1,056,000 logical pages of 4 KiB; 264,000 of 16 KiB in 1,375 logical blocks of 192.
    assert "4.03 MiB" in told()
    assert "5.37 KiB" in told("mapping.policy=block")
    # Ten log blocks have 1,920 pages.
    assert "12.9 KiB" in told("mapping.policy=bast", "mapping.log_blocks=10")
    assert "up to 10" in told("mapping.policy=bast", "mapping.log_blocks=10")
    assert "12.9 KiB" in told("mapping.policy=pftl", "mapping.log_blocks=10")
    # 1 MiB of it, and 258 parts of 4 KiB, each for 1,024 logical pages.
    cached = ("mapping.policy=cached", "mapping.unit_kib=4", "mapping.cache_kib=1024")
    assert "1.00 MiB" in told(*cached)


def test_each_scheme_is_a_page_of_code_as_its_docs_say() -> None:
    folder = ROOT / "crates" / "firmware" / "src" / "policy" / "mapping"
    lines = {name: len((folder / f"{name}.rs").read_text().splitlines()) for name in ("bast", "sast", "fast", "pftl")}
    assert max(lines.values()) < 200
    told = " ".join((ROOT / "docs" / "mapping.md").read_text().split())
    says = "{bast} (`bast`), {sast} (`sast`), {fast} (`fast`) and {pftl} (`pftl`) lines"
    assert says.format(**lines) in told, "docs/mapping.md has other counts"
