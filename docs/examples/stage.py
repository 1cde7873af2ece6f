"""Three dispatch policies that come with Wordline, rewritten in Python: they send exactly the same operations."""

from typing import Annotated

from wordline.policy import Dispatch, StageView

ACTIONS = {"read": 0, "write": 1, "erase": 2}
"""Kinds of operations, by their place in the nominal times."""


class OneQueue(Dispatch):
    """One queue of operations for all tasks and dies: what cannot go holds up all behind it."""

    name = "python-one-queue"
    sees_all = True

    def next(self, view: StageView) -> int | None:
        """The oldest operation, if a die has room for it."""
        oldest = min(range(len(view.staged)), key=lambda at: view.staged[at][1])
        return None if view.staged[oldest][2] is None else oldest


class Priority(Dispatch):
    """A fixed order of tasks, as long as a die has room."""

    name = "python-priority"
    order: Annotated[str, "Tasks, highest priority first. Others come last, together."] = "host gc"

    def __init__(self) -> None:
        self.ranks = {task: rank for rank, task in enumerate(self.order.split())}

    def next(self, view: StageView) -> int | None:
        """The oldest operation of the task that comes first."""
        last = len(self.ranks)
        goes = [
            (self.ranks.get(name.partition("-")[0], last), sequence, at)
            for at, (name, sequence, die) in enumerate(view.staged)
            if die is not None
        ]
        return min(goes)[2] if goes else None


class WeightedFair(Dispatch):
    """A virtual time for each task and die: start-time fair queueing."""

    name = "python-weighted-fair"
    takes_shares = True

    def __init__(self) -> None:
        # By die: the virtual start of what was sent last, and the virtual finish of each task.
        self.dies: list[tuple[float, dict[str, float]]] = [(0.0, {}) for _ in range(self.drive.dies)]

    def next(self, view: StageView) -> int | None:
        """The operation with the earliest virtual start, of equals the oldest."""
        assert view.shares is not None, "it takes shares"
        goes = []
        for at, (name, sequence, die) in enumerate(view.staged):
            if die is not None:
                time, finish = self.dies[die]
                goes.append((max(time, finish.get(name.partition("-")[0], 0.0)), sequence, at, die))
        if not goes:
            return None
        start, _, at, die = min(goes)
        task, _, action = view.staged[at][0].partition("-")
        finish = self.dies[die][1]
        finish[task] = start + view.times[ACTIONS[action]] / view.shares[task]
        self.dies[die] = (start, finish)
        return at
