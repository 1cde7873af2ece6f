"""The engine. All results are JSON text; the modules around it give them parsed."""

from collections.abc import Callable
from typing import final

Progress = Callable[[str, float | None, int, float], object]

class InputError(ValueError):
    """What the user gave is wrong: a key, a value, a file, a trace. The message is complete."""

class RunError(RuntimeError):
    """The run could not be carried through."""

@final
class Load:
    """A load: read and checked, to be run on any number of drives."""

    @staticmethod
    def read(path: str, sets: list[str]) -> Load: ...
    @staticmethod
    def text(name: str, text: str, sets: list[str]) -> Load: ...
    def describe(self) -> str: ...
    def info(self) -> str: ...

@final
class Drive:
    """A drive whose state lasts from one load to the next."""

    def __init__(self, drive: str, sets: list[str], seed: int | None = None, snapshot: str | None = None) -> None: ...
    @property
    def seed(self) -> int: ...
    def describe(self) -> str: ...
    def state_json(self) -> str: ...
    def run(
        self,
        load: Load,
        seed: int | None,
        progress: Progress,
        timeline: str | None = None,
        window: tuple[int, int] | None = None,
        limit: int | None = None,
    ) -> str: ...
    def precondition(
        self,
        progress: Progress,
        fill: bool | None = None,
        overwrites: float | None = None,
        steady_state: bool | None = None,
        timed: bool | None = None,
        seed: int | None = None,
    ) -> str: ...
    def fork(self, sets: list[str], seed: int | None) -> Drive: ...
    def save(self, path: str) -> int: ...

def version() -> str: ...
def check(drive: str, sets: list[str]) -> str: ...
def drives() -> str: ...
def policies() -> str: ...
def keys() -> str: ...
def load_keys() -> str: ...
def run(
    drive: str,
    load: str | Load,
    sets: list[str],
    load_sets: list[str],
    seed: int | None,
    snapshot: str | None,
    progress: Progress,
    timeline: str | None = None,
    window: tuple[int, int] | None = None,
    limit: int | None = None,
) -> str: ...
def precondition(drive: str, sets: list[str], seed: int | None, out_path: str, progress: Progress) -> str: ...
def package_run(
    experiment: str,
    progress: Progress,
    timeline: str | None = None,
    window: tuple[int, int] | None = None,
    limit: int | None = None,
) -> str: ...
def package_chains() -> str: ...
def trace_info(path: str, load_sets: list[str]) -> str: ...
