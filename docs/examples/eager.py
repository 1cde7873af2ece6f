"""A collect policy: blocks are collected before free ones run low, where that is cheap."""

from typing import Annotated

from wordline.policy import Collect, SpaceView


class Eager(Collect):
    """As on-demand, but some blocks earlier in every domain."""

    name = "eager"
    ahead: Annotated[int, "Free blocks beyond which it rests."] = 8

    def __init__(self) -> None:
        if self.ahead < 1:
            raise ValueError(f"ahead must be at least 1, not {self.ahead}")

    def wants(self, view: SpaceView) -> bool:
        """Below ``ahead``, counting blocks being collected."""
        return view.free + view.running < self.ahead
