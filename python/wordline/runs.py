"""What a run came to."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from wordline import story


class Run(dict[str, Any]):
    """The result of a run: the dictionary that ``wordline run --json`` writes, with the main figures as attributes."""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Run:
        """A result that was written to a file."""
        return cls(json.loads(Path(path).read_text(encoding="utf-8")))

    def __repr__(self) -> str:
        """The run in a line."""
        return f"<Run {story.headline(self)}>"
