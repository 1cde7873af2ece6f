"""The documentation site: it builds without a warning, and every internal link and anchor of it leads somewhere."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

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
