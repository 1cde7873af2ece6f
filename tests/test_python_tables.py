"""Workloads from tables in memory, and tables from workloads and runs."""

from __future__ import annotations

import datetime
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest
import wordline
from conftest import BUNDLED, SMALL_LOAD, TRACE_ROWS
from wordline import Drive, Run, Workload
from wordline.api import frames
from wordline.api.frames import Frame

COLUMNS = {
    "time_us": [1000 * n for n in range(len(TRACE_ROWS))],
    "op": [op for op, _, _ in TRACE_ROWS],
    "offset": [offset for _, offset, _ in TRACE_ROWS],
    "size": [size for _, _, size in TRACE_ROWS],
}
"""The trace of the fixture ``trace``."""

ARROW = pyarrow.table(COLUMNS)


@pytest.fixture
def small(drive: Path) -> Drive:
    return Drive(drive)


def figures(result: Run) -> dict[str, Any]:
    """The common results of two runs of the same requests, however they were given."""
    return {key: result[key] for key in ("requests", "by_op", "latency_us", "waiting_us", "flash", "series", "cdf")}


def seconds() -> list[datetime.timedelta]:
    return [datetime.timedelta(milliseconds=n) for n in range(len(TRACE_ROWS))]


@pytest.mark.parametrize(
    "table",
    [
        ARROW,
        pandas.DataFrame(COLUMNS),
        polars.DataFrame(COLUMNS),
        {name: numpy.array(values) for name, values in COLUMNS.items()},
        # In several batches.
        pyarrow.concat_tables([ARROW.slice(0, 3), ARROW.slice(3, 0), ARROW.slice(3)]),
        # Other types of the same numbers and words.
        pandas.DataFrame(COLUMNS).astype({"op": "category", "size": "uint32", "offset": "uint64", "time_us": "int32"}),
        polars.DataFrame(COLUMNS).with_columns(polars.col("op").cast(polars.Categorical)),
        polars.DataFrame(COLUMNS).with_columns(polars.col("op").cast(polars.Enum(["R", "W", "T", "F"]))),
        # Other names, units and kinds of time.
        polars.DataFrame(COLUMNS)
        .rename({"offset": "OFFSET_BYTES", "size": "size_bytes"})
        .with_columns(device=polars.lit("sda")),
        {**COLUMNS, "lba": [offset // 512 for offset in COLUMNS["offset"]], "offset": None, "fua": [False] * 8},
        {**COLUMNS, "time_us": None, "time_s": [n / 1000 for n in range(8)]},
        {**COLUMNS, "time_us": None, "time": seconds()},
        {**COLUMNS, "time_us": None, "time": [datetime.datetime(2024, 5, 1) + d for d in seconds()]},
    ],
    ids=[
        *("arrow", "pandas", "polars", "numpy", "batches", "small-types", "categorical", "enum"),
        *("names", "lba", "seconds", "durations", "stamps"),
    ],
)
def test_a_table_is_run_like_its_file(small: Drive, trace: Path, table: Any) -> None:  # noqa: ANN401
    if isinstance(table, dict):
        table = {name: values for name, values in table.items() if values is not None}
    workload = Workload.table(table, name="mine")
    result = small.fork().run(workload)
    assert figures(result) == figures(small.fork().run(trace))
    told = result["workload"]["trace"]
    assert (told["file"], told["format"], told["path"]) == ("mine", "table", None)
    assert told["reason"].startswith("a table in memory with the columns ")
    info = workload.info()
    assert (info["requests"], info["writes"], info["flushes"], info["duration_s"]) == (8, 3, 1, 0.007)


def test_columns_may_have_every_type_of_arrow_that_fits(small: Drive) -> None:
    expected = Workload.table(ARROW).to_frame().to_arrow()

    def same(name: str, column: pyarrow.Array) -> None:
        changed = ARROW.set_column(ARROW.column_names.index(name), name, column)
        assert Workload.table(changed).to_frame().to_arrow() == expected, column.type

    ops = ARROW["op"].combine_chunks()
    texts = [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()]
    for text in texts:
        same("op", ops.cast(text))
    words = ops.dictionary_encode()
    for key, text in product(["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"], texts):
        keys = words.indices.cast(key)
        same("op", pyarrow.DictionaryArray.from_arrays(keys, words.dictionary.cast(text)))
    times = ARROW["time_us"].combine_chunks()
    for kind in ["int16", "uint16", "int32", "uint32", "uint64", "float32", "float64", pyarrow.duration("us")]:
        same("time_us", times.cast(kind))
    for zone in [None, "Europe/Berlin"]:
        stamps = times.cast(pyarrow.timestamp("us", zone))
        same("time_us", stamps)
        same("time_us", stamps.cast(pyarrow.timestamp("ns", zone)))
        same("time_us", stamps.cast(pyarrow.timestamp("ms", zone)))
    for whole in ["int32", "uint32", "uint64"]:
        same("size", ARROW["size"].combine_chunks().cast(whole))
    for truth in ["bool", "int8", "uint64"]:
        assert (
            Workload.table(ARROW.append_column("fua", pyarrow.array([0] * 8).cast(truth))).to_frame().to_arrow()
            == expected
        )


def test_columns_and_options_are_named_as_for_files(small: Drive, trace: Path) -> None:
    table = pyarrow.table(
        {
            "when": list(range(8)),
            "what": COLUMNS["op"],
            "sector": [o // 4096 for o in COLUMNS["offset"]],
            "size": COLUMNS["size"],
        }
    )
    workload = Workload.table(
        table,
        columns={"time": "when", "op": "what", "lba": "sector"},
        time_unit="ms",
        address_block_bytes=4096,
        pace="asap",
        iodepth=1,
        loops=2,
    )
    assert small.run(workload)["requests"] == 16
    assert workload.options["trace"]["loops"] == 2
    assert Workload.table(ARROW, limit=3).info()["requests"] == 3
    assert len(Workload.table(ARROW).to_frame(limit=2)) == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"op": None}, "no column with the operation; usual names: op"),
        (
            {"size": None},
            "no column with the size; usual names: size_bytes, size, blocks; name the right one of",
        ),
        ({"op": [1] * 8}, "the column op holds Int64; expected words"),
        ({"offset": [0.5] * 8}, "the column offset holds Float64; expected whole numbers"),
        ({"time_us": None, "time": list(range(8))}, "the column time does not say its unit; give time_unit"),
        ({"op": ["R", "Q", *"RRRRRR"]}, "table, row 1 (the first is 0): op `Q`: must be read, write"),
        ({"offset": [0, 0, -4096, *[0] * 5]}, "table, row 2 (the first is 0): offset `-4096`: is negative"),
        ({"size": [4096, None, *[4096] * 6]}, "table, row 1 (the first is 0): size: is missing"),
        (
            {"size": [4096, 2**31, *[4096] * 6]},
            "table, row 1 (the first is 0): size `2147483648`: a request of this size",
        ),
        ({"size": [4096, 0, *[4096] * 6]}, "table, row 1 (the first is 0): size: is zero"),
        ({"time_us": [5, 4, *range(6)]}, "table, row 1 (the first is 0): time: runs backwards"),
        (
            {"time_us": None, "time_s": [0.0, float("nan"), *[1.0] * 6]},
            "table, row 1 (the first is 0): time: is missing",
        ),
        ({"time_us": None, "time_s": [-1.0] * 8}, "table, row 0 (the first is 0): time `-1`: must be 0 or more"),
        (
            {"lba": [8] * 8},
            "offset and lba could both be the address; say which column it is by `columns.offset_bytes`",
        ),
        ({"time_s": [0.0] * 8}, "time_s and time_us could both be the time"),
        ({"offset": [2**50] * 8}, "table, row 0 (the first is 0): offset: 1125899906842624 + 4096 bytes ends at byte"),
    ],
)
def test_wrong_tables_are_refused(small: Drive, change: dict[str, Any], words: str) -> None:
    columns = {name: values for name, values in {**COLUMNS, **change}.items() if values is not None}
    with pytest.raises(wordline.InputError) as refusal:
        small.run(Workload.table(pyarrow.table(columns)))
    assert words in str(refusal.value)


