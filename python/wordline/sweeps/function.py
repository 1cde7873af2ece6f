"""The function ``wordline.sweep``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordline._core import InputError
from wordline.base.progress import shown
from wordline.results import repeats
from wordline.sweeps import work
from wordline.sweeps.file import Place, Plan, plan
from wordline.sweeps.jobs import Job, largest_state
from wordline.sweeps.outcome import Sweep
from wordline.sweeps.runner import Ended, Runner
from wordline.sweeps.store import Store

if TYPE_CHECKING:
    from distributed import Client

    from wordline.api.workload import Workload
    from wordline.base.progress import Told


def sweep(
    drive: Place | Sequence[Place],
    load: Workload | Place | Sequence[Workload | Place],
    vary: Mapping[str, object] | None = None,
    vary_load: Mapping[str, object] | None = None,
    *,
    sets: Mapping[str, object] | None = None,
    load_sets: Mapping[str, object] | None = None,
    design: str = "grid",
    points: int | None = None,
    seeds: int | Sequence[int] | None = None,
    precondition: str = "each",
    out: Place | None = None,
    jobs: int | None = None,
    dask: Client | str | None = None,
    progress: Told | bool | None = None,
) -> Sweep:
    """Runs a workload on a drive at many points of a design space, in parallel.

    Points that differ only in their workload share one preconditioned drive, by forks. Each result is that of
    :func:`wordline.run` at its point.

    :param drive: a preset's name or a TOML file, or several.
    :param load: a workload, or the name of a trace or workload file, or several.
    :param vary: values of keys of the drive: ``{"victim.policy": ["greedy", "fifo"]}``; for a Latin hypercube also
        ranges, ``{"capacity.raw_over_logical": {"from": 1.07, "to": 1.3}}``, with ``"scale": "log"`` or
        ``"whole": True``.
    :param vary_load: values of keys of the workload, such as ``{"job.0.iodepth": [1, 4, 16]}``.
    :param sets: overrides of the drive at all points.
    :param load_sets: overrides of the workload file at all points.
    :param design: ``grid``, every combination, or ``latin-hypercube``.
    :param points: the number of points of a Latin hypercube.
    :param seeds: a number of seeds, the engine's own and those that follow, or a list: every point is run with each.
    :param precondition: ``each``: every configuration preconditions its own drive; ``once``: all points are forks of
        one drive that was preconditioned without ``vary``, and differ only from there on.
    :param out: a directory that keeps the results: a repeated sweep, or one that goes on, runs only what is new.
    :param jobs: how many runs there are at once; as many as cores and memory allow if absent.
    :param dask: the address of a Dask scheduler, or a client of one: the points run there (see ``docs/sweep.md``).
    :param progress: as for :func:`wordline.run`.
    :return: the points with their results. A point that fails is told there, and the others go on.
    :raises wordline.InputError: if the design is wrong, or all points are wrong.
    :raises wordline.RunError: if the cluster cannot do the work.
    :raises KeyboardInterrupt: after Ctrl-C. With ``out``, what is done is kept.
    """
    given = {
        "drive": places(drive),
        "load": places(load),
        "design": design,
        "precondition": precondition,
        "vary": vary,
        "vary_load": vary_load,
        "set": sets,
        "load_set": load_sets,
        "points": points,
        "seeds": seeds if seeds is None or isinstance(seeds, int) else list(seeds),
    }
    if design == "list":
        raise InputError("design = 'list' is for sweep files; in Python call wordline.run in a loop")
    if dask is not None and jobs is not None:
        raise InputError("jobs: the cluster says how many runs there are at once; give jobs or dask")
    wanted = plan({key: value for key, value in given.items() if value is not None})
    with shown(progress) as told:
        done = carry_out(wanted, out, jobs, told, lambda _: None, dask)
    if done.interrupted:
        raise KeyboardInterrupt
    return done


def carry_out(
    wanted: Plan, out: Place | None, jobs: int | None, told: Told, ended: Ended, cluster: Client | str | None = None
) -> Sweep:
    """Does a sweep here or on a cluster, as far as it is not interrupted.

    :raises wordline.InputError: if the design is wrong, all points are wrong, or no cluster answers.
    :raises wordline.RunError: if the cluster cannot do the work.
    :raises OSError: if a result cannot be kept.
    """
    kept = None if out is None else Store(Path(out) / "results")
    found = work.jobs(wanted, wanted.space.points(), kept)
    interrupted = run_due(found, kept, jobs, told, ended, cluster)
    return Sweep(wanted.title, wanted.space.columns(), found, interrupted, kept)


def run_due(
    found: Sequence[Job],
    kept: Store | None,
    jobs: int | None,
    told: Told,
    ended: Ended,
    cluster: Client | str | None,
    drives: dict[str, Any] | None = None,
) -> bool:
    """Does the runs that are due, and keeps their results; true if it was interrupted.

    :param drives: as for :class:`Runner`, or with a cluster as for :class:`ClusterRunner`.
    :raises wordline.InputError: if no cluster answers.
    :raises wordline.RunError: if the cluster cannot do the work.
    :raises OSError: if a result cannot be kept.
    """

    def keep(done: Sequence[Job]) -> None:
        for job in done:
            if kept is not None and job.text is not None:
                kept.put(job.key, job.text)
                job.text = None
        ended(done)

    ended([job for job in found if job.error is not None])
    due = sum(job.is_due for job in found)
    if not due:
        return False
    if cluster is not None:
        from wordline.sweeps.cluster import ClusterRunner

        return ClusterRunner(found, cluster, told, keep, drives).run()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    together = jobs or repeats.at_once(due, largest_state(found), memory)
    return Runner(found, together, told, keep, drives).run()


def places(given: object) -> list[object]:
    """One or several drives or workloads; paths become texts."""
    several = given if isinstance(given, list | tuple) else [given]
    return [os.fspath(one) if isinstance(one, os.PathLike) else one for one in several]
