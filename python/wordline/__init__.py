"""Wordline, an SSD laboratory.

The command ``wordline`` is the main way in; from Python::

    import wordline

    run = wordline.run("tlc-nvme", "load.toml", {"capacity.raw_over_logical": 1.15}, seed=7)
    print(run["latency_us"]["read"]["p99"])

    drive = wordline.Drive("tlc-nvme")
    drive.precondition(fill=True)
    drive.run(wordline.Workload.job(rw="randread", bs="4k", iodepth=32, number_ios=100_000))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordline import policy
    from wordline._core import InputError, RunError
    from wordline.api.drive import Drive
    from wordline.api.frames import Frame
    from wordline.api.functions import check, replay, run
    from wordline.api.interrupts import Interrupted
    from wordline.api.replays import Replay
    from wordline.api.runs import Run
    from wordline.api.workload import Workload
    from wordline.sweeps.function import sweep
    from wordline.sweeps.outcome import Sweep
    from wordline.sweeps.search import Search, optimise

    __version__: str

__all__ = [
    "Drive",
    "Frame",
    "InputError",
    "Interrupted",
    "Replay",
    "Run",
    "RunError",
    "Search",
    "Sweep",
    "Workload",
    "__version__",
    "check",
    "optimise",
    "policy",
    "replay",
    "run",
    "sweep",
]

LATER = {
    "Drive": "wordline.api.drive",
    "Frame": "wordline.api.frames",
    "InputError": "wordline._core",
    "Interrupted": "wordline.api.interrupts",
    "Replay": "wordline.api.replays",
    "Run": "wordline.api.runs",
    "RunError": "wordline._core",
    "Sweep": "wordline.sweeps.outcome",
    "Workload": "wordline.api.workload",
    "check": "wordline.api.functions",
    "replay": "wordline.api.functions",
    "run": "wordline.api.functions",
    "sweep": "wordline.sweeps.function",
    "Search": "wordline.sweeps.search",
    "optimise": "wordline.sweeps.search",
}
"""Names that are imported on first use, so that help, messages and Ctrl-C work at once."""


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Imports a name on first use."""
    if name == "__version__":
        return import_module("wordline._core").version()
    if name == "policy":
        return import_module("wordline.policy")
    if name in LATER:
        return getattr(import_module(LATER[name]), name)
    raise AttributeError(f"module 'wordline' has no attribute '{name}'")


def __dir__() -> list[str]:
    """All names for ``dir`` and completion, including those not imported yet."""
    own = {name for name in globals() if name.startswith("__")}
    return sorted(own.union(__all__))
