"""Choices of the map unit that leaves the map cache: the built-in one in Python, and two others."""

from collections import Counter

from wordline.policy import Mapping


class LeastRecent(Mapping):
    """The map unit whose use is the longest ago, as with ``mapping.policy = "cached"``."""

    name = "python-cached"

    def evict(self, oldest: list[tuple[int, bool]], coming: int) -> int:
        """The first of the list."""
        return oldest[0][0]


class CleanFirst(Mapping):
    """Of those shown, the oldest that need not be written; the oldest of all if each has changed."""

    name = "clean-first"

    def evict(self, oldest: list[tuple[int, bool]], coming: int) -> int:
        """A map unit that has not changed costs no write."""
        return next((unit for unit, changed in oldest if not changed), oldest[0][0])


class LeastFrequent(Mapping):
    """Of those shown, the one that was used least often; among equals, the one whose use is the longest ago."""

    name = "least-frequent"

    def __init__(self) -> None:
        self.uses: Counter[int] = Counter()

    def used(self, map_unit: int) -> None:
        """Counts."""
        self.uses[map_unit] += 1

    def evict(self, oldest: list[tuple[int, bool]], coming: int) -> int:
        """The lowest count."""
        leaves = min(oldest, key=lambda one: self.uses[one[0]])[0]
        del self.uses[leaves]
        return leaves
