"""The engine. All results are JSON text; the Python modules parse them."""

from collections.abc import Callable
from typing import Any, final

_Policies = list[tuple[str, Callable[[str, str], object]]]
"""For each policy in Python: its description as JSON, and a function of options and drive shape, both JSON."""

_Progress = Callable[[str, float | None, int, float], object]

SEED: int
"""Default seed."""

class InputError(ValueError):
    """Wrong input: a key, a value, a file, a trace. The message is complete."""

class RunError(RuntimeError):
    """The run failed."""

@final
class Frame:
    """A table in memory, with the Arrow C interface."""

    def __new__(cls, columns: list[tuple[str, str, list[Any]]]) -> Frame: ...
    def __len__(self) -> int: ...
    @property
    def columns(self) -> list[str]: ...
    def cells(self, rows: list[int]) -> list[list[str]]: ...
    def write_parquet(self, path: str) -> None: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

@final
class Load:
    """A workload: read and checked, to be run on any number of drives."""

    @staticmethod
    def read(path: str, sets: list[str]) -> Load: ...
    @staticmethod
    def text(name: str, text: str, sets: list[str]) -> Load: ...
    @staticmethod
    def table(name: str, text: str, table: object) -> Load: ...
    def beside(self, other: Load) -> Load: ...
    def pack(self) -> str: ...
    @staticmethod
    def unpack(text: str) -> Load: ...
    def records(self, limit: int | None = None) -> Frame: ...
    def describe(self) -> str: ...
    def info(self) -> str: ...

@final
class Drive:
    """A drive whose state lasts from one workload to the next."""

    def __new__(
        cls,
        drive: str,
        sets: list[str],
        seed: int | None = None,
        snapshot: str | None = None,
        policies: _Policies | None = None,
    ) -> Drive: ...
    @property
    def seed(self) -> int: ...
    def describe(self) -> str: ...
    def state_json(self) -> str: ...
    def run(
        self,
        load: Load,
        seed: int | None,
        progress: _Progress,
        timeline: str | None = None,
        window: tuple[int, int] | None = None,
        limit: int | None = None,
        tables: tuple[list[str], str, int | None, int | None, tuple[int, int] | None] | None = None,
        split: bool = True,
    ) -> str: ...
    def run_for(self, load: Load, seed: int | None, progress: _Progress, keys: list[str]) -> tuple[str, str]: ...
    def replay(self, load: Load, seed: int | None, times: int | None, progress: _Progress) -> str: ...
    def precondition(
        self,
        progress: _Progress,
        fill: bool | None = None,
        overwrites: float | None = None,
        steady_state: bool | None = None,
        block_reads: int | None = None,
        timed: bool | None = None,
        seed: int | None = None,
    ) -> str: ...
    def fork(self, sets: list[str], seed: int | None) -> Drive: ...
    def save(self, path: str, shown: str) -> int: ...
    def pack(self) -> tuple[str, bytes]: ...
    @staticmethod
    def unpack(about: str, state: bytes, policies: _Policies | None = None) -> Drive: ...

@final
class Aged:
    """A snapshot that is read once for the runs of several seeds."""

    def __new__(cls, first: int, count: int) -> Aged: ...

@final
class Desk:
    """Where disks that are served are looked at and changed."""

    def exports(self) -> list[str]: ...
    def view(self, export: str, cells: bool) -> str: ...
    def pause(self, paused: bool) -> None: ...
    def set(self, export: str, sets: list[str]) -> str: ...
    def stop(self) -> None: ...

@final
class Array:
    """An array of drives whose state lasts from one workload to the next; it has no snapshots."""

    def __new__(
        cls,
        drive: str,
        sets: list[str],
        seed: int | None = None,
        snapshot: str | None = None,
        policies: _Policies | None = None,
    ) -> Array: ...
    @property
    def seed(self) -> int: ...
    def describe(self) -> str: ...
    def state_json(self) -> str: ...
    def run(
        self,
        load: Load,
        seed: int | None,
        progress: _Progress,
        timeline: str | None = None,
        window: tuple[int, int] | None = None,
        limit: int | None = None,
        tables: tuple[list[str], str, int | None, int | None, tuple[int, int] | None] | None = None,
        split: bool = True,
    ) -> str: ...
    def run_for(self, load: Load, seed: int | None, progress: _Progress, keys: list[str]) -> tuple[str, str]: ...
    def precondition(
        self,
        progress: _Progress,
        fill: bool | None = None,
        overwrites: float | None = None,
        steady_state: bool | None = None,
        block_reads: int | None = None,
        timed: bool | None = None,
        seed: int | None = None,
    ) -> str: ...
    def fork(self, sets: list[str], seed: int | None) -> Array: ...
    def save(self, path: str, shown: str) -> int: ...
    def pack(self) -> tuple[str, bytes]: ...

def version() -> str: ...
def check(drive: str, sets: list[str], policies: _Policies | None = None, seed: int | None = None) -> str: ...
def resolve(drive: str, sets: list[str]) -> str: ...
def drives() -> str: ...
def load_kind(path: str) -> str: ...
def preset(name: str) -> str | None: ...
def policies() -> str: ...
def keys() -> str: ...
def load_keys() -> str: ...
def array_keys() -> str: ...
def is_array(drive: str) -> bool: ...
def result_keys() -> str: ...
def format_table() -> str: ...
def tasks() -> list[tuple[str, str]]: ...
def tables_page() -> str: ...
def run(
    drive: str,
    load: str | Load,
    sets: list[str],
    load_sets: list[str],
    seed: int | None,
    snapshot: str | None,
    progress: _Progress,
    timeline: str | None = None,
    window: tuple[int, int] | None = None,
    limit: int | None = None,
    tables: tuple[list[str], str, int | None, int | None, tuple[int, int] | None] | None = None,
    job_by_job: bool = False,
    split: bool = True,
    policies: _Policies | None = None,
    watch: tuple[Callable[[str], float], float] | None = None,
    aged: Aged | None = None,
) -> str: ...
def part_of_result(text: str, keys: list[str]) -> str: ...
def table_names() -> list[str]: ...
def precondition(
    drive: str,
    sets: list[str],
    seed: int | None,
    out_path: str,
    shown: str,
    progress: _Progress,
    policies: _Policies | None = None,
) -> str: ...
def replay(
    drive: str,
    load: str | Load,
    sets: list[str],
    load_sets: list[str],
    seed: int | None,
    snapshot: str | None,
    progress: _Progress,
    times: int | None,
    save: tuple[str, str] | None = None,
    policies: _Policies | None = None,
) -> str: ...
def serve(
    plan: str,
    progress: _Progress,
    ready: Callable[[str, Desk], object],
    status: Callable[[str], object],
) -> str: ...
def package_run(
    experiment: str,
    progress: _Progress,
    timeline: str | None = None,
    window: tuple[int, int] | None = None,
    limit: int | None = None,
) -> str: ...
def package_chains() -> str: ...
def trace_info(path: str, load_sets: list[str], window: int, progress: _Progress) -> str: ...
def trace_convert(
    path: str,
    load_sets: list[str],
    out_path: str | None,
    out_name: str,
    to: str | None,
    drop: bool,
    round: bool,
    window: tuple[int, int] | None,
    progress: _Progress,
) -> str: ...
def trace_synth(
    spec: str | None, sets: list[str], out_path: str | None, out_name: str, to: str | None, progress: _Progress
) -> str: ...
def synth_keys() -> str: ...
