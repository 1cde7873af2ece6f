"""The family that says which blocks belong together, what parity protects, and which reads are rebuilt from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from wordline.policy.base import Policy

if TYPE_CHECKING:
    from collections.abc import Sequence


class Superblock(NamedTuple):
    """Superblocks: one block of each plane of some dies, opened, closed, collected and erased together."""

    dies: int
    """Dies of a superblock, at least 2; must divide the dies of the drive."""
    parity: bool = False
    """True if of each row (the pages of one offset in one plane of each die) the page written last is parity."""
    groups: Sequence[Sequence[int]] | None = None
    """The dies whose blocks form superblocks with each other, group by group, ``dies`` in each and each die once; None:
    neighbours are on different channels. Blocks of a superblock have the same number in their planes."""


class Raid(NamedTuple):
    """Parity of logical pages: consecutive pages of ``placement.order``, each in another die, and one of parity."""

    dies: int
    """Pages of a stripe, parity included, each in another die: 2 to 64; must divide the planes of the drive."""
    open_stripes: int = 1024
    """Stripes whose changes the controller's memory can hold, at least 1."""


class AroundView(NamedTuple):
    """A read of the host whose die works for a background task. Times are nominal ones of the cells."""

    wait_us: float
    """Time until its die has ended its command, and what a commit stage has sent to it, in microseconds."""
    wait_of_others_us: float
    """The same of the dies with the other pages of its row or stripe, whatever they work for: the longest wait."""
    held: bool
    """True if its die serves GC alone until the victim is erased."""


class Redundancy(Policy):
    """Says which blocks belong together, what parity protects, and which reads are rebuilt from it.

    It has superblocks or stripes of logical pages, not both; with neither, each block stands alone. What the built-in
    policies are refused for holds for it, too.
    """

    family = "redundancy"

    def superblock(self) -> Superblock | None:
        """How blocks form superblocks; None if each stands alone. Asked once, when the drive is built."""
        return None

    def raid(self) -> Raid | None:
        """How parity of logical pages is formed; None for none. Asked once, when the drive is built."""
        return None

    def collects_in_turn(self) -> bool:
        """True if at most one die of those that share a :meth:`raid` is collected at a time. Asked once."""
        return False

    def erases_in_turn(self) -> bool:
        """True if the dies of a superblock erase their blocks one after the other, else all at once. Asked once."""
        return False

    def goes_around(self, view: AroundView) -> bool:
        """True if a read is rebuilt from pages of other dies. No cost unless overridden; needs parity.

        Called for a read of the host when it comes to a die that works for a background task, or serves GC alone, and
        the other pages of its row or stripe are known. Not called while the drive is filled and commands take no time.
        """
        return False
