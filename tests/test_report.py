"""Report and comparison of saved results: their sentences follow from the run, and every figure is a file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import synthetic
from conftest import SMALL_DRIVE, Run, done, parsed, refused
from wordline.base import drawing
from wordline.report import compare, figures
from wordline.report import page as report
from wordline.results import causes, limits, story
from wordline.results import shape as resultshape

LOAD = """\
[[job]]
name = "{name}"
rw = "randrw"
rwmixread = 50
bs = "{bs}"
iodepth = {depth}
number_ios = {number}
{more}
"""

AGED = """\
overwrites = 0.5

[buffer]
policy = "fifo"
capacity_kib = 1024
"""
"""Full enough for GC, with a write buffer: [precondition] goes on."""

Runner = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def small(program: Run, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """Runs a job on the small drive and returns the result; the same run is made once."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "small.toml").write_text(SMALL_DRIVE + AGED)
    known: dict[str, dict[str, Any]] = {}

    def run(*sets: str, bs: str = "16k", depth: int = 8, number: int = 12_000, more: str = "") -> dict[str, Any]:
        text = LOAD.format(name="mixed", bs=bs, depth=depth, number=number, more=more)
        key = f"{sets}{text}"
        if key not in known:
            (folder / "load.toml").write_text(text)
            options = [part for each in sets for part in ("--set", each)]
            made = program("run", "small.toml", "load.toml", "--json", "-", "--quiet", *options, cwd=folder)
            known[key] = parsed(done(made))
        return known[key]

    return run


