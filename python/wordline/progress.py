"""The progress bar of a run: on standard error, only for a person, and only if the run takes long enough to wonder."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from wordline import units

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

PATIENCE_S = 1.0
"""A run shorter than this shows no bar."""


class Progress:
    """Takes the engine's reports; a context, which clears the bar at its end."""

    def __init__(self, quiet: bool = False) -> None:
        self.wanted = not quiet and sys.stderr.isatty()
        self.started = time.monotonic()
        self.bar: Bar | None = None
        self.task: TaskID | None = None
        self.phase: str | None = None
        self.phase_started = self.started
        self.phase_requests = 0

    def __call__(self, phase: str, fraction: float | None, requests: int, simulated_s: float) -> None:
        """Reports that ``fraction`` (0 to 1, or None) of ``phase`` is done."""
        if not self.wanted:
            return
        now = time.monotonic()
        if phase != self.phase:
            self.phase, self.phase_started, self.phase_requests = phase, now, requests
            if self.bar is not None and self.task is not None:
                self.bar.reset(self.task, description=phase)
        if self.bar is None:
            if now - self.started < PATIENCE_S:
                return
            self._show()
        elapsed = now - self.phase_started
        rate = (requests - self.phase_requests) / elapsed if elapsed > 0.2 else 0.0
        figures = f"{units.short(requests)} requests, {units.short(round(rate))}/s" if requests else ""
        if simulated_s:
            figures += f", {units.duration(simulated_s)} simulated"
        total = None if fraction is None else 1.0
        assert self.bar is not None and self.task is not None
        self.bar.update(self.task, description=phase, completed=fraction or 0.0, total=total, figures=figures)

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

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.bar is not None:
            self.bar.stop()
