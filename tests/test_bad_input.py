"""Every user error: rejected with status 2 and a message with place, value and remedy."""

from __future__ import annotations

import gzip
import os
import re
import resource
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest
from conftest import BUNDLED, PROGRAM, SMALL_DRIVE, TRACE_ROWS, Run, done, parsed, refused, started, trace_text


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("victim.polcy=greedy", ["victim.polcy", "victim.policy"]),
        ("victm.policy=greedy", ["victm", "victim"]),
        ("victim.policy=greddy", ["greddy", "greedy"]),
        ("nand.read=50", ["nand.read", "read_us"]),
        ("nand.read_ms=50", ["read_ms", "read_us"]),
        ("geometry.channels=0", ["geometry.channels", "0"]),
        ("geometry.channels=-1", ["geometry.channels", "-1"]),
        ("geometry.channels=many", ["geometry.channels", "many"]),
        ("geometry.blocks_per_plane=99999999999", ["geometry.blocks_per_plane", "99999999999"]),
        ("geometry.blocks_per_plane=16000000", ["geometry"]),
        ("geometry.page_kib=12", ["geometry.page_kib", "12"]),
        ("capacity.raw_over_logical=0.9", ["capacity.raw_over_logical", "0.9"]),
        ("capacity.raw_over_logical=1.00001", ["capacity.raw_over_logical", "1.00001"]),
        ("capacity.raw_over_logical=nan", ["capacity.raw_over_logical"]),
        ("placement.order=CWDD", ["order", "CWDD"]),
        ("noequals", ["noequals", "KEY=VALUE"]),
        ("nand.read_ns=50", ["read_ns", "read_us", "microseconds", "nanoseconds"]),
        ("nand.read_us=50us", ["nand.read_us", "50us", "write 50"]),
        ("nand.read_us=-5", ["nand.read_us", "-5"]),
        ("nand.read_us=inf", ["nand.read_us", "inf"]),
        ("geometry=4", ["geometry", "4", "table"]),
        ("geometry.channels=", ["geometry.channels", "empty"]),
        ("victim.d=4", ["victim.d", "4", "greedy", "best-of"]),
        ("collect.scope=drive", ["placement.policy", "static", "collect.scope"]),
        ("queue.queues=0", ["queue.queues", "0"]),
        ("precondition.overwrites=-1", ["precondition.overwrites", "-1", "1000"]),
    ],
)
def test_settings(wordline: Run, drive: Path, setting: str, words: list[str]) -> None:
    extra = ["--set", "placement.policy=static"] if setting.startswith("placement") else []
    refused(wordline("check", drive, *extra, "--set", setting), *words)


def test_a_drive_that_no_memory_holds(wordline: Run, drive: Path, load: Path) -> None:
    huge = ("--set", "geometry.blocks_per_plane=60000", "--set", "geometry.channels=64")
    limit = 2 << 30  # less than this drive needs, on any machine

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    refused(wordline("run", drive, load, *huge, preexec_fn=small), "GiB of memory", "[geometry]")
    refused(wordline("precondition", drive, "-o", "s", *huge, preexec_fn=small), "GiB of memory")


def test_crossed_thresholds(wordline: Run, drive: Path) -> None:
    crossed = ["--set", "collect.start_blocks=12", "--set", "collect.stop_blocks=5"]
    refused(wordline("check", drive, *crossed), "collect.", "12", "5")


