"""Files with policies in Python: reading them, listing their policies, showing their exceptions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from wordline.base.errors import FAILED, Trouble

if TYPE_CHECKING:
    from wordline.policy import Policy

# The classes of policies take as long to load as all else that a command needs, and few commands get such a file.


def read(files: Iterable[str]) -> list[type[Policy]]:
    """The policies of files: all classes with a name that they define.

    :raises Trouble: if a file cannot be read or has no policy, or a class is unusable.
    """
    return [policy for number, file in enumerate(files) for policy in _read(file, number)]


def _read(file: str, number: int) -> list[type[Policy]]:
    import importlib.util

    from wordline.policy import Policy, bases, described

    path = Path(file)
    if not path.is_file():
        raise Trouble(f"{file}: {'this is a directory, not a file' if path.is_dir() else 'no such file'}")
    if path.suffix != ".py":
        raise Trouble(f"{file}: policies must be in a Python file, with a name that ends in .py")
    name = f"wordline_policy_file_{number}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    # Under its name, so that its classes can be copied and their annotations be understood.
    sys.modules[name] = module
    with shown([file]):
        spec.loader.exec_module(module)  # type: ignore[union-attr]
    classes = [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == name]
    found = [value for value in dict.fromkeys(classes) if issubclass(value, Policy) and hasattr(value, "name")]
    if not found:
        raise Trouble(f"{file}: this file has no policy; a policy is a class derived from {bases()}, with a 'name'")
    for policy in found:
        try:
            described(policy)
        except TypeError as error:
            raise Trouble(f"{file}: {error}") from None
    return found


def taken_in(files: Iterable[str]) -> list[tuple[str, Callable[[str, str], object]]]:
    """The policies of files as the engine takes them."""
    policies = read(files)
    if not policies:
        return []
    from wordline.policy import given

    return given(policies)


@contextmanager
def shown(files: Iterable[str]) -> Iterator[None]:
    """Shows an exception of a policy file from that file on, without the frames that called it.

    :raises Trouble: once it is shown.
    """
    paths = {str(Path(file).resolve()) for file in files}
    try:
        yield
    except SyntaxError as error:
        if error.filename is None or str(Path(error.filename).resolve()) not in paths:
            raise
        _show(error, None)
        raise Trouble(f"{error.filename}: this is not valid Python (see above)") from None
    except Exception as error:
        at = _first(error.__traceback__, paths)
        if at is None:
            raise
        _show(error, at)
        raise Trouble(
            f"{at.tb_frame.f_code.co_filename}: the run ended with an exception in this file", FAILED
        ) from None


def _first(at: TracebackType | None, paths: set[str]) -> TracebackType | None:
    while at is not None and str(Path(at.tb_frame.f_code.co_filename).resolve()) not in paths:
        at = at.tb_next
    return at


def _show(error: BaseException, at: TracebackType | None) -> None:
    import traceback

    print("".join(traceback.format_exception(type(error), error, at)), end="", file=sys.stderr)


def listed(policies: list[dict[str, Any]], files: Iterable[str]) -> list[dict[str, Any]]:
    """The catalogue of policies with those of files, each behind its family's."""
    whole = list(policies)
    for file in files:
        for policy in read([file]):
            from wordline.policy import described

            about = described(policy)
            family = about["family"]
            places = [n for n, other in enumerate(whole) if other["family"] == family]
            options = [
                {"key": f"{family}.{key}", "default": option.get("default"), "doc": option["description"]}
                for key, option in about["options"].items()
            ]
            entry = {"decides": whole[places[0]]["decides"], "default": False, "source": file, "note": ""}
            whole.insert(places[-1] + 1, {**entry, **about, "options": options})
    return whole
