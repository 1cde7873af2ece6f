"""The map of the blocks: unpacked as packed, laid out for any drive, and drawn only if it exists."""

from __future__ import annotations

import base64
import json
import re
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import blockmaps
import numpy
import pytest
import synthetic
from conftest import Run, done, refused
from wordline.report import blockfigure, figures
from wordline.report import page as report
from wordline.results import blockmap

TINY = {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 5, "blocks_per_cell": 2}

DATA = re.compile(r'<script type="application/json" id="blocks-data">(.*?)</script>')


def tiny() -> dict[str, Any]:
    """Three cells at two moments: the last has a single block."""
    states = {"free": [[0, 128, 255], [0, 0, 0]], "open": [[0, 0, 0], [128, 0, 0]], "bad": [[0, 0, 0], [0, 0, 255]]}
    return blockmaps.told(TINY, [0.0, 2.5], [[200, 10, 0], [100, 0, 0]], [[3, 4, 0], [3, 5, 1]], states, step=0.5)


def made(**of: Any) -> dict[str, Any]:  # noqa: ANN401
    """A result with the map of a busy drive."""
    return synthetic.result() | {"map": blockmaps.collected(blockmaps.Drive(**of), moments=6)}


def test_a_map_is_unpacked_as_it_was_packed() -> None:
    # By hand: the second moment has its differences from the first.
    assert zlib.decompress(base64.b64decode(tiny()["valid"])) == bytes([200, 10, 0, 156, 246, 0])
    of = blockmap.of({"map": tiny()})
    assert of is not None
    assert (of.cells, of.cells_per_plane, of.planes) == (3, 3, 1)
    assert of.valid.tolist() == [[200, 10, 0], [100, 0, 0]]
    assert of.erases.tolist() == [[1.5, 2.0, 0.0], [1.5, 2.5, 0.5]]
    assert of.state("free", 0).tolist() == [0, 128, 255]
    assert of.state("spare", 0).tolist() == [0, 0, 0]
    assert of.state("closed", 0).tolist() == [255, 127, 0]
    assert of.state("closed", 1).tolist() == [127, 255, 0]


def test_shares_are_exact_where_they_say_so() -> None:
    assert [blockmaps.share(n, 3) for n in range(4)] == [0, 85, 170, 255]
    assert (blockmaps.share(1, 1000), blockmaps.share(999, 1000)) == (1, 254)
    for of in range(1, 256):
        counts = [blockmaps.share(count, of) for count in range(of + 1)]
        assert [round(share * of / 255) for share in counts] == list(range(of + 1))


