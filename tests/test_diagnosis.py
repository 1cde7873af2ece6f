"""Sentences on a run's limits, on cases with a known answer, against the run's own tables."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars
import pytest
from conftest import SMALL_DRIVE, Run, done, parsed, trace_text
from wordline.results import causes, limits, story

STATIC = """
[placement]
policy = "static"
order = "CWDP"

[collect]
policy = "on-demand"
scope = "plane"
"""
"""Page n is on channel n % 4, on die n // 4 % 2 of the channel; GC is plane by plane."""

DIES = 8
PAGE = 16_384


def ran(
    wordline: Run, tmp_path: Path, load: str, *options: str, drive: str = ""
) -> tuple[dict[str, Any], dict[str, polars.DataFrame], str]:
    """The result of a run, its tables, and the sentences on its limits."""
    (tmp_path / "drive.toml").write_text(SMALL_DRIVE + drive)
    name = "load.csv" if load.startswith("time") else "load.toml"
    (tmp_path / name).write_text(load)
    out = tmp_path / "out"
    wanted = ("--tables", "requests,dies", "--out", out, "--interval", "8ms", "--json", "r.json", "-q")
    done(wordline("run", "drive.toml", name, *wanted, *options))
    result = parsed((tmp_path / "r.json").read_text())
    tables = {table: polars.read_parquet(out / f"{table}.parquet") for table in ("requests", "dies")}
    return result, tables, " ".join(limits.sentences(result))


def job(**options: Any) -> str:  # noqa: ANN401
    """A workload of one job."""
    quoted = {key: f'"{value}"' if isinstance(value, str) else str(value).lower() for key, value in options.items()}
    return '[[job]]\nname = "j"\n' + "".join(f"{key} = {value}\n" for key, value in quoted.items())


