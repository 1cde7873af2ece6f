"""How tasks share the dies: the schedulers, their shares, and what results, tables and reports show of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import synthetic
from conftest import Run, refused
from wordline.base import units
from wordline.report import sharing

DEBIT = ("--set", "dispatch.policy=debit", "--set", "shares.policy=feedback")


@pytest.fixture
def run(mixed: Any) -> Any:  # noqa: ANN401
    """Runs the load with options, and gives summary and result."""
    return mixed(50)


def mean(result: dict[str, Any]) -> float:
    return result["latency_us"]["read"]["mean"]


def test_a_single_queue_is_the_slowest_and_debits_are_faster_than_fair_queues(run: Any) -> None:  # noqa: ANN401
    for seed in ("1", "2"):
        means = [
            mean(run("--seed", seed, "--set", f"dispatch.policy={policy}")[1])
            for policy in ("one-queue", "weighted-fair", "debit")
        ]
        assert means == sorted(means, reverse=True), means
        assert means[0] > 1.5 * means[1], means


def test_results_tables_and_report_show_the_shares(run: Any, tmp_path: Path) -> None:  # noqa: ANN401
    import pyarrow.parquet

    options = ("--tables", "intervals", "--out", "t", "--interval", "100ms")
    _, result = run(*DEBIT, "--set", "refresh.policy=scrub", *options)
    stage = result["activity"]["stage"]
    tasks = {"host", "gc", "refresh"}
    assert {key: set(stage[key]) for key in ("shares", "limits", "outstanding", "waiting")} == dict.fromkeys(
        ("shares", "limits", "outstanding", "waiting"), tasks
    )
    intervals = len(result["activity"]["dies"][0])
    for at in range(intervals):
        assert sum(shares[at] for shares in stage["shares"].values()) == pytest.approx(100)
        for task in tasks:
            # A limit that has just fallen may be exceeded for a while.
            assert stage["outstanding"][task][at] <= max(stage["limits"][task])
    # GC starts with the smallest share, and needs more.
    assert stage["shares"]["gc"][0] == 5
    assert max(stage["shares"]["gc"]) > 5
    assert max(stage["most_reads"]) > 0
    table = pyarrow.parquet.read_table(tmp_path / "t" / "intervals.parquet").to_pydict()
    for row, share in enumerate(table["gc_share"]):
        assert share + table["host_share"][row] + table["refresh_share"][row] == pytest.approx(100)
        assert table["gc_outstanding"][row] <= max(table["gc_limit"])
    page = synthetic.page_of(result, "activity")
    assert "How tasks share the dies over time" in page
    assert "Shares of the background tasks; the host has the rest" in page
    assert "Dotted: the most that a task may have outstanding" in page
    (outstanding,) = [panel for panel in sharing.panels(result) if panel.label == "operations\noutstanding"]
    limits = {name: (colour, values) for name, (colour, style), values in outstanding.curves if style == ":"}
    colours = {name: colour for name, (colour, style), _ in outstanding.curves if style != ":"}
    assert limits["limit of GC"] == (colours["GC"], stage["limits"]["gc"])
    assert limits["limit of host"] == (colours["host"], stage["limits"]["host"])

    _, result = run("--tables", "intervals", "--out", "t")
    assert "stage" not in result["activity"]
    assert "gc_share" not in pyarrow.parquet.read_schema(tmp_path / "t" / "intervals.parquet").names
    assert "How tasks share the dies" not in synthetic.page_of(result, "activity")


def test_the_waiting_of_flash_operations_is_told_by_task_and_cause(run: Any, tmp_path: Path) -> None:  # noqa: ANN401
    import pyarrow.parquet

    _, result = run(*DEBIT, "--tables", "intervals", "--out", "t", "--interval", "100ms")
    told, done = result["time_of"]["operations"], result["tasks"]
    assert set(told) == set(done) == {"host", "gc"}
    for name, waited in told.items():
        assert waited["count"] == sum(done[name].get(kind, 0) for kind in ("reads", "programs", "erases"))
        causes = {key: value for key, value in waited.items() if key not in ("count", "wait_us", "energy_j")}
        assert set(causes) == {"wait_die_read_us", "wait_die_write_us", "wait_die_gc_us", "wait_free_us"}
        assert sum(causes.values()) == pytest.approx(waited["wait_us"])
        assert waited["wait_us"] > 0
    # The means of the intervals, each of as many operations as began there.
    table = pyarrow.parquet.read_table(tmp_path / "t" / "intervals.parquet").to_pydict()
    rows = range(len(table["start_s"]))
    for name, waited in told.items():
        kinds = [f"{name}_{kind}" for kind in ("reads", "programs", "erases") if f"{name}_{kind}" in table]
        counts = [sum(table[kind][row] for kind in kinds) for row in rows]
        measured = [row for row in rows if table["start_s"][row] < result["measured_to_s"] and counts[row]]
        mean = sum(table[f"{name}_op_wait_us"][row] * counts[row] for row in measured) / waited["count"]
        assert mean == pytest.approx(waited["wait_us"])
    # What cells and buses took; some commands are still under way at the last completion.
    paid, energy = sum(waited["energy_j"] for waited in told.values()), result["energy"]
    assert paid == pytest.approx(result["energy_j"] - energy["standby_j"], rel=1e-3)
    assert all(waited["energy_j"] > 0 for waited in told.values())
    shown = sharing.waits_table(result)
    assert shown["heads"][:3] == ["operations", "energy", "wait"] and shown["heads"][-1] == "die free"
    assert [name for name, _ in shown["rows"]] == ["host", "GC"]
    host = told["host"]
    expected = [units.count(host["count"]), units.energy(host["energy_j"]), units.latency(host["wait_us"])]
    assert shown["rows"][0][1][:3] == expected
    assert "Flash operations by task" in synthetic.page_of(result, "time_of")
    del result["time_of"]["operations"]
    assert "Flash operations by task" not in synthetic.page_of(result, "time_of")


def test_a_fixed_share_limits_what_is_outstanding(run: Any) -> None:  # noqa: ANN401
    # The demo has eight dies of four places.
    _, result = run("--set", "dispatch.policy=debit", "--set", "shares.percent.gc=25")
    stage = result["activity"]["stage"]
    places = 4 * result["drive"]["dies"]
    assert set(stage["shares"]["gc"]) == {25}
    assert set(stage["limits"]["gc"]) == {places // 4}
    assert set(stage["limits"]["host"]) == {3 * places // 4}


def test_shares_that_have_no_effect_or_make_no_sense_are_refused(wordline: Run, mixed: Any) -> None:  # noqa: ANN401
    mixed(50)

    def wrong(*settings: str) -> Any:  # noqa: ANN401
        return wordline("run", "demo", "mixed.toml", *(part for setting in settings for part in ("--set", setting)))

    debit = "dispatch.policy=debit"
    refused(wrong("shares.percent.gc=20"), "shares.policy", "takes no shares", '"debit"')
    refused(wrong("shares.policy=feedback", "dispatch.policy=one-queue"), "shares.policy", "one-queue")
    refused(wrong(debit, "shares.percent.refresh=20"), "shares.percent.refresh", "no such background task", "gc")
    refused(wrong(debit, "shares.percent.gc=100"), "shares.percent.gc", "below 100")
    refused(wrong(debit, "shares.policy=feedback", "shares.least=90"), "shares.most", "at least 90")
    refused(wrong(debit, "shares.policy=feedback", "shares.i.gc=1"), "shares.i.gc", "below 1")
    refused(wrong(debit, "dispatch.depth=0"), "dispatch.depth", "1 to 65,535")
    refused(wrong(debit, "dispatch.window=3"), "dispatch.window", "fifo")
    spread = ("placement.policy=least-busy", "collect.scope=drive", "pack.gather=true")
    refused(
        wrong("pack.gather=true", "placement.policy=static", "collect.scope=plane"),
        "pack.gather",
        "no effect",
        "least-busy",
    )
    refused(wrong(*spread[::2], "collect.scope=plane"), "pack.gather", "no effect", "drive")
    refused(wrong(*spread, debit), "pack.gather", "no effect", "debit")
    refused(wrong(*spread, "collect.window_pages=1"), "collect.window_pages", "pack.gather")
    refused(wrong("collect.blocks_per_die=0"), "collect.blocks_per_die", "at least 1")
    gc_first = ("arbiter.policy=priority", "collect.scope=plane")
    refused(wrong("collect.pacing=true", *gc_first), "collect.pacing", "no effect", '"drive"')


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ('["host","wear"]', "names 'wear', and the drive has no such task; leave it out"),
        ('["host","collector"]', "has no task 'collector'; tasks are: host, gc, refresh, wear"),
        ('["gc","gc"]', "names 'gc' twice"),
    ],
)
def test_an_order_of_tasks_names_those_of_the_drive(wordline: Run, order: str, told: str) -> None:
    refused(wordline("check", "demo", "--set", "dispatch.policy=priority", "--set", f"dispatch.order={order}"), told)
