"""Three victim policies that come with Wordline, rewritten in Python: they choose exactly the same blocks."""

import numpy as np
from wordline.policy import Victim, VictimView


class Greedy(Victim):
    """The block with the fewest valid logical pages; among equals, the one that has had that count longest."""

    name = "python-greedy"

    def choose(self, view: VictimView) -> int | None:
        """The first of the view, unless it frees no page."""
        if not len(view.blocks):
            return None
        # argmin takes the first of equals, which the order of the view makes the right one.
        best = view.valid.argmin()
        gains = view.valid[best] + view.units_per_page <= view.units_per_block
        return view.blocks[best] if gains else None


class CostBenefit(Victim):
    """The largest (1 - u) x age / 2u; u = share of valid units, age = pages programmed since the last invalidation."""

    name = "python-cost-benefit"
    age_weight: float = 1.0

    def choose(self, view: VictimView) -> int | None:
        """The best ratio of gain to work."""
        # However old, a block without a page to gain is not worth its work, and the engine would refuse it.
        gaining = np.searchsorted(view.valid, view.units_per_block - view.units_per_page, side="right")
        if gaining == 0:
            return None
        if view.valid[0] == 0:
            return view.blocks[0]
        valid, age = view.valid[:gaining], view.age[:gaining] + 1.0
        if self.age_weight != 1:
            age **= self.age_weight
        return view.blocks[np.argmax((view.units_per_block - valid) * age / (2 * valid))]


class ReadAligned(Victim):
    """Of the blocks with the fewest valid logical pages, the one whose pages fit most reads that wait."""

    name = "python-read-aligned"
    candidates: int = 10
    sees_reads = True

    def choose(self, view: VictimView) -> int | None:
        """The first of equals has had its count longest."""
        gaining = np.searchsorted(view.valid, view.units_per_block - view.units_per_page, side="right")
        if gaining == 0:
            return None
        assert view.aligned_reads is not None, "it sees reads"
        least = min(np.searchsorted(view.valid, view.valid[0], side="right"), self.candidates)
        return view.blocks[view.aligned_reads[:least].argmax()]
