"""Tables for pandas, Polars and others with the Arrow C interface. Columns are shared, not copied."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from wordline._core import Frame as Engine

Column = tuple[str, str, Sequence[Any]]
"""Name, type (``float``, ``int``, ``uint``, ``bool`` or ``text``) and values."""


ENDS = 5
"""Rows shown at either end of a table."""

MOST_WIDE = 24
"""Characters shown of a cell."""


class Frame:
    """A table that ``polars.DataFrame``, ``pyarrow.table`` and ``pandas.DataFrame.from_arrow`` accept directly."""

    def __init__(self, engine: Engine) -> None:
        """Takes a table of the engine; :meth:`of` makes one of columns."""
        self._engine = engine

    @classmethod
    def of(cls, columns: Sequence[Column]) -> Frame:
        """A table of columns of one length."""
        from wordline import _core

        return cls(_core.Frame([(name, kind, list(values)) for name, kind, values in columns]))

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._engine.columns

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._engine)

    def __arrow_c_schema__(self) -> object:
        """The types of the columns, by the Arrow C interface."""
        return self._engine.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The table as one array of structs, by the Arrow C interface."""
        return self._engine.__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table, by the Arrow C interface."""
        return self._engine.__arrow_c_stream__(requested_schema)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the table as a Parquet file. Only a complete one replaces an older file.

        :raises OSError: if it cannot be written; an older file is unchanged.
        """
        from wordline.base import files

        with files.aside(path) as part:
            self._engine.write_parquet(os.fspath(part))

    def to_arrow(self) -> pyarrow.Table:
        """The table of pyarrow."""
        return needed("pyarrow").table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The table of pandas; that needs pyarrow as well."""
        needed("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The table of Polars."""
        return needed("polars").DataFrame(self)

    def __repr__(self) -> str:
        """Its size, its columns, and its first and last rows."""
        rows = self._sample()
        cells = [["", *self.columns], *([name, *row] for name, row in rows)]
        widths = [min(MOST_WIDE, max(len(row[n]) for row in cells)) for n in range(len(cells[0]))]
        lines = ("  ".join(_fitted(text, width) for text, width in zip(row, widths, strict=True)) for row in cells)
        return "\n".join([self._title(), *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in ["", *self.columns])
        body = "".join(
            f"<tr><th>{name}</th>{''.join(f'<td>{escape(_cut(text, MOST_WIDE))}</td>' for text in row)}</tr>"
            for name, row in self._sample()
        )
        return f"<p>{self._title()}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _title(self) -> str:
        return f"Frame: {len(self)} rows, {len(self.columns)} columns"

    def _sample(self) -> list[tuple[str, list[str]]]:
        """The rows that are shown, each with its number; a row of dots stands for those between."""
        count = len(self)
        shown = list(range(count)) if count <= 2 * ENDS else [*range(ENDS), *range(count - ENDS, count)]
        rows = list(zip(map(str, shown), self._engine.cells(shown), strict=True))
        if count > 2 * ENDS:
            rows.insert(ENDS, ("…", ["…"] * len(self.columns)))
        return rows


def _cut(text: str, width: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"


def _fitted(text: str, width: int) -> str:
    return f"{_cut(text, width):>{width}}"


def needed(package: str) -> Any:  # noqa: ANN401
    """An optional package, or how to get it."""
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(f"this needs {package}: pip install {package}") from error


def arrow_of(data: object) -> object:
    """Data as something with the Arrow C interface; columns in a mapping become a table of pyarrow.

    :raises TypeError: if it is neither.
    """
    if hasattr(data, "__arrow_c_stream__"):
        return data
    if isinstance(data, Mapping):
        return needed("pyarrow").table(dict(data))
    kind = type(data).__name__
    raise TypeError(f"a table of pandas, Polars or pyarrow, or a mapping of columns is needed, not {kind}")


def intervals(result: Mapping[str, Any]) -> Frame:
    """The time series of a result, a row an interval."""
    series = result["series"]
    kinds = {"free_blocks": "int"}
    return Frame.of(
        [(name, kinds.get(name, "float"), values) for name, values in series.items() if name != "interval_s"]
    )


def cdf(result: Mapping[str, Any]) -> Frame:
    """Latency distributions: one row per point, with operation and cumulative share of requests."""
    rows = [(op, us, share) for op, points in result["cdf"].items() for us, share in points]
    ops, latencies, shares = zip(*rows, strict=True) if rows else ((), (), ())
    return Frame.of([("op", "text", ops), ("latency_us", "float", latencies), ("share", "float", shares)])


def latency(result: Mapping[str, Any]) -> Frame:
    """Latency by operation: a row an operation (and all of them), with count, mean, extremes and percentiles."""
    rows = result["latency_us"]
    columns: list[Column] = [("op", "text", list(rows))]
    for name in next(iter(rows.values())):
        columns.append((name, "int" if name == "count" else "float", [row[name] for row in rows.values()]))
    return Frame.of(columns)


def jobs(result: Mapping[str, Any]) -> Frame:
    """The jobs of a result: a row a job and operation (and all of them), with the job's rates and the latency."""
    rows = [(job, op, told) for job in result.get("jobs") or [] for op, told in job["latency_us"].items()]
    whole: list[tuple[str, str, str]] = [
        ("job", "text", "name"),
        ("stream", "int", "stream"),
        ("start_s", "float", "start_s"),
        ("end_s", "float", "end_s"),
        ("requests", "int", "requests"),
        ("iops", "float", "iops"),
        ("bandwidth_mib_s", "float", "bandwidth_mib_s"),
        ("gc_affected_requests", "int", "gc_affected_requests"),
    ]
    columns: list[Column] = [(name, kind, [job.get(key) for job, _, _ in rows]) for name, kind, key in whole]
    columns.append(("op", "text", [op for _, op, _ in rows]))
    for name in result["latency_us"]["all"]:
        columns.append((name, "int" if name == "count" else "float", [told.get(name) for _, _, told in rows]))
    return Frame.of(columns)


def utilisation(result: Mapping[str, Any]) -> Frame:
    """Utilisation: one row per part, with its kind, its number and the busy share of time, 0 to 1."""
    busy = result["utilisation"]
    rows = []
    for kind, shares in (("channel", busy["channels"]), ("die", busy["dies"])):
        rows += [(kind, number, share) for number, share in enumerate(shares)]
    rows += [("link_in", 0, busy["link_in"]), ("link_out", 0, busy["link_out"])]
    kinds, numbers, shares = zip(*rows, strict=True)
    return Frame.of([("part", "text", kinds), ("number", "int", numbers), ("busy", "float", shares)])


def lifetime(result: Mapping[str, Any]) -> Frame:
    """The lifetime curve of a replay: a row a point."""
    kinds = {"mean": "float", "stddev": "float"}
    names = ("host_bytes", "programs", "erases", "mean", "stddev", "least", "most", "bad_blocks", "spare_blocks")
    points = result["lifetime"]
    return Frame.of([(name, kinds.get(name, "uint"), [point[name] for point in points]) for name in names])
