"""The commands for a disk that is served: look at it, and change it."""

from __future__ import annotations

import sys
from typing import Any

import click

from wordline.base.errors import Trouble, or_nearest
from wordline.cli.options import Command

ACTIONS = ("status", "pause", "resume", "set", "stop")

export_option = click.option(
    "--export", default="", metavar="NAME", help="The export of that name.  [default: the first]"
)


@click.command(cls=Command, short_help="Change a disk while it is served.")
@click.argument("target", metavar="SOCKET|ADDRESS")
@click.argument("action", metavar="|".join(ACTIONS))
@click.argument("arguments", metavar="[KEY VALUE | KEY=VALUE…]", nargs=-1)
@export_option
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def ctl(target: str, action: str, arguments: tuple[str, ...], export: str, as_json: bool) -> None:
    """Look at a disk of 'wordline serve', pause it, or change it while it is used.

    SOCKET is that of the disk, such as demo.sock; ADDRESS is that of its page (serve --dashboard).

    'status' shows what the drive does, 'pause' and 'resume' stop its time and let it go on, 'stop' ends the server.
    'set' changes a policy or parameter of the drive, such as victim.policy fifo: the drive ends its work, and one with
    the new settings takes over its data, maps and wear, while requests wait. 'set pace 0.1' lets it run ten times as
    slowly.
    """
    from wordline.live.remote import Remote

    if action not in ACTIONS:
        raise Trouble(f"{action}: there is nothing of this name to do; {or_nearest(action, list(ACTIONS), 'actions')}")
    sets = settings(arguments) if action == "set" else []
    if action != "set" and arguments:
        raise Trouble(f"'{action}' takes no {arguments[0]}; only 'set' takes keys")
    if action in ("stop", "pause", "resume") and export:
        raise Trouble(f"'{action}' is for all exports of the server; omit --export")
    remote = Remote(target)
    if action == "status":
        told = remote.view(export)
    else:
        told = remote.ask("POST", action, {"export": export, "sets": sets} if sets else {})
    if as_json:
        from wordline.base import jsontext

        click.echo(jsontext.dumps(told))
    elif action == "status":
        from wordline.base.console import console

        show_status(console(), told)
    elif action == "set":
        click.echo(changed_words(told))
    else:
        click.echo({"pause": "paused", "resume": "running", "stop": "stopping"}[action])


def settings(arguments: tuple[str, ...]) -> list[str]:
    """KEY VALUE, or one KEY=VALUE or more, as the latter.

    :raises Trouble: if they are neither.
    """
    match arguments:
        case (key, value) if "=" not in key:
            return [f"{key}={value}"]
        case () | (_,) if not any("=" in text for text in arguments):
            raise Trouble("'set' needs KEY VALUE, such as victim.policy fifo")
    wrong = next((text for text in arguments if "=" not in text), None)
    if wrong is not None:
        raise Trouble(f"{wrong}: give KEY VALUE, or KEY=VALUE for each of several keys")
    return list(arguments)


def changed_words(told: dict[str, Any]) -> str:
    """What a change did."""
    from wordline.base import units
    from wordline.results.live import setting

    if not told["changed"]:
        return "nothing changed: the drive had these settings already"
    keys = ", ".join(f"{change['key']} = {setting(change['to'])}" for change in told["changed"])
    if "at_s" not in told:
        return keys
    return f"{keys}; from {units.duration(told['at_s'])} on, after {units.duration(told['drained_s'])} of draining"


def show_status(console: Any, view: dict[str, Any]) -> None:  # noqa: ANN401
    """Prints a view in words."""
    from wordline.base.console import facts
    from wordline.live import screen, words

    console.print(words.title(view), soft_wrap=True)
    facts(console, words.facts(view), 8)
    if view["latency"]:
        console.print(screen.latencies(view), soft_wrap=True)
    policies = ", ".join(f"{family} {name}" for family, name in view.get("policies", {}).items())
    facts(console, [("Policies", policies)] if policies else [], 8)


@click.command(cls=Command, short_help="Watch a disk while it is served.")
@click.argument("target", metavar="SOCKET|ADDRESS")
@export_option
@click.option("--once", is_flag=True, help="Show it once, and end.")
def watch(target: str, export: str, once: bool) -> None:
    """Watch a disk of 'wordline serve' on the terminal, until Ctrl-C.

    It shows dies and channels, queue, garbage collection, latency and blocks. SOCKET is that of the disk, such as
    demo.sock; ADDRESS is that of its page, or of the page of 'wordline run --dashboard'.
    """
    from wordline.base.console import console
    from wordline.live.remote import Remote
    from wordline.live.screen import Screen, show

    remote = Remote(target)
    if once:
        show(console(), remote.view(export))
        return
    if not sys.stdout.isatty():
        raise Trouble(
            "this is no terminal to watch on; give --once for a single view, or 'wordline ctl … status --json'"
        )
    with Screen(console()) as screen:
        try:
            for view in remote.views(export):
                screen.show(view)
        except KeyboardInterrupt:
            return
    click.echo("It has ended.")
