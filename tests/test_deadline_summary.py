"""The sentences about missed deadlines, on results whose answer is known by hand."""

from __future__ import annotations

import io

import wordline
from rich.console import Console
from wordline import Workload
from wordline.base import units
from wordline.results import deadlines, summary

NOTHING = {"deadline_us": 10_000.0, "requests": 0, "missed": 0, "most_late_us": None}


def test_only_requests_that_there_were_are_told() -> None:
    late = {"deadline_us": 100.0, "requests": 407, "missed": 12, "most_late_us": 340.0}
    in_time = {"deadline_us": 50.0, "requests": 1_500, "missed": 0, "most_late_us": None}
    result = {"deadlines": {"read": late, "write": NOTHING, "flush": NOTHING, "streams": [{"stream": 2, **in_time}]}}
    assert list(deadlines.summed_up(result)) == [
        "12 of 407 reads missed their deadline of 100 µs, by 340 µs at most",
        "0 of 1,500 requests of stream 2 missed their deadline of 50.0 µs",
    ]
    assert list(deadlines.summed_up({})) == []


def test_the_summary_says_what_the_run_counted() -> None:
    load = Workload.job(rw="randread", bs="4k", iodepth=32, number_ios=2_000)
    keys = {"dispatch.policy": "deadline", "dispatch.read_deadline_us": 100.0}
    result = dict(wordline.run("demo", load, keys, progress=False))
    # A read takes more than 50 µs in the array, and four wait for each of the eight dies: many take more than 100 µs.
    slow = result["deadlines"]["read"]
    assert slow["requests"] == 2_000
    assert slow["missed"] > 500
    assert abs(slow["most_late_us"] + 100 - result["latency_us"]["read"]["max"]) < 0.01
    console = Console(file=io.StringIO(), width=200)
    summary.show(console, result)
    told = console.file.getvalue()
    assert f"{units.count(slow['missed'])} of 2,000 reads missed their deadline of 100 µs" in told
    assert told.count("Deadlines") == 1
