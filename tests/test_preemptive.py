"""Preemptive garbage collection: on hold while the host needs the die."""

from __future__ import annotations

from typing import Any

import pytest
import wordline


@pytest.mark.parametrize("seed", [1, 2])
def test_reads_wait_less_for_a_collection_that_makes_way(seed: int) -> None:
    load = wordline.Workload.job(
        rw="randrw", rwmixread=70, bs="16k", rate_iops=9000, rate_process="poisson", iodepth=256, number_ios=50_000
    )
    drive = wordline.Drive("demo", {"collect.scope": "plane", "arbiter.policy": "first-come"}, seed=seed)
    drive.precondition(progress=False)

    def run(collect: dict[str, Any], arbiter: str = "first-come") -> Any:  # noqa: ANN401
        whole = {"scope": "plane", "start_blocks": 4, **collect}
        return drive.fork({"collect": whole, "arbiter": {"policy": arbiter}}).run(load, progress=False)

    usual = run({"policy": "on-demand"})
    single = run({"policy": "on-demand", "window_pages": 1})
    preemptive = run({"policy": "preemptive", "hard_blocks": 2})
    held_apart = run({"policy": "preemptive", "hard_blocks": 2}, "reads-first")
    means = [it["latency_us"]["read"]["mean"] for it in (usual, single, preemptive, held_apart)]
    assert means[0] > 3 * means[1]
    assert means[1] > 1.1 * means[2] > 1.1 * means[3]
    assert usual["gc"]["holds"] == single["gc"]["holds"] == 0
    assert preemptive["gc"]["holds"] > 10_000
    assert preemptive["gc"]["collections"] > 0.9 * single["gc"]["collections"]
