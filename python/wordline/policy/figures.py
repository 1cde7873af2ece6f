"""Figures that a policy tells of itself, checked and as text for the engine."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from wordline.policy.base import Policy


def told(policy: Policy) -> str:
    """The figures of a policy, in JSON.

    :raises TypeError: if the answer, a name, or a value is of another kind.
    :raises ValueError: if a number is infinite or none.
    """
    answer = policy.figures()
    if answer is None:
        return "{}"
    if not isinstance(answer, Mapping):
        raise TypeError(f"its method 'figures' gave {answer!r}; expected a dict such as {{'moved_pages': 12}}, or None")
    return json.dumps({_name(name): _value(name, value) for name, value in answer.items()})


def _name(name: object) -> str:
    if not (isinstance(name, str) and name.isidentifier()):
        raise TypeError(f"its method 'figures' gave the name {name!r}; expected a word such as 'moved_pages'")
    return name


def _value(name: str, value: object) -> object:
    # Numbers and arrays of NumPy become those of Python.
    plain = value.tolist() if hasattr(value, "tolist") else value
    listed = list(plain) if isinstance(plain, (list, tuple)) else None
    for number in [plain] if listed is None else listed:
        if number is None and listed is None:
            continue
        if not isinstance(number, (bool, int, float)):
            raise TypeError(
                f"its method 'figures' gave {value!r} as {name!r}; expected a number, a list of numbers, or None"
            )
        if not math.isfinite(number):
            raise ValueError(f"its method 'figures' gave {value!r} as {name!r}, and {number} is no figure; give None")
    return plain if listed is None else listed
