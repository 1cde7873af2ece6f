"""Common to all families of policies: the drive that a policy sees, and its base class."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

Figure = bool | int | float | None | Sequence[int] | Sequence[float]
"""What a figure of a policy may be; numbers and arrays of NumPy serve, too."""


@dataclass(frozen=True)
class Shape:
    """Properties of the drive that a policy may use."""

    seed: int
    """Seed of the run."""
    domains: int
    """Domains of garbage collection: 1, or one a plane."""
    channels: int
    """Channels in the drive."""
    packages_per_channel: int
    """Packages (ways) on a channel."""
    dies_per_package: int
    """Dies in a package."""
    planes_per_die: int
    """Planes in a die; plane ``p`` is in die ``p // planes_per_die``."""
    planes: int
    """Planes in the drive."""
    blocks_per_plane: int
    """Blocks in a plane; block ``b`` is in plane ``b // blocks_per_plane``."""
    pages_per_block: int
    """Pages in a block."""
    pages_per_program: int
    """Pages of a block that are programmed together."""
    units_per_page: int
    """Logical pages (mapping units) in a page."""
    page_bytes: int
    """Bytes in a page."""

    @property
    def dies(self) -> int:
        """Dies in the drive."""
        return self.planes // self.planes_per_die

    @property
    def dies_per_channel(self) -> int:
        """Dies on a channel; die ``d`` is on channel ``d // dies_per_channel``, package by package."""
        return self.packages_per_channel * self.dies_per_package


class Policy:
    """Common base of policies; derive from one of the families."""

    family: ClassVar[str]
    """The family; also its section in a drive file."""
    name: ClassVar[str]
    """Its name, the value of ``policy``."""
    drive: Shape
    """The drive."""
    random: random.Random
    """Its random generator, the same in every run with the same seed."""

    def begin_measuring(self) -> None:
        """Called when measuring starts, after filling and a ramp: what :meth:`figures` counts begins anew."""

    def figures(self) -> Mapping[str, Figure] | None:
        """Figures of its own, by name, for the result: ``policy_figures.FAMILY.NAME``. None for none.

        Asked when measuring ends, before the drive comes to rest. Names are words such as ``moved_pages``. Any other
        answer ends the run with a message.
        """
        return None
