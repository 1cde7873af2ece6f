"""Shares, suspension and computing time as they come with Wordline, rewritten in Python."""

from typing import Annotated

from wordline.policy import Processor, Running, Shares, Suspend


class Feedback(Shares):
    """Shares that follow what tasks lack: equation 1 of AutoSSD (kim18 3.3), with the same gains for all tasks."""

    name = "python-feedback"
    interval_ms: Annotated[float, "Time between two steps of the control, in milliseconds."] = 10.0
    p: Annotated[float, "Percent that a step adds when all of the target is missing."] = 1.28
    i: Annotated[float, "Part of its share that a step keeps, below 1."] = 0.99
    least: Annotated[float, "The smallest share, in percent."] = 5.0
    most: Annotated[float, "The largest share of all background tasks together, in percent."] = 80.0

    def __init__(self) -> None:
        self.shares: dict[str, float] = {}

    def control(self, errors: dict[str, float]) -> dict[str, float]:
        """What is beyond the smallest shares is cut in proportion where tasks want too much together."""
        for task, error in errors.items():
            share = self.p * error + self.i * self.shares.get(task, 0.0)
            self.shares[task] = min(max(share, self.least), self.most)
        beyond = sum(self.shares.values()) - len(errors) * self.least
        room = self.most - len(errors) * self.least
        if beyond > room:
            for task in errors:
                self.shares[task] = self.least + (self.shares[task] - self.least) * room / beyond
        return self.shares


class Reads(Suspend):
    """Reads suspend programs and erases that have long to go, a few times each."""

    name = "python-reads"
    most: Annotated[int, "Suspensions of a command, at most."] = 4
    least_left_us: Annotated[float, "Remaining time of a command that is suspended, in microseconds, at least."] = 100.0

    def suspends(self, running: Running) -> bool:
        """The same for programs and erases."""
        return running.suspensions < self.most and running.left_us >= self.least_left_us


class Constant(Processor):
    """The same time for all work of a kind."""

    name = "python-constant"
    lookup_us: Annotated[float, "Time of a look-up, in microseconds."] = 0.75
    host_us: Annotated[float, "Time to generate an operation of the host, in microseconds."] = 1.5
    background_us: Annotated[float, "The same of a background task."] = 2.0

    def time_us(self, work: str, task: str) -> float:
        """Nothing but the options."""
        if work == "look-up":
            return self.lookup_us
        return self.host_us if task == "host" else self.background_us
