"""Write amplification as a run goes on: since its beginning, and over the last while.

The figure of a single interval means little. The write buffer delays programs into a later interval than the write;
and where the host wrote almost nothing, the few pages moved by GC give ratios in the thousands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

WINDOWS = 20
"""The rolling figure covers this fraction of the run: one part in so many."""

LITTLE = 0.1
"""A window with less than this share of the mean host writes has no figure."""

BEGINNING = 0.01
"""The figure since the beginning starts at this share of all host writes."""

CLOSE = 0.01
"""The intervals must add up to all programs of the run, within this share."""


@dataclass(frozen=True)
class Amplification:
    """Write amplification by interval; None where there is no figure."""

    since_start: list[float | None]
    rolling: list[float | None]
    window_s: float


def over_time(result: dict[str, Any]) -> Amplification | None:
    """Both figures by interval; None without host writes or without programs by interval."""
    series = result.get("series") or {}
    starts, page_bytes = series.get("start_s") or [], (result.get("drive") or {}).get("page_bytes")
    if not starts or not page_bytes or not series.get("write_mib_s"):
        return None
    length, end_s = series["interval_s"], result.get("simulated_s") or 0.0
    # A rate of the last interval is over the part of it that was measured.
    written = [
        (rate or 0.0) * 2**20 * min(length, max(end_s - start, 0.0)) / page_bytes
        for start, rate in zip(starts, series["write_mib_s"], strict=True)
    ]
    programmed = _programmed(result, series, written)
    if programmed is None or sum(written) <= 0:
        return None
    half = max(1, round(len(starts) / WINDOWS / 2))
    return Amplification(
        _since_start(programmed, written), _rolling(programmed, written, half), (2 * half + 1) * length
    )


def _programmed(result: dict[str, Any], series: dict[str, Any], written: Sequence[float]) -> list[float] | None:
    """Pages programmed by interval: as told, or from the intervals' own amplification if nothing is missing then."""
    told = series.get("programs")
    if not told:
        own = series.get("write_amplification") or []
        told = [(ratio or 0.0) * pages for ratio, pages in zip(own, written, strict=False)]
    whole = (result.get("flash") or {}).get("programs") or 0
    return list(told) if len(told) == len(written) and abs(sum(told) - whole) <= CLOSE * whole else None


def _since_start(programmed: Sequence[float], written: Sequence[float]) -> list[float | None]:
    enough = BEGINNING * sum(written)
    sums = zip(accumulate(programmed), accumulate(written), strict=True)
    return [pages / host if host >= enough and host > 0 else None for pages, host in sums]


def _rolling(programmed: Sequence[float], written: Sequence[float], half: int) -> list[float | None]:
    """Over each interval and ``half`` of them on either side, fewer at the ends."""
    count = len(written)
    windows = [slice(max(0, at - half), min(count, at + half + 1)) for at in range(count)]
    sums = [(sum(programmed[window]), sum(written[window])) for window in windows]
    enough = LITTLE * sum(host for _, host in sums) / count
    return [pages / host if host >= enough and host > 0 else None for pages, host in sums]
