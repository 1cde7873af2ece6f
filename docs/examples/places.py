"""The placement policies that come with Wordline, rewritten in Python: data go to exactly the same places."""

from typing import Annotated

from wordline.policy import Place, Placement


class Static(Placement):
    """A fixed plane for every page, striped over Channel, Way, Die and Plane; needs ``collect.scope = "plane"``."""

    name = "python-static"
    order: Annotated[str, "The letters C, W, D and P, the fastest-changing first."] = "CWDP"

    def __init__(self) -> None:
        if sorted(self.order) != sorted("CWDP"):
            raise ValueError(f"order must hold each of the letters C, W, D, P once, not {self.order!r}")
        self.planes = [self.visited(turn) for turn in range(self.drive.planes)]

    def visited(self, turn: int) -> int:
        """The plane that a page visits in its turn."""
        drive, at = self.drive, {}
        sizes = {"C": drive.channels, "W": drive.packages_per_channel, "D": drive.dies_per_package}
        for letter in self.order:
            turn, at[letter] = divmod(turn, sizes.get(letter, drive.planes_per_die))
        package = at["C"] * drive.packages_per_channel + at["W"]
        die = package * drive.dies_per_package + at["D"]
        return die * drive.planes_per_die + at["P"]

    def place(self, page: int) -> Place:
        """Pages take turns."""
        return self.planes[page % len(self.planes)]


class LeastBusy(Placement):
    """The first die that is ready takes the write."""

    name = "python-least-busy"

    def place(self, page: int) -> Place:
        """Anywhere."""
        return None
