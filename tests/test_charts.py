"""Chart data of a page: the run's own series, bounded in size, and a library of known origin."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from functools import cache
from importlib import resources
from typing import Any

import pytest
import synthetic
from test_figures import whole_result
from wordline.base import drawing, palette
from wordline.report import charts, compare, comparefigures, figures, maps
from wordline.report import page as report
from wordline.results import amplification, causes

VENDOR = resources.files("wordline.report") / "templates" / "vendor"

DATA = re.compile(r'<script type="application/json" id="over-time-data">(.*?)</script>')


def held(page: str) -> dict[str, Any]:
    """The data of a page's charts."""
    return json.loads(DATA.search(page)[1])


def told(result: dict[str, Any]) -> dict[str, Any]:
    """What the page of a result holds, without its static figures, which take seconds to draw."""
    return json.loads(charts.of_run(result).json())


@cache
def full_page() -> str:
    """The page of a result with as much over time as there is."""
    return report.html(full())


def full(intervals: int = 600, columns: int = 128, dies: int = 1024, cells: int = 32) -> dict[str, Any]:
    """A result with the maximum of series that the engine gives."""
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
    result["activity"]["stage"] = synthetic.stage(cells)
    classes = 60
    result["latency_over_time"] = {
        "interval_s": result["simulated_s"] / columns,
        "up_to_us": [2.0 ** (n / 4) for n in range(5, 5 + classes)],
        **{
            op: [[int(1e4 * rough(f"{op}{n} {at}") ** 3) for at in range(classes)] for n in range(columns)]
            for op in ("read", "write")
        },
    }
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
    steps = len(result["series"]["start_s"])
    result["series"]["programs"] = [result["flash"]["programs"] / steps] * steps
    data = held(report.html(result))
    assert data == told(result)
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
    }.items():
        one = lines.pop(where)
        wanted = [None if value is None else pytest.approx(value, rel=1e-5) for value in result["series"][key]]
        assert one["values"] == wanted
        assert data["grids"][one["grid"]]["starts"] == result["series"]["start_s"]
    written = amplification.over_time(result)
    for name, values in (("rolling", written.rolling), ("since the start", written.since_start)):
        one = lines.pop(("write amplification", name))
        assert one["values"] == [None if value is None else pytest.approx(value, rel=1e-5) for value in values]
        assert data["grids"][one["grid"]]["starts"] == result["series"]["start_s"]
    assert not lines


def test_charts_draw_the_curves_of_the_figures() -> None:
    for result, labels in ((synthetic.result(), ["latency"]), (whole_result(), ["reads", "writes", "flushes"])):
        prefix = "" if labels == ["latency"] else "write_"
        result["series"][f"{prefix}latency_p99_us"] = [None] * len(result["series"]["start_s"])
        panels = told(result)["figures"]["latency"]
        drawn = {panel["label"]: [one["name"] for one in panel["series"]] for panel in panels}
        of_figures = figures.latency_panels(result["series"])
        assert drawn == {label: [name for name, *_ in curves] for label, curves in of_figures.items()}
        assert list(drawn) == labels
        assert [label for label, names in drawn.items() if "p99" not in names] == (["writes"] if prefix else labels)


def test_a_map_of_latencies_holds_every_request() -> None:
    result = whole_result()
    counted = result["latency_over_time"]
    panels = told(result)["figures"]["latencies"]
    assert [panel["name"] for panel in panels] == ["reads", "writes", "flushes"]
    for panel, op in zip(panels, ("read", "write", "flush"), strict=True):
        assert [sum(column) for column in panel["columns"]] == [sum(column) for column in counted[op]]
        skipped = counted["up_to_us"].index(pytest.approx(panel["edges"][1], rel=1e-5))
        assert panel["columns"] == [column[skipped:] for column in counted[op]]
        assert max(map(len, panel["columns"])) < len(panel["edges"])
    assert panels[0]["most"] == max(count for op in ("read", "write", "flush") for row in counted[op] for count in row)
    assert maps.counts({}) is None


def test_charts_of_a_comparison_draw_the_series_of_its_figures() -> None:
    runs = [compare.Run("a", whole_result()), compare.Run("b", whole_result())]
    drawn = held(compare.html(runs))["figures"]
    assert [panel["label"] for panel in drawn["latency"]] == ["reads", "writes", "flushes"]
    assert {panel["form"] for panel in drawn["latency"]} == {"latency"}
    p99 = runs[0].result["series"]["flush_latency_p99_us"]
    assert [us is None for us in drawn["latency"][2]["series"][1]["values"]] == [us is None for us in p99]
    assert [panel["label"] for panel in drawn["throughput"]] == [label for label, _ in comparefigures.THROUGHPUT]


def test_causes_are_shares_and_gaps() -> None:
    causing = {"interval_s": 0.5, "read": {"link": [1.0, 0.0, 3.0], "bus": [3.0, 0.0, 1.0]}}
    result = synthetic.result() | {"time_of": {"read": {"link": 4.0, "bus": 4.0}, "write": {}, "series": causing}}
    (panel,) = told(result)["figures"]["causes"]
    shares = {one["name"]: one["values"] for one in panel["series"]}
    assert shares == {"host interface": [0.25, None, 0.75], "bus": [0.75, None, 0.25]}


def test_charts_have_the_places_of_the_static_figures() -> None:
    page = full_page()
    for place in held(page)["figures"]:
        assert f'id="{place}-over-time"' in page and f'data-chart="{place}"' in page
    assert set(held(page)["figures"]) == {key.removesuffix("-map") for key in report.TIMED}
    runs = [compare.Run("a", full()), compare.Run("b", synthetic.result())]
    assert set(held(compare.html(runs))["figures"]) == {"latency", "throughput"}


def test_the_size_of_a_page_is_bounded() -> None:
    page = full_page()
    data = DATA.search(page)[1]
    assert len(data) < 500_000
    code = page[page.index("</main>") :].replace(data, "")
    assert len(code) < 85_000
    small = report.html(synthetic.result())
    assert len(DATA.search(small)[1]) < 20_000
    assert "<script" not in report.html(synthetic.undrawn(synthetic.result()) | {"series": {}}), (
        "no script where there is no chart"
    )


def test_the_same_result_is_the_same_page_whatever_its_names() -> None:
    assert report.html(full()) == full_page()
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
    for name in (palette.BLUE, palette.INK, palette.GC):
        assert charts.colour(name) in drawing.COLOURS
    panels = [panel for panels in told(full())["figures"].values() for panel in panels]
    drawn = {one["colour"] for panel in panels for one in panel.get("series", [panel])}
    assert drawn <= set(palette.LIGHT), "so that all follow light and dark"
    for look in comparefigures.LOOKS:
        assert charts.colour(look[0]) in drawing.COLOURS
        assert all(length > 0 for length in charts.dashes(look[1]))
    assert all(charts.colour(cause.colour) in drawing.COLOURS for cause in causes.CAUSES)
