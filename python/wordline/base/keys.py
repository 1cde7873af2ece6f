"""What the engine's documentation of a key says in passing: its unit, and what holds where the key is absent."""

from __future__ import annotations

import re

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
"""Units as they end the names of keys."""


def unit(key: str) -> str | None:
    """The unit of a key, which its name ends with; None where it names none."""
    name = key.rsplit(".", 1)[-1]
    # 'mt_s' before 's'.
    for end in sorted(UNITS, key=len, reverse=True):
        if name.endswith(f"_{end}"):
            return UNITS[end]
    return None


def when_absent(doc: str) -> str | None:
    """What a key's documentation says that holds without the key; None where it says nothing."""
    found = re.search(r"(?:Absent|Without it): (.+?)(?=\. |\.?$)", doc.replace("\n", " "))
    return found[1] if found else None
