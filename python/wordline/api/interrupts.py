"""Ctrl-C in Python: it ends the work and comes on as what it is, so that no program goes on with half a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordline.api.runs import Run


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or a notebook's stop button, ended a run or a preconditioning.

    Like any ``KeyboardInterrupt`` it passes through ``except Exception``. What was done until then goes with it.
    """

    # A traceback names it as a program does.
    __module__ = "wordline"

    def __init__(self, message: str, result: Run | dict[str, Any] | None = None) -> None:
        """Takes what was interrupted, in words, and what it had come to."""
        super().__init__(message, result)
        self.message = message
        self.result = result
        """Of a run its result, with ``partial`` true; of a preconditioning what was done."""

    def __str__(self) -> str:
        """What was interrupted."""
        return self.message


def whole(run: Run) -> Run:
    """The result of a run that came to its end.

    :raises Interrupted: if it did not.
    """
    if run.partial:
        raise Interrupted("the run was interrupted; the exception's 'result' holds what was done until then", run)
    return run
