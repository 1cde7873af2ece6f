"""Files for results: checked before the work starts, and either complete or absent."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from wordline.base.errors import Trouble


def is_regular(name: str) -> bool:
    """True for the name of a regular file, or of a link to one."""
    return stat.S_ISREG(Path(name).stat().st_mode)


def same_file(one: str, other: str) -> bool:
    """True if two names mean one regular file, now or once written. Devices may be both read and written."""
    if Path(one).exists() and not is_regular(one):
        return False
    return os.path.realpath(one) == os.path.realpath(other)


class Part:
    """A new file beside ``target``, which takes its place when it is complete.

    It is locked while its process lives. What a killed process left behind is not, and the next one that writes to the
    same name clears it.
    """

    def __init__(self, target: Path, *, clears: bool = True) -> None:
        """Makes the file.

        :param clears: removes what killed processes left behind of this target.
        :raises OSError: if the directory refuses a new file.
        """
        # What it loads takes longer than the rest of the module, and what only prints needs no new file.
        import tempfile

        self.target = target
        if clears:
            clear(target)
        while True:
            self.handle, path = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
            self.path = Path(path)
            # Between making and locking another process may have taken it for one that was left behind.
            if lock(self.handle) and self.path.exists():
                return
            os.close(self.handle)

    def commit(self) -> None:
        """Puts it in its place.

        :raises OSError: if that cannot be; it is then gone.
        """
        # A temporary file is private; the result gets the permissions of any new file.
        mask = os.umask(0)
        os.umask(mask)
        try:
            self.path.chmod(0o666 & ~mask)
            self.path.replace(self.target)
        finally:
            self.discard()

    def discard(self) -> None:
        """Removes it, if it is still there."""
        self.path.unlink(missing_ok=True)
        os.close(self.handle)


def lock(handle: int) -> bool:
    """Locks a file for the time that it is open; whether nobody else has. Where there are no locks, all succeed."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks
    return True


def clear(target: Path) -> None:
    """Removes the parts of ``target`` that killed processes left behind."""
    import glob

    _clear(target.parent, glob.escape(target.name))


def clear_all(directory: Path) -> None:
    """Removes all such parts in a directory."""
    _clear(directory, "*")


def _clear(directory: Path, names: str) -> None:
    if sys.platform == "win32":
        return
    for left in directory.glob(f".{names}.*.part"):
        with suppress(OSError):
            handle = os.open(left, os.O_RDONLY)
            try:
                if lock(handle):
                    left.unlink()
            finally:
                os.close(handle)


@contextmanager
def aside(name: str | os.PathLike[str], *, clears: bool = True) -> Iterator[Path]:
    """Where to write what takes the place of the file ``name`` at the end; an error or Ctrl-C leaves that as it was.

    :param clears: removes what killed processes left behind of it.
    :raises OSError: if it cannot be written.
    """
    path = Path(name)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(name))
    if path.exists() and not path.is_file():
        yield path  # a device or a pipe is written to directly: it must not be replaced by a file
        return
    try:
        part = Part(Path(os.path.realpath(path)), clears=clears)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(name)) from None
    try:
        yield part.path
    except BaseException:
        part.discard()
        raise
    part.commit()


def write_text(name: str | os.PathLike[str], text: str, *, clears: bool = True) -> None:
    """Writes a complete file or none.

    :param clears: as for :func:`aside`.
    :raises OSError: if it cannot be written.
    """
    with aside(name, clears=clears) as path:
        path.write_text(text, encoding="utf-8")


def write_result(path: Path, held: bytes) -> None:
    """Writes a complete file or none, whose name says what it holds: if two write it at once, it is the same.

    It costs a third of :func:`write_text`, which counts where a small run makes each file.

    :param path: in a directory that is there; no link, device or pipe.
    :raises OSError: if it cannot be written.
    """
    part = path.parent / f".{path.name}.{os.getpid()}.part"
    try:
        with part.open("wb", buffering=0) as file:
            lock(file.fileno())
            left = memoryview(held)
            while left:
                left = left[file.write(left) :]
            # While it is locked, nobody takes it for what a killed process left behind.
            part.replace(path)
    except FileNotFoundError:
        # Before it was locked, somebody did.
        with aside(path, clears=False) as other:
            other.write_bytes(held)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


class OutputFile:
    """A place for output, ``-`` for standard output.

    Made before a long run, it proves that the place can be written to: a new file beside the target is opened at once,
    and takes the target's place when it is written. As a context, it leaves nothing behind if it was never written.
    """

    def __init__(self, name: str, inputs: Sequence[str] = ()) -> None:
        """:param inputs: files that the work reads, which must not be overwritten.

        :raises Trouble: if the directory is missing or refuses a new file, or the name is that of a directory.
        """
        if not name:
            raise Trouble("the name of a file to write is empty; give one, or - for standard output")
        self.name = name
        self.standard = name == "-"
        # A link stays, and what it leads to is written; but /dev/stdout is no link to anything that has a name.
        self.device = name.startswith(("/dev/", "/proc/")) or (Path(name).exists() and not is_regular(name))
        self.target = Path(name if self.device else os.path.realpath(name))
        if not self.standard and any(same_file(name, other) for other in inputs):
            raise Trouble(f"{name}: this file is read by the same command; give another name to write to")
        self.part: Part | None = None
        self.replaces = not self.standard and not self.device and self.target.exists()
        if not self.standard:
            self._open()

    def _open(self) -> None:
        directory = self.target.parent
        if self.target.is_dir():
            raise Trouble(f"{self.name}: this is a directory; give the name of a file in it")
        if not directory.is_dir():
            what = "is not a directory" if directory.exists() else "does not exist; create it first"
            shown = directory if self.target.name != Path(self.name).name else Path(self.name).parent
            raise Trouble(f"{self.name}: cannot write there: the directory '{shown}' {what}")
        if self.target.exists() and not os.access(self.target, os.W_OK):
            raise Trouble(f"{self.name}: cannot write there: the file is read-only")
        if self.device and self.target.exists():
            return  # a device or a pipe is written to directly: it must not be replaced by a file
        try:
            self.part = Part(self.target)
        except OSError as error:
            raise Trouble(f"{self.name}: cannot write there: {error.strerror}") from None

    @property
    def special(self) -> bool:
        """Whether this is standard output, a device or a pipe: written to directly, and never replaced by a file."""
        return self.part is None

    @property
    def path(self) -> Path:
        """Where to write what ``commit`` then puts in its place."""
        return self.target if self.part is None else self.part.path

    def write(self, text: str) -> None:
        """Writes all of the output.

        :raises Trouble: if the disk is full or the like, with exit status 1.
        """
        if self.standard:
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        try:
            self.path.write_text(text, encoding="utf-8")
            self.commit()
        except OSError as error:
            raise Trouble(f"{self.name}: cannot write: {error.strerror}", status=1) from None

    def commit(self) -> None:
        """Puts what was written to ``path`` in its place."""
        if self.part is not None:
            self.part.commit()
            self.part = None

    def __enter__(self) -> OutputFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.part is not None:
            self.part.discard()
            self.part = None
