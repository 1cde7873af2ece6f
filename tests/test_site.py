"""The documentation site: it builds without a warning, every internal link and anchor of it leads somewhere, and it can
be read and searched as files, without a server or a network.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from conftest import BROWSER

pytest.importorskip("material", reason="mkdocs-material is not installed")
ROOT = Path(__file__).resolve().parent.parent


class Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
                if tag in ("link", "script", "img"):
                    self.loaded.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_links_and_anchors_resolve(site: Path) -> None:
    pages = {p.resolve(): Page(p.read_text(encoding="utf-8")) for p in site.rglob("*.html") if p.name != "404.html"}
    broken, checked = [], 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            checked += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            missing = anchor and target in pages and anchor not in pages[target].anchors
            if not target.is_file() or missing:
                broken.append(f"{path.name}: {link}")
    assert not broken, "\n".join(broken)
    assert checked > 100


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        elsewhere = [x for x in Page(path.read_text(encoding="utf-8")).loaded if urlsplit(x).netloc]
        assert not elsewhere, f"{path.name}: {elsewhere}"


def test_the_pages_for_tasks_lead_the_way(site: Path) -> None:
    """A page for each task, in the order of the navigation; the tutorial is a page, with the notebook beside it."""
    tasks = ["first-run", "my-trace", "my-drive", "my-policy", "compare", "report"]
    links = Page((site / "index.html").read_text(encoding="utf-8")).links
    places = [links.index(f"{task}.html") for task in tasks]
    assert places == sorted(places)
    assert "tutorial.html" in links
    assert "tutorial.ipynb" in Page((site / "tutorial.html").read_text(encoding="utf-8")).links


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
    if BROWSER is None:
        pytest.skip("there is no Chromium; WORDLINE_BROWSER may name one")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_fits_and_asks_nobody(site: Path, browser: Any, width: int) -> None:  # noqa: ANN401
    view = browser.new_page(viewport={"width": width, "height": 900})
    said: list[str] = []
    view.on("console", lambda message: said.append(message.text))
    view.on("pageerror", lambda error: said.append(str(error)))
    view.on("request", lambda request: said.append(request.url) if urlsplit(request.url).scheme != "file" else None)
    pages = [path for path in site.rglob("*.html") if path.name != "404.html"]
    wide = []
    for path in pages:
        view.goto(path.as_uri())
        if view.evaluate("document.documentElement.scrollWidth") > width:
            wide.append(path.name)
        broken = (
            "[...document.images].filter((image) => !image.complete || !image.naturalWidth).map((image) => image.src)"
        )
        said += view.evaluate(broken)
    assert (wide, said) == ([], [])
    assert len(pages) > 20


def test_search_works_in_files(site: Path, browser: Any) -> None:  # noqa: ANN401
    view = browser.new_page(viewport={"width": 1280, "height": 900})
    view.goto((site / "index.html").as_uri())
    view.locator("input.md-search__input").press_sequentially("percentile_error")
    first = view.locator(".md-search-result__link").first
    first.wait_for()
    found = [link.get_attribute("href") or "" for link in view.locator(".md-search-result__link").all()]
    assert any("results.html" in link for link in found), found


def test_a_link_to_a_key_opens_its_section(site: Path, browser: Any) -> None:  # noqa: ANN401
    view = browser.new_page(viewport={"width": 1280, "height": 900})
    page = (site / "reference.html").as_uri()
    view.goto(page)
    key = view.locator("[id='capacity.raw_over_logical']")
    row = view.locator("tr", has=key)
    assert not row.is_visible()
    view.goto(f"{page}#capacity.raw_over_logical")
    row.wait_for(state="visible")
    assert row.inner_text().startswith("raw_over_logical")
    assert view.locator("article details[open]").count() == 1
    # A result of the search, whose anchor is the heading and whose word may be in the section below it.
    view.goto(page + "?h=raw_over_logical#capacity")
    row.wait_for(state="visible")
