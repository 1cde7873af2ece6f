"""The blocks of the drive over the run, in a browser: slider, pointer, keys, colours; without scripts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import blockmaps
import pytest
import synthetic
from wordline.base import units
from wordline.report import blockfigure
from wordline.report import page as report
from wordline.results import blockmap

MOMENTS = 8

SHAPES = {
    "report": ({"channels": 2, "blocks_per_plane": 24}, 1),
    "groups": ({"channels": 2, "blocks_per_plane": 26}, 3),
    "many": ({"channels": 40, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 20, "pages": 8}, 1),
    "bad": ({"channels": 1, "blocks_per_plane": 24, "spare": 0.3, "bad": frozenset({3, 30})}, 1),
}

COLOURS = """() => {
  const canvas = document.querySelector(".blocks canvas");
  const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
  const pen = copy.getContext("2d", { willReadFrequently: true });
  pen.drawImage(canvas, 0, 0);
  const found = {};
  for (const colour of new Uint32Array(pen.getImageData(0, 0, canvas.width, canvas.height).data.buffer)) {
    found[colour] = (found[colour] ?? 0) + 1;
  }
  return found;
}"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of a made-up result with the map of a busy drive; one with a single moment, and one without charts."""
    folder = tmp_path_factory.mktemp("blocks")
    results = {
        name: synthetic.result() | {"map": blockmaps.collected(blockmaps.Drive(**of), MOMENTS, group)}
        for name, (of, group) in SHAPES.items()
    }
    results["alone"] = dict(results["report"])
    results["one"] = synthetic.result() | {"map": blockmaps.collected(blockmaps.Drive(channels=1), 1)}
    # One has charts over time beside the map; their figures take longest to draw.
    for name in results.keys() - {"report"}:
        results[name]["series"] = None
    for name, result in results.items():
        (folder / f"{name}.json").write_text(json.dumps(result))
        (folder / f"{name}.html").write_text(report.html(result))
    return {name: folder / f"{name}.html" for name in results}


def map_of(files: dict[str, Path], name: str) -> blockmap.BlockMap:
    found = blockmap.of(json.loads(files[name].with_suffix(".json").read_text()))
    assert found is not None
    return found


def ready(page: Any) -> Any:  # noqa: ANN401
    """The page, after the map is unpacked and painted."""
    page.wait_for_selector("figure.live .blocks canvas")
    page.locator(".blocks canvas").scroll_into_view_if_needed()
    return page


def words(page: Any) -> str:  # noqa: ANN401
    return page.locator(".blocks .words").inner_text()


def point(page: Any, of: blockmap.BlockMap, cell: int, room: str = "wide") -> None:  # noqa: ANN401
    """Moves the pointer to a cell of the layout."""
    chosen = blockfigure.layout(of, blockfigure.ROOM[room])
    box = page.locator(".blocks canvas").bounding_box()
    width, height = chosen.size(of)
    side = box["height"] / height
    x, y = list(chosen.places(of))[cell]
    left = box["x"] + box["width"] - width * side
    page.mouse.move(left + (x + 0.5) * side, box["y"] + (y + 0.5) * side)


def said(of: blockmap.BlockMap, moment: int, cell: int) -> str:
    """The expected text of a cell."""
    plane, within = divmod(cell, of.cells_per_plane)
    die = plane // of.planes_per_die
    first = within * of.blocks_per_cell
    last = min(first + of.blocks_per_cell, of.blocks_per_plane) - 1
    first, last = (plane * of.blocks_per_plane + n for n in (first, last))
    blocks = f"block {first}" if first == last else f"blocks {first} to {last}"
    share = units.percent(of.valid[moment, cell] / 255)
    worn = int(of.erases[moment, cell])
    mean = f"{worn} P/E {'cycle' if worn == 1 else 'cycles'}{'' if first == last else ' on average'}"
    return f"channel {die // of.dies_per_channel}, die {die}, plane {plane}, {blocks}: {share} valid, {mean}, "


