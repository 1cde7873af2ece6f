"""Properties derived from lists of keys: units, meaning of an absent key, expansion of patterns."""

from __future__ import annotations

import re
from itertools import product

UNITS = {
    "us": "µs",
    "s": "s",
    "hours": "h",
    "bytes": "bytes",
    "kib": "KiB",
    "pages": "pages",
    "blocks": "blocks",
    "bits": "bits",
    "percent": "%",
    "gb_s": "GB/s",
    "mt_s": "MT/s",
    "iops": "requests/s",
    "ma": "mA",
    "ua": "µA",
    "v": "V",
}
"""Units by the endings of key names."""

UNITS_OF = {
    "queue.depth": "commands",
    "dispatch.window": "requests",
    "nand.reliability.endurance": "cycles",
    "job.bs": "bytes",
    "job.blockalign": "bytes",
    "job.rwmixread": "%",
    "job.iodepth": "requests",
    "job.rate": "bytes/s",
    "job.thinktime_blocks": "requests",
    "job.offset": "bytes",
    "job.offset_increment": "bytes",
    "job.size": "bytes",
    "job.io_size": "bytes",
    "job.number_ios": "requests",
    "job.fsync": "writes",
    "trace.iodepth": "requests",
    "trace.limit": "requests",
    "trace.sort_window": "requests",
}
"""Units of keys whose names lack them: names of fio, or older than the rule."""


def unit(key: str) -> str | None:
    """The unit of a key, usually the ending of its name; None without one."""
    if key in UNITS_OF:
        return UNITS_OF[key]
    name = key.rsplit(".", 1)[-1]
    # 'mt_s' before 's'.
    for end in sorted(UNITS, key=len, reverse=True):
        if name.endswith(f"_{end}"):
            return UNITS[end]
    return None


def when_absent(doc: str) -> str | None:
    """The documented meaning of an absent key; None if there is none."""
    found = re.search(r"(?:Absent|Without it): (.+?)(?=\. |\.?$)", doc.replace("\n", " "))
    return found[1] if found else None


def expanded(pattern: str) -> list[str]:
    """``a.{b,c}`` as ``a.b`` and ``a.c``."""
    parts = re.split(r"\{([^}]*)\}", pattern)
    return ["".join(pick) for pick in product(*(p.split(",") if n % 2 else [p] for n, p in enumerate(parts)))]