def test_wrong_options_of_tables_are_refused(small: Drive) -> None:
    for options, words in (
        ({"columns": {"time": "tim"}}, "trace.columns.time"),
        ({"address_block_bytes": 0}, "must be 1 to 1048576"),
        ({"past_end": "warp"}, "did you mean"),
        ({"format": "table"}, "table"),
        ({"format": "csv"}, "a table has columns and no lines"),
    ):
        with pytest.raises(wordline.InputError, match=words):
            small.run(Workload.table(ARROW, **options))
    typed = {**COLUMNS, "time_us": seconds()}
    with pytest.raises(wordline.InputError, match="knows its unit"):
        Workload.table(typed, time_unit="s")
    with pytest.raises(TypeError, match="not list"):
        Workload.table([1, 2])
    with pytest.raises(wordline.InputError, match="no request in this trace: it has no row"):
        small.run(Workload.table(ARROW.slice(0, 0)))


def test_big_columns_are_shared_and_not_copied() -> None:
    """Reading a table of 64 MB needs far less memory."""
    import resource

    n = 2_000_000
    table = {
        "time_us": numpy.arange(n),
        "op": pyarrow.DictionaryArray.from_arrays(pyarrow.array(numpy.zeros(n, numpy.int32)), ["R"]),
        "offset": numpy.arange(n, dtype=numpy.uint64) * 512,
        "size": numpy.full(n, 512),
    }
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    workload = Workload.table(table)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 8_000, "KiB"
    assert workload.info()["requests"] == n


