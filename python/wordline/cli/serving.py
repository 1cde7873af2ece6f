"""The command that serves drives as disks."""

from __future__ import annotations

import json
import math
import shlex
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wordline.base import units
from wordline.base.errors import FAILED, Trouble, or_nearest, tell
from wordline.base.files import OutputFile
from wordline.cli.options import (
    Command,
    all_apart,
    dashboard_options,
    json_file_option,
    quiet_option,
    seed_option,
    set_option,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

STORES = ("memory", "file:", "metadata")
"""How a store begins."""

NOT_KEPT = "  File data are not kept: they read as zeros. Metadata of ext2/3/4 and NTFS are, and what rules name."
"""What whoever connects to a store of metadata has to know."""

LINE_S = 60.0
"""Seconds between lines of status where there is no terminal."""


@click.command(cls=Command, short_help="Serve a drive as a disk, with its delays.")
@click.argument("drive")
@click.option("--socket", metavar="PATH", help="Listen on this Unix socket.  [default: NAME.sock, after the drive]")
@click.option(
    "--tcp", metavar="HOST:PORT", help="Listen on a port instead: of this machine, or with --tls-psk for others, too."
)
@click.option(
    "--tls-psk",
    metavar="FILE",
    help="Serve over TLS only, to those who have a key in FILE: lines USER:KEY, as psktool writes them.",
)
@set_option
@click.option("--from", "snapshot", metavar="SNAPSHOT", help="Start from a snapshot of 'wordline precondition'.")
@seed_option
@click.option(
    "--export", "exports", multiple=True, metavar="NAME=DRIVE", help="Serve another drive by a name. May be repeated."
)
@click.option(
    "--store",
    "stores",
    multiple=True,
    metavar="[NAME=]KIND",
    help="Keep the data in 'memory' or in 'file:PATH', or only 'metadata[:RULES.toml]' of file systems, in memory; "
    "with a name, those of an --export.  [default: memory]",
)
@click.option(
    "--state",
    "states",
    multiple=True,
    metavar="[NAME=]FILE",
    help="Go on with the drive's state in FILE, if there is one, and save it there at the end; with a name, that of "
    "an --export.",
)
@click.option("--pace", type=float, metavar="X", help="Simulated seconds in a second: 0.1 is ten times as slow.")
@click.option("--zero-delay", is_flag=True, help="No delays: the drive's time jumps from event to event.")
@click.option("--low-cpu", is_flag=True, help="Never spin: less accurate delays, hardly any CPU time while idle.")
@click.option(
    "--record", metavar="FILE", help="Write what clients did as a trace: CSV, or a table for a name in .parquet."
)
@click.option(
    "--control",
    metavar="PATH",
    help="Take commands of 'wordline ctl' and 'watch' on this Unix socket.  "
    "[default: that of the disk, with .ctl behind it]",
)
@dashboard_options
@json_file_option
@quiet_option
def serve(
    drive: str,
    socket: str | None,
    tcp: str | None,
    tls_psk: str | None,
    sets: tuple[str, ...],
    snapshot: str | None,
    seed: int | None,
    exports: tuple[str, ...],
    stores: tuple[str, ...],
    states: tuple[str, ...],
    pace: float | None,
    zero_delay: bool,
    low_cpu: bool,
    record: str | None,
    control: str | None,
    dashboard: int | None,
    dashboard_control: bool,
    json_name: str | None,
    quiet: bool,
) -> None:
    """Serve DRIVE as a disk over NBD, with the delays that the drive would have, until Ctrl-C.

    DRIVE is a preset ('wordline drives') or a TOML file. Clients are nbd-client, QEMU, libnbd, nbdfuse, fio and others.
    """
    from wordline import _core
    from wordline.base.progress import Progress
    from wordline.cli.desks import desk_of_disk

    if dashboard_control and dashboard is None:
        raise Trouble("--dashboard-control is for a page; give --dashboard, too")
    if socket is not None and tcp is not None:
        raise Trouble("--socket and --tcp cannot both be given; the server listens in one place")
    if zero_delay and pace is not None:
        raise Trouble("--pace has no effect with --zero-delay; give one of the two")
    if pace is not None and not (math.isfinite(pace) and 1e-6 <= pace <= 1e6):
        raise Trouble(f"--pace {pace:g}: not between 0.000001 and 1,000,000; 1 is real time")
    drives = {"": drive} | named(exports)
    kept = stored(stores, list(drives))
    going_on = of_exports("state", states, list(drives))
    names = {name: file for name, file in (("json", json_name), ("record", record)) if file is not None}
    all_apart(names | {f"state {name}=".removesuffix(" ="): file for name, file in going_on.items()})
    with ExitStack() as open_files:
        inputs = [*drives.values(), *([snapshot] if snapshot else [])]
        outputs = {kind: open_files.enter_context(OutputFile(name, inputs)) for kind, name in names.items()}
        trace = outputs.get("record")
        if trace is not None and trace.standard:
            raise Trouble("a trace cannot go to standard output here; give the name of a file")
        plan = {
            "exports": [
                {
                    "name": name,
                    "drive": of,
                    "sets": [] if name else list(sets),
                    "seed": seed,
                    "snapshot": None if name else snapshot,
                    "state": going_on.get(name),
                    "store": kept[name],
                    "record": None if name or trace is None else [str(trace.path), trace.name],
                }
                for name, of in drives.items()
            ],
            "socket": None if tcp is not None else socket or default_socket(drive),
            "tcp": tcp,
            "tls_psk": tls_psk,
            "pace": None if zero_delay else 1.0 if pace is None else pace,
            "low_cpu": low_cpu,
        }
        to_stdout = json_name == "-"
        with (
            desk_of_disk(control, plan["socket"], dashboard, dashboard_control, quiet) as desk,
            Progress(quiet) as progress,
            Watch(quiet, to_stdout, desk.lines) as watch,
        ):

            def ready(text: str, engine: _core.Desk) -> None:
                desk.ready(engine)
                watch.ready(json.loads(text) | {"tls_psk": tls_psk})

            results = json.loads(_core.serve(json.dumps(plan), progress, ready, watch.status))
        finish(results, outputs, quiet)


def default_socket(drive: str) -> str:
    """``demo.sock`` for the drive ``demo`` and for the file ``path/demo.toml``."""
    return f"{Path(drive).name.removesuffix('.toml')}.sock"


def named(exports: tuple[str, ...]) -> dict[str, str]:
    """The drives of further exports by name.

    :raises Trouble: if one has no name, or a name is given twice.
    """
    drives: dict[str, str] = {}
    for text in exports:
        name, equals, of = text.partition("=")
        if not (name and equals and of):
            raise Trouble(f"--export {text}: give NAME=DRIVE, such as second=demo")
        if len(name.encode()) > 4096:
            raise Trouble(f"--export {name[:20]}…: the name of an export has 4096 bytes at most")
        if name in drives:
            raise Trouble(f"--export {text}: there is already an export of the name '{name}'")
        drives[name] = of
    return drives


def stored(stores: tuple[str, ...], names: list[str]) -> dict[str, str]:
    """The kind of store of each export.

    :raises Trouble: if a name is unknown, an export has two stores, or two exports have one file.
    """
    kept = {}
    for text in stores:
        name, equals, kind = ("", "=", text) if text.startswith(STORES) else text.partition("=")
        if not equals:
            known = "memory, file:PATH, metadata[:RULES.toml]"
            raise Trouble(f"--store {text}: there is no such store; give {known}, or NAME= before them")
        if name not in names:
            known = or_nearest(name, [other for other in names if other], "exports with a name")
            raise Trouble(f"--store {text}: there is no export '{name}'; {known}")
        if name in kept:
            raise Trouble(f"--store {text}: this export has a store already, {kept[name]}")
        kept[name] = kind
    return {name: kept.get(name, "memory") for name in names}


def of_exports(option: str, texts: tuple[str, ...], names: list[str]) -> dict[str, str]:
    """The file of each export that has one, from ``[NAME=]FILE``.

    :raises Trouble: if a name is unknown, an export has two files, or there is no file.
    """
    files: dict[str, str] = {}
    for text in texts:
        name, _, file = text.partition("=") if "=" in text else ("", "", text)
        if name not in names:
            known = or_nearest(name, [other for other in names if other], "exports with a name")
            raise Trouble(f"--{option} {text}: there is no export '{name}'; {known}")
        if not file:
            raise Trouble(f"--{option} {text}: name the file")
        if name in files:
            raise Trouble(f"--{option} {text}: this export has a file already, {files[name]}")
        files[name] = file
    return files


class Watch:
    """Tells how to connect, and how the server does: a line that changes in a terminal, elsewhere a line a minute."""

    def __init__(self, quiet: bool, to_stderr: bool, lines: list[str]) -> None:
        """:param lines: what to tell besides."""
        self.quiet, self.to_stderr, self.lines = quiet, to_stderr, lines
        self.line: Status | None = None
        self.told = time.monotonic()

    def ready(self, told: dict[str, Any]) -> None:
        """Hears that the server is ready, and what it serves."""
        if self.quiet:
            return
        from wordline.base.console import console

        greet(console(stderr=self.to_stderr), told, self.lines)
        # Whoever waits for these lines in a pipe gets them now.
        sys.stdout.flush()

    def status(self, text: str) -> None:
        """Hears how the server does, ten times a second."""
        if self.quiet:
            return
        words = status_words(json.loads(text))
        if not sys.stderr.isatty():
            now = time.monotonic()
            if now - self.told >= LINE_S:
                self.told = now
                tell(words)
            return
        if self.line is None:
            from rich.status import Status

            from wordline.base.console import console

            self.line = Status(words, console=console(stderr=True))
            self.line.start()
        self.line.update(words)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        if self.line is not None:
            self.line.stop()


def uri(told: dict[str, Any], export: str) -> str:
    """The address of an export, as clients take it; with TLS that of the first user."""
    from urllib.parse import quote

    users, query = told["tls_users"], []
    scheme, user = ("nbds", f"{quote(users[0], safe='')}@") if users else ("nbd", "")
    if told["tcp"] is None:
        scheme, host = f"{scheme}+unix", ""
        query.append(f"socket={quote(str(Path(told['socket']).absolute()))}")
    else:
        host = ":".join(reachable(told["tcp"]))
    if users:
        query.append(f"tls-psk-file={quote(str(Path(told['tls_psk']).absolute()))}")
    return f"{scheme}://{user}{host}/{quote(export)}{'?' if query else ''}{'&'.join(query)}"


def reachable(tcp: str) -> tuple[str, str]:
    """Host and port for clients: a server that listens on all addresses has the name of its machine."""
    import socket

    host, _, port = tcp.rpartition(":")
    return (socket.gethostname() if host in ("0.0.0.0", "[::]") else host), port


def qemu_words(told: dict[str, Any], export: str) -> str | None:
    """How QEMU connects; none with TLS if the keys are not in a file of the one name that it takes."""
    if not told["tls_users"]:
        return shlex.quote(uri(told, export))
    keys = Path(told["tls_psk"]).absolute()
    if keys.name != "keys.psk":
        return None
    credentials = f"tls-creds-psk,id=tls0,endpoint=client,dir={keys.parent},username={told['tls_users'][0]}"
    image = f"driver=nbd,tls-creds=tls0,export={export}"
    if told["tcp"] is None:
        image += f",path={Path(told['socket']).absolute()}"
    else:
        host, port = reachable(told["tcp"])
        image += f",host={host.strip('[]')},port={port}"
    return f"--object {shlex.quote(credentials)} --image-opts {shlex.quote(image)}"


def greet(console: Console, told: dict[str, Any], lines: list[str]) -> None:
    """Prints what is served, how clients connect, and ``lines``."""
    for export in told["exports"]:
        where = shlex.quote(uri(told, export["name"]))
        console.print(f"{units.size(export['bytes'])}: {export['title']}", soft_wrap=True)
        if export["store"] == "metadata":
            console.print(NOT_KEPT, soft_wrap=True)
        if export["state"] is not None:
            console.print(f"  {state_words(export['state'])}", soft_wrap=True)
        console.print(f"  nbdinfo {where}", soft_wrap=True)
        qemu = qemu_words(told, export["name"])
        if qemu is not None:
            console.print(f"  qemu-img info {qemu}", soft_wrap=True)
        # fio takes no file of keys, and the kernel only certificates.
        if not told["tls_users"]:
            console.print(
                f"  fio --name=test --ioengine=nbd --uri={where} --rw=randread --bs=4k --size=16m", soft_wrap=True
            )
            console.print(f"  nbd-client {client_words(told, export['name'])} /dev/nbd0", soft_wrap=True)
    for line in lines:
        console.print(line, soft_wrap=True)
    console.print("Serving; Ctrl-C ends it.")


def state_words(state: dict[str, Any]) -> str:
    """What state a drive starts from."""
    start = f"The drive starts new; its state goes to {state['path']} at the end."
    if state["saved_s"] is not None:
        saved = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(state["saved_s"]))
        start = f"The drive goes on from its state in {state['path']}, saved {saved}."
    if state["behind"]:
        lost = "What the last server did to it since is lost, for that one did not end in order"
        start += f" {lost}; data are as the store has them."
    return start


