"""GC in the slack of host operations: reads end by their deadline, and GC gets on."""

from __future__ import annotations

from typing import Any

import pytest
import wordline
from conftest import Run, refused

MS = 1000.0


def reads(drive: wordline.Drive, arbiter: dict[str, Any]) -> tuple[dict[str, float], int]:
    """Latency of reads in µs, and blocks that GC collected."""
    load = wordline.Workload.job(
        rw="randrw", rwmixread=70, bs="16k", rate_iops=9000, rate_process="poisson", iodepth=256, number_ios=50_000
    )
    run = drive.fork({"arbiter": arbiter}).run(load, progress=False)
    return run["latency_us"]["read"], run["gc"]["collections"]


@pytest.mark.parametrize("seed", [1, 2])
def test_nearly_all_reads_end_by_their_deadline(seed: int) -> None:
    drive = wordline.Drive("demo", seed=seed)
    drive.precondition(progress=False)
    first_come, collected = reads(drive, {"policy": "first-come"})
    # An erase takes 3 ms, so less slack than that leaves it to idle dies.
    for deadline in (1.0, 2.0, 4.0):
        in_slack, in_slack_collected = reads(drive, {"policy": "slack", "read_deadline_us": deadline * MS})
        # The deadline counts from when a read waits for its die, without the bus; what runs already is not stopped.
        assert in_slack["p99_9"] < max(deadline, 3.0) * MS + 300, deadline
        assert in_slack_collected > 0.9 * collected
    assert first_come["p99_9"] > 4 * MS


def test_impossible_deadlines_are_refused(wordline: Run) -> None:
    key = "arbiter.write_deadline_us"
    slack = ("--set", "arbiter.policy=slack", "--set", f"{key}=0.5")
    refused(wordline("check", "demo", *slack), f"{key} = 0.5", "between 1 and 10,000,000")
