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
from wordline.report import charts, compare, comparefigures, figures
from wordline.report import page as report
from wordline.results import amplification, causes

VENDOR = resources.files("wordline.report") / "templates" / "vendor"

DATA = re.compile(r'<script type="application/json" id="over-time-data">(.*?)</script>')


@pytest.fixture(scope="module")
def large() -> str:
    """The page of a result with as much over time as there can be."""
    return report.html(full())


def drawn(result: dict[str, Any]) -> dict[str, Any]:
    """The data of the charts of a result."""
    return json.loads(charts.of_run(result).json())


LATENCY_CLASSES = 130
"""About as many as the engine tells apart: quarter octaves from a quarter of a microsecond to minutes."""


def held(page: str) -> dict[str, Any]:
    """The data of a page's charts."""
    return json.loads(DATA.search(page)[1])


def full(intervals: int = 600, columns: int = 128, dies: int = 1024, cells: int = 32) -> dict[str, Any]:
    """A result with as much over time as the engine ever tells."""
    result = synthetic.result(channels=128, dies=dies)
    step = result["simulated_s"] / intervals
    rough = lambda n: struct.unpack("<I", hashlib.sha256(f"{n}".encode()).digest()[:4])[0] / 2**32  # noqa: E731
    keys = [key for key in result["series"] if key not in ("interval_s", "start_s")]
    keys += [f"{op}_latency_{stat}_us" for op in ("read", "write", "trim", "flush") for stat in ("mean", "p99", "max")]
    result["series"] = {"interval_s": step, "start_s": [n * step for n in range(intervals)]}
    result["series"] |= {key: [1e5 * rough(f"{key}{n}") for n in range(intervals)] for key in keys}
    spent = {cause.key: [rough(f"{cause.key}{n}") for n in range(columns)] for cause in causes.CAUSES}
    result["time_of"] = {"read": {}, "write": {}}
    result["time_of"]["series"] = {"interval_s": result["simulated_s"] / columns, "read": spent, "write": spent}
    classes = [[int(1e4 * rough(f"{n} {row}")) for row in range(LATENCY_CLASSES)] for n in range(columns)]
    every = dict.fromkeys(("read", "write", "trim", "flush"), classes)
    edges = [0.25 * 2 ** (row / 4) for row in range(LATENCY_CLASSES)]
    result["latency_over_time"] = {"interval_s": result["simulated_s"] / columns, "up_to_us": edges} | every
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
    }.items():
        one = lines.pop(where)
        wanted = [None if value is None else pytest.approx(value, rel=1e-5) for value in result["series"][key]]
        assert one["values"] == wanted
        assert data["grids"][one["grid"]]["starts"] == result["series"]["start_s"]
    told = amplification.over_time(result)
    for name, values in (("rolling", told.rolling), ("since the start", told.since_start)) if told else ():
        wanted = [None if value is None else pytest.approx(value, rel=1e-5) for value in values]
        assert lines.pop(("write amplification", name))["values"] == wanted
    assert not lines


def test_charts_draw_the_curves_of_the_figures() -> None:
    result = synthetic.result()
    result["series"]["latency_p99_us"] = [None] * len(result["series"]["start_s"])
    panels = drawn(result)["figures"]["latency"]
    names = {panel["label"]: [one["name"] for one in panel["series"]] for panel in panels}
    assert names == {"latency": ["slowest", "mean"]}
    result["series"] |= {f"{op}_latency_mean_us": [7.0] * len(result["series"]["start_s"]) for op in ("read", "flush")}
    panels = drawn(result)["figures"]["latency"]
    names = {panel["label"]: [one["name"] for one in panel["series"]] for panel in panels}
    of_figures = figures.latency_panels(result["series"])
    assert names == {f"latency of {label}": [name for name, *_ in curves] for label, curves in of_figures.items()}
    assert names == {"latency of reads": ["mean"], "latency of flushes": ["mean"]}


def test_causes_are_shares_and_gaps() -> None:
    told = {"interval_s": 0.5, "read": {"link": [1.0, 0.0, 3.0], "bus": [3.0, 0.0, 1.0]}}
    result = synthetic.result() | {"time_of": {"read": {"link": 4.0, "bus": 4.0}, "write": {}, "series": told}}
    (panel,) = drawn(result)["figures"]["causes"]
    shares = {one["name"]: one["values"] for one in panel["series"]}
    assert shares == {"link": [0.25, None, 0.75], "bus": [0.75, None, 0.25]}


def test_charts_have_the_places_of_the_static_figures(large: str) -> None:
    for place in held(large)["figures"]:
        assert f'id="{place}-over-time"' in large and f'data-chart="{place}"' in large
    assert set(held(large)["figures"]) == {key.removesuffix("-map") for key in report.TIMED}
    page = compare.html([compare.Run("a", synthetic.result()), compare.Run("b", synthetic.result(seed=2))])
    assert set(held(page)["figures"]) == {"latency", "throughput"}


def test_classes_of_latency_are_those_that_occur() -> None:
    told = {
        "interval_s": 1.0,
        "up_to_us": [1.0, 2.0, 4.0, 8.0],
        "write": [[0, 3, 5], [], [0, 1]],
        "trim": [[0], [], []],
    }
    (panel,) = drawn(synthetic.result() | {"latency_over_time": told})["figures"]["latencies"]
    assert panel["columns"] == [[3, 5], [], [1]] and panel["edges"] == [1, 2, 4]
    assert (panel["open"], panel["most"], panel["label"]) == ([False, False], 5, "latency of writes")
    told["write"][0] = [1, 0, 0, 2]
    (panel,) = drawn(synthetic.result() | {"latency_over_time": told})["figures"]["latencies"]
    assert panel["open"] == [True, True] and len(panel["edges"]) == 5


def test_the_size_of_a_page_is_bounded(large: str) -> None:
    data = DATA.search(large)[1]
    assert len(data) < 1_000_000
    code = large[large.index("</main>") :].replace(data, "")
    assert len(code) < 90_000
    small = report.html(synthetic.result())
    assert len(DATA.search(small)[1]) < 20_000
    assert "<script" not in report.html(synthetic.result() | {"series": {}}), "no script where there is no chart"


def test_the_same_result_is_the_same_page_whatever_its_names() -> None:
    assert charts.of_run(full()).json() == charts.of_run(full()).json()
    assert report.html(synthetic.result()) == report.html(synthetic.result())
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
    looks = [*figures.OP_LOOKS.values(), *((colour, style) for *_, colour, style in figures.LATENCIES)]
    for look in (*looks, *comparefigures.LOOKS):
        assert charts.colour(look[0]) in drawing.COLOURS
        assert all(length > 0 for length in charts.dashes(look[1]))
    assert all(charts.colour(cause.colour) in drawing.COLOURS for cause in causes.CAUSES)