VARIANTS = {
    "plain": ((), {}),
    "deep": ((), {"depth": 64}),
    "parts of units": ((), {"bs": "2k"}),
    "no write buffer": (("buffer.policy=none",), {}),
    "no write buffer, parts of units": (("buffer.policy=none",), {"bs": "6k"}),
    "forced through": ((), {"more": "fua = true"}),
    "at a rate": ((), {"more": "rate_iops = 4000"}),
    "faster than it can": ((), {"more": "rate_iops = 400_000"}),
    "reads suspend": (("suspend.policy=reads",), {}),
    "planes for themselves": (("placement.policy=static", "collect.scope=plane"), {}),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_parts_of_the_time_add_up_to_the_latencies(small: Runner, name: str) -> None:
    sets, load = VARIANTS[name]
    result = small(*sets, **load)
    for op in ("read", "write"):
        of_op = result["latency_us"][op]
        whole = of_op["mean"] * of_op["count"] / 1e6
        told = result["time_of"][op]
        assert sum(told.values()) == pytest.approx(whole, rel=1e-9)
        assert min(told.values()) >= 0
        series = result["time_of"]["series"][op]
        assert set(series) == {cause for cause, seconds in told.items() if seconds}
        for cause, seconds in series.items():
            assert sum(seconds) == pytest.approx(told[cause], rel=1e-9)


def test_causes_are_those_of_the_drive(small: Runner) -> None:
    plain = small()
    assert plain["time_of"]["read"]["array_read"] > 0
    assert plain["time_of"]["read"]["array_program"] == 0
    assert plain["time_of"]["read"]["wait_die_gc"] > 0, "the drive is full and collects"
    assert plain["time_of"]["write"]["array_program"] == 0, "the buffer answers for it"
    through = small("buffer.policy=none")["time_of"]["write"]
    assert through["array_program"] > 0
    assert not any(through.get(key) for key in causes.BUFFER)
    assert through["array_read"] == 0
    assert small("buffer.policy=none", bs="6k")["time_of"]["write"]["array_read"] > 0, "old data are read first"
    suspending = small("suspend.policy=reads")["time_of"]["read"]
    assert suspending["array_read"] > 0
    assert suspending["wait_die_gc"] < plain["time_of"]["read"]["wait_die_gc"]
    assert small(more="rate_iops = 400_000")["time_of"]["read"]["waiting"] > 0


def test_a_read_alone_spends_the_time_of_the_chip_in_the_cells(small: Runner) -> None:
    result = small(depth=1)
    read = result["time_of"]["read"]
    count = result["latency_us"]["read"]["count"]
    assert 1e6 * read["array_read"] / count == pytest.approx(result["config"]["nand"]["read_us"], rel=0.05)


def test_small_and_large_requests_have_columns_where_an_operation_has_both(wordline: Run, drive: Path) -> None:
    write = '[[job]]\nrw = "randwrite"\nbs = "16k"\nnumber_ios = 50\n'
    read = '[[job]]\nrw = "randread"\nbs = "{}"\nnumber_ios = {}\n'
    load = drive.parent / "sizes.toml"
    load.write_text(write + read.format("64k", 300) + read.format("68k", 200))
    result = parsed(done(wordline("run", drive, load, "--quiet", "--json", "-")))
    table = report.latency_table(result)
    assert table["ops"] == ["all", "read", "write", "read ≤ 64 KiB", "read > 64 KiB"]
    assert dict(table["rows"])["requests"] == ["550", "500", "50", "300", "200"]
    small, large = (result["latency_by_size_us"]["read"][key] for key in ("up_to_64k", "above_64k"))
    both = result["latency_us"]["read"]
    assert small["mean"] < both["mean"] < large["mean"]
    assert 300 * small["mean"] + 200 * large["mean"] == pytest.approx(500 * both["mean"])
    assert both["max"] == max(small["max"], large["max"])


def test_activity_agrees_with_utilisation(small: Runner) -> None:
    result = small("buffer.policy=none")
    activity = result["activity"]
    whole = activity["end_s"]
    assert whole >= result["simulated_s"]
    count = len(activity["dies"][0])
    assert 32 <= count <= 256
    assert (count - 1) * activity["interval_s"] <= whole <= count * activity["interval_s"]
    lengths = [activity["interval_s"]] * (count - 1) + [whole - (count - 1) * activity["interval_s"]]
    for part in ("dies", "channels"):
        for row, share in zip(activity[part], result["utilisation"][part], strict=True):
            assert all(0 <= value <= 1 for value in row)
            assert sum(v * s for v, s in zip(row, lengths, strict=True)) / result["simulated_s"] == pytest.approx(
                share, abs=2e-3
            )
    held = limits.held_by_gc(result)
    assert 0 < held < 1


def test_wear_counts_every_block(small: Runner) -> None:
    result = small()
    wear, drive = result["wear"], result["drive"]
    found = wear["histogram"]
    assert sum(found["blocks"]) == drive["blocks"]
    assert len(wear["planes"]) == drive["planes"]
    assert sum(wear["planes"]) / drive["planes"] == pytest.approx(wear["mean"], abs=1e-3)
    assert found["width"] == 1
    mean = sum((found["first"] + n) * blocks for n, blocks in enumerate(found["blocks"])) / drive["blocks"]
    assert mean == pytest.approx(wear["mean"])


def test_the_page_of_a_saved_result_is_that_of_the_run(wordline: Run, drive: Path, load: Path, tmp_path: Path) -> None:
    done(wordline("run", drive, load, "--quiet", "--json", "r.json", "--report", "run.html"))
    page = done(wordline("report", "r.json", "-o", "-"))
    assert page == (tmp_path / "run.html").read_text()
    for section in ("where", "over-time", "dies-over-time", "channels-over-time", "wear", "configuration"):
        assert f'id="{section}"' in page
    assert len(page) < 5e6
    # To a file, of what takes no time to draw.
    (tmp_path / "bare.json").write_text(json.dumps(synthetic.figureless(parsed((tmp_path / "r.json").read_text()))))
    assert done(wordline("report", "bare.json", "-o", "saved.html")) == ""
    assert done(wordline("report", "bare.json", "-o", "-")) == (tmp_path / "saved.html").read_text()


STARTS = {"svg": b"<?xml", "png": b"\x89PNG\r\n", "pdf": b"%PDF-"}
"""How files of figures begin."""


@pytest.mark.parametrize("formats", ["svg", "PNG,pdf,svg"])
def test_every_figure_is_a_file_in_each_format(wordline: Run, small: Runner, tmp_path: Path, formats: str) -> None:
    # All as SVG; those without a time axis in each format. The test of the pages for tasks has all in each.
    result = small() if formats == "svg" else synthetic.undrawn(small())
    (tmp_path / "r.json").write_text(json.dumps(result))
    done(wordline("report", "r.json", "--figures", "all", "--format", formats))
    drawn = {figure.key: figure for figure in figures.all_of(result).values()}
    assert len(drawn) == (14 if formats == "svg" else 3)
    wanted = {f"{key}.{form}" for key in drawn for form in formats.lower().split(",")}
    assert {path.name for path in (tmp_path / "all").iterdir()} == wanted
    for path in (tmp_path / "all").iterdir():
        data = path.read_bytes()
        assert data.startswith(STARTS[path.suffix[1:]])
        again = tmp_path / f"again{path.suffix}"
        if path.stem in ("where-the-time-went", "dies-over-time", "wear-of-the-blocks"):
            drawn[path.stem].save(again)
            assert again.read_bytes() == data, "the same figure is the same file"
        if path.suffix == ".svg":
            ElementTree.fromstring(data)
            assert not any(stand_in.encode() in data for stand_in in drawing.COLOURS.values())
            assert drawing.LIGHT["--ink"].encode() in data


def test_the_summary_alone_asks_for_no_accounts(wordline: Run, drive: Path, load: Path) -> None:
    assert "requests" in done(wordline("run", drive, load))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, ["r.json", "No such file"]),
        ("{", ["r.json:1:2", "not JSON"]),
        ("[]", ["not a result", "schema"]),
        ("{}", ["not a result", "wordline run --json"]),
        ('{"schema": 2, "version": "9.9"}', ["schema 2", "9.9", "reads schema 1"]),
        ('{"schema": 1, "version": "0.2.0"}', ["this result is incomplete", "'digest'"]),
        ('{"schema": NaN}', ["NaN"]),
    ],
)
def test_what_is_no_result_is_refused(wordline: Run, tmp_path: Path, text: str | None, words: list[str]) -> None:
    if text is not None:
        (tmp_path / "r.json").write_text(text)
    refused(wordline("report", "r.json", "-o", "r.html"), *words)
    refused(wordline("compare", "r.json", "r.json"), *words)
    assert not (tmp_path / "r.html").exists()


