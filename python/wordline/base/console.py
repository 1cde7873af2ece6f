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


def console(stderr: bool = False) -> Console:
    """A console that does not colour numbers or take brackets in texts for markup."""
    return _kind()(stderr=stderr, highlight=False, markup=False, emoji=False)


def shown(show: Callable[[Console], None]) -> str:
    """What ``show`` prints, as a text for a file."""
    file = io.StringIO()
    show(_kind()(file=file, width=120, highlight=False, markup=False, emoji=False, color_system=None))
    return file.getvalue()


@cache
def _kind() -> type[Console]:
    """A console that escapes control characters, which file names may hold."""
    from rich.console import Console
    from rich.segment import Segment

    class Harmless(Console):
        def render(self, *args: Any, **named: Any) -> Iterator[Segment]:  # noqa: ANN401
            for segment in super().render(*args, **named):
                yield segment if segment.control else segment._replace(text=units.visible(segment.text))

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