def test_a_mistake_in_a_file_has_line_and_column(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(SMALL_DRIVE + "\n[nand]\nreed_us = 50\n")
    line = SMALL_DRIVE.count("\n") + 3
    refused(wordline("check", "bad.toml"), f"bad.toml:{line}:1", "reed_us", "read_us")


def test_a_file_that_is_no_toml(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[geometry\nchannels = 4\n")
    refused(wordline("check", "bad.toml"), "bad.toml:1", "[geometry")
    (tmp_path / "twice.toml").write_text("[geometry]\nchannels = 4\nchannels = 5\n")
    refused(wordline("check", "twice.toml"), "twice.toml:3:1", "channels = 5")
    (tmp_path / "bytes.toml").write_bytes(bytes(range(256)))
    refused(wordline("check", "bytes.toml"), "bytes.toml")


def test_an_unknown_preset(wordline: Run) -> None:
    refused(wordline("check", "dmo"), "dmo", "demo")


def test_missing_files(wordline: Run, drive: Path) -> None:
    refused(wordline("check", "missing.toml"), "missing.toml")
    assert "os error" not in refused(wordline("run", drive, "missing.csv"), "missing.csv: no such file")
    refused(wordline("trace", "info", "missing.csv"), "missing.csv")


def test_directories_are_no_files(wordline: Run, drive: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    refused(wordline("check", "folder"), "folder")
    refused(wordline("run", drive, "folder"), "folder")


def test_an_unknown_key_of_the_load(wordline: Run, drive: Path, tmp_path: Path) -> None:
    (tmp_path / "load.toml").write_text('[[job]]\nrw = "randread"\niodpeth = 4\n')
    refused(wordline("run", drive, "load.toml"), "load.toml:3:1", "iodpeth", "iodepth")
    (tmp_path / "empty.toml").write_text("")
    refused(wordline("run", drive, "empty.toml"), "empty.toml", "[[job]]")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[job]]\nrw = "randrw"\nbs = "4kk"\n', ["load.toml:3:1", "4kk", "4096"]),
        ('[[job]]\nrw = "read"\n[[job]]\nname = "b"\nsize = "10t"\n', ["load.toml:5:1", "10t", "the drive"]),
        ('[[job]]\nrw = "randomread"\n', ["load.toml:2", "randomread", "randread"]),
        ("[[job]]\niodepth = 0\n", ["load.toml:2:1", "iodepth", "0"]),
        ('[job]\nrw = "read"\n', ["load.toml:1:1", "[[job]]"]),
        ("[trace]\n", ["load.toml", "trace.file"]),
        ('[trace]\nfile = "nothing.csv"\n', ["load.toml:2:1", "nothing.csv", "no such file"]),
    ],
)
def test_mistakes_in_a_load_have_their_line(
    wordline: Run, drive: Path, tmp_path: Path, text: str, words: list[str]
) -> None:
    (tmp_path / "load.toml").write_text(text)
    refused(wordline("run", drive, "load.toml"), *words)


def test_options_for_traces_need_a_trace(wordline: Run, drive: Path, load: Path) -> None:
    refused(wordline("run", drive, load, "--past-end", "wrap"), "--past-end wrap", "load.toml", "[trace]")


def test_unknown_words_for_traces(wordline: Run, drive: Path, trace: Path) -> None:
    refused(wordline("run", drive, trace, "--format", "disksmi"), "--format disksmi", "disksim")
    refused(wordline("trace", "info", trace, "--format", "disksmi"), "--format disksmi", "disksim")
    refused(wordline("run", drive, trace, "--past-end", "wrp"), "--past-end wrp", "wrap")
    refused(wordline("run", drive, trace, "--pace", "fast"), "--pace fast", "asap")
    refused(wordline("run", drive, trace, "--speed", "0"), "--speed 0:", "above 0")
    refused(wordline("run", drive, trace, "--load-set", "trace.speed=0"), "--load-set trace.speed=0")
    refused(wordline("run", drive, trace, "--loops", "0"), "--loops")


def test_a_binary_file_is_no_trace(wordline: Run, drive: Path, tmp_path: Path) -> None:
    (tmp_path / "random.bin").write_bytes(os.urandom(100_000))
    refused(wordline("run", drive, "random.bin"), "random.bin")
    (tmp_path / "elf.csv").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9_000))
    refused(wordline("trace", "info", "elf.csv"), "elf.csv")


def test_a_truncated_archive(wordline: Run, drive: Path, tmp_path: Path) -> None:
    whole = gzip.compress(trace_text(TRACE_ROWS * 5_000).encode())
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    refused(wordline("run", drive, "cut.csv.gz"), "cut.csv.gz", "cut off", "line")
    (tmp_path / "cut.csv.zst").write_bytes(BUNDLED.read_bytes()[:600_000])
    refused(wordline("trace", "info", "cut.csv.zst"), "cut.csv.zst", "cut off", "line")
    refused(wordline("trace", "info", "cut.csv.gz"), "cut.csv.gz", "cut off")


def test_an_empty_trace(wordline: Run, drive: Path, tmp_path: Path) -> None:
    header = "time_us,op,offset_bytes,size_bytes\n"
    for name, text in (("empty.csv", ""), ("header.csv", header), ("comments.csv", "# nothing\n\n# at all\n")):
        (tmp_path / name).write_text(text)
        refused(wordline("run", drive, name), name)
        refused(wordline("trace", "info", name), name)


