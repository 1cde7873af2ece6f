"""SLC cache, write buffer and host interface in Python: figures of the drive, and a limit of the cache."""

from fractions import Fraction
from typing import Annotated

from wordline.policy import Buffer, Link, LinkCosts, Slc, SlcSize, SlcView, Transfer, TransferView


class Portion(Slc):
    """A part of the blocks of the drive, set aside."""

    name = "python-portion"
    percent: Annotated[float, "Part of the blocks that the cache has, in percent."] = 5.0

    def __init__(self) -> None:
        if not 0 < self.percent < 100:
            raise ValueError("slc.percent must lie between 0 and 100")

    def size(self) -> SlcSize:
        """As ``static``; the same number in each plane."""
        shape = self.drive
        return SlcSize(max(1, int(shape.blocks_per_plane * self.percent / 100)) * shape.planes, 0, set_aside=True)


class Modest(Slc):
    """As ``dynamic``, but the cache takes no more than a part of what is free, or in it."""

    name = "python-modest"
    percent: Annotated[
        float, "Part of the free blocks, and of those in SLC mode, that the cache may have, in percent."
    ] = 50.0

    def __init__(self) -> None:
        self.asked = self.at_its_limit = 0

    def size(self) -> SlcSize:
        """The size alone is that of ``dynamic``."""
        return SlcSize()

    def limit(self, view: SlcView) -> int:
        """It changes with each block that is opened or erased."""
        limit = int((view.free + view.slc_blocks) * self.percent / 100)
        self.asked += 1
        self.at_its_limit += view.slc_blocks >= limit
        return limit

    def begin_measuring(self) -> None:
        """Its figures are those of the measured part of a run."""
        self.asked = self.at_its_limit = 0

    def figures(self) -> dict[str, int]:
        """How often it was asked, and how often the cache had reached its limit."""
        return {"asked": self.asked, "at_its_limit": self.at_its_limit}


class Rows(Buffer):
    """As many pages as all planes of the drive program together, several times."""

    name = "python-rows"
    rows: Annotated[int, "Pages of the buffer for each plane."] = 8

    def capacity_kib(self) -> int:
        """The rest is as ``fifo``."""
        return self.rows * self.drive.planes * self.drive.page_bytes // 1024


class Sas(Link):
    """Serial Attached SCSI with two lanes of 12 Gb/s, roughly: both directions at once, frames of 1,024 bytes."""

    name = "python-sas"
    rate_gb_s: Annotated[float, "Rate of a lane in Gb/s."] = 12.0
    lanes: Annotated[int, "Lanes."] = 2

    def costs(self) -> LinkCosts:
        """8b/10b coding: ten bits on the wire for a byte. A frame has 24 bytes of header, a CRC, and two primitives."""
        data = Transfer(Fraction(self.rate_gb_s) * 100 * self.lanes, packet_bytes=1024, packet_overhead=36)
        return LinkCosts(
            data, data, command_us=0.1, latency_us=1.0, completion_us=0.1, most_queues=1, most_depth=254, usual_depth=64
        )


class Drowsy(Sas):
    """The same, but it sleeps after a rest, and wakes with the next command."""

    name = "python-drowsy"
    sleeps_after_us: Annotated[
        float, "Rest of the interface, from the host, after which it sleeps, in microseconds."
    ] = 100.0
    wakes_in_us: Annotated[float, "Time that it takes to wake, in microseconds."] = 10.0

    def __init__(self) -> None:
        self.woken = 0

    def transfer_us(self, view: TransferView) -> float:
        """Nothing but a command wakes it: completions and data come while it is awake."""
        if view.what != "command" or view.idle_us < self.sleeps_after_us:
            return view.usual_us
        self.woken += 1
        return view.usual_us + self.wakes_in_us

    def begin_measuring(self) -> None:
        """Its figure is that of the measured part of a run."""
        self.woken = 0

    def figures(self) -> dict[str, int]:
        """How often it woke."""
        return {"woken": self.woken}
