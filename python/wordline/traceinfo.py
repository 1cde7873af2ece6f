"""What is in a trace, on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from wordline import units
from wordline.checking import capacity
from wordline.console import facts


def show(console: Console, name: str, info: dict[str, Any]) -> None:
    """Prints the figures of a trace."""
    console.print(Text(name, style="bold"))
    facts(console, rows(info))


def rows(info: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The figures, each with its name."""
    found = info.get("detected") or {}
    packed = found.get("compression")
    packing = "" if packed in (None, "none", "plain") else f", {packed}"
    reason = f" ({found['reason']})" if found.get("reason") else ""
    yield "Format", f"{found.get('format', 'unknown')}{packing}{reason}"
    seconds = info["duration_s"]
    rate = f", {units.short(info['requests'] / seconds)} a second" if seconds > 0 else ""
    yield "Requests", f"{units.count(info['requests'])} in {units.duration(seconds)}{rate}"
    for label, number, size, mean in (
        ("  reads", "reads", "read_bytes", "mean_read_bytes"),
        ("  writes", "writes", "written_bytes", "mean_write_bytes"),
        ("  trims", "trims", "trimmed_bytes", None),
        ("  flushes", "flushes", None, None),
    ):
        if info[number]:
            text = units.count(info[number])
            text += f", {units.size(info[size])}" if size else ""
            text += f", {units.size(info[mean])} on average" if mean and info.get(mean) else ""
            yield label, text
    least, most = info["size_bytes"]
    yield "Sizes", f"{units.size(least)} to {units.size(most)}"
    yield (
        "Addresses",
        f"{units.percent(info['random_share'])} random, {units.percent(info['aligned_4k_share'])} aligned to 4 KiB",
    )
    yield (
        "Footprint",
        f"{units.size(info['distinct_4k_pages'] * 4096)} in {units.count(info['distinct_4k_pages'])} pages of 4 KiB",
    )
    yield "Extent", f"{capacity(info['extent_bytes'])}: a drive must be as large to hold it as it is"
    devices = info.get("devices") or []
    # One device alone says the same as the whole.
    for device in devices if len(devices) > 1 else []:
        number = units.some(device["requests"], "request")
        yield "Device", f"{device['name']}: {number}, up to {units.size(device['extent_bytes'])}"
    if info.get("skipped"):
        yield "Left out", f"{units.some(info['skipped'], 'request')} of zero bytes"
    if info.get("clamped"):
        yield "Moved", f"{units.some(info['clamped'], 'request')} whose time ran backwards"
    left_out = info.get("left_out") or {}
    for key, one, why in (
        ("unreadable", "line", "could not be read"),
        ("wrapped", "request", "had a time stamp that wrapped"),
        ("ignored", "line", "are other events or no requests"),
    ):
        if left_out.get(key):
            yield "Left out", f"{units.some(left_out[key], one)} that {why}"
