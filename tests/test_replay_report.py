"""The report of a replay: what its page says is what the result has, on a case known by hand."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import wordline as api
from conftest import Run, done, refused
from matplotlib.figure import Figure
from wordline.report import compare, comparelives, lifefigures, replaypage
from wordline.results import lifetimes, replayed

PAGES = 16
DRIVE = f"""
title = "small"
[geometry]
channels = 1
packages_per_channel = 1
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 40
pages_per_block = {PAGES}
page_kib = 4
[capacity]
raw_over_logical = 1.6
[collect]
scope = "drive"
[placement]
policy = "least-busy"
[mapping]
policy = "bast"
[buffer]
policy = "none"
[precondition]
fill = false
overwrites = 0
"""
"""Forty blocks, 25 of them for the host: 400 pages, 1.5625 MiB."""
IN_ORDER = f"""
[[job]]
name = "in-order"
rw = "write"
bs = "4k"
size = "{4 * PAGES}k"
"""
"""One logical block, a page at a time."""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(DRIVE)
    Path("in-order.toml").write_text(IN_ORDER)


def text_of(page: str) -> str:
    """What a page says, on one line, without its styles and figures."""
    page = re.sub(r"<(style|svg|script)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).replace("\u00a0", " ").split())


def test_a_page_says_what_is_known_by_hand(wordline: Run) -> None:
    """Eleven times the 16 pages of a logical block in order, under BAST.

    The first time they fill its data block. Then they fill a log block each time, which the next time needs gone: a
    switch merge, and an erase of the old data block. The last one stays. Nothing is copied.
    """
    files = ("--json", "worn.json", "--report", "direct.html", "-q")
    done(wordline("replay", "small.toml", "in-order.toml", "--times", "11", *files))
    done(wordline("report", "worn.json", "-o", "saved.html"))
    assert Path("saved.html").read_text() == Path("direct.html").read_text()
    result = json.loads(Path("worn.json").read_text())
    assert (result["flash"]["programs"], result["flash"]["erases"]) == (176, 9)
    text = text_of(Path("saved.html").read_text())
    assert "in-order on small without time, 11 times" in text
    assert (
        "The workload in-order was carried out 11 times, without time: 176 requests, which wrote 704 KiB, 0.440 times "
        "the capacity. Write amplification was 1.00: 176 pages programmed, 9 blocks erased. "
        "At the end a block has had 0.225 erases on average, 0 to 1, with a standard deviation of 0.418. "
        "The most worn block has had 4.44 times the erases of the average one."
    ) in text
    assert "Log blocks were merged 9 times; merges of logical blocks: 9 switch, 0 partial, 0 full." in text
    for tile in ("× 0.440 capacity written", "1.00 write amplification", "9 blocks erased", "0.418 standard deviation"):
        assert tile in text
    # At the end, and before anything was written.
    assert "0 B 0 0 0 0 0 – " in text and "704 KiB 0.440 0.225 0.418 0 1 1.00 " in text
    assert "Writes of the host 176, 704 KiB" in text and "Switch merges of logical blocks 9" in text
    for section in ("life", "blocks", "merges", "flash", "drive", "workload", "configuration", "provenance"):
        assert f'<section id="{section}">' in Path("saved.html").read_text()


def drawn(figure: Any) -> Figure:  # noqa: ANN401
    """A figure as matplotlib has it."""
    canvas = Figure()
    with lifefigures_colours():
        figure.plot(canvas)
    return canvas


def lifefigures_colours() -> Any:  # noqa: ANN401
    """The names of the colours of pages."""
    from wordline.base import drawing
    from wordline.base.palette import LIGHT

    return drawing.colours(LIGHT)


@pytest.fixture
def worn() -> api.Replay:
    """A drive without wear leveling at the end of its life, with bad blocks."""
    sets = {
        "nand.reliability.endurance": 300,
        "nand.reliability.erase_fail": 0.004,
        "capacity.replacement_blocks": 4,
        "mapping.policy": "page",
    }
    load = api.Workload.job(rw="randwrite", bs="4k", number_ios=2000, size="1m", name="writes")
    return api.replay("small.toml", load, sets, times=None)


def test_figures_have_the_values_of_the_curve(worn: api.Replay) -> None:
    found, points = lifefigures.all_of(worn), worn["lifetime"]
    assert list(found) == ["life", "amplification", "bad", "blocks"], "it has no log blocks"
    written = [point["host_bytes"] / worn["drive"]["logical_bytes"] for point in points]
    wear, deviation = drawn(found["life"]).axes
    (mean,) = wear.get_lines()
    assert mean.get_xdata().tolist() == written and mean.get_ydata().tolist() == [it["mean"] for it in points]
    assert deviation.get_lines()[0].get_ydata().tolist() == [it["stddev"] for it in points]
    (bad,) = drawn(found["bad"]).axes
    spares, fallen = (line.get_ydata().tolist() for line in bad.get_lines())
    assert spares == [it["spare_blocks"] for it in points] and fallen == [it["bad_blocks"] for it in points]
    assert spares[0] == 4 and spares[-1] == 0 and fallen[-1] == 5, "one bad block more than there are spare ones"
    panels = drawn(found["blocks"]).axes
    bars = [panel.patches[0].get_data() for panel in panels]
    assert [bar.values.tolist() for bar in bars] == [
        points[n]["histogram"]["blocks"] for n in lifetimes.picked(worn, lifetimes.HISTOGRAMS)
    ]
    assert bars[-1].edges[0] == points[-1]["histogram"]["first"] - 0.5


def test_the_amplification_at_the_end_is_that_of_the_result(worn: api.Replay) -> None:
    told = lifetimes.amplification(worn)
    assert told.since_start[0] is None and told.rolling[0] is None
    assert told.since_start[-1] == pytest.approx(worn["write_amplification"])


def test_amplification_rolls_over_a_sixteenth_of_the_writes() -> None:
    """Sixteen pages a point, 32 points: a window is two of them. From the seventeenth on, a page costs three."""
    points = [{"host_bytes": 16 * 4096 * n, "programs": 16 * (n + 2 * max(0, n - 16))} for n in range(33)]
    told = lifetimes.amplification({"lifetime": points, "drive": {"page_bytes": 4096}})
    assert told.rolling[1:17] == [1.0] * 16 and told.rolling[17:] == [2.0, *([3.0] * 15)]
    assert told.since_start[16] == 1.0 and told.since_start[32] == 2.0
    assert lifetimes.picked({"lifetime": points}, lifetimes.PARTS) == [0, 8, 16, 24, 32]


def test_the_deviation_is_told_from_half_of_the_writes_on() -> None:
    def told(*deviations: float) -> str:
        points = [{"host_bytes": n, "stddev": value} for n, value in enumerate(deviations)]
        return replayed.drift({"lifetime": points})

    assert told(0.0, 2.0, 3.0) == "The deviation grew from 2.00 at 50 % of the writes, to 1.50 times that."
    assert told(0.0, 2.0, 1.0) == "The deviation fell from 2.00 at 50 % of the writes, to 0.500 times that."
    assert told(0.0, 2.0, 2.05) == "The deviation stayed as it was: it was 2.00 at 50 % of the writes."
    assert told(0.0, 1.0) == "" and told(1.0) == ""


def test_a_page_says_how_a_life_ended(worn: api.Replay) -> None:
    text = text_of(replaypage.html(worn))
    end = worn.end_of_life
    assert end is not None and end["cause"] == "no-spare"
    assert "plane 0 has used up its 4 replacement blocks; 5 blocks of the drive are bad." in text
    assert "bad blocks spare blocks" in text and f"{worn['lifetime'][-1]['most']} " in text


def test_what_wear_leveling_erased_is_told() -> None:
    sets = {"wear.policy": "lazy", "wear.delta_cycles": 2}
    load = api.Workload.job(rw="randwrite", bs="4k", number_ios=4000, size="256k", name="writes")
    drive = api.Drive("small.toml", sets)
    drive.precondition(fill=True)
    replay = drive.replay(load, times=5)
    erases = replay["tasks"]["wear"]["erases"]
    share = 100 * erases / replay.erases
    assert erases > 20
    (told,) = replayed.moved(replay)
    assert told.startswith("Wear leveling erased ") and told.endswith(f" of the blocks: {erases:,}.")
    assert float(told.split()[3]) == pytest.approx(share, rel=0.06)


def test_a_replay_without_writes_has_a_page() -> None:
    load = api.Workload.job(rw="randread", bs="4k", number_ios=100, name="reads")
    replay = api.replay("small.toml", load)
    text = text_of(replaypage.html(replay))
    assert "100 requests, which wrote 0 B" in text and "No block has ever been erased." in text
    assert lifefigures.all_of(replay) == {}


def test_figures_become_files_and_results_are_read_back(wordline: Run) -> None:
    done(wordline("replay", "small.toml", "in-order.toml", "--times", "3", "-q", "--json", "worn.json"))
    done(wordline("report", "worn.json", "--figures", "figures", "--format", "png,svg"))
    names = {path.stem for path in Path("figures").iterdir()}
    assert names == {
        "wear-over-the-life",
        "write-amplification-over-the-life",
        "blocks-by-their-erases",
        "merges-by-kind",
    }
    replay = api.Replay.load("worn.json")
    replay.report("page.html")
    assert "in-order on small without time, 3 times" in text_of(Path("page.html").read_text())
    with pytest.raises(
        api.InputError, match=r"worn\.json: this is the result of 'wordline replay', which has no times"
    ):
        api.Run.load("worn.json")


def test_replays_are_compared(wordline: Run) -> None:
    """Eleven times in order, and twenty-two: 9 and 20 switch merges, each with an erase."""
    for name, times in (("eleven", "11"), ("more", "22")):
        done(wordline("replay", "small.toml", "in-order.toml", "--times", times, "-q", "--json", f"{name}.json"))
    files = ("--json", "--report", "both.html", "--figures", "figures")
    told = json.loads(done(wordline("compare", "eleven.json", "more.json", *files)))
    rows = {row["key"]: row for row in told["figures"]}
    assert rows["log_blocks.switch_merges"]["values"] == [9, 20]
    assert rows["flash.erases"]["values"] == [9, 20] and rows["flash.erases"]["ratios"][1] == pytest.approx(20 / 9)
    assert rows["wear.mean"]["values"] == [9 / 40, 20 / 40]
    # Of other requests: totals are neither better nor worse.
    assert rows["flash.erases"]["marks"] == [None, None]
    assert [path.name for path in Path("figures").iterdir()] == ["over-the-life.svg"]
    text = text_of(Path("both.html").read_text())
    assert "The workload in-order was carried out 22 times" in text and "blocks erased 9 20 × 2.22" in text
    assert "Each replay has one seed" in text
    axes = drawn(
        comparelives.over_life([compare.Run(name, api.Replay.load(f"{name}.json")) for name in ("eleven", "more")])
    )
    curves = [line.get_ydata().tolist() for line in axes.axes[0].get_lines()]
    assert [curve[-1] for curve in curves] == [9 / 40, 20 / 40]


def test_a_replay_is_not_compared_with_a_run(wordline: Run) -> None:
    done(wordline("replay", "small.toml", "in-order.toml", "-q", "--json", "worn.json"))
    done(wordline("run", "small.toml", "in-order.toml", "-q", "--json", "run.json"))
    for names, wanted in (
        (
            ("run.json", "worn.json"),
            "worn.json: this is the result of a replay, without times, and run.json is of a run;",
        ),
        (
            ("worn.json", "run.json"),
            "run.json: this is the result of a run, and worn.json is of a replay, without times;",
        ),
    ):
        assert wanted in refused(wordline("compare", *names))


def test_what_is_no_replay_is_refused(wordline: Run) -> None:
    done(wordline("replay", "small.toml", "in-order.toml", "-q", "--json", "worn.json"))
    result = json.loads(Path("worn.json").read_text())
    Path("short.json").write_text(json.dumps({**result, "lifetime": "long"}))
    assert "short.json: 'lifetime' is \"long\"; it should be a list" in refused(
        wordline("report", "short.json", "-o", "-")
    )
    Path("empty.json").write_text(json.dumps({**result, "lifetime": []}))
    assert "empty.json: this result is inconsistent" in refused(wordline("report", "empty.json", "-o", "-"))
    done(wordline("run", "small.toml", "in-order.toml", "-q", "--json", "run.json"))
    with pytest.raises(api.InputError, match=r"run\.json: this is the result of a run"):
        api.Replay.load("run.json")
    same = refused(wordline("replay", "small.toml", "in-order.toml", "--json", "x", "--report", "x"))
    assert "--report" in same and "--json" in same
