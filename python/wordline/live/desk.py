"""Where a live drive is looked at and changed: a disk that is served, or a run that somebody watches."""

from __future__ import annotations

import json
import math
import threading
from typing import TYPE_CHECKING, Any, Protocol

from wordline.base.errors import Trouble
from wordline.live.interval import keep_blocks

if TYPE_CHECKING:
    from wordline._core import Desk as Engine


PATIENCE_S = 20.0
"""Whoever asks before the server is ready waits so long."""


class Ended(Exception):
    """The drive is gone: there is nothing to look at any more."""


class Desk(Protocol):
    """What the page, the socket and the terminal ask."""

    kind: str
    """``disk`` or ``run``."""

    def exports(self) -> list[str]:
        """The names of the drives; that of the first is empty."""

    def view(self, export: str, cells: bool) -> dict[str, Any]:
        """A drive as it is now; with its blocks, if ``cells``.

        :raises Ended: if it is gone.
        :raises Trouble: if there is no such drive.
        """

    def pause(self, paused: bool) -> None:
        """Lets simulated time stand still, or go on."""

    def set(self, export: str, sets: list[str]) -> dict[str, Any]:
        """Changes keys, each as KEY=VALUE; what has changed.

        :raises Trouble: if one cannot change.
        """

    def stop(self) -> None:
        """Ends server or run, as Ctrl-C does."""


class Disk:
    """The desk of a server. The engine gives it once the server is ready; whoever asks before waits."""

    kind = "disk"

    def __init__(self) -> None:
        self.engine: Engine | None = None
        self.is_ready = threading.Event()

    def ready(self, engine: Engine) -> None:
        """Hears that the server is ready."""
        self.engine = engine
        self.is_ready.set()

    def end(self) -> None:
        """Lets those go who still wait for a server that did not come to be."""
        self.is_ready.set()

    def _engine(self) -> Engine:
        if not self.is_ready.wait(PATIENCE_S):
            raise Trouble("the disk is not served yet: its drive is being preconditioned; try again later")
        if self.engine is None:
            raise Ended
        return self.engine

    def exports(self) -> list[str]:
        """See :class:`Desk`."""
        return self._engine().exports()

    def view(self, export: str, cells: bool) -> dict[str, Any]:
        """See :class:`Desk`."""
        engine = self._engine()
        if export not in engine.exports():
            raise Trouble(no_export(export, engine.exports()))
        return json.loads(self._asked(lambda: engine.view(export, cells)))

    def pause(self, paused: bool) -> None:
        """See :class:`Desk`."""
        self._engine().pause(paused)

    def set(self, export: str, sets: list[str]) -> dict[str, Any]:
        """See :class:`Desk`."""
        engine = self._engine()
        if export not in engine.exports():
            raise Trouble(no_export(export, engine.exports()))
        return json.loads(self._asked(lambda: engine.set(export, sets)))

    def stop(self) -> None:
        """See :class:`Desk`."""
        self._engine().stop()

    @staticmethod
    def _asked(ask: Any) -> str:  # noqa: ANN401
        from wordline import _core

        try:
            return ask()
        except (_core.InputError, _core.RunError) as error:
            if "the server has ended" in str(error):
                raise Ended from None
            raise Trouble(str(error)) from None


class Run:
    """The desk of a run that is watched. The run shows its drive ten times a second, and hears the pace."""

    kind = "run"

    def __init__(self, title: str, pace: float) -> None:
        """:param pace: simulated seconds in a second; infinite for as fast as it goes."""
        self.title, self.pace = title, pace
        self.paused = self.stopped = self.over = False
        self.last: dict[str, Any] | None = None
        self.changed = threading.Condition()

    def shown(self, text: str) -> float:
        """Hears of the drive, and tells the pace.

        :raises KeyboardInterrupt: if the run is to end.
        """
        with self.changed:
            view = json.loads(text)
            view["run"] |= {"title": self.title, "paused": self.paused}
            # The engine tells of the blocks now and then.
            keep_blocks(view, self.last or {})
            self.last = view
            self.changed.notify_all()
        if self.stopped:
            raise KeyboardInterrupt
        return 0.0 if self.paused else self.pace

    def end(self) -> None:
        """Hears that the run is over."""
        with self.changed:
            self.over = True
            self.changed.notify_all()

    def exports(self) -> list[str]:
        """See :class:`Desk`."""
        return [""]

    def view(self, export: str, cells: bool) -> dict[str, Any]:
        """See :class:`Desk`; waits until the run begins."""
        if export:
            raise Trouble(no_export(export, [""]))
        with self.changed:
            self.changed.wait_for(lambda: self.over or self.last is not None)
            if self.over or self.last is None:
                raise Ended
            return dict(self.last)

    def pause(self, paused: bool) -> None:
        """See :class:`Desk`."""
        self.paused = paused

    def set(self, export: str, sets: list[str]) -> dict[str, Any]:
        """See :class:`Desk`. A run has its drive from beginning to end; only its pace may change."""
        for text in sets:
            key, _, value = text.partition("=")
            if key.strip() != "pace":
                raise Trouble(f"{key.strip()} cannot change during a run; this can: pace")
            self.pace = pace_of(value.strip())
        told = None if math.isinf(self.pace) else self.pace
        return {"changed": [{"key": "pace", "to": told}]}

    def stop(self) -> None:
        """See :class:`Desk`."""
        self.stopped = True


def pace_of(text: str) -> float:
    """Simulated seconds in a second.

    :raises Trouble: if it is no such number.
    """
    try:
        pace = float(text)
    except ValueError:
        pace = math.nan
    if not 1e-12 <= pace <= 1e6:
        raise Trouble(f"pace={text}: not a number between 0.000000000001 and 1,000,000; 1 is real time")
    return pace


def no_export(name: str, exports: list[str]) -> str:
    """The message that there is no such export."""
    named = [other for other in exports if other]
    rest = f"the exports with a name are: {', '.join(named)}" if named else "there is one drive, which needs no name"
    return f"there is no export '{name}'; {rest}"
