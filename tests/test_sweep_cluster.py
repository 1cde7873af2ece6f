"""Sweeps on a Dask cluster: a scheduler and workers in processes of their own, on loopback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import wordline
from conftest import PROGRAM, ROOT
from distributed import Client
from test_sweep import LOAD, SMALL, table, written
from wordline.studies import catalogue
from wordline.studies.context import Context
from wordline.studies.experiments import Means

APART = ("cpu_s", "precondition_cpu_s", "earlier_runs")
"""Keys of a result that differ from one run to the next."""

LIMIT_S = 120.0


@contextmanager
def process(*arguments: str, within: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process of Dask, and the file with what it says."""
    log = within / f"{arguments[0]}-{time.monotonic_ns()}.log"
    with log.open("w", encoding="utf-8") as said:
        running = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]],
            cwd=within,
            stdout=said,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"},
        )
    try:
        yield running, log
    finally:
        running.kill()
        running.wait()


@contextmanager
def scheduler(within: Path) -> Iterator[tuple[str, subprocess.Popen[str], Path]]:
    """The address of a scheduler, its process, and what it says."""
    with process("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", within=within) as (own, log):
        yield said(own, log, r"Scheduler at:\s+(tcp://\S+)"), own, log


@contextmanager
def cluster(within: Path, workers: int = 2) -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """The address of a scheduler, and its workers."""
    with ExitStack() as stack:
        address = stack.enter_context(scheduler(within))[0]
        running = []
        for _ in range(workers):
            worker, told = stack.enter_context(
                process("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", within=within)
            )
            running.append(worker)
            said(worker, told, r"Registered to:\s+(tcp://\S+)")
        yield address, running


