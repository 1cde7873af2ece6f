"""Wordline, an SSD laboratory.

The command ``wordline`` is the main way in; from Python::

    import wordline

    drive = wordline.check("tlc-nvme", {"capacity.raw_over_logical": 1.15})
    result = wordline.run("tlc-nvme", "load.toml", seed=7)
    print(result["latency_us"]["read"]["p99"])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from wordline.api import check, run

if TYPE_CHECKING:
    from wordline import policy
    from wordline._core import InputError, RunError

__all__ = ["InputError", "RunError", "__version__", "check", "policy", "run"]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Loads the engine only when something of it is asked for, so that help and messages are there at once."""
    if name in ("InputError", "RunError"):
        from wordline import _core

        return getattr(_core, name)
    if name == "policy":
        return importlib.import_module("wordline.policy")
    if name == "__version__":
        from wordline import _core

        return _core.version()
    raise AttributeError(f"module 'wordline' has no attribute '{name}'")