def by_table(result: dict[str, Any], dies: polars.DataFrame) -> dict[str, list[int]]:
    """The saturated intervals of each die by longest occupant, from the table of dies."""
    told = result["activity"]["saturated"]
    length = round(told["interval_s"] * 1e3)
    assert length % 8 == 0
    rows = dies.with_columns(window=((dies["start_s"] * 1e3).round().cast(polars.Int64) // length)).filter(
        polars.col("window") < told["intervals"]
    )
    sums = rows.group_by("die", "window").agg(
        polars.col("busy_us", "wait_bus_us", "host_read_us", "host_write_us", "gc_us").sum()
    )
    # The end may cut off the last interval.
    lasts = polars.min_horizontal(length * 1e3, result["activity"]["end_s"] * 1e6 - polars.col("window") * length * 1e3)
    full = sums.filter(polars.col("busy_us") - polars.col("wait_bus_us") >= 0.9 * lasts)
    counts = {holder: [0] * DIES for holder in ("read", "write", "gc")}
    for row in full.iter_rows(named=True):
        held = {"read": row["host_read_us"], "write": row["host_write_us"], "gc": row["gc_us"]}
        counts[max(held, key=lambda holder: held[holder])][row["die"]] += 1
    return counts


def test_one_large_read_at_a_time_waits_for_its_own_pages(wordline: Run, tmp_path: Path) -> None:
    load = job(rw="read", bs="512k", iodepth=1, number_ios=200)
    result, tables, text = ran(wordline, tmp_path, load)
    spent = result["time_of"]["read"]
    assert spent["wait_die_own"] > 0, "32 pages on 8 dies"
    assert spent["wait_die_read"] == spent["wait_die_write"] == spent["wait_die_gc"] == 0
    assert tables["requests"]["wait_die_own_us"].sum() / 1e6 == pytest.approx(spent["wait_die_own"])
    assert "waiting for dies that held other pages of the same request" in text
    for wrong in ("other requests", "uneven", "die queues", "saturated in"):
        assert wrong not in text
    assert "so latency limited throughput" in text


def test_an_even_load_is_not_called_uneven(wordline: Run, tmp_path: Path) -> None:
    load = job(rw="randread", bs="16k", iodepth=8, number_ios=8_000)
    result, tables, text = ran(wordline, tmp_path, load)
    assert "uneven" not in text
    assert result["time_of"]["read"]["wait_die_own"] == 0
    busy = tables["dies"].group_by("die").agg(polars.col("busy_us").sum())["busy_us"]
    assert busy.max() < 1.25 * busy.mean()
    assert result["activity"]["saturated"]["dies_by"] == by_table(result, tables["dies"])


def test_requests_for_one_die_say_so(wordline: Run, tmp_path: Path) -> None:
    rng = random.Random(1)
    rows = [("R", 8 * PAGE * rng.randrange(3_900) + 3 * PAGE, PAGE) for _ in range(3_000)]
    options = ("--pace", "asap", "--iodepth", "8")
    result, tables, text = ran(wordline, tmp_path, trace_text(rows), *options, drive=STATIC)
    busy = tables["dies"].group_by("die").agg(polars.col("busy_us").sum())
    assert busy["die"].to_list() == [6], "the first die of channel 3"
    shares = result["utilisation"]["dies"]
    assert result["activity"]["saturated"]["dies_by"] == by_table(result, tables["dies"])
    assert sum(shares) == shares[6] > 0
    uneven = f"load across dies was uneven: die 6 was busy {story.units.percent(shares[6])} of the time"
    assert uneven in text or "die 6 was saturated in" in text
    assert "no part" not in text
    assert "waiting for dies that other requests' reads held" in text


def test_collection_on_one_die_is_told(wordline: Run, tmp_path: Path) -> None:
    rng = random.Random(1)
    reads = [(1e3 * n, "R", (8 * n % 31_000 // 8 * 8 + 1 + n % 7) * PAGE) for n in range(4_000)]
    writes = [(2e6 + 300 * n, "W", 8 * PAGE * rng.randrange(3_900)) for n in range(4_000)]
    rows = sorted(reads + writes)
    load = "time_us,op,offset_bytes,size_bytes\n" + "".join(f"{t:.0f},{op},{at},{PAGE}\n" for t, op, at in rows)
    result, tables, text = ran(
        wordline, tmp_path, load, drive=STATIC + '\n[buffer]\npolicy = "fifo"\ncapacity_kib = 256\n'
    )
    told = result["activity"]["saturated"]
    counts = by_table(result, tables["dies"])
    assert told["dies_by"] == counts
    assert counts["gc"][0] > 0
    assert [sum(counts[holder][die] for holder in counts) for die in range(1, DIES)] == [0] * 7
    held = tables["dies"].group_by("die").agg(polars.col("gc_us").sum()).filter(polars.col("gc_us") > 0)
    assert held["die"].to_list() == [0], "no other die collects"
    assert "no part was saturated" not in text
    whole = sum(counts[holder][0] for holder in counts)
    assert f"ie 0 was saturated in {whole} of {told['intervals']} intervals" in text
    assert f"by garbage collection in {counts['gc'][0]}" in text or "s, by garbage collection" in text
    # Writes wait for the buffer, which waits for this die only.
    requests = tables["requests"].filter(polars.col("op") == "write")
    buffer = [f"{key}_us" for key in causes.BUFFER if f"{key}_us" in requests.columns]
    waited = requests.filter(polars.sum_horizontal(buffer) > 0)
    assert waited.height > 500
    assert waited.filter(polars.col("gc_affected") != (polars.col("wait_buffer_gc_us") > 0)).height == 0
    assert result["gc_affected_requests"] == tables["requests"]["gc_affected"].sum() > 500
    assert waited["wait_buffer_read_us"].sum() == 0, "reads go elsewhere"


def test_a_full_write_buffer_tells_of_the_collection_behind_it(wordline: Run, tmp_path: Path) -> None:
    load = job(rw="randwrite", bs="16k", iodepth=16, number_ios=16_000, norandommap=True)
    buffer = 'overwrites = 0.5\n\n[buffer]\npolicy = "fifo"\ncapacity_kib = 4096\n'
    result, tables, text = ran(wordline, tmp_path, load, drive=buffer)
    spent = result["time_of"]["write"]
    waited = sum(spent.get(key, 0.0) for key in causes.BUFFER)
    assert waited > 0.9 * sum(spent.values())
    # The dies are always busy with GC or host writes: so are the logical pages that wait for them.
    dies = tables["dies"]
    share = dies["gc_us"].sum() / dies["busy_us"].sum()
    assert spent["wait_buffer_gc"] / waited == pytest.approx(share, abs=0.06)
    assert result["gc_affected_requests"] > 0.8 * result["requests"]
    assert "waiting for the write buffer while garbage collection held the dies that drain it" in text


def test_a_stalled_request_counts_where_it_waits(wordline: Run, tmp_path: Path) -> None:
    load = job(rw="randwrite", bs="16k", iodepth=64, number_ios=12_000, norandommap=True)
    buffer = 'overwrites = 0.5\n\n[buffer]\npolicy = "fifo"\ncapacity_kib = 256\n'
    result, tables, _ = ran(wordline, tmp_path, load, drive=buffer)
    series = result["time_of"]["series"]
    interval = series["interval_s"]
    in_flight = [sum(times) / interval for times in zip(*series["write"].values(), strict=True)]
    # All 64 requests wait in each interval except the last: none can count for more time than exists.
    requests = tables["requests"]
    for at, told in enumerate(in_flight):
        overlap = requests.select(
            (polars.min_horizontal(polars.col("completion_s"), (at + 1) * interval))
            - polars.max_horizontal(polars.col("arrival_s"), at * interval)
        ).to_series()
        assert told == pytest.approx(overlap.filter(overlap > 0).sum() / interval, rel=1e-6, abs=1e-6)
