"""Numbers as people read them."""

from __future__ import annotations

import math
import operator
import re
from decimal import Decimal

NOTHING = "–"
"""Shown for a figure that does not exist."""


def three(x: float) -> str:
    """Three significant digits, never an exponent: ``1.23``, ``12.3``, ``1,230``."""
    if x == 0 or not math.isfinite(x):
        return "0" if x == 0 else NOTHING
    # Rounded before its digits are counted: 9.999 is 10.0, not 10.00.
    digits = max(0, 2 - math.floor(math.log10(abs(float(f"{x:.3g}")))))
    return f"{x:,.{digits}f}"


def scaled(x: float, steps: list[tuple[float, str]]) -> str:
    """``x`` in the largest unit of ``steps`` (factor and name, largest first) that it reaches."""
    for factor, name in steps:
        # By the rounded value too, so that 999.6 is "1.00 k" and not "1,000".
        if max(abs(x), abs(float(f"{x:.3g}"))) >= factor:
            return f"{three(x / factor)} {name}".rstrip()
    factor, name = steps[-1]
    return f"{three(x / factor)} {name}".rstrip()


def count(n: float) -> str:
    """A whole number with thousands separators: ``178,331``."""
    return f"{n:,.0f}"


def number(x: float) -> str:
    """A number of any kind and size: a whole one as :func:`count` has it, others with three digits."""
    if isinstance(x, int):
        return count(x)
    return three(x) if not x or 1e-3 <= abs(x) < 1e15 else f"{x:.3g}"


def short(n: float) -> str:
    """A large number in brief: ``1.23 M``."""
    if abs(n) < 10_000:
        return count(n) if n == int(n) else three(n)
    return scaled(n, [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")])


SIZES = [(2.0**50, "PiB"), (2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")]


def size(n: float) -> str:
    """Bytes: ``1.39 GiB``, ``16 KiB``."""
    for factor, name in SIZES:
        if n >= factor and n % factor == 0 and n / factor < 1024:
            return f"{n / factor:,.0f} {name}"
    return scaled(n, SIZES) if n >= 1024 else f"{three(n)} B"


def bandwidth(mib_s: float) -> str:
    """MiB a second: ``1.39 GiB/s``."""
    return f"{size(mib_s * 2**20)}/s" if mib_s else "0 MiB/s"


def latency(us: float | None) -> str:
    """Microseconds: ``352 µs``, ``9.89 ms``; a dash for none."""
    if us is None:
        return NOTHING
    return scaled(us, [(1e6, "s"), (1e3, "ms"), (1, "µs"), (1e-3, "ns")])


def energy(joules: float) -> str:
    """An energy, such as ``12.3 mJ``."""
    return scaled(joules, [(1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ")])


def duration(s: float) -> str:
    """Seconds: ``4.2 ms``, ``59.1 s``, ``5 min 34 s``, ``3 h 5 min``, ``12 days 3 h``."""
    if s < 120:
        return latency(s * 1e6)
    whole = round(s)
    for large, large_s, small, small_s in (("days", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1)):
        if whole >= 2 * large_s:
            rest = whole % large_s // small_s
            return f"{count(whole // large_s)} {large}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"


def percent(share: float | None) -> str:
    """A share of 1: ``63 %``, ``0.4 %``."""
    if share is None:
        return NOTHING
    p = 100 * share
    if p == 0:
        return "0 %"
    if p < 0.1:
        return "< 0.1 %"
    if p < 10:
        return f"{p:.1f} %"
    return "> 99 %" if 99.5 <= p < 100 else f"{p:.0f} %"


def some(n: int, one: str, many: str | None = None) -> str:
    """A number and its noun: ``1 block``, ``2 blocks``."""
    return f"{count(n)} {one if n == 1 else many or one + 's'}"


def plural(one: str) -> str:
    """More than one of an operation: ``reads``, ``flushes``."""
    return f"{one}es" if one.endswith("sh") else f"{one}s"


def percentile(key: str) -> str:
    """The name of a percentile, from its key in results: ``p99.9``. Other keys are unchanged."""
    return key.replace("_", ".")


PICOSECONDS = {"ps": 1, "ns": 10**3, "us": 10**6, "µs": 10**6, "ms": 10**9, "s": 10**12, "min": 60 * 10**12}

END_OF_TIME = 2**63
"""Later than any simulated time, in picoseconds."""

A_TIME = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-zµ]*)")


def picoseconds(text: str) -> int:
    """``0.5s`` or ``600 ms`` as whole picoseconds; finer parts are cut off. Only ``0`` needs no unit.

    :raises ValueError: if it is not a time; the message says why.
    """
    found = A_TIME.fullmatch(text.strip().replace("μ", "µ"))
    if found and not found[2]:
        if not Decimal(found[1]):
            return 0
        raise ValueError(f"'{text}' is not a time without a unit; write {found[1]}s, {found[1]}ms or {found[1]}us")
    if not found or found[2] not in PICOSECONDS:
        raise ValueError(f"'{text}' is not a time; give one such as 0.5s, 600ms or 20us")
    return min(int(Decimal(found[1]) * PICOSECONDS[found[2]]), END_OF_TIME)


SEEDS = 2**64
"""Number of seeds, from 0 on."""


def seed(value: object) -> int:
    """A seed, from a whole number or its digits.

    :raises ValueError: if it is not a seed; the message says why.
    """
    try:
        whole = int(value) if isinstance(value, str) else operator.index(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        whole = -1
    if isinstance(value, bool) or not 0 <= whole < SEEDS:
        raise ValueError(f"'{value}' is not a seed; a seed is a whole number from 0 to {SEEDS - 1}")
    return whole


def window(text: str) -> tuple[int, int]:
    """``0.5s..600ms`` in picoseconds, from and to; either may be missing.

    :raises ValueError: if it is not a span of time; the message says why.
    """
    start, dots, end = text.partition("..")
    if not dots:
        raise ValueError(f"'{text}' is not a window; give one such as 0.5s..600ms, 0.5s.. or ..600ms")
    first = picoseconds(start) if start.strip() else 0
    last = picoseconds(end) if end.strip() else END_OF_TIME
    if first >= last:
        raise ValueError(f"the window '{text}' ends before it begins")
    return first, last


def visible(text: str) -> str:
    """A text with control characters escaped, except newlines and tabs: a name must not control a terminal."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
