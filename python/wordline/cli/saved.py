"""The commands for saved results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import click

from wordline.base.errors import FAILED, Trouble, or_nearest
from wordline.base.files import OutputFile
from wordline.cli.options import Aliased, Command, all_apart, json_flag, output_option, printing


class Formats(click.ParamType):
    """A list of formats of figures."""

    name = "formats"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """:raises click.BadParameter: if one of them is none."""
        from wordline.base.drawing import FORMATS

        wanted = tuple(dict.fromkeys(part.strip().lower() for part in str(value).split(",")))
        for word in wanted:
            if word not in FORMATS:
                self.fail(
                    f"'{word}' is not a format of figures; {or_nearest(word, list(FORMATS), 'formats')}", param, ctx
                )
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
        raise Trouble("--format is for figures; give their directory with --figures")
    if folder == "":
        raise Trouble("the name of the directory for the figures is empty")
    return formats or ("svg",)


@click.command(cls=Command, short_help="Make the report of a saved result.")
@click.argument("result")
@click.option(
    "--output",
    "-o",
    "name",
    cls=Aliased,
    aliases=["--out"],
    metavar="FILE",
    help="The page, one HTML file; - for standard output.",
)
@figure_options
def report(result: str, name: str | None, folder: str | None, formats: tuple[str, ...] | None) -> None:
    """Make a report of RESULT, a file that 'wordline run', 'replay' or 'pts' wrote with --json: a page for a browser,
    figures, or both."""
    if name is None and folder is None:
        raise Trouble("no output requested: give -o FILE for a page, --figures DIR for figures, or both")
    forms = asked(formats, folder)
    from wordline.results.reading import shown

    page, drawings = pages_of(result)
    with ExitStack() as open_files:
        out = None if name is None else open_files.enter_context(OutputFile(name, [result]))
        with shown([result]):
            if out is not None:
                out.write(page())
            if folder is not None:
                save_figures(drawings(), folder, forms)


def pages_of(name: str) -> tuple[Callable[[], str], Callable[[], Sequence[Any]]]:
    """Functions that make the page of a saved result and its figures.

    :raises wordline.InputError: if the file cannot be read or holds something else.
    """
    from wordline.results.reading import checked, checked_tests, document, is_replay

    found = document(name)
    if "pts" in found:
        from wordline.pts import drawings
        from wordline.pts import page as tests

        found = checked_tests(name, found)
        return lambda: tests.html(found), lambda: drawings.every(found)
    found = checked(name, found)
    if is_replay(found):
        from wordline.report import lifefigures, replaypage

        return lambda: replaypage.html(found), lambda: list(lifefigures.all_of(found).values())
    from wordline.report import figures, page

    return lambda: page.html(found), lambda: list(figures.all_of(found).values())


@click.command(cls=Command, short_help="Compare saved results.")
@click.argument("results", nargs=-1, required=True)
@click.option("--report", "name", metavar="FILE", help="Write the comparison for a browser, one HTML file.")
@figure_options
@click.option("--quiet", "-q", is_flag=True, help="No table.")
@json_flag
@output_option
def compare(
    results: tuple[str, ...],
    name: str | None,
    folder: str | None,
    formats: tuple[str, ...] | None,
    quiet: bool,
    as_json: bool,
    output: str | None,
) -> None:
    """Compare RESULTS, files of 'wordline run --json', or of 'wordline replay --json', with the first of them."""
    from wordline.report import compare as comparison
    from wordline.report import compared
    from wordline.results.reading import of_one_kind, shown

    if len(results) < 2:
        raise Trouble(f"only one result, {results[0]}; give two or more to compare")
    if len(results) > comparison.MOST:
        raise Trouble(f"{len(results)} results are too many for one figure; give at most {comparison.MOST}")
    forms = asked(formats, folder)
    output = None if output == "-" else output
    wanted = {"report": name, "output": output, "json": "-" if as_json and output is None else None}
    all_apart({kind: to for kind, to in wanted.items() if to is not None})
    with ExitStack() as open_files:
        put = open_files.enter_context(printing(output, results, taken=name == "-"))
        out = None if name is None else open_files.enter_context(OutputFile(name, results))
        runs = comparison.named(of_one_kind(results))
        with shown(results):
            if out is not None:
                out.write(comparison.html(runs))
            if folder is not None:
                save_figures(list(comparison.figures_of(runs).values()), folder, forms)
            if as_json or output is not None or not quiet:
                put(compared.document(runs), partial(comparison.show, runs=runs), as_json=as_json)
