"""Synonyms of Wordline's keys, and the keys of results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import BUNDLED, Run, done, parsed, refused
from wordline import _core
from wordline.reference import asking, resultkeys, synonyms

MEANT = {
    "gc": {"collect", "gc.moved_pages"},
    "op": {"capacity.raw_over_logical"},
    "over-provisioning": {"capacity.raw_over_logical"},
    "waf": {"write_amplification"},
    "WA": {"write_amplification"},
    "zipf": {"job.random_distribution"},
    "blocksize": {"job.bs", "geometry.pages_per_block", "geometry.page_kib"},
    "readwrite": {"job.rw"},
    "page_size": {"geometry.page_kib"},
    "queue depth": {"job.iodepth", "trace.iodepth", "queue.depth"},
    "iodepth": {"job.iodepth", "trace.iodepth", "queue.depth"},
    "plane": {"geometry.planes_per_die"},
    "tR": {"nand.read_us"},
    "tPROG": {"nand.program_us"},
    "tbers": {"nand.erase_us"},
    "wear leveling": {"free_block.policy", "wear.policy", "wear.planes"},
    "static wear leveling": {"wear.policy"},
    "write cache": {"buffer"},
    "host interface": {"link"},
    "P/E cycles": {"nand.reliability.endurance"},
}


@pytest.mark.parametrize("word", MEANT)
def test_explain_knows_what_others_call_a_key(wordline: Run, word: str) -> None:
    told = parsed(done(wordline("explain", *word.split(), "--json")))
    assert MEANT[word] <= {entry["key"] for entry in told}


def test_explain_says_which_key_a_word_is_for(wordline: Run) -> None:
    told = done(wordline("explain", "over-provisioning"))
    assert told.startswith("For 'over-provisioning' see capacity.raw_over_logical.\n")
    assert "Raw capacity" in told
    # Of a synonym and the end of a key the first is shown, and the other named.
    assert "See also: trace.columns.op." in done(wordline("explain", "op"))
    assert "See also: results.precondition." in done(wordline("explain", "precondition"))
    refused(wordline("explain", "waaf"), "no key 'waaf'; did you mean 'waf'?")
    refused(wordline("explain", "greedy"), "try 'wordline policies greedy'")


def test_every_word_leads_to_keys_that_there_are() -> None:
    files = {"drive": json.loads(_core.keys()), "workload": json.loads(_core.load_keys())}
    known = asking.Known(files, resultkeys.every(json.loads(_core.result_keys())))
    words = [synonyms.plain(word) for word in synonyms.words()]
    twice = {word for word in words if words.count(word) > 1}
    # Two spellings with the same meaning.
    assert twice <= {"iodepth", "runtime"}
    for word in synonyms.words():
        answer = asking.answer(word, known)
        assert answer.found and all(entries for _, entries in answer.found), word


@pytest.mark.parametrize(
    ("setting", "advice"),
    [
        ("gc=greedy", "unknown key 'gc' (value \"greedy\"); the key is collect.policy"),
        ("gc.start_blocks=4", "; the key is collect.start_blocks"),
        # A misspelt section, with a word for another one behind it.
        ("shares.percnt.gc=5", "unknown key 'shares.percnt' (a table); did you mean 'shares.percent'?"),
        ("share.percent.gc=5", "unknown key 'share' (a table); did you mean 'shares'?"),
        ("op=0.07", "; the key is capacity.raw_over_logical"),
        ("capacity.overprovisioning=7", "; the key is capacity.raw_over_logical"),
        ("nand.tR=50", "; the key is nand.read_us"),
        ("tprog_us=50", "; the key is nand.program_us"),
        ("qd=4", "; the key is queue.depth; of the workload, the keys are job.iodepth and trace.iodepth"),
        ("zipf=1.1", "; of the workload, the key is job.random_distribution"),
        ("waf=2", "; this is a figure of results, write_amplification, and cannot be set"),
        ("collect=greedy", "expected a table; the key is collect.policy"),
        # Cases that the engine handles better.
        ("nand.reliability.retention_s=3", "write 'retention_hours': this key is in hours"),
        ("nosuch=3", "the top-level keys are"),
    ],
)
def test_a_setting_by_another_name_is_refused_with_its_own(wordline: Run, setting: str, advice: str) -> None:
    refused(wordline("check", "demo", "--set", setting), f"--set {setting}: ", advice)


@pytest.mark.parametrize(
    ("setting", "advice"),
    [
        ("blocksize=4k", "; the key is job.bs (of the first job, job.0.bs)"),
        ("job.0.readwrite=read", "; the key is job.0.rw"),
        ("job.0.zipf=1.1", "; the key is job.0.random_distribution"),
        ("gc=greedy", "; of the drive, the key is collect.policy, for --set"),
    ],
)
def test_so_is_a_setting_of_the_load(wordline: Run, drive: Path, load: Path, setting: str, advice: str) -> None:
    refused(wordline("run", drive, load, "--load-set", setting), f"--load-set {setting}: unknown key ", advice)


def test_so_is_a_line_of_a_file(wordline: Run, drive: Path, tmp_path: Path) -> None:
    (tmp_path / "gc.toml").write_text('extends = "demo"\n[gc]\npolicy = "on-demand"\n')
    refused(wordline("check", "gc.toml"), "gc.toml:2:2: unknown key 'gc' (a table); the section is collect")
    (tmp_path / "zipf.toml").write_text("[[job]]\nzipf = 1.1\n")
    refused(wordline("run", drive, "zipf.toml"), "unknown key 'job.0.zipf' (value 1.1); the key is job.0.random_")
    refused(wordline("trace", "info", BUNDLED, "--load-set", "qd=3"), "the keys are job.iodepth and trace.iodepth")
    # The keys of a stand-in are not keys of a drive.
    refused(wordline("trace", "synth", "-o", "x.csv", "--set", "gc=1"), "the top-level keys are: source")


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("write_amplification", {"type": "number or null", "unit": None, "stable": True}),
        ("results.gc.moved_pages", {"key": "gc.moved_pages", "unit": "pages"}),
        ("by_op.write.bytes", {"key": "by_op.{read,write,trim,flush}.bytes", "type": "number", "unit": "bytes"}),
        ("series.outstanding", {"type": "list of numbers", "unit": "requests"}),
        ("wear.planes", {"type": "list of numbers", "unit": "erases"}),
        ("measured_to_s", {"type": "number", "unit": "s", "stable": False}),
    ],
)
def test_explain_knows_the_keys_of_results(wordline: Run, asked: str, wanted: dict[str, object]) -> None:
    (told,) = parsed(done(wordline("explain", asked, "--json")))
    assert told["file"] == "result" and told["description"]
    assert told | {"key": asked} | wanted == told
    text = done(wordline("explain", asked))
    assert f"kind      {told['type']}" in text
    assert told["unit"] is None or f"unit      {told['unit']}" in text


def test_explain_lists_the_keys_of_results(wordline: Run) -> None:
    sections = json.loads(_core.result_keys())
    keys = [key["key"] for section in sections for key in section["keys"]]
    assert [entry["key"] for entry in parsed(done(wordline("explain", "results", "--json")))] == keys
    within = parsed(done(wordline("explain", "results.precondition", "--json")))
    assert [entry["key"] for entry in within] == [key for key in keys if key.startswith("precondition.")]
    text = " ".join(done(wordline("explain")).split())
    assert all(section["title"] in text for section in sections)
    refused(wordline("explain", "results.write_amplificaton"), "did you mean 'results.write_amplification'?")


def test_explain_shows_the_unit_of_a_key(wordline: Run) -> None:
    for key, unit in (("job.bs", "bytes"), ("nand.read_us", "µs"), ("job.rate_iops", "requests/s")):
        assert f"unit      {unit}" in done(wordline("explain", key))
        assert all(entry["unit"] == unit for entry in parsed(done(wordline("explain", key, "--json"))))
