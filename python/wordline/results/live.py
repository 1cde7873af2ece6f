"""How a live disk was served, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wordline.base import units


def listed(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Rows of the summary; none for a run of a workload."""
    live = result.get("live")
    if not live:
        return
    name = f"export '{live['export']}', " if live["export"] else ""
    served = f"{name}{units.some(live['connections'], 'connection')} in {units.duration(live['wall_s'])}"
    yield "Served", f"{served}; the store took {units.size(live['store_bytes'])}, {live['store']}"
    sorted_out = live.get("metadata")
    if sorted_out:
        yield "Metadata", metadata(sorted_out)
    state = live.get("state")
    if state and state["saved_bytes"] is not None:
        yield "State", f"of the drive: {units.size(state['saved_bytes'])} in {state['path']}"
    if live["errors"]:
        yield "Errors", f"{units.some(live['errors'], 'command')} failed"
    yield "Delays", delays(live)
    swaps = live.get("swaps") or []
    for swap in swaps:
        yield "Swap", swapped(swap)
    if swaps:
        yield "", "figures of requests and flash begin with the last swap"


def swapped(swap: dict[str, Any]) -> str:
    """What a swap changed, and how the drive did before."""
    keys = ", ".join(f"{change['key']} = {setting(change['to'])}" for change in swap["changed"])
    before = swap["before"]
    rate = units.NOTHING if before["iops"] is None else units.short(before["iops"])
    did = f"before, {units.duration(before['simulated_s'])} with {rate} requests/s"
    if before["write_amplification"] is not None:
        did += f", write amplification {before['write_amplification']:.2f}"
    return f"{keys} from {units.duration(swap['at_s'])} on; {did}"


def setting(value: object) -> str:
    """A value of a key, as in a file."""
    if isinstance(value, list):
        return ", ".join(map(setting, value))
    return "its default" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def metadata(of: dict[str, Any]) -> str:
    """What a store of metadata kept, and what it did not."""
    kept, waiting, dropped, evicted = (
        units.size(of[f"{key}_bytes"]) for key in ("kept", "waiting", "dropped", "evicted")
    )
    text = f"{kept} kept, {waiting} of unknown meaning held, {dropped} of file data dropped"
    if of["evicted_bytes"]:
        text += f"; {evicted} of unknown meaning dropped for want of room, see late_bytes"
    return text


def delays(live: dict[str, Any]) -> str:
    """How well the delays of the drive were kept."""
    if live["pace"] is None:
        return "none: the drive's time jumped from event to event"
    late = live["reply_late_us"]
    if late["p50"] is None:
        return "too few replies to tell how well they were kept"
    text = f"replies were {units.latency(late['p50'])} late in the median"
    if late["p99"] is not None:
        text += f", {units.latency(late['p99'])} at p99"
    error = live["delay_error_percent"]
    if error["p50"] is not None:
        more = "" if error["p99"] is None else f", {error['p99']:.3g} % at p99"
        text += f"; from 100 µs on, the latency was off by {error['p50']:.3g} % in the median{more}"
    return text
