"""Points of a design space, run side by side by the engine of sweeps."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordline.studies import drives

if TYPE_CHECKING:
    from wordline.api.workload import Workload

Report = Callable[[str, float | None, int, float], None]


def run(points: Sequence[Mapping[str, Any]], seed: int, told: Report) -> list[dict[str, Any]]:
    """Runs points as one sweep, and returns their results in order. Each is that of ``wordline run``.

    :param points: dictionaries with ``drive``, the preset; ``sets``, overrides of its keys; and ``job``, as in
        :func:`wordline.studies.drives.run`. Each drive is preconditioned as its keys say.
    :param told: receives the progress.
    :raises ValueError: if a point cannot run.
    :raises KeyboardInterrupt: if it was interrupted.
    """
    from wordline.sweeps.file import plan
    from wordline.sweeps.function import carry_out

    with tempfile.TemporaryDirectory() as folder:
        loads: dict[str, Workload] = {}
        for point in points:
            text = _text(point["job"])
            if text not in loads:
                loads[text] = _load(point["job"], seed, Path(folder) / f"{len(loads)}.parquet")
        listed = [{"drive": it["drive"], "load": loads[_text(it["job"])], "set": dict(it["sets"])} for it in points]
        wanted = plan({"design": "list", "seeds": [seed], "point": listed})
        done = carry_out(wanted, None, None, told, lambda _: None)
    if done.interrupted:
        raise KeyboardInterrupt
    if done.failed:
        factors, why = done.failed[0]
        raise ValueError(f"a point cannot run: {factors}: {why}")
    return [json.loads(job.text or "") for job in done.jobs]


def _load(job: Mapping[str, Any], seed: int, path: Path) -> Workload:
    """The workload of a job. A sweep wants to know what a workload is made of, so a stand-in is a file."""
    from wordline.api.workload import Workload

    if "stand_in" not in job:
        return drives.workload(job, seed)
    drives.write_stand_in(job["stand_in"], seed, path)
    return Workload.trace(path, **job["replay"])


def _text(job: Mapping[str, Any]) -> str:
    return json.dumps(job, sort_keys=True)
