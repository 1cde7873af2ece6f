"""What is kept of the studies: their results, other choices, discussions and pages are those of the program."""

from __future__ import annotations

import re
import runpy
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from conftest import LONG, ROOT, Run, done, parsed
from wordline import package
from wordline.base import jsontext
from wordline.studies import autossd, catalogue, outcome, page, parallel_gc, runner, words
from wordline.studies.context import Context
from wordline.studies.judge import judge
from wordline.studies.packages import resolved
from wordline.studies.runner import Report

LIMIT_S = 900.0
"""All studies take longer than a command may otherwise."""

SLOW = (
    "autossd",
    "autossd-2x",
    "autossd-micro",
    "autossd-share",
    "gc-parallel",
    "gc-parallel-4",
    "gc-scheduling",
    "gc-threshold",
    "geometry",
    "hybrid-ftl",
    "organisation",
    "palloc",
    "paq",
    "paq-sensitivity",
    "read-priority",
    "virtual-disk",
    "wear-leveling",
    "wear-tuning",
)
"""Studies of more than 20 s. Here their pages are made from their results, and parts of some are run."""

FIGURES = {it.__name__.lower(): it for it in (*outcome.Figure.__args__, outcome.LogLines)}
"""The kinds of figures, by their names in results."""


def kept(name: str) -> dict[str, Any]:
    """The saved result of a study."""
    return parsed((ROOT / "studies" / name / "result.json").read_text())


def again(name: str) -> Report:
    """The report of a study from what it measured when its result was saved."""
    study, saved = catalogue.load(name), kept(name)

    def figure(kind: str, published: list[dict[str, Any]] | None = None, **data: Any) -> outcome.Figure:  # noqa: ANN401
        marks = {} if published is None else {"published": [outcome.Published(**it) for it in published]}
        return FIGURES[kind](**data, **marks)

    found = outcome.Outcome(
        measured={row["id"]: row["measured"] for row in saved["claims"]},
        tables=[outcome.Table(**it) for it in saved["tables"]],
        figures=[figure(**it) for it in saved["figures"]],
        discussed=saved["discussed"],
    )
    asked = {left["key"] for left in saved["open"]}
    left = tuple(it for it in study.open if it.key in asked)
    return Report(study, found, tuple(runner.settle(study, found)), left, saved["full"], saved["seed"])


def every_kept(name: str) -> dict[str, Any]:
    """A saved file of all studies, by study."""
    # A wheel has the studies without their results.
    return {it: parsed((ROOT / "studies" / it / name).read_text()) for it in catalogue.names()}


def test_what_is_kept_of_other_choices_belongs_to_the_results() -> None:
    results, others = every_kept("result.json"), every_kept("sensitivity.json")
    used: set[str] = set()
    for study in catalogue.every():
        result, other = results[study.name], others[study.name]
        assert other["claims"] == result["claims"], f"{study.name}: 'make studies' makes it"
        assert not other["partial"]
        asked = {left["key"] for left in result["open"]}
        used |= asked
        # A study uses all its open parameters, and each alternative was run.
        assert asked >= {left.key for left in study.open if not left.shared}, study.name
        assert [(it["key"], it["instead"]["value"]) for it in other["alternatives"]] == [
            (left.key, it.value) for left in study.open if left.key in asked for it in left.alternatives
        ]
        assert other["moved_by"] == list(
            dict.fromkeys(it["key"] for it in other["alternatives"] if any(row["changed"] for row in it["claims"]))
        )
    assert used >= {left.key for study in catalogue.every() for left in study.open}


def test_chosen_device_values_are_those_of_the_presets() -> None:
    def held(config: dict[str, Any], value: dict[str, Any]) -> bool:
        return all(held(config[key], it) if isinstance(it, dict) else config[key] == it for key, it in value.items())

    chapter = catalogue.parsed(catalogue.collection() / "jung13-chapter-2.toml")
    for left in catalogue.load("nand-dies").open:
        for device in left.devices:
            assert held(resolved(chapter["device"][device])["nand"], left.value or {}), (left.key, device)


def test_the_order_on_the_bus_decides_what_its_reason_says() -> None:
    moved, by_id = set(), {}
    for study, document in every_kept("sensitivity.json").items():
        if catalogue.load(study).chapter != "jung13-chapter-2":
            continue
        (other,) = [it for it in document["alternatives"] if it["key"] == "bus"]
        moved |= {row["id"] for row in other["claims"] if row["changed"]}
        by_id |= {row["id"]: row for row in other["claims"]}
        by_id |= {f"chosen {row['id']}": row for row in document["claims"]}
    assert moved == {"jung13.die-first-plane-first", "jung13.slc-contention"}
    # The reads of eight dies are unchanged.
    reads = [by_id[f"{it}jung13.dies-read"]["measured"] for it in ("chosen ", "")]
    assert reads[0] == pytest.approx(reads[1], rel=1e-6)
    large = by_id["jung13.die-first-plane-first"]["measured"]
    assert [case for case, holds in large.items() if not holds] == ["large reads, 32 KB", "large reads, 64 KB"]
    share = [by_id[f"{it}jung13.slc-contention"]["measured"] for it in ("chosen ", "")]
    assert share[1] > share[0]


