"""The page of a live drive, in a browser: what it shows, what it changes, and its end."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import PROGRAM, SMALL_DRIVE, started
from servers import Live, serving
from test_live_view import page_of
from wordline.live import remote

INK = """(id) => {
  const canvas = document.getElementById(id);
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const colours = new Set();
  for (let at = 0; at < data.length; at += 4) if (data[at + 3] === 255) colours.add(data.slice(at, at + 3).join(" "));
  return [...colours];
}"""
"""The opaque colours of a canvas."""


class Writer(threading.Thread):
    """A client that writes until it is stopped, so that there is something to see."""

    def __init__(self, live: Live) -> None:
        super().__init__(daemon=True)
        self.client, self.stop = live.client(), threading.Event()

    def run(self) -> None:
        """Writes one page after the other."""
        at = 0
        while not self.stop.is_set():
            self.client.write(at, b"w" * 16384)
            at = (at + 7 * 16384) % (self.client.bytes - 16384)


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:  # noqa: ANN401
    """A page that asks nobody but the server it was opened at, and complains about nothing."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme="light")
    page = context.new_page()
    complaints: list[str] = []
    # The browser itself tells of a request that was refused, which is what a test wants.
    page.on("console", lambda told: None if "status of 400" in told.text else complaints.append(told.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: None if "//127.0.0.1:" in request.url else complaints.append(request.url))
    yield page
    context.close()
    assert complaints == []


def number(page: Any, tile: str) -> float:  # noqa: ANN401
    """The number of a tile."""
    text = page.locator("#tiles li", has_text=tile).locator("strong").inner_text()
    return float(re.sub(r"[^\d.]", "", text))


def test_the_page_shows_the_drive_and_changes_it(page: Any, tmp_path: Path) -> None:  # noqa: ANN401
    (tmp_path / "drive.toml").write_text(SMALL_DRIVE)
    with serving(tmp_path, "drive.toml", "--dashboard", "--dashboard-control") as live:
        writer = Writer(live)
        writer.start()
        page.goto(page_of(live))
        page.wait_for_function("() => document.querySelectorAll('#latencies tbody tr').length === 1")
        page.wait_for_function("() => Number.parseInt(document.querySelector('#tiles strong').textContent) > 0")
        assert page.locator("h1").inner_text() == "small" and "1 client" in page.locator("#course").inner_text()
        told = remote.Remote(str(live.socket)).view("")
        assert number(page, "WAF") == pytest.approx(told["write_amplification"], rel=0.3)
        # Every picture has something in it, in several colours.
        for canvas in ("dies", "latency", "blocks"):
            assert len(page.evaluate(INK, canvas)) >= 3, canvas
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        # It is in motion.
        course = page.locator("#course").inner_text()
        page.wait_for_function("(before) => document.getElementById('course').textContent !== before", arg=course)
        for view, word in (("wear", "P/E cycles"), ("state", "closed"), ("valid", "none valid")):
            page.check(f"input[value={view}]")
            assert word in page.locator("#blocks-legend").inner_text()
        page.check("input[value=late]")
        # A swap, a wrong one, a parameter.
        page.select_option("#policy", "fifo")
        page.click("#swap")
        page.wait_for_function("() => document.getElementById('answer').textContent.endsWith('done')")
        assert page.locator("#answer").inner_text() == "victim.policy = fifo: done"
        page.fill("#setting", "geometry.channels=2")
        page.click("button[type=submit]")
        page.wait_for_selector("#answer.wrong")
        assert "cannot change on a running disk" in page.locator("#answer").inner_text()
        page.wait_for_function("() => document.getElementById('foot').textContent.includes('victim.policy = fifo')")
        told = remote.Remote(str(live.socket)).view("")
        assert told["policies"]["victim"] == "fifo"
        page.click("#pause")
        page.wait_for_function("() => document.getElementById('course').textContent.startsWith('paused')")
        assert page.locator("#pause").inner_text() == "Resume"
        page.click("#pause")
        page.wait_for_function("() => !document.getElementById('course').textContent.startsWith('paused')")
        writer.stop.set()
        writer.join(20)
        live.end()
        page.wait_for_function("() => document.getElementById('course').textContent === 'The server has ended.'")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_that_may_only_look_has_no_controls(browser: Any, tmp_path: Path, scheme: str) -> None:  # noqa: ANN401
    (tmp_path / "drive.toml").write_text(SMALL_DRIVE)
    with serving(tmp_path, "drive.toml", "--dashboard") as live:
        context = browser.new_context(viewport={"width": 420, "height": 800}, color_scheme=scheme)
        page = context.new_page()
        page.goto(page_of(live))
        page.wait_for_function("() => document.querySelectorAll('#tiles li').length > 0")
        assert page.locator("button, select, #setting").count() == 0
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(18, 22, 29)")
        assert page.evaluate("document.documentElement.scrollWidth") <= 420, "nothing is cut off on a phone"
        context.close()
        live.end()


def test_a_run_is_shown_until_it_ends(page: Any, tmp_path: Path) -> None:  # noqa: ANN401
    (tmp_path / "small.toml").write_text(SMALL_DRIVE)
    (tmp_path / "load.toml").write_text("[[job]]\nrw = 'randwrite'\nbs = '16k'\niodepth = 8\nnumber_ios = 2000\n")
    command = [
        PROGRAM,
        "run",
        "small.toml",
        "load.toml",
        "-q",
        "--watch",
        "100000x",
        "--dashboard",
        "--dashboard-control",
    ]
    with started(command, stderr=subprocess.PIPE, cwd=tmp_path, env={**os.environ, "NO_COLOR": "1"}) as process:
        assert process.stderr is not None
        page.goto(process.stderr.readline().removeprefix("Dashboard: ").strip())
        page.wait_for_function("() => document.getElementById('course').textContent.includes('times as slow')")
        assert page.locator("h1").inner_text() == "load.toml on small" and page.locator("#policy").count() == 0
        # In slow motion one sees what each die does.
        page.wait_for_function("() => /[1-9] of \\d+ dies/.test(document.getElementById('dies-words').textContent)")
        page.fill("#setting", "10")
        page.click("button[type=submit]")
        page.wait_for_function("() => document.getElementById('course').textContent === 'The run has ended.'")
        assert process.wait(20) == 0
