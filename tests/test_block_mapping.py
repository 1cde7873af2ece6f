"""Block mapping and one-shot programming as a user meets them: what writes cost, padding, snapshots, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conftest import Run, done, refused

BLOCK = ("--set", "mapping.policy=block")
PAGE = 16_384
JOB = """\
[[job]]
rw = "randwrite"
bs = "{bs}"
iodepth = 8
norandommap = true
number_ios = {count}
"""


def load(folder: Path, bs: str, count: int) -> str:
    name = f"{bs}.toml"
    (folder / name).write_text(JOB.format(bs=bs, count=count))
    return name


def result_of(wordline: Run, *args: str) -> dict[str, Any]:
    return json.loads(done(wordline("run", "demo", *args, "--json", "-", "-q")))


def test_writes_of_a_block_cost_nothing_more_and_smaller_ones_a_part_of_it(wordline: Run, tmp_path: Path) -> None:
    done(wordline("precondition", "demo", *BLOCK, "--set", "precondition.overwrites=0", "-o", "block.snap"))
    amplification = {}
    for bs, count in (("16k", 8_000), ("256k", 3_000), ("3m", 600)):
        result = result_of(wordline, load(tmp_path, bs, count), *BLOCK, "--from", "block.snap")
        amplification[bs] = result["write_amplification"]
    assert amplification["3m"] < 1.05, "a block of demo has 3 MiB"
    assert amplification["256k"] > 4, amplification
    assert amplification["16k"] > 4 * amplification["256k"], amplification


def test_padding_is_told_where_it_is_much(wordline: Run, tmp_path: Path) -> None:
    name = load(tmp_path, "16k", 300)
    empty = ("--set", "precondition.fill=false", "--set", "precondition.overwrites=0", "--set", "buffer.policy=none")
    told = done(wordline("run", "demo", name, *BLOCK, *empty, "--json", "r.json"))
    flash = json.loads((tmp_path / "r.json").read_text())["flash"]
    # Most writes are the first of their logical block: the pages before theirs are programmed empty.
    assert 0.98 < flash["padded_units"] / flash["programs"] < 1
    assert "99 % of what was programmed is padding" in told
    assert "padding" not in done(wordline("run", "demo", name, *BLOCK, "--set", "precondition.overwrites=0"))


def test_a_snapshot_of_another_mapping_is_refused_by_its_policy(wordline: Run, tmp_path: Path) -> None:
    name = load(tmp_path, "16k", 100)
    done(wordline("precondition", "demo", *BLOCK, "--set", "precondition.overwrites=0", "-o", "block.snap"))
    error = wordline("run", "demo", name, "--from", "block.snap")
    refused(error, "mapping.policy = page or cached", "was made with block")


def test_what_does_not_fit_names_key_and_remedy(wordline: Run) -> None:
    check = ("check", "choi18", *BLOCK)
    refused(wordline(*check), "collect.into = shared-block", 'use "own-block"')
    word_lines = ("--set", "geometry.pages_per_program=3")
    refused(wordline("check", "demo", *word_lines, *BLOCK), "mapping.policy = block", "pages_per_program = 3")
    refused(wordline("check", "demo", "--set", "geometry.pages_per_program=5"), "must divide pages_per_block = 192")


def test_programs_of_word_lines_take_longer_and_reads_wait_for_them(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "mixed.toml").write_text(
        '[[job]]\nrw = "randrw"\nrwmixread = 70\nbs = "4k"\nrate_iops = 15000\nrate_process = "poisson"\n'
        "norandommap = true\nnumber_ios = 60000\niodepth = 256\n"
    )
    together = (
        "--set",
        "geometry.pages_per_program=3",
        "--set",
        "nand.program_us=1170",
        "--set",
        "collect.window_pages=24",
    )
    for seed in ("1", "2"):
        single = result_of(wordline, "mixed.toml", "--seed", seed)
        one_shot = result_of(wordline, "mixed.toml", "--seed", seed, *together)
        tails = [result["latency_us"]["read"]["p99"] for result in (single, one_shot)]
        assert tails[1] > 1.5 * tails[0], tails
        # Hardly more pages, or fewer: some are still in the buffer.
        programs = [result["flash"]["programs"] for result in (single, one_shot)]
        assert 0.85 < programs[1] / programs[0] < 1.15, programs
        assert one_shot["flash"]["commands"] < single["flash"]["commands"]
