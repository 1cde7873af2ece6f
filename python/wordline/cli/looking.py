"""The commands that list drives, policies and keys."""

from __future__ import annotations

import json
from functools import partial

import click

from wordline.base.errors import Trouble
from wordline.base.files import OutputFile
from wordline.cli.options import (
    Command,
    emit,
    file_of_json,
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
@click.option("--changed", "only_changed", is_flag=True, help="Show only settings that differ from the defaults.")
@json_flag
@output_option
def check(
    drive: str,
    sets: tuple[str, ...],
    policy_files: tuple[str, ...],
    seed: int | None,
    only_changed: bool,
    as_json: bool,
    output: str | None,
) -> None:
    """Check DRIVE: show its figures and all its settings, or the error in it.

    It rejects whatever 'wordline run' rejects. Factory-bad blocks depend on the seed: give the seed of the run.
    """
    from wordline import _core
    from wordline.cli import policyfile

    taken_in = policyfile.taken_in(policy_files)
    with policyfile.shown(policy_files):
        checked = json.loads(_core.check(drive, list(sets), taken_in, seed))
    from wordline.results import checking

    keys = json.loads(_core.array_keys() if "array" in checked else _core.keys())
    about = checking.described(keys, checked["config"])
    told = checking.changed(checked, about) if only_changed and as_json else checked
    show = partial(checking.show, checked=checked, about=about, only_changed=only_changed)
    emit(told, show, as_json=as_json, output=output, inputs=[drive])


@click.command(cls=Command, short_help="List the drives that come with Wordline, or print one.")
@click.argument("name", required=False)
@json_flag
@output_option
def drives(name: str | None, as_json: bool, output: str | None) -> None:
    """List the drives that come with Wordline, with their sizes; with NAME, print that drive as a TOML file to start
    from."""
    from wordline import _core
    from wordline.reference import listing

    listed = json.loads(_core.drives())
    if name is None:
        listed = listing.sized(listed)
        return emit(listed, partial(listing.show_drives, drives=listed), as_json=as_json, output=output)
    one = listing.preset(listed, name)
    if as_json:
        return emit(one, lambda _: None, as_json=True, output=output)
    # The text unchanged: lines of a file must not be wrapped.
    if output is None or output == "-":
        return click.echo(one["toml"], nl=False)
    with OutputFile(output) as file:
        file.write(one["toml"])
    return None


@click.command(cls=Command, short_help="List the policies, or show one with source and options.")
@click.argument("name", required=False)
@click.option("--verbose", "-v", is_flag=True, help="All policies with their sources, options and defaults.")
@policy_option
@json_flag
@output_option
def policies(name: str | None, verbose: bool, policy_files: tuple[str, ...], as_json: bool, output: str | None) -> None:
    """List the policies of firmware and host, one line each.

    NAME, a family or a policy, is shown with sources, options and defaults. JSON always has all of these.
    """
    from wordline import _core
    from wordline.cli import policyfile
    from wordline.reference import listing

    listed = listing.chosen(policyfile.listed(json.loads(_core.policies()), policy_files), name)
    show = partial(listing.show_policies, policies=listed, details=verbose or name is not None)
    emit(listed, show, as_json=as_json, output=output, inputs=policy_files)


@click.command(cls=Command, short_help="Explain a key of a drive, a workload or a result.")
@click.argument("key", nargs=-1)
@json_flag
@output_option
def explain(key: tuple[str, ...], as_json: bool, output: str | None) -> None:
    """Explain KEY of a drive file, a workload file or a result; a section is explained with its keys.

    KEY may also be a common term, such as gc, queue depth, tPROG or WAF. 'results.KEY' is a key of results,
    'results' lists them.
    """
    from wordline import _core
    from wordline.reference import asking, resultkeys
    from wordline.reference import explain as explaining

    of_arrays = [key for key in json.loads(_core.array_keys()) if key["key"].startswith("array")]
    kinds = {"drive": json.loads(_core.keys()), "array": of_arrays, "workload": json.loads(_core.load_keys())}
    sections = json.loads(_core.result_keys())
    known, word = asking.Known(kinds, resultkeys.every(sections)), " ".join(key)
    if not key:
        told = [explaining.document(it, keys, kind) for kind, keys in kinds.items() for it in explaining.tops(keys)]
        told += [resultkeys.document(it) for it in known.results]
        shown = partial(asking.show_all, kinds=kinds, sections=sections)
        return emit(told, shown, as_json=as_json, output=output)
    if word in ("result", "results"):
        told = [resultkeys.document(it) for it in known.results]
        return emit(told, partial(resultkeys.show, keys=known.results), as_json=as_json, output=output)
    answer = asking.answer(word, known)
    if not answer.found:
        # A key may be of several words, so a file behind --json is taken for the last of them.
        if as_json and len(key) > 1 and asking.answer(" ".join(key[:-1]), known).found:
            raise Trouble(f"'{key[-1]}' is not a key{file_of_json(('--json', key[-1]))}")
        raise asking.unknown(word, known, json.loads(_core.policies()))
    show = partial(asking.show, told=answer, known=known)
    return emit(asking.documents(answer, known), show, as_json=as_json, output=output)