SPARE = {
    "capacity.replacement_blocks=200": ["small.toml:13:1", "capacity.replacement_blocks = 200", "at most"],
    "nand.reliability.factory_bad_percent=50": ["small.toml:13:1", "factory_bad_percent = 50", "bad from the factory"],
}


@pytest.mark.parametrize("setting", SPARE)
def test_check_refuses_what_run_refuses(wordline: Run, load: Path, tmp_path: Path, setting: str) -> None:
    key, value = setting.split("=")
    section, _, name = key.rpartition(".")
    text = f"{SMALL_DRIVE.split('[capacity]')[0]}[{section}]\n{name} = {value}\n"
    (tmp_path / "small.toml").write_text(text)
    told = refused(wordline("check", "small.toml"), *SPARE[setting])
    assert refused(wordline("run", "small.toml", load)) == told
    assert refused(wordline("precondition", "small.toml", "-o", "x", "--set", "precondition.fill=true")) == told
    # The remedy helps, and slightly less does not.
    ratio = re.search(r"at least capacity\.raw_over_logical = ([\d.]+)", told)
    if ratio:
        done(wordline("check", "small.toml", "--set", f"capacity.raw_over_logical={ratio[1]}"))
        less = float(ratio[1]) - 0.02
        refused(wordline("check", "small.toml", "--set", f"capacity.raw_over_logical={less:.4f}"), key)


@pytest.mark.parametrize("scope", ["plane", "drive"])
@pytest.mark.parametrize("unit_kib", [4, 16])
def test_the_spare_space_that_is_named_is_enough(wordline: Run, drive: Path, scope: str, unit_kib: int) -> None:
    sets = ["--set", f"collect.scope={scope}", "--set", f"mapping.unit_kib={unit_kib}"]
    sets += ["--set", "placement.policy=least-busy"]
    few = [*sets, "--set", "capacity.raw_over_logical=1.02"]
    told = refused(wordline("check", drive, *few), f"{few[-2]} {few[-1]}", "too little spare", "derived")
    ratio = re.search(r"at least capacity\.raw_over_logical = ([\d.]+)", told)
    blocks = re.search(r"geometry\.blocks_per_plane = (\d+)", told)
    assert ratio and blocks, told
    done(wordline("check", drive, *sets, "--set", f"capacity.raw_over_logical={ratio[1]}"))
    refused(wordline("check", drive, *sets, "--set", f"capacity.raw_over_logical={float(ratio[1]) - 0.0001:.4f}"))
    done(wordline("check", drive, *few, "--set", f"geometry.blocks_per_plane={blocks[1]}"))
    refused(wordline("check", drive, *few, "--set", f"geometry.blocks_per_plane={int(blocks[1]) - 1}"))


def test_a_derived_value_says_from_what(wordline: Run, drive: Path) -> None:
    stop = wordline("check", drive, "--set", "collect.stop_blocks=1")
    refused(stop, "collect.stop_blocks = 1: ", "start_blocks = 2 (derived from reserve_blocks")
    few = refused(wordline("check", drive, "--set", "capacity.raw_over_logical=1.02"))
    least = re.search(r"at least capacity\.raw_over_logical = ([\d.]+)", few)
    assert least
    sets = ("--set", f"capacity.raw_over_logical={least[1]}", "--set", "nand.reliability.program_fail=0.001")
    sets += ("--set", "nand.reliability.endurance=1000")
    told = refused(wordline("check", drive, *sets), "small.toml: capacity.replacement_blocks = 1 (derived: nand.")
    more = re.search(r"at least capacity\.raw_over_logical = ([\d.]+)", told)
    assert more
    done(wordline("check", drive, *sets, "--set", f"capacity.raw_over_logical={more[1]}"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--speed", "1e300"], ["--speed 1e+300", "0.000001 to 1000000"]),
        (["--speed", "1e-300"], ["--speed 1e-300", "0.000001 to 1000000"]),
        (["--speed", "nan"], ["--speed nan"]),
        (
            ["--timeline", "t", "--timeline-limit", "99999999999999999999"],
            ["--timeline-limit", "99999999999999999999"],
        ),
        (["--set", "precondition.overwrites=1e9"], ["precondition.overwrites = 1000000000", "0 and 1000"]),
        (["--set", "precondition.overwrites=1e300"], ["precondition.overwrites = 1e300", "0 and 1000"]),
    ],
)
def test_numbers_beyond_sense(wordline: Run, drive: Path, trace: Path, options: list[str], words: list[str]) -> None:
    told = refused(wordline("run", drive, trace, *options), *words)
    assert len(told) < 400


