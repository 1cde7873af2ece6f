"""A made-up result with the shape of a real one, for tests of views without running a drive."""

from __future__ import annotations

import math
import random
from typing import Any

from wordline.report import page


def latencies(rng: random.Random, n: int, middle_us: float, spread: float, tail_us: float) -> list[float]:
    """``n`` latencies: log-normal, and one in two hundred waits for GC."""
    waits = (tail_us * rng.random() if rng.random() < 0.005 else 0.0 for _ in range(n))
    return sorted(middle_us * math.exp(rng.gauss(0, spread)) + wait for wait in waits)


def statistics(sample: list[float]) -> dict[str, Any]:
    """The latency statistics of a sorted sample."""
    n = len(sample)

    def quantile(q: float) -> float | None:
        return round(sample[min(n - 1, math.ceil(q * n) - 1)], 3) if n * (1 - q) >= 10 - 1e-6 else None

    qs = {
        "p50": 0.5,
        "p90": 0.9,
        "p99": 0.99,
        "p99_9": 0.999,
        "p99_99": 0.9999,
        "p99_999": 0.99999,
        "p99_9999": 0.999999,
    }
    return {
        "count": n,
        "mean": round(sum(sample) / n, 3) if n else None,
        "min": sample[0] if n else None,
        **{name: quantile(q) if n else None for name, q in qs.items()},
        "max": sample[-1] if n else None,
    }


def distribution(sample: list[float]) -> list[list[float]]:
    """Points of the distribution, closer together towards the tail."""
    n = len(sample)
    shares = [k / 50 for k in range(1, 50)] + [1 - 10 ** -(2 + k / 10) for k in range(int(10 * math.log10(n)) - 20)]
    return [[round(sample[min(n - 1, int(share * n))], 3), share] for share in shares] + [[sample[-1], 1.0]]


DRAWN = {"series": None, "activity": None, "time_of": None, "latency_over_time": None, "map": None, "cdf": {}}
"""The parts of a result that most figures are of, left out."""


def undrawn(result: dict[str, Any]) -> dict[str, Any]:
    """A result without what takes seconds to draw, for tests of what else its page says."""
    return result | DRAWN


def figureless(result: dict[str, Any]) -> dict[str, Any]:
    """A result of which no figure is drawn, for tests of where its page goes."""
    wear = {key: value for key, value in result["wear"].items() if key != "histogram"}
    busy = {**result["utilisation"], "channels": [], "dies": []}
    return undrawn(result) | {"utilisation": busy, "wear": wear}


def page_of(result: dict[str, Any], *kept: str) -> str:
    """The page of a result without what takes seconds to draw, but for the parts named by ``kept``."""
    return page.html(undrawn(result) | {key: result[key] for key in kept})


