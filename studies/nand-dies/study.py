"""Throughput of a package with one to eight dies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wordline.studies.context import Context
from wordline.studies.outcome import Outcome, Table
from wordline.studies.packages import gain, stream
from wordline.studies.scaling import COUNTS, scaling

ORDERS = ("first-come", "commands-first")


def run(context: Context) -> Outcome:
    """Bandwidth by dies, and that of queued reads under both bus arbitrations."""
    planes = context.choice("planes")

    def package(count: int, host: dict[str, Any]) -> dict[str, Any]:
        """A package with this number of dies."""
        return {
            "dies": count,
            "planes": planes,
            "host": {**host, "planes_per_command": planes, "scheduler": "die-first" if planes == 1 else "plane-first"},
        }

    outcome = scaling(context, "die", package, "more dies gain until the bus is full", pages_each=planes)
    chapter = context.chapter()
    load = stream("read", chapter.page_bytes("MLC1"), context.requests(4096))
    rate = {
        key: result["bandwidth_mib_s"]
        for key, result in context.packages(
            {
                (order, count): chapter.experiment(
                    load, **package(count, {"queue_depth": chapter.application_depth, "bus": order})
                )
                for order in ORDERS
                for count in COUNTS
            }
        ).items()
    }
    table = Table(
        f"Reads of 2 KB, {chapter.application_depth} outstanding, by bus arbitration",
        ("dies", *(cell for order in ORDERS for cell in (f"{order}, MiB/s", "against one, %"))),
        [(str(n), *(cell for it in ORDERS for cell in (rate[it, n], gain(rate[it, n], rate[it, 1])))) for n in COUNTS],
        "Not judged.",
    )
    return replace(
        outcome,
        tables=[*outcome.tables, table],
        discussed=outcome.discussed
        | {f"{order} {n} dies": gain(rate[order, n], rate[order, 1]) for order in ORDERS for n in (2, 8)},
    )
