"""Two free-block policies that come with Wordline, rewritten in Python: they open exactly the same blocks."""

from wordline.policy import FreeBlock


class LeastErased(FreeBlock):
    """The block with the fewest P/E cycles; among equals, the one free longest."""

    name = "python-least-erased"

    def rank(self, erases: int, order: int) -> int:
        """Erases count first, then the order in which blocks came free."""
        return erases << 32 | order


class Fifo(FreeBlock):
    """The block that has been free longest, whatever its wear."""

    name = "python-fifo"

    def rank(self, erases: int, order: int) -> int:
        """The order in which blocks came free."""
        return order
