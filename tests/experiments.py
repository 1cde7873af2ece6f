"""An experiment of a study, carried out by itself."""

from __future__ import annotations

import json
from typing import Any

from wordline.studies.drives import OnDrive


def carried_out(experiment: dict[str, Any]) -> dict[str, Any]:
    """The result of an experiment on a drive."""
    task = OnDrive(experiment)
    drive = task.begin(quiet).fork(task.sets)
    return json.loads(task.run(drive, quiet).text)


def quiet(*_: object) -> None:
    """Takes no notice of progress."""
