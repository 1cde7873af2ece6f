"""A disk that is watched, paused and changed while clients use it, and a run that is watched."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import random
import re
import signal
import socket
import stat
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from conftest import PROGRAM, SMALL_DRIVE, Run, started
from nbdclient import READ
from servers import Live, serving
from wordline.cli import desks
from wordline.live import interval, remote, screen, words

JSON = {"Content-Type": "application/json"}


Asked = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def asked(wordline: Run) -> Asked:
    """What ``wordline ctl`` says about a server."""
    return lambda live, *arguments: wordline("ctl", str(live.socket), *arguments)


def status(live: Live) -> Any:  # noqa: ANN401
    """The status of a server."""
    return remote.Remote(str(live.socket)).view("")


class Verifier(threading.Thread):
    """A client that writes and reads at random, and knows what must be there."""

    def __init__(self, live: Live, share: float = 0.6) -> None:
        super().__init__(daemon=True)
        self.client = live.client()
        self.array = bytearray(int(self.client.bytes * share) // 4096 * 4096)
        self.stop, self.done = threading.Event(), 0
        self.wrong: str | None = None

    def run(self) -> None:
        """Works until it is stopped, or something is wrong."""
        dice = random.Random(3)
        units = len(self.array) // 4096
        while not self.stop.is_set():
            count = dice.randint(1, 16)
            start = 4096 * dice.randrange(units - count)
            part = slice(start, start + 4096 * count)
            if dice.random() < 0.7:
                self.array[part] = dice.randbytes(512) * (8 * count)
                self.client.write(start, bytes(self.array[part]))
            elif self.client.read(start, 4096 * count) != self.array[part]:
                self.wrong = f"{count} units at {start}"
                return
            self.done += 1

    def end(self) -> None:
        """Stops, and compares all."""
        self.stop.set()
        self.join(30)
        assert self.wrong is None
        for at in range(0, len(self.array), 1 << 20):
            assert self.client.read(at, len(self.array[at : at + (1 << 20)])) == self.array[at : at + (1 << 20)], at


def test_data_are_intact_after_swaps_under_load(tmp_path: Path, empty: Path, asked: Asked) -> None:
    with serving(tmp_path, empty, "--pace", "5", "--set", "verify.shadow=true") as live:
        load = Verifier(live)
        load.start()
        swaps = [
            ("victim.policy", "fifo"),
            ("arbiter.policy", "reads-first"),
            ("victim.policy=best-of", "victim.d=4"),
            (
                "buffer.capacity_kib=512",
                "buffer.policy=fifo",
                "arbiter.policy=first-come",
                "victim.policy=cost-benefit",
            ),
            ("nand.program_us", "300"),
        ]
        for swap in swaps:
            before, start = load.done, time.monotonic()
            while load.done < before + 60 and load.wrong is None:
                assert time.monotonic() < start + 30
                time.sleep(0.01)
            told = asked(live, "set", *swap)
            assert told.returncode == 0, told.stderr
            assert "of draining" in told.stdout and swap[0].partition("=")[0] in told.stdout
        now = status(live)
        assert now["policies"]["victim"] == "cost-benefit" and now["policies"]["arbiter"] == "first-come"
        assert [change["key"] for change in now["changes"]].count("victim.policy") == 1
        assert asked(live, "set", "victim.policy", "cost-benefit").stdout.startswith("nothing changed")
        load.end()
        result = live.end()
    assert len(result["live"]["swaps"]) == len(swaps)
    changed = [{change["key"]: change["to"] for change in swap["changed"]} for swap in result["live"]["swaps"]]
    assert changed[0]["victim.policy"] == "fifo" and changed[2]["victim.d"] == 4
    times = [swap["at_s"] for swap in result["live"]["swaps"]]
    assert times == sorted(times) and times[0] > 0
    before = [swap["before"] for swap in result["live"]["swaps"]]
    assert all(part["requests"] >= 60 and part["iops"] > 0 for part in before)
    # The parts and the rest are all that clients asked for: none got lost in a swap.
    commands = result["live"]["commands"]
    assert sum(part["requests"] for part in before) + result["requests"] >= commands["read"] + commands["write"]
    assert result["config"]["victim"]["policy"] == "cost-benefit"
    assert result["live"]["errors"] == 0 and result["partial"] is False
    assert live.out.count("Swap  ") == len(swaps) and "begin with the last swap" in live.out


def test_a_paused_disk_keeps_its_clients_waiting(tmp_path: Path, empty: Path, asked: Asked) -> None:
    with serving(tmp_path, empty) as live:
        client = live.client()
        client.write(0, b"x" * 4096)
        assert asked(live, "pause").stdout == "paused\n"
        client.ask(READ, 0, 4096)
        client.socket.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.take(1)
        client.socket.settimeout(30)
        told = asked(live, "status")
        assert "paused" in told.stdout and "1 in progress" in told.stdout and "time stands still" in told.stdout
        refused = asked(live, "set", "victim.policy", "fifo")
        assert refused.returncode == 2 and "resume it before" in refused.stderr
        assert asked(live, "resume").stdout == "running\n"
        assert client.answer() == (0, 0)
        client.take(4096)
        assert asked(live, "set", "pace", "0.25").stdout == "pace = 0.25\n"
        assert "0.250 simulated seconds a second" in asked(live, "status").stdout
        assert asked(live, "stop").stdout == "stopping\n"
        live.out, errors = live.process.communicate(timeout=30)
        assert live.process.returncode == 0, errors
    result = json.loads((tmp_path / "live.json").read_text())
    assert result["live"]["pace"] == 0.25
    assert not (tmp_path / "d.sock.ctl").exists()


def test_the_socket_is_for_its_owner_alone_and_a_stale_one_is_replaced(
    tmp_path: Path, empty: Path, asked: Asked
) -> None:
    with serving(tmp_path, empty) as live:
        assert stat.S_IMODE((tmp_path / "d.sock.ctl").stat().st_mode) == 0o600
        live.process.kill()
        live.process.wait(30)
    assert asked(live, "status").stderr.endswith("nobody listens there; has the server ended?\n")
    with serving(tmp_path, empty) as live:
        assert status(live)["live"]["clients"] == 0
        # Its own name does as well, and so does that of another place.
        assert remote.Remote(str(tmp_path / "d.sock.ctl")).view("")["kind"] == "disk"
        live.end()


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("set", "geometry.channels", "2"), "geometry.channels cannot change on a running disk; these can: arbiter.*"),
        (("set", "mapping.unit_kib", "8"), "mapping.unit_kib cannot change"),
        (("set", "collect.scope", "plane"), "collect.scope cannot change"),
        (("set", "victim", "fifo"), "victim cannot change"),
        (("set", "victim.policy=fifo", "name=other"), "name cannot change"),
        (("set", "placement.order", "PDWC"), "the data of the disk do not fit that: "),
        (("set", "victim.policy", "gredy"), "did you mean 'greedy'?"),
        (("set", "victim.polcy", "greedy"), "victim.polcy"),
        (("set", "victim.policy=best-of", "victim.d=0"), "victim.d"),
        (("set", "pace", "fast"), "pace=fast: not a number"),
        (("set", "pace=-1"), "pace=-1: not a number"),
        (("set", "pace=1", "victim.policy=fifo"), "the pace changes by itself"),
        (("set", "victim.policy"), "'set' needs KEY VALUE"),
        (("set",), "'set' needs KEY VALUE"),
        (("set", "victim.policy", "fifo", "x"), "give KEY VALUE, or KEY=VALUE"),
        (("set", "victim.policy", "fifo", "--export", "b"), "there is no export 'b'; there is one drive"),
        (("pause", "now"), "'pause' takes no now"),
        (("stop", "--export", "b"), "'stop' is for all exports"),
        (("pose",), "did you mean 'pause'?"),
    ],
)
def test_what_cannot_be_changed_is_told(shared: Live, asked: Asked, arguments: tuple[str, ...], wanted: str) -> None:
    refused = asked(shared, *arguments)
    assert refused.returncode == 2 and refused.stderr.startswith("wordline: "), refused
    assert wanted in refused.stderr


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server for what changes nothing, with a page that may only look, and a little work behind it."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "drive.toml").write_text(SMALL_DRIVE)
    with serving(folder, "drive.toml", "--dashboard") as live:
        client = live.client()
        for n in range(200):
            client.write(n * 16384, bytes([n]) * 16384)
        client.read(0, 65536)
        yield live


def test_nothing_that_is_no_server_is_asked(wordline: Run, tmp_path: Path) -> None:
    for command in (("ctl", "none.sock", "status"), ("watch", "none.sock", "--once")):
        refused = wordline(*command)
        assert refused.returncode == 2 and "none.sock: there is no such socket" in refused.stderr
    (tmp_path / "file").write_text("no socket")
    assert "file: it is no socket" in wordline("ctl", "file", "status").stderr
    assert "give a socket, or an address" in wordline("ctl", "ftp://127.0.0.1/x", "status").stderr
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        refused = wordline("ctl", f"http://127.0.0.1:{free.getsockname()[1]}/x/", "status")
    assert refused.returncode == 1 and "nobody listens there" in refused.stderr


def test_a_socket_of_something_else_is_no_desk(wordline: Run, shared: Live) -> None:
    # That of the disk itself speaks another language; here it has lost its companion.
    alone = shared.socket.parent / "alone.sock"
    alone.symlink_to(shared.socket)
    refused = wordline("ctl", str(alone), "status")
    assert refused.returncode == 2 and "no desk of 'wordline serve'" in refused.stderr


def test_a_view_agrees_with_what_the_client_did(shared: Live, asked: Asked) -> None:
    view = status(shared)
    assert view["latency"]["write"]["requests"] == 200 and view["latency"]["read"]["requests"] == 1
    assert view["live"]["server"]["written_bytes"] == 200 * 16384 == view["latency"]["write"]["bytes"]
    assert sum(view["latency"]["write"]["classes"]) == 200
    shape = view["shape"]
    assert len(view["dies"]["doing"]) == shape["channels"] * shape["dies_per_channel"]
    assert sum(view["free_blocks"]["planes"]) == view["free_blocks"]["total"]
    states = view["map"]["state"]
    assert len(states) * view["map"]["blocks_per_cell"] >= view["free_blocks"]["blocks"]
    assert states.count("f") == view["free_blocks"]["total"]
    told = asked(shared, "status").stdout
    assert f"{view['free_blocks']['total']} of" in told and "1 client" in told and "write" in told


def test_once_shows_the_same_on_the_terminal(wordline: Run, shared: Live) -> None:
    shown = wordline("watch", str(shared.socket), "--once")
    assert shown.returncode == 0, shown.stderr
    view = status(shared)
    for text in (f"{view['free_blocks']['total']} of", "1 client", "ch0", "Blocks", "p99.9"):
        assert text in shown.stdout, text
    write = next(line for line in shown.stdout.splitlines() if line.startswith("write") and " 200 " in line)
    assert " µs" in write
    watched = wordline("watch", str(shared.socket))
    assert watched.returncode == 2 and "no terminal to watch on" in watched.stderr


def on_terminal(folder: Path, *arguments: str, until: bytes) -> tuple[int, bytes]:
    """Runs a command on a terminal, interrupts it once it has shown ``until``; its status and what it showed."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    command = [PROGRAM, *arguments]
    with started(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment) as process:
        os.close(theirs)
        shown, interrupted = b"", False
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:
                # The other side is closed.
                break
            shown += piece
            if until in shown and not interrupted:
                interrupted = True
                process.send_signal(signal.SIGINT)
        os.close(ours)
        return process.wait(10), shown


