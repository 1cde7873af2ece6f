"""Results that were saved: read with care, and the commands that show them again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from wordline.errors import FAILED, Trouble, or_nearest
from wordline.files import OutputFile
from wordline.options import Command

SCHEMA = 1
"""The layout of results that this version reads."""

NEEDED = (
    "version",
    "digest",
    "config",
    "drive",
    "simulated_s",
    "requests",
    "iops",
    "latency_us",
    "flash",
    "gc",
    "wear",
)
"""Without these a file holds no result, whatever it says of its schema."""


PTS_NEEDED = ("version", "drive", "title", "capacity_bytes", "sets", "seed", "partial", "differences", "tests")
"""The same for what ``wordline pts --json`` wrote."""


def read(name: str) -> dict[str, Any]:
    """The result in a file that ``wordline run --json`` wrote.

    :raises Trouble: if the file cannot be read or holds something else.
    """
    result = document(name)
    if "pts" in result:
        raise Trouble(f"{name}: these are tests of 'wordline pts'; give a result, a file of 'wordline run --json'")
    return checked(name, result)


def document(name: str) -> dict[str, Any]:
    """What is in a file of results, of a run or of ``wordline pts``, whatever it is.

    :raises Trouble: if the file cannot be read or holds no such thing.
    """
    path = Path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except IsADirectoryError:
        raise Trouble(f"{name}: this is a directory; give a result, a file of 'wordline run --json'") from None
    except UnicodeDecodeError:
        raise Trouble(f"{name}: this is no text; give a result, a file of 'wordline run --json'") from None
    except OSError as error:
        raise Trouble(f"{name}: {error.strerror}") from None
    try:
        result = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise Trouble(f"{name}:{error.lineno}:{error.colno}: this is no JSON: {error.msg}") from None
    except ValueError as error:
        raise Trouble(f"{name}: this is no result: {error}") from None
    if not isinstance(result, dict) or not {"schema", "pts"} & result.keys():
        raise Trouble(f"{name}: this is JSON, but no result: it has no 'schema'; give a file of 'wordline run --json'")
    return result


def checked(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """The result of a run, if it is a whole one of the layout that this version reads.

    :raises Trouble: if it is not.
    """
    if result["schema"] != SCHEMA:
        version = result.get("version", "of another age")
        raise Trouble(
            f"{name}: a result of schema {json.dumps(result['schema'])}, written by Wordline {version}; "
            f"this version reads schema {SCHEMA}"
        )
    missing = [key for key in NEEDED if key not in result]
    if missing:
        raise Trouble(f"{name}: this is no whole result: it has no '{missing[0]}'")
    return result


def checked_tests(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """What ``wordline pts`` found, if it is whole and of this version: of these no layout is kept for others.

    :raises Trouble: if it is not.
    """
    from wordline import _core

    missing = [key for key in PTS_NEEDED if key not in result]
    if missing:
        raise Trouble(f"{name}: these are no whole tests of 'wordline pts': there is no '{missing[0]}'")
    if result["version"] != _core.version():
        raise Trouble(
            f"{name}: tests by Wordline {result['version']}; this is {_core.version()}, and reads its own only"
        )
    return result


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no number of a result")


class Formats(click.ParamType):
    """A list of formats of figures."""

    name = "formats"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """:raises click.BadParameter: if one of them is none."""
        from wordline.drawing import FORMATS

        wanted = tuple(dict.fromkeys(part.strip().lower() for part in str(value).split(",")))
        for word in wanted:
            if word not in FORMATS:
                self.fail(f"'{word}' is no format of figures; {or_nearest(word, list(FORMATS), 'formats')}", param, ctx)
        return wanted


def figure_options(function: Any) -> Any:  # noqa: ANN401
    """``--figures`` and ``--format``."""
    formats = click.option(
        "--format", "formats", type=Formats(), metavar="LIST", help="Figures: of svg, png, pdf.  [default: svg]"
    )
    folder = click.option("--figures", "folder", metavar="DIR", help="Write every figure there, as a file of its own.")
    return folder(formats(function))


def save_figures(drawings: Sequence[Any], folder: str, formats: Sequence[str]) -> list[Path]:
    """Writes figures into a directory, which is made if it is missing.

    :raises Trouble: if they cannot be written.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        paths = [(drawing, Path(folder) / f"{drawing.key}.{form}") for drawing in drawings for form in formats]
        for drawing, path in paths:
            drawing.save(path)
    except FileExistsError:
        raise Trouble(f"{folder}: this is a file; give the name of a directory for the figures") from None
    except OSError as error:
        raise Trouble(f"{error.filename or folder}: cannot write: {error.strerror}", FAILED) from None
    return [path for _, path in paths]


