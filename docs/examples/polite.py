"""A collect policy that puts garbage collection on hold: the built-in ``preemptive``, for given numbers of blocks."""

from typing import Annotated

from wordline.policy import Collect, SpaceView, StepView


class Polite(Collect):
    """GC makes way for the host before each page move, while blocks are not very short."""

    name = "polite"
    start: Annotated[int, "Free blocks of a domain below which GC starts, and at which it stops."] = 3
    hard: Annotated[int, "Free blocks below which it is not put on hold."] = 2

    def wants(self, view: SpaceView) -> bool:
        """Below ``start``, counting blocks being collected."""
        return view.free + view.running < self.start

    def step(self, view: StepView) -> bool:
        """True to go on with a victim block."""
        needs_die = view.host_reads or view.host_writes or view.die_serves_host
        return not needs_die or not view.host_has_room or view.free < self.hard
