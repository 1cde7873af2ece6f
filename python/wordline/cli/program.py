"""The command ``wordline``: its group and its process. The commands are in the modules beside."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import NoReturn

import click

from wordline.base.errors import status_of
from wordline.cli.options import Commands
from wordline.cli.process import Signals, standard_streams, typed

WORKFLOW: dict[str, dict[str, str]] = {
    "Look": {"drives": "looking", "check": "looking", "policies": "looking", "explain": "looking"},
    "Simulate": {
        "run": "running",
        "sweep": "sweeping",
        "optimise": "optimising",
        "precondition": "running",
        "replay": "replaying",
        "pts": "pts",
    },
    "Live disk": {"serve": "serving", "watch": "watching", "ctl": "watching"},
    "Results": {"report": "saved", "compare": "saved", "timeline": "timelines"},
    "Traces": {"trace": "traces"},
    "Papers": {"study": "studies"},
}
"""The commands by task, in the order of help, each with the module beside that has it."""

MODULES = {name: module for commands in WORKFLOW.values() for name, module in commands.items()}
"""The module of each command."""

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Program(Commands):
    """The group of all commands. Its help shows them by workflow.

    The module of a command is loaded when the command is asked for: to load all takes longer than most of them run.
    """

    def list_commands(self, _: click.Context) -> list[str]:
        """The names of all commands."""
        return sorted(MODULES)

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        """The command of that name; None if there is no such."""
        module = MODULES.get(name)
        return None if module is None else getattr(import_module(f"wordline.cli.{module}"), name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the commands under the heads of :data:`WORKFLOW`, all in line."""
        width = max(map(len, MODULES))
        room = formatter.width - width - 6
        for head, names in WORKFLOW.items():
            commands = [command for name in names if (command := self.get_command(ctx, name))]
            rows = [(f"{command.name:<{width}}", command.get_short_help_str(room)) for command in commands]
            with formatter.section(head):
                formatter.write_dl(rows)


def print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Prints the version and leaves."""
    if wanted and not ctx.resilient_parsing:
        from wordline import _core

        click.echo(f"wordline {_core.version()}")
        ctx.exit()


@click.group(cls=Program, context_settings=CONTEXT, no_args_is_help=False, invoke_without_command=True)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=print_version, help="The version.")
@click.pass_context
def wordline(ctx: click.Context) -> None:
    """Wordline, an SSD laboratory: simulates a solid-state drive from NAND pins to host queue."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def carry_out(arguments: list[str]) -> None:
    """Runs the command line. Click's own ``main`` has another exit status for a closed pipe."""
    try:
        with wordline.make_context("wordline", arguments) as context:
            wordline.invoke(context)
    except click.exceptions.Exit as left:
        sys.exit(left.exit_code)


def main() -> NoReturn:
    """The program: runs the command line and ends the process with its exit status."""
    signals = Signals()
    standard_streams()
    status = status_of(lambda: carry_out(typed(sys.argv[1:])))
    sys.exit(signals.status(status))
