"""The command that shows a timeline in its viewer."""

from __future__ import annotations

import click

from wordline.cli.options import Command


@click.command(cls=Command, short_help="Show a timeline at ui.perfetto.dev.")
@click.argument("file")
@click.option("--open", "browser", is_flag=True, help="Open the viewer in the browser.")
def timeline(file: str, browser: bool) -> None:
    """Show FILE, a timeline of 'wordline run --timeline', in the viewer at ui.perfetto.dev, with its tracks unfolded.

    The viewer runs in the browser. It fetches the file from this machine, once, and sends it nowhere.
    """
    from wordline.cli import viewer

    viewer.show(file, browser, lambda text: click.echo(text))
