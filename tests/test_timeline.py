"""Perfetto's own trace processor reads the written timelines, and finds their contents."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import traceprocessor
from conftest import ROOT
from traceprocessor import TraceError, TraceProcessor

MISSING = traceprocessor.missing()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))

# Contents of crates/timeline/examples/sample.rs, in picoseconds.
REQUESTS = 60
BETWEEN = 5_000_500
READ = 12_345_678
TRANSFER = 2_000_777

# How Perfetto's viewer derives the order of tracks.
ORDER = """
include perfetto module viz.summary.track_event;
select parent.name, child.name from _track_event_tracks_ordered_groups child
left join track parent on parent.id = child.parent_id
order by child.parent_id, child.order_id
"""

SLICES = """
select parent.name, track.name, slice.name, ts, dur, depth,
    extract_arg(arg_set_id, 'debug.start_ps'), extract_arg(arg_set_id, 'debug.duration_ps')
from slice join track on track.id = track_id join track parent on parent.id = track.parent_id
where track.name != 'host' order by parent.name, track.name, ts, slice.id
"""

FLOWS = """
select source.name, target.name,
    extract_arg(source.arg_set_id, 'debug.start_ps'),
    coalesce(extract_arg(target.arg_set_id, 'debug.start_ps'), extract_arg(target.arg_set_id, 'debug.time_ps'))
from flow join slice source on source.id = slice_out join slice target on target.id = slice_in
order by 3
"""


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up timeline."""
    path = tmp_path_factory.mktemp("timeline") / "sample.pftrace"
    # As the tests of the engine build it, and so without compiling again after them.
    cargo = [os.environ.get("CARGO", "cargo"), "build", "--quiet", "--release", "--config", "crates/checked.toml"]
    command = [*cargo, "--workspace", "--example", "sample", "--message-format", "json"]
    built = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    made = [one["executable"] for one in map(json.loads, built.splitlines()) if one.get("executable")]
    (program,) = (one for one in made if Path(one).stem == "sample")
    subprocess.run([program, path], check=True)
    return path


@pytest.fixture(scope="module")
def loaded(sample: Path) -> TraceProcessor:
    """The same, in the processor."""
    return TraceProcessor(sample)


def moments(request: int) -> tuple[int, int, int]:
    """Times of a request's arrival, read and completion."""
    arrival = request * BETWEEN
    return arrival, arrival + READ, arrival + READ + TRANSFER


def test_nothing_is_lost_or_misread(sample: Path, loaded: TraceProcessor) -> None:
    assert loaded.losses() == []
    assert traceprocessor.query(sample, "select count(*) from slice where dur < 0") == [(0,)]


def test_tracks_are_a_tree_in_their_order(loaded: TraceProcessor) -> None:
    assert loaded.query(ORDER) == [
        (None, "drive"),
        *[("drive", name) for name in ("host", "requests under way", "channel 0", "channel 1")],
        *[("channel 0", name) for name in ("bus", "array 0", "array 1")],
        *[("channel 1", name) for name in ("bus", "array 0", "array 1")],
    ]


def test_slices_have_their_times_and_do_not_nest(loaded: TraceProcessor) -> None:
    expected = []
    for request in range(REQUESTS):
        arrival, ready, done = moments(request)
        channel, array = f"channel {request % 2}", f"array {request // 2 % 2}"
        expected += [
            (channel, array, "read", arrival, ready),
            (channel, array, "send", ready, done),
            (channel, "bus", "transfer", ready, done),
        ]
    rows = [
        (*where, start // 1000, end // 1000 - start // 1000, 0, start, end - start)
        for *where, start, end in sorted(expected, key=lambda row: (row[0], row[1], row[3]))
    ]
    assert loaded.query(SLICES) == rows


def test_arguments_keep_their_types(loaded: TraceProcessor) -> None:
    rows = loaded.query(
        "select extract_arg(arg_set_id, 'debug.page'), extract_arg(arg_set_id, 'debug.kind') "
        "from slice where name = 'read' order by ts"
    )
    assert rows == [(request, ["LSB", "MSB"][request // 4 % 2]) for request in range(REQUESTS)]


def test_flows_lead_from_the_array_over_the_bus_to_the_host(loaded: TraceProcessor) -> None:
    expected = []
    for request in range(REQUESTS):
        arrival, ready, done = moments(request)
        expected += [("read", "transfer", arrival, ready), ("transfer", "complete", ready, done)]
    assert loaded.query(FLOWS) == sorted(expected, key=lambda row: row[2])


def test_counters_follow_their_values(loaded: TraceProcessor) -> None:
    assert loaded.query("select name, unit from counter_track") == [("requests under way", "requests")]
    changes = [(moments(request)[0], 1) for request in range(REQUESTS)]
    changes += [(moments(request)[2], -1) for request in range(REQUESTS)]
    changes.sort()
    expected = [(at // 1000, sum(change for _, change in changes[: n + 1])) for n, (at, _) in enumerate(changes)]
    assert loaded.query("select ts, value from counter order by ts") == expected


def test_the_processor_finds_fault_with_what_is_broken(sample: Path, loaded: TraceProcessor, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="syntax error"):
        loaded.query("selec 1")
    broken = tmp_path / "broken.pftrace"
    broken.write_bytes(b"no trace at all\n" * 100)
    with pytest.raises(TraceError, match="trace type"):
        TraceProcessor(broken)
    # Without its first packet, which starts the table of names: tag, length, and as many bytes.
    whole = sample.read_bytes()
    broken.write_bytes(whole[2 + whole[1] :])
    assert "tokenizer_skipped_packets" in dict(TraceProcessor(broken).losses())
