"""The studies of wear leveling: the paper's disks, what runs write, and figures by hand."""

from __future__ import annotations

import pytest
import wordline
from wordline.studies import catalogue
from wordline.studies.context import Context
from wordline.studies.leveling import LAZY, NOTEBOOK, Disk, Point, Runs, increase_percent, sampled, stable_interval


def runs() -> Runs:
    """Runs of the study."""
    return Runs(Context(catalogue.load("wear-leveling")))


@pytest.mark.parametrize(
    ("disk", "blocks", "pages", "spare"),
    [
        (Disk(), 656, 128, 16),
        (Disk(page_kib=2, block_kib=128), 656, 64, 16),
        (Disk("bast", block_kib=2048, spare_percent=1.25, logical_blocks=320), 324, 512, 4),
        (Disk("fast", block_kib=2048, spare_percent=0.625, logical_blocks=960), 966, 512, 6),
    ],
)
def test_disks_have_the_over_provisioning_of_the_paper(disk: Disk, blocks: int, pages: int, spare: int) -> None:
    drive = wordline.check("chang11-lctes", runs().sets(Point(disk, NOTEBOOK, LAZY, 1)))
    assert drive["config"]["geometry"]["blocks_per_plane"] == blocks
    assert drive["config"]["geometry"]["pages_per_block"] == pages
    assert drive["derived"]["raw_bytes"] == blocks * disk.block_kib * 1024
    logical = (blocks - spare) * disk.block_kib * 1024
    assert drive["derived"]["logical_bytes"] == pytest.approx(logical, abs=4096), "but for rounding"
    assert drive["config"]["mapping"]["policy"] == disk.mapping


def test_all_workloads_write_as_many_capacities() -> None:
    of = runs()
    # 640 blocks of half a MiB, 1.35 times a replay: 432 MiB.
    assert of.written_mib(Point(Disk(), NOTEBOOK, LAZY, 1)) == 432
    assert of.written_mib(Point(Disk(), "multimedia", LAZY, of.replays)) == 43_200
    experiment = of.experiment(Point(Disk("sast"), NOTEBOOK, (("delta_cycles", 4),), 0.5))
    assert experiment["jobs"][0]["io_size"] == "216m"
    assert experiment["sets"]["wear"] == {"policy": "lazy", "delta_cycles": 4}


def test_the_notebook_writes_requests_of_the_published_size() -> None:
    shares = [it.split("/") for it in runs().workloads[NOTEBOOK]["bssplit"].split(":")]
    assert sum(int(size.rstrip("k")) * int(share) for size, share in shares) / 100 == pytest.approx(22, abs=0.1)


def test_a_value_for_each_step_of_what_is_written() -> None:
    assert sampled([10, 30, 40], [1.0, 2.0, 3.0], 4) == [2.0, 2.0, 3.0, 3.0]
    assert sampled([1, 1], [5.0, 6.0], 2) == [5.0, 6.0]


def test_a_stable_interval_ends_where_the_value_comes_back() -> None:
    assert stable_interval([1, 2, 3, 4, 5]) == 1, "it never comes back"
    # From 3 at the second step down again between the fifth and the sixth.
    assert stable_interval([1, 3, 5, 4, 4, 2]) == 4
    assert stable_interval([0, 5, 6, 5, 6, 5]) == 4
    assert stable_interval([]) == 0


def test_the_cost_is_a_change_of_the_mean() -> None:
    assert increase_percent(
        {"a": {"wear": {"mean": 102.0}}, "b": {"wear": {"mean": 100.0}}}, "a", "b"
    ) == pytest.approx(2)


def test_a_short_run_measures_what_the_studies_need() -> None:
    point = Point(Disk("fast", logical_blocks=200), NOTEBOOK, LAZY, 2)
    result = runs().watched([point], 10)[point]
    assert len(result["deviations"]) == 10
    assert result["deviations"][-1] == pytest.approx(result["wear"]["stddev"], rel=0.02)
    assert result["wear_leveling"]["wear_erases"] >= result["tasks"]["wear"]["erases"] > 0
