"""Delays of a live disk, idle and busy, and the memory of its metadata: Tables II and III, and III.B of chang11."""

from __future__ import annotations

import json
import math
import os
import platform
import shutil
import subprocess
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordline.studies import live
from wordline.studies.catalogue import parsed
from wordline.studies.context import Context
from wordline.studies.outcome import Bars, Cell, Outcome, Published, Table
from wordline.studies.packages import mean

ERROR, STRESS, METADATA = "chang11.delay-error", "chang11.delay-error-stress", "chang11.metadata-store"
STORES = {"real data": "memory", "metadata": "metadata"}
IDLE, BUSY, FIRST = "idle", "busy", "busy, client first"
"""Cores that have nothing else to do; a busy process for each; the same, but the client goes before them."""

CLAIMS = {IDLE: ERROR, BUSY: STRESS}
MB = 1e6


@dataclass(frozen=True)
class Row:
    """A benchmark on a disk: mean latencies of its requests, and what the server says of its delays."""

    benchmark: str
    store: str
    load: str
    requests: int
    modelled_us: float
    client_us: float
    server_percent: tuple[float | None, float | None]

    @property
    def error_percent(self) -> float:
        """How far the client's mean is from the drive's."""
        return 100 * (self.client_us / self.modelled_us - 1)


def run(context: Context) -> Outcome:
    """All measurements."""
    with tempfile.TemporaryDirectory() as folder:
        chapter = parsed(context.study.folder.parent / f"{context.study.chapter}.toml")
        rows, machine = measured(context, chapter, Path(folder))
        volume = formatted(chapter["large"], Path(folder))
    errors = {load: [abs(it.error_percent) for it in rows if it.load == load] for load in CLAIMS}
    known = volume["live"]["metadata"]
    names = list(dict.fromkeys(it.benchmark for it in rows))
    series = {
        f"{store}, {load}": [
            abs(next(it for it in rows if (it.benchmark, it.store, it.load) == (name, store, load)).error_percent)
            for name in names
        ]
        for store in STORES
        for load in CLAIMS
    }
    bound = context.published(ERROR)[1]
    marks = [Published(ERROR, "published: below", at, bound, bound) for at in range(len(names))]
    stress = context.published(STRESS)[1]
    marks += [Published(STRESS, "published under load: below", at, stress, stress) for at in range(len(names))]
    return Outcome(
        measured={**{claim: errors[load] for load, claim in CLAIMS.items()}, METADATA: known["known_bytes"] / MB},
        tables=[
            Table(
                "Mean latencies in the drive and at the client",
                (
                    "benchmark", "store", "cores", "requests", "drive, ms", "client, ms", "error, %",
                    "server, median, %", "server, p99, %",
                ),
                [
                    [
                        it.benchmark, it.store, it.load, it.requests, it.modelled_us / 1e3, it.client_us / 1e3,
                        it.error_percent, *it.server_percent,
                    ]
                    for it in rows
                ],
                "Server: how far single replies were off, in parts of their latencies; a dash where they are too few.",
            ),
            Table(
                "A volume of 250 GB after mkfs.ntfs",
                ("figure", "MB"),
                [
                    ["written by mkfs.ntfs", volume["live"]["written_bytes"] / MB],
                    ["known to be metadata", known["known_bytes"] / MB],
                    ["kept in memory", volume["live"]["store_bytes"] / MB],
                    ["of unknown meaning, dropped", known["evicted_bytes"] / MB],
                ],
                "Pages of one repeated byte take no memory.",
            ),
            Table("Machine", ("figure", "value"), machine, "Where these figures were measured."),
        ],
        figures=[
            Bars(
                "errors",
                "Error of the delays (Tables II and III)",
                "How far the client's mean latency is from that of the modelled drive, by benchmark, store and load.",
                "%",
                names,
                series,
                marks,
            )
        ],
        discussed={
            "client first": max((abs(it.error_percent) for it in rows if it.load == FIRST), default=math.nan),
            "server": max(median for it in rows if (median := it.server_percent[0]) is not None),
            "mean, idle": mean(errors[IDLE]),
            "mean, busy": mean(errors[BUSY]),
            **{f"{it}, {load}, ms": apart(rows, it, load) / 1e3 for it in names for load in CLAIMS},
            "kept": volume["live"]["store_bytes"] / MB,
        },
    )  # fmt: skip


