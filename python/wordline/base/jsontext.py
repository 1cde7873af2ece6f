"""Readable JSON: indented, with every list of numbers on one line."""

from __future__ import annotations

import json
from typing import Any

PLAIN = json.JSONEncoder(ensure_ascii=False).encode
"""The text of a value on one line. Making an encoder takes longer than a number does."""


def dumps(value: Any, indent: int = 0) -> str:  # noqa: ANN401
    """The text of ``value``, without a line break at its end."""
    pad = "  " * (indent + 1)
    end = "\n" + "  " * indent
    if isinstance(value, dict) and value:
        rows = (f"{pad}{json.dumps(str(key))}: {dumps(below, indent + 1)}" for key, below in value.items())
        return "{\n" + ",\n".join(rows) + end + "}"
    if isinstance(value, list) and any(isinstance(element, dict) for element in value):
        return "[\n" + ",\n".join(pad + dumps(element, indent + 1) for element in value) + end + "]"
    return PLAIN(value)
