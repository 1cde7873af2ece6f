"""The runs that the engine of sweeps does: points of a sweep, and experiments of studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from wordline.api.drive import Drive
    from wordline.base.progress import Told


class Done(NamedTuple):
    """The result of a run, as JSON."""

    text: str
    parts: str
    """The parts of it that its task wants."""


class Task(Protocol):
    """What a run is. It pickles: a worker of a cluster does it as this machine does."""

    @property
    def sets(self) -> Mapping[str, Any]:
        """Overrides of its drive, which is a fork of the drive of its group."""

    def begin(self, told: Told) -> Drive | None:
        """The drive that its group starts from; None if the tasks of the group need none.

        :raises wordline.InputError: if the drive is wrong.
        :raises wordline.RunError: if it cannot be preconditioned.
        """

    def run(self, drive: Drive | None, told: Told) -> Done:
        """Does the run on a drive of its own.

        :raises wordline.InputError: if the workload is wrong.
        :raises wordline.RunError: if the run fails.
        """


@dataclass
class Job:
    """A run that is wanted, and what is known of it."""

    task: Task | None = None
    """None if it is wrong, or its result is known."""
    key: str = ""
    """The name of its result."""
    group: str = ""
    """Jobs of one group start from the same drive."""
    prepares: bool = False
    """True if making that drive takes time."""
    state_bytes: int = 0
    """Memory of that drive."""
    text: str | None = None
    """Its result as the engine wrote it, until a file keeps it."""
    error: str | None = None
    is_input: bool = False
    """True if the error is one of the input."""
    known: bool = False
    """True if the result was there before."""

    @property
    def is_due(self) -> bool:
        """True if it has to run."""
        raise NotImplementedError

    def take(self, done: Done) -> None:
        """Takes its result.

        :raises KeyboardInterrupt: if it is partial.
        """
        raise NotImplementedError


Some = TypeVar("Some", bound=Job)


def by_group(found: Sequence[Some]) -> list[list[Some]]:
    """The jobs that are due, in their groups."""
    groups: dict[str, list[Some]] = {}
    for job in found:
        if job.is_due:
            groups.setdefault(job.group, []).append(job)
    return list(groups.values())


def largest_state(found: Sequence[Job]) -> int:
    """Bytes of memory for the largest drive that has to run."""
    return max((job.state_bytes for job in found if job.is_due), default=0)
