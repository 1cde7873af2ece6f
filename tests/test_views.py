"""Summary, report and lists, over made-up results: readable numbers, and correct edge cases."""

from __future__ import annotations

import io
import re
from functools import cache
from typing import Any
from xml.etree import ElementTree

import pytest
import synthetic
from rich.console import Console
from wordline.api import functions as api
from wordline.base import drawing, jsontext, units
from wordline.base.errors import nearest
from wordline.reference import listing
from wordline.report import compare
from wordline.report import page as report
from wordline.results import story, summary


def summary_text(result: dict[str, Any]) -> str:
    out = io.StringIO()
    summary.show(Console(file=out, width=80, highlight=False, markup=False), result)
    return out.getvalue()


def test_three_digits() -> None:
    given = [0, 1, 9.999, 99.96, 999.6, 1234.5, 0.001234, 0.9999]
    assert [units.three(x) for x in given] == ["0", "1.00", "10.0", "100", "1,000", "1,234", "0.00123", "1.00"]


def test_latencies_choose_their_unit() -> None:
    given = [None, 0.5, 352.4, 999.6, 9890, 1.2e6]
    assert [units.latency(us) for us in given] == ["–", "500 ns", "352 µs", "1.00 ms", "9.89 ms", "1.20 s"]


def test_sizes_choose_their_unit() -> None:
    given = [0, 512, 1023, 1024, 16_384, 3.3e9, 64 * 2**30]
    assert [units.size(n) for n in given] == ["0 B", "512 B", "1,023 B", "1 KiB", "16 KiB", "3.07 GiB", "64 GiB"]


def test_durations_choose_their_units() -> None:
    given = [0.0042, 59.1, 334, 11_111, 1e6]
    assert [units.duration(s) for s in given] == ["4.20 ms", "59.1 s", "5 min 34 s", "3 h 5 min", "11 days 13 h"]


def test_shares() -> None:
    given = [0, 0.0004, 0.016, 0.5, 0.996, 1, None]
    assert [units.percent(p) for p in given] == ["0 %", "< 0.1 %", "1.6 %", "50 %", "> 99 %", "100 %", "–"]


def test_nearest() -> None:
    assert nearest("greddy", ["greedy", "random"]) == "greedy"
    assert nearest("Cost_Benefit", ["greedy", "cost-benefit"]) == "cost-benefit"
    assert nearest("zzz", ["greedy"]) is None


def test_overrides_of_python_become_toml() -> None:
    sets = api.set_texts({"a.b": 1, "c": "x y", "d": True, "e": [1.5, 2], "f": {"g": 1}})
    assert sets == ["a.b=1", 'c="x y"', "d=true", "e=[1.5, 2]", 'f={ "g" = 1 }']
    assert api.set_texts(["a=1"]) == ["a=1"]
    assert api.set_texts(None) == []
    with pytest.raises(TypeError):
        api.set_texts("a=1")


def test_lists_fit_a_terminal() -> None:
    policy = {
        "family": "victim",
        "decides": "which block to collect",
        "name": "greedy",
        "default": True,
        "summary": "the block with the fewest valid units; of equals, the one that has had that count longest of all",
        "source": "somebody " * 20,
        "note": None,
        "options": [{"key": "victim.d", "default": None, "kind": "integer", "doc": "Blocks drawn. Absent: ten. More."}],
    }
    out = io.StringIO()
    listing.show_policies(Console(file=out, width=80, highlight=False, markup=False), [policy], details=True)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line.startswith("  ") for line in lines[1:]), "what goes on below stays indented"
    assert "victim.d = absent  Blocks drawn. Absent: ten" in lines[-1]
    for terminal in (True, False):
        out = io.StringIO()
        screen = Console(file=out, width=80, highlight=False, force_terminal=terminal, color_system=None)
        listing.show_policies(screen, [policy], details=False)
        line = out.getvalue().splitlines()[1]
        # Wrapped between words on a terminal; whole for programs that read lines.
        whole = f"  greedy * {policy['summary']}"
        assert (line.endswith(" …") and whole.startswith(line[:-1]) and len(line) <= 80) if terminal else line == whole


def test_json_text_keeps_lists_on_a_line() -> None:
    text = jsontext.dumps({"a": [1, 2], "b": {}, "c": [{"d": None}], "e": "µ"})
    assert text == '{\n  "a": [1, 2],\n  "b": {},\n  "c": [\n    {\n      "d": null\n    }\n  ],\n  "e": "µ"\n}'


def test_the_summary() -> None:
    text = summary_text(synthetic.result())
    assert "pgbench-ext4.csv.zst on demo: 177,043 requests in 5 min 34 s" in text
    assert "no part was saturated" in text
    assert "PARTIAL" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_summary_of_a_partial_run() -> None:
    assert "PARTIAL" in summary_text(synthetic.result(partial=True))


