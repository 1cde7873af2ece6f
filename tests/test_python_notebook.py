"""Drives and runs in notebooks: the tutorial, their display, and the progress bar."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import nbclient
import nbformat
import pytest
import wordline
from conftest import ROOT
from wordline import Drive, Workload
from wordline.api import notebook
from wordline.base import progress, units

TUTORIAL = ROOT / "docs" / "tutorial.ipynb"

MIXED = Workload.job(rw="randrw", bs="16k", iodepth=8, number_ios=2_000)


def test_the_tutorial_is_kept_without_outputs() -> None:
    cells = json.loads(TUTORIAL.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 8
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    """The tutorial with the outputs of its cells."""
    book = nbformat.read(TUTORIAL, as_version=4)
    place = tmp_path_factory.mktemp("tutorial")
    client = nbclient.NotebookClient(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": place}})
    return client.execute()


def outputs(book: nbformat.NotebookNode, word: str) -> list[Any]:
    """The output of the only code cell with ``word``."""
    (cell,) = [cell for cell in book.cells if cell.cell_type == "code" and word in cell.source]
    return cell.outputs


def test_the_tutorial_runs(tutorial: nbformat.NotebookNode) -> None:
    code = [cell for cell in tutorial.cells if cell.cell_type == "code"]
    texts = "".join(o.get("text", "") for cell in code for o in cell.outputs)
    assert "Traceback" not in texts
    assert not [o for cell in code for o in cell.outputs if o.output_type == "stream" and o.name == "stderr"]
    shown = outputs(tutorial, "run = drive.run(mixed)")[-1].data
    assert "500,000 requests in" in shown["text/html"]
    assert "<svg" in shown["text/html"]
    assert shown["text/plain"].startswith("<Run job mixed on ")
    assert "demo" in outputs(tutorial, 'Drive("demo", small, seed=7)\ndrive')[-1].data["text/plain"]


def test_the_tutorial_finds_what_it_says(tutorial: nbformat.NotebookNode) -> None:
    amplifications = json.loads(outputs(tutorial, "ThreadPoolExecutor")[-1].data["text/plain"])
    assert len(amplifications) == 5
    assert amplifications == sorted(amplifications, reverse=True), "more spare capacity, less to move"
    assert amplifications[0] > 1.5 * amplifications[-1] > 1.5
    assert "image/png" in outputs(tutorial, "label=policy")[-1].data
    info = outputs(tutorial, "bursts.info()")[-1].data["text/plain"]
    assert re.search(r"'requests': 20000,\s+'reads': 16000,\s+'writes': 4000", info)


def parsed(html: str) -> ElementTree.Element:
    """Well-formed HTML, read as XML."""
    return ElementTree.fromstring(f"<div>{html}</div>")


def texts(html: str) -> str:
    return " ".join(parsed(html).itertext())


def test_a_drive_shows_itself(drive: Path) -> None:
    made = Drive(drive, {"title": "A <small> drive & more"})
    text = texts(made._repr_html_())
    assert "A <small> drive & more" in text
    assert f"{made.derived['blocks']} blocks" in text
    assert "Logical capacity" in text


def test_a_run_shows_itself(drive: Path) -> None:
    run = wordline.run(drive, MIXED)
    shown = parsed(run._repr_html_())
    tables = shown.findall("table")
    assert len(tables) == 2
    key = {row[0].text: row[1].text for row in tables[0]}
    assert key["write amplification"] == units.three(run.write_amplification)
    heads = [cell.text for cell in tables[1].iter("th")]
    assert heads == ["Latency", "all", "read", "write"]
    assert tables[1].find("tbody")[0][1].text == "2,000"
    svg = [element for element in shown.iter() if element.tag.endswith("svg")]
    assert len(svg) == 1
    # All colours of the figure are defined.
    html = run._repr_html_()
    assert set(re.findall(r"var\((--\w+)\)", html)) <= set(notebook.COLOURS)
    assert "interrupted" not in html
    assert "the run was interrupted" in wordline.Run({**run, "partial": True})._repr_html_()
    # Without a request there is no distribution to draw.
    empty = wordline.run(drive, Workload.job(rw="read", number_ios=1, start_delay_s=5, runtime_s=0.0))
    assert "<svg" not in empty._repr_html_()


@pytest.fixture
def display(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A notebook kernel that records displayed objects, in place of IPython."""
    seen: list[str] = []

    class ZMQInteractiveShell:
        pass

    def show(html: str, display_id: bool) -> Any:  # noqa: ANN401
        assert display_id
        seen.append(html)
        return SimpleNamespace(update=seen.append)

    ipython = ModuleType("IPython")
    ipython.get_ipython = ZMQInteractiveShell  # type: ignore[attr-defined]
    shown = ModuleType("IPython.display")
    shown.HTML, shown.display = str, show  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    yield seen


def test_a_long_run_shows_its_progress_in_a_notebook(
    drive: Path, display: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    made = Drive(drive)
    long = Workload.job(rw="randwrite", bs="16k", iodepth=8, number_ios=300_000)
    made.run(long)
    assert len(display) > 1
    assert re.fullmatch(r'<progress value="0\.\d+"></progress> run [\d.]+ [kM]? ?requests, .*', display[0]), display[0]
    # It is removed at the end.
    assert display[-1] == ""
    display.clear()
    made.run(long, progress=False)
    assert display == []


def test_no_bar_for_a_short_run_or_outside_of_notebooks(drive: Path, display: list[str], capsys: Any) -> None:  # noqa: ANN401
    Drive(drive).run(MIXED)
    assert display == []
    del sys.modules["IPython"]
    assert not progress.in_notebook()
    Drive(drive).run(MIXED, progress=True)
    assert capsys.readouterr() == ("", "")
