"""The command line: its commands, its answers to typing errors, its start-up time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import synthetic
from conftest import BUNDLED, PROGRAM, ROOT, Run, done, parsed, refused
from wordline.base import progress, units

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
    # These take longer to load than all the rest; `make bench` measures `--help`.
    loaded = {name.partition(".")[0] for name in modules.split()} | set(modules.split())
    assert not {"wordline._core", "rich", "jinja2", "matplotlib", "pyarrow", "numpy"} & loaded


@pytest.mark.parametrize(
    "command", ["run", "check", "drives", "policies", "explain", "precondition", "trace", "timeline"]
)
def test_every_command_has_help(wordline: Run, command: str) -> None:
    assert done(wordline(command, "--help")).startswith(f"Usage: wordline {command}")


def test_nothing_typed_shows_the_help(wordline: Run) -> None:
    assert done(wordline()) == done(wordline("--help"))


def test_help_shows_the_commands_by_workflow(wordline: Run) -> None:
    text = done(wordline("--help", env={"COLUMNS": "80"}))
    assert all(len(line) <= 80 for line in text.splitlines())
    blocks = {block.split(":", 1)[0]: block.splitlines()[1:] for block in text.strip().split("\n\n")}
    shown = {head: [line.split()[0] for line in blocks[head]] for head in list(blocks)[3:]}
    assert shown == {
        "Look": ["drives", "check", "policies", "explain"],
        "Simulate": ["run", "sweep", "optimise", "precondition", "replay", "pts"],
        "Live disk": ["serve", "watch", "ctl"],
        "Results": ["report", "compare", "timeline"],
        "Traces": ["trace"],
        "Papers": ["study"],
    }
    assert not any(line.endswith("...") for head in shown for line in blocks[head]), "a sentence is cut"
    begin = {re.match(r"  \S+ +", line).end() for head in shown for line in blocks[head]}  # type: ignore[union-attr]
    assert len(begin) == 1, "the sentences stand in line"


def test_a_slip_finds_the_command(wordline: Run) -> None:
    refused(wordline("polices"), "polices", "did you mean 'policies'")
    refused(wordline("trace", "inof"), "did you mean 'info'")


def test_a_slip_finds_the_option(wordline: Run) -> None:
    refused(wordline("run", "demo", "x", "--repotr", "r.html"), "--repotr", "did you mean --report")


def test_a_missing_argument_is_named(wordline: Run) -> None:
    refused(wordline("run", "demo"), "WORKLOAD", "wordline run --help")


def test_drives_lists_every_preset(wordline: Run) -> None:
    listed = parsed(done(wordline("drives", "--json")))
    assert sorted(drive["name"] for drive in listed) == PRESETS
    assert all(drive["title"] and drive["source"] for drive in listed)


def test_drives_tells_true_sizes_in_line(wordline: Run) -> None:
    listed = {drive["name"]: drive for drive in parsed(done(wordline("drives", "--json")))}
    lines = done(wordline("drives", env={"COLUMNS": "80"})).splitlines()
    assert all(len(line) <= 80 for line in lines)
    rows = {line.split()[0]: line for line in lines if line and not line.startswith(" ")}
    assert [name for name in rows if name in PRESETS] == PRESETS
    for name in ("demo", "jung13-slc", "tlc-nvme"):
        drive, derived = listed[name], parsed(done(wordline("check", name, "--json")))["derived"]
        for key in ("logical_bytes", "raw_bytes", "spare_bytes", "channels", "dies"):
            assert drive[key] == derived[key]
        assert drive["over_provisioning_percent"] == pytest.approx(100 * (derived["raw_over_logical"] - 1))
        cells = (units.size(derived["logical_bytes"]), units.size(derived["raw_bytes"]))
        assert re.fullmatch(
            rf"{name} +{cells[0]} +{cells[1]} +[\d.]+ % +{drive['channels']} +{drive['dies']}", rows[name]
        )
        # The engine's own summary rounds half a GiB to 0 GiB, and writes '1 dies'.
        assert drive["summary"].startswith(f"{cells[0]}, ") and "1 dies" not in drive["summary"]
    assert len({line.index(" %") for name, line in rows.items() if name in PRESETS}) == 1


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


def test_check_shows_what_absent_settings_come_to(wordline: Run, drive: Path) -> None:
    extra = ("--set", "queue.queues=4", "--set", "queue.depth=16")
    for scope in ("drive", "plane"):
        sets = ("--set", f"collect.scope={scope}", "--set", "placement.policy=least-busy", *extra[:2])
        arguments = ("check", drive, *sets)
        derived = parsed(done(wordline(*arguments, "--json")))["derived"]
        text = done(wordline(*arguments))
        for key in ("start_blocks", "stop_blocks", "reserve_blocks"):
            assert re.search(rf"  {key} = {derived[key]} blocks +derived\n", text)
        assert re.search(rf"  unit_kib = {derived['unit_bytes'] // 1024} KiB +derived\n", text)
        assert re.search(rf"  depth = {derived['queue_slots'] // 4} commands +derived\n", text)
        assert re.search(rf"  window = {derived['queue_slots']} requests +derived\n", text)
        assert re.search(r"  window_pages = 8 pages +derived\n", text)
        assert "  typical_read_us  absent: the mean over the pages of a block\n" in text
        assert "(absent)" not in text
    text = done(wordline("check", drive, "--set", "collect.policy=preemptive"))
    assert re.search(r"  window_pages = 1 pages +derived\n", text)
    assert re.search(r"  hard_blocks = 1 blocks +derived\n", text)
    text = done(wordline("check", drive, *extra))
    assert re.search(r"  depth = 16 commands +--set queue.depth=16\n", text)
    assert re.search(r"  window = 64 requests +derived\n", text)


def test_check_shows_units_and_the_title(wordline: Run) -> None:
    text = done(wordline("check", "tlc-nvme"))
    assert text.startswith("tlc-nvme  A 512 GB NVMe drive of today")
    for line in ("page_kib = 16 KiB", "erase_us = 3000.0 µs", "rate_mt_s = 1600 MT/s", "vcc_v = 3.3 V"):
        assert f"  {line}" in text


def test_check_can_leave_out_the_defaults(wordline: Run, drive: Path) -> None:
    # The file sets the channels, and the command d, to their current values.
    arguments = ("check", drive, "--changed", "--set", "victim.policy=best-of", "--set", "victim.d=10")
    text = done(wordline(*arguments, "--set", "nand.erase_us=4000"))
    assert re.search(r"  erase_us = 4000(.0)? µs +--set nand.erase_us=4000\n", text)
    assert 'policy = "best-of"' in text and "blocks_per_plane = 40" in text
    for hidden in ("  channels =", "  d =", "read_us", "absent", "[nand.energy]", "[collect]"):
        assert hidden not in text
    whole = parsed(done(wordline("check", drive, "--json")))
    told = parsed(done(wordline("check", drive, "--changed", "--json")))
    assert told["config"] == {
        "name": "small",
        "geometry": {"blocks_per_plane": 40, "pages_per_block": 64},
        "precondition": {"fill": True},
    }
    assert set(told["origins"]) == {
        "name",
        "geometry.blocks_per_plane",
        "geometry.pages_per_block",
        "precondition.fill",
    }
    assert told["derived"] == whole["derived"]


def test_policies_lists_families_and_sources(wordline: Run) -> None:
    listed = parsed(done(wordline("policies", "--json")))
    families = {policy["family"] for policy in listed}
    assert {"victim", "placement", "collect", "arbiter", "mapping", "link", "buffer", "dispatch"} <= families
    assert all(policy["summary"] and policy["source"] for policy in listed)
    for family in families:
        defaults = [policy["name"] for policy in listed if policy["family"] == family and policy["default"]]
        assert len(defaults) == 1, f"family {family} has defaults {defaults}"


def test_policies_are_a_line_each_and_in_full_if_asked(wordline: Run) -> None:
    listed = parsed(done(wordline("policies", "--json")))
    lines = done(wordline("policies")).splitlines()
    for policy in listed:
        mark = r"\*" if policy["default"] else " "
        wanted = rf"  {policy['name']} +{mark} {re.escape(policy['summary'])}"
        assert any(re.fullmatch(wanted, line) for line in lines), policy["name"]
    families = {policy["family"] for policy in listed}
    # Beside the policies: a heading and a blank line per family, and the hint.
    assert len(lines) <= len(listed) + 2 * len(families) + 2
    for option in ("-v", "--verbose"):
        told = " ".join(done(wordline("policies", option)).split())
        for policy in listed:
            assert f"source: {' '.join(policy['source'].split())}" in told
            assert all(f"{option['key']} = " in told for option in policy["options"])


def test_policies_of_one_family(wordline: Run) -> None:
    listed = parsed(done(wordline("policies", "victim", "--json")))
    assert {policy["name"] for policy in listed} >= {"greedy", "cost-benefit", "fifo", "random", "best-of"}
    assert {policy["family"] for policy in listed} == {"victim"}
    assert "victim.d = 10" in done(wordline("policies", "victim"))
    refused(wordline("policies", "victm"), "did you mean 'victim'")


def test_policies_of_one_name(wordline: Run) -> None:
    (greedy,) = parsed(done(wordline("policies", "greedy", "--json")))
    assert greedy["family"] == "victim"
    told = " ".join(done(wordline("policies", "best-of")).split())
    assert "victim.d = 10" in told and "source:" in told and "greedy" not in told
    # Several families may have the same name.
    homes = {policy["family"] for policy in parsed(done(wordline("policies", "fifo", "--json")))}
    assert homes == {"dispatch", "buffer", "victim", "free_block"}
    refused(
        wordline("policies", "greddy"), "no policy or family 'greddy'; did you mean 'greedy'?", "families are: link"
    )


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
        result = parsed(done(wordline("run", drive, load, "--set", f"victim.policy={policy}", "--json", "-q")))
        (tmp_path / f"{name}.json").write_text(json.dumps(synthetic.undrawn(result)))
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
    assert "noise cannot be separated from effect" in told["chance"][0]
    for arguments in (("-o", "c.json"), ("-o", "c.json", "-q"), ("-o", "c.json", "--report", "c.html")):
        assert done(wordline("compare", "a.json", "b.json", "--json", *arguments)) == ""
        assert parsed((tmp_path / "c.json").read_text()) == told
    done(wordline("compare", "a.json", "b.json", "-o", "c.txt"))
    printed = done(wordline("compare", "a.json", "b.json", env={"COLUMNS": "120"}))
    assert (tmp_path / "c.txt").read_text().split() == printed.split()
    outcome = wordline("compare", "a.json", "b.json", "--report", "-")
    assert done(outcome).endswith("</html>\n") and "Differences" in outcome.stderr
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
        ("mapping.cache_kib", {"unit": "KiB", "only_with": {"mapping.policy": "cached"}}),
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
    assert {it["file"] for it in every} == {"drive", "array", "workload", "result"}


@pytest.mark.parametrize("command", [("check", "demo"), ("explain", "nand"), ("study", "nand-planes")])
def test_a_file_behind_json_is_told_where_to_go(wordline: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    refused(wordline(*command, "--json", "x.json"), "--json takes no file", "give --json -o x.json")
    assert not any(tmp_path.iterdir())


def test_a_summary_can_be_written(wordline: Run, drive: Path, load: Path, tmp_path: Path) -> None:
    assert done(wordline("run", drive, load, "-o", "r.txt", "--json", "r.json")) == ""
    assert "write amplification" in (tmp_path / "r.txt").read_text()
    # Without a file of its own, the JSON is printed.
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
    result = parsed(done(wordline("run", drive, load, "--json", "-q")))
    (tmp_path / "r.json").write_text(json.dumps(synthetic.figureless(result)))
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
                if now == 120:
                    told.of_drive(2.314, 1024)
                told("run" if now >= 60 else "precondition", now / 200, now * 1000, now / 1000)
            told("run", None, 0, 0.0)
        lines = capsys.readouterr().err.splitlines()
        wanted = [
            "wordline: run: 30 %, 60.0 k requests, 0/s, 60.0 ms simulated",
            "wordline: run: 60 %, 120 k requests, 1,000/s, 120 ms simulated, WAF 2.31, 1,024 blocks free",
            "wordline: run: 90 %, 180 k requests, 1,000/s, 180 ms simulated",
        ]
        assert lines == ([] if quiet else wanted)


@pytest.mark.parametrize("columns", ["0", "1", "40"])
def test_no_figure_is_cut_off_in_a_narrow_terminal(wordline: Run, drive: Path, load: Path, columns: str) -> None:
    wide = done(wordline("run", str(drive), str(load), env={"COLUMNS": "200"}))
    narrow = done(wordline("run", str(drive), str(load), env={"COLUMNS": columns}))
    table = re.compile(r"^(?:Latency|read|write|all) .*$", re.MULTILINE)
    rows = [row.split() for row in table.findall(wide)]
    assert len(rows) > 1 and [row.split() for row in table.findall(narrow)] == rows
    assert "…" not in narrow
