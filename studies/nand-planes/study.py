"""Throughput of a die with one to eight planes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wordline.studies.context import Context
from wordline.studies.outcome import Outcome
from wordline.studies.scaling import scaling


def package(count: int, host: dict[str, Any]) -> dict[str, Any]:
    """A package with this number of planes."""
    return {"planes": count, "host": {**host, "planes_per_command": count, "scheduler": "plane-first"}}


def run(context: Context) -> Outcome:
    """Bandwidth by planes."""
    outcome = scaling(context, "plane", package, "more planes gain if transfers span them")
    page = context.chapter().page_bytes("MLC1")
    spanning = outcome.tables[0].rows
    page_us = {int(row[0]): [page / 2**20 / row[at] * 1e6 for at in (1, 3)] for row in spanning}
    return replace(
        outcome,
        discussed=outcome.discussed
        | {f"{op} of a page, planes {n}": page_us[n][at] for at, op in enumerate(("write", "read")) for n in (1, 8)}
        | {"times as fast": page_us[1][0] / page_us[8][0]},
    )
