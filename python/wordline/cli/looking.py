"""The commands that show what there is: drives, policies, keys."""

from __future__ import annotations

import json
from functools import partial

import click

from wordline.base.errors import Trouble
from wordline.base.files import OutputFile
from wordline.cli.options import (
    Command,
    emit,
    json_flag,
    output_option,
    policy_option,
    seed_option,
    set_option,
)


@click.command(cls=Command, short_help="Check a drive; show its figures and settings.")
@click.argument("drive")
@set_option
@policy_option
@seed_option
@json_flag
@output_option
def check(
    drive: str,
    sets: tuple[str, ...],
    policy_files: tuple[str, ...],
    seed: int | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Check DRIVE: its figures and all its settings, or what is wrong with it.

    What 'wordline run' would refuse, this refuses. Which blocks come bad follows from the seed: give that of the run.
    """
    from wordline import _core
    from wordline.cli import policyfile

    taken_in = policyfile.taken_in(policy_files)
    with policyfile.shown(policy_files):
        checked = json.loads(_core.check(drive, list(sets), taken_in, seed))
    from wordline.results import checking

    emit(checked, partial(checking.show, checked=checked), as_json=as_json, output=output, inputs=[drive])


@click.command(cls=Command, short_help="List the drives that come with Wordline, or print one.")
@click.argument("name", required=False)
@json_flag
@output_option
def drives(name: str | None, as_json: bool, output: str | None) -> None:
    """List the drives that come with Wordline; with NAME, print that one as a TOML file to start a drive from."""
    from wordline import _core
    from wordline.reference import listing

    listed = json.loads(_core.drives())
    if name is None:
        return emit(listed, partial(listing.show_drives, drives=listed), as_json=as_json, output=output)
    one = listing.preset(listed, name)
    if as_json:
        return emit(one, lambda _: None, as_json=True, output=output)
    # The text as it is: no line of a file is to be broken.
    if output is None or output == "-":
        return click.echo(one["toml"], nl=False)
    with OutputFile(output) as file:
        file.write(one["toml"])
    return None


@click.command(cls=Command, short_help="List the policies with their sources and options.")
@click.argument("family", required=False)
@policy_option
@json_flag
@output_option
def policies(family: str | None, policy_files: tuple[str, ...], as_json: bool, output: str | None) -> None:
    """List the policies of firmware and host, of all families or of FAMILY."""
    from wordline import _core
    from wordline.cli import policyfile
    from wordline.reference import listing

    listed = listing.of_family(policyfile.listed(json.loads(_core.policies()), policy_files), family)
    emit(listed, partial(listing.show_policies, policies=listed), as_json=as_json, output=output, inputs=policy_files)


@click.command(cls=Command, short_help="Explain a key of a drive or workload file.")
@click.argument("key", required=False)
@json_flag
@output_option
def explain(key: str | None, as_json: bool, output: str | None) -> None:
    """Explain KEY of a drive file or a workload file; a section is explained with its keys."""
    from wordline import _core
    from wordline.reference import explain as explaining

    kinds = {"drive": json.loads(_core.keys()), "workload": json.loads(_core.load_keys())}
    if key is None:
        told = [explaining.document(it, keys, kind) for kind, keys in kinds.items() for it in explaining.tops(keys)]
        return emit(told, partial(explaining.show_sections, kinds=kinds), as_json=as_json, output=output)
    # One after the other: a short name is the drive's before it is the load's.
    kind = next((kind for kind, keys in kinds.items() if explaining.find(keys, key)), None)
    if kind is None:
        # The names of policies are no keys, and yet what one would ask for.
        homes = [policy["family"] for policy in json.loads(_core.policies()) if policy["name"] == key]
        if homes:
            raise Trouble(
                f"'{key}' is a policy of the family {' and '.join(homes)}; try 'wordline policies {homes[0]}'"
            )
        raise explaining.unknown([it for keys in kinds.values() for it in keys], key)
    found = explaining.find(kinds[kind], key)
    told = [explaining.document(entry, kinds[kind], kind) for entry in found]
    show = partial(explaining.show, entries=found, keys=kinds[kind])
    return emit(told, show, as_json=as_json, output=output)
