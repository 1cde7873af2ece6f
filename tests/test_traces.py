"""``wordline trace``: description, conversion and generation of traces, as for a user."""

from __future__ import annotations

import gzip
import math
import os
import random
import signal
import statistics
import subprocess
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import synthetic
from conftest import PROGRAM, ROOT, Run, done, parsed, refused

Row = tuple[int, str, str, int, int]
"""Time in ps, device, operation, offset and size in bytes."""


def some_rows(seed: int, count: int) -> list[Row]:
    """A random trace with runs, rewrites, bursts and three devices."""
    rng = random.Random(seed)
    now, rows = 0, []
    ends: dict[str, int] = {}
    for _ in range(count):
        now += rng.choice((0, rng.randrange(10**6), rng.randrange(10**9), rng.randrange(2 * 10**11)))
        device = rng.choice("aab") if rng.random() < 0.9 else "c"
        op = rng.choices("RWTF", (4, 5, 1, 0.5))[0]
        size = 0 if op == "F" else 512 * rng.choice((1, 8, 8, 8, 16, 128, rng.randrange(1, 300)))
        start = ends.get(device, 0) if rng.random() < 0.3 else 512 * rng.randrange(40_000)
        offset = 0 if op == "F" else start
        if op != "F" and rng.random() < 0.7:
            ends[device] = offset + size
        rows.append((now, device, op, offset, size))
    return rows


def csv_text(rows: list[Row]) -> str:
    """The rows as a CSV trace."""
    lines = [f"{ps},{device},{op},{offset},{size}" for ps, device, op, offset, size in rows]
    return "\n".join(["time_ps,device,op,offset_bytes,size_bytes", *lines]) + "\n"