def test_wrong_use_is_told(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps(synthetic.result()))
    refused(wordline("report", "r.json"), "no output requested", "--figures")
    refused(wordline("report", "r.json", "--figures", "f", "--format", "svg,pgn"), "'pgn'", "did you mean 'png'")
    refused(wordline("report", "r.json", "-o", "x.html", "--format", "png"), "--figures")
    refused(wordline("report", "r.json", "--figures", "r.json"), "r.json", "this is a file")
    refused(wordline("report", "r.json", "-o", "r.json"), "read by the same command")
    refused(wordline("report", ".", "-o", "x.html"), "directory")
    refused(wordline("compare", "r.json"), "only one result")
    refused(wordline("compare", *["r.json"] * 7), "at most 6")


def test_a_comparison_tells_ratios_and_differences(wordline: Run, small: Runner, tmp_path: Path) -> None:
    one, other = small(), small("buffer.policy=none", depth=64)
    for name, result in (("one", one), ("other", other)):
        (tmp_path / f"{name}.json").write_text(json.dumps(result))
    told = done(
        wordline("compare", "one.json", "other.json", "--report", "c.html", "--figures", "f", env={"COLUMNS": "120"})
    )
    ratio = other["iops"] / one["iops"]
    row = next(line for line in told.splitlines() if line.startswith("requests/s"))
    number, marked = row.split("×")[1].split()
    assert float(number) == pytest.approx(ratio, rel=0.006)
    assert marked == ("better" if ratio > 1 else "worse")
    assert re.search(r'buffer\.policy\s+"fifo"\s+"none"', told)
    assert re.search(r"load: jobs\.0\.iodepth\s+8\s+64", told)
    assert "victim.policy" not in told
    page = (tmp_path / "c.html").read_text()
    assert page.count("<svg") == 2 * 2 + 2
    assert "jobs.<wbr>0.<wbr>iodepth" in page
    assert {path.suffix for path in (tmp_path / "f").iterdir()} == {".svg"}
    assert done(wordline("compare", "one.json", "one.json", "other.json", "--quiet")) == ""
    same = done(wordline("compare", "one.json", "one.json"))
    assert "the results are the same" in same


def test_results_are_called_by_what_tells_them_apart() -> None:
    results = [synthetic.result(), synthetic.result()]
    names = lambda *paths: [run.name for run in compare.named(list(zip(paths, results, strict=False)))]  # noqa: E731
    assert names("x/a.json", "y/b.json") == ["a", "b"]
    assert names("x/r.json", "y/r.json") == ["x/r", "y/r"]
    assert names("r.json", "r.json") == ["1: r", "2: r"]


def test_results_of_older_versions_are_compared_too() -> None:
    # Without activity and time_of.
    runs = compare.named([("a.json", synthetic.result()), ("b.json", synthetic.result(seed=2))])
    assert "</html>" in compare.html(runs)


def told(**changes: Any) -> str:  # noqa: ANN401
    """The limit stated for a made-up result."""
    result = synthetic.result()
    result.update(changes)
    return " ".join(limits.sentences(result))


