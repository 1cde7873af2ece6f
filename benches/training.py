"""What the program does for ``make wheel`` before it is compiled again with what was seen: profile-guided optimisation.

Every way that a request can take should be here, on small drives: what is missing is compiled as if nobody went there.
The figures of ``make bench`` come from cases that are like these, but of other sizes and seeds.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

BUNDLED = Path(__file__).resolve().parent.parent / "traces" / "pgbench-ext4.csv.zst"

SMALL = [
    "geometry.channels=2",
    "geometry.packages_per_channel=2",
    "geometry.dies_per_package=2",
    "geometry.blocks_per_plane=40",
    "geometry.pages_per_block=128",
]
FINE = [*SMALL, "mapping.unit_kib=4"]
DEBIT = ["dispatch.policy=debit", "shares.policy=feedback"]
PER_PLANE = ["placement.policy=static", "collect.scope=plane"]
KIM18 = ["geometry.blocks_per_plane=64", "geometry.pages_per_block=64"]
AUTOSSD = [*KIM18, *DEBIT, "refresh.policy=scrub", "processor.policy=uniform", "mapping.policy=cached"]

LOADS = {
    "read": 'rw = "randread"\nbs = "4k"\niodepth = 32\nnumber_ios = 120_000',
    "write": 'rw = "randwrite"\nbs = "16k"\niodepth = 32\nnumber_ios = 40_000',
    "fine": 'rw = "randwrite"\nbs = "4k"\niodepth = 32\nnumber_ios = 60_000',
    "mix": 'rw = "randrw"\nrwmixread = 70\nbs = "16k"\niodepth = 32\nnumber_ios = 80_000',
    "fine-mix": 'rw = "randrw"\nrwmixread = 70\nbs = "4k"\niodepth = 32\nnumber_ios = 80_000',
    "sequential": 'rw = "write"\nbs = "128k"\niodepth = 32\nnumber_ios = 20_000',
    "large": 'rw = "randrw"\nrwmixread = 79\nbs = "52k,60k"\nrate_iops = 526\nnumber_ios = 20_000',
}
AGED = ["precondition.fill=true", "precondition.overwrites=1"]

RUNS: list[tuple[str, str, list[str]]] = [
    ("demo", "mix", SMALL),
    ("demo", "write", SMALL),
    ("demo", "fine-mix", FINE),
    ("demo", "read", [*SMALL, *PER_PLANE]),
    ("demo", "read", FINE),
    ("demo", "write", [*SMALL, *PER_PLANE]),
    ("demo", "fine", FINE),
    ("demo", "mix", [*SMALL, *PER_PLANE]),
    ("demo", "fine-mix", [*FINE, *PER_PLANE]),
    ("demo", "mix", [*SMALL, *DEBIT]),
    ("demo", "fine-mix", [*FINE, *DEBIT]),
    ("demo", "read", [*SMALL, "dispatch.policy=vaq"]),
    ("demo", "read", [*SMALL, "dispatch.policy=paq", "pack.policy=planes"]),
    ("demo", "sequential", SMALL),
    ("demo", "sequential", FINE),
    ("kim18", "fine-mix", KIM18),
    ("kim18", "large", AUTOSSD),
    ("tlc-nvme", "fine-mix", ["geometry.blocks_per_plane=300", "geometry.pages_per_block=96"]),
]


def main() -> None:
    """Runs all of it with the command beside this Python."""
    command = [Path(sys.executable).with_name("wordline")]
    with tempfile.TemporaryDirectory() as folder:
        for name, words in LOADS.items():
            (Path(folder) / f"{name}.toml").write_text(f"[[job]]\n{words}\n")
        for drive, load, settings in RUNS:
            options = [word for setting in [*AGED, *settings] for word in ("--set", setting)]
            subprocess.run([*command, "run", drive, f"{load}.toml", *options, "-q"], cwd=folder, check=True)
        subprocess.run([*command, "run", "demo", BUNDLED, "-q"], cwd=folder, check=True)


if __name__ == "__main__":
    main()
