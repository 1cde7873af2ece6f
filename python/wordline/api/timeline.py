"""Timelines: their options, errors and warnings."""

from __future__ import annotations

from typing import Any

from wordline.base import units


def span(window: str | None) -> tuple[int, int] | None:
    """A window as the engine takes it, in picoseconds.

    :raises wordline.InputError: if it is none.
    """
    from wordline import _core

    try:
        return None if window is None else units.window(str(window))
    except ValueError as error:
        raise _core.InputError(f"window: {error}") from None


def whole(path: str | None, result: dict[str, Any]) -> dict[str, Any]:
    """The result of a run whose timeline, if there is one, was written.

    :raises wordline.RunError: if it was not.
    """
    from wordline import _core

    problem = failure(result)
    if problem:
        raise _core.RunError(f"{path}: cannot write: {problem}")
    return result


def failure(result: dict[str, Any]) -> str | None:
    """Why the timeline of a run could not be written, if it could not."""
    return result.get("timeline", {}).get("error")


def warning(told: dict[str, Any]) -> str | None:
    """A warning about a timeline that is cut or empty."""
    if told["cut"] == "full":
        where = f"{told['cut_s']:.6f} s"
        return (
            f"cut at {where}, where it holds {units.count(told['slices'])} slices; select a part with --window, "
            "or raise --timeline-limit"
        )
    if told["slices"] == 0 and told["cut"] is None:
        return "it is empty: the run has nothing in this window"
    return None
