"""Studies: the rule of judging by examples computed by hand, the claims, the pages, the command."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from conftest import ROOT, Run, done, parsed, refused
from wordline.errors import Trouble
from wordline.studies import catalogue, charts, page, runner, words
from wordline.studies.claims import Claim, parse
from wordline.studies.judge import Verdict, judge
from wordline.studies.outcome import Bars, Lines, Outcome, Stack, Table, Timeline

YES, SAME, NO = Verdict.REPRODUCED, Verdict.SAME_DIRECTION, Verdict.NOT_REPRODUCED

PUBLISHED: dict[str, tuple[Any, str]] = {
    "jung13.latency-model-typical-sdp": ([48.7, 79.6], "%"),
    "jung13.latency-model-worst-sdp": ([-53.5, -44.4], "%"),
    "jung13.latency-model-typical-ddp": ([83.1, 170.9], "%"),
    "jung13.latency-range": ([8.8, 11.3], "x"),
    "jung13.write-array-share": ([93.0, 96.5], "%"),
    "jung13.read-bus-share": (50.5, "%"),
    "jung13.cache-write-hides-bus": (None, "order"),
    "jung13.planes-write": (360.9, "%"),
    "jung13.planes-read": (75.5, "%"),
    "jung13.planes-read-saturation": (10.8, "%"),
    "jung13.dies-write": (541.1, "%"),
    "jung13.dies-read": (76.3, "%"),
    "jung13.dies-read-saturation": (10.9, "%"),
    "jung13.page-size-read": (10.9, "%"),
    "jung13.page-size-write": (91.2, "%"),
    "jung13.dies-over-planes": (54.5, "%"),
    "jung13.slc-contention": (45.2, "%"),
    "jung13.migration-speed": (-50, "%"),
    "jung13.migration-energy": (None, "order"),
    "jung13.migration-no-registers": (None, "order"),
    "jung13.die-first-plane-first": (None, "order"),
}
"""What was published: a value that was edited to improve the score would show here."""


def claim(value: object, unit: str = "%", **more: Any) -> Claim:  # noqa: ANN401
    row = {"id": "a.b", "at": "1", "study": "s", "says": "so", "unit": unit, **more}
    return parse(row if value is None else {**row, "value": value}, "study.toml")


@pytest.mark.parametrize(
    ("value", "unit", "measured", "verdict"),
    [
        # 40 / 1.5 = 26.67, 40 x 1.5 = 60, 40 / 3 = 13.33.
        (40, "%", 40, YES),
        (40, "%", 26.7, YES),
        (40, "%", 26.6, SAME),
        (40, "%", 60, YES),
        (40, "%", 60.1, SAME),
        (40, "%", 13.4, SAME),
        (40, "%", 13.3, NO),
        (40, "%", 0, NO),
        (40, "%", -40, NO),
        # A decrease: -30 / 1.5 = -20, -45, -10.
        (-30, "%", -20, YES),
        (-30, "%", -45, YES),
        (-30, "%", -46, SAME),
        (-30, "%", -10, SAME),
        (-30, "%", -9.9, NO),
        (-30, "%", 30, NO),
        # A range: from 60 / 1.5 = 40 to 80 x 1.5 = 120; a third of its near end is 20.
        ([60, 80], "%", 40, YES),
        ([60, 80], "%", 120, YES),
        ([60, 80], "%", 39, SAME),
        ([60, 80], "%", 121, SAME),
        ([60, 80], "%", 20, SAME),
        ([60, 80], "%", 19.9, NO),
        # A falling range: from -40 / 1.5 = -26.67 to -50 x 1.5 = -75.
        ([-50, -40], "%", -26.7, YES),
        ([-50, -40], "%", -75, YES),
        ([-50, -40], "%", -76, SAME),
        ([-50, -40], "%", -13.4, SAME),
        ([-50, -40], "%", -13.3, NO),
        # A published nought: five points either way.
        (0, "%", 5, YES),
        (0, "%", -5, YES),
        (0, "%", 5.1, NO),
        # A factor of 4: 2.67 to 6; an effect of 3 above 1, of which a third is 1, hence 2.
        (4, "x", 2.67, YES),
        (4, "x", 6, YES),
        (4, "x", 2, SAME),
        (4, "x", 1.99, NO),
        (4, "x", 7, SAME),
        (4, "x", 0.25, NO),
        # A small factor: 1.2 / 1.5 = 0.8 is close, but on the other side of 1.
        (1.2, "x", 1.01, YES),
        (1.2, "x", 1, NO),
        (1.2, "x", 0.99, NO),
        # Less than 1 is a decrease.
        (0.5, "x", 0.34, YES),
        (0.5, "x", 0.8, SAME),
        (0.5, "x", 0.9, NO),
        (0.5, "x", 1.1, NO),
        # Other units are judged like percent.
        (12, "ms", 8, YES),
        (12, "ms", 5, SAME),
        # Of several values the worst counts.
        ([60, 80], "%", [50, 100], YES),
        ([60, 80], "%", [50, 130], SAME),
        ([60, 80], "%", [-1, 70], NO),
        # An order holds everywhere or it does not.
        (None, "order", {"a": True, "b": True}, YES),
        (None, "order", {"a": True, "b": False}, NO),
    ],
)
def test_the_rule(value: object, unit: str, measured: Any, verdict: Verdict) -> None:  # noqa: ANN401
    assert judge(claim(value, unit), measured) is verdict


def test_the_best_case_is_not_judged() -> None:
    assert judge(claim(40, max=400), 400) is SAME


@pytest.mark.parametrize(
    ("given", "measured"),
    [(claim(40), {"a": True}), (claim(40), []), (claim(40), float("nan")), (claim(None, "order"), 1.0)],
)
def test_what_does_not_fit_is_not_judged(given: Claim, measured: Any) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match=r"a\.b"):
        judge(given, measured)


def test_an_order_without_cases_is_not_judged() -> None:
    with pytest.raises(ValueError, match=r"a\.b"):
        judge(claim(None, "order"), {})


@pytest.mark.parametrize(
    ("value", "unit"), [(None, "%"), (4, "order"), ([2, 1], "%"), ([1, 2, 3], "%"), ([-1, 2], "%"), ([0.5, 2], "x")]
)
def test_a_claim_that_cannot_be_judged_is_refused(value: object, unit: str) -> None:
    with pytest.raises(Trouble, match=r"study\.toml: claim a\.b"):
        claim(value, unit)


def test_a_claim_with_an_unknown_key_is_refused() -> None:
    with pytest.raises(Trouble, match="vaule"):
        claim(1, vaule=2)


def test_values_in_words() -> None:
    assert words.published(claim([-53.5, -44.4])) == "−53.5 … −44.4 %"
    assert words.published(claim(40.1, max=84.8)) == "40.1 % (best 84.8 %)"
    assert words.published(claim(None, "order")) == "order"
    assert words.measured(claim(40), 39.96) == "40.0 %"
    assert words.measured(claim([60, 80]), [75.0, 50.0, 60.0]) == "50.0 … 75.0 %"
    order = claim(None, "order")
    assert words.measured(order, {"a": True}) == "holds"
    assert words.measured(order, {"a": True, "b": True}) == "holds in both cases"
    assert words.measured(order, {"a": True, "b": False, "c": True}) == "fails in 1 of 3 cases: b"


def test_every_claim_is_carried_once_and_unedited() -> None:
    carried = [it for study in catalogue.every() for it in study.claims]
    twice = [name for name, n in Counter(it.id for it in carried).items() if n > 1]
    assert twice == []
    found = {it.id: (it.row().get("value"), it.unit) for it in carried}
    assert {name: found.get(name) for name in PUBLISHED} == PUBLISHED


def test_every_study_says_what_it_is() -> None:
    for study in catalogue.every():
        assert study.claims, study.name
        assert study.title and study.paper and study.sections and study.runs, study.name
        assert callable(study.code()), study.name


FAKE_STUDY = """\
title = "A study"
paper = "Somebody 2013"
sections = "section 1"
runs = "Nothing is run."
stand_in = true

