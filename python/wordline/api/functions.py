"""The Python interface: the commands as functions."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordline.api.drive import Drive
    from wordline.api.replays import Replay
    from wordline.api.runs import Run
    from wordline.api.workload import Workload
    from wordline.base.progress import Told
    from wordline.policy import Policy

Sets = Mapping[str, object] | Iterable[str] | None
"""Overrides: ``{"victim.policy": "greedy"}``, or texts as after ``--set``: ``["victim.policy=greedy"]``."""


def check(
    drive: str | os.PathLike[str],
    sets: Sets = None,
    *,
    seed: int | None = None,
    policies: Iterable[type[Policy]] = (),
) -> dict[str, Any]:
    """Resolves and checks a drive's configuration.

    :param drive: a preset's name or a TOML file.
    :param sets: overrides of the drive's keys.
    :param seed: the seed of the run, which selects factory-bad blocks; the engine's own if absent.
    :param policies: classes of policies in Python that the drive may name (see :mod:`wordline.policy`).
    :return: ``config`` (every key), ``origins`` (where each key that differs from its default was set) and ``derived``
        (capacities in bytes, block counts, peak bandwidths in MiB/s).
    :raises wordline.InputError: if it is wrong; the message says what, where, and the remedy.
    """
    from wordline import _core
    from wordline.api.spoken import speaking
    from wordline.policy import given

    with speaking():
        return json.loads(_core.check(os.fspath(drive), set_texts(sets), given(policies), seed_of(seed)))


def resolve(drive: str | os.PathLike[str], sets: Sets = None) -> dict[str, Any]:
    """As :func:`check` for those who ask often: without origins, and without errors that show only when the drive is
    built, such as too many bad blocks.

    :return: ``config`` and ``derived``.
    :raises wordline.InputError: as :func:`check`.
    """
    from wordline import _core
    from wordline.api.spoken import speaking

    with speaking():
        return json.loads(_core.resolve(os.fspath(drive), set_texts(sets)))


def run(
    drive: Drive | str | os.PathLike[str],
    load: Workload | str | os.PathLike[str],
    sets: Sets = None,
    load_sets: Sets = None,
    *,
    seed: int | None = None,
    snapshot: str | os.PathLike[str] | None = None,
    progress: Told | bool | None = None,
    timeline: str | os.PathLike[str] | None = None,
    window: str | None = None,
    tables: str | Iterable[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    sample: str | None = None,
    interval: str | None = None,
    repeat: int | None = None,
    time_of: bool = True,
    policies: Iterable[type[Policy]] = (),
) -> Run:
    """Runs a workload on a drive.

    :param drive: a preset's name or a TOML file: a new drive, first preconditioned by its configuration.
        Or a ``Drive``, which continues from its state, like ``drive.run(load)``.
    :param load: a workload, or the name of a trace or workload file.
    :param sets: overrides of the drive's keys.
    :param load_sets: overrides of the keys of the workload file.
    :param seed: of all random streams; the engine's own if absent.
    :param snapshot: a preconditioned drive to start from.
    :param progress: a function that receives the progress of the run; ``True`` for a progress bar, ``False`` for none.
        Without it there is a bar in notebooks only.
    :param timeline: a file to write a timeline to, for ui.perfetto.dev; the result describes it under ``timeline``.
    :param window: the part of simulated time in timeline and tables, such as ``"0.5s..600ms"``; all of it if
        absent, as far as a timeline can hold it.
    :param tables: tables to write as Parquet files, such as ``["requests", "intervals"]`` or ``"all"``; the result
        describes them under ``tables``, and ``run.table(name)`` opens one.
    :param out: the directory for them.
    :param sample: the share of requests to write, such as ``"1/100"``.
    :param interval: the length of intervals in the tables, such as ``"10ms"``; 100 ms if absent.
    :param repeat: run under so many seeds, ``seed`` and those that follow; the result is then that of the first, with
        mean and 95 % confidence interval of each figure under ``repeats``. Timeline and tables are of the first.
        With a ``Drive``, each runs on a fork of it, as ``drive.fork().run(load, seed=…)``; the drive stays as it is.
    :param time_of: False does not ask where the time of requests goes: ``time_of`` of the result is then None,
        with what comes from it, and the run takes a half to a third of the CPU time. The table ``requests`` asks in
        any case.
    :param policies: classes of policies in Python that the drive may name (see :mod:`wordline.policy`).
    :return: the result, as ``wordline run --json`` writes it.
    :raises wordline.InputError: if drive, workload or snapshot are wrong.
    :raises wordline.RunError: if the run fails, or timeline or tables cannot be written. An exception of a policy in
        Python is passed on unchanged.
    :raises wordline.Interrupted: after Ctrl-C, or a notebook's stop button; a ``KeyboardInterrupt`` whose ``result``
        is partial (``partial`` is true).
    """
    from wordline import _core
    from wordline.api import interrupts
    from wordline.api import tables as tables_of
    from wordline.api.drive import Drive
    from wordline.api.runs import Run
    from wordline.api.spoken import speaking
    from wordline.api.timeline import span, whole
    from wordline.api.workload import Workload
    from wordline.base.progress import shown
    from wordline.policy import given
    from wordline.results import repeats

    if isinstance(drive, Drive):
        if sets is not None or snapshot is not None or policies:
            raise TypeError("overrides, snapshot and policies go with the name of a drive; fork a Drive to change it")
        return drive.run(
            load,
            load_sets,
            seed=seed,
            progress=progress,
            timeline=timeline,
            window=window,
            tables=tables,
            out=out,
            sample=sample,
            interval=interval,
            repeat=repeat,
            time_of=time_of,
        )
    workload = Workload.given(load, load_sets)
    start = None if snapshot is None else os.fspath(snapshot)
    path = None if timeline is None else os.fspath(timeline)
    wanted = tables_of.asked(tables, out, sample, interval, span(window))
    name, texts, own_seed, taken_in = os.fspath(drive), set_texts(sets), seed_of(seed), given(policies)
    n = None if repeat is None else repeats.enough(repeat)
    first_seed = _core.SEED if own_seed is None else own_seed
    aged = None if start is None or n is None else _core.Aged(first_seed, n)

    def one(seed: int | None, first: bool, told: Told) -> str:
        return _core.run(
            name,
            workload.engine,
            texts,
            [],
            seed,
            start,
            told,
            path if first else None,
            span(window) if first else None,
            tables=wanted if first else None,
            split=first and time_of,
            policies=taken_in,
            aged=aged,
        )

    with speaking(), shown(progress) as told:
        if n is None:
            result = json.loads(one(own_seed, True, told))
        else:
            state_bytes = None if taken_in else json.loads(_core.check(name, texts))["derived"]["state_bytes"]
            together = repeats.at_once(n, state_bytes)
            result = repeats.run(one, first_seed, n, told, together)
    return interrupts.whole(Run(tables_of.whole(whole(path, result))))


def replay(
    drive: str | os.PathLike[str],
    load: Workload | str | os.PathLike[str],
    sets: Sets = None,
    load_sets: Sets = None,
    *,
    times: int | None = 1,
    seed: int | None = None,
    snapshot: str | os.PathLike[str] | None = None,
    progress: Told | bool | None = None,
    policies: Iterable[type[Policy]] = (),
) -> Replay:
    """Carries a workload out on a drive without time: wear and lifetime, but no latencies.

    :param drive: a preset's name or a TOML file: a new drive, first preconditioned by its configuration.
    :param load: a workload, or the name of a trace or workload file.
    :param sets: overrides of the drive's keys.
    :param load_sets: overrides of the keys of the workload file.
    :param times: how often in a row; None until the end of the drive's life.
    :param seed: of all random streams; the engine's own if absent.
    :param snapshot: a preconditioned drive to start from.
    :param progress: a function that receives the progress; ``True`` for a progress bar, ``False`` for none.
        Without it there is a bar in notebooks only.
    :param policies: classes of policies in Python that the drive may name (see :mod:`wordline.policy`).
    :return: the result, as ``wordline replay --json`` writes it.
    :raises wordline.InputError: if drive, workload, times or snapshot are wrong.
    :raises wordline.RunError: if it fails. An exception of a policy in Python is passed on unchanged.
    :raises wordline.Interrupted: after Ctrl-C; a ``KeyboardInterrupt`` whose ``result`` is partial (``partial`` is
        true).
    """
    from wordline import _core
    from wordline.api import replays
    from wordline.api.spoken import speaking
    from wordline.api.workload import Workload
    from wordline.base.progress import shown
    from wordline.policy import given

    workload = Workload.given(load, load_sets)
    start = None if snapshot is None else os.fspath(snapshot)
    with speaking(), shown(progress) as told:
        text = _core.replay(
            os.fspath(drive),
            workload.engine,
            set_texts(sets),
            [],
            seed_of(seed),
            start,
            told,
            times_of(times),
            policies=given(policies),
        )
    return replays.whole(replays.Replay(json.loads(text)))


def times_of(times: object) -> int | None:
    """How often a workload is carried out, as the engine takes it.

    :raises wordline.InputError: if it is no such number.
    """
    from wordline import _core

    if times is None:
        return None
    try:
        number = operator.index(times)  # type: ignore[arg-type]
    except TypeError:
        raise _core.InputError(f"times: {times!r} is not a whole number; give one from 1, or None") from None
    if not 1 <= number < 2**63:
        raise _core.InputError(f"times: {number} is not between 1 and 2^63 - 1")
    return number


def set_texts(sets: Sets) -> list[str]:
    """Overrides as the texts that follow ``--set``; values of a mapping become TOML."""
    if sets is None:
        return []
    if isinstance(sets, Mapping):
        return [f"{key}={toml_value(value)}" for key, value in sets.items()]
    if isinstance(sets, str):
        raise TypeError(f"sets is a mapping or a list of 'KEY=VALUE', not the text {sets!r}")
    if not isinstance(sets, Iterable):
        raise TypeError(f"sets is a mapping or a list of 'KEY=VALUE', not {sets!r}")
    return list(sets)


def toml_value(value: object) -> str:
    """A value in TOML. Lists, strings, numbers and booleans look the same in JSON."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{json.dumps(str(key))} = {toml_value(below)}" for key, below in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(element) for element in value)}]"
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: object) -> object:
    """The number or boolean of a scalar of numpy or the like.

    :raises wordline.InputError: if it is none.
    """
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        return value.item()
    if hasattr(value, "__index__"):
        return operator.index(value)
    from wordline import _core

    raise _core.InputError(
        f"{value!r}, a {type(value).__name__}, is not a value of a key; give a number, a string, a boolean or a list"
    )


def seed_of(seed: object) -> int | None:
    """A seed as the engine takes it.

    :raises wordline.InputError: if it is none.
    """
    from wordline import _core
    from wordline.base import units

    try:
        return None if seed is None else units.seed(seed)
    except ValueError as error:
        raise _core.InputError(f"seed: {error}") from None
