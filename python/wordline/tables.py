"""The Parquet tables that a run wrote, opened when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wordline.frames import needed

if TYPE_CHECKING:
    import pyarrow.dataset


def paths(result: Mapping[str, Any]) -> dict[str, str]:
    """The files of a run's tables by their names."""
    tables = result.get("tables") or {}
    return {name: entry["path"] if isinstance(entry, Mapping) else entry for name, entry in tables.items()}


def opened(result: Mapping[str, Any], name: str) -> pyarrow.dataset.Dataset:
    """A table as a dataset of pyarrow: nothing of it is read before columns or rows are asked for.

    :raises KeyError: if the run wrote no such table.
    """
    files = paths(result)
    if name not in files:
        has = f"it wrote {', '.join(files)}" if files else "it wrote none"
        raise KeyError(f"this run has no table '{name}' ({has}); tables are written while it goes on, if asked for")
    needed("pyarrow")
    import pyarrow.dataset

    return pyarrow.dataset.dataset(files[name], format="parquet")