def client_words(told: dict[str, Any], export: str) -> str:
    """The address for nbd-client."""
    name = f" -name {shlex.quote(export)}" if export else ""
    if told["tcp"] is not None:
        host, _, port = told["tcp"].rpartition(":")
        return f"{host.strip('[]')} {port}{name}"
    return f"-unix {shlex.quote(str(Path(told['socket']).absolute()))}{name}"


def status_words(now: dict[str, Any]) -> str:
    """How the server does, in a line."""
    parts = [
        units.some(now["clients"], "client"),
        f"{units.short(now['requests'])} requests",
        f"{units.size(now['read_bytes'])} read",
        f"{units.size(now['written_bytes'])} written",
    ]
    if now["late_p50_us"] is not None:
        parts.append(f"replies {units.latency(now['late_p50_us'])} late, p99 {units.latency(now['late_p99_us'])}")
    if now["errors"]:
        parts.append(units.some(now["errors"], "error"))
    if now["failed"]:
        parts.append("a drive has failed")
    return ", ".join(parts)


def finish(results: list[dict[str, Any]], outputs: dict[str, OutputFile], quiet: bool) -> None:
    """Writes and prints the results: one for each export.

    :raises Trouble: if a file could not be written, a drive failed, or data may be lost.
    """
    from wordline.base import jsontext
    from wordline.base.console import console
    from wordline.results import summary

    troubles = [trouble for result in results for trouble in troubles_of(result)]
    trace = outputs.pop("record", None)
    if trace is not None and results[0]["live"]["recorded"]["error"] is None:
        try:
            trace.commit()
        except OSError as error:
            troubles.append(f"{trace.name}: cannot write: {error.strerror}")
    whole: object = results[0] if len(results) == 1 else results
    for output in outputs.values():
        try:
            output.write(jsontext.dumps(whole) + "\n")
        except Trouble as trouble:
            troubles.append(trouble.message)
    if not quiet:
        taken = any(output.standard for output in outputs.values())
        for result in results:
            summary.show(console(stderr=taken), result)
    if troubles:
        raise Trouble("\nwordline: ".join(troubles), FAILED)


def troubles_of(result: dict[str, Any]) -> list[str]:
    """What went wrong while a drive was served."""
    live = result["live"]
    troubles = []
    if live["fault"] is not None:
        troubles.append(f"the drive failed, and its clients got errors: {live['fault']}")
    if live["unsaved"] is not None:
        troubles.append(f"{live['store_path']}: the last data may not be on the disk: {live['unsaved']}")
    if live["state"] is not None and live["state"]["error"] is not None:
        troubles.append(live["state"]["error"])
    if live["recorded"] is not None and live["recorded"]["error"] is not None:
        troubles.append(live["recorded"]["error"])
    return troubles
