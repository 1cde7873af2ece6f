"""The pages in a browser: desktop and phone width, light and dark, and on paper."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import synthetic
from conftest import SMALL_DRIVE, SMALL_LOAD, Run, done

WIDTHS = {"desktop": 1100, "telephone": 390}
PAGES = ("report", "comparison", "replay", "pts")
FIGURES_OF = {"report": 14, "comparison": 4, "replay": 4, "pts": 12}

# Luminance and contrast as in WCAG 2.2, of every text on the first opaque background behind it.
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

# For each visible figure: its size, and the number of marks in colours other than the page's. A chart drawn by a script
# has pixels instead of marks.
FIGURES = """() => [...document.querySelectorAll("figure")].map((figure) => {
  const paper = getComputedStyle(document.body).backgroundColor;
  const every = [...figure.querySelectorAll(".wide > svg, .narrow > svg, .chart, .blocks")];
  const shown = every.filter((one) => one.checkVisibility());
  if (shown.length !== 1) return [0, 0, 0];
  const box = shown[0].getBoundingClientRect();
  const marks = [...shown[0].querySelectorAll(":is(.wide, .narrow) path, image")].filter((mark) => {
    const { fill, stroke } = getComputedStyle(mark);
    return mark.tagName === "image" || [fill, stroke].some((colour) => colour !== "none" && colour !== paper);
  });
  const colours = new Set([...shown[0].querySelectorAll("canvas")].flatMap((canvas) => {
    const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
    const pen = copy.getContext("2d", { willReadFrequently: true });
    pen.drawImage(canvas, 0, 0);
    const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
    return [...new Uint32Array(data.buffer)];
  }));
  return [box.width, box.height, marks.length + colours.size];
})"""

OVERFLOW = "() => document.documentElement.scrollWidth - innerWidth"


@pytest.fixture(scope="module")
def files(program: Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of a real run and a replay, a comparison of runs, and the page of a drive's tests."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "small.toml").write_text(SMALL_DRIVE)
    (folder / "load.toml").write_text(SMALL_LOAD)

    def command(*arguments: str) -> None:
        done(program(*arguments, cwd=folder))

    command("run", "small.toml", "load.toml", "-q", "--json", "one.json", "--report", "report.html")
    command("run", "small.toml", "load.toml", "-q", "--json", "other.json", "--set", "buffer.policy=none")
    command("compare", "one.json", "other.json", "-q", "--report", "comparison.html")
    sets = ("mapping.policy=bast", "wear.policy=lazy", "wear.delta_cycles=2", "capacity.raw_over_logical=2")
    options = [part for each in sets for part in ("--set", each)]
    command("replay", "small.toml", "load.toml", "-q", "--times", "20", *options, "--report", "replay.html")
    command("pts", "small.toml", "-q", "--round", "20ms", "--capacities", "0.5", "--report", "pts.html")
    return {name: folder / f"{name}.html" for name in PAGES}


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
    assert {"report": 6, "comparison": 2, "replay": 3, "pts": 4}[name] <= pages <= 30
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator(".zoom").is_visible()
    shown = page.evaluate(FIGURES)
    assert len(shown) == FIGURES_OF[name]


def test_names_from_outside_stay_text(
    wordline: Run,
    browser: Any,  # noqa: ANN401
    files: dict[str, Path],
    tmp_path: Path,
) -> None:
    result = json.loads((files["report"].parent / "one.json").read_text())
    result["workload"]["jobs"][0]["name"] = "</title><script>document.title = 'taken'</script>"
    # With charts, whose scripts the page then has.
    evil = synthetic.undrawn(result) | {"series": result["series"]}
    (tmp_path / "evil.json").write_text(json.dumps(evil))
    done(wordline("report", "evil.json", "-o", "evil.html"))
    page = browser.new_page()
    page.goto((tmp_path / "evil.html").as_uri())
    assert page.title() != "taken"
    assert "</title><script>" in page.title()
    page.close()