[[open]]
parameter = "colour"
choice = "blue"
reason = "nobody | said"

[[claim]]
id = "a.number"
at = "1.1"
study = "made-up"
says = "more"
value = 40
unit = "%"

[[claim]]
id = "a.order"
at = "1.2"
study = "made-up"
says = "first, then second"
unit = "order"
"""

FAKE_CODE = """\
from wordline.studies.outcome import Bars, Outcome, Table

def run(context):
    assert context.requests(10) == 10
    table = Table("Numbers", ("what", "n"), [("a", 1234.5), ("b", None)])
    figure = Bars("bars", "Bars", "Two bars.", "n", ["a", "b"], {"one": [1.0, 2.0]})
    return Outcome({"a.number": 45.0, "a.order": {"x": True, "y": False}}, [table], [figure])
"""


@pytest.fixture
def made_up(tmp_path: Path) -> Path:
    """The folder of a study that needs no engine."""
    folder = tmp_path / "made-up"
    folder.mkdir()
    (folder / "study.toml").write_text(FAKE_STUDY)
    (folder / "study.py").write_text(FAKE_CODE)
    return folder


def test_a_study_becomes_a_page(made_up: Path, tmp_path: Path) -> None:
    (made_up / "discussion.md").write_text("What deviates, and why.\n")
    report = runner.run(catalogue.read(made_up), lambda *_: None, "made-up")
    assert [row.verdict for row in report.rows] == [YES, NO]
    out = tmp_path / "out"
    text = page.write(report, out, "1.2.3").read_text()
    assert "| more (`a.number`) | 1.1 | 40.0 % | 45.0 % | reproduced, stand-in workload |" in text
    assert "| fails in 1 of 2 cases: y | not reproduced, stand-in workload |" in text
    assert "2 claims: 1 reproduced, 0 same direction, 1 not reproduced." in text
    assert "| colour | blue | nobody \\| said |" in text
    assert "|---|---:|\n| a | 1,234 |\n| b | – |" in text
    assert "What deviates, and why." in text
    for figure in re.findall(r"\]\((figures/.*?)\)", text):
        ElementTree.parse(out / figure)
    result = parsed((out / "result.json").read_text())
    assert result["version"] == "1.2.3"
    assert result["claims"][0] == {
        "id": "a.number",
        "at": "1.1",
        "study": "made-up",
        "says": "more",
        "value": 40,
        "unit": "%",
        "measured": 45.0,
        "verdict": "reproduced",
        "stand_in": True,
    }
    index = page.write_index([report], out).read_text()
    assert "## [A study](made-up/README.md)" in index


def test_a_study_must_measure_its_claims(made_up: Path) -> None:
    study = catalogue.read(made_up)
    with pytest.raises(ValueError, match="made-up has the claims"):
        list(runner.settle(study, Outcome({"a.number": 1.0})))
    with pytest.raises(ValueError, match="made-up has the claims"):
        list(runner.settle(study, Outcome({"a.number": 1.0, "a.order": {"x": True}, "a.stray": 1.0})))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "A study"', "", "missing.*title"),
        ('title = "A study"', 'title = "A study"\ncolour = 1', "unknown.*colour"),
        ('title = "A study"', "title = ", "Invalid value"),
        ('study = "made-up"\nsays = "more"', 'study = "other"\nsays = "more"', "a.number: of another study"),
        ('choice = "blue"', 'chioce = "blue"', "chioce"),
    ],
)
def test_a_wrong_definition_is_refused(made_up: Path, old: str, new: str, said: str) -> None:
    (made_up / "study.toml").write_text(FAKE_STUDY.replace(old, new, 1))
    with pytest.raises(Trouble, match=rf"study\.toml.*{said}"):
        catalogue.read(made_up)


FIGURES = [
    Bars("bars", "T", "W", "y", ["a", "b"], {"one": [1.0, None], "two": [2.0, -3.0]}),
    Stack("stack", "T", "W", "y", ["a", "b"], {"TIR": [1.0, 2.0], "TIN": [2.0, 3.0]}),
    Lines("lines", "T", "W", "x", "y", ["1", "2", "4"], {str(n): [1.0, None, float(n)] for n in range(6)}),
    Timeline("timeline", "T", "W", ["bus", "cells"], [("bus", "TIR", 0.0, 1.0), ("cells", "TIN", 1.0, 9.0)]),
]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_figures_are_the_same_every_time_and_stand_alone(figure: Any) -> None:  # noqa: ANN401
    text = charts.draw(figure, "study")
    assert text == charts.draw(figure, "study")
    root = ElementTree.fromstring(text)
    assert root.get("width") and root.get("viewBox")
    used, defined = set(re.findall(r"var\((--\w+)\)", text)), set(re.findall(r"(--\w+):", text))
    assert used and used <= defined


def test_tables_keep_their_shape() -> None:
    lines = list(page.grid(("a", "b"), [("x|y", 3), ("z", None)]))
    assert lines == ["| a | b |", "|---|---:|", "| x\\|y | 3 |", "| z | – |"]
    assert Table("t", ("a",), []).note == ""


def test_the_list(wordline: Run) -> None:
    text = done(wordline("study"))
    listed = parsed(done(wordline("study", "--json")))
    assert [it["study"] for it in listed] == catalogue.names()
    assert all(it["study"] in text and it["claims"] for it in listed)
    assert max(map(len, text.splitlines())) <= 80


def test_a_slip_finds_the_study(wordline: Run) -> None:
    refused(wordline("study", "nand-plains"), "nand-plains", "did you mean 'nand-planes'", "nand-dies")
    refused(wordline("study", "zzz"), "no study 'zzz'", "the studies are")


@pytest.mark.parametrize(
    "arguments",
    [("nand-dies", "--all"), ("--all", "--scorecard"), ("--full",), ("--out", "x"), ("--scorecard", "--out", "x")],
)
def test_options_that_contradict_each_other(wordline: Run, arguments: tuple[str, ...]) -> None:
    refused(wordline("study", *arguments), "wordline study --help")


def test_a_file_is_no_folder(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    refused(wordline("study", "nand-dies", "--out", "taken"), "taken", "this is a file")


def test_a_study_runs(wordline: Run, tmp_path: Path) -> None:
    text = done(wordline("study", "nand-planes"))
    assert "published" in text and "jung13.planes-write" in text
    out = tmp_path / "out" / "studies" / "nand-planes"
    result = parsed(done(wordline("study", "nand-planes", "--json")))
    assert result == parsed((out / "result.json").read_text())
    assert result["schema"] == 1 and result["totals"]["claims"] == 3
    for row in result["claims"]:
        assert row["verdict"] in {verdict.value for verdict in Verdict}
        assert row["measured"] > 0
    assert sorted(path.name for path in (out / "figures").iterdir()) == ["planes-read.svg", "planes-write.svg"]


def test_planes_gain_what_the_sums_say(wordline: Run) -> None:
    # A read of n planes: 50 us in the cells for all of them, 51.2 us a plane for the data, and a few latches.
    result = parsed(done(wordline("study", "nand-planes", "--json")))
    measured = {row["id"]: row["measured"] for row in result["claims"]}

    def a_page_us(planes: int) -> float:
        return (50 + 51.2 * planes) / planes

    assert measured["jung13.planes-read"] == pytest.approx(100 * (a_page_us(1) / a_page_us(8) - 1), rel=0.05)
    assert measured["jung13.planes-read-saturation"] == pytest.approx(100 * (a_page_us(4) / a_page_us(8) - 1), rel=0.1)


def test_the_scorecard_holds_every_claim(wordline: Run, tmp_path: Path) -> None:
    card = parsed(done(wordline("study", "--scorecard", "--json")))
    assert {row["id"] for row in card["claims"]} >= PUBLISHED.keys()
    assert card["totals"]["claims"] == len(card["claims"])
    assert card["totals"]["claims"] == sum(n for key, n in card["totals"].items() if key != "claims")
    assert not card["partial"]
    assert not (tmp_path / "out").exists()


def test_the_kept_pages_are_up_to_date(wordline: Run, tmp_path: Path) -> None:
    done(wordline("study", "--all", "--out", "pages"))
    kept = ROOT / "studies"
    for made in sorted((tmp_path / "pages").rglob("*.md")):
        name = made.relative_to(tmp_path / "pages")
        assert made.read_text() == (kept / name).read_text(), f"studies/{name} is out of date: 'make studies' makes it"
    for study in catalogue.names():
        assert (kept / study / "discussion.md").exists(), f"studies/{study} has no discussion"
