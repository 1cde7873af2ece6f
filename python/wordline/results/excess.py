"""Excess waiting time: how far requests wait longer than they should."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wordline.base import units

MARGINAL_US = 30_000.0
"""The marginal response time of jung13 (7.6.3, footnote 4)."""


@dataclass(frozen=True)
class Excess:
    """Requests that take longer than the marginal response time; the difference is their excess waiting time (EWT)."""

    marginal_us: float
    share: float
    """The part of all requests with any excess, 0 to 1; rounded up to the next point of a thinned distribution."""
    worst_us: float
    """The largest excess; 0 if there is none. The worst-case response time (WCRT) is this and the marginal one."""


def of(result: dict[str, Any], marginal_us: float = MARGINAL_US) -> Excess:
    """The excess waiting time of a run, from its distributions of latency.

    :param marginal_us: what a request may take, in microseconds.
    """
    beyond, every = 0.0, 0
    for op, points in result["cdf"].items():
        requests = result["by_op"][op]["requests"]
        if requests:
            every += requests
            beyond += requests * above(points, marginal_us)
    largest = result["latency_us"]["all"]["max"] or 0.0
    worst = max(0.0, largest - marginal_us)
    return Excess(marginal_us, beyond / every if every and worst else 0.0, worst)


def above(points: list[list[float]], value: float) -> float:
    """The share of a distribution above a value.

    :param points: values, ascending, each with the share of all that does not exceed it.
    """
    return 1.0 - max((share for each, share in points if each <= value), default=0.0)


def told(excess: Excess) -> str:
    """The same in a sentence."""
    marginal = units.duration(excess.marginal_us / 1e6)
    if not excess.worst_us:
        return f"excess waiting time: none above {marginal}"
    worst = units.duration(excess.worst_us / 1e6)
    return f"excess waiting time above {marginal}: {units.percent(excess.share)} of requests, {worst} at most"
