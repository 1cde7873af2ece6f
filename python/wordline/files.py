"""Files for results: checked before the work starts, and complete or not there at all."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path
from types import TracebackType

from wordline.errors import Trouble


class OutputFile:
    """A place for output, ``-`` for standard output.

    Made before a long run, it proves that the place can be written to: a new file beside the target is opened at once,
    and takes the target's place when it is written. As a context, it leaves nothing behind if it was never written.
    """

    def __init__(self, name: str) -> None:
        """:raises Trouble: if the directory is missing or refuses a new file, or the name is that of a directory."""
        self.name = name
        self.target = Path(name)
        self.standard = name == "-"
        self.temporary: Path | None = None
        if not self.standard:
            self._open()

    def _open(self) -> None:
        directory = self.target.parent
        if self.target.is_dir():
            raise Trouble(f"{self.name}: this is a directory; give the name of a file in it")
        if not directory.is_dir():
            what = "is no directory" if directory.exists() else "does not exist; create it first"
            raise Trouble(f"{self.name}: cannot write there: the directory '{directory}' {what}")
        if self.target.exists() and not os.access(self.target, os.W_OK):
            raise Trouble(f"{self.name}: cannot write there: the file is read-only")
        if self.target.exists() and not stat.S_ISREG(self.target.stat().st_mode):
            return  # a device or a pipe is written to directly: it must not be replaced by a file
        try:
            handle, path = tempfile.mkstemp(prefix=f".{self.target.name}.", suffix=".part", dir=directory)
        except OSError as error:
            raise Trouble(f"{self.name}: cannot write there: {error.strerror}") from None
        os.close(handle)
        self.temporary = Path(path)

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