def test_a_result_without_a_map_has_no_section_of_it() -> None:
    whole = synthetic.result()
    for result in (whole, synthetic.undrawn(whole), synthetic.undrawn(whole) | {"map": {}}):
        assert blockmap.of(result) is None
        assert "blocks" not in figures.all_of(result)
        page = report.html(result)
        assert 'id="blocks"' not in page and "DecompressionStream" not in page and "data-blocks" not in page


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"valid": "###"}, "'map.valid' cannot be unpacked"),
        ({"valid": base64.b64encode(b"no zlib").decode()}, "'map.valid' cannot be unpacked"),
        ({"valid": blockmaps.packed([[1, 2, 3]])}, "'map.valid' does not hold 2 moments of 3 cells"),
        ({"valid": base64.b64encode(zlib.compress(bytes(10**6))).decode()}, "does not hold 2 moments"),
        ({"blocks_per_cell": 0}, "must be whole numbers above 0"),
        ({"at_s": [0.1 * n for n in range(65)]}, "65 moments of 3 cells; the most is 64 of 4096"),
        ({"channels": 5000}, "the most is 64 of 4096"),
    ],
)
def test_a_map_that_does_not_hold_together_is_told(
    wordline: Run, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    (tmp_path / "r.json").write_text(json.dumps(synthetic.result() | {"map": tiny() | changes}))
    refused(wordline("report", "r.json", "-o", "r.html"), "r.json", "this result is inconsistent", words)
    assert not (tmp_path / "r.html").exists()


SHAPES = [(1, 1, 1, 4096), (4, 2, 2, 110), (8, 8, 2, 32), (32, 32, 2, 2), (128, 1, 1, 32), (1, 128, 4, 8), (1, 1, 8, 7)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("room", blockfigure.ROOM)
def test_every_shape_of_a_drive_fits_and_no_two_cells_meet(shape: tuple[int, int, int, int], room: str) -> None:
    channels, dies, planes, blocks = shape
    of = blockmap.BlockMap(channels, dies, planes, blocks, 1, [0.0], numpy.zeros(1), numpy.zeros(1), {})
    chosen = blockfigure.layout(of, blockfigure.ROOM[room])
    places = list(chosen.places(of))
    assert len(places) == len(set(places)) == channels * dies * planes * blocks
    width, height = chosen.size(of)
    assert max(x for x, _ in places) + 1 <= width + 1e-9 and max(y for _, y in places) + 1 <= height + 1e-9
    side = chosen.side(of, blockfigure.ROOM[room])
    assert side >= 2.5, "a cell can be seen"
    assert side * width <= blockfigure.ROOM[room][0] + 1e-6 and side * height <= blockfigure.ROOM[room][1] + 1e-6
    # Cells of a row of a plane touch; the next plane begins after a gap.
    rows: dict[float, list[float]] = {}
    for x, y in places:
        rows.setdefault(round(y, 6), []).append(x)
    for row in rows.values():
        assert all(right - left >= 1 - 1e-9 for left, right in pairwise(sorted(row)))


def test_the_picture_shows_the_last_moment() -> None:
    result = synthetic.result() | {"map": tiny()}
    of = blockmap.of(result)
    assert of is not None
    chosen = blockfigure.layout(of, blockfigure.ROOM["wide"])
    pixels = blockfigure._picture(of, chosen)
    step = blockfigure.PIXELS
    cells = [pixels[round(step * y) + 3, round(step * x) + 3] for x, y in chosen.places(of)]
    # Valid data by opacity; the last cell is bad.
    assert [int(cell[3]) for cell in cells] == [
        round(255 * (blockfigure.PALE + (1 - blockfigure.PALE) * share)) for share in (100 / 255, 0)
    ] + [255]
    assert cells[2][:3].tolist() == list(blockfigure.EDGE)
    edge = pixels[0, 3].tolist()
    assert edge == [*blockfigure.EDGE, 255], "one of its blocks is open"
    drawn = figures.all_of(result)["blocks"]
    assert drawn.words.startswith(
        "Share of valid data in the blocks of the drive at the end of the run, 2.50 s after its start"
    )
    assert "A cell is the mean of 2 neighbouring blocks of a plane" in drawn.words
    for text in (drawn.wide, drawn.narrow):
        assert ElementTree.fromstring(text).tag.endswith("svg")
        assert len(text) < 60_000


def test_the_page_takes_over_what_the_engine_packed(wordline: Run, tmp_path: Path) -> None:
    whole = made(channels=2, blocks_per_plane=24)
    result = synthetic.undrawn(whole) | {"map": whole["map"]}
    page = report.html(result)
    assert report.html(result) == page
    held = json.loads(DATA.search(page)[1])
    assert held["map"] == result["map"]
    assert page.index('id="blocks"') < page.index('id="utilisation"')
    assert '<a href="#blocks">' in page
    bare = report.html({key: value for key, value in result.items() if key != "map"})
    static = len(blockfigure.last_moment(result).wide) + len(blockfigure.last_moment(result).narrow)
    code = len(page) - len(bare) - len(json.dumps(result["map"])) - static
    assert 0 < code < 30_000
    (tmp_path / "r.json").write_text(json.dumps(result))
    done(wordline("report", "r.json", "--figures", "f"))
    assert (tmp_path / "f" / "blocks-of-the-drive.svg").exists()


def test_a_map_at_its_bounds_stays_small() -> None:
    """12,288 blocks at 64 moments, with GC throughout."""
    drive = blockmaps.Drive(8, 8, 2, 96, pages=8)
    packed = blockmaps.collected(drive, moments=64, blocks_per_cell=3)
    assert blockmap.of({"map": packed}).cells == 4096
    assert len(json.dumps(packed)) < 450_000


def test_the_map_of_a_run_agrees_with_its_figures(wordline: Run, drive: Path, writes: Path, tmp_path: Path) -> None:
    done(wordline("run", drive, writes, "-q", "--json", "r.json"))
    result = json.loads((tmp_path / "r.json").read_text())
    of = blockmap.of(result)
    assert of is not None and of.blocks_per_cell == 1
    geometry = result["config"]["geometry"]
    assert (of.channels, of.planes, of.blocks_per_plane) == (geometry["channels"], 16, geometry["blocks_per_plane"])
    assert of.at_s[0] == 0 and of.at_s[-1] == pytest.approx(result["simulated_s"]) and len(of.at_s) > 10
    last = len(of.at_s) - 1
    assert int((of.state("free", last) == 255).sum()) == result["free_blocks"]
    assert of.erases[last].mean() == pytest.approx(result["wear"]["mean"])
    assert of.erases[last].max() == result["wear"]["max"]
    # All erases of the run are in the map.
    assert of.erases[last].sum() - of.erases[0].sum() == pytest.approx(result["flash"]["erases"], abs=2)
    # The drive is filled: all its data are valid, each once.
    share = result["drive"]["logical_bytes"] / result["drive"]["raw_bytes"]
    assert of.valid[0].mean() / 255 == pytest.approx(share, abs=0.01)
    for moment in range(len(of.at_s)):
        states = [of.state(name, moment) for name in blockmap.STATES]
        assert all(set(cells.tolist()) <= {0, 255} for cells in states)
        assert (sum(states) == 255).all(), "a block is in one state"
    page = synthetic.page_of(result, "map")
    assert json.loads(DATA.search(page)[1])["map"] == result["map"]
