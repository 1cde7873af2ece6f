"""Files for results: checked before the work starts, and complete or not there at all."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from wordline.errors import Trouble


def is_regular(name: str) -> bool:
    """Whether a name is that of a plain file, or of a link to one."""
    return stat.S_ISREG(Path(name).stat().st_mode)


def same_file(one: str, other: str) -> bool:
    """Whether two names mean one regular file, now or once it is written. Devices may be read and written at will."""
    if Path(one).exists() and not is_regular(one):
        return False
    return os.path.realpath(one) == os.path.realpath(other)


class OutputFile:
    """A place for output, ``-`` for standard output.

    Made before a long run, it proves that the place can be written to: a new file beside the target is opened at once,
    and takes the target's place when it is written. As a context, it leaves nothing behind if it was never written.
    """

    def __init__(self, name: str, inputs: Sequence[str] = ()) -> None:
        """:param inputs: what the work reads, and must not be written over.

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
        self.temporary: Path | None = None
        if not self.standard:
            self._open()

    def _open(self) -> None:
        directory = self.target.parent
        if self.target.is_dir():
            raise Trouble(f"{self.name}: this is a directory; give the name of a file in it")
        if not directory.is_dir():
            what = "is no directory" if directory.exists() else "does not exist; create it first"
            shown = directory if self.target.name != Path(self.name).name else Path(self.name).parent
            raise Trouble(f"{self.name}: cannot write there: the directory '{shown}' {what}")
        if self.target.exists() and not os.access(self.target, os.W_OK):
            raise Trouble(f"{self.name}: cannot write there: the file is read-only")
        if self.device and self.target.exists():
            return  # a device or a pipe is written to directly: it must not be replaced by a file
        try:
            handle, path = tempfile.mkstemp(prefix=f".{self.target.name}.", suffix=".part", dir=directory)
        except OSError as error:
            raise Trouble(f"{self.name}: cannot write there: {error.strerror}") from None
        os.close(handle)
        self.temporary = Path(path)

    @property
    def special(self) -> bool:
        """Whether this is standard output, a device or a pipe: written to directly, and never replaced by a file."""
        return self.temporary is None

    @property
    def path(self) -> Path:
        """Where to write what ``commit`` then puts in its place."""
        return self.temporary or self.target

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
        if self.temporary is None:
            return
        # A temporary file is private; the result gets the permissions of any new file.
        mask = os.umask(0)
        os.umask(mask)
        self.temporary.chmod(0o666 & ~mask)
        self.temporary.replace(self.target)
        self.temporary = None

    def __enter__(self) -> OutputFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.temporary is not None:
            self.temporary.unlink(missing_ok=True)
            self.temporary = None