def test_a_terminal_shows_the_drive_in_motion(shared: Live) -> None:
    status, shown = on_terminal(shared.socket.parent, "watch", "d.sock", until=b"no request completed")
    assert status == 0 and "█ gc".encode() in shown and b"ch0" in shown, shown[-2000:]
    # It is renewed in place: the cursor goes up again.
    assert re.search(rb"\x1b\[\d*A", shown)


def test_a_terminal_shows_a_run_in_slow_motion(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL_DRIVE)
    (tmp_path / "load.toml").write_text(LOAD)
    arguments = ("run", "small.toml", "load.toml", "--watch", "1000x", "-q", "--json", "watched.json")
    status, shown = on_terminal(tmp_path, *arguments, until=b"writes/s")
    assert status == 130 and b"load.toml on small" in shown and b"1,000 times as slow as real time" in shown
    assert json.loads((tmp_path / "watched.json").read_text())["partial"] is True


def page_of(live: Live) -> str:
    """The address of the page of a server."""
    found = re.search(r"http://127\.0\.0\.1:\d+/[\w-]+/", live.out)
    assert found, live.out
    return found[0]


def fetched(url: str, path: str, method: str = "GET", body: object = None, **headers: str) -> tuple[int, str]:
    """Status and text of an answer; the path is relative to the address."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    text = None if body is None else json.dumps(body)
    target = path if path.startswith("/") else parts.path + path
    connection.request(method, target, text, (JSON if body is not None else {}) | headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_the_page_is_for_whoever_has_its_secret(shared: Live) -> None:
    url = page_of(shared)
    parts = urlsplit(url)
    assert len(parts.path) > 20
    code, html = fetched(url, "")
    assert code == 200 and "<title>Wordline</title>" in html
    # Nothing is loaded from elsewhere.
    assert not re.search(r"(?:src|href)\s*=|@import|url\(", re.sub(r"https?://[^\s\"']+", "", html.split("<script")[0]))
    for path in ("/", "/view", "/events", f"/{'x' * 22}/", f"/{'x' * 22}/events", parts.path[:-2] + "/view"):
        code, told = fetched(url, path)
        assert code == 403 and "lacks the secret" in told, path
    code, told = fetched(url, "view", Host="evil.example:80")
    assert code == 403 and "this machine only" in told
    assert fetched(url, "nothing")[0] == 404
    assert json.loads(fetched(url, "view")[1])["live"]["server"]["commands"]["write"] == 200


def test_a_page_that_may_only_look_changes_nothing(wordline: Run, shared: Live) -> None:
    url = page_of(shared)
    for what in ("pause", "stop", "set"):
        code, told = fetched(url, what, "POST", {"sets": ["victim.policy=fifo"]})
        assert code == 403 and "--dashboard-control" in told
        assert fetched(url, what)[0] == 405
    assert fetched(url, "/pause", "POST", {})[0] == 403
    refused = wordline("ctl", url, "pause")
    assert refused.returncode == 2 and "--dashboard-control" in refused.stderr
    view = status(shared)
    assert view["live"]["paused"] is False and view["policies"]["victim"] == "greedy"


def test_who_may_change_says_what_in_json(wordline: Run, tmp_path: Path, empty: Path) -> None:
    with serving(tmp_path, empty, "--dashboard", "--dashboard-control") as live:
        url = page_of(live)
        code, told = fetched(url, "set", "POST", {"sets": ["victim.policy=fifo"]})
        assert code == 200 and json.loads(told)["changed"][0] == {
            "key": "victim.policy",
            "from": "greedy",
            "to": "fifo",
        }
        for body in ({"sets": "victim.policy=fifo"}, {"sets": [1]}, {"sets": [], "export": 3}, {}):
            code, told = fetched(url, "set", "POST", body)
            assert code == 400 and "KEY=VALUE" in told, body
        # What a page of another site could send.
        code, told = fetched(url, "pause", "POST", {}, **{"Content-Type": "text/plain"})
        assert code == 400 and "application/json" in told
        assert fetched(url, "pause", "POST", [1])[0] == 400
        assert json.loads(fetched(url, "pause", "POST", {})[1]) == {"paused": True}
        assert wordline("ctl", url, "resume").stdout == "running\n"
        live.end()


def test_streams_tell_of_the_end(tmp_path: Path, empty: Path) -> None:
    with serving(tmp_path, empty, "--dashboard") as live:
        views = remote.Remote(page_of(live)).views("")
        first, second = next(views), next(views)
        assert first["over"] is None and second["over"]["iops"] == 0
        assert second["live"]["clock_s"] > first["live"]["clock_s"]
        live.end()
        assert sum(1 for _ in views) < 20, "it ends without an error"


def test_each_export_is_changed_by_itself(tmp_path: Path, empty: Path, asked: Asked) -> None:
    with serving(tmp_path, empty, "--export", f"second={empty}", "--zero-delay") as live:
        client = live.client("second")
        client.write(0, b"s" * 8192)
        assert asked(live, "set", "victim.policy", "fifo", "--export", "second").returncode == 0
        assert client.read(0, 8192) == b"s" * 8192
        desk = remote.Remote(str(live.socket))
        first, second = desk.view(""), desk.view("second")
        assert (first["policies"]["victim"], second["policies"]["victim"]) == ("greedy", "fifo")
        assert (first["live"]["clients"], second["live"]["clients"]) == (0, 1)
        assert second["live"]["swaps"][0]["before"]["requests"] == 1 and first["live"]["swaps"] == []
        refused = asked(live, "status", "--export", "secnd")
        assert refused.returncode == 2 and "the exports with a name are: second" in refused.stderr
        refused = asked(live, "set", "pace", "2")
        assert refused.returncode == 2 and "without --zero-delay" in refused.stderr
        live.end()


def test_a_disk_on_a_port_is_reached_at_the_socket_that_was_named(wordline: Run, tmp_path: Path, empty: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [PROGRAM, "serve", str(empty), "--tcp", f"localhost:{port}", "--control", "c.sock"]
    with started(command, stdout=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout is not None
        lines = list(iter(process.stdout.readline, "Serving; Ctrl-C ends it.\n"))
        assert "  wordline watch c.sock\n" in lines
        taken = wordline("serve", str(empty), "--socket", "o.sock", "--control", "c.sock")
        assert taken.returncode == 2 and "--control c.sock: another server listens there" in taken.stderr
        assert wordline("ctl", "c.sock", "stop").stdout == "stopping\n"
        assert process.wait(30) == 0
    assert not (tmp_path / "c.sock").exists()


def test_a_quiet_server_tells_only_where_its_page_is(tmp_path: Path, empty: Path) -> None:
    command = [PROGRAM, "serve", str(empty), "--socket", "d.sock", "--dashboard", "-q"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stderr is not None
        url = process.stderr.readline().removeprefix("Dashboard: ").strip()
        assert remote.Remote(url).view("")["kind"] == "disk"
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=30) == ("", "")


def test_two_pages_are_not_on_one_port(wordline: Run, tmp_path: Path, empty: Path) -> None:
    with serving(tmp_path, empty, "--dashboard") as live:
        port = str(urlsplit(page_of(live)).port)
        refused = wordline("serve", str(empty), "--socket", "other.sock", "--dashboard", port)
        assert refused.returncode == 2
        assert (
            refused.stderr
            == f"wordline: --dashboard {port}: this port is in use; give another, or none for a free one\n"
        )
        live.end()


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        (("serve", "demo", "--dashboard", "99999"), "'99999' is not a port"),
        (("serve", "--dashboard", "demo"), "'demo' is not a port"),
        (("serve", "demo", "--dashboard-control"), "give --dashboard, too"),
        (("serve", "demo", "--control", "no/such/c.sock"), "--control no/such/c.sock: "),
        (("serve", "demo", "--control", "load.toml"), "--control load.toml: there is a file of this name"),
        (("run", "demo", "load.toml", "--watch", "1000"), "'1000' is not a pace"),
        (("run", "demo", "load.toml", "--watch", "0x"), "'0x' is not a pace"),
        (("run", "demo", "load.toml", "--watch", "1x", "--repeat", "2"), "omit --repeat"),
        (("run", "demo", "load.toml", "--dashboard-control"), "give --dashboard, too"),
    ],
)
def test_wrong_use_is_told(wordline: Run, tmp_path: Path, command: tuple[str, ...], wanted: str) -> None:
    (tmp_path / "load.toml").write_text("[[job]]\nrw = 'read'\n")
    refused = wordline(*command)
    assert refused.returncode == 2 and wanted in refused.stderr, refused
    assert not list(tmp_path.glob("*.sock*"))


LOAD = '[[job]]\nname = "w"\nrw = "randwrite"\nbs = "16k"\niodepth = 8\nnumber_ios = 800\n'


@contextmanager
def watched(folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A run of the small drive that somebody watches."""
    (folder / "small.toml").write_text(SMALL_DRIVE)
    (folder / "load.toml").write_text(LOAD)
    command = [PROGRAM, "run", "small.toml", "load.toml", "--json", "watched.json", *options]
    where = {"cwd": folder, "env": {**os.environ, "NO_COLOR": "1"}}
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **where) as process:
        yield process


