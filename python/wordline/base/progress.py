"""Progress of a long run: a bar on standard error in a terminal, a bar below its cell in a notebook, and elsewhere a
plain line a minute on standard error."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.base.errors import tell

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

Told = Callable[[str, float | None, int, float], object]
"""Called ten times a second or so with the phase, its fraction done (0 to 1 or None), requests, simulated seconds."""

PATIENCE_S = 1.0
"""A run shorter than this shows no bar."""

LINE_S = 60.0
"""Seconds between progress lines where there is no terminal, as in a batch system."""


@contextmanager
def shown(progress: Told | bool | None) -> Iterator[Told]:
    """The receiver of the engine's progress: a caller's function, or a bar while the context lasts."""
    if callable(progress):
        yield progress
    elif progress is not False and in_notebook():
        with _Notebook() as told:
            yield told
    elif progress:
        with Progress() as told:
            yield told
    else:
        yield lambda *_: None


def in_notebook() -> bool:
    """True inside a notebook's kernel."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


class Progress:
    """Takes the engine's reports; a context, which clears the bar at its end."""

    def __init__(self, quiet: bool = False) -> None:
        self.wanted = not quiet
        self.plain = not sys.stderr.isatty()
        self.started = self.told = time.monotonic()
        self.bar: Bar | None = None
        self.task: TaskID | None = None
        self.phase: str | None = None
        self.phase_started = self.started
        self.phase_requests = 0
        self.state = ""

    def of_drive(self, write_amplification: float | None, free_blocks: int) -> None:
        """Hears how the drive does, before the report that it belongs to."""
        self.state = drive_words(write_amplification, free_blocks)

    def __call__(self, phase: str, fraction: float | None, requests: int, simulated_s: float) -> None:
        """Reports that ``fraction`` (0 to 1, or None) of ``phase`` is done."""
        if not self.wanted:
            return
        now = time.monotonic()
        if phase != self.phase:
            self.phase, self.phase_started, self.phase_requests = phase, now, requests
            if self.bar is not None and self.task is not None:
                self.bar.reset(self.task, description=phase)
        if self.plain:
            if now - self.told >= LINE_S:
                self.told = now
                tell(line(phase, fraction, self._figures(now, requests, simulated_s)))
            return
        if self.bar is None:
            if now - self.started < PATIENCE_S:
                return
            self._show()
        figures = self._figures(now, requests, simulated_s)
        total = None if fraction is None else 1.0
        assert self.bar is not None and self.task is not None
        self.bar.update(self.task, description=phase, completed=fraction or 0.0, total=total, figures=figures)

    def _figures(self, now: float, requests: int, simulated_s: float) -> str:
        figures = words(requests, requests - self.phase_requests, now - self.phase_started, simulated_s)
        # It belongs to this report only: what follows may be of no drive.
        state, self.state = self.state, ""
        return ", ".join(part for part in (figures, state) if part)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TextColumn("{task.fields[figures]}", style="dim"),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.bar.add_task(self.phase or "", total=None, figures="")
        self.bar.start()

    def rest(self) -> None:
        """Takes the bar away, for something else that uses the terminal."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.bar is not None:
            self.bar.stop()


def line(phase: str, fraction: float | None, figures: str) -> str:
    """Progress as a line: ``run: 42 %, 1.2 M requests, 350 k/s, 12 s simulated``."""
    share = [] if fraction is None else [f"{math.floor(100 * fraction)} %"]
    return f"{phase}: {', '.join([*share, *([figures] if figures else [])]) or 'started'}"


def words(requests: int, since: int, elapsed_s: float, simulated_s: float) -> str:
    """Progress in words: requests, their rate over the last ``elapsed_s``, and the simulated time."""
    rate = since / elapsed_s if elapsed_s > 0.2 else 0.0
    text = f"{units.short(requests)} requests, {units.short(round(rate))}/s" if requests else ""
    return f"{text}, {units.duration(simulated_s)} simulated" if simulated_s else text


def drive_words(write_amplification: float | None, free_blocks: int) -> str:
    """How the drive does while it is written: ``WAF 2.31, 1,024 blocks free``."""
    free = f"{free_blocks:,} blocks free"
    return free if write_amplification is None else f"WAF {write_amplification:.2f}, {free}"


class _Notebook:
    """A bar in the output of a cell, of plain HTML: it needs no extension. It is gone when the run is done."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.place: Any = None
        self.phase: tuple[str, float, int] | None = None
        self.state = ""

    def of_drive(self, write_amplification: float | None, free_blocks: int) -> None:
        """Hears how the drive does, before the report that it belongs to."""
        self.state = drive_words(write_amplification, free_blocks)

    def __call__(self, phase: str, fraction: float | None, requests: int, simulated_s: float) -> None:
        """Reports that ``fraction`` (0 to 1, or None) of ``phase`` is done."""
        now = time.monotonic()
        if self.phase is None or self.phase[0] != phase:
            self.phase = phase, now, requests
        if now - self.started < PATIENCE_S:
            return
        _, since, before = self.phase
        value = "" if fraction is None else f' value="{fraction:.3f}"'
        figures = words(requests, requests - before, now - since, simulated_s)
        state, self.state = self.state, ""
        figures = ", ".join(part for part in (figures, state) if part)
        self._put(f"<progress{value}></progress> {phase} {figures}")

    def _put(self, html: str) -> None:
        from IPython.display import HTML, display

        if self.place is None:
            self.place = display(HTML(html), display_id=True)
        else:
            self.place.update(HTML(html))

    def __enter__(self) -> Callable[[str, float | None, int, float], None]:
        return self

    def __exit__(self, *_: object) -> None:
        if self.place is not None:
            self._put("")
