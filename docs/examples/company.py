"""Redundancy, packing and TRIM as they come with Wordline, rewritten in Python, and one that ignores small TRIMs."""

from typing import Annotated

from wordline.policy import AroundView, Follower, Pack, PackedOperation, Raid, Redundancy, Superblock, Trim


class Rain(Redundancy):
    """Superblocks with a page of parity in each row; reads are rebuilt where the other dies are free sooner."""

    name = "python-rain"
    dies: Annotated[int, "Dies of a superblock; 0 for all."] = 0
    spread: Annotated[
        bool, "Neighbours are on different channels; if not, dies follow each other channel by channel."
    ] = True
    erase_in_turn: Annotated[bool, "Dies erase their blocks one after the other."] = True
    least_gain_us: Annotated[float, "Reads are rebuilt if that is sooner by more than this, in microseconds."] = 0.0

    def superblock(self) -> Superblock:
        """As ``rain``, unless it keeps to few channels."""
        dies, all_ = self.dies or self.drive.dies, range(self.drive.dies)
        groups = None if self.spread else [all_[first : first + dies] for first in all_[::dies]]
        return Superblock(dies, parity=True, groups=groups)

    def erases_in_turn(self) -> bool:
        """As the option says."""
        return self.erase_in_turn

    def goes_around(self, view: AroundView) -> bool:
        """With a least gain of 0 as ``rain``."""
        return view.wait_us - view.wait_of_others_us > self.least_gain_us


class TtFlash(Redundancy):
    """Parity of consecutive logical pages; one die of a group at most is collected at a time."""

    name = "python-ttflash"
    dies: Annotated[int, "Pages of a stripe, parity included; 0 for the channels of the drive."] = 0

    def raid(self) -> Raid:
        """As ``ttflash``."""
        return Raid(self.dies or self.drive.channels)

    def collects_in_turn(self) -> bool:
        """Always."""
        return True

    def goes_around(self, view: AroundView) -> bool:
        """As ``ttflash``."""
        return view.held or view.wait_of_others_us < view.wait_us


class Planes(Pack):
    """Multi-plane commands; those of garbage collection take operations of the host along."""

    name = "python-planes"
    reads_only: Annotated[bool, "Only reads come along."] = False

    def joins(self, lead: str, other: str) -> bool:
        """Unless it is for reads only, as ``planes`` with ``join_gc``."""
        fits = lead.startswith("gc-") and other.startswith("host-")
        return fits and (not self.reads_only or lead == "gc-read")


class Partners(Pack):
    """Multi-plane commands of one request, or of reads alone."""

    name = "python-partners"
    across_requests: Annotated[bool, "Operations of the host share a command with those of other requests."] = True
    reads_alone: Annotated[bool, "Programs and erases have commands of their own."] = False

    def fits(self, command: list[PackedOperation], other: PackedOperation) -> bool:
        """As ``planes``, with its option ``across_requests``, unless reads are alone."""
        if self.reads_alone and not other.kind.endswith("-read"):
            return False
        return self.across_requests or other.request == command[0].request


class Sequences(Pack):
    """Cache mode whose sequences may end with their request."""

    name = "python-sequences"
    cache = True
    across_requests: Annotated[bool, "A command follows one of another request."] = True

    def follows(self, command: list[PackedOperation], waiting: list[Follower]) -> int | None:
        """As ``planes`` with ``cache``; or the oldest of the request of the command before."""
        if self.across_requests:
            return 0 if waiting[0].before == 0 else None
        own = (at for at, one in enumerate(waiting) if one.request == command[0].request)
        return next(own, None)


class Large(Trim):
    """Small deallocations are ignored."""

    name = "python-large"
    least_pages: Annotated[int, "Logical pages of a request that is heeded, at least."] = 1

    def invalidates(self, first: int, count: int) -> bool:
        """With 1 page as ``invalidate``."""
        return count >= self.least_pages
