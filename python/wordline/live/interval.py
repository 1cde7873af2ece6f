"""What a drive did between two views of it.

The engine tells sums from when measuring began. Whoever watches wants rates: differences of two views.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

MIB = 2.0**20

SHORTEST_S = 1e-9
"""No rate is told for less simulated time."""

WINDOW_S = 1.0
"""Seconds of the watcher's time for rates on a screen. From one view to the next they jump: at a slow pace there are
only a few requests between two."""

SUMS = ("simulated_s", "latency", "flash", "gc", "dies", "channels", "live")
"""Parts of a view from which rates are made."""


class Follower:
    """Takes the views of one drive in turn; adds to each, as ``over``, what happened in the time before it."""

    def __init__(self, window_s: float = 0.0) -> None:
        """Starts without views.

        :param window_s: how far back that time goes, at least to the view before.
        """
        self.window_s = window_s
        self.before: dict[str, Any] | None = None
        self._past: deque[tuple[float, dict[str, Any]]] = deque()
        """Sums of earlier views by when they came: the last one from before the window, and those in it."""

    def add(self, view: dict[str, Any], now: float | None = None) -> dict[str, Any]:
        """The view with ``over``, which is None for the first one, after a swap, and while time stands still.

        :param now: seconds of the watcher's clock, if it is not the machine's.
        """
        now = time.monotonic() if now is None else now
        if self.before is not None and is_anew(self.before, view):
            self._past.clear()
        # Not every view has the blocks; what was known of them still holds.
        keep_blocks(view, self.before or {})
        while len(self._past) > 1 and self._past[1][0] <= now - self.window_s:
            self._past.popleft()
        view["over"] = between(self._past[0][1], view) if self._past else None
        self._past.append((now, {key: view[key] for key in SUMS if key in view}))
        self.before = view
        return view


def keep_blocks(view: dict[str, Any], before: dict[str, Any]) -> None:
    """Adds what an earlier view told of the blocks, if this one tells nothing of them."""
    for key in ("map", "wear"):
        if view[key] is None:
            view[key] = before.get(key)


def between(before: dict[str, Any], view: dict[str, Any]) -> dict[str, Any] | None:
    """Rates and shares from one view to a later one; None if no time passed."""
    length = view["simulated_s"] - before["simulated_s"]
    if length < SHORTEST_S:
        return None

    def grown(*path: str) -> float:
        return figure(view, path) - figure(before, path)

    ops = {op: grown("latency", op, "requests") for op in view["latency"]}
    pages = grown("flash", "host_pages")
    return {
        "simulated_s": length,
        "iops": sum(ops.values()) / length,
        "iops_by_op": {op: n / length for op, n in ops.items()},
        "read_mib_s": grown("latency", "read", "bytes") / MIB / length,
        "write_mib_s": grown("latency", "write", "bytes") / MIB / length,
        "write_amplification": grown("flash", "programs") / pages if pages > 0 else None,
        "moved_pages_s": grown("gc", "moved_pages") / length,
        "erases_s": grown("flash", "erases") / length,
        "dies": {
            holder: shares(before["dies"]["held_s"].get(holder), held, length)
            for holder, held in view["dies"]["held_s"].items()
        },
        "channels": shares(before["channels"]["used_s"], view["channels"]["used_s"], length),
    }


def figure(view: dict[str, Any], path: tuple[str, ...]) -> float:
    """A figure of a view; 0 for one that it has not, such as of an operation that nobody asked for yet."""
    value: Any = view
    for key in path:
        value = value.get(key, {})
    return value or 0.0


def is_anew(before: dict[str, Any], view: dict[str, Any]) -> bool:
    """True if measuring began anew after the earlier view."""
    return view["simulated_s"] < before["simulated_s"] or swaps(before) != swaps(view)


def swaps(view: dict[str, Any]) -> int:
    """How often the drive was swapped so far: measuring begins anew each time."""
    return len(view.get("live", {}).get("swaps", []))


def shares(before: list[float] | None, now: list[float], length: float) -> list[float]:
    """By how much sums grew, as shares of the time, each at most 1."""
    start = before or [0.0] * len(now)
    return [round(min(1.0, max(0.0, last - first) / length), 4) for first, last in zip(start, now, strict=True)]