def apart(rows: list[Row], benchmark: str, load: str) -> float:
    """How much later the client has its replies, in microseconds: mean of a benchmark."""
    return mean(it.client_us - it.modelled_us for it in rows if (it.benchmark, it.load) == (benchmark, load))


def measured(context: Context, chapter: dict[str, Any], folder: Path) -> tuple[list[Row], list[list[Cell]]]:
    """Every benchmark on every store, idle and busy; and what machine it was."""
    seconds = chapter["seconds"] * (10 if context.full else 1)
    drive, aged = folder / "drive.toml", folder / "aged.wls"
    drive.write_text(toml_of(chapter["drive"] | context.choice("mapping")), encoding="utf-8")
    prepared(drive, aged, chapter["aged"])
    benchmarks = [live.Benchmark(**it) for it in chapter["benchmark"]]
    loads = (*CLAIMS, *([FIRST] if live.goes_first() else []))
    points = [(it, store, load) for load in loads for store in STORES for it in benchmarks]
    rows: list[Row] = []
    scheduling = set()
    idle_load = os.getloadavg()[0]
    for nth, (benchmark, store, load) in enumerate(points):
        context.report(context.label, nth / len(points), 0, 0.0)
        options = ("--from", str(aged), "--store", STORES[store])
        others, place = 0 if load == IDLE else live.cores(), live.first if load == FIRST else nullcontext
        # The server starts before the client has its place, which it would inherit.
        with live.busy(others), live.serving(drive, *options) as served, place():
            seen = benchmark.run(served.client, seconds, context.seed)
        result = served.result
        scheduling.add(result["live"]["scheduling"])
        rows.append(row_of(benchmark.name, store, load, seen, result))
    machine: list[list[Cell]] = [
        ["processor", processor()],
        ["cores", live.cores()],
        ["load of the machine before (one minute)", idle_load],
        ["scheduling of the server", ", ".join(sorted(scheduling))],
        ["client", f"Python {platform.python_version()}, one thread"],
    ]
    return rows, machine


def row_of(benchmark: str, store: str, load: str, seen: list[float], result: dict[str, Any]) -> Row:
    """What a client saw beside what the drive did.

    :raises ValueError: if these are not the same requests.
    """
    error, told = result["live"]["delay_error_percent"], result["latency_us"]["all"]
    if told["count"] != len(seen):
        raise ValueError(f"{benchmark}: {len(seen)} requests were sent, the drive had {told['count']}")
    return Row(benchmark, store, load, len(seen), told["mean"], mean(seen), (error["p50"], error["p99"]))


def prepared(drive: Path, aged: Path, overwrites: float) -> None:
    """Ages a drive, into a snapshot."""
    from wordline import Drive

    made = Drive(drive)
    made.precondition(fill=True, overwrites=overwrites)
    made.save(aged)


def formatted(large: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The result of a disk with metadata alone to which an empty NTFS was written."""
    drive, image = folder / "large.toml", folder / "ntfs.img"
    drive.write_text(toml_of(large), encoding="utf-8")
    with live.serving(drive, "--store", "metadata", "--zero-delay") as served:
        with image.open("wb") as file:
            file.truncate(served.client.bytes)
        tool = shutil.which("mkfs.ntfs") or "mkfs.ntfs"
        subprocess.run([tool, "-q", "-Q", "-F", str(image)], check=True, capture_output=True)
        live.copied(image, served.client.write)
    return served.result


def toml_of(table: dict[str, Any]) -> str:
    """A drive file."""

    def value(it: object) -> str:
        if isinstance(it, dict):
            return "{ " + ", ".join(f"{key} = {value(inner)}" for key, inner in it.items()) + " }"
        return json.dumps(it)

    return "".join(f"{key} = {value(it)}\n" for key, it in table.items())


def processor() -> str:
    """Its name, as far as the system tells."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text(encoding="utf-8").splitlines() if about.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