def test_a_run_that_is_watched_has_the_same_result(wordline: Run, tmp_path: Path) -> None:
    with watched(tmp_path, "--watch", "20x", "--dashboard") as process:
        assert process.stderr is not None
        url = process.stderr.readline().removeprefix("Dashboard: ").strip()
        views = list(remote.Remote(url).views(""))
        start = time.monotonic()
        assert process.wait(30) == 0, process.stderr.read()
        assert time.monotonic() - start < 10
    alone = wordline("run", "small.toml", "load.toml", "--json", "alone.json", "-q")
    assert alone.returncode == 0, alone.stderr
    one, other = (json.loads((tmp_path / name).read_text()) for name in ("watched.json", "alone.json"))
    assert {key for key in one if one[key] != other[key]} <= {"cpu_s", "precondition_cpu_s"}
    # Twenty times as slow as real time: 50 ms a second.
    spans = [view["run"]["simulated_s"] for view in views]
    assert len(spans) >= 2 and spans == sorted(spans)
    assert views[0]["run"]["title"] == "load.toml on small" and views[0]["kind"] == "run"
    paces = [view["run"]["pace"] for view in views]
    assert paces == [0.05] * len(views)
    last = views[-1]
    assert last["latency"]["write"]["requests"] <= 800 and last["map"]["state"]