def test_a_name_steers_no_terminal(wordline: Run, drive: Path, load: Path, tmp_path: Path) -> None:
    red = "a\x1b[31mb\x07.csv"
    refused(wordline("run", drive, red), "a\\x1b[31mb\\x07.csv")
    (tmp_path / red).write_text(trace_text(TRACE_ROWS))
    told = done(wordline("run", drive, red, "--report", "r.html"))
    assert "a\\x1b[31mb" in told
    for text in (told, done(wordline("trace", "info", red)), (tmp_path / "r.html").read_text()):
        assert not {"\x1b", "\x07"} & set(text)
    refused(wordline("run", drive, load, "--set", 'name="a\\u001bb"'), "name = ", "control character")
    refused(wordline("run", drive, load, "--load-set", 'job.0.name="a\\u0007b"'), "name = ", "control character")


def test_a_part_of_a_split_without_a_size(wordline: Run, drive: Path, tmp_path: Path) -> None:
    (tmp_path / "load.toml").write_text('[[job]]\nrw = "randread"\nbssplit = "512/50:"\n')
    refused(wordline("run", drive, "load.toml"), "load.toml:3:1", 'bssplit = "512/50:"', "a part without a size")


def test_time_that_runs_backwards(wordline: Run, drive: Path, tmp_path: Path) -> None:
    lines = trace_text(TRACE_ROWS).splitlines()
    lines[3], lines[5] = lines[5], lines[3]
    (tmp_path / "back.csv").write_text("\n".join(lines) + "\n")
    refused(wordline("run", drive, "back.csv"), "back.csv", "line 5", "--load-set trace.backwards=clamp")
    done(wordline("run", drive, "back.csv", "--load-set", "trace.backwards=clamp"))


def test_mixed_lines(wordline: Run, drive: Path, tmp_path: Path) -> None:
    text = trace_text(TRACE_ROWS) + "9000 0 128 8 1\n"
    (tmp_path / "mixed.csv").write_text(text)
    refused(wordline("run", drive, "mixed.csv"), "mixed.csv", f"line {len(TRACE_ROWS) + 2}", "9000 0 128 8 1")


