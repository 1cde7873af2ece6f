"""A NAND package alone: no drive, no firmware, only commands, the package's bus and its dies."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

Progress = Callable[[str, float | None, int, float], None]


def run(
    experiment: dict[str, Any],
    progress: Progress | None = None,
    *,
    timeline: str | os.PathLike[str] | None = None,
    window: str | None = None,
) -> dict[str, Any]:
    """Runs one workload on one package.

    :param experiment: what to run, a dictionary with

        - ``package``: ``dies``, ``planes``, ``blocks_per_plane``, ``pages_per_block``, ``page_bytes``;
        - ``nand``: the keys of the ``[nand]`` section of a drive file;
        - ``host``: ``planes_per_command`` (1, 2, 4 or 8), ``cache`` (cache-mode commands), ``scheduler``
          (``die-first`` or ``plane-first``), ``addressing`` (``log``: pages go where there is room; ``static``: the
          address says where), ``queue_depth`` (requests outstanding);
        - ``load``: by its ``kind`` either ``stream`` (``op``, ``request_bytes``, ``requests``: in sequence within
          blocks), ``mix`` (``write_percent``, ``write_bytes`` and ``read_bytes`` as means, ``requests``,
          ``footprint_pages``: at random page addresses) or ``migrate`` (``mode``, ``blocks``: read, program elsewhere,
          erase);
        - ``seed`` of all random numbers, ``stage_log`` and ``latencies`` to have those lists in the result.
    :param progress: receives the progress of the run.
    :param timeline: a file to write a timeline to, for ui.perfetto.dev.
    :param window: the part of simulated time in it, such as ``"0.5ms..2ms"``; all of it if absent.
    :return: ``requests``, ``pages``, ``commands``, ``simulated_s``, ``bandwidth_mib_s``, ``iops``, ``latency_us``,
        ``stages_us`` (time in each stage, summed over dies), ``contention_us``, ``bus_busy_us``, ``idle_us``,
        ``energy_j``, ``multi_plane_pages``, and if asked for ``log`` (``die``, ``plane``, ``operation``, ``stage``,
        ``start_us``, ``end_us``) and ``latencies_us``.
    :raises wordline.InputError: if the experiment is wrong; the message names the key.
    :raises wordline.RunError: if the timeline cannot be written.
    """
    from wordline import _core
    from wordline.api.timeline import span, whole

    told = progress or (lambda *_: None)
    path = None if timeline is None else os.fspath(timeline)
    return whole(path, json.loads(_core.package_run(json.dumps(experiment), told, path, span(window))))
