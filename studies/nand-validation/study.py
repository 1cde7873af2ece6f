"""Constant latency models against per-page timing, on packages of one and two dies."""

from __future__ import annotations

from typing import Any

from wordline.studies.context import Context
from wordline.studies.outcome import Bars, Outcome, Table
from wordline.studies.packages import MODES, Chapter, gain, stream

PACKAGES = {"SDP": 1, "DDP": 2}
MODELS = ("variation", "typical", "worst")


def ideal_mib_s(
    per_page: dict[str, Any], dies: int, mode: str, typical_us: float, page_bytes: int
) -> tuple[float, float]:
    """Write bandwidth of the typical-case model of section 2.3.4, in MiB/s.

    :param per_page: the run with per-page timing, for the bus time of a page.
    :return: with perfect overlap, and batch by batch: n t_io + t_prog for a page a plane and die, with
        t_io hidden in cache mode.
    """
    pages = dies * MODES[mode]["planes_per_command"]
    bus_us = pages * per_page["bus_busy_us"] / per_page["pages"]
    batch_us = max(bus_us, typical_us) if MODES[mode]["cache"] else bus_us + typical_us
    mib = pages * page_bytes / 2**20
    return mib / max(bus_us, typical_us) * 1e6, mib / batch_us * 1e6


def run(context: Context) -> Outcome:
    """Bandwidth of every package, mode and model; program times of both MLC devices."""
    chapter = Chapter(context.shared("jung13-chapter-2"))
    page = chapter.page_bytes("MLC1")
    requests = context.requests(2048)
    results = context.packages(
        {
            (package, op, mode, model): chapter.experiment(
                stream(op, page, requests),
                dies=dies,
                planes=MODES[mode]["planes_per_command"],
                nand={"latency_model": model},
                host=MODES[mode] | {"scheduler": "plane-first", "queue_depth": chapter.application_depth},
            )
            for package, dies in PACKAGES.items()
            for op in ("write", "read")
            for mode in MODES
            for model in MODELS
        }
    )
    bandwidth = {key: result["bandwidth_mib_s"] for key, result in results.items()}
    typical_us = chapter.nand("MLC1")["typical_program_us"]
    ideal, batches = {}, {}
    for mode in MODES:
        per_page = results["DDP", "write", mode, "variation"]
        ideal[mode], batches[mode] = ideal_mib_s(per_page, PACKAGES["DDP"], mode, typical_us, page)

    def off(package: str, model: str) -> list[float]:
        """By how much a model's write bandwidth is off, by mode, in percent."""
        return [
            gain(bandwidth[package, "write", mode, model], bandwidth[package, "write", mode, "variation"])
            for mode in MODES
        ]

    off_ddp = [gain(ideal[mode], bandwidth["DDP", "write", mode, "variation"]) for mode in MODES]
    ranges = program_ranges(context, chapter)
    return Outcome(
        measured={
            "jung13.latency-model-typical-sdp": off("SDP", "typical"),
            "jung13.latency-model-worst-sdp": off("SDP", "worst"),
            "jung13.latency-model-typical-ddp": off_ddp,
            "jung13.latency-range": [slow / fast for fast, slow in ranges.values()],
        },
        tables=[
            Table(
                "Write bandwidth, MiB/s",
                ("package", "mode", "per page", "typical", "off, %", "worst", "off, %"),
                [
                    row
                    for package in PACKAGES
                    for row in zip(
                        [package] * len(MODES),
                        MODES,
                        [bandwidth[package, "write", mode, "variation"] for mode in MODES],
                        [bandwidth["SDP", "write", m, "typical"] if package == "SDP" else ideal[m] for m in MODES],
                        off("SDP", "typical") if package == "SDP" else off_ddp,
                        [bandwidth[package, "write", mode, "worst"] for mode in MODES],
                        off(package, "worst"),
                        strict=True,
                    )
                ],
                "The typical-case model of the dual-die package (DDP) is the ideal of perfect overlap.",
            ),
            Table(
                "Other readings of the typical-case model, dual-die package",
                ("mode", "bus and dies as they are, off, %", "n t_io + t_prog batch by batch, off, %"),
                [
                    (mode, simulated, gain(batches[mode], bandwidth["DDP", "write", mode, "variation"]))
                    for mode, simulated in zip(MODES, off("DDP", "typical"), strict=True)
                ],
                "Not judged: what the claim would have been measured as, had the model been taken otherwise.",
            ),
            Table(
                "Read bandwidth, MiB/s",
                ("package", "mode", *MODELS),
                [
                    (package, mode, *(bandwidth[package, "read", mode, model] for model in MODELS))
                    for package in PACKAGES
                    for mode in MODES
                ],
                "Read times do not vary over a block, so that all models agree.",
            ),
            Table(
                "Program times within a block, µs",
                ("device", "fastest", "slowest", "slowest over fastest"),
                [(device, fast, slow, slow / fast) for device, (fast, slow) in ranges.items()],
            ),
        ],
        figures=[
            Bars(
                f"write-{package.lower()}",
                f"Write bandwidth of the latency models, {package}",
                f"Write bandwidth of the {package} in four modes: the typical-case model lies above, the worst-case "
                "model below the per-page model.",
                "MiB/s",
                list(MODES),
                {
                    "per page": [bandwidth[package, "write", mode, "variation"] for mode in MODES],
                    "typical": [
                        bandwidth["SDP", "write", mode, "typical"] if package == "SDP" else ideal[mode]
                        for mode in MODES
                    ],
                    "worst": [bandwidth[package, "write", mode, "worst"] for mode in MODES],
                },
            )
            for package in PACKAGES
        ],
    )


def program_ranges(context: Context, chapter: Chapter) -> dict[str, tuple[float, float]]:
    """The fastest and slowest program seen while a few blocks are written, by device."""
    logs = context.packages(
        {
            device: chapter.experiment(stream("write", chapter.page_bytes(device), 512), device, stage_log=True)
            for device in ("MLC1", "MLC2")
        }
    )
    times = {
        device: [entry["end_us"] - entry["start_us"] for entry in result["log"] if entry["stage"] == "TIN"]
        for device, result in logs.items()
    }
    return {device: (min(seen), max(seen)) for device, seen in times.items()}