def test_a_run_goes_at_the_pace_that_its_page_sets(tmp_path: Path) -> None:
    with watched(tmp_path, "--watch", "1000000x", "--dashboard", "--dashboard-control") as process:
        assert process.stderr is not None
        url = process.stderr.readline().removeprefix("Dashboard: ").strip()
        desk = remote.Remote(url)
        first = desk.view("")
        assert first["run"]["simulated_s"] < 0.01
        assert desk.ask("POST", "pause", {}) == {"paused": True}
        time.sleep(0.3)
        stands = desk.view("")["run"]
        assert stands["paused"] and desk.view("")["run"]["simulated_s"] == stands["simulated_s"]
        desk.ask("POST", "resume", {})
        refused = fetched(url, "set", "POST", {"sets": ["victim.policy=fifo"]})
        assert refused[0] == 400 and "during a run; this can: pace" in refused[1]
        assert desk.ask("POST", "set", {"sets": ["pace=100"]})["changed"] == [{"key": "pace", "to": 100.0}]
        assert process.wait(30) == 0
    assert json.loads((tmp_path / "watched.json").read_text())["requests"] == 800


@pytest.mark.parametrize("how", ["signal", "page"])
def test_a_watched_run_can_be_ended(tmp_path: Path, how: str) -> None:
    with watched(tmp_path, "--watch", "100000x", "--dashboard", "--dashboard-control") as process:
        assert process.stderr is not None
        url = process.stderr.readline().removeprefix("Dashboard: ").strip()
        desk = remote.Remote(url)
        desk.view("")
        if how == "signal":
            process.send_signal(signal.SIGINT)
        else:
            desk.ask("POST", "stop", {})
        assert process.wait(30) == 130
    assert json.loads((tmp_path / "watched.json").read_text())["partial"] is True