def rank(values: list[float], percent: int) -> float:
    """The smallest value that ``percent`` of all values do not exceed."""
    return sorted(values)[max(1, -(-len(values) * percent // 100)) - 1]


class Plain:
    """Every figure computed from its definition, with lists and sets."""

    def __init__(self, rows: list[Row], k: int) -> None:
        first = rows[0][0]
        self.times = [row[0] - first for row in rows]
        self.moving = [row for row in rows if row[2] != "F"]
        self.k = k

    def order(self) -> dict[str, Any]:
        before: dict[str, list[int]] = defaultdict(list)
        writes_before: dict[str, list[int]] = defaultdict(list)
        plain, window, written, seeks = [], [], [], []
        for _, device, op, offset, size in self.moving:
            ends = before[device]
            plain.append((bool(ends) and ends[-1] == offset, size))
            window.append((offset in ends[-self.k :], size))
            if ends:
                seeks.append(offset - ends[-1])
            ends.append(offset + size)
            if op == "W":
                written.append((offset in writes_before[device][-self.k :], size))
                writes_before[device].append(offset + size)
        return {"plain": plain, "window": window, "written": written, "seeks": seeks}

    def pages(self) -> dict[str, Any]:
        touched: dict[str, set[tuple[str, int]]] = defaultdict(set)
        sectors: set[tuple[str, int]] = set()
        lives: dict[tuple[str, int], list[int]] = {}
        again_sectors = all_sectors = number = 0
        for _, device, op, offset, size in self.moving:
            covered = range(offset // 512, -(-(offset + size) // 512))
            touched[op] |= {(device, sector // 8) for sector in covered}
            if op != "W":
                continue
            number += 1
            new = {(device, sector) for sector in covered}
            all_sectors += len(new)
            again_sectors += len(new & sectors)
            again = {(device, sector // 8) for _, sector in new & sectors}
            for page in {(device, sector // 8) for _, sector in new}:
                life = lives.setdefault(page, [number, number, 1])
                if page in again:
                    life[1:] = [number, life[2] + 1]
            sectors |= new
        return {"touched": touched, "lives": lives, "share": again_sectors / all_sectors, "again": again_sectors * 512}


def share(pairs: list[tuple[bool, int]]) -> float:
    return sum(hit for hit, _ in pairs) / len(pairs)


def share_of_bytes(pairs: list[tuple[bool, int]]) -> float:
    return sum(size for hit, size in pairs if hit) / sum(size for _, size in pairs)


def near(got: float, exact: float, within: float = 1e-9) -> bool:
    return math.isclose(got, exact, rel_tol=within, abs_tol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_every_measure_is_that_of_its_definition(wordline: Run, tmp_path: Path, seed: int) -> None:
    rows, k = some_rows(seed, 2500), (10, 1, 3, 64)[seed]
    (tmp_path / "t.csv").write_text(csv_text(rows))
    info = parsed(done(wordline("trace", "info", "t.csv", "--json", "--k", k)))
    plain = Plain(rows, k)

    for op, key, name in (("R", "reads", "read_sizes"), ("W", "writes", "write_sizes"), (None, None, "sizes")):
        sizes = [size for _, _, what, _, size in plain.moving if op in (None, what)]
        if key:
            assert info[key] == len(sizes)
        found = info[name]
        assert near(found["mean_bytes"], statistics.fmean(sizes))
        assert (found["min_bytes"], found["max_bytes"]) == (min(sizes), max(sizes))
        for percent in (10, 25, 50, 75, 90, 99):
            assert found[f"p{percent}_bytes"] == rank(sizes, percent)
        often = sorted(((sizes.count(size), -size) for size in set(sizes)), reverse=True)[:5]
        assert [(size["bytes"], size["share"]) for size in found["most_frequent"]] == [
            (-size, count / len(sizes)) for count, size in often
        ]

    for grain in info["alignment"]:
        n = grain["bytes"]
        assert near(grain["start_share"], share([(row[3] % n == 0, 1) for row in plain.moving]))
        assert near(grain["whole_share"], share([(row[3] % n == 0 == row[4] % n, 1) for row in plain.moving]))

    order, found = plain.order(), info["sequence"]
    assert found["window"] == k
    assert near(found["plain_share"], share(order["plain"])) and near(1 - info["random_share"], share(order["plain"]))
    assert near(found["plain_bytes_share"], share_of_bytes(order["plain"]))
    assert near(found["window_share"], share(order["window"]))
    assert near(found["window_bytes_share"], share_of_bytes(order["window"]))
    assert near(found["window_write_share"], share(order["written"]))
    assert near(found["window_write_bytes_share"], share_of_bytes(order["written"]))
    if k == 1:
        assert found["window_share"] == found["plain_share"]

    seeks, found = order["seeks"], info["seek"]
    lengths = [abs(seek) for seek in seeks]
    assert found["seeks"] == len(seeks) and found["max_bytes"] == max(lengths)
    assert near(found["mean_bytes"], statistics.fmean(lengths))
    assert near(found["deviation_bytes"], statistics.pstdev(seeks))
    assert rank(lengths, 50) <= found["p50_bytes"] <= 1.004 * rank(lengths, 50) + 1

    pages, found = plain.pages(), info["footprint"]
    touched = pages["touched"]
    assert found["pages"] == info["distinct_4k_pages"] == len(touched["R"] | touched["W"] | touched["T"])
    assert (found["read_pages"], found["written_pages"]) == (len(touched["R"]), len(touched["W"]))
    assert found["both_pages"] == len(touched["R"] & touched["W"]) and found["standard_error"] == 0
    assert info["rewrites"]["bytes"] == pages["again"] and near(info["rewrites"]["share"], pages["share"])
    lives = list(pages["lives"].values())
    again = [(last - first, writes) for first, last, writes in lives if writes > 1]
    life = info["life"]
    assert near(life["rewritten_share"], len(again) / len(lives))
    assert near(life["writes_per_page"], sum(writes for _, _, writes in lives) / len(lives))
    for name, values in (("span", [s for s, _ in again]), ("cycle", [s / writes for s, writes in again])):
        assert near(life[name]["mean"], statistics.fmean(values), 1e-6)
        assert near(life[name]["p50"], rank(values, 50), 1e-6) and near(life[name]["p90"], rank(values, 90), 1e-6)
        assert near(life[name]["max"], max(values), 1e-6)

    gaps = [b - a for a, b in zip(plain.times, plain.times[1:], strict=False)]
    found = info["arrivals"]
    assert near(found["mean_us"], statistics.fmean(gaps) / 1e6) and near(found["max_us"], max(gaps) / 1e6)
    assert near(found["variation"], statistics.pstdev(gaps) / statistics.fmean(gaps))
    assert near(found["together_share"], gaps.count(0) / len(gaps))
    for percent in (50, 90, 99):
        exact = rank(gaps, percent) / 1e6
        assert exact - 1e-9 <= found[f"p{percent}_us"] <= 1.004 * exact + 1e-5
    for scale in found["dispersion"]:
        length = round(scale["window_s"] * 10**12)
        counts = [0] * (plain.times[-1] // length)
        for at in plain.times:
            if at // length < len(counts):
                counts[at // length] += 1
        assert scale["windows"] == len(counts)
        assert scale["most"] == (max(counts) if counts else None)
        if len(counts) > 1:
            assert near(scale["index"], statistics.pvariance(counts) / statistics.fmean(counts), 1e-6)

    for device in info["devices"]:
        of = [row for row in plain.moving if row[1] == device["name"]]
        assert device["writes"] == sum(row[2] == "W" for row in of)
        assert device["read_bytes"] == sum(row[4] for row in of if row[2] == "R")
        assert device["extent_bytes"] == max(row[3] + row[4] for row in of)


def test_the_terminal_tells_all_of_it_in_words(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(csv_text(some_rows(1, 500)))
    text = done(wordline("trace", "info", "t.csv"))
    for words in (
        "a header with 5 names",
        "Sizes",
        "most often",
        "aligned to",
        "footprint",
        "follow one of the last 10",
        "seek",
        "variation",
        "of the written bytes",
        "life span",
        "life cycle",
        "Devices",
    ):
        assert words in text
    one = done(wordline("trace", "info", "t.csv", "--device", "b", "--limit", "20"))
    assert "Requests        20 in" in one and "Devices" not in one
    refused(wordline("trace", "info", "t.csv", "--device", "d"), "--device d", "this trace has a, c, b")
    refused(wordline("trace", "info", "t.csv", "--k", "0"), "--k")
    refused(wordline("trace", "info", "none.csv"), "none.csv: no such file")


@pytest.mark.parametrize("name", ["t2.csv", "t2.csv.gz", "t2.csv.zst", "t2.parquet"])
def test_a_round_trip_keeps_everything(wordline: Run, tmp_path: Path, name: str) -> None:
    rows = some_rows(7, 3000)
    (tmp_path / "t.csv").write_text(csv_text(rows))
    done(wordline("trace", "convert", "t.csv", name))
    back = done(wordline("trace", "convert", name, "-", "--to", "csv", "-q")).splitlines()
    assert back[0] == "time_us,device,op,offset_bytes,size_bytes,fua"
    for line, (ps, device, op, offset, size) in zip(back[1:], rows, strict=True):
        us, *fields = line.split(",")
        whole, _, part = us.partition(".")
        assert int(whole) * 10**6 + int((part + "000000")[:6]) == ps - rows[0][0]
        assert fields == [device, op, str(offset), str(size), "0"]


def test_each_format_is_written_and_what_it_loses_is_told(wordline: Run, tmp_path: Path) -> None:
    rows = [row for row in some_rows(3, 2000) if row[2] in "RW"]
    (tmp_path / "t.csv").write_text(csv_text(rows))
    for to, reads, tick in (("msr", "msr", 10**5), ("disksim", "disksim", 1), ("mqsim", "mqsim", 1000)):
        told = parsed(done(wordline("trace", "convert", "t.csv", "out.txt.gz", "--to", to, "--json")))
        assert (told["requests"], told["dropped"], told["format"]) == (len(rows), 0, to)
        assert told["times_cut"] == sum((row[0] - rows[0][0]) % tick > 0 for row in rows)
        got = parsed(done(wordline("trace", "info", "out.txt.gz", "--format", reads, "--json")))
        exact = parsed(done(wordline("trace", "info", "t.csv", "--json")))
        for key in ("requests", "reads", "writes", "read_bytes", "written_bytes", "sequence", "footprint", "rewrites"):
            assert got[key] == exact[key], (to, key)
        assert abs(got["duration_s"] - exact["duration_s"]) <= tick / 1e12
    log = done(wordline("trace", "convert", "t.csv", "-", "--to", "fio", "-q")).splitlines()
    assert log[0] == "fio version 3 iolog" and log[1].split()[1:] == [rows[0][1], "add"]
    assert sum(len(line.split()) == 5 for line in log) == len(rows)


def test_what_a_format_cannot_say_needs_a_word(wordline: Run, trace: Path) -> None:
    message = refused(wordline("trace", "convert", trace, "o.msr"), "o.msr: request 5 is a trim", "--drop")
    assert "parquet" in message and not trace.with_name("o.msr").exists()
    text = done(wordline("trace", "convert", trace, "o.msr", "--drop"))
    assert "2 trims and flushes" in text
    assert len(trace.with_name("o.msr").read_text().splitlines()) == 6
    refused(wordline("trace", "convert", trace, "o.txt"), "o.txt", "--to", "disksim")
    refused(wordline("trace", "convert", trace, "o.txt", "--to", "disksin"), "did you mean `disksim`")
    refused(wordline("trace", "convert", trace, "o.parquet.gz"), "compressed inside")
    refused(wordline("trace", "convert", trace, trace), "is read by the same command")
    refused(wordline("trace", "convert", trace, "o.csv", "--speed", "0"), "--speed 0")
    refused(wordline("trace", "convert", trace, "o.csv", "--window", "1s..2s"), "no request to write")
    refused(wordline("trace", "convert", trace, "none/o.csv"), "does not exist")
    odd = trace.with_name("odd.csv")
    odd.write_text("time_us,op,offset_bytes,size_bytes\n0,R,100,1000\n")
    refused(wordline("trace", "convert", odd, "o.disksim"), "request 1 covers 1000 bytes from 100", "--round")
    assert "1 request, outwards" in done(wordline("trace", "convert", odd, "o.disksim", "--round"))
    assert trace.with_name("o.disksim").read_text() == "0 0 0 3 1\n"


def test_part_of_a_trace(wordline: Run, trace: Path) -> None:
    text = done(wordline("trace", "convert", trace, "-", "--to", "csv", "-q", "--window", "1ms..4ms", "--speed", "2"))
    assert text.splitlines()[1:] == ["0,W,16384,16384,0", "500,W,65536,8192,0", "1000,R,16384,16384,0"]
    text = done(wordline("trace", "convert", trace, "-", "--to", "csv", "-q", "--limit", "1"))
    assert len(text.splitlines()) == 2


def test_nothing_half_is_left(wordline: Run, trace: Path) -> None:
    kept = trace.with_name("kept.csv")
    kept.write_text("something else")
    bad = trace.with_name("bad.csv")
    bad.write_text(trace.read_text() + "9000,R,zero,512\n")
    refused(wordline("trace", "convert", bad, "kept.csv"), "bad.csv, line 10: offset `zero`")
    assert kept.read_text() == "something else"
    assert sorted(path.name for path in trace.parent.iterdir()) == ["bad.csv", "kept.csv", "small.csv"]
    message = refused(wordline("trace", "convert", trace, "/dev/full", "--to", "csv"), "/dev/full", status=1)
    assert "no space left" in message
    refused(wordline("trace", "convert", trace, "/dev/full", "--to", "parquet"), "no space left", status=1)


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    source = tmp_path / "long.csv"
    lines = "".join(f"{n},R,{n % 999 * 4096},4096\n" for n in range(200_000))
    with gzip.open(source, "wt", compresslevel=1) as file:
        file.write("time_us,op,offset_bytes,size_bytes\n")
        file.write(lines)
    # Times that go backwards are moved, so that the same lines can repeat.
    with source.open("ab") as file:
        more = gzip.compress(lines.encode(), compresslevel=1)
        for _ in range(100):
            file.write(more)
    clamp = ["--load-set", "trace.backwards=clamp"]
    command = [PROGRAM, "trace", "convert", str(source), "out.parquet", *clamp]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env={**os.environ})
    while not list(tmp_path.glob(".out*")) and process.poll() is None:
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=30)
    assert (process.returncode, message.strip()) == (130, "wordline: interrupted")
    assert [path.name for path in tmp_path.iterdir()] == ["long.csv"]


def test_a_reader_that_goes_away_is_no_trouble(wordline: Run, tmp_path: Path) -> None:
    done(wordline("trace", "synth", "-o", "t.csv", "--requests", "200000", *STATISTICS))
    command = f"{PROGRAM} trace convert t.csv - --to csv -q | head -1"
    outcome = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert outcome.stdout.startswith("# stand-in") and outcome.stderr == ""


STATISTICS = (
    *("--writes", "64.5", "--write-size", "7.4k", "--read-size", "11.1k", "--random", "96.2"),
    *("--footprint", "50m", "--mean-gap", "4600", "--median-gap", "1500"),
)


def test_a_stand_in_has_its_statistics_and_says_what_it_is(wordline: Run, tmp_path: Path) -> None:
    told = parsed(done(wordline("trace", "synth", "-o", "s.csv", "--requests", "40000", *STATISTICS, "--json")))
    assert told["stand_in"] is True and told["asked"]["gap_median_us"] == 1500
    head = (tmp_path / "s.csv").read_text().splitlines()[:4]
    assert head[0].startswith("# stand-in") and head[3] == "time_us,op,offset_bytes,size_bytes,fua"
    info = parsed(done(wordline("trace", "info", "s.csv", "--json")))
    assert info["requests"] == 40_000
    assert info["writes"] / info["requests"] == pytest.approx(0.645, abs=0.01)
    assert info["mean_write_bytes"] == pytest.approx(7.4 * 1024, rel=0.03)
    assert info["mean_read_bytes"] == pytest.approx(11.1 * 1024, rel=0.03)
    assert info["random_share"] == pytest.approx(0.962, abs=0.005)
    assert info["distinct_4k_pages"] * 4096 == pytest.approx(50 * 2**20, rel=0.02)
    assert info["arrivals"]["mean_us"] == pytest.approx(4600, rel=1e-4)
    assert info["arrivals"]["p50_us"] == pytest.approx(1500, rel=0.05)
    measured = told["measured"]
    assert measured["footprint_bytes"] == info["distinct_4k_pages"] * 4096
    assert measured["gap_median_us"] == info["arrivals"]["p50_us"]


def test_statistics_come_from_a_file_too(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "hm.toml").write_text(
        'source = "a paper"\nrequests = 5000\nwrite_percent = 100\nwrite_size = "4k:60, 64k:40"\n'
        'random_percent = 50\nfootprint = "10m"\ngap_mean_us = 1000\ngap_median_us = 100\nburst_requests = 8\n'
    )
    text = done(wordline("trace", "synth", "hm.toml", "-o", "hm.msr", "--seed", "3"))
    assert "made from statistics" in text and "bursts of 8.000 requests" in text
    mark = parsed((tmp_path / "hm.msr.stand-in.json").read_text())
    assert mark["stand_in"] is True and mark["asked"]["source"] == "a paper" and mark["asked"]["seed"] == 3
    again = done(wordline("trace", "synth", "hm.toml", "-o", "-", "--to", "msr", "--set", "seed=3", "-q"))
    assert again == (tmp_path / "hm.msr").read_text()
    other = done(wordline("trace", "synth", "hm.toml", "-o", "-", "--to", "msr", "--seed", "4", "-q"))
    assert other != again


def test_a_stand_in_is_told_from_a_recorded_trace_wherever_it_goes(wordline: Run, tmp_path: Path) -> None:
    done(wordline("trace", "synth", "-o", "s.csv.zst", "--requests", "40000", *STATISTICS))
    for made in ("s.parquet", "s.msr", "s.csv.gz"):
        told = done(wordline("trace", "convert", "s.csv.zst", made, "--limit", "500"))
        assert "not a recorded trace" in told
        assert "not a recorded trace" in done(wordline("trace", "info", made)), made
        assert f"{made} (a stand-in) on demo" in done(wordline("run", "demo", made, "--json", "r.json")), made
        result = parsed((tmp_path / "r.json").read_text())
        assert "published statistics" in result["workload"]["trace"]["stand_in"], made
    # Overwriting the file removes the mark.
    (tmp_path / "real.csv").write_text("time_us,op,offset_bytes,size_bytes\n0,R,0,4096\n")
    done(wordline("trace", "convert", "real.csv", "s.msr"))
    assert "Stand-in" not in done(wordline("trace", "info", "s.msr"))
    assert not (tmp_path / "s.msr.stand-in.json").exists()


def test_statistics_that_make_no_sense_are_named(wordline: Run, tmp_path: Path) -> None:
    def synth(*words: str) -> subprocess.CompletedProcess[str]:
        return wordline("trace", "synth", "-o", "s.csv", *words)

    refused(synth(), "write_percent", "is needed")
    refused(synth("--requests", "10", *STATISTICS, "--writes", "200"), "--writes 200", "0 to 100")
    refused(synth("--requests", "10", *STATISTICS), "--footprint 50m", "10 requests reach")
    refused(synth("--requests", "40000", *STATISTICS, "--median-gap", "5000"), "--median-gap 5000", "above the mean")
    refused(synth("--requests", "40000", *STATISTICS, "--set", "write_sise=4k"), "write_sise", "write_size")
    (tmp_path / "bad.toml").write_text("requests = 5000\nwrite_percent = 100\nrandom_percent = 101\n")
    refused(synth("bad.toml", "--write-size", "4k"), "bad.toml", "random_percent = 101")
    assert not list(tmp_path.glob("*s.csv*"))


TRACES = os.environ.get("WORDLINE_TRACES")


@pytest.mark.skipif(TRACES is None, reason="needs the recorded traces, by WORDLINE_TRACES")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("msr-hm_0_899.csv.zst", []),
        ("msr-wdev_1_last926.txt.zst", []),
        ("umass-financial1_first10k.ascii.zst", ["--format", "ssdsim"]),
        ("disksimssd-iozone_100k.trace.zst", ["--format", "disksim"]),
    ],
)
def test_recorded_traces_come_through_every_format(
    wordline: Run, tmp_path: Path, name: str, options: list[str]
) -> None:
    source = Path(str(TRACES)) / name
    exact = parsed(done(wordline("trace", "info", source, *options, "--json")))
    for out, reads in (("o.csv", "csv"), ("o.parquet", "parquet"), ("o.msr.zst", "msr"), ("o.disksim.gz", "disksim")):
        told = parsed(done(wordline("trace", "convert", source, out, *options, "--json")))
        got = parsed(done(wordline("trace", "info", out, "--format", reads, "--json")))
        different = {"detected", "file"} | ({"arrivals", "duration_s"} if told["times_cut"] else set())
        renamed = {"devices"} if reads in ("msr", "disksim") else set()
        for key in exact.keys() - different - renamed:
            assert got[key] == exact[key], (out, key)


def test_a_copy_without_times_is_warned_of(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "t.lis").write_text("7 2 0 0\n9 1 0 1\n")
    arc = ("trace", "convert", "t.lis", "--format", "arc")
    assert "replay it with --pace asap" in " ".join(done(wordline(*arc, "o.msr")).split())
    assert "reads it as an order only" in " ".join(done(wordline(*arc, "o.csv")).split())
    told = parsed(done(wordline(*arc, "o.parquet", "--json")))
    assert (told["timed"], told["says_untimed"]) == (False, True)
    for name in ("o.csv", "o.parquet"):
        reason = parsed(done(wordline("trace", "info", name, "--json")))["detected"]["reason"]
        assert "only the order counts" in reason


def test_times_that_nothing_can_hold_are_refused(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time_us,op,offset_bytes,size_bytes\n0,R,0,4096\n5000000000000,R,4096,4096\n")
    slow = ("--drop", "--round", "--speed", "1e-6")
    # 158,000 years: valid as a decimal number.
    done(wordline("trace", "convert", "t.csv", "o.csv", *slow))
    for out in ("o.msr", "o.mqsim"):
        told = refused(wordline("trace", "convert", "t.csv", out, *slow))
        assert "after the first, and times of format" in told
        assert not (tmp_path / out).exists()


def test_the_page_names_all_that_is_told_of_a_trace(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(csv_text(some_rows(1, 50)))
    page = (ROOT / "docs" / "trace-tools.md").read_text()
    told = parsed(done(wordline("trace", "info", "t.csv", "--json")))
    assert [key for key in told if f"`{key}`" not in page] == []


def test_what_was_left_out_is_told_by_every_command(wordline: Run, drive: Path, tmp_path: Path) -> None:
    rows = ["0,R,0,4096", "9,R,0,4096", "7,W,0,4096", "9,R,0,0", "broken", "12,W,0,4096"]
    (tmp_path / "t.csv").write_text("\n".join(["time_us,op,offset_bytes,size_bytes", *rows, ""]))
    given = ("zero_size=skip", "backwards=clamp", "skip_bad=0.5")
    sets = [word for one in given for word in ("--load-set", f"trace.{one}")]
    for command in (("trace", "info", "t.csv"), ("trace", "convert", "t.csv", "o.csv"), ("run", drive, "t.csv")):
        text = " ".join(done(wordline(*command, *sets)).split())
        for words in ("1 request of zero bytes", "1 line that could not be read", "1 request whose time ran backwards"):
            assert words in text, command
    result = parsed(done(wordline("run", drive, "t.csv", *sets, "-q", "--json")))
    assert "Left out while the trace was read: 1 request of zero bytes." in synthetic.page_of(result)
    assert "Left out" not in done(wordline("run", drive, "o.csv"))