def test_the_typical_model_of_two_dies_is_run(wordline: Run) -> None:
    nand = resolved("jung13-mlc1")["nand"]

    def rate(model: str) -> float:
        experiment = {
            "package": {"dies": 2, "planes": 1, "blocks_per_plane": 4096, "pages_per_block": 128, "page_bytes": 2048},
            "nand": nand | {"latency_model": model},
            "host": {"scheduler": "plane-first", "bus": "first-come", "queue_depth": 32},
            "load": {"kind": "stream", "op": "write", "request_bytes": 2048, "requests": 2048},
            "seed": 1,
        }
        return package.run(experiment)["bandwidth_mib_s"]

    result = parsed(done(wordline("study", "nand-validation", "--json")))
    (row,) = [it for it in result["claims"] if it["id"] == "jung13.latency-model-typical-ddp"]
    legacy = 100 * (rate("typical") / rate("variation") - 1)
    assert row["measured"][0] == pytest.approx(legacy)
    # A page of a die takes its program time and 51.2 us on the bus, which the two dies share.
    assert rate("typical") == pytest.approx(2 * 2048 / 2**20 / 702e-6, rel=0.01)


def numerals(text: str) -> set[float]:
    """The numbers in a text, except sections such as 2.8.1."""
    found = (it.replace(",", "").rstrip(".") for it in re.findall(r"\d[\d,.]*", text))
    return {float(it) for it in found if it.count(".") < 2}


@pytest.mark.parametrize("name", catalogue.names())
def test_a_discussion_types_no_measured_figure(name: str) -> None:
    """Percentages are those of claims, times those of a device; all others are in the definition."""
    study = catalogue.load(name)
    given = (study.folder / "study.toml").read_text()
    chapter = (study.folder.parent / f"{study.chapter}.toml").read_text()
    presets = ("jung13-slc", "jung13-mlc1", "jung13-mlc2", "jung13-ch3", "jung13-ch6", "kim18", "choi18", "dirik09")
    devices = "".join((ROOT / "drives" / f"{it}.toml").read_text() for it in presets if it.split("-")[0] in chapter)
    claims = numerals(" ".join(f"{it.says} {it.value} {it.max}" for it in study.claims))
    typed = words.PLACE.sub("", study.discussion())
    typed = re.sub(r"(section|figure|Table) [\d.]+\d|\b2\.\d\.\d\b", "", typed)
    beside = {" %": claims, " µs": numerals(devices), "": numerals(given + chapter + devices)}
    for number, unit in re.findall(r"(\d[\d,.]*)( %|[^\S\n][µm]s| MiB/s| mJ| times)?", typed):
        allowed = beside.get(unit, set())
        assert numerals(number) <= allowed, f"{study.folder}/discussion.md: {number}{unit} is typed, not measured"


def test_the_readme_counts_as_the_scorecard_does() -> None:
    results = every_kept("result.json").values()
    counts = Counter(row["verdict"] for result in results for row in result["claims"])
    text = " ".join((ROOT / "README.md").read_text().split())
    claims = sum(counts.values())
    assert f"{claims} claims, of which {counts['reproduced']} are reproduced (within a factor of 1.5" in text
    assert f"and {counts['same direction']} have the same direction (at least a third of the published size)" in text
    marked = Counter(row["no_evidence"] for result in results for row in result["claims"] if "no_evidence" in row)
    assert marked == {"decides a choice": 1, "by chance": 1}
    assert f"Of those that hold, {marked.total()} are no evidence for the model" in text


@pytest.mark.parametrize("name", catalogue.names())
def test_the_kept_pages_follow_from_the_kept_results(name: str) -> None:
    report = again(name)
    of = f"studies/{name} is out of date: 'make studies' makes it"
    # With the verdicts of the rule, and today's words of claims, choices and discussions.
    assert (ROOT / "studies" / name / "discussion.md").exists(), f"studies/{name} has no discussion"
    assert page.text_of(report) == (ROOT / "studies" / name / "README.md").read_text(), of
    assert parsed(jsontext.dumps(report.json(""))) == kept(name) | {"version": ""}, of