def test_a_trace_becomes_a_table_and_comes_back(small: Drive) -> None:
    bundled = Workload.trace(BUNDLED, past_end="wrap", limit=5_000)
    frame = bundled.to_frame()
    table = frame.to_polars()
    assert table.columns == ["time_ps", "op", "offset_bytes", "size_bytes", "fua"]
    info = bundled.info()
    assert table.height == info["requests"] == 5_000
    assert table.filter(op="write")["size_bytes"].sum() == info["written_bytes"]
    assert table["time_ps"][-1] / 1e12 == pytest.approx(info["duration_s"])
    again = Workload.table(frame, past_end="wrap")
    assert again.to_frame().to_arrow() == frame.to_arrow()
    assert figures(small.fork().run(again)) == figures(small.fork().run(bundled))
    assert frame.to_pandas()["op"].value_counts()["write"] == info["writes"]


def test_devices_of_a_table(small: Drive) -> None:
    table = {**COLUMNS, "device": ["a", "b"] * 4}
    assert [device["name"] for device in Workload.table(table).info()["devices"]] == ["a", "b"]
    assert Workload.table(table, device="b").info()["requests"] == 4
    assert "device" in Workload.table(table).to_frame().columns
    with pytest.raises(wordline.InputError, match="no such device"):
        Workload.table(table, device="c").info()


def test_workloads_side_by_side(small: Drive, trace: Path, load: Path) -> None:
    jobs = Workload.job(name="a", rw="read", number_ios=10) + Workload.job(name="b", rw="write", number_ios=20)
    assert [job["name"] for job in jobs.options["job"]] == ["a", "b"]
    assert small.run(jobs)["requests"] == 30
    both = Workload.table(ARROW) + jobs
    result = small.run(both)
    assert result["requests"] == 38
    assert {"trace", "jobs"} <= set(result["workload"])
    assert small.run(Workload.trace(trace) + Workload.read(load))["requests"] == 20_008
    assert "trace" in repr(Workload.trace(trace)) or str(trace) in repr(Workload.trace(trace))
    with pytest.raises(wordline.InputError, match="both workloads have a trace"):
        both + Workload.trace(trace)
    ends = [Workload.text(f"runtime_s = {s}\n{SMALL_LOAD}") for s in (1, 2)]
    with pytest.raises(wordline.InputError, match="have different time limits"):
        ends[0] + ends[1]


def test_wrong_workloads_are_refused_at_once(tmp_path: Path) -> None:
    for make, words in (
        (lambda: Workload.job(rw="randred"), "did you mean 'randread'"),
        (lambda: Workload.job(iodepht=3), "did you mean 'job.0.iodepth'"),
        (lambda: Workload.trace("x", past_end="warp"), "did you mean 'wrap'"),
        (lambda: Workload.read(tmp_path / "none.toml"), "no such file"),
        (lambda: Workload.job(rw="read").info(), "without a .trace."),
        (lambda: Workload.text("job ="), "the workload:1"),
    ):
        with pytest.raises(wordline.InputError, match=words):
            make()


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("run") / "small.toml"
    from conftest import SMALL_DRIVE

    path.write_text(SMALL_DRIVE)
    return wordline.run(path, Workload.text(SMALL_LOAD))


