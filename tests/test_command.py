"""The command line: what there is, what it answers to a slip of the fingers, how fast it starts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUNDLED, PROGRAM, ROOT, Run, done, parsed, refused
from wordline.base import progress

PRESETS = sorted(path.stem for path in (ROOT / "drives").glob("*.toml"))


def test_version(wordline: Run) -> None:
    assert re.fullmatch(r"wordline \d+\.\d+\.\d+\S*\n", done(wordline("--version")))


def test_help_lists_the_commands_and_loads_little() -> None:
    read = (
        "import sys; from wordline.cli.program import wordline as w; w(['--help'], standalone_mode=False); "
        "print(*sys.modules)"
    )
    outcome = subprocess.run([sys.executable, "-c", read], capture_output=True, text=True, timeout=60, check=True)
    text, _, modules = outcome.stdout.rstrip().rpartition("\n")
    for command in ("run", "check", "drives", "policies", "explain", "precondition", "trace", "timeline"):
        assert command in text
    # These take longer to load than the rest together; what `--help` takes is measured by `make bench`.
    loaded = {name.partition(".")[0] for name in modules.split()} | set(modules.split())
    assert not {"wordline._core", "rich", "jinja2", "matplotlib", "pyarrow", "numpy"} & loaded


@pytest.mark.parametrize(
    "command", ["run", "check", "drives", "policies", "explain", "precondition", "trace", "timeline"]
)
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


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_that_is_printed_is_the_same_drive(wordline: Run, tmp_path: Path, preset: str) -> None:
    text = done(wordline("drives", preset))
    assert text == (ROOT / "drives" / f"{preset}.toml").read_text()
    assert "#" in text, "without its sources"
    done(wordline("drives", preset, "-o", "mine.toml"))
    assert (tmp_path / "mine.toml").read_text() == text
    mine, own = (parsed(done(wordline("check", name, "--json"))) for name in ("mine.toml", preset))
    assert (mine["config"], mine["derived"]) == (own["config"], own["derived"])
    assert parsed(done(wordline("drives", preset, "--json")))["toml"] == text


def test_a_preset_that_is_none(wordline: Run) -> None:
    refused(wordline("drives", "dmeo"), "no preset 'dmeo'", "did you mean 'demo'")


PRINTING = (
    ("check", "demo"),
    ("drives",),
    ("policies", "victim"),
    ("explain",),
    ("explain", "nand"),
    ("study",),
    ("study", "nand-planes"),
    ("trace", "info", BUNDLED),
)


@pytest.mark.parametrize("command", PRINTING)
def test_what_is_printed_can_be_written(wordline: Run, tmp_path: Path, command: tuple[str]) -> None:
    assert done(wordline(*command, "--json", "-o", "out.json")) == ""
    assert (tmp_path / "out.json").read_text() == done(wordline(*command, "--json"))
    assert done(wordline(*command, "--output", "out.txt")) == ""
    printed = done(wordline(*command, env={"COLUMNS": "120"}))
    assert (tmp_path / "out.txt").read_text().split() == printed.split()
    refused(wordline(*command, "-o", "none/out.txt"), "'none' does not exist")


def test_a_comparison_can_be_written(wordline: Run, drive: Path, load: Path, tmp_path: Path) -> None:
    for name, policy in (("a", "greedy"), ("b", "fifo")):
        done(wordline("run", drive, load, "--set", f"victim.policy={policy}", "--json", f"{name}.json", "-q"))
    told = parsed(done(wordline("compare", "a.json", "b.json", "--json")))
    a, b = (parsed((tmp_path / name).read_text()) for name in ("a.json", "b.json"))
    assert [run["digest"] for run in told["runs"]] == [a["digest"], b["digest"]]
    figures = {figure["key"]: figure for figure in told["figures"]}
    for key, values in {
        "iops": [a["iops"], b["iops"]],
        "latency_us.read.p99": [it["latency_us"]["read"]["p99"] for it in (a, b)],
    }.items():
        assert figures[key]["values"] == values
        assert figures[key]["ratios"] == [1, pytest.approx(values[1] / values[0])]
        assert figures[key]["ci95"] == figures[key]["beyond_chance"] == [None, None]
    assert told["differences"] == [{"key": "victim.policy", "values": ['"greedy"', '"fifo"']}]
    assert "noise cannot be told from effect" in told["chance"][0]
    for arguments in (("-o", "c.json"), ("-o", "c.json", "-q"), ("-o", "c.json", "--report", "c.html")):
        assert done(wordline("compare", "a.json", "b.json", "--json", *arguments)) == ""
        assert parsed((tmp_path / "c.json").read_text()) == told
    done(wordline("compare", "a.json", "b.json", "-o", "c.txt"))
    printed = done(wordline("compare", "a.json", "b.json", env={"COLUMNS": "120"}))
    assert (tmp_path / "c.txt").read_text().split() == printed.split()
    outcome = wordline("compare", "a.json", "b.json", "--report", "-")
    assert done(outcome).endswith("</html>\n") and "What differs" in outcome.stderr
    refused(wordline("compare", "a.json", "b.json", "--report", "-", "--json"), "--report and --json cannot both go")
    refused(wordline("compare", "a.json", "b.json", "--report", "x", "-o", "x"), "the same file, x")
    refused(wordline("compare", "a.json", "b.json", "-o", "b.json"), "read by the same command")


def test_a_comparison_over_seeds_tells_programs_of_chance(wordline: Run, drive: Path, load: Path) -> None:
    for name, policy in (("a", "greedy"), ("b", "fifo")):
        sets = ("--set", f"victim.policy={policy}", "--repeat", "3")
        done(wordline("run", drive, load, *sets, "--json", f"{name}.json", "-q"))
    told = parsed(done(wordline("compare", "a.json", "b.json", "--json")))
    (factor,) = [figure for figure in told["figures"] if figure["key"] == "write_amplification"]
    assert all(half > 0 for half in factor["ci95"])
    assert factor["beyond_chance"] == [None, True]


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ("nand.read_us", {"file": "drive", "unit": "µs", "type": "number or array of number", "default": 50.0}),
        ("link.rate_gb_s", {"unit": "GB/s"}),
        ("nand.rate_mt_s", {"unit": "MT/s"}),
        ("geometry.channels", {"unit": None, "type": "integer", "required": False, "default": 4}),
        ("job.size", {"file": "workload", "type": "integer or string", "range": {"min": 0, "max": None}}),
        ("mapping.unit_kib", {"unit": "KiB", "only_with": {"mapping.policy": "page"}}),
    ],
)
def test_explain_tells_programs(wordline: Run, key: str, wanted: dict[str, object]) -> None:
    told = parsed(done(wordline("explain", key, "--json")))
    assert told, key
    for entry in told:
        assert entry["key"] == key and entry["description"]
        assert entry | wanted == entry


def test_explain_gives_programs_choices_and_sections(wordline: Run) -> None:
    (policy,) = parsed(done(wordline("explain", "victim.policy", "--json")))
    listed = parsed(done(wordline("policies", "victim", "--json")))
    assert {it["name"] for it in policy["choices"]} == {it["name"] for it in listed}
    assert all(it["description"] for it in policy["choices"])
    every = parsed(done(wordline("explain", "--json")))
    (section,) = parsed(done(wordline("explain", "nand", "--json")))
    assert section in every
    assert {"nand.read_us", "nand.reliability.model"} <= {it["key"] for it in section["keys"]}
    assert {it["file"] for it in every} == {"drive", "workload"}


@pytest.mark.parametrize("command", [("check", "demo"), ("explain", "nand"), ("study", "nand-planes")])
def test_a_file_behind_json_is_told_where_to_go(wordline: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    refused(wordline(*command, "--json", "x.json"), "--json takes no file", "give --json -o x.json")
    assert not any(tmp_path.iterdir())


def test_a_summary_can_be_written(wordline: Run, drive: Path, load: Path, tmp_path: Path) -> None:
    assert done(wordline("run", drive, load, "-o", "r.txt", "--json", "r.json")) == ""
    assert "write amplification" in (tmp_path / "r.txt").read_text()
    # Without a file of its own, the JSON is what would be printed.
    assert done(wordline("run", drive, load, "-o", "s.json", "--json", "-q")) == ""
    digests = [parsed((tmp_path / name).read_text())["digest"] for name in ("r.json", "s.json")]
    assert digests[0] == digests[1]
    assert "write amplification" in done(wordline("run", drive, load, "-o", "-"))
    refused(wordline("run", drive, load, "-o", "x", "--json", "x"), "the same file, x")


def test_a_study_without_progress(wordline: Run, tmp_path: Path) -> None:
    outcome = wordline("study", "nand-planes", "--quiet", "--json", "-o", "s.json")
    assert done(outcome) == "" and outcome.stderr == ""
    kept = tmp_path / "out" / "studies" / "nand-planes" / "result.json"
    assert (tmp_path / "s.json").read_text() == kept.read_text()
    refused(wordline("study", "nand-planes", "--out", "p", "-o", "none/s.txt"), "'none' does not exist")
    assert not (tmp_path / "p").exists()


def test_json_is_printed_where_no_file_is_named(wordline: Run, drive: Path, load: Path, tmp_path: Path) -> None:
    printed = parsed(done(wordline("run", drive, load, "--json", "-q")))
    done(wordline("run", drive, load, "--json", "r.json", "-q"))
    written = parsed((tmp_path / "r.json").read_text())
    assert printed["digest"] == written["digest"]
    aged = parsed(done(wordline("precondition", drive, "-o", "aged.wls", "--json", "-q")))
    assert aged["file_bytes"] == (tmp_path / "aged.wls").stat().st_size


def test_older_spellings_work_and_are_not_shown(wordline: Run, drive: Path, load: Path, tmp_path: Path) -> None:
    done(wordline("run", drive, load, "--json", "r.json", "-q"))
    for option in ("--out", "--output", "-o"):
        done(wordline("report", "r.json", option, f"r{option}.html"))
        assert "</html>" in (tmp_path / f"r{option}.html").read_text()
    shown = done(wordline("report", "--help"))
    assert "--output FILE" in shown
    assert "--out " not in shown.replace("--output", "")


def test_without_a_terminal_a_line_a_minute_tells_how_far_a_run_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    for quiet in (False, True):
        now = 0.0
        with progress.Progress(quiet) as told:
            for now in range(0, 200, 10):
                told("run" if now >= 60 else "precondition", now / 200, now * 1000, now / 1000)
            told("run", None, 0, 0.0)
        lines = capsys.readouterr().err.splitlines()
        wanted = [
            "wordline: run: 30 %, 60.0 k requests, 0/s, 60.0 ms simulated",
            "wordline: run: 60 %, 120 k requests, 1,000/s, 120 ms simulated",
            "wordline: run: 90 %, 180 k requests, 1,000/s, 180 ms simulated",
        ]
        assert lines == ([] if quiet else wanted)
