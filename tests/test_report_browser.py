"""The pages as a browser shows them: at a desktop's and a telephone's width, light and dark, and on paper."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import BROWSER, PROGRAM, SMALL_DRIVE, SMALL_LOAD

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")

if BROWSER is None:
    pytest.skip("there is no Chromium; WORDLINE_BROWSER may name one", allow_module_level=True)

QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
QUIET += ["--disable-component-update", "--disable-sync"]

WIDTHS = {"desktop": 1100, "telephone": 390}
PAGES = ("report", "comparison", "pts")
FIGURES_OF = {"report": 13, "comparison": 4, "pts": 12}

# Luminance and contrast as WCAG 2.2 defines them, of every text on the first opaque background behind it.
CONTRASTS = """() => {
  const part = (v) => { const c = v / 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const worst = [];
  for (const element of document.querySelectorAll("main *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.closest("[disabled]")) continue;
    if (element.closest("svg .on-colour")) continue;
    const style = getComputedStyle(element);
    const inside = element instanceof SVGElement;
    const front = light(parse(inside ? style.fill : style.color));
    const back = light(behind(element));
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    worst.push([ratio, element.textContent.trim().slice(0, 40)]);
  }
  return worst.sort((a, b) => a[0] - b[0]).slice(0, 5);
}"""

# Of each figure that is shown: how large it is, and how many of its marks have colours that differ from the page's.
FIGURES = """() => [...document.querySelectorAll("figure svg")].filter((svg) => svg.checkVisibility()).map((svg) => {
  const paper = getComputedStyle(document.body).backgroundColor;
  const marks = [...svg.querySelectorAll("path, image")].filter((mark) => {
    const { fill, stroke } = getComputedStyle(mark);
    return mark.tagName === "image" || [fill, stroke].some((colour) => colour !== "none" && colour !== paper);
  });
  const box = svg.getBoundingClientRect();
  return [box.width, box.height, marks.length];
})"""

OVERFLOW = "() => document.documentElement.scrollWidth - innerWidth"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report and a comparison of real runs, and the page of a drive's tests."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "small.toml").write_text(SMALL_DRIVE)
    (folder / "load.toml").write_text(SMALL_LOAD)

    def command(*arguments: str) -> None:
        subprocess.run([PROGRAM, *arguments], cwd=folder, check=True, capture_output=True, timeout=120)

    command("run", "small.toml", "load.toml", "-q", "--json", "one.json", "--report", "report.html")
    command("run", "small.toml", "load.toml", "-q", "--json", "other.json", "--set", "buffer.policy=none")
    command("compare", "one.json", "other.json", "-q", "--report", "comparison.html")
    command("pts", "small.toml", "-q", "--round", "20ms", "--capacities", "0.5", "--report", "pts.html")
    (folder / "sparse.csv").write_text(
        "time_us,op,offset_bytes,size_bytes\n" + "".join(f"{n * n * 20_000},R,{n * 16384},4096\n" for n in range(20))
    )
    command("run", "small.toml", "sparse.csv", "-q", "--report", "sparse.html")
    return {name: folder / f"{name}.html" for name in (*PAGES, "sparse")}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=BROWSER, args=QUIET)
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any, files: dict[str, Path]) -> Iterator[Any]:  # noqa: ANN401
    """Opens a page without a network, and fails at anything that the browser complains of."""
    complaints: list[str] = []
    contexts = []

    def opener(name: str = "report", width: int = 1100, scheme: str = "light", **options: Any) -> Any:  # noqa: ANN401
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: None if request.url.startswith(("file:", "data:")) else complaints.append(request.url),
        )
        page.goto(files[name].as_uri())
        return page

    yield opener
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_read(opened: Any, name: str, width: str, scheme: str) -> None:  # noqa: ANN401
    page = opened(name, WIDTHS[width], scheme)
    assert page.evaluate(OVERFLOW) <= 0, "nothing sticks out sideways"
    background = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 29)"}[scheme]
    for ratio, text in page.evaluate(CONTRASTS):
        assert ratio >= 4.5, f"'{text}' has a contrast of {ratio:.2f}"
    shown = page.evaluate(FIGURES)
    assert len(shown) == FIGURES_OF[name]
    for wide, tall, marks in shown:
        assert wide > 0.8 * min(WIDTHS[width] - 40, 900)
        assert tall > 80
        assert marks > 3


def output(page: Any) -> str:  # noqa: ANN401
    return page.locator(".zoom output").inner_text()


def spans(page: Any) -> list[str | None]:  # noqa: ANN401
    """How the layers of all figures over time are stretched."""
    return page.evaluate(
        '() => [...document.querySelectorAll("g.time g.data")].map((g) => g.getAttribute("transform"))'
    )


@pytest.mark.parametrize(("name", "width"), [("report", 1100), ("report", 390), ("comparison", 1100)])
def test_dragging_in_one_figure_zooms_all(opened: Any, name: str, width: int) -> None:  # noqa: ANN401
    page = opened(name, width)
    assert output(page).startswith("The whole run")
    assert not any(spans(page))
    shown = page.locator(f".zooms .{'wide' if width > 620 else 'narrow'} svg").first
    shown.scroll_into_view_if_needed()
    box = shown.bounding_box()
    # In the upper panel: there is nothing to drag between two.
    middle = box["y"] + 0.3 * box["height"]
    page.mouse.move(box["x"] + 0.4 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], middle, steps=4)
    page.mouse.up()
    found = re.fullmatch(r"From ([\d.]+) s to ([\d.]+) s, of ([\d.]+) s\.", output(page))
    assert found
    first, last, whole = map(float, found.groups())
    assert 0 < first < last < whole
    assert 0.1 * whole < last - first < 0.35 * whole
    assert all(spans(page))
    names = page.evaluate(
        '() => [...document.querySelectorAll(".zoomed .tick-name")].map((t) => t.textContent).filter((t) => !isNaN(t))'
    )
    assert names
    assert all(first * 0.99 <= float(text) <= last * 1.01 for text in names)
    assert page.evaluate(OVERFLOW) <= 0
    page.get_by_role("button", name="Whole run").click()
    assert output(page).startswith("The whole run")
    assert not any(spans(page))


def test_what_stands_alone_is_a_dot_and_stays_one(opened: Any) -> None:  # noqa: ANN401
    page = opened("sparse")
    dots = """() => [...document.querySelectorAll("g.data use")].filter((dot) => dot.checkVisibility())
      .map((dot) => dot.getBoundingClientRect()).map((box) => [box.width, box.height])"""
    before = page.evaluate(dots)
    assert len(before) >= 20
    assert all(2 < wide < 10 and wide == pytest.approx(tall, rel=0.1) for wide, tall in before)
    for _ in range(3):
        page.get_by_role("button", name="Zoom in").click()
    assert all(spans(page))
    assert page.evaluate(dots) == [pytest.approx(box, rel=0.1) for box in before]


def test_the_keyboard_zooms_too(opened: Any) -> None:  # noqa: ANN401
    page = opened()
    figure = page.locator(".zooms figure").first
    figure.focus()
    page.keyboard.press("+")
    after_one = output(page)
    assert after_one.startswith("From")
    page.keyboard.press("ArrowRight")
    assert output(page) not in (after_one, "")
    page.keyboard.press("0")
    assert output(page).startswith("The whole run")
    start, end = page.get_by_label("From, in seconds"), page.get_by_label("To, in seconds")
    whole = float(end.input_value())
    start.fill(str(whole / 4))
    start.press("Enter")
    end.fill(str(whole / 2))
    end.press("Enter")
    assert output(page).startswith("From")
    assert float(start.input_value()) == pytest.approx(whole / 4, rel=0.05)
    start.fill("nonsense")
    start.press("Enter")
    assert float(start.input_value()) == pytest.approx(whole / 4, rel=0.05)


def test_without_scripts_the_whole_run_is_shown(opened: Any) -> None:  # noqa: ANN401
    page = opened(java_script_enabled=False)
    assert not page.locator(".zoom").is_visible()
    assert page.locator(".zooms figure .wide").first.is_visible()


def test_figures_have_words_and_tables_are_text(opened: Any) -> None:  # noqa: ANN401
    page = opened()
    unnamed = page.evaluate('() => [...document.querySelectorAll("[role=img]")].filter((e) => !e.ariaLabel).length')
    assert unnamed == 0
    headers = page.evaluate('() => [...document.querySelectorAll("th")].filter((th) => !th.scope).length')
    assert headers == 0
    levels = page.evaluate('() => [...document.querySelectorAll("h1,h2,h3")].map((h) => Number(h.tagName[1]))')
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_long_tables_of_settings_fold_and_paper_has_them(opened: Any) -> None:  # noqa: ANN401
    page = opened()
    seen = """() => [...document.querySelectorAll("#configuration details td, #workload details td")]
        .map((cell) => cell.checkVisibility() && cell.getBoundingClientRect().height > 0)"""
    folded = page.evaluate(seen)
    assert len(folded) > 80 and not any(folded)
    page.emulate_media(media="print")
    assert all(page.evaluate(seen))
    page.emulate_media(media="screen")
    page.locator("#configuration summary").click()
    assert any(page.evaluate(seen))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_prints(opened: Any, tmp_path: Path, name: str) -> None:  # noqa: ANN401
    page = opened(name, scheme="dark")
    page.pdf(path=tmp_path / "page.pdf", format="A4", prefer_css_page_size=True)
    data = (tmp_path / "page.pdf").read_bytes()
    pages = len(re.findall(rb"/Type\s*/Page\b", data))
    assert {"report": 6, "comparison": 2, "pts": 4}[name] <= pages <= 30
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator(".zoom").is_visible()
    shown = page.evaluate(FIGURES)
    assert len(shown) == FIGURES_OF[name]


def test_names_from_outside_stay_text(browser: Any, files: dict[str, Path], tmp_path: Path) -> None:  # noqa: ANN401
    result = json.loads((files["report"].parent / "one.json").read_text())
    result["workload"]["jobs"][0]["name"] = "</title><script>document.title = 'taken'</script>"
    (tmp_path / "evil.json").write_text(json.dumps(result))
    subprocess.run([PROGRAM, "report", "evil.json", "-o", "evil.html"], cwd=tmp_path, check=True, timeout=60)
    page = browser.new_page()
    page.goto((tmp_path / "evil.html").as_uri())
    assert page.title() != "taken"
    assert "</title><script>" in page.title()
    page.close()
