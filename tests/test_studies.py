"""Studies: the rule of judging by examples computed by hand, the claims, the pages, the command."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from conftest import PROGRAM, ROOT, Run, done, parsed, refused, started
from wordline import package
from wordline.base.errors import Trouble
from wordline.studies import catalogue, charts, choices, command, page, runner, sensitivity, words
from wordline.studies.claims import Claim, parse
from wordline.studies.judge import Verdict, judge, ratio, rule
from wordline.studies.outcome import Bars, Course, Lines, Outcome, Stack, Table, Timeline

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
    "kim18.bandwidth-saturation": (None, "order"),
    "kim18.map-cache": (None, "order"),
    "kim18.gc-share": (None, "order"),
    "kim18.mean": (-3.8, "%"),
    "kim18.three-nines": (-53.6, "%"),
    "kim18.six-nines": (-42.7, "%"),
    "kim18.mean-2x": (-4.9, "%"),
    "kim18.three-nines-2x": (-48.6, "%"),
    "kim18.six-nines-2x": (-33.2, "%"),
    "kim18.dynamic-share": (None, "order"),
    "chang11.delay-error": (5, "%"),
    "chang11.delay-error-stress": (5, "%"),
    "chang11.metadata-store": (74.46, "MB"),
    "chang11.lazy-deviation": ([10, 12], "erases"),
    "chang11.static-deviation": ([66, 137], "erases"),
    "chang11.lazy-cost": (3, "%"),
    "chang11.none-against-lazy": (-98, "%"),
    "chang11.lazy-iops": (-3, "%"),
    "chang11.overhead-model": ([0.76, 1.2], "K"),
    "chang11.tuned-overhead": ([1.95, 2.22], "%"),
    "chang11.session-length": (None, "order"),
    "chang11.stability": (None, "order"),
    "jung13.agc-dgc-wcrt-pftl": (-65.2, "%"),
    "jung13.agc-dgc-wcrt-lftl": (-98.6, "%"),
    "jung13.agc-dgc-wcrt-hftl": (-96.4, "%"),
    "jung13.agc-dgc-erases": (-16.6, "%"),
    "jung13.agc-share": (80, "%"),
    "jung13.agc-dgc-ewt": (0, "%"),
    "jung13.pftl-thrashing": (10, "x"),
    "jung13.hftl-overhead": (-40, "%"),
    "jung13.agc-threshold": (71, "%"),
}
"""Published values: an edit that improves the score would show here."""


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
        # A factor of 4: 2.67 to 6; an effect of 3 above 1, a third of it is 1, hence 2.
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
        # An order holds everywhere or not.
        (None, "order", {"a": True, "b": True}, YES),
        (None, "order", {"a": True, "b": False}, NO),
    ],
)
def test_the_rule(value: object, unit: str, measured: Any, verdict: Verdict) -> None:  # noqa: ANN401
    assert judge(claim(value, unit), measured) is verdict


@pytest.mark.parametrize(
    ("value", "unit", "measured", "expected"),
    [
        (40, "%", 50, 1.25),
        (-50, "%", -24, 0.48),
        (40, "%", -10, -0.25),
        # Against a range its nearer end; within it, 1.
        ([60, 80], "%", 50, 50 / 60),
        ([60, 80], "%", 70, 1),
        ([60, 80], "%", 100, 1.25),
        ([-50, -40], "%", -30, 0.75),
        ([-50, -40], "%", -60, 1.2),
        ([-50, -40], "%", 10, -0.25),
        # Of several values the one farthest off, which also decides the verdict.
        ([60, 80], "%", [50, 70, 88], 50 / 60),
        ([60, 80], "%", [50, 70, 120], 1.5),
        ([60, 80], "%", [-1, 400], -1 / 60),
        (1.2, "x", [0.99, 3], 0.825),
        (4, "x", 2, 0.5),
        (0, "%", 3, None),
        (None, "order", {"a": False}, None),
    ],
)
def test_the_ratio(value: object, unit: str, measured: Any, expected: float | None) -> None:  # noqa: ANN401
    assert ratio(claim(value, unit), measured) == (None if expected is None else pytest.approx(expected))


def test_the_rule_in_words() -> None:
    assert rule(claim(40), YES) == "within a factor of 1.5"
    assert rule(claim(40), SAME) == "at least a third of the published size"
    assert rule(claim(40), NO) == "less than a third of the published size, or the other direction"
    assert rule(claim(0), YES) == "within 5 of 0"
    assert rule(claim(None, "order"), YES) == "holds in every case"
    assert rule(claim(None, "order"), NO) == "does not hold in every case"


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


BELOW_5 = {"id": "a", "at": "1", "study": "s", "says": "error", "value": 5, "unit": "%", "bound": "below"}


@pytest.mark.parametrize(
    ("measured", "verdict", "share"),
    [(0.01, YES, 0.002), (4.9, YES, 0.98), (-4.9, YES, 0.98), (5.0, NO, 1.0), ([0.1, 6.0, 2.0], NO, 1.2), (-10, NO, 2)],
)
def test_a_bound_is_kept_or_not(measured: Any, verdict: Verdict, share: float) -> None:  # noqa: ANN401
    claim = parse(BELOW_5, "here")
    assert (judge(claim, measured), ratio(claim, measured)) == (verdict, pytest.approx(share))
    assert rule(claim, verdict) == ("stays below" if verdict is YES else "does not stay below")
    assert words.published(claim) == "below 5.00 %" and claim.row() == BELOW_5


@pytest.mark.parametrize("change", [{"bound": "above"}, {"value": [1, 5]}, {"value": -5}])
def test_a_bound_that_cannot_be_judged_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(Trouble, match="bound is 'below', beside one value above 0"):
        parse(BELOW_5 | change, "here")


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
key = "colour"
parameter = "colour"
value = 45.0
choice = "blue"
reason = "nobody | said"
alternatives = [{ value = 50.0, choice = "green" }, { value = 15.0, choice = "red" }]

[[open]]
key = "shade"
parameter = "shade"
choice = "dark"
reason = "nobody said"
no_alternative = "there is one"

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
    number = context.choice("colour")
    return Outcome({"a.number": number, "a.order": {"x": True, "y": False}}, [table], [figure], {"half": number / 2})
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
    (made_up / "discussion.md").write_text(
        "It is {measured a.number}, not {published a.number}; half {half}, {half:0}.\n"
    )
    report = runner.run(catalogue.read(made_up), lambda *_: None, "made-up")
    assert [row.verdict for row in report.rows] == [YES, NO]
    out = tmp_path / "out"
    text = page.write(report, out, "1.2.3").read_text()
    verdict = "1.12 | reproduced (within a factor of 1.5), stand-in workload"
    assert f"| more (`a.number`) | 1.1 | 40.0 % | 45.0 % | {verdict} |" in text
    assert "| fails in 1 of 2 cases: y | – | not reproduced (does not hold in every case), stand-in workload |" in text
    assert (
        "2 claims: 1 reproduced (within a factor of 1.5; an order: holds in every case), 0 same direction, 1 not"
        in text
    )
    assert "Not run for this result; `wordline study made-up --sensitivity`" in text
    assert "| colour | blue | nobody \\| said |" in text
    assert "|---|---:|\n| a | 1,234 |\n| b | – |" in text
    assert "It is 45.0 %, not 40.0 %; half 22.5, 22." in text
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
        "ratio": 1.125,
        "verdict": "reproduced",
        "rule": "within a factor of 1.5",
        "stand_in": True,
    }
    assert result["discussed"] == {"half": 22.5}
    assert [left["key"] for left in result["open"]] == ["colour", "shade"]
    index = page.write_index([report], out).read_text()
    assert "## [A study](made-up/README.md)" in index
    assert f"| more | 40.0 % | 45.0 % | {verdict} |" in index


def test_what_holds_without_being_evidence_is_marked(made_up: Path, tmp_path: Path) -> None:
    decides = FAKE_STUDY.replace('choice = "blue"', 'choice = "blue"\ndeparts = true\ndecided_by = ["a.number"]')
    (made_up / "study.toml").write_text(f'by_chance = ["a.order"]\n{decides}')
    report, found = tried(made_up)
    assert [row.no_evidence for row in report.rows] == ["decides a choice", ""], "what fails does not hold by chance"
    text = page.write(report, tmp_path / "out", "1.2.3", found).read_text()
    verdict = "reproduced (within a factor of 1.5), stand-in workload, no evidence: decides a choice"
    told = "Of those that hold, 1 is no evidence for the model: 1 decided a choice that the paper leaves open."
    assert f"| more (`a.number`) | 1.1 | 40.0 % | 45.0 % | 1.12 | {verdict} |" in text and told in text
    chosen, departed = text.index("## Parameters left open by the paper"), text.index("## Departs from the paper")
    assert chosen < text.index("| shade |") < departed < text.index("| colour | blue |")
    index = page.write_index([report], tmp_path / "out").read_text()
    assert told in index and f"| {verdict} |" in index
    document = report.json("")
    assert document["claims"][0]["no_evidence"] == "decides a choice" and "no_evidence" not in document["claims"][1]
    assert document["open"][0]["departs"] and "departs" not in document["open"][1]
    (tmp_path / "out" / "sensitivity.json").rename(made_up / "sensitivity.json")
    assert page.text_of(report) == text, "the kept alternatives have the marks, too"
    (made_up / "study.toml").write_text(f'by_chance = ["a.ordre"]\n{FAKE_STUDY}')
    with pytest.raises(Trouble, match=r"by_chance names \['a.ordre'\], which are no claims of the study"):
        catalogue.read(made_up)


def test_a_discussion_names_only_what_was_measured(made_up: Path) -> None:
    (made_up / "discussion.md").write_text("A {third}.\n")
    report = runner.run(catalogue.read(made_up), lambda *_: None, "made-up")
    with pytest.raises(ValueError, match="the discussion names 'third'"):
        page.text_of(report)


def tried(folder: Path) -> tuple[runner.Report, sensitivity.Sensitivity]:
    """A study, and the results of its alternatives."""
    known: dict[str, dict[str, Any]] = {}
    report = runner.run(catalogue.read(folder), lambda *_: None, "made-up", known=known)
    return report, sensitivity.run(report, lambda *_: None, "made-up", known)


def test_alternatives_are_tried_one_at_a_time(made_up: Path, tmp_path: Path) -> None:
    report, found = tried(made_up)
    document = found.json("1.2.3")
    assert [row["measured"] for row in document["claims"]] == [45.0, {"x": True, "y": False}]
    # 50 / 40 = 1.25 is reproduced like 45; 15 / 40 is more than a third.
    assert [
        (it["instead"]["choice"], row["measured"], row["ratio"], row["verdict"], row["changed"])
        for it in document["alternatives"]
        for row in it["claims"]
        if row["id"] == "a.number"
    ] == [("green", 50.0, 1.25, "reproduced", False), ("red", 15.0, 0.375, "same direction", True)]
    assert document["moved_by"] == ["colour"] and not document["partial"]
    text = page.write(report, tmp_path / "out", "1.2.3", found).read_text()
    assert (
        "| colour | red | `a.number` | 15.0 % | 0.375 | same direction (at least a third of the published size), "
        "stand-in workload | reproduced (within a factor of 1.5), stand-in workload |"
    ) in text
    assert "| colour | green | 50.0 %, ratio 1.25: reproduced |" in text
    assert "| colour | red | 15.0 %, ratio 0.375: → same direction |" in text
    assert parsed((tmp_path / "out" / "sensitivity.json").read_text()) == document


def test_what_was_tried_is_kept_for_the_same_result_only(made_up: Path, tmp_path: Path) -> None:
    report, found = tried(made_up)
    fresh = page.write(report, tmp_path / "out", "1.2.3", found).read_text()
    (tmp_path / "out" / "sensitivity.json").rename(made_up / "sensitivity.json")
    assert page.text_of(runner.run(catalogue.read(made_up), lambda *_: None, "made-up")) == fresh
    for old, new in (("value = 45.0", "value = 46.0"), ("value = 15.0", "value = 16.0"), ('"red"', '"pink"')):
        (made_up / "study.toml").write_text(FAKE_STUDY.replace(old, new))
        other = runner.run(catalogue.read(made_up), lambda *_: None, "made-up")
        assert sensitivity.kept(other) is None
        assert "Not run for this result" in page.text_of(other)


def test_an_interrupt_keeps_the_alternatives_that_were_run(made_up: Path) -> None:
    stop = 'number = context.choice("colour")\n    if number == 15.0:\n        raise KeyboardInterrupt'
    (made_up / "study.py").write_text(FAKE_CODE.replace('number = context.choice("colour")', stop))
    _, found = tried(made_up)
    assert found.partial and [trial.instead.choice for trial in found.trials] == ["green"]


def test_an_experiment_that_was_carried_out_is_not_again(made_up: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carried: list[dict[str, Any]] = []

    def counted(experiment: dict[str, Any], _: object) -> dict[str, Any]:
        carried.append(experiment)
        return {"requests": 1, "simulated_s": 1.0, "seen": experiment["colour"]}

    monkeypatch.setattr(package, "run", counted)
    number = 'number = context.choice("colour")'
    run = "context.packages({1: {'colour': number}, 2: {'colour': 0}})"
    runs = f"{number}\n    number = {run}[1]['seen']"
    (made_up / "study.py").write_text(FAKE_CODE.replace(number, runs))
    _, found = tried(made_up)
    assert [row.measured for trial in found.trials for row in trial.rows[:1]] == [50.0, 15.0]
    assert sorted(it["colour"] for it in carried) == [0, 15.0, 45.0, 50.0]


def test_a_damaged_file_of_other_choices_is_named(made_up: Path) -> None:
    (made_up / "sensitivity.json").write_text('{"schema": 1')
    report = runner.run(catalogue.read(made_up), lambda *_: None, "made-up")
    with pytest.raises(Trouble, match=r"sensitivity\.json: this is not JSON.*--sensitivity"):
        page.text_of(report)
    (made_up / "sensitivity.json").write_text('{"schema": 0}')
    assert sensitivity.kept(report) is None


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"value": 1, "alternatives": []}, "at least one value"),
        ({"value": 1, "alternatives": [{"value": 1, "choice": "the same"}]}, "another than the one chosen"),
        ({"value": 1, "alternatives": [{"value": 2}]}, "keys value and choice"),
        ({"value": 1}, "missing.*alternatives"),
        ({"value": 1, "no_alternative": "so"}, "unknown.*value"),
        ({"no_alternative": "so", "colour": 1}, "unknown.*colour"),
    ],
)
def test_a_wrong_open_parameter_is_refused(row: dict[str, Any], said: str) -> None:
    plain = {"key": "k", "parameter": "p", "choice": "c", "reason": "r"}
    with pytest.raises(Trouble, match=rf"study\.toml: open parameter k.*{said}"):
        choices.parse(plain | row, "study.toml")


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
        ('study = "made-up"\nsays = "more"', 'study = "other"\nsays = "more"', "a.number: belongs to another study"),
        ('choice = "blue"', 'chioce = "blue"', "open parameter colour.*chioce"),
        ('key = "shade"', 'key = "colour"', "colour: left open twice"),
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
    Course("course", "T", "W", "s", "y", [0.5, 1.5, 2.5], {"one": [1.0, None, 3.0], "two": [2.0, 2.0, 1.0]}),
    Timeline("timeline", "T", "W", ["bus", "cells"], [("bus", "TIR", 0.0, 1.0), ("cells", "TIN", 1.0, 9.0)]),
]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_figures_are_the_same_every_time_and_stand_alone(figure: Any) -> None:  # noqa: ANN401
    text = charts.draw(figure, "study")
    assert text == charts.draw(figure, "study")
    root = ElementTree.fromstring(text)
    assert root.get("width") and root.get("viewBox")
    used, defined = set(re.findall(r"var\((--[\w-]+)\)", text)), set(re.findall(r"(--[\w-]+):", text))
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
    [
        ("nand-dies", "--all"),
        ("--all", "--scorecard"),
        ("--full",),
        ("--sensitivity",),
        ("--out", "x"),
        ("--scorecard", "--out", "x"),
        ("--scorecard", "--sensitivity"),
    ],
)
def test_options_that_contradict_each_other(wordline: Run, arguments: tuple[str, ...]) -> None:
    refused(wordline("study", *arguments), "wordline study --help")


def test_a_file_is_no_folder(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    refused(wordline("study", "nand-dies", "--out", "taken"), "taken", "this is a file")


def test_a_study_runs(wordline: Run, tmp_path: Path) -> None:
    text = done(wordline("study", "nand-planes"))
    assert "published" in text and "jung13.planes-write" in text and "factor of" in text
    assert max(map(len, text.splitlines())) <= 80
    out = tmp_path / "out" / "studies" / "nand-planes"
    result = parsed(done(wordline("study", "nand-planes", "--json")))
    assert result == parsed((out / "result.json").read_text())
    assert result["schema"] == 1 and result["totals"]["claims"] == 3
    for row in result["claims"]:
        assert row["verdict"] in {verdict.value for verdict in Verdict}
        assert row["measured"] > 0
    assert sorted(path.name for path in (out / "figures").iterdir()) == ["planes-read.svg", "planes-write.svg"]


def test_planes_gain_what_the_sums_say(wordline: Run) -> None:
    # A read of n planes: 50 us in the array for all of them, 51.2 us per plane for the data, and a few latches.
    result = parsed(done(wordline("study", "nand-planes", "--json")))
    measured = {row["id"]: row["measured"] for row in result["claims"]}

    def a_page_us(planes: int) -> float:
        return (50 + 51.2 * planes) / planes

    assert measured["jung13.planes-read"] == pytest.approx(100 * (a_page_us(1) / a_page_us(8) - 1), rel=0.05)
    assert measured["jung13.planes-read-saturation"] == pytest.approx(100 * (a_page_us(4) / a_page_us(8) - 1), rel=0.1)


def test_the_scorecard_of_two_studies_holds_their_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = [catalogue.load(name) for name in ("nand-planes", "nand-dies")]
    monkeypatch.setattr(catalogue, "every", lambda: two)
    monkeypatch.chdir(tmp_path)
    reports, cut = command.run_all(None, full=False, version="1", quiet=True)
    card = command.scorecard_json(reports, "1", cut)
    assert [row["id"] for row in card["claims"]] == [claim.id for study in two for claim in study.claims]
    assert card["totals"]["claims"] == len(card["claims"])
    assert card["totals"]["claims"] == sum(n for key, n in card["totals"].items() if key != "claims")
    assert not card["partial"]
    assert list(tmp_path.iterdir()) == []


def test_other_choices_on_the_terminal(wordline: Run, tmp_path: Path) -> None:
    text = done(wordline("study", "nand-page-size", "--sensitivity"))
    assert max(map(len, text.splitlines())) <= 80
    assert "as chosen" in text and "→" in text and "factor of 1.5" in text
    assert "changed (→) by: mode of the gain from larger pages; interface" in " ".join(text.split())
    out = tmp_path / "out" / "studies" / "nand-page-size"
    document = parsed(done(wordline("study", "nand-page-size", "--sensitivity", "--json")))
    assert document == parsed((out / "sensitivity.json").read_text())
    kept = parsed((ROOT / "studies" / "nand-page-size" / "sensitivity.json").read_text())
    assert document | {"version": ""} == kept | {"version": ""}
    assert "## Choices that change verdicts" in (out / "README.md").read_text()


def test_other_choices_end_with_what_was_run(tmp_path: Path) -> None:
    command: list[str | Path] = [PROGRAM, "study", "--all", "--sensitivity", "--full", "--json"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        out = tmp_path / "out" / "studies"
        # The first study is running once the folder exists; a full one takes long.
        while not out.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert parsed(stdout) == {"schema": 1, "version": parsed(stdout)["version"], "partial": True, "studies": []}
    assert [it.name for it in out.iterdir()] == ["results"], "no page"
    assert "Traceback" not in stderr
