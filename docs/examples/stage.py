"""Four dispatch policies that come with Wordline, rewritten in Python: they send exactly the same operations."""

from typing import Annotated

from wordline.policy import Deadlines, Dispatch, StageView

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


class Deadline(Dispatch):
    """Earliest deadline first; GC goes first at a die whose requests have slack for it."""

    name = "python-deadline"
    depth: Annotated[int, "Operations that a die holds at most, the running one included."] = 1
    read_deadline_us: Annotated[float, "Deadline of reads."] = 2_000.0
    write_deadline_us: Annotated[float, "Deadline of writes."] = 10_000.0
    flush_deadline_us: Annotated[float, "Deadline of flushes."] = 10_000.0
    background_deadline_us: Annotated[float, "Deadline of background operations."] = 10_000.0
    gc_aware: Annotated[bool, "Scheduling looks at GC."] = True
    margin_us: Annotated[float, "Time kept free before each deadline."] = 100.0

    def deadlines(self) -> Deadlines:
        """Those of the options."""
        kinds = (self.read_deadline_us, self.write_deadline_us, self.flush_deadline_us)
        return Deadlines(*kinds, self.background_deadline_us, avoids_gc=self.gc_aware)

    def next(self, view: StageView) -> int | None:
        """The one with the earliest deadline, of equals the oldest; one of GC before it if there is time."""
        goes = [at for at, (_, _, die) in enumerate(view.staged) if die is not None]
        if not goes or not view.dues:
            # One without others is shown without its deadline.
            return goes[0] if goes else None
        dues = view.dues
        order = [(dues[at][0], view.staged[at][1], at) for at in goes]
        first = min(order)[2]
        name, _, die = view.staged[first]
        if self.gc_aware and name.startswith("host-"):
            background = [
                one for one in order if view.staged[one[2]][2] == die and not view.staged[one[2]][0].startswith("host-")
            ]
            if background and self.has_slack(view, die, min(background)[2]):
                return min(background)[2]
        return first

    def has_slack(self, view: StageView, die: int | None, background: int) -> bool:
        """True if all that waits at a die for the host would still end in time behind an operation of GC."""
        assert view.dues is not None, "it has deadlines"
        time = {at: view.times[ACTIONS[name.partition("-")[2]]] for at, (name, _, _) in enumerate(view.staged)}
        taken = round(self.margin_us * 1e6) + time[background]
        host = [
            (*view.dues[at], time[at])
            for at, (name, _, of) in enumerate(view.staged)
            if of == die and name.startswith("host-")
        ]
        return all(
            left >= taken + sum(operations * each for other, operations, each in host if other <= left)
            for left, _, _ in host
        )
