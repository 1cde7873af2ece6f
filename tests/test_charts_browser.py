"""Charts over simulated time in a browser: one cursor, one zoom, and the values of the run."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import synthetic
from conftest import SMALL_DRIVE, SMALL_LOAD, Run, done
from wordline.base import palette, units
from wordline.report import page as report
from wordline.results import amplification, causes

PLACES = ("latency", "latencies", "throughput", "causes", "space", "dies", "channels")

PLOTS = 'uPlot.sync("wordline-over-time").plots'

SPANS = f"() => {PLOTS}.map((plot) => [plot.scales.x.min, plot.scales.x.max])"

CURSORS = f"() => {PLOTS}.map((plot) => plot.cursor.left < 0 ? null : plot.posToVal(plot.cursor.left, 'x'))"

# The legends of the charts of a place: the interval and its values.
LEGENDS = """(place) => [...document.querySelectorAll(`[data-chart=${place}] .legend`)].map((legend) => [
  legend.querySelector(".when").textContent,
  ...[...legend.querySelectorAll(".value")].map((value) => value.textContent),
])"""

# Number of pixels of all charts in the page's colour of that name.
PIXELS = """(name) => {
  const colour = getComputedStyle(document.documentElement).getPropertyValue(name).trim().slice(1);
  const [red, green, blue] = [0, 2, 4].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return [...document.querySelectorAll(".chart canvas")].map((canvas) => {
    const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
    const pen = copy.getContext("2d", { willReadFrequently: true });
    pen.drawImage(canvas, 0, 0);
    const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
    let found = 0;
    for (let at = 0; at < data.length; at += 4) {
      found += data[at] === red && data[at + 1] === green && data[at + 2] === blue && data[at + 3] === 255;
    }
    return found;
  });
}"""


@pytest.fixture(scope="module")
def files(program: Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report and a comparison of real runs, a report with few requests, and reports of odd results."""
    folder = tmp_path_factory.mktemp("charts")
    (folder / "small.toml").write_text(SMALL_DRIVE)
    (folder / "load.toml").write_text(SMALL_LOAD)

    def command(*arguments: str) -> None:
        done(program(*arguments, cwd=folder))

    command("run", "small.toml", "load.toml", "-q", "--json", "report.json", "--report", "report.html")
    command("run", "small.toml", "load.toml", "-q", "--json", "other.json", "--set", "link.pcie_lanes=1")
    command("compare", "report.json", "other.json", "-q", "--report", "comparison.html")
    (folder / "sparse.csv").write_text(
        "time_us,op,offset_bytes,size_bytes\n" + "".join(f"{n * n * 20_000},R,{n * 16384},4096\n" for n in range(20))
    )
    command("run", "small.toml", "sparse.csv", "-q", "--json", "sparse.json", "--report", "sparse.html")
    for name, changes in ODD.items():
        (folder / f"{name}.html").write_text(report.html(synthetic.result() | changes))
    names = ("report", "comparison", "sparse", *ODD)
    return {name: folder / f"{name}.html" for name in names}


# Reads are lower than writes, so the dots of neither cover the other's.
ONE = {
    key: [5.0 if key.startswith("read") else 7.0]
    for key in synthetic.result()["series"]
    if key.endswith(("_iops", "_mib_s", "_us", "_blocks"))
}
NOTHING = {key: [None] * 3 for key in ONE} | {"read_iops": [4.0, None, float("nan")], "latency_max_us": [None, 5.0, 0]}

ODD: dict[str, dict[str, Any]] = {
    "bare": {"series": None},
    "one": {"simulated_s": 0.5, "series": {"interval_s": 1.0, "start_s": [0.0], "write_amplification": [1.0], **ONE}},
    "holes": {
        "simulated_s": 3.0,
        "series": {"interval_s": 1.0, "start_s": [0, 1, 2], "write_amplification": [None] * 3, **NOTHING},
    },
}


def result_of(files: dict[str, Path], name: str = "report") -> dict[str, Any]:
    return json.loads(files[name].with_suffix(".json").read_text())


def panels_of(page: Any, place: str) -> list[dict[str, Any]]:  # noqa: ANN401
    """The data of a place in the page."""
    return json.loads(page.locator("#over-time-data").text_content())["figures"][place]


def output(page: Any) -> str:  # noqa: ANN401
    return page.locator(".zoom output").inner_text()


