"""Constant latency models against per-page timing, on packages of one and two dies."""

from __future__ import annotations

from typing import Any

from wordline.studies.context import Context
from wordline.studies.outcome import Bars, Outcome, Published, Table
from wordline.studies.packages import MODES, Chapter, above, gain, stream

PACKAGES = {"SDP": 1, "DDP": 2}
MODELS = ("variation", "typical", "worst")
CLAIMS = {
    "SDP": {"typical": "jung13.latency-model-typical-sdp", "worst": "jung13.latency-model-worst-sdp"},
    "DDP": {"typical": "jung13.latency-model-typical-ddp"},
}
"""Published claims on the models' write bandwidth, by package."""

READINGS = {
    "as it is": "bus and dies as in the per-page model",
    "overlap": "cells overlap with all other stages",
    "batches": "n t_io + t_prog, batch by batch",
}
"""Readings of the typical-case model, in words."""


def run(context: Context) -> Outcome:
    """Bandwidth of every package, mode and model; program times of both MLC devices."""
    chapter = context.chapter()
    page = chapter.page_bytes("MLC1")
    requests = context.requests(2048)
    judged, plane_count = context.choice("typical-model"), context.choice("planes")

    def experiment(package: str, op: str, mode: str, model: str, reading: str = "as it is") -> dict[str, Any]:
        """A run of one latency model; ``reading`` sets the overlap of bus and array."""
        dies, commanded = PACKAGES[package], MODES[mode]["planes_per_command"]
        batch = dies * commanded if reading == "batches" else 1
        return chapter.experiment(
            stream(op, batch * page, requests // batch),
            dies=dies,
            planes=commanded if plane_count == "commanded" else plane_count,
            nand={"latency_model": model},
            host=MODES[mode]
            | {"scheduler": "plane-first", "queue_depth": 1 if reading == "batches" else chapter.application_depth}
            | ({"cache": True} if reading == "overlap" else {}),
        )

    results = context.packages(
        {
            (package, op, mode, model): experiment(package, op, mode, model)
            for package in PACKAGES
            for op in ("write", "read")
            for mode in MODES
            for model in MODELS
        }
    )
    bandwidth = {key: result["bandwidth_mib_s"] for key, result in results.items()}
    read_as = {
        key: result["bandwidth_mib_s"]
        for key, result in context.packages(
            {
                (package, mode, reading): experiment(package, "write", mode, "typical", reading)
                for package in PACKAGES
                for mode in MODES
                for reading in READINGS
            }
        ).items()
    }

    def of(package: str, model: str) -> list[float]:
        """The write bandwidth of a model, by mode."""
        if model == "typical":
            return [read_as[package, mode, judged] for mode in MODES]
        return [bandwidth[package, "write", mode, model] for mode in MODES]

    def off(package: str, model: str) -> list[float]:
        """Error of a model's write bandwidth, by mode, in percent."""
        return [gain(it, right) for it, right in zip(of(package, model), of(package, "variation"), strict=True)]

    def off_as(package: str, reading: str) -> list[float]:
        """Error of the typical-case model in this reading, by mode, in percent."""
        return [gain(read_as[package, mode, reading], bandwidth[package, "write", mode, "variation"]) for mode in MODES]

    def published(package: str) -> list[Published]:
        """The published ranges of the constant models, applied to the measured per-page model."""
        return [
            Published(claim, f"published range, {model} case", n, above(right, low), above(right, high), model)
            for model, claim in CLAIMS[package].items()
            for low, high in [context.published(claim)]
            for n, right in enumerate(of(package, "variation"))
        ]

    per_page = results["SDP", "write", "legacy", "variation"]
    mean_us = per_page["stages_us"]["tin"] / per_page["pages"]
    typical_us = chapter.nand("MLC1")["typical_program_us"]
    worst_us = max(chapter.nand("MLC1")["program_us"])
    ranges = program_ranges(context, chapter)
    return Outcome(
        measured={
            "jung13.latency-model-typical-sdp": off("SDP", "typical"),
            "jung13.latency-model-worst-sdp": off("SDP", "worst"),
            "jung13.latency-model-typical-ddp": off("DDP", "typical"),
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
                        of(package, "variation"),
                        of(package, "typical"),
                        off(package, "typical"),
                        of(package, "worst"),
                        off(package, "worst"),
                        strict=True,
                    )
                ],
            ),
            Table(
                "Readings of the typical-case model, writes",
                ("package", "mode", *(f"{words}, off, %" for words in READINGS.values())),
                [
                    (package, mode, *(off_as(package, reading)[n] for reading in READINGS))
                    for package in PACKAGES
                    for n, mode in enumerate(MODES)
                ],
                f"The column '{READINGS[judged]}' is judged.",
            ),
            Table(
                "Read bandwidth, MiB/s",
                ("package", "mode", *MODELS),
                [
                    (package, mode, *(bandwidth[package, "read", mode, model] for model in MODELS))
                    for package in PACKAGES
                    for mode in MODES
                ],
                "Read times do not vary within a block, so all models agree.",
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
                f"Write bandwidth of the {package} in four modes: the typical-case model is above, the worst-case "
                "model below the per-page model.",
                "MiB/s",
                list(MODES),
                {
                    name: of(package, model)
                    for name, model in zip(("per page", "typical", "worst"), MODELS, strict=True)
                },
                published(package),
            )
            for package in PACKAGES
        ],
        discussed={
            "mean program": mean_us,
            "typical program": typical_us,
            "worst program": worst_us,
            "mean over typical": gain(mean_us, typical_us),
            "mean under worst": -gain(mean_us, worst_us),
        }
        | {
            f"{reading}, {package}, {which}": pick(off_as(package, reading))
            for reading in READINGS
            for package in PACKAGES
            for which, pick in (("least", min), ("most", max))
        },
    )


def program_ranges(context: Context, chapter: Chapter) -> dict[str, tuple[float, float]]:
    """The fastest and slowest program during writes of a few blocks, by device."""
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