def test_limits_are_those_of_the_figures() -> None:
    busy = {"channels": [0.97] * 8, "dies": [0.3] * 64, "link_in": 0.1, "link_out": 0.1}
    assert "The channels limited throughput." in told(utilisation=busy)
    trace = {"trace": {"file": "t.csv"}, "options": {"trace": {"pace": "timestamps"}}}
    assert "the arrival times of the workload limited throughput" in told(workload=trace)
    untimed = {**trace, "trace": {"file": "t.csv", "timed": False}}
    assert "the workload sends a request only when another completes" in told(workload=untimed)
    spent = {"read": {"waiting": 5.0, "array_read": 5.0}, "write": {}}
    assert "they arrived in bursts" in told(workload=trace, time_of=spent)
    jobs = {"jobs": [{"name": "j", "rate_iops": None, "iodepth": 4}]}
    assert "so latency limited throughput" in told(workload=jobs)
    queues = {"read": {"wait_die_read": 4.0, "wait_die_gc": 2.0, "array_read": 1.0}, "write": {"link": 2.0}}
    assert limits.queued({"time_of": queues}) == pytest.approx(6 / 9)
    text = told(workload=jobs, time_of=queues)
    assert "no part was saturated; yet requests spent 67 % of their time in die queues" in text
    own = {"read": {"wait_die_own": 6.0, "array_read": 1.0}, "write": {}}
    text = told(workload=jobs, time_of=own)
    assert "queues" not in text
    assert "Reads spent 86 % of their time waiting for dies that held other pages of the same request" in text
    full = {"read": {}, "write": {"wait_buffer_gc": 5.0, "wait_buffer_program": 4.0, "link": 1.0}}
    text = told(workload=jobs, time_of=full)
    assert "the write buffer was full" in text
    assert "Writes spent 50 % of their time waiting for the write buffer while garbage collection held the dies" in text


def test_uneven_load_is_told_only_where_it_was_measured() -> None:
    jobs = {"jobs": [{"name": "j", "rate_iops": None, "iodepth": 4}]}
    queues = {"read": {"wait_die_read": 9.0, "array_read": 1.0}, "write": {}}
    even = {"channels": [0.2] * 8, "dies": [0.40, 0.44] * 32, "link_in": 0.1, "link_out": 0.1}
    assert "uneven" not in told(workload=jobs, time_of=queues, utilisation=even)
    odd = even | {"dies": [0.2] * 63 + [0.6]}
    measured = "load across dies was uneven: die 63 was busy 60 % of the time, the mean was 21 %"
    assert measured in told(workload=jobs, time_of=queues, utilisation=odd)
    one = even | {"dies": [0.1] * 3 + [0.97] + [0.1] * 4}
    text = told(workload=jobs, time_of=queues, utilisation=one)
    assert "Die 3 limited throughput; load across dies was uneven: die 3 was busy 97 % of the time" in text


def saturated(dies: dict[str, list[int]], **more: Any) -> str:  # noqa: ANN401
    """The sentence for a run with this number of saturated intervals."""
    none = [0] * len(next(iter(dies.values())))
    by = {"read": none, "write": none, "gc": none} | dies
    counts = {"interval_s": 1.05, "intervals": 60, "dies_by": by, "channels": [0, 0], "link_in": 0, "link_out": 0}
    return story.verdict(synthetic.result() | {"activity": {"saturated": counts | more}})


def test_saturation_is_told_by_interval() -> None:
    assert saturated({"gc": [0] * 8}) == "no part was saturated"
    one = saturated({"gc": [0, 0, 0, 18, 0, 0, 0, 0]})
    assert one == "die 3 was saturated in 18 of 60 intervals of 1.05 s, by garbage collection"
    two = saturated({"gc": [0, 0, 7, 1], "write": [0, 0, 2, 5]}, channels=[0, 4])
    assert two == (
        "die 2 was saturated in 9 of 60 intervals of 1.05 s, by garbage collection in 7, by writes in 2; "
        "die 3 was saturated in 6 of 60 intervals of 1.05 s, by writes in 5, by garbage collection in 1; "
        "channel 1 was saturated in 4 of 60 intervals of 1.05 s"
    )
    many = saturated({"read": [1, 2, 3, 4, 5, 0]})
    assert many == "5 of 6 dies were saturated at times, die 4 most: in 5 of 60 intervals of 1.05 s, by reads"
    assert saturated({"read": [60, 60]}).startswith("all 2 dies were saturated at times, die 0 most: in 60 of 60")
    assert saturated({"gc": [5]}) == "the die was saturated in 5 of 60 intervals of 1.05 s, by garbage collection"
    assert "the outbound host interface was saturated in 3 of 60" in saturated({"gc": [0]}, link_out=3)
    assert saturated({"gc": [0, 1]}, intervals=1) == "die 1 was saturated all of the time, by garbage collection"