def test_a_run_is_the_dictionary_of_its_result(done: Run, tmp_path: Path) -> None:
    assert isinstance(done, dict)
    assert json.loads(json.dumps(done)) == done
    assert done.iops == done["iops"]
    assert done.p99_us == done["latency_us"]["all"]["p99"]
    assert (done.mean_us, done.p50_us, done.p99_9_us, done.max_us) == tuple(
        done["latency_us"]["all"][key] for key in ("mean", "p50", "p99_9", "max")
    )
    assert (done.bandwidth_mib_s, done.simulated_s, done.cpu_s) == tuple(
        done[key] for key in ("bandwidth_mib_s", "simulated_s", "cpu_s")
    )
    assert (done.write_amplification, done.energy_j, done.partial, done.digest) == tuple(
        done[key] for key in ("write_amplification", "energy_j", "partial", "digest")
    )
    assert repr(done).startswith("<Run job mixed on small: 20,000 requests in ")
    done.save(tmp_path / "run.json")
    assert Run.load(tmp_path / "run.json") == done
    done.report(tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text().startswith("<!DOCTYPE html>")


def test_tables_of_a_run(done: Run) -> None:
    series = done.intervals()
    assert series.columns == [name for name in done["series"] if name != "interval_s"]
    assert series.to_polars().to_dict(as_series=False) == {name: done["series"][name] for name in series.columns}
    assert series.to_arrow().schema.field("free_blocks").type == pyarrow.int64()
    points = done.cdf().to_pandas()
    for op in ("read", "write"):
        of_op = points[points["op"] == op]
        assert of_op["latency_us"].tolist() == [us for us, _ in done["cdf"][op]]
        assert of_op["share"].tolist() == [share for _, share in done["cdf"][op]]
    latency = done.latency().to_polars().rows_by_key("op", named=True, unique=True)
    assert latency["write"] == done["latency_us"]["write"]
    assert latency["trim"]["p50"] is None
    busy = done.utilisation().to_polars()
    assert busy.filter(part="die")["busy"].to_list() == done["utilisation"]["dies"]
    assert busy.filter(part="link_in")["busy"].item() == done["utilisation"]["link_in"]
    assert repr(series).startswith(f"Frame: {len(series)} rows, {len(series.columns)} columns\n")


def test_pandas_takes_frames_by_the_interface(done: Run) -> None:
    if not hasattr(pandas.DataFrame, "from_arrow"):
        pytest.skip("this pandas has no from_arrow")
    assert pandas.DataFrame.from_arrow(done.intervals()).equals(done.intervals().to_pandas())


def test_frames_share_their_columns(done: Run) -> None:
    """Two imports of a frame see the same memory."""
    frame = done.intervals()
    first, second = (pyarrow.table(frame).column("read_iops").chunk(0).buffers()[1].address for _ in range(2))
    assert first == second
    assert polars.DataFrame(frame)["start_s"].to_arrow().buffers()[1].address == (
        pyarrow.table(frame).column("start_s").chunk(0).buffers()[1].address
    )
    # As one array of structs, and its types, by the other two functions.
    assert pyarrow.record_batch(frame).num_rows == len(frame)
    assert pyarrow.schema(frame).names == frame.columns


def test_frames_of_wrong_columns_are_refused() -> None:
    assert len(Frame.of([])) == 0
    assert Frame.of([("a", "bool", [True, None]), ("b", "text", ["x", None])]).to_polars().rows() == [
        (True, "x"),
        (None, None),
    ]
    with pytest.raises(ValueError, match="row count"):
        Frame.of([("a", "int", [1]), ("b", "int", [1, 2])])
    with pytest.raises(ValueError, match="is no type of a column"):
        Frame.of([("a", "whole", [1])])
    with pytest.raises(TypeError):
        Frame.of([("a", "int", ["x"])])


def test_what_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="pip install polars"):
        Frame.of([]).to_polars()
    with pytest.raises(ImportError, match="pip install polars"):
        frames.needed("polars")


def test_tables_that_a_run_wrote_are_opened_lazily(done: Run, tmp_path: Path) -> None:
    import pyarrow.parquet

    with pytest.raises(KeyError, match="it wrote none"):
        done.requests()
    path = tmp_path / "requests.parquet"
    pyarrow.parquet.write_table(ARROW, path)
    wrote = Run({**done, "tables": {"files": [{"name": "requests", "path": str(path)}]}})
    dataset = wrote.requests()
    assert dataset.count_rows() == len(TRACE_ROWS)
    assert dataset.to_table(columns=["size"]).column("size").to_pylist() == COLUMNS["size"]
    with pytest.raises(KeyError, match=r"no table 'blocks' \(it wrote requests\)"):
        wrote.table("blocks")
