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


class Slack(Arbiter):
    """Background operations go while those of the host that wait still meet their deadlines."""

    name = "python-slack"
    read_deadline_us: Annotated[float, "Deadline of a read of the host, from when it waits for its die."] = 5_000.0
    write_deadline_us: Annotated[float, "The same of a write."] = 20_000.0
    background_deadline_us: Annotated[float, "The same of a background operation, which then goes first."] = 200_000.0

    def learn(self, read_us: float, program_us: float, erase_us: float) -> None:
        """Nominal times, by kind of operation."""
        self.times = {"read": read_us, "write": program_us, "erase": erase_us}

    def choose_in_time(self, waiting: list[tuple[str, int]], waited_us: list[float]) -> int:
        """The oldest background operation if it fits before the tightest of the host, otherwise that."""
        host, background = [], []
        for at, (name, sequence) in enumerate(waiting):
            task, _, action = name.partition("-")
            if task == "host":
                deadline = self.read_deadline_us if action == "read" else self.write_deadline_us
                host.append((max(0.0, deadline - waited_us[at] - self.times[action]), sequence, at))
            else:
                background.append((sequence, at, self.times[action]))
        if not host or not background:
            return min(host)[2] if host else min(background)[1]
        (slack, _, tightest), (_, oldest, time) = min(host), min(background)
        goes = time <= slack or waited_us[oldest] >= self.background_deadline_us
        return oldest if goes else tightest
