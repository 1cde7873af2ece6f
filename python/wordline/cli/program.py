"""The command ``wordline``: its group and its process. The commands are in the modules beside."""

from __future__ import annotations

import sys
from itertools import chain
from typing import NoReturn

import click

from wordline.base.errors import status_of
from wordline.cli.looking import check, drives, explain, policies
from wordline.cli.options import Commands
from wordline.cli.process import Signals, standard_streams, typed
from wordline.cli.pts import pts
from wordline.cli.running import precondition, run
from wordline.cli.saved import compare, report
from wordline.cli.studies import study
from wordline.cli.timelines import show_timeline
from wordline.cli.traces import trace

WORKFLOW: dict[str, tuple[click.Command, ...]] = {
    "Look": (drives, check, policies, explain),
    "Simulate": (run, precondition, pts),
    "Results": (report, compare, show_timeline),
    "Traces": (trace,),
    "Papers": (study,),
}
"""The commands by task, in the order of help."""

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Program(Commands):
    """The group of all commands. Its help shows them by workflow."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the commands under the heads of :data:`WORKFLOW`, all in line."""
        width = max(map(len, self.commands))
        room = formatter.width - width - 6
        for head, commands in WORKFLOW.items():
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


for command in chain.from_iterable(WORKFLOW.values()):
    wordline.add_command(command)


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
