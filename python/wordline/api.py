"""The Python interface: what the commands do, as functions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordline.drive import Drive
    from wordline.runs import Run
    from wordline.workload import Workload

Sets = Mapping[str, object] | Iterable[str] | None
"""Overrides: ``{"victim.policy": "greedy"}``, or texts as after ``--set``: ``["victim.policy=greedy"]``."""

Progress = Callable[[str, float | None, int, float], object]
"""Called ten times a second or so with the phase, its fraction done (0 to 1 or None), requests, simulated seconds."""


def check(drive: str | os.PathLike[str], sets: Sets = None) -> dict[str, Any]:
    """Resolves a drive's configuration.

    :param drive: a preset's name or a TOML file.
    :param sets: overrides of the drive's keys.
    :return: ``config`` (every key), ``origins`` (where each key that is no default was set) and ``derived`` (capacities
        in bytes, block counts, peak bandwidths in MiB/s).
    :raises wordline.InputError: if anything is wrong with it; the message says what, where, and what would be right.
    """
    from wordline import _core

    return json.loads(_core.check(os.fspath(drive), set_texts(sets)))


def run(
    drive: Drive | str | os.PathLike[str],
    load: Workload | str | os.PathLike[str],
    sets: Sets = None,
    load_sets: Sets = None,
    *,
    seed: int | None = None,
    snapshot: str | os.PathLike[str] | None = None,
    progress: Progress | bool | None = None,
    timeline: str | os.PathLike[str] | None = None,
    window: str | None = None,
) -> Run:
    """Runs a load on a drive.

    :param drive: a preset's name or a TOML file: a new drive, which is first preconditioned as its configuration says.
        Or a ``Drive``, which goes on from its state, like ``drive.run(load)``.
    :param load: a workload, or the name of a trace or workload file.
    :param sets: overrides of the drive's keys.
    :param load_sets: overrides of the keys of the load's file.
    :param seed: of all random streams; the engine's own if absent.
    :param snapshot: a preconditioned drive to start from.
    :param progress: a function that is told how far the run is; ``True`` for a progress bar, ``False`` for none.
        Without it there is a bar in notebooks only.
    :param timeline: a file to write a timeline to, for ui.perfetto.dev; the result then tells of it under ``timeline``.
    :param window: what part of simulated time it shows, such as ``"0.5s..600ms"``; all that it has room for if absent.
    :return: the result, as ``wordline run --json`` writes it. After an interrupt (Ctrl-C, or a notebook's stop button)
        its ``partial`` is true and it holds what was done until then.
    :raises wordline.InputError: if drive, load or snapshot are wrong.
    :raises wordline.RunError: if the run could not be carried through, or the timeline not be written.
    """
    from wordline import _core
    from wordline.drive import Drive
    from wordline.progress import shown
    from wordline.runs import Run
    from wordline.timeline import span, whole
    from wordline.workload import Workload

    if isinstance(drive, Drive):
        if sets is not None or snapshot is not None:
            raise TypeError("overrides and snapshot go with the name of a drive; fork a Drive to change it")
        return drive.run(load, load_sets, seed=seed, progress=progress, timeline=timeline, window=window)
    workload = Workload.given(load, load_sets)
    start = None if snapshot is None else os.fspath(snapshot)
    path = None if timeline is None else os.fspath(timeline)
    with shown(progress) as told:
        texts = set_texts(sets)
        document = _core.run(os.fspath(drive), workload.engine, texts, [], seed, start, told, path, span(window))
    return Run(whole(path, json.loads(document)))


def set_texts(sets: Sets) -> list[str]:
    """Overrides as the texts that follow ``--set``; values of a mapping become TOML."""
    if sets is None:
        return []
    if isinstance(sets, Mapping):
        return [f"{key}={toml_value(value)}" for key, value in sets.items()]
    if isinstance(sets, str):
        raise TypeError(f"sets is a mapping or a list of 'KEY=VALUE', not the text {sets!r}")
    return list(sets)


def toml_value(value: object) -> str:
    """A value as TOML writes it. Lists, texts, numbers and truth values look the same in JSON."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{json.dumps(str(key))} = {toml_value(below)}" for key, below in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(element) for element in value)}]"
    return json.dumps(value, ensure_ascii=False)
