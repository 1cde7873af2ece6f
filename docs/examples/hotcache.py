"""Which writes go to the SLC cache: a placement and a cache in Python that agree on the planes that have it.

The placement sends what was written lately to the planes of some dies, and the cache opens blocks in SLC mode in
these planes alone. So hot data go to the cache, and all others past it. Both need ``collect.scope = "plane"``.
"""

from collections.abc import Iterable
from typing import Annotated

from wordline.policy import Place, Placement, Shape, Slc, SlcSize, SlcView


def planes_of_cache(shape: Shape, dies: int) -> list[int]:
    """The planes of the first dies of each channel."""
    return [plane for plane in range(shape.planes) if plane // shape.planes_per_die % shape.dies_per_channel < dies]


class Hot(Placement):
    """Pages that were written lately go to some dies of each channel, and the others elsewhere, in turn."""

    name = "python-hot"
    dies: Annotated[int, "Dies of each channel for what was written lately."] = 1
    lately: Annotated[int, "Logical pages that were written last, which count as hot."] = 4_096

    def __init__(self) -> None:
        hot = planes_of_cache(self.drive, self.dies)
        self.planes = hot + [plane for plane in range(self.drive.planes) if plane not in hot]
        if not 0 < len(hot) < len(self.planes):
            raise ValueError(f"placement.dies must lie between 1 and {self.drive.dies_per_channel - 1}")
        self.hot = len(hot)
        self.turns, self.at, self.is_again = [0, 0], 0, False
        self.seen: dict[int, None] = {}

    def place(self, page: int) -> Place:
        """The next plane of its kind."""
        if self.is_again:
            self.is_again = False
            return self.planes[self.at]
        is_cold = self.seen.pop(page, 0) == 0
        self.seen[page] = None
        if len(self.seen) > self.lately:
            del self.seen[next(iter(self.seen))]
        turn = self.turns[is_cold]
        self.turns[is_cold] += 1
        self.at = self.hot + turn % (len(self.planes) - self.hot) if is_cold else turn % self.hot
        return self.planes[self.at]

    def passed_over(self) -> None:
        """The next one of all planes, then."""
        self.at = (self.at + 1) % len(self.planes)
        self.is_again = True


class HotCache(Slc):
    """As ``dynamic``, but in the planes for hot data alone."""

    name = "python-hot-cache"
    dies: Annotated[int, "Dies of each channel that have the cache."] = 1

    def size(self) -> SlcSize:
        """As many blocks as are free there."""
        return SlcSize()

    def planes(self, view: SlcView) -> Iterable[int]:
        """Those of the domain, which is a plane, if it is one of them."""
        return [view.domain] if view.domain in planes_of_cache(self.drive, self.dies) else []
