"""The arbiters that come with Wordline, rewritten in Python: dies serve operations in exactly the same order."""

from typing import Annotated

from wordline.policy import Arbiter


class FirstCome(Arbiter):
    """The operation that has waited longest."""

    name = "python-first-come"

    def choose(self, waiting: list[tuple[str, int]]) -> int:
        """The lowest number in the order of becoming ready."""
        return min(range(len(waiting)), key=lambda at: waiting[at][1])


class ReadsFirst(Arbiter):
    """Reads of the host first, the rest in the order of arrival."""

    name = "python-reads-first"

    def choose(self, waiting: list[tuple[str, int]]) -> int:
        """A read, if one waits; otherwise the oldest operation."""
        return min(range(len(waiting)), key=lambda at: (waiting[at][0] != "host-read", waiting[at][1]))


class Priority(Arbiter):
    """A fixed order of classes; within each, first come, first served."""

    name = "python-priority"
    order: Annotated[str, "Classes, highest priority first. Others come last, together."] = (
        "gc-erase gc-write gc-read host-read host-write"
    )

    def __init__(self) -> None:
        self.ranks = {name: rank for rank, name in enumerate(self.order.split())}

    def choose(self, waiting: list[tuple[str, int]]) -> int:
        """The first of the class that comes first."""
        last = len(self.ranks)
        return min(range(len(waiting)), key=lambda at: self.ranks.get(waiting[at][0], last))