@pytest.mark.parametrize(("name", "width", "room"), [
    ("report", 1100, "wide"), ("report", 390, "narrow"), ("groups", 1100, "wide"), ("many", 1100, "wide"),
    ("many", 390, "narrow"), ("bad", 1100, "wide"),
])  # fmt: skip
def test_the_cell_under_the_pointer_is_told(
    opened: Any,  # noqa: ANN401
    files: dict[str, Path],
    name: str,
    width: int,
    room: str,
) -> None:
    page, of = ready(opened(name, width)), map_of(files, name)
    assert words(page).startswith("Point at a cell")
    for cell in sorted({0, 1, of.cells_per_plane, of.cells // 3, of.cells // 2 + 5, of.cells - 1}):
        point(page, of, cell, room)
        assert words(page).startswith(said(of, MOMENTS - 1, cell))
    page.mouse.move(2, 2)
    assert words(page).startswith("Point at a cell")
    assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0


def test_states_are_told_for_blocks_and_groups(opened: Any, files: dict[str, Path]) -> None:  # noqa: ANN401
    page, of = ready(opened("bad")), map_of(files, "bad")
    names = {"free": "erased", "open": "open", "closed": "closed", "victim": "being collected", "bad": "bad"}
    for state, name in names.items():
        cells = [n for n, share in enumerate(of.state(state, MOMENTS - 1)) if share == 255]
        if state != "victim":
            assert cells, f"no block is {state}"
        for cell in cells[:2]:
            point(page, of, cell)
            assert words(page).endswith(f", {name}")
    assert [n for n, share in enumerate(of.state("bad", 0)) if share] == [3, 30]
    page, of = ready(opened("groups")), map_of(files, "groups")
    mixed = next(n for n, share in enumerate(of.state("open", MOMENTS - 1)) if 0 < share < 255)
    point(page, of, mixed)
    parts = re.findall(r"(\d+) (?:erased|open|closed|being collected)", words(page))
    assert sum(map(int, parts)) == min(3, of.blocks_per_plane - mixed % of.cells_per_plane * 3)


def test_the_slider_and_its_keys_go_through_the_run(opened: Any, files: dict[str, Path]) -> None:  # noqa: ANN401
    page, of = ready(opened()), map_of(files, "report")
    slider = page.get_by_label("Moment of the run")
    whole = page.locator(".blocks .whole")
    point(page, of, 7)
    for moment in range(MOMENTS - 1, -1, -1):
        assert page.locator(".blocks .time").inner_text().startswith(f"{of.at_s[moment]:.1f} s of ")
        assert slider.get_attribute("aria-valuetext") == f"{of.at_s[moment]:.1f} s"
        assert words(page).startswith(said(of, moment, 7))
        text = whole.inner_text()
        assert text.startswith(f"At {of.at_s[moment]:.1f} s: ")
        for state, name in {"free": "erased", "open": "open", "closed": "closed", "victim": "being collected"}.items():
            count = int((of.state(state, moment) == 255).sum())
            assert bool(count) == bool(re.search(rf"\b{count:,} (?:blocks? )?{name}\b", text))
        slider.focus()
        page.keyboard.press("ArrowLeft")
    assert page.locator(".blocks .time").inner_text().startswith("0.0 s"), "it stays at the first"
    before = page.evaluate(COLOURS)
    page.keyboard.press("End")
    assert page.evaluate(COLOURS) != before


def test_play_goes_on_to_the_end_and_can_be_stopped(opened: Any) -> None:  # noqa: ANN401
    page = ready(opened())
    play = page.locator(".playing button")
    time = page.locator(".blocks .time")
    play.focus()
    page.keyboard.press("Enter")
    assert play.inner_text() == "Pause"
    assert time.inner_text().startswith("0.0 s"), "from the start, as it stood at the end"
    page.wait_for_function("() => document.querySelector('.playing input').value === '2'")
    page.keyboard.press("Enter")
    assert play.inner_text() == "Play"
    held = time.inner_text()
    page.wait_for_timeout(600)
    assert time.inner_text() == held
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('.playing button').textContent === 'Play'", timeout=10_000)
    assert page.locator(".playing input").input_value() == str(MOMENTS - 1)


def test_arrows_choose_a_cell(opened: Any, files: dict[str, Path]) -> None:  # noqa: ANN401
    page, of = ready(opened()), map_of(files, "report")
    page.locator(".blocks canvas").focus()
    page.keyboard.press("ArrowRight")
    assert words(page).startswith(said(of, MOMENTS - 1, 0))
    page.keyboard.press("ArrowRight")
    assert words(page).startswith(said(of, MOMENTS - 1, 1))
    seen = set()
    # Over the whole row, including the gaps between planes and dies.
    for _ in range(200):
        page.keyboard.press("ArrowRight")
        seen.add(re.search(r"die (\d+), plane (\d+)", words(page)).groups())
    assert {die for die, _ in seen} == {"0", "1"}
    for _ in range(60):
        page.keyboard.press("ArrowDown")
    assert words(page).startswith("channel 1, ")
    page.keyboard.press("Escape")
    assert words(page).startswith("Point at a cell")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_views_differ_and_follow_light_and_dark(opened: Any, scheme: str) -> None:  # noqa: ANN401
    page = ready(opened("bad", scheme=scheme))
    looks, legends = [], []
    for view in ("P/E cycles", "state", "valid data"):
        page.get_by_role("radio", name=view).check()
        looks.append(page.evaluate(COLOURS))
        legends.append(page.locator(".blocks .legend").inner_text())
    assert looks[0] != looks[1] != looks[2] != looks[0]
    assert "P/E cycle" in legends[0] and "closed" in legends[1] and "100 % valid" in legends[2]
    assert all("being collected" in text for text in legends)
    assert "bad" in legends[1] and "held back" not in legends[1], "no block ever was"
    before = page.evaluate(COLOURS)
    page.emulate_media(color_scheme="dark" if scheme == "light" else "light")
    page.wait_for_timeout(100)
    assert page.evaluate(COLOURS) != before


def test_without_scripts_and_on_paper_there_is_a_picture_of_the_end(opened: Any) -> None:  # noqa: ANN401
    still = "#blocks .wide svg"
    page = opened(java_script_enabled=False)
    assert page.locator(still).is_visible()
    assert "at the end of the run" in page.locator("#blocks figcaption").inner_text()
    assert not page.locator(".blocks").is_visible()
    page = ready(opened())
    assert not page.locator(still).is_visible() and not page.locator("#blocks figcaption").is_visible()
    page.emulate_media(media="print")
    assert page.locator(still).is_visible() and page.locator("#blocks figcaption").is_visible()
    assert not page.locator(".blocks").is_visible()


def test_it_needs_neither_charts_nor_a_second_moment(opened: Any, files: dict[str, Path]) -> None:  # noqa: ANN401
    page = ready(opened("alone"))
    assert page.evaluate("() => typeof uPlot") == "undefined"
    point(page, map_of(files, "alone"), 3)
    assert words(page).startswith("channel 0, die 0, plane 0, block 3: ")
    page = ready(opened("one"))
    assert page.locator(".playing button").is_disabled() and page.locator(".playing input").is_disabled()