def over(page: Any, place: str) -> dict[str, float]:  # noqa: ANN401
    """The area of the first panel of a place, in view."""
    found = page.locator(f"[data-chart={place}] .u-over").first
    # In the middle of the window: the sticky bar would catch the pointer at its edge.
    found.evaluate("(element) => element.scrollIntoView({ block: 'center' })")
    return found.bounding_box()


def drag(page: Any, place: str, first: float, last: float) -> None:  # noqa: ANN401
    box = over(page, place)
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + first * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + last * box["width"], middle, steps=4)
    page.mouse.up()
    settle(page)


def settle(page: Any) -> None:  # noqa: ANN401
    """Charts are drawn after the previous script."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_all_charts_share_one_cursor(opened: Any, files: dict[str, Path]) -> None:  # noqa: ANN401
    page, end = opened(), result_of(files)["simulated_s"]
    assert page.evaluate(CURSORS) == [None] * page.evaluate(f"() => {PLOTS}.length")
    box = over(page, "causes")
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 20)
    settle(page)
    cursors = page.evaluate(CURSORS)
    assert len(cursors) >= 9
    assert cursors == [pytest.approx(end / 4, rel=0.01)] * len(cursors)
    for place in PLACES:
        for when, *values in page.evaluate(LEGENDS, place):
            first, last = map(float, re.fullmatch(r"([\d.]+) to ([\d.]+) s", when).groups())
            assert first <= cursors[0] <= last
            assert any(values)
    page.mouse.move(box["x"] - 50, box["y"] - 60)
    settle(page)
    assert page.evaluate(CURSORS) == [None] * len(cursors)
    assert not any(page.evaluate(LEGENDS, "latency")[0])


def test_the_values_under_the_cursor_are_those_of_the_run(opened: Any, files: dict[str, Path]) -> None:  # noqa: ANN401
    page, result = opened(), result_of(files)
    series, written = result["series"], amplification.over_time(result)
    rows = len(series["start_s"])
    assert rows > 20
    page.locator("[data-chart=latency]").focus()
    for n in range(rows):
        page.keyboard.press("ArrowRight")
        if n % 7 and n < rows - 1:
            continue
        settle(page)
        first = float(page.evaluate(LEGENDS, "latency")[0][0].partition(" ")[0])
        assert first == pytest.approx(series["start_s"][n], abs=series["interval_s"] / 10)
        keys = [[f"{op}_latency_{stat}_us" for stat in ("max", "p99", "mean")] for op in ("read", "write")]
        told = [[units.latency(series[key][n]) for key in row if any(series[key])] for row in keys]
        assert [row[1:] for row in page.evaluate(LEGENDS, "latency")] == told
        rates = (("mib_s", "MiB/s"), ("iops", "requests/s"))
        told = [f"{units.short(series[f'{op}_{unit}'][n])} {name}" for unit, name in rates for op in causes.OPS]
        assert [text for row in page.evaluate(LEGENDS, "throughput") for text in row[1:]] == told
        told = [[units.count(series["free_blocks"][n])]]
        told += [["–" if v[n] is None else units.three(v[n]) for v in (written.rolling, written.since_start)]]
        assert [row[1:] for row in page.evaluate(LEGENDS, "space")] == told
    # Once more, and it stays at the last.
    page.keyboard.press("ArrowRight")
    settle(page)
    assert [row[1:] for row in page.evaluate(LEGENDS, "space")] == told


def test_a_map_of_latencies_tells_its_counts(opened: Any, files: dict[str, Path]) -> None:  # noqa: ANN401
    page, result = opened(), result_of(files)
    told, (first, *_) = result["latency_over_time"], panels_of(page, "latencies")
    box = over(page, "latencies")
    low, high = (math.log(us) for us in (first["edges"][0], first["edges"][-1]))
    n = len(told["read"]) // 2
    row = max(range(len(first["columns"][n])), key=first["columns"][n].__getitem__)
    middle = sum(math.log(us) for us in first["edges"][row : row + 2]) / 2
    page.mouse.move(
        box["x"] + box["width"] * (n + 0.5) * told["interval_s"] / result["simulated_s"],
        box["y"] + box["height"] * (high - middle) / (high - low),
    )
    settle(page)
    (_, text), (_, other) = page.evaluate(LEGENDS, "latencies")
    assert text.startswith(f"{units.some(max(told['read'][n]), 'request')} of ")
    assert f"; {units.count(sum(told['read'][n]))} in all, the slowest of up to " in text
    assert text.endswith(f"up to {units.latency(told['up_to_us'][len(told['read'][n]) - 1])}")
    assert other.startswith(f"{units.some(sum(told['write'][n]), 'request')}, the slowest"), "the pointer is elsewhere"


def test_operations_have_one_scale_of_latency(opened: Any) -> None:  # noqa: ANN401
    page = opened()
    scales = f"() => {PLOTS}.slice(0, 2).map((plot) => [plot.scales.y.min, plot.scales.y.max])"
    whole = page.evaluate(scales)
    assert whole[0] == whole[1]
    drag(page, "latency", 0.2, 0.3)
    closer = page.evaluate(scales)
    assert closer[0] == closer[1]
    page.keyboard.press("0")
    for button in page.locator("[data-chart=latency] .legend button", has_text="slowest").all():
        button.click()
    settle(page)
    without = page.evaluate(scales)
    assert without[0] == without[1] and without[0][1] < whole[0][1], "what is hidden takes no room"
    page.emulate_media(color_scheme="dark")
    settle(page)
    assert page.evaluate(scales) == without, "and stays hidden"


def test_causes_and_maps_tell_their_values_too(opened: Any, files: dict[str, Path]) -> None:  # noqa: ANN401
    page, result = opened(), result_of(files)
    spent = result["time_of"]["series"]["read"]
    page.locator("[data-chart=causes]").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    settle(page)
    column = [spent[cause.key][2] for cause in causes.CAUSES if cause.key in spent]
    assert page.evaluate(LEGENDS, "causes")[0][1:] == [units.percent(part / sum(column)) for part in column]
    # With the pointer on the last die: its share first, then those of all.
    dies = result["activity"]["dies"]
    box = over(page, "dies")
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + box["height"] - 3)
    settle(page)
    text = page.evaluate(LEGENDS, "dies")[0][1]
    at = page.evaluate(CURSORS)[0]
    n = int(at // result["activity"]["interval_s"])
    mean = sum(die[n] for die in dies) / len(dies)
    assert text.startswith(f"die {len(dies) - 1} {units.percent(dies[-1][n])}; mean {units.percent(mean)}, die ")
    assert text.endswith(f"most with {units.percent(max(die[n] for die in dies))}")
    assert not page.evaluate(LEGENDS, "channels")[0][1].startswith("channel"), "the pointer is elsewhere"


@pytest.mark.parametrize(("name", "width"), [("report", 1100), ("report", 390), ("comparison", 1100)])
def test_dragging_in_one_chart_zooms_all(opened: Any, name: str, width: int) -> None:  # noqa: ANN401
    page = opened(name, width)
    assert output(page).startswith("Whole run")
    whole = page.evaluate(SPANS)
    assert whole == [whole[0]] * len(whole)
    drag(page, "throughput", 0.4, 0.6)
    found = re.fullmatch(r"From ([\d.]+) s to ([\d.]+) s, of ([\d.]+) s\.", output(page))
    assert found
    first, last, end = map(float, found.groups())
    assert 0.39 * end < first < 0.41 * end
    assert 0.59 * end < last < 0.61 * end
    spans = page.evaluate(SPANS)
    assert spans == [spans[0]] * len(whole)
    assert spans[0] == [pytest.approx(first, rel=0.01), pytest.approx(last, rel=0.01)]
    # The axis is redrawn: it resolves the visible range.
    ticks = f"() => {PLOTS}[0].axes[0]._splits"
    assert len([tick for tick in page.evaluate(ticks) if spans[0][0] <= tick <= spans[0][1]]) >= 2
    drag(page, "latency", 0.25, 0.75)
    closer = page.evaluate(SPANS)[0]
    assert closer[1] - closer[0] == pytest.approx((last - first) / 2, rel=0.03)
    box = over(page, "latency")
    page.mouse.dblclick(box["x"] + 60, box["y"] + 60)
    settle(page)
    assert output(page).startswith("Whole run")
    assert page.evaluate(SPANS) == whole


def test_a_finger_zooms_too(opened: Any) -> None:  # noqa: ANN401
    page = opened(width=390, has_touch=True)
    box = over(page, "latency")
    wire = page.context.new_cdp_session(page)
    middle = box["y"] + box["height"] / 2
    at = lambda share: [{"x": box["x"] + share * box["width"], "y": middle}]  # noqa: E731
    wire.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": at(0.2)})
    for share in (0.3, 0.5, 0.7):
        wire.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": at(share)})
    wire.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    settle(page)
    assert output(page).startswith("From")
    spans = page.evaluate(SPANS)
    assert spans == [spans[0]] * len(spans)


def test_the_keyboard_zooms_and_resets(opened: Any) -> None:  # noqa: ANN401
    page = opened()
    whole = page.evaluate(SPANS)
    page.locator("[data-chart=dies]").focus()
    page.keyboard.press("+")
    settle(page)
    half = page.evaluate(SPANS)[0]
    assert half == [pytest.approx(whole[0][1] / 4), pytest.approx(whole[0][1] * 3 / 4)]
    page.keyboard.press("Shift+ArrowRight")
    settle(page)
    assert page.evaluate(SPANS)[0] == [pytest.approx(whole[0][1] * 3 / 8), pytest.approx(whole[0][1] * 7 / 8)]
    page.keyboard.press("0")
    settle(page)
    assert page.evaluate(SPANS) == whole
    button = page.get_by_role("button", name="Whole run")
    assert button.is_disabled()
    start, end = page.get_by_label("From, in seconds"), page.get_by_label("To, in seconds")
    length = float(end.input_value())
    start.fill(str(length / 4))
    start.press("Enter")
    end.fill(str(length / 2))
    end.press("Enter")
    assert output(page).startswith("From")
    start.fill("nonsense")
    start.press("Enter")
    assert float(start.input_value()) == pytest.approx(length / 4, rel=0.05)
    button.focus()
    page.keyboard.press("Enter")
    settle(page)
    assert output(page).startswith("Whole run")
    assert page.evaluate(SPANS) == whole
    # The zoom ends at one interval.
    for _ in range(30):
        page.get_by_role("button", name="Zoom in").click()
    settle(page)
    first, last = page.evaluate(SPANS)[0]
    steps = "() => JSON.parse(document.getElementById('over-time-data').text).grids.map((grid) => grid.step)"
    least = min(page.evaluate(steps))
    assert last - first == pytest.approx(min(least, whole[0][1]), rel=1e-6)


def test_a_line_can_be_hidden_by_its_name(opened: Any) -> None:  # noqa: ANN401
    page = opened()
    name = page.locator("[data-chart=throughput] .legend button", has_text="read").first
    name.focus()
    page.keyboard.press("Enter")
    assert name.get_attribute("aria-pressed") == "false"
    place = "document.querySelector('[data-chart=throughput]')"
    plot = f"{PLOTS}.find((plot) => {place}.contains(plot.root))"
    shown = f"() => {plot}.series.map((one) => one.show)"
    assert page.evaluate(shown)[1:] == [False, True]
    name.click()
    assert page.evaluate(shown)[1:] == [True, True]


def test_what_stands_alone_is_a_dot(opened: Any, files: dict[str, Path]) -> None:  # noqa: ANN401
    page, result = opened("sparse"), result_of(files, "sparse")
    told = result["series"]["latency_mean_us"]
    known = [value is not None for value in [None, *told, None]]
    alone = [n for n in range(len(told)) if known[n : n + 3] == [False, True, False]]
    assert len(alone) >= 10
    mean = f"{PLOTS}[0].series.length - 1"
    assert page.evaluate(f"() => {PLOTS}[0].series.at(-1).points.filter({PLOTS}[0], {mean}, false)") == alone
    # Each of them is drawn, in the colour of its line, with nothing between two of them.
    painted = f"""() => {{
      const plot = {PLOTS}[0];
      const canvas = plot.ctx.canvas;
      const copy = Object.assign(document.createElement("canvas"), {{ width: canvas.width, height: canvas.height }});
      const pen = copy.getContext("2d", {{ willReadFrequently: true }});
      pen.drawImage(canvas, 0, 0);
      const level = Math.round(plot.valToPos(plot.data.at(-1).find((y) => y), "y", true));
      return plot.data[0].map((x, n) => {{
        const y = plot.data.at(-1)[n];
        const at = y === null ? level : Math.round(plot.valToPos(y, "y", true));
        return [...pen.getImageData(Math.round(plot.valToPos(x, "x", true)), at, 1, 1).data];
      }});
    }}"""
    pixels = page.evaluate(painted)
    blue = [int(palette.LIGHT["--blue"][at : at + 2], 16) for at in (1, 3, 5)]
    assert all(pixels[n][:3] == blue for n in alone)
    gaps = [n for n in range(3, len(told) - 3) if all(value is None for value in told[n - 3 : n + 4])]
    assert gaps and all(pixels[n][:3] != blue for n in gaps)


@pytest.mark.parametrize("name", ["report", "comparison"])
def test_charts_follow_light_and_dark(opened: Any, name: str) -> None:  # noqa: ANN401
    page = opened(name, scheme="light")
    drag(page, "latency", 0.3, 0.8)
    light, span = page.evaluate(PIXELS, "--blue"), page.evaluate(SPANS)
    assert sum(light) > 100
    page.emulate_media(color_scheme="dark")
    settle(page)
    dark = page.evaluate(PIXELS, "--blue")
    assert [count > 0 for count in dark] == [count > 0 for count in light]
    assert page.evaluate(SPANS) == span, "what was chosen stays"
    assert sum(page.evaluate(PIXELS, "--ink")) > 100, "letters of the axes"


def test_without_scripts_and_on_paper_the_figures_are_static(opened: Any) -> None:  # noqa: ANN401
    page = opened(java_script_enabled=False)
    assert not page.locator(".zoom").is_visible()
    assert page.locator(".zooms figure .wide").count() == 7
    for place in PLACES:
        assert page.locator(f"#{place}-over-time .wide svg").is_visible()
        assert not page.locator(f"[data-chart={place}]").is_visible()
    page = opened()
    assert not page.locator("#latency-over-time .wide svg").is_visible()
    page.emulate_media(media="print")
    assert page.locator("#latency-over-time .wide svg").is_visible()
    assert not page.locator("[data-chart=latency]").is_visible()
    assert not page.locator(".zoom").is_visible()


def test_results_with_little_to_draw_are_drawn(opened: Any) -> None:  # noqa: ANN401
    page = opened("bare")
    assert page.evaluate("() => [document.querySelector('#over-time'), typeof uPlot]") == [None, "undefined"]
    page = opened("one")
    assert page.evaluate(SPANS)[0] == [0, 0.5]
    box = over(page, "latency")
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + 20)
    settle(page)
    assert page.evaluate(LEGENDS, "latency") == [["0 to 0.5 s", "7.00 µs", "7.00 µs", "7.00 µs"]]
    assert min(page.evaluate(PIXELS, "--blue")[:3]) > 5, "a dot in each panel"
    page = opened("holes")
    box = over(page, "throughput")
    page.mouse.move(box["x"] + box["width"] / 6, box["y"] + 20)
    settle(page)
    assert page.evaluate(LEGENDS, "throughput") == [["0 to 1 s", "4 requests/s"]]
    assert page.evaluate(LEGENDS, "latency") == [["0 to 1 s", "–"]]


def test_axes_have_a_few_ticks_however_close_one_looks(opened: Any) -> None:  # noqa: ANN401
    ticks = f"""() => {PLOTS}.map((plot) => {{
      const {{ min, max }} = plot.scales.y;
      return plot.axes[1]._splits.filter((tick) => tick !== null && tick >= min && tick <= max).length;
    }})"""
    # All values of the second are equal.
    for page in (opened(), opened("one")):
        for _ in range(4):
            counts = page.evaluate(ticks)
            assert all(1 <= count <= 12 for count in counts), counts
            assert 2 <= counts[0] <= 9, "of latency"
            page.get_by_role("button", name="Zoom in").click()
            settle(page)


def test_nothing_moves_while_the_cursor_does(opened: Any) -> None:  # noqa: ANN401
    for width in (1100, 390):
        page = opened(width=width)
        # Blocks are unpacked before they are drawn.
        page.wait_for_selector("figure.live .blocks canvas")
        tall = "() => document.documentElement.scrollHeight"
        before = page.evaluate(tall)
        for place in PLACES:
            box = over(page, place)
            for share in (0.1, 0.5, 0.9):
                page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
                settle(page)
                assert page.evaluate(tall) == before, place
