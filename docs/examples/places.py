"""The placement policies that come with Wordline in Python: they choose the same places. One is for superblocks."""

from typing import Annotated

from wordline.policy import Place, Placement


class Ordered(Placement):
    """Planes in an order of Channel, Way, Die and Plane. A base of the others: it has no name."""

    order: Annotated[str, "The letters C, W, D and P, the fastest-changing first."] = "CWDP"

    def visited(self) -> list[int]:
        """The planes in their order."""
        if sorted(self.order) != sorted("CWDP"):
            raise ValueError(f"order must hold each of the letters C, W, D, P once, not {self.order!r}")
        return [self.plane_at(turn) for turn in range(self.drive.planes)]

    def plane_at(self, turn: int) -> int:
        """The plane that is visited in a turn."""
        drive, at = self.drive, {}
        sizes = {"C": drive.channels, "W": drive.packages_per_channel, "D": drive.dies_per_package}
        for letter in self.order:
            turn, at[letter] = divmod(turn, sizes.get(letter, drive.planes_per_die))
        package = at["C"] * drive.packages_per_channel + at["W"]
        die = package * drive.dies_per_package + at["D"]
        return die * drive.planes_per_die + at["P"]


class Static(Ordered):
    """A fixed plane for every page, striped over Channel, Way, Die and Plane; needs ``collect.scope = "plane"``."""

    name = "python-static"

    def pattern(self) -> list[int]:
        """Pages take turns, and stay in their planes."""
        return self.visited()


class LeastBusy(Placement):
    """The first die that is ready takes the write."""

    name = "python-least-busy"

    def place(self, page: int) -> Place:
        """Anywhere."""
        return None


class Rows(Ordered):
    """Each page that is written goes to the next plane: superblocks are written row by row, in this order."""

    name = "python-rows"

    def __init__(self) -> None:
        self.planes = self.visited()
        self.turn = -1
        self.units = self.drive.units_per_page * self.drive.pages_per_program
        self.lacking, self.last = 0, 0

    def place(self, page: int) -> Place:
        """Mapping units that fill a program stay together; otherwise it is the next plane's turn."""
        if self.lacking and page - self.last in (0, 1):
            self.lacking -= 1
        else:
            self.turn += 1
            self.lacking = self.units - 1
        self.last = page
        return self.planes[self.turn % len(self.planes)]


class InTurn(Rows):
    """Each page that is written goes to the next plane, but not to full ones; needs ``collect.scope = "plane"``."""

    name = "python-in-turn"

    def passed_over(self) -> None:
        """The next plane, then."""
        self.lacking = 0


class Spot:
    """Where a request writes."""

    def __init__(self, at: int, placed: int = 0) -> None:
        self.at, self.placed, self.passed, self.plane = at, placed, 0, 0
        """The turn of its die, its units so far, planes that were passed over, and the plane of its last program."""


class ByRequest(Ordered):
    """All pages of a request go to one die, and the next request to the next; needs ``collect.scope = "plane"``."""

    name = "python-by-request"

    def __init__(self) -> None:
        self.units = self.drive.units_per_page * self.drive.pages_per_program
        # Planes come last: the first of all dies come before any second one.
        self.order = self.order.replace("P", "") + "P"
        self.dies = [plane // self.drive.planes_per_die for plane in self.visited()[: self.drive.dies]]
        self.turns = [0] * len(self.dies)
        self.turn = 0
        self.spots: dict[int | None, Spot] = {}
        self.recent: int | None = None

    def begins(self, request: int | None) -> None:
        """The next request takes the next die."""
        self.spots[request] = Spot(self.turn)
        self.turn = (self.turn + 1) % len(self.dies)

    def place_for(self, page: int, request: int | None) -> Place:
        """Its die; the planes of a die take turns, program by program."""
        # The drive is filled in requests of one program.
        if request is None and (None not in self.spots or self.spots[None].placed >= self.units):
            self.begins(None)
        spot = self.spots[request]
        if spot.placed % self.units == 0:
            spot.plane = self.turns[spot.at]
            self.turns[spot.at] = (spot.plane + 1) % self.drive.planes_per_die
        spot.placed += 1
        self.recent = request
        return self.dies[spot.at] * self.drive.planes_per_die + spot.plane

    def passed_over(self) -> None:
        """The next plane of the die, or the next die if all were tried."""
        spot = self.spots[self.recent]
        spot.passed += 1
        if spot.passed % self.drive.planes_per_die == 0:
            spot.at = (spot.at + 1) % len(self.dies)
        spot.placed = (spot.placed - 1) // self.units * self.units + self.units
