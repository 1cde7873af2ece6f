"""A collect policy that works ahead while the host rests: the built-in ``background``, for given numbers of blocks."""

from typing import Annotated

from wordline.policy import CandidateView, Collect, SpaceView, StepView


class Ahead(Collect):
    """GC goes on in rests of the host until more blocks are free. It makes way for the host unless blocks are short."""

    name = "ahead"
    start: Annotated[
        int, "Free blocks of a domain below which GC starts, and at which it stops while the host works."
    ] = 3
    background: Annotated[int, "Free blocks at which it stops while the host rests."] = 6
    idle: Annotated[float, "Time without a request of the host, in microseconds, after which it rests."] = 10_000.0

    def after_rest(self) -> float:
        """When the host rests."""
        return self.idle

    def wants(self, view: SpaceView) -> bool:
        """Below one of the two numbers, counting blocks being collected."""
        return view.free + view.running < (self.background if view.rested else self.start)

    def step(self, view: StepView) -> bool:
        """True to go on with a victim block."""
        needs_die = view.host_reads or view.host_writes or view.die_serves_host
        return not needs_die or not view.host_has_room or view.free < self.start


class Foresight(Ahead):
    """As :class:`Ahead`, but in a rest it starts a block only if it can end before the next request, as with
    ``collect.foresight``: an ideal to compare with."""

    name = "foresight"

    def takes(self, view: CandidateView) -> bool:
        """True if blocks are short, or there is time."""
        return view.free < self.start or view.until_next_us is None or view.time_us <= view.until_next_us
