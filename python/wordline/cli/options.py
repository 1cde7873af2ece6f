"""Options shared by several commands, and their form for the engine."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import click

from wordline.base.errors import Trouble, nearest
from wordline.base.files import OutputFile, same_file

if TYPE_CHECKING:
    from rich.console import Console


class Seed(click.ParamType):
    """A seed: 64 bits without a sign."""

    name = "integer"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """:raises click.BadParameter: if it is no such number."""
        from wordline.base import units

        try:
            return units.seed(value)
        except ValueError as error:
            return self.fail(str(error), param, ctx)


class Window(click.ParamType):
    """A span of simulated time."""

    name = "window"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """:raises click.BadParameter: if it is none."""
        from wordline.base import units

        try:
            return units.window(str(value))
        except ValueError as error:
            return self.fail(str(error), param, ctx)


class Setting(click.Option):
    """An option that overrides keys."""

    def __init__(self, *args: Any, of: str = "drive", **attributes: Any) -> None:  # noqa: ANN401
        """:param of: the kind of its keys, ``drive`` or ``workload``."""
        super().__init__(*args, **attributes)
        self.of = of


class Command(click.Command):
    """A command that names its own help whenever its options are wrong."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """:raises click.UsageError: if there is something wrong with them."""
        typed = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            # The parser does not say of which command an option lacks its value.
            error.ctx = error.ctx or ctx
            if "extra argument" in error.message and any(param.name == "as_json" for param in self.params):
                error.message = error.message.rstrip(".") + file_of_json(typed)
            raise

    def invoke(self, ctx: click.Context) -> object:
        """Runs the command; a setting refused under a common synonym gets the right key in the message."""
        kinds = [param.of for param in self.params if isinstance(param, Setting)]
        if not kinds:
            return super().invoke(ctx)
        try:
            return super().invoke(ctx)
        except Exception as error:
            from wordline.cli.advice import advised

            told = advised(error, kinds)
            if told is error:
                raise
            raise told from None


def file_of_json(typed: Sequence[str]) -> str:
    """The end of a message: the correct form, if ``--json FILE`` was typed."""
    for option, word in pairwise(typed):
        if option == "--json" and not word.startswith("-"):
            return f"; --json takes no file in this command: to write JSON to '{word}', give --json -o {word}"
    return ""


class Commands(click.Group):
    """A group that suggests the right command for a mistyped one."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """:raises click.UsageError: if there is no such command."""
        word = args[0]
        if self.get_command(ctx, word) is None and not word.startswith("-"):
            near = nearest(word, self.list_commands(ctx))
            hint = f"; did you mean '{near}'?" if near else ""
            ctx.fail(f"no such command '{word}'{hint}")
        return super().resolve_command(ctx, args)


def set_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--set``, for the drive."""
    text = "Override a key of the drive, such as victim.policy=greedy. May be repeated."
    return click.option("--set", "sets", cls=Setting, multiple=True, metavar="KEY=VALUE", help=text)(function)


def load_set_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--load-set``, for the workload."""
    text = "Override a key of the workload, such as trace.time_unit=ns. May be repeated."
    how: dict[str, Any] = {"cls": Setting, "of": "workload", "multiple": True, "metavar": "KEY=VALUE"}
    return click.option("--load-set", "load_sets", help=text, **how)(function)


def policy_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--policy``."""
    text = "Load the policies of a Python file, for use by name. May be repeated."
    return click.option("--policy", "policy_files", multiple=True, metavar="FILE", help=text)(function)


def seed_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--seed``."""
    return click.option("--seed", type=Seed(), metavar="N", help="Seed of all random numbers.")(function)


def format_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--format``, of a trace."""
    text = "The trace's format, such as msr, spc or blkparse. Detected if unambiguous."
    return click.option("--format", "format_name", metavar="NAME", help=text)(function)


def to_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--to``, the format of a trace that is written."""
    text = "The new format: msr, disksim, mqsim, ssdsim, fio (iolog v3), csv or parquet."
    return click.option("--to", metavar="FORMAT", help=text)(function)


def table_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--tables`` and its companions."""
    which = "Write tables as Parquet files: requests,intervals,channels,dies,planes,blocks or all."
    options = (
        ("--tables", "tables", "WHICH", which),
        ("--out", "out", "DIR", "Tables: the directory for them."),
        ("--sample", "sample", "1/N", "Tables: one request in N."),
        ("--interval", "interval", "TIME", "Tables: the length of an interval, such as 10ms.  [default: 100ms]"),
    )
    for option, name, metavar, text in reversed(options):
        function = click.option(option, name, metavar=metavar, help=text)(function)
    return function


class Aliased(click.Option):
    """An option with older spellings, which help does not show."""

    def __init__(self, *args: Any, aliases: Sequence[str] = (), **attributes: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **attributes)
        self.aliases = list(aliases)
        self.opts += self.aliases

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Its entry in the help."""
        whole, self.opts = self.opts, [name for name in self.opts if name not in self.aliases]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = whole


def device_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--device``, of a trace."""
    text = "Trace: only the requests of this device."
    return click.option("--device", metavar="NAME", help=text)(function)


def quiet_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--quiet``."""
    text = "No summary and no progress."
    return click.option("--quiet", "-q", is_flag=True, help=text)(function)


def quiet_progress_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--quiet`` of a command that only prints."""
    return click.option("--quiet", "-q", is_flag=True, help="No progress.")(function)


def json_file_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--json`` of a command with a summary: it takes the name of a file, and without one it prints."""
    text = "Write the result as JSON; without FILE, or to -, print it."
    return click.option("--json", "json_name", is_flag=False, flag_value="-", metavar="[FILE]", help=text)(function)


def output_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--output`` of a command that prints."""
    text = "Write to this file instead of printing."
    return click.option("--output", "-o", "output", metavar="FILE", help=text)(function)