def test_requests_in_flight_follow_from_the_latencies() -> None:
    result = synthetic.result()
    result.update(requests=1_000, simulated_s=2.0, waiting_us={"mean": 500.0, "max": 600.0})
    result["latency_us"]["all"]["mean"] = 8_500.0
    assert limits.in_flight(result) == pytest.approx(4.0)


def test_a_changed_key_shows_what_the_preset_has(wordline: Run, load: Path, tmp_path: Path) -> None:
    done(wordline("run", "demo", load, "--quiet", "--json", "r.json", "--set", "victim.policy=random"))
    page = report.html(synthetic.undrawn(parsed((tmp_path / "r.json").read_text())))
    row = next(line for line in page.splitlines() if 'class="changed"' in line and "victim" in line)
    assert "&#34;random&#34;" in row
    assert "--set victim.<wbr>policy=random; the preset has" in row
    assert "greedy" in row


def test_a_page_of_a_large_drive_is_small() -> None:
    result = synthetic.result(channels=32, dies=1024)
    columns = 32
    result["activity"] = {
        "interval_s": result["simulated_s"] / columns,
        "channels": [[(n * t % 11) / 10 for t in range(columns)] for n in range(32)],
        "dies": [[(n * t % 7) / 6 for t in range(columns)] for n in range(1024)],
        "dies_gc": [[(n + t) % 3 / 2 for t in range(columns)] for n in range(1024)],
    }
    assert len(report.html(result)) < 5e6


@pytest.mark.parametrize(
    ("path", "value", "wanted"),
    [
        ("requests", "abc", "a number"),
        ("drive.blocks", None, "a number"),
        ("gc.collections", None, "a number"),
        ("series.read_mib_s", "abc", "a list"),
        ("latency_us.read.p99", [], "a number or null"),
    ],
)
def test_a_value_of_the_wrong_type_is_told(wordline: Run, tmp_path: Path, path: str, value: Any, wanted: str) -> None:  # noqa: ANN401
    result = synthetic.result()
    *parts, last = path.split(".")
    below = result
    for part in parts:
        below = below[part]
    below[last] = value
    (tmp_path / "m.json").write_text(json.dumps(result))
    words = ("m.json", f"'{path}' is {json.dumps(value)}; it should be {wanted}")
    refused(wordline("report", "m.json", "-o", "x.html"), *words)
    refused(wordline("compare", "m.json", "m.json"), *words)


def test_nothing_depends_on_what_may_be_null(small: Runner) -> None:
    bare = without(small(), resultshape.whole())
    assert bare["write_amplification"] is None and bare["activity"] is None
    assert resultshape.problem(bare) is None
    assert "</html>" in report.html(bare)
    assert "</html>" in compare.html([compare.Run("a", bare), compare.Run("b", small())])
    list(compare.differences([compare.Run("a", bare), compare.Run("b", small())]))


def without(value: Any, part: resultshape.Part) -> Any:  # noqa: ANN401
    """A result with ``null`` in every possible place."""
    if part.null or (part.holds and part.holds["null"] and not part.holds["depth"]):
        return None
    if isinstance(value, dict) and part.keys:
        return {key: without(below, part.keys.get(key, resultshape.Part())) for key, below in value.items()}
    if isinstance(value, list) and part.holds and part.holds["null"]:
        return [None] * len(value)
    if isinstance(value, list) and part.element:
        return [without(below, part.element) for below in value]
    return value


def test_a_trace_beside_a_job_is_said_in_a_line(wordline: Run, trace: Path, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL_DRIVE)
    (tmp_path / "load.toml").write_text(LOAD.format(name="mixed", bs="16k", depth=8, number=500, more=""))
    for load, name in (("load.toml", "job.json"), (trace, "trace.json")):
        done(wordline("run", "small.toml", load, "--json", name, "-q"))
    text = done(wordline("compare", "job.json", "trace.json", "--report", "c.html"))
    differing = text.partition("Differences\n")[2].splitlines()
    assert [" ".join(line.split()) for line in differing] == ["load runs the job mixed replays the trace small.csv"]
    # Results of the same kind are compared key by key.
    done(wordline("run", "small.toml", trace, "--limit", "3", "--json", "limited.json", "-q"))
    text = done(wordline("compare", "trace.json", "limited.json"))
    assert "load: options.trace.limit" in text and "replays" not in text
