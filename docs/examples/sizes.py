"""SLC cache, write buffer and host interface in Python: figures that follow from the drive."""

from fractions import Fraction
from typing import Annotated

from wordline.policy import Buffer, Link, LinkCosts, Slc, SlcSize, Transfer


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
