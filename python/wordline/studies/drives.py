"""Experiments on whole drives: preconditioned once, forked for each experiment."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordline.api.drive import Drive

Report = Callable[[str, float | None, int, float], None]

KEPT = 2
"""Preconditioned drives in memory: preconditioning takes longer than most runs."""

_prepared: dict[str, Drive] = {}
"""Preconditioned drives by the text of their description, the one used last at the end."""


def run(experiment: dict[str, Any], told: Report) -> dict[str, Any]:
    """Runs workloads on a preconditioned drive, and returns the result of the last one.

    :param experiment: what to run, a dictionary with

        - ``drive``: the preset; ``sets``: overrides of its keys; ``precondition``: arguments of
          :meth:`wordline.Drive.precondition`. Experiments in which these are the same start from the same drive;
        - ``then``: overrides for this experiment, which keep the drive's shape;
        - ``jobs``: options of ``[[job]]``, run one after the other: all but the last warm the drive up;
        - ``seed`` of all random numbers.
    :param told: receives the progress.
    """
    from wordline.api.workload import Workload

    drive = prepared(experiment, told).fork(experiment["then"])
    # With the same random numbers, reads would follow the order of earlier writes, and so meet one die for a while.
    runs = enumerate(experiment["jobs"], experiment["seed"] + 1)
    return [drive.run(Workload.job(**job), seed=seed, progress=told) for seed, job in runs][-1]


def prepared(experiment: dict[str, Any], told: Report) -> Drive:
    """The preconditioned drive that an experiment starts from. It must not be run itself, only forks of it."""
    from wordline.api.drive import Drive

    text = json.dumps({key: experiment[key] for key in ("drive", "sets", "precondition", "seed")}, sort_keys=True)
    drive = _prepared.pop(text, None)
    if drive is None:
        while len(_prepared) >= KEPT:
            del _prepared[next(iter(_prepared))]
        drive = Drive(experiment["drive"], experiment["sets"], seed=experiment["seed"])
        drive.precondition(**experiment["precondition"], progress=told)
    _prepared[text] = drive
    return drive
