"""Experiments of studies: side by side, each once, kept by what they depend on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, done, parsed, refused
from experiments import quiet
from wordline import InputError
from wordline.studies import catalogue, drives, experiments
from wordline.studies.context import Context
from wordline.studies.drives import OnDrive
from wordline.studies.experiments import Means, OnPackage
from wordline.sweeps import runner as sweeps
from wordline.sweeps.store import Contents, Store

APART = ("cpu_s", "precondition_cpu_s", "precondition")
"""Keys of a result that differ from one run to the next."""


def experiment(then: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Random writes on the smallest preset."""
    job = {"rw": "randwrite", "bs": "4k", "iodepth": 4, "number_ios": 2000}
    plain = {"drive": "demo", "sets": {"geometry.blocks_per_plane": 40}, "precondition": {"overwrites": 0.2}}
    return {**plain, "then": dict(then or {}), "jobs": [job], **more}


SEVERAL = {
    **{name: experiment({"victim.policy": name}) for name in ("greedy", "fifo", "random")},
    "warm": experiment({"victim.policy": "fifo"}, warm={"rw": "randwrite", "bs": "4k", "number_ios": 500}),
    "other": experiment(sets={"geometry.blocks_per_plane": 40, "capacity.raw_over_logical": 1.5}),
}


def context(means: Means | None = None) -> Context:
    """A context of some study."""
    return Context(catalogue.load("paq"), means=means or Means())


def key(one: dict[str, Any], kind: Any = OnDrive) -> str:  # noqa: ANN401
    """The name of the result of an experiment."""
    return experiments._job(kind, {"seed": 1, **one}, None, Contents()).key


def same(one: Mapping[str, Any]) -> dict[str, Any]:
    """What is the same whenever it runs."""
    return {name: value for name, value in one.items() if name not in APART}


def test_results_do_not_depend_on_what_runs_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def runs(jobs: int) -> dict[str, dict[str, Any]]:
        monkeypatch.setattr(drives, "SHELF", drives.Shelf())
        return context(Means(jobs=jobs)).drives(SEVERAL)

    alone, beside = runs(1), runs(3)
    assert list(alone) == list(beside) == list(SEVERAL)
    for name in SEVERAL:
        assert same(alone[name]) == same(beside[name])
    assert len({result["digest"] for result in alone.values()}) == len(SEVERAL)


def test_what_is_kept_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Means(results=Store(tmp_path, packed=True))
    first = context(kept).drives(SEVERAL)
    with monkeypatch.context() as patched:
        patched.setattr(OnDrive, "run", lambda *_: pytest.fail("it is known"))
        patched.setattr(OnDrive, "begin", lambda *_: pytest.fail("no drive is needed"))
        assert context(kept).drives(SEVERAL) == first
        parts = context(kept).drives(SEVERAL, ["iops", "latency_us"])
    assert parts == {name: {it: result[it] for it in ("iops", "latency_us")} for name, result in first.items()}
    # A damaged file is as good as none.
    files = sorted(tmp_path.rglob("*.json.gz"))
    assert len(files) == len(SEVERAL)
    files[0].write_bytes(files[0].read_bytes()[:100])
    files[1].write_bytes(b"{}")
    again = context(kept).drives(SEVERAL)
    assert {name: same(result) for name, result in again.items()} == {name: same(it) for name, it in first.items()}


def test_the_name_of_a_result_is_all_that_it_depends_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("a")
    of_trace = experiment(jobs=[{"trace": {"name": "t", "file": str(trace), "align": 4096, "limit": 1}, "replay": {}}])
    before = key(of_trace)
    found = [key(it) for it in SEVERAL.values()]
    found += [key(experiment(seed=2)), key(experiment(jobs=[])), before, key({"load": {}}, OnPackage)]
    assert len(set(found)) == len(found)
    assert key(SEVERAL["fifo"]) == found[1]
    trace.write_text("b")
    assert key(of_trace) != before, "other contents"
    monkeypatch.setattr(experiments, "_engine", lambda: "built anew")
    assert not {key(it) for it in SEVERAL.values()} & set(found)


def test_an_interrupt_keeps_what_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "EVERY_S", 0.001)
    store = Store(tmp_path, packed=True)
    ended: list[float] = []

    def stop(_: str, share: float | None, __: int, ___: float) -> None:
        if list(tmp_path.rglob("*.gz")):
            ended.append(share or 0.0)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Context(catalogue.load("paq"), report=stop, means=Means(jobs=1, results=store)).drives(SEVERAL)
    there = len(list(tmp_path.rglob("*.gz")))
    assert ended and 0 < there < len(SEVERAL)
    assert len(context(Means(results=store)).drives(SEVERAL)) == len(SEVERAL)


def test_an_experiment_that_is_wrong_ends_the_study() -> None:
    with pytest.raises(InputError, match=r"victim\.policy"):
        context().drives({"right": experiment(), "wrong": experiment({"victim.policy": "none-such"})})
    with pytest.raises(InputError, match="blocks_per_plane"):
        context().drives({"wrong": experiment(sets={"geometry.blocks_per_plane": 0})})
    with pytest.raises(InputError, match="kind"):
        context().packages({"wrong": {"load": {"kind": "none-such"}}})


def test_the_progress_names_the_study() -> None:
    heard: list[str] = []
    Context(catalogue.load("paq"), "its label", report=lambda phase, *_: heard.append(phase)).drives(SEVERAL)
    assert heard and all(phase.startswith("its label: ") and "of 5 points" in phase for phase in heard)


def test_a_study_is_repeated_from_what_is_kept(wordline: Run, tmp_path: Path) -> None:
    first = parsed(done(wordline("study", "nand-cycles", "--json", "--jobs", "2", "--results", "kept")))
    files = {it: it.stat().st_mtime_ns for it in (tmp_path / "kept").rglob("*.gz")}
    assert len(files) >= 8
    assert parsed(done(wordline("study", "nand-cycles", "--json", "--results", "kept"))) == first
    assert {it: it.stat().st_mtime_ns for it in (tmp_path / "kept").rglob("*.gz")} == files


def test_options_that_make_no_sense_are_refused(wordline: Run) -> None:
    refused(wordline("study", "--jobs", "2"), "--jobs: for a study to run")
    refused(wordline("study", "paq", "--jobs", "2", "--dask", "tcp://127.0.0.1:1"), "--jobs does not go with --dask")
    refused(wordline("study", "paq", "--dask", "nowhere"), "no address of a Dask scheduler")


def test_packages_are_experiments_too(tmp_path: Path) -> None:
    chapter = Context(catalogue.load("nand-dies")).chapter()
    load = {"kind": "stream", "op": "read", "request_bytes": 4096, "requests": 20}
    one = {"a": chapter.experiment(load), "b": chapter.experiment(load, dies=2)}
    store = Store(tmp_path, packed=True)
    first, again = (context(Means(results=store)).packages(one) for _ in range(2))
    assert first == again and first["a"]["requests"] == 20
    assert OnPackage(one["a"]).begin(quiet) is None
