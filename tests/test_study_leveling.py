"""The studies of wear leveling: the paper's disks, what runs write, and figures by hand."""

from __future__ import annotations

import pytest
import wordline
from wordline.studies import catalogue
from wordline.studies.context import Context
from wordline.studies.leveling import LAZY, NOTEBOOK, Disk, Point, Runs, deviations, increase_percent, stable_interval


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
    drive = wordline.check("chang11-lctes", runs().sets(Point(disk, NOTEBOOK, LAZY)))
    assert drive["config"]["geometry"]["blocks_per_plane"] == blocks
    assert drive["config"]["geometry"]["pages_per_block"] == pages
    assert drive["derived"]["raw_bytes"] == blocks * disk.block_kib * 1024
    logical = (blocks - spare) * disk.block_kib * 1024
    assert drive["derived"]["logical_bytes"] == pytest.approx(logical, abs=4096), "but for rounding"
    assert drive["config"]["mapping"]["policy"] == disk.mapping


def test_a_replay_writes_as_many_capacities_to_each_disk() -> None:
    of = runs()
    # 640 blocks of half a MiB, 1.35 times: 432 MiB.
    assert of.written_mib(Disk()) == 432
    assert of.written_mib(Disk("bast", block_kib=2048, logical_blocks=320)) == 864
    assert of.replays == 100
    experiment = of.experiment(Point(Disk("sast"), NOTEBOOK, (("delta_cycles", 4),)), io_size="216m")
    assert experiment["jobs"][0]["io_size"] == "216m"
    assert experiment["sets"]["wear"] == {"policy": "lazy", "delta_cycles": 4}


def test_the_notebook_writes_requests_of_the_published_size() -> None:
    shares = [it.split("/") for it in runs().workloads[NOTEBOOK]["bssplit"].split(":")]
    assert sum(int(size.rstrip("k")) * int(share) for size, share in shares) / 100 == pytest.approx(22, abs=0.1)


def test_the_deviation_goes_straight_between_points_of_the_curve() -> None:
    points = [{"host_bytes": n, "stddev": value} for n, value in ((0, 0.0), (40, 4.0), (80, 2.0), (100, 3.0))]
    told = deviations({"lifetime": points}, 5)
    assert told == pytest.approx([2.0, 4.0, 3.0, 2.0, 3.0])


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


def test_a_small_disk_measures_what_the_studies_need() -> None:
    of = runs()
    of.chapter["replays"], of.chapter["timed_writes"] = 2, 100
    point = Point(Disk("fast", logical_blocks=200), NOTEBOOK, LAZY)
    result = of.worn([point])[point]
    assert result["replay"]["times"] == 2 and result["replay"]["host_bytes"] == 2 * of.written_mib(point.disk) << 20
    course = deviations(result, 10)
    assert len(course) == 10 and course[-1] == pytest.approx(result["wear"]["stddev"])
    assert result["wear_leveling"]["wear_erases"] == result["tasks"]["wear"]["erases"] > 0
    assert of.in_time([point])[point]["requests"] == 100