def test_a_part_of_autossd_micro_measures_what_is_kept() -> None:
    """Figure 4a of kim18, with its claim."""
    context, saved = Context(catalogue.load("autossd-micro")), kept("autossd-micro")
    study = runpy.run_path(str(ROOT / "studies" / "autossd-micro" / "study.py"))
    made = study["bandwidths"](context, autossd.Drive(context))
    ((claim, measured),) = made.measured.items()
    (row,) = [it for it in saved["claims"] if it["id"] == claim]
    (published,) = [it for it in context.study.claims if it.id == claim]
    assert (row["measured"], row["verdict"]) == (measured, judge(published, measured).value)
    for mine, its in ((made.tables, saved["tables"]), (made.figures, saved["figures"])):
        for one in parsed(jsontext.dumps([asdict(it) for it in mine])):
            assert one in [{key: value for key, value in it.items() if key != "kind"} for it in its]
    assert made.discussed.items() <= saved["discussed"].items()


def test_a_volume_of_gc_parallel_measures_what_is_kept() -> None:
    """A row of Table 2 of choi18, with the intensity that is searched for it, and of its figure 10."""
    context, saved = Context(catalogue.load("gc-parallel")), kept("gc-parallel")
    drive = parallel_gc.Drive(context, {})
    (volume,) = [it for it in drive.volumes() if it.name == "proj_0"]
    (gap,) = drive.searched([volume]).values()
    systems = {it: parallel_gc.SYSTEMS[it] for it in (parallel_gc.BASELINE, parallel_gc.PAR)}
    base, par = drive.runs({volume.name: gap}, systems, [volume.name]).values()
    tables = {it["title"]: {row[0]: row for row in it["rows"]} for it in saved["tables"]}
    load = tables["Workloads on the baseline"][volume.name]
    moved = base["gc"]["moved_pages"] / base["gc"]["collections"]
    assert load[1:5] == [gap, volume.affected_percent, parallel_gc.affected(base), moved]
    planes = tables["Plane utilisation during GC, and what GC takes along"][volume.name]
    assert planes[1:3] == [parallel_gc.utilisation(it) for it in (base, par)]


def shape(result: dict[str, Any]) -> dict[str, Any]:
    """What every run of a study on the clock of the wall has alike: all but figures, and the verdicts on them."""
    told = ("measured", "ratio", "verdict", "rule")
    return {
        **{key: result[key] for key in ("study", "title", "runs", "clock", "open", "seed")},
        "claims": [{key: value for key, value in row.items() if key not in told} for row in result["claims"]],
        "tables": [(it["title"], it["head"], it["note"]) for it in result["tables"]],
        "figures": [(it["name"], it["groups"], sorted(it["series"]), it["published"]) for it in result["figures"]],
        "discussed": sorted(result["discussed"]),
    }


@pytest.mark.parametrize("name", catalogue.names())
def test_the_kept_pages_are_up_to_date(wordline: Run, tmp_path: Path, name: str) -> None:
    if name in SLOW and not LONG:
        pytest.skip("takes more than 20 s: make test-long")
    if catalogue.load(name).missing():
        pytest.skip("this machine lacks a tool that the study needs")
    done(wordline("study", name, "--out", "pages", timeout=LIMIT_S))
    of, folder = f"studies/{name} is out of date: 'make studies' makes it", ROOT / "studies" / name
    if catalogue.load(name).clock:
        assert shape(parsed((tmp_path / "pages" / name / "result.json").read_text())) == shape(kept(name)), of
        return
    assert (tmp_path / "pages" / name / "README.md").read_text() == (folder / "README.md").read_text(), of
    made, old = (parsed((it / "result.json").read_text()) for it in (tmp_path / "pages" / name, folder))
    assert made | {"version": ""} == old | {"version": ""}, of


def repeated(listed: str) -> list[str]:
    """The parts of the list of pages that every run has alike: not the totals, and not studies on the clock."""
    parts = re.split(r"^(?=## )", listed, flags=re.MULTILINE)[1:]
    clocks = [study.name for study in catalogue.every() if study.clock]
    return [part for part in parts if not any(f"({name}/README.md)" in part for name in clocks)]


@pytest.mark.skipif(not LONG, reason="all studies take minutes: make test-long")
def test_the_kept_list_of_pages_is_up_to_date(wordline: Run, tmp_path: Path) -> None:
    done(wordline("study", "--all", "--out", "pages", timeout=LIMIT_S))
    made, old = (repeated((where / "README.md").read_text()) for where in (tmp_path / "pages", ROOT / "studies"))
    assert made == old, "'make studies' makes studies/README.md"


@pytest.mark.skipif(not LONG, reason="all studies take minutes: make test-long")
def test_the_scorecard_holds_every_claim(wordline: Run, tmp_path: Path) -> None:
    card = parsed(done(wordline("study", "--scorecard", "--json", timeout=LIMIT_S)))
    possible = [study for study in catalogue.every() if not study.missing()]
    assert {row["id"] for row in card["claims"]} == {claim.id for study in possible for claim in study.claims}
    assert card["totals"]["claims"] == len(card["claims"])
    assert card["totals"]["claims"] == sum(n for key, n in card["totals"].items() if key != "claims")
    assert not card["partial"]
    assert [it.name for it in (tmp_path / "out" / "studies").iterdir()] == ["results"], "no pages"
