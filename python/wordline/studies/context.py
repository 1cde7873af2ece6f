"""What a study is given to run with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from wordline import package
from wordline.studies.catalogue import tomllib

Key = TypeVar("Key")
Report = Callable[[str, float | None, int, float], None]


def _nothing(*_: object) -> None:
    """Hears no reports."""


@dataclass(frozen=True)
class Context:
    """The way of a study to the engine, and how thorough it is to be."""

    folder: Path
    """The study's own folder; files that several studies share lie in its parent."""
    label: str = "study"
    """Names the work in the progress bar."""
    full: bool = False
    """More requests, for smoother figures."""
    seed: int = 1
    report: Report = field(default=_nothing)
    """Told the label, the fraction done, requests and simulated seconds."""

    def requests(self, usual: int) -> int:
        """A number of requests: ``usual``, and ten times as many in a full run."""
        return 10 * usual if self.full else usual

    def shared(self, name: str) -> dict[str, Any]:
        """A TOML file beside the studies' folders, such as the devices of a chapter."""
        return tomllib.loads((self.folder.parent / f"{name}.toml").read_text(encoding="utf-8"))

    def packages(self, experiments: Mapping[Key, dict[str, Any]]) -> dict[Key, dict[str, Any]]:
        """Runs experiments on packages alone, one after the other, and gives the results under the same keys.

        :raises KeyboardInterrupt: if one was interrupted.
        """
        results: dict[Key, dict[str, Any]] = {}
        requests, simulated_s = 0, 0.0
        for key, experiment in experiments.items():
            told = self._of_many(len(results), len(experiments), requests, simulated_s)
            told("", 0.0, 0, 0.0)
            result = package.run({"seed": self.seed, **experiment}, told)
            if result.get("partial"):
                raise KeyboardInterrupt
            requests, simulated_s = requests + result["requests"], simulated_s + result["simulated_s"]
            results[key] = result
        return results

    def _of_many(self, before: int, number: int, requests: int, simulated_s: float) -> Report:
        """What one of ``number`` runs reports to, after those ``before`` it with all their requests and time."""

        def told(_: str, fraction: float | None, done: int, done_s: float) -> None:
            self.report(self.label, (before + (fraction or 0.0)) / number, requests + done, simulated_s + done_s)

        return told