def made_up(at: float, requests: int, pages: int, held: float) -> dict[str, Any]:
    """A view by hand: two dies, one channel."""
    latency = {"write": {"requests": requests, "bytes": requests << 20}} if requests else {}
    return {
        "simulated_s": at,
        "latency": latency,
        "flash": {"host_pages": pages, "programs": 3 * pages, "erases": 0},
        "gc": {"moved_pages": 2 * pages},
        "dies": {"held_s": {"read": [0.0, 0.0], "write": [held, 0.0], "gc": [0.0, 2 * held]}},
        "channels": {"used_s": [held / 2]},
        "map": None,
        "wear": None,
    }


def test_an_interval_is_the_difference_of_two_views() -> None:
    follower = interval.Follower()
    assert follower.add(made_up(1.0, 0, 0, 0.0))["over"] is None
    over = follower.add(made_up(3.0, 10, 4, 0.5))["over"]
    assert over["iops"] == over["iops_by_op"]["write"] == 5 and over["write_mib_s"] == 5 and over["read_mib_s"] == 0
    assert over["write_amplification"] == 3 and over["moved_pages_s"] == 4
    assert over["dies"] == {"read": [0, 0], "write": [0.25, 0], "gc": [0, 0.5]} and over["channels"] == [0.125]
    # Time stands still; measuring began anew; a later view tells nothing of the blocks, which are known.
    assert follower.add(made_up(3.0, 10, 4, 0.5))["over"] is None
    assert follower.add(made_up(0.5, 1, 1, 0.0) | {"map": "blocks"})["over"] is None
    assert follower.add(made_up(1.5, 1, 1, 0.0))["map"] == "blocks"
    assert follower.add(made_up(2.5, 1, 1, 0.0) | {"live": {"swaps": [{}]}})["over"] is None, "it was swapped"


