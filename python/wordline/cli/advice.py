"""A setting under a name that others use: the refusal says which key is meant."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from wordline.base.errors import WRONG_USE, Trouble

UNKNOWN = re.compile(r"(?P<head>.*?unknown key '(?P<key>[^']+)' \((?P<value>.*?)\)); (?!write ).*", re.DOTALL)
"""The engine's refusal of a key: before the semicolon what is wrong, behind it its advice. Where it says what to write,
since only the unit is wrong, it knows better."""

NO_TABLE = re.compile(r"(?P<head>.*?'(?P<key>\w+)' is [^;]*; expected a table)", re.DOTALL)
"""Its refusal of a value for a whole section."""

SETTING = re.compile(r"--(?P<load>load-)?set (?P<key>[^=\s]+)=")
"""The option that a message begins with, if it is of one."""


def advised(error: Exception, kinds: Iterable[str]) -> Exception:
    """The refusal of a setting with the key that was meant, if that is known; any other error as it is.

    :param kinds: what the command takes settings of, ``drive`` and ``workload``.
    """
    from wordline import _core

    if not isinstance(error, _core.InputError | Trouble):
        return error
    message = str(error)
    unknown, option = UNKNOWN.fullmatch(message), SETTING.match(message)
    kind = ("workload" if option["load"] else "drive") if option else None
    refused = unknown or NO_TABLE.fullmatch(message)
    if refused is None or (kind or "drive") not in kinds:
        return error
    typed = option["key"] if option else refused["key"]
    advice = advice_on(typed, kind, set(kinds)) if unknown else policy_of(typed)
    if advice is None:
        return error
    return Trouble(f"{refused['head']}; {advice}", error.exit_code if isinstance(error, Trouble) else WRONG_USE)


def every_key() -> dict[str, list[str]]:
    """The keys of drives and of workloads."""
    from wordline import _core
    from wordline.reference.explain import bare

    lists = {"drive": _core.keys(), "workload": _core.load_keys()}
    return {kind: [bare(key["key"]) for key in json.loads(text)] for kind, text in lists.items()}


def policy_of(section: str) -> str | None:
    """What to write instead of a value for a whole section, if it is one of a policy."""
    return f"the key is {section}.policy" if f"{section}.policy" in every_key()["drive"] else None


def advice_on(typed: str, kind: str | None, kinds: set[str]) -> str | None:
    """What to write instead of the key that was typed, as an end of a message; None if that is not known.

    :param kind: ``drive`` or ``workload``, or None of a line in a file, which may be of either.
    :param kinds: what the command takes settings of.
    """
    from wordline.reference.synonyms import RESULTS, meant

    keys = every_key()
    first, _, rest = typed.partition(".")
    inside = [f"{section}.{rest}" for section in meant(first) if f"{section}.{rest}" in keys["drive"]]
    wanted = inside or meant(typed) or meant(typed.rpartition(".")[2])
    # Where a section was named, it is one of its keys.
    wanted = [key for key in wanted if key.startswith(f"{first}.")] or wanted
    of = {name: [key for key in wanted if key in known] for name, known in keys.items()}
    if kind is not None:
        of["drive"] = [f"{key}.policy" if f"{key}.policy" in keys["drive"] else key for key in of["drive"]]
    number = re.match(r"job\.(\d+)\.", typed)
    told = {
        "drive": _of(of["drive"], keys["drive"]),
        "workload": _numbered(_of(of["workload"]), number[1])
        if number
        else _of(of["workload"]) + _first(of["workload"]),
    }
    other = {"drive": "workload", "workload": "drive"}.get(kind or "")
    if other and of[other]:
        option = {"drive": "--set", "workload": "--load-set"}[other]
        told[other] = f"of the {'drive' if other == 'drive' else 'load'}, {told[other]}"
        told[other] += f", for {option}" if other in kinds else ""
    parts = [told[name] for name in ((kind, other) if kind and other else told) if of[name]]
    figures = " and ".join(key.removeprefix(RESULTS) for key in wanted if key.startswith(RESULTS))
    return "; ".join(parts) or (f"this is a figure of results, {figures}, and cannot be set" if figures else None)


def _of(wanted: list[str], sections: Iterable[str] = ()) -> str:
    """``the key is collect.policy``; ``the keys are a and b``; ``the section is precondition``."""
    if not wanted:
        return ""
    whole = all(any(key.startswith(f"{one}.") for key in sections) for one in wanted)
    noun = "section" if whole else "key"
    names = " and ".join([", ".join(wanted[:-1]), wanted[-1]] if len(wanted) > 1 else wanted)
    return f"the {noun} is {names}" if len(wanted) == 1 else f"the {noun}s are {names}"


def _numbered(text: str, number: str) -> str:
    return text.replace("job.", f"job.{number}.")


def _first(wanted: list[str]) -> str:
    """How a key of a job is addressed."""
    found = next((key for key in wanted if key.startswith("job.")), None)
    return f" (of the first job, {_numbered(found, '0')})" if found else ""