@contextmanager
def printing(output: str | None, inputs: Sequence[str] = (), *, taken: bool = False) -> Iterator[Callable[..., None]]:
    """Yields ``put(value, show, as_json=...)``, which prints a command's output or writes it to ``output``.

    :param taken: whether standard output belongs to a file, so that a text for people goes to standard error.
    :raises Trouble: if that file cannot be written, before the work begins.
    """
    from wordline.base import jsontext
    from wordline.base.console import console, shown

    def put(value: object, show: Callable[[Console], None], *, as_json: bool) -> None:
        if file is not None:
            file.write(jsontext.dumps(value) + "\n" if as_json else shown(show))
        elif as_json:
            print_json(value)
        else:
            show(console(stderr=taken))

    with ExitStack() as open_files:
        to_file = output is not None and output != "-"
        file = open_files.enter_context(OutputFile(output, inputs)) if to_file else None
        yield put


def emit(
    value: object, show: Callable[[Console], None], *, as_json: bool, output: str | None, inputs: Sequence[str] = ()
) -> None:
    """Prints a command's output, or writes it to ``output``: as JSON, or as ``show`` shows it."""
    with printing(output, inputs) as put:
        put(value, show, as_json=as_json)


def printed_to(json_name: str | None, output: str | None) -> tuple[str | None, str | None]:
    """Where the JSON of a command with a summary goes, and where its summary; None for a summary that is printed.

    ``--output`` takes what would be printed: the JSON of a ``--json`` without a file, otherwise the summary.
    """
    if json_name == "-" and output is not None:
        return output, None
    return json_name, None if output == "-" else output


def json_flag(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--json`` of a command that prints."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def several(first: str, more: tuple[str, ...]) -> list[str]:
    """The overrides that make one trace of several files.

    :raises Trouble: if one of them is a workload file.
    """
    if not more:
        return []
    from wordline import _core

    for name in (first, *more):
        kind = _core.load_kind(name)
        if kind == "workload":
            raise Trouble(f"{name}: give one workload file alone; only a trace may consist of several files")
        if kind == "jobs":
            raise Trouble(f"{name}: job files cannot be joined; give one, with all jobs in it")
    return ['trace.file=""', f"trace.files={json.dumps([first, *more], ensure_ascii=False)}"]


def all_apart(names: dict[str, str]) -> None:
    """Checks that outputs go to different places.

    :raises Trouble: if two of them do not.
    """
    if names.get("timeline") == "-":
        raise Trouble("a timeline cannot go to standard output; give the name of a file")
    for (one, first), (other, second) in combinations(names.items(), 2):
        if same_file(first, second):
            where = "standard output" if second == "-" else f"the same file, {second}"
            raise Trouble(f"--{one} and --{other} cannot both go to {where}")


def trace_sets(shortcuts: dict[str, object]) -> list[str]:
    """The options for traces as settings of the workload."""
    return [f"trace.{key}={written(key, value)}" for key, value in shortcuts.items() if value is not None]


def written(key: str, value: object) -> str:
    """The value of an option as in a workload file. A device is a name, even if it is a number."""
    return json.dumps(value, ensure_ascii=False) if key == "device" else plain(value)


def plain(value: object) -> str:
    """The value of an option as the user would type it: 2 for 2.0."""
    return f"{value:.15g}" if isinstance(value, float) and value.is_integer() else str(value)


@contextmanager
def as_typed(shortcuts: dict[str, object]) -> Iterator[None]:
    """Messages on a setting name the option that the user typed: ``--speed 0`` for ``--load-set trace.speed=0``."""
    from wordline import _core

    try:
        yield
    except _core.InputError as error:
        message = str(error)
        for key, value in shortcuts.items():
            option = f"--{key.replace('_', '-')} {plain(value)}:"
            message = message.replace(f"--load-set trace.{key}={written(key, value)}:", option)
        raise Trouble(message) from None


def by_key(shortcuts: dict[str, object]) -> dict[str, object]:
    """Options by the trace keys that they set."""
    return {key.removesuffix("_name"): value for key, value in shortcuts.items()}


def print_json(value: object) -> None:
    """Prints ``value`` as JSON."""
    from wordline.base import jsontext

    click.echo(jsontext.dumps(value))


class Slowness(click.ParamType):
    """How many times slower than real time a run is shown, as simulated seconds in a second."""

    name = "pace"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """:raises click.BadParameter: if it is none."""
        text = str(value).strip()
        if text == "max":
            return math.inf
        try:
            times = float(text.removesuffix("x")) if text.endswith("x") else math.nan
        except ValueError:
            times = math.nan
        if 1e-6 <= times <= 1e12:
            return 1 / times
        wanted = "such as 1000x (a thousand times as slow as real time), 0.1x (ten times as fast), or max"
        return self.fail(f"'{text}' is not a pace; give one {wanted}, from 0.000001x to 1,000,000,000,000x", param, ctx)


class Port(click.ParamType):
    """A port of this machine, after an option whose value may be missing."""

    name = "port"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """:raises click.BadParameter: if it is none."""
        text = str(value)
        if text.isdigit() and int(text) < 65536:
            return int(text)
        return self.fail(
            f"'{text}' is not a port, 0 to 65535; without one, another option or nothing follows", param, ctx
        )


def dashboard_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--dashboard`` and ``--dashboard-control``."""
    page = click.option(
        "--dashboard",
        type=Port(),
        is_flag=False,
        flag_value="0",
        metavar="[PORT]",
        help="Show the drive at work on a page for a browser on this machine; the address is printed.  "
        "[default: a free port]",
    )
    control = click.option("--dashboard-control", is_flag=True, help="Let the page change what it shows.")
    return page(control(function))
