"""Ctrl-C in Python: it stops the work and is raised again, so that no program continues with a partial result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordline.api.runs import Run


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or a notebook's stop button, ended a run or a preconditioning.

    Like any ``KeyboardInterrupt`` it passes through ``except Exception``. It carries the partial result.
    """

    # A traceback names it as a program does.
    __module__ = "wordline"

    def __init__(self, message: str, result: Run | dict[str, Any] | None = None) -> None:
        """Takes a message and the partial result."""
        super().__init__(message, result)
        self.message = message
        self.result = result
        """The result of a run, with ``partial`` true, or the outcome of a preconditioning."""

    def __str__(self) -> str:
        """What was interrupted."""
        return self.message


def whole(run: Run) -> Run:
    """The result of a complete run.

    :raises Interrupted: if it did not.
    """
    if run.partial:
        raise Interrupted("the run was interrupted; the exception's 'result' is the partial result", run)
    return run
