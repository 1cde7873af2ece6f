"""Draws the figures of the documentation anew: ``make figures``.

The runs are those whose commands stand on the pages; Wordline draws the figures. The picture of a report needs Chromium
and playwright; without them it is left as it is.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FIGURES = DOCS / "figures"
PROGRAM = os.environ.get("WORDLINE", str(Path(sys.executable).parent / "wordline"))
MOST_BYTES = 60_000

RUNS = {
    "concepts": ("empty", "hot", "buffer", "unbuffered", "mix", "suspend"),
}
"""Pages, and the results of their commands that are drawn."""

DRAWN = {
    "report demo.json": {
        "latency-distribution": "report-latency",
        "dies-over-time": "report-dies",
        "free-space-and-write-amplification-over-time": "report-free-space",
        "wear-of-the-blocks": "report-wear",
    },
    "report empty.json": {
        "throughput-over-time": "empty-throughput",
        "free-space-and-write-amplification-over-time": "empty-free-space",
        "dies-over-time": "empty-dies",
    },
    "report hot.json": {"wear-of-the-blocks": "hot-wear"},
    "compare buffer.json unbuffered.json": {"latency-distributions": "buffer-latency"},
    "compare mix.json suspend.json": {"latency-distributions": "suspend-latency"},
}
"""What draws figures, and which of them are taken under what name."""


SLOW = r"^\$ wordline (run demo load\.toml --watch .* --dashboard-control)$"
"""The command whose page is shown."""


def wordline(folder: Path, *words: str | Path) -> None:
    """Runs the program in a folder."""
    subprocess.run([PROGRAM, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def runs(folder: Path) -> None:
    """Does the runs of the pages whose results are drawn, with the files that the pages show."""
    for page in ("first-run", *RUNS):
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        for name, block in re.findall(r"^```toml\n# (\S+)\n(.*?)^```$", text, re.M | re.S):
            (folder / name).write_text(block, encoding="utf-8")
        for line in re.findall(r"^\$ wordline (run .*)$", text, re.M):
            result = re.search(r"--json (\w+)\.json", line)
            if result and result[1] in RUNS.get(page, ()):
                wordline(folder, *shlex.split(line), "--quiet")
    trace = ROOT / "traces" / "pgbench-ext4.csv.zst"
    wordline(folder, "run", "demo", trace, "--quiet", "--json", "demo.json", "--report", "demo.html")


def draw(folder: Path) -> None:
    """Draws the figures and takes those that the pages show."""
    FIGURES.mkdir(exist_ok=True)
    for command, taken in DRAWN.items():
        drawn = folder / "drawn"
        wordline(folder, *command.split(), "--figures", drawn)
        for name, target in taken.items():
            path = drawn / f"{name}.svg"
            if path.stat().st_size > MOST_BYTES:
                raise SystemExit(f"{target}.svg has {path.stat().st_size:,} bytes, more than {MOST_BYTES:,}")
            shutil.copy(path, FIGURES / f"{target}.svg")
        shutil.rmtree(drawn)


def photograph(address: str, target: Path, size: tuple[int, int], after: str | None = None) -> None:
    """Takes a picture of the beginning of a page.

    :param after: what the page must say before, as a condition of JavaScript.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print(f"{target.name} is as it was: playwright is not installed", file=sys.stderr)
        return
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    browser = os.environ.get("WORDLINE_BROWSER") or next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        print(f"{target.name} is as it was: there is no Chromium; WORDLINE_BROWSER may name one", file=sys.stderr)
        return
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        view = opened.new_page(viewport={"width": size[0], "height": size[1]})
        view.goto(address)
        if after is not None:
            view.wait_for_function(after)
        view.screenshot(path=target)
        opened.close()


def photograph_live(folder: Path) -> None:
    """Takes a picture of the page of a run in slow motion, that of live-disk.md, once GC is at work."""
    text = (DOCS / "live-disk.md").read_text(encoding="utf-8")
    load, arguments = re.search(r"^```toml\n# load.toml\n(.*?)^```$", text, re.M | re.S), re.search(SLOW, text, re.M)
    if load is None or arguments is None:
        raise SystemExit("live-disk.md has no run in slow motion any more")
    (folder / "load.toml").write_text(load[1], encoding="utf-8")
    command = [PROGRAM, *shlex.split(arguments[1]), "--quiet"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        address = run.stderr.readline().removeprefix("Dashboard: ").strip()
        after = "() => Number(document.querySelector('#tiles li.loud strong')?.textContent) > 3"
        photograph(address, DOCS / "live-page.png", (1280, 760), after)
        run.terminate()


def main() -> None:
    """Draws all of them."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        runs(folder)
        draw(folder)
        photograph((folder / "demo.html").as_uri(), DOCS / "first-run.png", (900, 1505))
        photograph_live(folder)


if __name__ == "__main__":
    main()