def test_a_line_without_end(wordline: Run, tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text("x" * 20_000_000)
    refused(wordline("trace", "info", "long.csv"), "long.csv", "longer than 64 KiB")


def test_places_that_cannot_be_written_are_found_before_the_run(wordline: Run, drive: Path, load: Path) -> None:
    # The workload would be rejected as well: the path is checked first.
    missing = ("run", drive, "missing.csv")
    refused(wordline(*missing, "--json", "no/such/dir/r.json"), "no/such/dir/r.json", "does not exist")
    refused(wordline(*missing, "--report", "no/r.html"), "no/r.html", "does not exist")
    refused(wordline(*missing, "--json", "."), "directory")
    refused(wordline(*missing, "--json", f"{load}/r.json"), "load.toml")
    refused(wordline("precondition", drive, "-o", "no/aged.snap"), "no/aged.snap", "does not exist")


def test_a_refused_run_leaves_no_file(wordline: Run, drive: Path, tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    refused(wordline("run", drive, "missing.csv", "--json", "r.json", "--report", "r.html"), "missing.csv")
    assert set(tmp_path.iterdir()) == before


def test_numbers_out_of_range(wordline: Run, drive: Path, load: Path) -> None:
    refused(wordline("run", drive, load, "--seed", "-1"), "--seed")
    refused(wordline("run", drive, load, "--seed", str(2**64)), "--seed")
    refused(wordline("run", drive, load, "--json", "-", "--report", "-"), "standard output")
    refused(wordline("run", drive, load, "--seed", "one"), "--seed", "one")


def test_empty_names(wordline: Run, drive: Path, load: Path) -> None:
    refused(wordline("check", ""), "drive", "empty")
    refused(wordline("run", drive, ""), "load", "empty")
    refused(wordline("run", drive, load, "--json", ""), "file to write", "empty")


def test_nothing_that_is_read_is_written_over(wordline: Run, drive: Path, load: Path, trace: Path) -> None:
    before = [path.read_text() for path in (drive, load, trace)]
    refused(wordline("run", drive, trace, "--json", trace), "small.csv", "read by the same command")
    refused(wordline("run", drive, load, "--report", f"./{load.name}"), "load.toml", "read by the same command")
    refused(wordline("precondition", drive, "-o", drive), "small.toml", "read by the same command")
    refused(wordline("run", drive, load, "--json", "x", "--report", "./x"), "--json", "--report", "same file")
    assert [path.read_text() for path in (drive, load, trace)] == before


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no device that is always full")
def test_a_full_disk(wordline: Run, drive: Path, load: Path, trace: Path, tmp_path: Path) -> None:
    outcome = wordline("run", drive, trace, "--json", "/dev/full", "--report", "r.html")
    assert "Throughput" in outcome.stdout, "what was computed is not lost with the file"
    assert "</html>" in (tmp_path / "r.html").read_text()
    assert outcome.returncode == 1
    assert outcome.stderr == "wordline: /dev/full: cannot write: No space left on device\n"
    with open("/dev/full", "w") as full:  # noqa: PTH123
        command = [PROGRAM, "run", drive, load]
        printed = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (printed.returncode, printed.stderr) == (1, "wordline: standard output: No space left on device\n")


def test_a_device_is_never_replaced_by_a_file(wordline: Run, drive: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused(wordline("precondition", drive, "-o", "pipe"), "pipe", "device")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_link_is_followed(wordline: Run, drive: Path, load: Path, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "latest.json").symlink_to("results/r.json")
    done(wordline("run", drive, load, "--json", "latest.json"))
    assert (tmp_path / "latest.json").is_symlink()
    assert parsed((tmp_path / "results" / "r.json").read_text())["requests"] == 20_000


def test_two_runs_that_write_the_same_file(drive: Path, load: Path, tmp_path: Path) -> None:
    command = [PROGRAM, "run", drive, load, "--quiet", "--json", "same.json", "--seed"]
    runs = [subprocess.Popen([*command, str(seed)], cwd=tmp_path) for seed in range(3)]
    assert [run.wait(timeout=60) for run in runs] == [0, 0, 0]
    assert parsed((tmp_path / "same.json").read_text())["seed"] in range(3)
    assert not list(tmp_path.glob(".*.part"))


def test_snapshots_that_cannot_be_used(wordline: Run, drive: Path, load: Path, tmp_path: Path) -> None:
    done(wordline("precondition", drive, "-o", "aged.snap"))
    whole = (tmp_path / "aged.snap").read_bytes()
    broken = {
        "cut.snap": whole[: len(whole) // 2],
        "short.snap": whole[:5],
        "longer.snap": whole + b"more",
        "flipped.snap": whole[:5_000] + bytes(b ^ 0x55 for b in whole[5_000:5_020]) + whole[5_020:],
        "random.snap": os.urandom(10_000),
        "empty.snap": b"",
    }
    for name, data in broken.items():
        (tmp_path / name).write_bytes(data)
        refused(wordline("run", drive, load, "--from", name), name)
    refused(wordline("run", drive, load, "--from", "."), "directory")
    refused(wordline("run", drive, load, "--from", "nothing"), "nothing: no such file")
    other = ("--set", "geometry.blocks_per_plane=44")
    refused(wordline("run", drive, load, "--from", "aged.snap", *other), "aged.snap", "geometry", "44", "40")
    refused(
        wordline("run", drive, load, "--from", "aged.snap", "--set", "mapping.unit_kib=4"), "mapping.unit_kib", "16"
    )
    # Snapshots allow other policies.
    policies = [
        "victim.policy=fifo",
        "placement.policy=least-busy",
        "arbiter.policy=priority",
        "free_block.policy=fifo",
    ]
    sets = [word for policy in policies for word in ("--set", policy)]
    assert done(wordline("run", drive, load, "--from", "aged.snap", *sets))


def wait_for_engine(pid: int) -> None:
    """Waits until a process has loaded the engine: before that there is nothing to interrupt."""
    maps = Path(f"/proc/{pid}/maps")
    for _ in range(1_000 if maps.exists() else 50):
        if maps.exists() and "_core" in maps.read_text():
            return
        time.sleep(0.02)


def interrupted(
    *arguments: str | Path, cwd: Path, after: float, number: signal.Signals = signal.SIGINT
) -> subprocess.CompletedProcess[str]:
    """A command that gets Ctrl-C, or another signal, after it has run for a while."""
    with started([PROGRAM, *arguments], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for_engine(process.pid)
        time.sleep(after)
        assert process.poll() is None, "it has ended before it could be interrupted"
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 128 + number, err
    assert "Traceback" not in err
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


ENDLESS = ("--set", "precondition.overwrites=1000")


def test_an_interrupt_while_the_drive_is_aged(drive: Path, load: Path, tmp_path: Path) -> None:
    outcome = interrupted("run", "demo", load, *ENDLESS, "--json", "part.json", cwd=tmp_path, after=1)
    assert "PARTIAL" in outcome.stdout and "preconditioned" in outcome.stdout
    result = parsed((tmp_path / "part.json").read_text())
    assert result["partial"] is True
    assert result["precondition"]["interrupted"] is True
    assert result["requests"] == result["flash"]["programs"] == 0


def test_an_interrupted_precondition_leaves_no_snapshot(tmp_path: Path) -> None:
    outcome = interrupted("precondition", "demo", *ENDLESS, "-o", "aged.snap", cwd=tmp_path, after=1)
    assert "interrupted; no snapshot was written" in outcome.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_a_trace_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    header = "time_us,op,offset_bytes,size_bytes\n"
    rows = "".join(f"{{n}}{k:04d},R,{4096 * k},4096\n" for k in range(10_000))
    path.write_text(header + "".join(rows.replace("{n}", str(n)) for n in range(1, 400)))
    outcome = interrupted("trace", "info", path, cwd=tmp_path, after=0.2)
    assert outcome.stderr.strip().endswith("wordline: interrupted")


def test_an_interrupt_before_the_program_is_there_ends_it_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    outcome = subprocess.run(
        [PROGRAM, "drives"], capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": str(tmp_path)}
    )
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_keep_what_was_done_too(drive: Path, tmp_path: Path, number: signal.Signals) -> None:
    load = tmp_path / "endless.toml"
    load.write_text('[[job]]\nrw = "randrw"\nbs = "16k"\niodepth = 8\ntime_based = true\nruntime_s = 1_000_000\n')
    outputs = ("--json", "part.json", "--tables", "requests", "--out", "tables")
    outcome = interrupted("run", drive, load, *outputs, cwd=tmp_path, after=0.5, number=number)
    assert "PARTIAL" in outcome.stdout
    assert parsed((tmp_path / "part.json").read_text())["partial"] is True
    assert [path.name for path in (tmp_path / "tables").iterdir()] == ["requests.parquet"]
    assert not list(tmp_path.glob(".*"))


def test_a_terminal_that_hangs_up_twice_is_heeded_once(tmp_path: Path) -> None:
    command = [PROGRAM, "precondition", "demo", *ENDLESS, "-o", "aged.snap"]
    with started(command, cwd=tmp_path, stderr=subprocess.PIPE) as process:
        wait_for_engine(process.pid)
        time.sleep(0.5)
        for _ in range(20):
            process.send_signal(signal.SIGHUP)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGHUP
    assert err == "wordline: interrupted; no snapshot was written\n"
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_is_ignored_on_purpose_stays_so(tmp_path: Path) -> None:
    def nohup() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    command = [PROGRAM, "precondition", "demo", *ENDLESS, "-o", "aged.snap"]
    with started(command, cwd=tmp_path, stderr=subprocess.PIPE, preexec_fn=nohup) as process:
        wait_for_engine(process.pid)
        process.send_signal(signal.SIGHUP)
        time.sleep(1)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM


def test_a_snapshot_for_which_there_is_no_room(wordline: Run, drive: Path, tmp_path: Path) -> None:
    (tmp_path / "snaps").mkdir()

    def cramped() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))

    outcome = wordline("precondition", drive, "-o", "snaps/d.snap", preexec_fn=cramped)
    assert outcome.stderr == "wordline: snaps/d.snap: the snapshot cannot be written: file too large\n"
    assert outcome.returncode == 1
    assert list((tmp_path / "snaps").iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("trace", "info", "caf\udce9.csv"),
        ("run", "demo", "caf\udce9.csv"),
        ("check", "caf\udce9.csv"),
        ("check", "demo", "--set", "name=caf\udce9"),
        ("report", "caf\udce9.json", "-o", "r.html"),
        ("run", "demo", "load.toml", "--json", "caf\udce9.json"),
    ],
)
def test_names_that_are_no_text(wordline: Run, load: Path, arguments: tuple[str, ...]) -> None:
    refused(wordline(*arguments), r"caf\xe9", "not UTF-8")


@pytest.mark.parametrize(
    ("closed", "status", "words"),
    [
        (">&-", 1, "wordline: standard output: Bad file descriptor\n"),
        (">&- --quiet --json r.json", 0, ""),
        (">&- --quiet --json -", 1, "wordline: standard output: Bad file descriptor\n"),
        ("2>&-", 0, ""),
        (">&- 2>&-", 1, ""),
        ("<&-", 0, ""),
    ],
)
def test_closed_streams(drive: Path, load: Path, tmp_path: Path, closed: str, status: int, words: str) -> None:
    command = f"'{PROGRAM}' run small.toml load.toml {closed}"
    outcome = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (outcome.returncode, outcome.stderr) == (status, words)
    assert (tmp_path / "r.json").exists() == ("r.json" in closed)


def test_a_snapshot_is_not_aged_again(wordline: Run, drive: Path, load: Path) -> None:
    done(wordline("precondition", drive, "-o", "d.snap"))
    again = "precondition.overwrites=1"
    refused(wordline("run", drive, load, "--from", "d.snap", "--set", again), f"--set {again}", "--from d.snap")
    # The file says the same.
    done(wordline("run", drive, load, "--from", "d.snap"))


def test_what_is_no_drive_file(wordline: Run, tmp_path: Path) -> None:
    refused(wordline("check", "/dev/null"), "/dev/null: this is a device, not a file")
    refused(wordline("check", "/dev/zero"), "/dev/zero: this is a device, not a file")
    for text in ("", "# a drive\n", "[geometry]\n"):
        (tmp_path / "empty.toml").write_text(text)
        refused(wordline("check", "empty.toml"), "empty.toml: this file has no key of a drive", 'extends = "demo"')
        refused(wordline("check", "empty.toml", "--set", "geometry.channels=4"), "has no key of a drive")
    (tmp_path / "empty.toml").write_text('extends = "demo"\n')
    done(wordline("check", "empty.toml"))


def test_an_option_without_its_value_leads_to_the_help_of_its_command(wordline: Run) -> None:
    for command in (("report", "r.json", "-o"), ("run", "demo", "load.toml", "--seed"), ("pts", "demo", "--round")):
        refused(wordline(*command), f"'wordline {command[0]} --help'")
    refused(wordline("trace", "info", "t.csv", "--limit"), "'wordline trace info --help'")


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ('rw = "write"\nrwmixread = 50', ["load.toml:3:1", 'rwmixread = 50: has no effect with rw = "write"']),
        ('rw = "read"\nrandom_distribution = "zipf:1.1"', ['has no effect with rw = "read", which is sequential']),
        ('bs = "4k"\nbssplit = "4k/50:8k/50"', ["job.job0.bs", "there is `bssplit` as well"]),
        ("ss_dur_s = 1.0", ["job.job0.ss_dur_s", "is for `steadystate`, which is not given"]),
    ],
)
def test_a_key_without_meaning_names_the_one_that_leaves_it_so(
    wordline: Run, drive: Path, tmp_path: Path, job: str, words: list[str]
) -> None:
    (tmp_path / "load.toml").write_text(f"[[job]]\n{job}\n")
    refused(wordline("run", drive, "load.toml"), *words)


def test_an_option_without_meaning_is_told_as_it_was_typed(wordline: Run, drive: Path, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time_us,op,offset_bytes,size_bytes\n0,R,0,4096\n5,W,0,4096\n")
    refused(wordline("run", drive, "t.csv", "--iodepth", "4"), "--iodepth 4:", "--pace asap")
    refused(wordline("run", drive, "t.csv", "--pace", "asap", "--speed", "2"), "--speed 2:", "has no effect")
    (tmp_path / "load.toml").write_text('[[job]]\nrw = "write"\n')
    refused(wordline("run", drive, "load.toml", "--load-set", "job.0.rwmixread=3"), "--load-set job.0.rwmixread=3")
