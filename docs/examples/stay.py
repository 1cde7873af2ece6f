"""A collect policy that says where moved data go: the built-in ``collect.moves_to``, for given numbers of blocks."""

from typing import Annotated, Literal

from wordline.policy import Collect, MoveView, SpaceView


class Stay(Collect):
    """Moved data stay in the channel of the block that they come from, or in its die."""

    name = "stay"
    start: Annotated[int, "Free blocks below which GC starts, and at which it stops."] = 12
    within: Annotated[Literal["channel", "die"], "What moved data stay in."] = "channel"

    def wants(self, view: SpaceView) -> bool:
        """Below ``start``, counting blocks being collected."""
        return view.free + view.running < self.start

    def place(self, view: MoveView) -> tuple[Literal["channel", "die"], int]:
        """The channel or the die of the victim block."""
        return ("channel", view.channel) if self.within == "channel" else ("die", view.die)
