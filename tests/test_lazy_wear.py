"""Lazy wear leveling beside log blocks does what a model of a hundred lines does: every block is erased as often."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
import wordline
from lazy_wear_model import LazyModel, places
from log_block_model import Scheme
from wordline import Workload

PAGES = 8
PAGE = 4096
BLOCKS = 64
LOTS = 36
DELTA = 3.0
BARS = 24
"""Bars of the histograms of a lifetime curve."""
DRIVE = f"""\
geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
              blocks_per_plane = {BLOCKS}, pages_per_block = {PAGES}, page_kib = 4 }}
capacity = {{ raw_over_logical = {BLOCKS / LOTS} }}
collect = {{ policy = "on-demand", scope = "drive", reserve_blocks = 1, start_blocks = 2, stop_blocks = 2 }}
placement = {{ policy = "least-busy" }}
free_block = {{ policy = "fifo" }}
wear = {{ policy = "lazy", delta_cycles = {DELTA} }}
buffer = {{ policy = "none" }}
precondition = {{ fill = false, overwrites = 0 }}

[arbiter]
policy = "priority"
order = ["wear-erase", "wear-write", "wear-read", "gc-erase", "gc-write", "gc-read", "host-read", "host-write"]
"""
"""A move goes to its end before a merge goes on: Algorithm 1 is a procedure that FTLs call before they erase a block.

First come, first served, the pages of a move and those of the next logical block of a merge would take turns, and their
blocks be erased in another order.
"""

SCHEMES = {
    "bast": (Scheme(1, 1, 6), {"log_blocks": 6}),
    # As many log blocks as all groups may have: none waits for those of another.
    "sast": (Scheme(4, 2, 18), {"group_blocks": 4, "group_log_blocks": 2, "log_blocks": 18}),
    "fast": (Scheme(0, 0, 5, sequential=True, one_by_one=True), {"log_blocks": 5}),
}


def requests(seed: int) -> Iterator[tuple[str, int]]:
    """Logical pages: all of them in order, then mostly those of a few logical blocks.

    Logical blocks are trimmed as a whole and written again. Others have data in each page: a move fills pages without
    data, and between two of these a merge may go on.
    """
    draw = random.Random(seed)
    yield from (("W", page) for page in range(LOTS * PAGES))
    for _ in range(500):
        lot = draw.randrange(8) if draw.random() < 0.8 else draw.randrange(LOTS)
        pages = range(lot * PAGES, (lot + 1) * PAGES)
        match draw.randrange(6):
            case 0:
                yield from (("W", page) for page in pages)
            case 1:
                yield from (("W", page) for page in pages[: draw.randrange(1, PAGES)])
            case 2:
                yield from (("W", page) for page in pages[draw.randrange(PAGES) :])
            case 3:
                yield from (("W", draw.randrange(4 * PAGES)) for _ in range(12))
            case 4:
                yield from (("W", draw.randrange(8 * PAGES)) for _ in range(8))
            case _:
                yield from (("T", page) for page in pages)
                yield from (("W", page) for page in pages)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mapping", SCHEMES)
def test_a_model_of_algorithm_1_wears_every_block_as_much(tmp_path: Path, mapping: str, seed: int) -> None:
    scheme, options = SCHEMES[mapping]
    model = LazyModel(scheme, PAGES, delta=DELTA, lots=LOTS, blocks=BLOCKS)
    rows, wear, written = ["time_us,op,offset_bytes,size_bytes"], {}, 0
    for nth, (op, page) in enumerate(requests(seed)):
        model.step(op, page)
        rows.append(f"{nth},{op},{page * PAGE},{PAGE}")
        if op == "W":
            written += PAGE
            wear[written] = model.histogram(BARS)
    (tmp_path / "drive.toml").write_text(DRIVE)
    (tmp_path / "load.csv").write_text("\n".join(rows) + "\n")
    sets = {"mapping.policy": mapping, **{f"mapping.{key}": value for key, value in options.items()}}
    result = wordline.replay(tmp_path / "drive.toml", Workload.trace(tmp_path / "load.csv"), sets)
    told, tasks, leveling = result["log_blocks"], result["tasks"], result["wear_leveling"]
    measured = {kind: told[f"{kind}_merges"] for kind in ("switch", "partial", "full")}
    measured |= {
        "merges": told["merges"],
        "copies": tasks["gc"]["moved_pages"],
        "empty": result["flash"]["padded_units"],
    }
    measured |= {"moves": tasks["wear"]["blocks"], "moved": tasks["wear"]["moved_pages"]}
    measured |= {"erases": result["flash"]["erases"], "by GC": leveling["gc_erases"]}
    assert measured == {key: model.done[key] for key in measured}
    assert leveling["wear_erases"] == measured["moves"] > 40
    # The erases of all blocks, each time that the curve has a point.
    points = result["lifetime"][1:]
    assert len(points) > 200
    for point in points:
        assert point["histogram"] == wear[point["host_bytes"]], f"after {point['host_bytes']} bytes"
    assert result["wear"]["max"] == max(model.erases)


def test_the_model_visits_every_logical_block_once_in_a_period() -> None:
    for count in (1, 5, 36, 100):
        twice = list(islice(places(count), 2 * count))
        assert twice[:count] == twice[count:]
        assert sorted(twice[:count]) == list(range(count))
