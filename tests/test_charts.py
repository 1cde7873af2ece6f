"""What a page holds for its charts over time: the run's own series, bounded in size, and a library of known origin."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from importlib import resources
from typing import Any

import pytest
import synthetic
from wordline.base import drawing
from wordline.report import charts, compare, figures
from wordline.report import page as report
from wordline.results import causes

VENDOR = resources.files("wordline.report") / "templates" / "vendor"

DATA = re.compile(r'<script type="application/json" id="over-time-data">(.*?)</script>')


def held(page: str) -> dict[str, Any]:
    """The data of a page's charts."""
    return json.loads(DATA.search(page)[1])


def full(intervals: int = 600, columns: int = 128, dies: int = 1024, cells: int = 32) -> dict[str, Any]:
    """A result with as much over time as the engine ever tells."""
    result = synthetic.result(channels=128, dies=dies)
    step = result["simulated_s"] / intervals
    rough = lambda n: struct.unpack("<I", hashlib.sha256(f"{n}".encode()).digest()[:4])[0] / 2**32  # noqa: E731
    keys = [key for key in result["series"] if key not in ("interval_s", "start_s")]
    result["series"] = {"interval_s": step, "start_s": [n * step for n in range(intervals)]}
    result["series"] |= {key: [1e5 * rough(f"{key}{n}") for n in range(intervals)] for key in keys}
    spent = {cause.key: [rough(f"{cause.key}{n}") for n in range(columns)] for cause in causes.CAUSES}
    result["time_of"] = {"read": {}, "write": {}}
    result["time_of"]["series"] = {"interval_s": result["simulated_s"] / columns, "read": spent, "write": spent}
    rows = [[round(rough(f"{die} {n}"), 3) for n in range(cells)] for die in range(dies)]
    result["activity"] = {"interval_s": result["simulated_s"] / cells, "dies": rows, "dies_gc": rows}
    result["activity"]["channels"] = rows[:128]
    return result


def test_what_pages_carry_is_what_the_table_says() -> None:
    table = (VENDOR / "README.md").read_text()
    rows = re.findall(r"^\| `([^`]+)` \|[^|]*\| ([\d.]+) \|.*`([0-9a-f]{64})` \|$", table, re.MULTILINE)
    assert {name for name, _, _ in rows} == {one.name for one in VENDOR.iterdir()} - {"README.md"}
    for name, version, digest in rows:
        data = (VENDOR / name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest, name
        if name.endswith(".js"):
            assert f"(v{version})" in data.decode()[:80]
            assert b"</script" not in data
    assert "Permission is hereby granted" in (VENDOR / "uPlot.LICENSE").read_text()


def test_a_page_holds_every_value_of_the_series() -> None:
    result = synthetic.result()
    data = held(report.html(result))
    assert data["end"] == result["simulated_s"]
    panels = [panel for panels in data["figures"].values() for panel in panels]
    lines = {(panel["label"], one["name"]): one for panel in panels for one in panel.get("series", [])}
    for where, key in {
        ("latency", "slowest"): "latency_max_us",
        ("latency", "p99"): "latency_p99_us",
        ("latency", "mean"): "latency_mean_us",
        ("MiB/s", "read"): "read_mib_s",
        ("MiB/s", "write"): "write_mib_s",
        ("requests/s", "read"): "read_iops",
        ("requests/s", "write"): "write_iops",
        ("free blocks", "free blocks"): "free_blocks",
        ("write amplification", "write amplification"): "write_amplification",
    }.items():
        one = lines.pop(where)
        wanted = [None if value is None else pytest.approx(value, rel=1e-5) for value in result["series"][key]]
        assert one["values"] == wanted
        assert data["grids"][one["grid"]]["starts"] == result["series"]["start_s"]
    assert not lines


def test_charts_draw_the_curves_of_the_figures() -> None:
    result = synthetic.result()
    result["series"]["latency_p99_us"] = [None] * len(result["series"]["start_s"])
    panels = held(report.html(result))["figures"]["latency"]
    drawn = {panel["label"]: [one["name"] for one in panel["series"]] for panel in panels}
    of_figures = figures.latency_panels(result["series"])
    assert drawn == {label: [name for name, *_ in curves] for label, curves in of_figures.items()}
    assert "p99" not in drawn["latency"]


def test_causes_are_shares_and_gaps() -> None:
    told = {"interval_s": 0.5, "read": {"link": [1.0, 0.0, 3.0], "bus": [3.0, 0.0, 1.0]}}
    result = synthetic.result() | {"time_of": {"read": {"link": 4.0, "bus": 4.0}, "write": {}, "series": told}}
    (panel,) = held(report.html(result))["figures"]["causes"]
    shares = {one["name"]: one["values"] for one in panel["series"]}
    assert shares == {"link": [0.25, None, 0.75], "bus": [0.75, None, 0.25]}


def test_charts_have_the_places_of_the_static_figures() -> None:
    page = report.html(full())
    for place in held(page)["figures"]:
        assert f'id="{place}-over-time"' in page and f'data-chart="{place}"' in page
    assert set(held(page)["figures"]) == {key.removesuffix("-map") for key in report.TIMED}
    runs = [compare.Run("a", full()), compare.Run("b", synthetic.result())]
    assert set(held(compare.html(runs))["figures"]) == {"latency", "throughput"}


def test_the_size_of_a_page_is_bounded() -> None:
    page = report.html(full())
    data = DATA.search(page)[1]
    assert len(data) < 500_000
    code = page[page.index("</main>") :].replace(data, "")
    assert len(code) < 85_000
    small = report.html(synthetic.result())
    assert len(DATA.search(small)[1]) < 20_000
    assert "<script" not in report.html(synthetic.result() | {"series": {}}), "no script where there is no chart"


def test_the_same_result_is_the_same_page_whatever_its_names() -> None:
    assert report.html(full()) == report.html(full())
    name = "</script><script>alert('ü\u2028')"
    page = compare.html([compare.Run(name, synthetic.result()), compare.Run("b", synthetic.result())])
    assert held(page)["figures"]["latency"][0]["series"][0]["name"] == name
    assert "<script>alert" not in page


def test_what_is_no_number_is_a_gap() -> None:
    assert charts.numbers([1, None, float("nan"), float("inf"), 1234567.0, 0.1234567]) == [
        1, None, None, None, 1234570, 0.123457,
    ]  # fmt: skip
    assert charts.of_run(synthetic.result() | {"simulated_s": 0.0}).json() == ""


def test_every_look_of_a_figure_is_known_to_charts() -> None:
    for name in (drawing.BLUE, drawing.FAINT):
        assert charts.colour(name) in drawing.COLOURS
    for look in compare.LOOKS:
        assert charts.colour(look[0]) in drawing.COLOURS
        assert all(length > 0 for length in charts.dashes(look[1]))
    assert all(charts.colour(cause.colour) in drawing.COLOURS for cause in causes.CAUSES)
