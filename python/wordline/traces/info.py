"""Description of a trace on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.base.console import facts, grid
from wordline.results import story
from wordline.results.checking import capacity

if TYPE_CHECKING:
    from rich.console import Console

Info = dict[str, Any]
Rows = Iterator[tuple[str, str]]

PAGE = 4096


def show(console: Console, name: str, info: Info) -> None:
    """Prints the figures of a trace."""
    from rich.text import Text

    console.print(Text(name, style="bold"))
    for title, part in (
        (None, overview),
        ("Sizes", sizes),
        ("Addresses", places),
        ("Order", order),
        ("Arrivals", arrivals),
        ("Rewrites", rewrites),
        (None, remarks),
    ):
        rows = list(part(info))
        if rows and title:
            console.print(Text(title, style="bold"))
        facts(console, rows, width=14)
    show_devices(console, info.get("devices") or [])


def overview(info: Info) -> Rows:
    """Format, counts and mix."""
    found = info.get("detected") or {}
    packed = found.get("compression")
    packing = "" if packed in (None, "none", "plain") else f", {packed}"
    reason = f" ({found['reason']})" if found.get("reason") else ""
    yield "Format", f"{found.get('format', 'unknown')}{packing}{reason}"
    if found.get("stand_in"):
        yield "Stand-in", "made from statistics; not a recorded trace"
        yield from (("", line) for line in found["stand_in"].splitlines()[1:])
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
            text = f"{units.count(info[number])} ({units.percent(info[number] / info['requests'])})"
            text += f", {units.size(info[size])}" if size else ""
            text += f", {units.size(info[mean])} on average" if mean and info.get(mean) else ""
            yield label, text


def sizes(info: Info) -> Rows:
    """Distribution of sizes, and alignment."""
    for label, key in (("  reads", "read_sizes"), ("  writes", "write_sizes")):
        found = info[key]
        if found is None:
            continue
        steps = [found[f"{step}_bytes"] for step in ("min", "p10", "p50", "p90", "p99", "max")]
        yield label, f"{' · '.join(map(units.size, steps))}  (least, p10, p50, p90, p99, most)"
        often = (f"{units.size(size['bytes'])} {units.percent(size['share'])}" for size in found["most_frequent"])
        yield "    most often", ", ".join(often)
    aligned = [grain for grain in info["alignment"] if grain["bytes"] in (512, 4096, 16_384, 65_536)]
    if aligned:
        text = ", ".join(f"{units.size(grain['bytes'])} {units.percent(grain['whole_share'])}" for grain in aligned)
        yield "  aligned to", f"{text}  (start and end)"


def places(info: Info) -> Rows:
    """Footprint and extent."""
    found = info["footprint"]
    error = found["standard_error"]
    sampled = f", ±{100 * error:.2g} % (sampled)" if error else ""
    yield "  footprint", f"{units.size(found['pages'] * PAGE)} in {units.count(found['pages'])} pages of 4 KiB{sampled}"
    parts = (("read", "read_pages"), ("written", "written_pages"), ("both", "both_pages"))
    yield "", ", ".join(f"{units.size(found[key] * PAGE)} {word}" for word, key in parts)
    yield "  extent", f"{capacity(info['extent_bytes'])}: the smallest drive for an unchanged replay"


def order(info: Info) -> Rows:
    """Sequentiality and seek distance."""
    found = info["sequence"]
    if found:
        share = units.percent(info["random_share"])
        yield "  random", f"{share} do not begin where the previous one ended"
        bytes_share = units.percent(found["window_bytes_share"])
        text = (
            f"{units.percent(found['window_share'])} ({bytes_share} of bytes) follow one of the last {found['window']}"
        )
        yield "  sequential", text
        if found["window_write_share"] is not None:
            by_bytes = units.percent(found["window_write_bytes_share"])
            yield "    of writes", f"{units.percent(found['window_write_share'])} ({by_bytes} of bytes)"
    seek = info["seek"]
    if seek:
        text = f"{units.size(seek['mean_bytes'])} on average, p50 {units.size(seek['p50_bytes'])}"
        yield "  seek", f"{text}, deviation {units.size(seek['deviation_bytes'])}"


def arrivals(info: Info) -> Rows:
    """Gaps and bursts."""
    found = info["arrivals"]
    if not found:
        return
    text = f"{units.latency(found['mean_us'])} on average, p50 {units.latency(found['p50_us'])}"
    if found["p99_us"] is not None:
        text += f", p99 {units.latency(found['p99_us'])}"
    yield "  gap", f"{text}, longest {units.latency(found['max_us'])}"
    if found["together_share"]:
        yield "  together", f"{units.percent(found['together_share'])} arrive with the previous one"
    if found["variation"] is not None:
        yield "  variation", f"{units.three(found['variation'])}  (deviation / mean of gaps; Poisson arrivals have 1)"
    indices = [scale for scale in found["dispersion"] if scale["index"] is not None]
    if indices:
        text = ", ".join(
            f"{units.three(scale['index'])} in {units.latency(scale['window_s'] * 1e6)}" for scale in indices
        )
        yield "  dispersion", f"{text}  (variance / mean of counts; Poisson arrivals have 1)"
    second = next((scale for scale in found["dispersion"] if scale["window_s"] == 1 and scale["most"]), None)
    if second:
        yield "  peak", f"{units.some(second['most'], 'request')} in one second"


def rewrites(info: Info) -> Rows:
    """Rewrites, life span and life cycle."""
    found, life = info["rewrites"], info["life"]
    if not found:
        return
    error = f" ±{100 * found['standard_error']:.2g} points" if found["standard_error"] else ""
    yield "  rewritten", f"{units.percent(found['share'])}{error} of the written bytes, {units.size(found['bytes'])}"
    if not life:
        return
    times = f"written {units.three(life['writes_per_page'])} times on average"
    yield "  pages", f"{units.percent(life['rewritten_share'])} of the written pages of 4 KiB are rewritten; {times}"
    for label, key in (("  life span", "span"), ("  life cycle", "cycle")):
        spread = life[key]
        if spread:
            text = f"{units.short(round(spread['mean'], 1))} writes on average, p50 {units.short(spread['p50'])}"
            yield label, f"{text}, most {units.short(spread['max'])}"


def remarks(info: Info) -> Rows:
    """Requests changed or skipped by the reader."""
    told = info.get("left_out") or {}
    yield from story.left_out(told)
    if told.get("ignored"):
        yield "Left out", f"{units.some(told['ignored'], 'line')} with other events or no requests"


def show_devices(console: Console, devices: list[Info], most: int = 20) -> None:
    """Prints the devices with requests, if there are several."""
    from rich.text import Text

    devices = [device for device in devices if device["requests"]]
    if len(devices) < 2:
        return
    console.print(Text("Devices", style="bold"))
    table = grid(12)
    head = ("  name", "requests", "writes", "read", "written", "random", "up to")
    table.add_row(*(Text(word, style="cyan") for word in head))
    for device in devices[:most]:
        table.add_row(
            f"  {device['name']}",
            units.count(device["requests"]),
            units.percent(device["writes"] / device["requests"]),
            units.size(device["read_bytes"]),
            units.size(device["written_bytes"]),
            units.percent(device["random_share"]),
            units.size(device["extent_bytes"]),
        )
    console.print(table)
    if len(devices) > most:
        console.print(f"  and {len(devices) - most} more; --json has them all")
