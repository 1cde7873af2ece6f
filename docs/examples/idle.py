"""The collect policies that come with Wordline for log blocks, rewritten in Python: AGC, DGC, both, and partial GC."""

from typing import Annotated, Literal

from wordline.policy import Collect, IdleView, Schedule, SpaceView

Work = Literal["retroactive", "look-ahead", "proactive"]


class _OnDemand(Collect):
    """Merges on demand: below one number of free blocks, until another."""

    start: Annotated[int, "Free blocks of a domain below which GC starts; collect.start_blocks, too."] = 2
    stop: Annotated[int, "Free blocks at which it stops; collect.stop_blocks, too."] = 2

    def __init__(self) -> None:
        self.active: set[int] = set()

    def wants(self, view: SpaceView) -> bool:
        """True between the two numbers, after the first."""
        if view.free < self.start:
            self.active.add(view.domain)
        elif view.free >= self.stop:
            self.active.discard(view.domain)
        return view.domain in self.active and view.free + view.running < self.stop


class AgcDgc(_OnDemand):
    """Merges are delayed to idle periods, and done ahead there (jung13, Algorithm 3)."""

    name = "python-agc-dgc"
    ahead: Annotated[bool, "Merges are done ahead, in idle periods."] = True
    delays: Annotated[bool, "Those that the host would wait for are delayed to idle periods."] = True
    idle: Annotated[float, "An idle period is long if it lasts for more, in microseconds."] = 1e6
    threshold: Annotated[int, "Free blocks below which log blocks are merged ahead in long periods."] = 4
    any_block: Annotated[bool, "Log blocks that are not full are merged there, too."] = False

    def after_rest(self) -> float:
        """When a period is long."""
        return self.idle

    def schedule(self) -> Schedule:
        """As the options say."""
        return Schedule(self.ahead, self.delays, "any" if self.any_block else "full")

    def idle_work(self, view: IdleView) -> Work | None:
        """Delayed merges first; then what the next request needs, if it fits in, or in long periods full log blocks."""
        if self.delays and view.has_delayed:
            return "retroactive"
        if not self.ahead:
            return None
        if view.period_us is not None and view.period_us <= self.idle:
            fits = view.needed_us is not None and view.left_us is not None and view.needed_us <= view.left_us
            return "look-ahead" if fits else None
        return "proactive" if view.rested and view.has_full and view.free < self.threshold else None


class Partial(_OnDemand):
    """Merges in steps that writes pay for, while free blocks are few."""

    name = "python-partial"
    threshold: Annotated[int, "Free blocks below which merges go in steps."] = 4
    steps_per_page: Annotated[int, "Steps that a page written to a log block pays for."] = 1

    def schedule(self) -> Schedule:
        """Steps."""
        return Schedule(steps_below=self.threshold, steps_per_page=self.steps_per_page)