def test_the_verdict() -> None:
    result = synthetic.result()
    result["utilisation"]["dies"] = [0.97] * 64
    assert story.verdict(result) == "the dies limited throughput"
    result["utilisation"]["dies"] = [0.89, 0.91] * 32
    assert story.verdict(result) == "the dies limited throughput"
    result["utilisation"]["dies"] = [0.97] + [0.1] * 63
    assert story.verdict(result).startswith("die 0 limited throughput; load across dies was uneven")


def nothing_happened() -> dict[str, Any]:
    """The result of a run that was interrupted before its first request."""
    result = synthetic.result(partial=True)
    none = dict.fromkeys(result["latency_us"]["all"]) | {"count": 0}
    result["latency_us"] = dict.fromkeys(result["latency_us"], none)
    result |= {"requests": 0, "iops": 0.0, "bandwidth_mib_s": 0.0, "simulated_s": 0.0, "write_amplification": None}
    result["by_op"] = {op: {"requests": 0, "bytes": 0} for op in result["by_op"]}
    result["gc"] = {"collections": 0, "moved_pages": 0}
    result["wear"] = {"mean": 0.0, "max": 0, "stddev": 0.0}
    result["series"] = {key: [] if isinstance(value, list) else value for key, value in result["series"].items()}
    result["cdf"] = {"read": [], "write": []}
    result["utilisation"] = {"channels": [0.0] * 8, "dies": [0.0] * 64, "link_in": 0.0, "link_out": 0.0}
    result["precondition"] = None
    return result


def one_interval() -> dict[str, Any]:
    """The result of a run shorter than an interval, without writes."""
    result = synthetic.result()
    result["series"] = {k: v[:1] if isinstance(v, list) else v for k, v in result["series"].items()}
    result["series"]["write_amplification"] = [None]
    result["series"]["write_iops"] = result["series"]["write_mib_s"] = [0.0]
    result["cdf"] = {"read": [[80.0, 0.5], [80.0, 1.0]], "write": []}
    return result


@pytest.mark.parametrize("result", [nothing_happened(), one_interval(), synthetic.result(channels=1, dies=1)])
def test_odd_results_are_shown_too(result: dict[str, Any]) -> None:
    assert summary_text(result)
    assert "</html>" in report.html(result)


@cache
def whole_page() -> str:
    """The page of the made-up result, which takes a second to draw."""
    return report.html(synthetic.result())


def test_the_report_stands_alone_and_is_well_formed() -> None:
    page = re.sub(r"<script.*?</script>", "", whole_page(), flags=re.DOTALL)
    assert not re.findall(r'(?:src|href)="(?!#)[^"]*"|url\((?!#)[^)]*\)|@import', page)
    drawn = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(drawn) == 9, "six figures: three for charts in one width, three in two"
    for svg in drawn:
        ElementTree.fromstring(svg)
        assert "<text" in svg, "text stays text"
        assert not any(colour in svg for colour in drawing.COLOURS.values()), "colours come from the page"
    identifiers = re.findall(r'\bid="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))
    for reference in re.findall(r'(?:href="|url\()#([^")]+)', page):
        assert reference in identifiers


def test_the_report_marks_what_was_changed() -> None:
    result = synthetic.undrawn(synthetic.result())
    page = report.html(result)
    assert page.count('<tr class="changed">') == 2
    assert page.index('<tr class="changed">') < page.index("<details><summary>The other 19 settings of the drive")
    assert "No setting of the drive was changed" in report.html(result | {"changes": []})
    assert "b3:6f1c9d0e5a7743f2a1c05e8b9d3f4711" in page
    assert 'class="alarm"' not in page
    assert 'class="alarm"' in report.html(result | {"partial": True})


def test_percentiles_have_one_name() -> None:
    result = synthetic.result()
    runs = compare.named([("a.json", result), ("b.json", synthetic.result(seed=2))])
    out = io.StringIO()
    compare.show(Console(file=out, width=80, highlight=False, markup=False), runs)
    for text in (summary_text(result), report.html(result), out.getvalue(), compare.html(runs)):
        words = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
        assert "p99.9" in words
        assert not re.search(r"median|\b9\d(\.9+)?[\s\u00a0]%[\s\u00a0]within|99th|>99(\.9+)?[\s\u00a0]%<", words)


def test_the_report_of_the_same_result_is_the_same() -> None:
    assert report.html(synthetic.result()) == whole_page()


def test_names_cannot_break_the_page() -> None:
    result = synthetic.result()
    result["workload"]["trace"]["file"] = "<script>alert(1)</script>.csv"
    result["config"]["name"] = "</td><b>"
    page = report.html(result)
    assert "<script>alert" not in page
    assert "</td><b>" not in page
