"""The desk of a command at work: its socket, its page, and what they are called."""

from __future__ import annotations

import json
import math
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from wordline.base.errors import Trouble, tell

if TYPE_CHECKING:
    from wordline._core import Desk as Engine
    from wordline.base.progress import Progress, Told
    from wordline.live.desk import Desk, Disk, Run
    from wordline.live.screen import Screen
    from wordline.live.web import Page

LINE_S = 5.0
"""Seconds between lines of a run that is watched where there is no terminal."""


class DiskDesk:
    """The desk of a server, and the lines that tell where it is."""

    def __init__(self, disk: Disk, lines: list[str], warnings: list[str], quiet: bool) -> None:
        self.disk, self.lines, self.warnings, self.quiet = disk, lines, warnings, quiet

    def ready(self, engine: Engine) -> None:
        """Hears that the server is ready. Had it not come to be, warnings would only hide why."""
        for warning in self.warnings:
            tell(warning)
        if self.quiet:
            # Without its address nobody finds the page.
            for line in self.lines:
                if line.lstrip().startswith("Dashboard"):
                    print(line.strip(), file=sys.stderr, flush=True)
        self.disk.ready(engine)


@contextmanager
def desk_of_disk(
    control: str | None, disk_socket: str | None, port: int | None, may_change: bool, quiet: bool
) -> Iterator[DiskDesk]:
    """The desk of a server, on its socket and, if there is a port, on a page.

    :param control: the name of the socket, if the user gave one; else it follows from that of the disk.
    :param quiet: whether nobody else prints the lines.
    :raises Trouble: if a socket or port cannot be taken.
    """
    from wordline.live.desk import Disk
    from wordline.live.remote import ENDING
    from wordline.live.web import Socket

    desk = Disk()
    lines: list[str] = []
    warnings: list[str] = []
    with ExitStack() as open_servers:
        # Last, when the engine is gone, so that nobody waits for it.
        open_servers.callback(desk.end)
        path = control or (disk_socket and disk_socket + ENDING)
        if path:
            try:
                server = Socket(path, desk)
            except Trouble as trouble:
                if control:
                    raise
                why = trouble.message.removeprefix("--control ")
                warnings.append(f"{why}; 'wordline ctl' and 'watch' cannot reach this disk without --control")
            else:
                server.start()
                open_servers.callback(server.stop)
                lines.append(f"  wordline watch {shlex.quote(control or str(disk_socket))}")
        if port is not None:
            page = open_servers.enter_context(page_at(port, desk, may_change))
            lines.append(f"  Dashboard: {page.url}")
        yield DiskDesk(desk, lines, warnings, quiet)


class RunDesk:
    """Those who watch a run: a terminal, a page, both or none."""

    def __init__(self, run: Run | None, screen: Callable[[dict[str, Any]], None] | None) -> None:
        self.run, self.screen = run, screen

    def looks(self, progress: Told) -> tuple[Callable[[str], float], float] | None:
        """What the engine shows the drive to, with the pace; None if nobody watches."""
        run = self.run
        if run is None:
            return None

        def shown(text: str) -> float:
            pace = run.shown(text)
            if self.screen is not None and run.last is not None:
                if isinstance(progress, Resting):
                    progress.bar.rest()
                self.screen(dict(run.last))
            return pace

        return shown, run.pace

    def hears(self, progress: Progress) -> Told:
        """What hears of the progress: while the terminal shows the run, there is no bar besides."""
        return progress if self.screen is None else Resting(progress)


class Resting:
    """Progress of what comes before a run that is shown otherwise."""

    def __init__(self, bar: Progress) -> None:
        self.bar = bar

    def of_drive(self, write_amplification: float | None, free_blocks: int) -> None:
        """Hears how the drive does."""
        self.bar.of_drive(write_amplification, free_blocks)

    def __call__(self, phase: str, fraction: float | None, requests: int, simulated_s: float) -> None:
        """Hears how far the work is."""
        if phase != "run":
            self.bar(phase, fraction, requests, simulated_s)


@contextmanager
def desk_of_run(title: str, pace: float | None, port: int | None, may_change: bool) -> Iterator[RunDesk]:
    """Those who watch a run.

    :param pace: that of a watch on the terminal; None for no watch.
    :param port: that of a page; None for no page.
    :raises Trouble: if the port cannot be taken.
    """
    if pace is None and port is None:
        yield RunDesk(None, None)
        return
    from wordline.live.desk import Run

    run = Run(title, math.inf if pace is None else pace)
    with ExitStack() as opened:
        if port is not None:
            page = opened.enter_context(page_at(port, run, may_change))
            print(f"Dashboard: {page.url}", file=sys.stderr, flush=True)
        screen = None if pace is None else opened.enter_context(terminal())
        opened.callback(run.end)
        yield RunDesk(run, screen)


@contextmanager
def terminal() -> Iterator[Callable[[dict[str, Any]], None]]:
    """What shows views on standard error: a picture in a terminal, elsewhere a line now and then."""
    from wordline.live import words
    from wordline.live.interval import WINDOW_S, Follower

    # A line tells what happened since the one before; a picture shows the last second.
    follower, told = Follower(WINDOW_S if sys.stderr.isatty() else 0.0), time.monotonic()
    with ExitStack() as opened:
        screen: Screen | None = None

        def show(view: dict[str, Any]) -> None:
            nonlocal screen, told
            if sys.stderr.isatty():
                if screen is None:
                    from wordline.base.console import console
                    from wordline.live.screen import Screen

                    screen = opened.enter_context(Screen(console(stderr=True)))
                screen.show(follower.add(view))
                return
            is_due = time.monotonic() - told >= LINE_S
            seen = follower.add(view) if is_due or follower.before is None else view
            if is_due:
                told = time.monotonic()
                tell("; ".join(text for name, text in words.facts(seen) if name in ("Time", "Now", "GC", "Writes")))

        yield show


@contextmanager
def page_at(port: int, desk: Desk, may_change: bool) -> Iterator[Page]:
    """The page of a desk, at work.

    :raises Trouble: if the port cannot be taken.
    """
    from wordline.live.web import Page

    def html() -> str:
        from wordline import _core
        from wordline.live import page

        return page.html(desk.kind, may_change, json.loads(_core.policies()))

    server = Page(port, desk, html, may_change)
    server.start()
    try:
        yield server
    finally:
        server.stop()