def asked(formats: tuple[str, ...] | None, folder: str | None) -> tuple[str, ...]:
    """The formats to write.

    :raises Trouble: if formats were given for no figures.
    """
    if folder is None and formats:
        raise Trouble("--format is for figures; say by --figures where they are to go")
    if folder == "":
        raise Trouble("the name of the directory for the figures is empty")
    return formats or ("svg",)


@click.command(cls=Command, short_help="Make the report of a saved result.")
@click.argument("result")
@click.option("--out", "-o", "name", metavar="FILE", help="The page, one HTML file; - for standard output.")
@figure_options
def report(result: str, name: str | None, folder: str | None, formats: tuple[str, ...] | None) -> None:
    """Make a report of RESULT, a file of 'wordline run --json' or 'wordline pts --json': a page for a browser, figures,
    or both."""
    if name is None and folder is None:
        raise Trouble("nothing is asked for: give -o FILE for a page, --figures DIR for figures, or both")
    forms = asked(formats, folder)
    page, drawings = pages_of(result)
    with ExitStack() as open_files:
        out = None if name is None else open_files.enter_context(OutputFile(name, [result]))
        if out is not None:
            out.write(page())
        if folder is not None:
            save_figures(drawings(), folder, forms)


def pages_of(name: str) -> tuple[Callable[[], str], Callable[[], Sequence[Any]]]:
    """What makes the page of a saved result, and what makes its figures.

    :raises Trouble: if the file cannot be read or holds something else.
    """
    found = document(name)
    if "pts" in found:
        from wordline.pts import drawings
        from wordline.pts import page as tests

        found = checked_tests(name, found)
        return lambda: tests.html(found), lambda: drawings.every(found)
    from wordline import figures
    from wordline import report as page

    found = checked(name, found)
    return lambda: page.html(found), lambda: list(figures.all_of(found).values())


@click.command(cls=Command, short_help="Compare saved results.")
@click.argument("results", nargs=-1, required=True)
@click.option("--report", "name", metavar="FILE", help="Write the comparison for a browser, one HTML file.")
@figure_options
@click.option("--quiet", "-q", is_flag=True, help="No table.")
def compare(
    results: tuple[str, ...], name: str | None, folder: str | None, formats: tuple[str, ...] | None, quiet: bool
) -> None:
    """Compare RESULTS, files of 'wordline run --json', with the first of them."""
    from wordline import compare as comparison
    from wordline.console import console

    if len(results) < 2:
        raise Trouble(f"there is nothing to compare {results[0]} with; give two results or more")
    if len(results) > comparison.MOST:
        raise Trouble(f"{len(results)} results are more than a figure can tell apart; give {comparison.MOST} at most")
    forms = asked(formats, folder)
    with ExitStack() as open_files:
        out = None if name is None else open_files.enter_context(OutputFile(name, results))
        runs = comparison.named([(file, read(file)) for file in results])
        if out is not None:
            out.write(comparison.html(runs))
        if folder is not None:
            save_figures(list(comparison.drawings(runs).values()), folder, forms)
        if not quiet:
            comparison.show(console(stderr=out is not None and out.standard), runs)