def said(process: subprocess.Popen[str], log: Path, pattern: str) -> str:
    """What a process says, once it does."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        found = re.search(pattern, log.read_text(encoding="utf-8"))
        if found:
            return found[1]
        assert process.poll() is None, log.read_text(encoding="utf-8")
        time.sleep(0.05)
    raise AssertionError(f"it did not say {pattern}: {log.read_text(encoding='utf-8')}")


def same(run: wordline.Run | None) -> dict[str, Any]:
    """What two runs of one point share."""
    assert run is not None
    return {key: value for key, value in run.items() if key not in APART}


def test_points_on_a_cluster_are_those_here(tmp_path: Path) -> None:
    load = wordline.Workload.text(LOAD)
    sets = {"geometry.blocks_per_plane": 40, "precondition.fill": True}
    spare = {"capacity.raw_over_logical": [1.3, 1.0001]}
    with cluster(tmp_path) as (address, _):
        for precondition, more in (("each", spare), ("once", {"collect.stop_blocks": [12, 16]})):
            vary: dict[str, object] = {"victim.policy": ["greedy", "fifo"], **more}
            here, there = (
                wordline.sweep("demo", load, vary, sets=sets, precondition=precondition, dask=dask)
                for dask in (None, address)
            )
            assert there.failed == here.failed and len(here.failed) == (2 if more is spare else 0)
            assert [same(run) for run in there.runs if run] == [same(run) for run in here.runs if run]


def test_a_killed_worker_loses_nothing(tmp_path: Path) -> None:
    depths = ", ".join(map(str, range(1, 31)))
    vary = f'[vary]\n"victim.policy" = ["greedy", "fifo"]\n\n[vary_load]\n"job.0.iodepth" = [{depths}]\n'
    path = written(tmp_path, f"{SMALL}\n{vary}", LOAD.replace("2000", "20_000"))
    results = tmp_path / "sweep.sweep" / "results"
    with cluster(tmp_path) as (address, workers):
        running = subprocess.Popen(
            [PROGRAM, "sweep", path.name, "--dask", address],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        until = time.monotonic() + LIMIT_S
        while not list(results.glob("*/*.json")):
            assert time.monotonic() < until and running.poll() is None, "no point has ended"
            time.sleep(0.02)
        workers[0].send_signal(signal.SIGKILL)
        shown, told = running.communicate(timeout=LIMIT_S)
        assert running.returncode == 0, told
    rows = table(path)
    assert len(rows) == 60 == len({(row["victim.policy"], row["load.job.0.iodepth"]) for row in rows})
    assert all(row["iops"] and not row["error"] for row in rows)
    assert len(list(results.glob("*/*.json"))) == 60
    assert "points.csv" in shown
    # What was done there is known here.
    here = subprocess.run([PROGRAM, "sweep", path.name], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S)
    assert "60 of 60 results were there already" in here.stdout, here.stderr


def test_what_is_wrong_with_a_cluster_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL)
    for options, told in (
        (("--dask", "nowhere"), "nowhere: this is no address of a Dask scheduler"),
        (("--dask", "tcp://127.0.0.1:9"), "no Dask scheduler answers there"),
        (("--dask", "tcp://127.0.0.1:9", "--jobs", "2"), "--jobs does not go with --dask"),
    ):
        done = subprocess.run(
            [PROGRAM, "sweep", path.name, *options], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S
        )
        assert done.returncode == 2 and told in done.stderr and "Traceback" not in done.stderr, done.stderr


@pytest.mark.parametrize(("sent", "status", "told"), [("interrupt", 130, "goes on"), ("kill", 1, "is gone")])
def test_a_sweep_without_workers_ends_with_its_user_or_its_scheduler(
    tmp_path: Path, sent: str, status: int, told: str
) -> None:
    path = written(tmp_path, SMALL)
    with scheduler(tmp_path) as (address, own, log):
        running = subprocess.Popen(
            [PROGRAM, "sweep", path.name, "--dask", address],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        said(own, log, r"(Register.* client|Receive client connection)")
        time.sleep(0.5)
        assert running.poll() is None
        if sent == "interrupt":
            running.send_signal(signal.SIGINT)
        else:
            own.kill()
        _, error = running.communicate(timeout=LIMIT_S)
    assert running.returncode == status and told in error and "Traceback" not in error, error


@pytest.fixture(autouse=True)
def _installed() -> None:
    pytest.importorskip("distributed")


def test_a_search_ships_a_drive_once_for_all_its_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = {"geometry.blocks_per_plane": 40}
    vary = {"collect.window_pages": {"from": 1, "to": 32, "whole": True}}
    options: dict[str, Any] = {"sets": sets, "precondition": "once", "maximise": "iops", "trials": 6, "batch": 2}
    load = wordline.Workload.text(LOAD)
    made: list[str] = []
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        submit = client.submit

        def counted(work: Any, *given: Any, **options: Any) -> Any:  # noqa: ANN401
            made.append(work.__name__)
            return submit(work, *given, **options)

        monkeypatch.setattr(client, "submit", counted)
        there = wordline.optimise("demo", load, vary, dask=client, **options)
    assert made.count("preconditioned") == 1 and made.count("chunk") >= 3
    here = wordline.optimise("demo", load, vary, **options)
    assert [(it.factors, it.figures) for it in there.tried] == [(it.factors, it.figures) for it in here.tried]


def test_a_study_runs_on_a_cluster(tmp_path: Path) -> None:
    """Experiments on packages and on drives, with the figures that they have here."""
    warm = {"rw": "randwrite", "bs": "4k", "number_ios": 500}
    one = {"drive": "demo", "sets": {"geometry.blocks_per_plane": 40}, "precondition": {"overwrites": 0.2}}
    one["jobs"] = [{"rw": "randwrite", "bs": "4k", "iodepth": 4, "number_ios": 2000}]
    wanted = {"plain": {**one, "then": {"victim.policy": "fifo"}}, "warm": {**one, "then": {}, "warm": warm}}
    here = Context(catalogue.load("paq")).drives(wanted)
    with cluster(tmp_path) as (address, _):
        there = Context(catalogue.load("paq"), means=Means(cluster=address)).drives(wanted)
        command = [PROGRAM, "study", "nand-cycles", "--json", "--dask", address]
        told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S)
    assert told.returncode == 0, told.stderr
    saved = json.loads((ROOT / "studies" / "nand-cycles" / "result.json").read_text(encoding="utf-8"))
    assert json.loads(told.stdout) | {"version": ""} == saved | {"version": ""}
    for name, result in here.items():
        # The worker preconditioned its own drive, in its own time.
        apart = (*APART, "precondition")
        of_here, of_there = ({key: it[key] for key in it if key not in apart} for it in (result, there[name]))
        assert of_here == of_there and of_here["digest"]
