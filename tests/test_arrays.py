"""Arrays of drives as a user runs them: files and their errors, results with members, parity and rebuild, Python."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import wordline as api
from conftest import SMALL_DRIVE, Run, done, parsed, refused

TINY = SMALL_DRIVE.replace("blocks_per_plane = 40", "blocks_per_plane = 24").replace(
    "dies_per_package = 2", "dies_per_package = 1"
)

LOAD = """\
[[job]]
name = "mixed"
rw = "randrw"
bs = "8k"
iodepth = 16
number_ios = 4000
"""


def write(folder: Path, text: str, name: str = "array.toml") -> Path:
    (folder / "tiny.toml").write_text(TINY)
    (folder / "load.toml").write_text(LOAD)
    path = folder / name
    path.write_text(text)
    return path


def of(kind: str, *lines: str, members: int = 4) -> str:
    rest = "\n".join(lines)
    return f'[array]\nkind = "{kind}"\nmembers = {members}\ndrive = "tiny.toml"\n{rest}\n'


def result(wordline: Run, folder: Path, text: str, *more: str) -> dict[str, Any]:
    write(folder, text)
    return parsed(done(wordline("run", "array.toml", "load.toml", "--json", "-", "--quiet", *more, cwd=folder)))


AGC = """
extends = "demo"
[geometry]
blocks_per_plane = 60
pages_per_block = 32
[mapping]
policy = "bast"
[collect]
policy = "agc"
scope = "drive"
[precondition]
overwrites = 1.0
"""
RESTS = """
[[job]]
rw = "randwrite"
bs = "64k"
norandommap = true
number_ios = 300
thinktime_blocks = 1
thinktime_us = 400000
"""


def test_members_without_parity_look_ahead_and_their_merges_are_added_up(tmp_path: Path) -> None:
    (tmp_path / "member.toml").write_text(AGC)
    (tmp_path / "rests.toml").write_text(RESTS)
    found = {}
    for kind, members in (("raid0", 1), ("raid0", 2), ("raid5", 3)):
        array = f'[array]\nkind = "{kind}"\nmembers = {members}\ndrive = "member.toml"\nstripe_kib = 16\n'
        (tmp_path / "array.toml").write_text(array)
        result = api.run(tmp_path / "array.toml", tmp_path / "rests.toml", progress=False)
        merges, blocks = result["scheduled_merges"], result["log_blocks"]
        assert sum(merges[key] for key in ("on_demand", "look_ahead", "proactive")) == pytest.approx(
            blocks["merges"], abs=2 * members
        )
        assert blocks["mean_us"] > 0
        found[kind, members] = merges["look_ahead"]
    # Each request of 64 KiB is four pages of one drive, or two of each of two.
    assert found["raid0", 1] > 100
    assert found["raid0", 2] == pytest.approx(2 * found["raid0", 1], rel=0.2)
    assert found["raid5", 3] == 0


def test_an_array_of_one_drive_gives_the_outcome_of_the_drive(wordline: Run, tmp_path: Path) -> None:
    ran = result(wordline, tmp_path, of("join", members=1))
    alone = parsed(done(wordline("run", "tiny.toml", "load.toml", "--json", "-", "--quiet", cwd=tmp_path)))
    assert ran["outcome"] == alone["outcome"]
    for key in ("requests", "simulated_s", "latency_us", "flash", "gc", "wear", "write_amplification", "written"):
        assert ran[key] == alone[key], key
    assert ran["array"]["drives"][0]["latency_us"]["read"] == alone["latency_us"]["read"]


def test_members_add_up_and_the_same_run_has_the_same_digest(wordline: Run, tmp_path: Path) -> None:
    ran = result(wordline, tmp_path, of("raid0", "stripe_kib = 16"))
    drives = ran["array"]["drives"]
    assert [row["role"] for row in drives] == ["member"] * 4
    for op in ("read", "write"):
        assert sum(row["by_op"][op]["bytes"] for row in drives) == ran["by_op"][op]["bytes"]
    for key in ("reads", "programs", "erases"):
        assert sum(row["flash"][key] for row in drives) == ran["flash"][key]
    assert sum(row["share"] for row in drives) == pytest.approx(1)
    assert len(ran["utilisation"]["dies"]) == ran["drive"]["dies"] == 16
    assert ran["config"]["array"]["stripe_kib"] == 16
    assert ran["precondition"]["filled_units"] > 0
    assert result(wordline, tmp_path, of("raid0", "stripe_kib = 16"))["digest"] == ran["digest"]
    assert result(wordline, tmp_path, of("raid0", "stripe_kib = 32"))["digest"] != ran["digest"]


def test_four_drives_are_faster_than_one(wordline: Run, tmp_path: Path) -> None:
    write(tmp_path, of("raid0"))
    set_depth = ("--load-set", "job.0.iodepth=64")
    rates = [
        parsed(done(wordline("run", drive, "load.toml", *set_depth, "--json", "-", "--quiet", cwd=tmp_path)))["iops"]
        for drive in ("tiny.toml", "array.toml")
    ]
    assert rates[1] > 2 * rates[0]


def test_check_shows_capacity_members_and_stripe(wordline: Run, tmp_path: Path) -> None:
    write(tmp_path, of("raid5", "spare = true"))
    checked = parsed(done(wordline("check", "array.toml", "--json", cwd=tmp_path)))
    alone = parsed(done(wordline("check", "tiny.toml", "--json", cwd=tmp_path)))["derived"]["logical_bytes"]
    stripes = checked["array"]["stripes"]
    assert stripes == alone // (64 << 10)
    assert checked["derived"]["logical_bytes"] == 3 * stripes * (64 << 10)
    assert [row["role"] for row in checked["array"]["drives"]] == ["member"] * 4 + ["spare"]
    text = " ".join(done(wordline("check", "array.toml", cwd=tmp_path)).split())
    assert "RAID-5, 4 members and a spare of tiny.toml; stripes of 64 KiB on each" in text
    assert "array.toml:2:1" in text, "the place of array.kind"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (of("raid0", "stripes_kib = 64"), ["array.toml:5:1", "stripes_kib", "stripe_kib"]),
        (of("raid0", "stripe_kib = 6"), ["array.toml:5:", "array.stripe_kib = 6", "4 and 8"]),
        (of("raid6"), ["array.toml:2:8", "raid6", "raid5"]),
        (of("raid5", members=2), ["array.toml:3:1", "array.members = 2", "at least 3"]),
        (of("join", "stripe_kib = 64"), ["array.toml:5:", "no stripes", "raid0"]),
        (of("raid0", "spare = true"), ["array.toml:5:", "array.spare", "raid5"]),
        (of("raid5", "fail_member = 4"), ["array.toml:5:", "fail_member = 4", "0 to 3"]),
        (of("raid5", "fail_member = 1", "fail_at_s = -1.0"), ["array.toml:6:", "fail_at_s = -1"]),
        ("[array]\nmembers = 3\n", ["array.drive", "missing", "members"]),
        ('[array]\ndrive = "tiny.toml"\n', ["array.members", "members = 6"]),
        (of("raid0").replace("tiny", "tinny"), ["array.toml:4:1", "tinny.toml", "no such file"]),
        (of("raid0").replace("tiny.toml", "dmo"), ["array.toml:4:1", "dmo", "demo"]),
        ('[array]\nmembers = ["tiny.toml", "small.toml"]\n', ["array.toml:2:1", "one capacity", "join"]),
        ('[array]\nkind = "join"\nmembers = ["tiny.toml", "units.toml"]\n', ["array.toml:3:1", "mapping units"]),
        ('[array]\nmembers = ["tiny.toml", "array.toml"]\n', ["array.toml", "is an array itself"]),
        ("[array\nmembers = 2\n", ["array.toml:1", "[array"]),
        (of("raid0", "[geometry]", "channels = 2"), ["array.toml:5:", "geometry"]),
    ],
)
def test_a_wrong_file_is_refused(wordline: Run, tmp_path: Path, text: str, words: list[str]) -> None:
    write(tmp_path, text)
    (tmp_path / "small.toml").write_text(SMALL_DRIVE)
    (tmp_path / "units.toml").write_text(TINY.replace("1.28", "1.5") + '\n[mapping]\npolicy = "page"\nunit_kib = 4\n')
    refused(wordline("check", "array.toml", cwd=tmp_path), *words)


def test_overrides_reach_the_array_all_members_or_one(wordline: Run, tmp_path: Path) -> None:
    write(tmp_path, of("raid0"))
    sets = ("array.stripe_kib=128", "victim.policy=fifo", "member.2.victim.policy=random")
    arguments = [word for text in sets for word in ("--set", text)]
    checked = parsed(done(wordline("check", "array.toml", *arguments, "--json", cwd=tmp_path)))
    assert checked["array"]["stripe_bytes"] == 128 << 10
    policies = {
        member: drive["config"]["victim"]["policy"]
        for drive in checked["config"]["drives"]
        for member in drive["members"]
    }
    assert policies == {0: "fifo", 1: "fifo", 2: "random", 3: "fifo"}
    check = ("check", "array.toml", "--set")
    refused(wordline(*check, "victim.polcy=fifo", cwd=tmp_path), "--set victim.polcy=fifo", "victim.policy")
    one = "member.2.victim.polcy=fifo"
    refused(wordline(*check, one, cwd=tmp_path), f"--set {one}: unknown key 'victim.polcy'", "victim.policy")
    refused(wordline(*check, "member.4.victim.policy=fifo", cwd=tmp_path), "members 0 to 3")
    refused(wordline(*check, "member.x.victim.policy=fifo", cwd=tmp_path), "by its number")
    refused(wordline(*check, "array.stripe_kib=7", cwd=tmp_path), "--set array.stripe_kib=7", "4 and 8")


def test_what_takes_one_drive_alone_says_so(wordline: Run, tmp_path: Path) -> None:
    write(tmp_path, of("raid0"))
    refused(wordline("precondition", "array.toml", "-o", "a.snap", cwd=tmp_path), "array of drives", "no snapshot")
    refused(wordline("serve", "array.toml", cwd=tmp_path), "array of drives")
    run = ("run", "array.toml", "load.toml")
    refused(wordline(*run, "--from", "a.snap", cwd=tmp_path), "a snapshot is of one drive")
    refused(wordline(*run, "--timeline", "t.pftrace", cwd=tmp_path), "a timeline shows one drive", "tables")
    refused(wordline(*run, "--watch", "10x", cwd=tmp_path), "this is an array", "by itself")


def test_parity_is_counted_and_a_member_is_rebuilt(wordline: Run, tmp_path: Path) -> None:
    keys = ("spare = true", "fail_member = 1", "fail_at_s = 0.02", "rebuild_mib_s = 400")
    ran = result(wordline, tmp_path, of("raid5", *keys), "--load-set", "job.0.number_ios=20000")
    parity, drives = ran["array"]["parity"], ran["array"]["drives"]
    assert [row["role"] for row in drives] == ["member", "failed", "member", "member", "spare"]
    assert parity["failed_member"] == 1
    assert parity["failed_at_s"] == pytest.approx(0.02)
    assert parity["degraded_reads"] > 0
    assert parity["modify_writes"] + parity["reconstruct_writes"] > 5000
    assert parity["rebuilt_bytes"] == round(parity["rebuilt_share"] * ran["array"]["stripes"]) * (64 << 10)
    # Small writes of a RAID-5 cost a data and a parity write, until a member misses.
    written = sum(row["by_op"]["write"]["bytes"] for row in drives) - parity["rebuilt_bytes"]
    assert (
        ran["by_op"]["write"]["bytes"] < written < ran["by_op"]["write"]["bytes"] + parity["parity_written_bytes"] + 1
    )
    write(tmp_path, of("raid5", *keys))
    text = done(
        wordline(
            "run", "array.toml", "load.toml", "--load-set", "job.0.number_ios=20000", "--report", "r.html", cwd=tmp_path
        )
    )
    assert "member 1 failed at 20.0 ms" in text
    assert "member 1 (failed)" in text
    page = (tmp_path / "r.html").read_text()
    assert 'id="members"' in page
    assert "Reads made from the other members" in page


def test_tables_are_of_members(wordline: Run, tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    ran = result(wordline, tmp_path, of("raid0", members=2), "--tables", "requests,intervals", "--out", "out")
    drives = ran["array"]["drives"]
    for member in range(2):
        requests = parquet.read_table(tmp_path / "out" / f"member{member}" / "requests.parquet")
        assert len(requests) == drives[member]["requests"]
        mean = sum(requests["latency_us"].to_pylist()) / len(requests)
        assert mean == pytest.approx(drives[member]["latency_us"]["all"]["mean"])
    # Looking on changes nothing.
    assert result(wordline, tmp_path, of("raid0", members=2))["outcome"] == ran["outcome"]


def msr(path: Path, disks: list[int], count: int = 300) -> None:
    """A trace of a server with several disks, each with requests of its own."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        for nth in range(count):
            disk = disks[nth % len(disks)]
            kind = "Write" if nth % 3 else "Read"
            rows.writerow([128166372003061629 + nth * 5000, "msn", disk, kind, (nth * 37 % 500) * 4096, 4096, 100])


