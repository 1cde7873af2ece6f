"""Wear-in of a run: the initial state, the written amount, and whether it ended in steady state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import synthetic
from conftest import Run, parsed
from wordline.api import notebook, runs
from wordline.report import compare
from wordline.report import page as report
from wordline.results import reading as results
from wordline.results import story

SEQUENTIAL = '[[job]]\nrw = "write"\nbs = "1m"\niodepth = 8\nloops = {loops}\n'


def result_of(wordline: Run, drive: Path, load: str, *options: str) -> tuple[dict[str, Any], str]:
    """The result, and the summary."""
    path = drive.parent / "wear-in.toml"
    path.write_text(load)
    ran = wordline("run", drive, path, "--json", "run.json", *options)
    assert ran.returncode == 0, ran.stderr
    result = parsed((drive.parent / "run.json").read_text())
    blocks = result["drive"]["blocks"]
    # An erase counts at its start and wears its block at its end: some may be in progress when the figures end.
    erased = result["at_start"]["erases"] + result["flash"]["erases"]
    dies = len(result["utilisation"]["dies"])
    assert 0 <= erased - round(result["wear"]["mean"] * blocks) <= dies * result["config"]["geometry"]["planes_per_die"]
    written, capacity = result["by_op"]["write"]["bytes"], result["drive"]["logical_bytes"]
    assert result["written"]["of_capacity"] == pytest.approx(written / capacity)
    return result, ran.stdout


def test_a_drive_written_in_order_twice_over_is_in_steady_state(wordline: Run, drive: Path) -> None:
    """Each block is completely invalid when it is collected, so write amplification is 1 in every round."""
    result, text = result_of(wordline, drive, SEQUENTIAL.format(loops=2))
    assert result["written"]["of_capacity"] == pytest.approx(2, rel=0.01)
    assert result["written"]["rounds"] == pytest.approx([1] * 5, rel=0.01)
    assert result["written"]["steady"] is True
    assert "times the capacity, GC started on" in text
    assert ", in steady state" in text.replace("\n              ", " ")


def test_filling_an_empty_drive_is_no_steady_state(wordline: Run, drive: Path) -> None:
    result, text = result_of(wordline, drive, SEQUENTIAL.format(loops=1), "--set", "precondition.fill=false")
    assert result["at_start"] == {"filled": 0, "erases": 0}
    assert result["flash"]["erases"] == 0
    # The write buffer still holds a part of the first round.
    assert result["written"]["rounds"] == pytest.approx([1] * 5, rel=0.1)
    assert result["written"]["steady"] is False
    assert text.startswith("The drive was empty when measuring began.\n")


def test_a_drive_that_was_only_filled_says_so_first(wordline: Run, drive: Path, load: Path) -> None:
    result, text = result_of(wordline, drive, load.read_text())
    assert result["at_start"] == {"filled": 1, "erases": 0}
    assert text.startswith("The drive was only filled: when measuring began, 100 % of its capacity held data")
    assert not result["written"]["steady"]


def test_a_drive_that_was_overwritten_does_not(wordline: Run, drive: Path) -> None:
    load = '[[job]]\nrw = "randwrite"\nbs = "16k"\niodepth = 8\nnumber_ios = 500\n'
    result, text = result_of(wordline, drive, load, "--set", "precondition.overwrites=1")
    assert result["at_start"]["filled"] == 1
    assert result["at_start"]["erases"] > 0
    assert text.startswith("job ")
    # 500 requests of 16 KiB on 500 MiB.
    assert result["written"] == {"of_capacity": pytest.approx(1 / 64, rel=0.01), "steady": False, "rounds": []}
    flat = " ".join(text.split())
    told = f"wrote 1.6 % of the capacity, GC started on {result['gc']['collections']} blocks, not in steady state"
    assert told in flat
    assert "needs at least one write of the whole capacity" in flat


def test_a_run_that_only_reads_wrote_nothing(wordline: Run, drive: Path) -> None:
    result, text = result_of(wordline, drive, '[[job]]\nrw = "randread"\nbs = "16k"\nnumber_ios = 500\n')
    assert result["written"] == {"of_capacity": 0, "steady": None, "rounds": []}
    assert "wrote nothing" in text


def test_a_snapshot_of_a_drive_tells_its_state(wordline: Run, drive: Path, load: Path) -> None:
    assert wordline("precondition", drive, "-o", "aged.snap", "--set", "precondition.overwrites=1").returncode == 0
    result, text = result_of(wordline, drive, load.read_text(), "--from", "aged.snap")
    assert result["at_start"]["erases"] > 0
    assert "only filled" not in text


def test_every_view_says_it_first() -> None:
    result = synthetic.result() | {
        "at_start": {"filled": 1.0, "erases": 0},
        "written": {"of_capacity": 0.014, "steady": False, "rounds": []},
    }
    result["gc"]["collections"] = 9
    results.checked("a.json", result)
    assert story.opening(result)[0].startswith("The drive was only filled")
    assert story.wrote(result) == "wrote 1.4 % of the capacity, GC started on 9 blocks, not in steady state"
    page = report.html(result)
    assert page.index("The drive was only filled") < page.index("requests in")
    assert "It wrote 1.4" in page
    told = list(compare.states(compare.Run("a", result)))
    assert [text.split(":")[0] for text in told] == ["a", "a"]
    shown = notebook.run(runs.Run(result))
    assert shown.index("The drive was only filled") < shown.index("requests in")


def test_a_result_of_an_earlier_version_says_nothing_of_it() -> None:
    result = synthetic.result()
    assert (story.fresh(result), story.wrote(result), story.unsteady(result)) == ("", "", "")
    assert not list(compare.states(compare.Run("a", result)))