def test_rates_on_a_screen_are_those_of_the_last_second() -> None:
    follower = interval.Follower(1.0)
    # A view each quarter of a second of the watcher's clock, and of the drive's; four requests come with every second.
    views = [follower.add(made_up(n / 4, 4 * (n // 4), 0, 0.0), now=n / 4) for n in range(12)]
    assert views[0]["over"] is None and views[3]["over"]["simulated_s"] == 0.75
    assert all(view["over"]["simulated_s"] == 1.0 and view["over"]["iops"] == 4 for view in views[4:])
    # It stands still for longer than that; then a gap between views is longer.
    for n in range(12, 18):
        view = follower.add(made_up(2.75, 8, 0, 0.0), now=n / 4)
    assert view["over"] is None
    assert follower.add(made_up(7.75, 28, 0, 0.0), now=9.25)["over"]["iops"] == 4


def test_a_line_tells_what_happened_since_the_line_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not since the view before: between two views of a slow watch there is at times one request, at times none."""
    monkeypatch.setattr(words, "facts", lambda view: [("Now", f"{view['over']['iops']:g} a second")])
    with desks.terminal() as show:
        monkeypatch.setattr(desks, "LINE_S", 3600.0)
        show(made_up(0.0, 0, 0, 0.0))
        show(made_up(2.0, 10, 0, 0.0))
        show(made_up(3.0, 10, 0, 0.0))
        monkeypatch.setattr(desks, "LINE_S", 0.0)
        show(made_up(4.0, 40, 0, 0.0))
        show(made_up(5.0, 42, 0, 0.0))
    assert capsys.readouterr().err == "wordline: 10 a second\nwordline: 2 a second\n"


@pytest.mark.parametrize(("text", "wanted"), [("host-read", "read"), ("gc-erase", "gc"), ("read", "read")])
def test_a_die_works_for_somebody(text: str, wanted: str) -> None:
    assert screen.holder_of(text) == wanted and screen.letter(text) == text.rpartition("-")[2][0]


def test_a_pace_is_told_as_people_say_it() -> None:
    assert words.pace(0.001) == "1,000 times as slow as real time"
    assert words.pace(1) == "in real time" and words.pace(10) == "10.0 times as fast as real time"