def test_each_member_replays_the_trace_of_its_own_disk(wordline: Run, tmp_path: Path) -> None:
    write(tmp_path, of("join", members=3))
    msr(tmp_path / "msn.csv", [2, 0, 1])
    replay = ("run", "array.toml", "msn.csv", "--format", "msr", "--json", "-", "--quiet")
    ran = parsed(done(wordline(*replay, "--load-set", "trace.devices=members", cwd=tmp_path)))
    assert [row["requests"] for row in ran["array"]["drives"]] == [100, 100, 100]
    by_name = {job["name"]: job["latency_us"]["all"]["mean"] for job in ran["jobs"]}
    assert set(by_name) == {"msn_0", "msn_1", "msn_2"}
    # Disk 0 by itself on one drive takes as long, request by request on the whole.
    one = parsed(
        done(
            wordline(
                "run",
                "tiny.toml",
                "msn.csv",
                "--format",
                "msr",
                "--device",
                "msn_0",
                "--json",
                "-",
                "--quiet",
                cwd=tmp_path,
            )
        )
    )
    assert by_name["msn_0"] == pytest.approx(one["latency_us"]["all"]["mean"], rel=0.2)
    two = of("join", members=2)
    write(tmp_path, two)
    together = """\
[trace]
file = "msn.csv"
format = "msr"
devices = "members"
member_devices = [["msn_0", "msn_2"], ["msn_1"]]
"""
    (tmp_path / "disks.toml").write_text(together)
    ran = parsed(done(wordline("run", "array.toml", "disks.toml", "--json", "-", "--quiet", cwd=tmp_path)))
    assert [row["requests"] for row in ran["array"]["drives"]] == [200, 100]
    refused(
        wordline(*replay, "--load-set", "trace.devices=members", cwd=tmp_path),
        "3 devices",
        "2 members",
        "member_devices",
    )
    (tmp_path / "disks.toml").write_text(together.replace("msn_1", "msn_7"))
    refused(wordline("run", "array.toml", "disks.toml", cwd=tmp_path), "disks.toml:5", "msn_7", "msn_0, msn_1")
    refused(wordline("run", "tiny.toml", "disks.toml", cwd=tmp_path), "disks.toml:4", "joined")


