"""The command line: what there is, what it answers to a slip of the fingers, how fast it starts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PROGRAM, ROOT, Run, done, parsed, refused

PRESETS = sorted(path.stem for path in (ROOT / "drives").glob("*.toml"))


def test_version(wordline: Run) -> None:
    assert re.fullmatch(r"wordline \d+\.\d+\.\d+\S*\n", done(wordline("--version")))


def test_help_lists_the_commands_and_loads_little() -> None:
    read = (
        "import sys; from wordline.cli import wordline as w; w(['--help'], standalone_mode=False); print(*sys.modules)"
    )
    outcome = subprocess.run([sys.executable, "-c", read], capture_output=True, text=True, timeout=60, check=True)
    text, _, modules = outcome.stdout.rstrip().rpartition("\n")
    for command in ("run", "check", "drives", "policies", "explain", "precondition", "trace"):
        assert command in text
    # These take longer to load than the rest together; what `--help` takes is measured by `make bench`.
    loaded = {name.partition(".")[0] for name in modules.split()} | set(modules.split())
    assert not {"wordline._core", "rich", "jinja2", "matplotlib", "pyarrow", "numpy"} & loaded


@pytest.mark.parametrize("command", ["run", "check", "drives", "policies", "explain", "precondition", "trace"])
def test_every_command_has_help(wordline: Run, command: str) -> None:
    assert done(wordline(command, "--help")).startswith(f"Usage: wordline {command}")


def test_nothing_typed_shows_the_help(wordline: Run) -> None:
    assert "Commands:" in done(wordline())


def test_a_slip_finds_the_command(wordline: Run) -> None:
    refused(wordline("polices"), "polices", "did you mean 'policies'")
    refused(wordline("trace", "inof"), "did you mean 'info'")


def test_a_slip_finds_the_option(wordline: Run) -> None:
    refused(wordline("run", "demo", "x", "--repotr", "r.html"), "--repotr", "did you mean --report")


def test_a_missing_argument_is_named(wordline: Run) -> None:
    refused(wordline("run", "demo"), "LOAD", "wordline run --help")


def test_drives_lists_every_preset(wordline: Run) -> None:
    listed = parsed(done(wordline("drives", "--json")))
    assert sorted(drive["name"] for drive in listed) == PRESETS
    assert all(drive["title"] and drive["source"] for drive in listed)
    text = done(wordline("drives"))
    assert all(name in text for name in PRESETS)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_sound(wordline: Run, preset: str) -> None:
    checked = parsed(done(wordline("check", preset, "--json")))
    derived = checked["derived"]
    assert derived["raw_bytes"] > derived["logical_bytes"] > 0
    assert derived["spare_bytes"] == derived["raw_bytes"] - derived["logical_bytes"]
    assert derived["dies"] % derived["channels"] == 0
    assert derived["start_blocks"] > derived["reserve_blocks"] >= 1
    assert derived["stop_blocks"] >= derived["start_blocks"]
    assert all(value > 0 for value in derived["peak_mib_s"].values())
    text = done(wordline("check", preset))
    assert "Logical capacity" in text
    assert "[geometry]" in text


def test_check_says_where_values_were_set(wordline: Run, drive: Path) -> None:
    arguments = ("check", drive, "--set", "victim.policy=fifo")
    checked = parsed(done(wordline(*arguments, "--json")))
    assert checked["config"]["victim"]["policy"] == "fifo"
    assert checked["origins"]["victim.policy"] == "--set victim.policy=fifo"
    assert re.search(r"small\.toml:4:\d+$", checked["origins"]["geometry.channels"])
    assert "nand.erase_us" not in checked["origins"]
    assert "--set victim.policy=fifo" in done(wordline(*arguments))


def test_policies_lists_families_and_sources(wordline: Run) -> None:
    listed = parsed(done(wordline("policies", "--json")))
    families = {policy["family"] for policy in listed}
    assert {"victim", "placement", "collect", "arbiter", "mapping", "link", "buffer", "dispatch"} <= families
    assert all(policy["summary"] and policy["source"] for policy in listed)
    for family in families:
        defaults = [policy["name"] for policy in listed if policy["family"] == family and policy["default"]]
        assert len(defaults) == 1, f"family {family} has defaults {defaults}"
    text = done(wordline("policies"))
    assert all(policy["name"] in text for policy in listed)


def test_policies_of_one_family(wordline: Run) -> None:
    listed = parsed(done(wordline("policies", "victim", "--json")))
    assert {policy["name"] for policy in listed} >= {"greedy", "cost-benefit", "fifo", "random", "best-of"}
    assert {policy["family"] for policy in listed} == {"victim"}
    refused(wordline("policies", "victm"), "did you mean 'victim'")


@pytest.mark.parametrize("key", ["nand.read_us", "victim.policy", "geometry", "read_us", "job.rw", "trace.past_end"])
def test_explain_knows_keys_of_both_files(wordline: Run, key: str) -> None:
    assert key.split(".")[-1] in done(wordline("explain", key))


def test_every_key_can_be_explained(wordline: Run) -> None:
    text = done(wordline("explain"))
    for section in ("geometry", "nand", "victim", "link", "trace", "job"):
        assert section in text
        assert len(done(wordline("explain", section)).splitlines()) > 3


def test_explain_suggests_the_nearest_key(wordline: Run) -> None:
    refused(wordline("explain", "nand.reed_us"), "nand.read_us")
    refused(wordline("explain", "reed_us"), "nand.read_us")


def test_a_reader_that_leaves_is_no_accident() -> None:
    with subprocess.Popen(
        [PROGRAM, "policies", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        process.wait(timeout=30)
