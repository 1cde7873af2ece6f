"""Policies written in Python: a class, used by its name in a run.

A policy derives from the class of its family and decides in one method::

    import wordline

    class Youngest(wordline.policy.Victim):
        "Among blocks that free space, the one invalidated last."

        name = "youngest"
        at_most: float = 0.9

        def choose(self, view):
            fit = view.valid <= self.at_most * view.units_per_block
            return view.blocks[fit][view.age[fit].argmin()] if fit.any() else None

    wordline.run("demo", "load.toml", {"victim.policy": "youngest"}, policies=[Youngest])

Annotated attributes are its options, keys of its family's section in a drive file (``victim.at_most = 0.8``). Their
types are bool, int, float, str or a ``Literal`` of strings; the text in ``Annotated[float, "..."]`` documents one; an
option without a default is required. They are set before ``__init__``, which takes no arguments and may reject them.
Also set are ``self.drive``, a :class:`Shape`, and ``self.random``, a generator seeded by the run: other sources of
randomness would make runs irreproducible.

An exception of a policy ends the run and is passed on unchanged; after ``KeyboardInterrupt`` there is a partial result,
as after any Ctrl-C.
"""

from wordline.policy.base import Policy, Shape
from wordline.policy.commands import (
    Arbiter,
    AtOnce,
    Buffer,
    BufferView,
    Deadlines,
    DeviceQueue,
    Dispatch,
    Follower,
    Link,
    LinkCosts,
    Pack,
    PackedOperation,
    Processor,
    Running,
    Shares,
    StageView,
    Suspend,
    Transfer,
    TransferView,
    WaitingOperation,
    WaitingRequest,
    WaitingTransaction,
)
from wordline.policy.data import (
    CandidateView,
    Collect,
    Fold,
    FreeBlock,
    FreeView,
    IdleView,
    LogBlocks,
    Mapping,
    MergeView,
    MoveView,
    Place,
    Placement,
    Refresh,
    Schedule,
    SequenceView,
    Slc,
    SlcSize,
    SlcView,
    SpaceView,
    StepView,
    Trim,
    Upkeep,
    UpkeepView,
    Victim,
    VictimView,
    Wear,
)
from wordline.policy.families import FAMILIES, KINDS, bases, described, given
from wordline.policy.redundancy import AroundView, Raid, Redundancy, Superblock

__all__ = [
    "FAMILIES",
    "KINDS",
    "Arbiter",
    "AroundView",
    "AtOnce",
    "Buffer",
    "BufferView",
    "CandidateView",
    "Collect",
    "Deadlines",
    "DeviceQueue",
    "Dispatch",
    "Fold",
    "Follower",
    "FreeBlock",
    "FreeView",
    "IdleView",
    "Link",
    "LinkCosts",
    "LogBlocks",
    "Mapping",
    "MergeView",
    "MoveView",
    "Pack",
    "PackedOperation",
    "Place",
    "Placement",
    "Policy",
    "Processor",
    "Raid",
    "Redundancy",
    "Refresh",
    "Running",
    "Schedule",
    "SequenceView",
    "Shape",
    "Shares",
    "Slc",
    "SlcSize",
    "SlcView",
    "SpaceView",
    "StageView",
    "StepView",
    "Superblock",
    "Suspend",
    "Transfer",
    "TransferView",
    "Trim",
    "Upkeep",
    "UpkeepView",
    "Victim",
    "VictimView",
    "WaitingOperation",
    "WaitingRequest",
    "WaitingTransaction",
    "Wear",
    "bases",
    "described",
    "given",
]