def test_an_array_in_python_keeps_its_state_and_forks(tmp_path: Path) -> None:
    path = write(tmp_path, of("raid5"))
    array = api.Drive(path)
    assert array.capacity == array.derived["logical_bytes"]
    assert array.precondition()["filled_units"] > 0
    load = api.Workload.job(rw="randwrite", bs="8k", iodepth=8, number_ios=2000)
    copy, other = array.fork(), array.fork({"victim.policy": "fifo"})
    first = array.run(load)
    assert copy.run(load)["outcome"] == first["outcome"]
    assert array.run(load)["outcome"] != first["outcome"], "it goes on from where it was"
    assert other.config["drives"][0]["config"]["victim"]["policy"] == "fifo"
    assert other.run(load)["requests"] == 2000
    assert array.state["runs"] == 2
    with pytest.raises(api.InputError, match="another layout"):
        copy.fork({"array.stripe_kib": 32})
    with pytest.raises(api.InputError, match="no snapshot"):
        array.save(tmp_path / "a.snap")
    assert json.loads(json.dumps(first))["array"]["kind"] == "raid5"


def test_a_sweep_takes_an_array(wordline: Run, tmp_path: Path) -> None:
    write(tmp_path, of("raid0"))
    (tmp_path / "sweep.toml").write_text(
        'drive = "array.toml"\nload = "load.toml"\n[vary]\n'
        '"array.stripe_kib" = [16, 64]\n"victim.policy" = ["greedy", "fifo"]\n'
    )
    done(wordline("sweep", "sweep.toml", "-o", "points", "--quiet", cwd=tmp_path))
    with (tmp_path / "points" / "points.csv").open() as file:
        points = list(csv.DictReader(file))
    assert [(point["array.stripe_kib"], point["victim.policy"]) for point in points] == [
        ("16", "greedy"),
        ("16", "fifo"),
        ("64", "greedy"),
        ("64", "fifo"),
    ]
    assert len({point["iops"] for point in points}) > 1


def test_compare_and_repeats_take_arrays(wordline: Run, tmp_path: Path) -> None:
    write(tmp_path, of("raid0"))
    for name, kib in (("a", 16), ("b", 256)):
        run = ("run", "array.toml", "load.toml", "--set", f"array.stripe_kib={kib}", "--repeat", "2", "--quiet")
        done(wordline(*run, "--json", f"{name}.json", cwd=tmp_path))
    text = done(wordline("compare", "a.json", "b.json", "--report", "c.html", cwd=tmp_path))
    assert "array.stripe_kib" in text or "array.stripe_kib" in (tmp_path / "c.html").read_text()
