"""The engine. All results are JSON text; ``wordline.check`` and ``wordline.run`` give them parsed."""

from collections.abc import Callable

Policies = list[tuple[str, Callable[[str, str], object]]]
"""Of each policy in Python its description as JSON, and what makes it from options and the drive's shape, both JSON."""

Progress = Callable[[str, float | None, int, float], None]

class InputError(ValueError):
    """What the user gave is wrong: a key, a value, a file, a trace. The message is complete."""

class RunError(RuntimeError):
    """The run could not be carried through."""

def version() -> str: ...
def check(drive: str, sets: list[str], policies: Policies | None = None) -> str: ...
def drives() -> str: ...
def policies() -> str: ...
def keys() -> str: ...
def load_keys() -> str: ...
def run(
    drive: str,
    load: str,
    sets: list[str],
    load_sets: list[str],
    seed: int | None,
    snapshot: str | None,
    progress: Progress,
    timeline: str | None = None,
    window: tuple[int, int] | None = None,
    limit: int | None = None,
    tables: tuple[list[str], str, int | None, int | None] | None = None,
    job_by_job: bool = False,
    split: bool = True,
    policies: Policies | None = None,
) -> str: ...
def table_names() -> list[str]: ...
def precondition(
    drive: str,
    sets: list[str],
    seed: int | None,
    out_path: str,
    progress: Progress,
    policies: Policies | None = None,
) -> str: ...
def package_run(
    experiment: str,
    progress: Progress,
    timeline: str | None = None,
    window: tuple[int, int] | None = None,
    limit: int | None = None,
) -> str: ...
def package_chains() -> str: ...
def trace_info(path: str, load_sets: list[str], window: int, progress: Progress) -> str: ...
def trace_convert(
    path: str,
    load_sets: list[str],
    out_path: str | None,
    out_name: str,
    to: str | None,
    drop: bool,
    round: bool,
    window: tuple[int, int] | None,
    progress: Progress,
) -> str: ...
def trace_synth(
    spec: str | None, sets: list[str], out_path: str | None, out_name: str, to: str | None, progress: Progress
) -> str: ...
def synth_keys() -> str: ...