def result(partial: bool = False, seed: int = 1, channels: int = 8, dies: int = 64) -> dict[str, Any]:
    """One result."""
    rng = random.Random(seed)
    read, write = latencies(rng, 90_000, 95, 0.35, 9_000), latencies(rng, 71_000, 24, 0.5, 40_000)
    trim, flush = latencies(rng, 43, 12, 0.2, 0), latencies(rng, 16_000, 700, 0.4, 20_000)
    steps = 167
    base = [60 + 40 * math.sin(t / 14) + 15 * rng.random() for t in range(steps)]
    free = [max(24.0, 900 - 9 * t + 12 * rng.random()) for t in range(steps)]
    return {
        "schema": 1,
        "version": "0.38.0",
        "seed": seed,
        "digest": "b3:6f1c9d0e5a7743f2a1c05e8b9d3f4711",
        "partial": partial,
        "config": {
            "name": "demo",
            "geometry": {"channels": channels, "packages_per_channel": 2, "dies_per_package": 4, "page_kib": 16},
            "nand": {"interface": "nv-ddr3", "rate_mt_s": 800, "read_us": [50.0, 60.0, 78.0], "erase_us": 3000.0},
            "capacity": {"raw_over_logical": 1.15},
            "victim": {"policy": "greedy"},
            "placement": {"policy": "fixed", "order": "CWDP"},
            "collect": {"policy": "on-demand", "scope": "plane", "start_blocks": None},
            "link": {"policy": "nvme", "pcie_generation": 3, "pcie_lanes": 4},
            "buffer": {"policy": "fifo", "capacity_kib": 16384},
        },
        "changes": [
            {"key": "capacity.raw_over_logical", "value": 1.15, "origin": "--set capacity.raw_over_logical=1.15"},
            {"key": "link.pcie_lanes", "value": 4, "origin": "demo.toml:14:1"},
        ],
        "workload": {"trace": {"file": "traces/pgbench-ext4.csv.zst", "format": "csv", "compression": "zstd"}},
        "drive": {
            "name": "demo",
            "channels": channels,
            "packages": channels * 2,
            "dies": dies,
            "planes": dies * 2,
            "blocks": dies * 2 * 128,
            "page_bytes": 16384,
            "unit_bytes": 4096,
            "raw_bytes": dies * 2 * 128 * 256 * 16384,
            "logical_bytes": int(dies * 2 * 128 * 256 * 16384 / 1.15) // 4096 * 4096,
            "spare_bytes": dies * 2 * 128 * 256 * 16384 - int(dies * 2 * 128 * 256 * 16384 / 1.15) // 4096 * 4096,
            "raw_over_logical": 1.15,
            "spare_blocks_per_domain": 16,
            "reserve_blocks": 2,
            "start_blocks": 3,
            "stop_blocks": 3,
            "collection_domains": dies * 2,
            "queue_slots": 1024,
            "buffer_bytes": 16777216,
            "peak_mib_s": {
                "link_in": 3355.0,
                "link_out": 3355.0,
                "channels_read": 5900.0,
                "channels_write": 5900.0,
                "dies_read": 31000.0,
                "dies_program": 3900.0,
            },
            "log_blocks_per_domain": 0,
            "table_bytes": 130_000_000,
            "state_bytes": 700_000_000,
            "state_bytes_per_unit": 9.4,
        },
        "simulated_s": 334.09,
        "cpu_s": 0.21,
        "requests": 177_043,
        "iops": 529.9,
        "bandwidth_mib_s": 15.2,
        "by_op": {
            "read": {"requests": 90_000, "bytes": 3_475_000_000},
            "write": {"requests": 71_000, "bytes": 1_864_000_000},
            "trim": {"requests": 43, "bytes": 1_026_000_000},
            "flush": {"requests": 16_000, "bytes": 0},
        },
        "latency_us": {
            "all": statistics(sorted(read + write + trim + flush)),
            "read": statistics(read),
            "write": statistics(write),
            "trim": statistics(trim),
            "flush": statistics(flush),
        },
        "waiting_us": {"mean": 0.7, "max": 812.5},
        "write_amplification": 1.083,
        "flash": {
            "reads": 312_045,
            "programs": 128_330,
            "erases": 411,
            "commands": 402_118,
            "multi_plane_pages": 38_000,
            "merge_reads": 120,
            "padded_units": 4_100,
            "absorbed_units": 310,
        },
        "gc": {"collections": 412, "moved_pages": 9_870},
        "gc_affected_requests": 1_204,
        "wear": {"mean": 0.0251, "max": 3, "stddev": 0.16},
        "energy_j": None,
        "free_blocks": 3_877,
        "utilisation": {
            "channels": [0.03 + 0.012 * rng.random() for _ in range(channels)],
            "dies": [0.09 + 0.06 * rng.random() for _ in range(dies)],
            "link_in": 0.0016,
            "link_out": 0.003,
        },
        "series": {
            "interval_s": 2.0,
            "start_s": [2.0 * t for t in range(steps)],
            "read_iops": [4 * x for x in base],
            "write_iops": [200 + 50 * rng.random() for _ in base],
            "read_mib_s": [x / 8 for x in base],
            "write_mib_s": [5 + 2 * rng.random() for _ in base],
            "latency_mean_us": [60 + 40 * rng.random() for _ in base],
            "latency_p99_us": [400 + 500 * rng.random() ** 3 for _ in base],
            "latency_max_us": [900 + 30_000 * rng.random() ** 8 for _ in base],
            "free_blocks": free,
            "write_amplification": [None if t < 5 else 1 + 0.2 * t / steps + 0.02 * rng.random() for t in range(steps)],
        },
        "cdf": {"read": distribution(read), "write": distribution(write)},
        "precondition": {
            "timed": False,
            "filled_units": 1_000_000,
            "random_units": 2_000_000,
            "rounds": [2.1, 2.0, 2.0, 2.0, 2.0],
            "steady": True,
            "write_amplification": 2.0,
            "interrupted": False,
        },
        "snapshot": None,
    }


def stage(steps: int) -> dict[str, Any]:
    """How two tasks stand at a commit stage over so many intervals."""
    share = [5 + 20 * (n % 8) / 7 for n in range(steps)]
    return {
        "shares": {"host": [100 - part for part in share], "gc": share},
        "limits": {"host": [60] * steps, "gc": [4] * steps},
        "outstanding": {"host": [n % 30 for n in range(steps)], "gc": [n % 4 for n in range(steps)]},
        "waiting": {"host": [n % 3 for n in range(steps)], "gc": [n % 50 for n in range(steps)]},
        "free_blocks": [100 + n % 20 for n in range(steps)],
        "most_reads": [10 * n for n in range(steps)],
    }
