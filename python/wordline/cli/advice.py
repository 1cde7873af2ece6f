"""A setting under a common synonym: the error names the right key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from wordline.base.errors import WRONG_USE, Trouble

UNKNOWN = re.compile(r"(?P<head>.*?unknown key '(?P<key>[^']+)' \((?P<value>.*?)\)); (?!write ).*", re.DOTALL)
"""The engine's error for an unknown key: the problem before the semicolon, its advice after it. Where the advice says
what to write, because only the unit is wrong, it is kept."""

NO_TABLE = re.compile(r"(?P<head>.*?'(?P<key>\w+)' is [^;]*; expected a table)", re.DOTALL)
"""Its error for a value given to a whole section."""

SETTING = re.compile(r"--(?P<load>load-)?set (?P<key>[^=\s]+)=")
"""The option at the start of a message, if any."""


def advised(error: Exception, kinds: Iterable[str]) -> Exception:
    """The error of a setting with the right key, if known; any other error unchanged.

    :param kinds: the kinds of settings that the command takes, ``drive`` and ``workload``.
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
    # Of a misspelt section that the engine recognises, the last word alone would lead away.
    misspelt = unknown is not None and unknown["key"] != typed and "did you mean" in message
    advice = advice_on(typed, kind, set(kinds), misspelt=misspelt) if unknown else policy_of(typed)
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
    """Advice for a value given to a whole section, if the section has a policy."""
    return f"the key is {section}.policy" if f"{section}.policy" in every_key()["drive"] else None


def advice_on(typed: str, kind: str | None, kinds: set[str], *, misspelt: bool = False) -> str | None:
    """The end of a message with the right key; None if unknown.

    :param kind: ``drive`` or ``workload``, or None of a line in a file, which may be of either.
    :param kinds: the kinds of settings that the command takes.
    :param misspelt: the last word of ``typed`` tells nothing: a section before it has the wrong name.
    """
    from wordline.reference.synonyms import RESULTS, meant

    keys = every_key()
    first, _, rest = typed.partition(".")
    inside = [f"{section}.{rest}" for section in meant(first) if f"{section}.{rest}" in keys["drive"]]
    wanted = inside or meant(typed) or ([] if misspelt else meant(typed.rpartition(".")[2]))
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
        told[other] = f"of the {other}, {told[other]}"
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
