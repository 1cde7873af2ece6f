"""The terminal: output without colours or markup in numbers and names."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from wordline.base import units

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text


USUAL_COLUMNS, LEAST_COLUMNS, MOST_COLUMNS = 80, 20, 1000
"""Columns where none are known; the least that texts are wrapped to; the most that a table has."""


def console(stderr: bool = False) -> Console:
    """A console that does not colour numbers or take brackets in texts for markup."""
    console = _kind()(stderr=stderr, highlight=False, markup=False, emoji=False)
    # COLUMNS=0 says that nobody knows the width. Rich would print nothing at all.
    console.width = max(LEAST_COLUMNS, console.width or USUAL_COLUMNS)
    return console


def shown(show: Callable[[Console], None]) -> str:
    """What ``show`` prints, as a text for a file."""
    file = io.StringIO()
    show(_kind()(file=file, width=120, highlight=False, markup=False, emoji=False, color_system=None))
    return file.getvalue()


@cache
def _kind() -> type[Console]:
    """A console that escapes control characters, which file names may hold, and cuts no figure off."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.measure import Measurement
    from rich.segment import Segment
    from rich.table import Table

    class Harmless(Console):
        shows_table = False

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            options = options or self.options
            if self.shows_table and isinstance(renderable, Table):
                # In a narrow terminal a table is as wide as its figures, and the terminal breaks its lines.
                widest = options.update(max_width=MOST_COLUMNS)
                for column in renderable.columns:
                    if column.no_wrap and column.min_width is None:
                        cells = (column.header, *column.cells)
                        column.min_width = max(Measurement.get(self, widest, cell).maximum for cell in cells)
                least = Measurement.get(self, widest, renderable).minimum
                options = options.update(max_width=max(options.max_width, least))
            for segment in super().render(renderable, options):
                yield segment if segment.control else segment._replace(text=units.visible(segment.text))

        def print(self, *objects: Any, **named: Any) -> None:  # noqa: ANN401
            # Not for a picture of the whole terminal, which has to fit.
            self.shows_table = any(isinstance(each, Table) for each in objects)
            super().print(*objects, **({"crop": False} if self.shows_table else {}) | named)

        def on_broken_pipe(self) -> None:
            # Otherwise Rich ends the program with its own status.
            raise

    return Harmless


def facts(console: Console, rows: Iterable[tuple[str, str]], width: int = 12) -> None:
    """Prints names with their texts; long texts are wrapped and indented."""
    from rich.text import Text

    for name, text in rows:
        lines = textwrap.wrap(text, max(20, console.width - width - 2), break_on_hyphens=False) or [""]
        for n, line in enumerate(lines):
            console.print(Text.assemble((f"{'' if n else name:<{width}}  ", "cyan"), line), soft_wrap=True)


def hanging(console: Console, text: Text, indent: int, hang: int) -> None:
    """Prints a paragraph, its first line indented by ``indent`` and the others by ``hang``."""
    from rich.text import Text

    for n, line in enumerate(text.wrap(console, max(20, console.width - hang))):
        line.rstrip()
        console.print(Text(" " * (hang if n else indent)) + line, soft_wrap=True)


def grid(*widths: int | None) -> Table:
    """A table without lines; each column as wide as given, or as its content."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for width in widths:
        table.add_column(min_width=width, overflow="fold")
    return table
