"""Two free-block policies that come with Wordline, rewritten in Python, and one that looks at whose data come."""

from wordline.policy import FreeBlock, FreeView


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


class ByHeat(FreeBlock):
    """The least worn block for data of the host, and the most worn one for data that are moved.

    What garbage collection moves was not overwritten for some time, so a worn block gets some rest with it.
    """

    name = "by-heat"

    def __init__(self) -> None:
        self.opened = {"host": 0, "moved": 0}

    def choose(self, view: FreeView) -> int:
        """Among equals, the block that has been free longest: ``view`` has them in the order of their ranks."""
        of_host = view.task == "host"
        self.opened["host" if of_host else "moved"] += 1
        return view.blocks[view.erases.argmin() if of_host else view.erases.argmax()]

    def begin_measuring(self) -> None:
        """Blocks opened before do not count."""
        self.opened = {"host": 0, "moved": 0}

    def figures(self) -> dict[str, int]:
        """How many blocks were opened for whom."""
        return self.opened
