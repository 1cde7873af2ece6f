"""A database on a live disk: SQLite on ext4, on a new and on an aged drive, with the file system's discard and without.

Run it as the administrator, on Linux with FUSE and loop devices; it needs nbdfuse (libnbd), mkfs.ext4 and Wordline:

    sudo python database.py --json database.json --figure database.svg

Each of four runs serves a drive of its own, makes a file system on it and a database of 200 MiB in that, and commits
transactions, each of eight random rows of 4 KiB, as fast as they are done. The drive's time goes slower than the clock
(``--pace``), so that the drive is what the database waits for, and not this machine; all times are those of the drive.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

ROWS, ROW_BYTES, ROWS_A_TRANSACTION = 50_000, 4096, 8
DRIVES = {
    "new": ("precondition.fill=false", "precondition.overwrites=0"),
    "aged": ("precondition.fill=true", "precondition.overwrites=1"),
}
SMALL = ("geometry.blocks_per_plane=24",)
"""The demo with 24 of its 110 blocks a plane."""

STEPS = 12
"""Parts of a run whose transactions are counted."""


def shown(command: list[str]) -> None:
    """Runs a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{shlex.join(command)}: {done.stderr.strip()}")


def until(true: Any, process: subprocess.Popen[Any]) -> None:  # noqa: ANN401
    """Waits for something that a process brings about."""
    while not true():
        if process.poll() is not None:
            sys.exit(f"{shlex.join(map(str, process.args))} has ended")
        time.sleep(0.05)


@contextmanager
def file_system(folder: Path, drive: str, discard: bool, pace: float) -> Iterator[Path]:
    """An ext4 on a drive that is served; the result of the drive goes to ``drive.json``."""
    where, fuse, mount = folder / "d.sock", folder / "fuse", folder / "mnt"
    fuse.mkdir()
    mount.mkdir()
    sets = [word for value in (*SMALL, *DRIVES[drive]) for word in ("--set", value)]
    command = [sys.executable, "-m", "wordline", "serve", "demo", "--socket", str(where), *sets]
    server = subprocess.Popen([*command, "-q", "--pace", str(pace), "--json", str(folder / "drive.json")])
    until(where.exists, server)
    client = subprocess.Popen(["nbdfuse", str(fuse), f"nbd+unix:///?socket={where}"])
    until((fuse / "nbd").exists, client)
    # Discarding all of it is what mkfs does by itself.
    shown(["mkfs.ext4", "-q", "-F", "-E", "discard" if discard else "nodiscard", str(fuse / "nbd")])
    shown(["mount", "-o", f"loop,{'discard' if discard else 'nodiscard'}", str(fuse / "nbd"), str(mount)])
    try:
        yield mount
    finally:
        shown(["umount", str(mount)])
        shown(["fusermount3", "-u", str(fuse)])
        client.wait()
        server.send_signal(signal.SIGTERM)
        server.wait()


def transactions(path: Path, seconds: float, seed: int) -> list[int]:
    """Fills a database, then commits transactions; how many in each of the parts of ``seconds``."""
    dice = random.Random(seed)
    with closing(sqlite3.connect(path / "test.db", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, data BLOB)")
        database.execute("BEGIN")
        database.executemany(
            "INSERT INTO kept VALUES (?, ?)", ((row, dice.randbytes(ROW_BYTES)) for row in range(ROWS))
        )
        database.execute("COMMIT")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        counts, start = [0] * STEPS, time.monotonic()
        while (part := int((time.monotonic() - start) * STEPS / seconds)) < STEPS:
            database.execute("BEGIN")
            for _ in range(ROWS_A_TRANSACTION):
                values = (dice.randbytes(ROW_BYTES), dice.randrange(ROWS))
                database.execute("UPDATE kept SET data = ? WHERE id = ?", values)
            database.execute("COMMIT")
            counts[part] += 1
    return counts


def measured(drive: str, discard: bool, asked: argparse.Namespace) -> dict[str, Any]:
    """One run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with file_system(folder, drive, discard, asked.pace) as mount:
            counts = transactions(mount, asked.seconds, asked.seed)
        result = json.loads((folder / "drive.json").read_text(encoding="utf-8"))
    kept = {key: result[key] for key in ("write_amplification", "gc", "flash")}
    live = {
        key: result["live"][key] for key in ("written_bytes", "read_bytes", "commands", "delay_error_percent", "lag_us")
    }
    per_second = [count * STEPS / asked.seconds / asked.pace for count in counts]
    return {
        "drive": drive,
        "discard": discard,
        "transactions": sum(counts),
        "per_second": per_second,
        **kept,
        "live": live,
    }


def drawn(runs: list[dict[str, Any]], path: Path, asked: argparse.Namespace) -> None:
    """Transactions over time."""
    from wordline.studies import charts
    from wordline.studies.outcome import Lines

    figure = Lines(
        path.stem,
        "Transactions of SQLite on a live disk",
        "Transactions a second over time, on a new and on an aged drive, with discard and without.",
        "seconds of the drive's time",
        "transactions a second",
        [f"{(part + 1) * asked.seconds * asked.pace / STEPS:.3g}" for part in range(STEPS)],
        {name_of(run): run["per_second"] for run in runs},
    )
    path.write_text(charts.draw(figure, "database"), encoding="utf-8")


def name_of(run: dict[str, Any]) -> str:
    """``aged drive, discard``."""
    return f"{run['drive']} drive, {'discard' if run['discard'] else 'no discard'}"


def main() -> None:
    """All four runs."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=60, help="of each run, on the clock")
    options.add_argument("--pace", type=float, default=0.05, help="seconds of the drive in a second of the clock")
    options.add_argument("--seed", type=int, default=1, help="of the rows and their data")
    options.add_argument("--json", type=Path, help="write all figures there")
    options.add_argument("--figure", type=Path, help="draw them there, as SVG")
    asked = options.parse_args()
    if missing := [tool for tool in ("nbdfuse", "fusermount3", "mkfs.ext4", "mount") if shutil.which(tool) is None]:
        sys.exit(f"not installed: {', '.join(missing)}")
    runs = []
    print(f"{'':24} transactions a second: first half, second half; WAF; pages that GC moved")
    for drive in DRIVES:
        for discard in (False, True):
            runs.append(run := measured(drive, discard, asked))
            halves = run["per_second"][: STEPS // 2], run["per_second"][STEPS // 2 :]
            means = " ".join(f"{sum(half) / len(half):7.0f}" for half in halves)
            print(f"{name_of(run):24} {means} {run['write_amplification']:6.2f} {run['gc']['moved_pages']:9,.0f}")
    if asked.json is not None:
        asked.json.write_text(json.dumps(runs), encoding="utf-8")
    if asked.figure is not None:
        drawn(runs, asked.figure, asked)


if __name__ == "__main__":
    main()
