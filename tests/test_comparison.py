"""A comparison of made-up results: better, worse, and neither."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import synthetic
from wordline.report import compare
from wordline.results import keyfigures


def rows(first: dict[str, Any], other: dict[str, Any]) -> dict[str, compare.Row]:
    """The rows of a comparison, by name."""
    return {row.name: row for row in compare.rows([compare.Run("a", first), compare.Run("b", other)])}


def changed(**values: Any) -> dict[str, Any]:  # noqa: ANN401
    """The made-up result with other values; ``a__b`` is ``a.b``."""
    result = deepcopy(synthetic.result())
    for key, value in values.items():
        *path, last = key.split("__")
        below = result
        for part in path:
            below = below[part]
        below[last] = value
    return result


def test_each_figure_has_its_direction() -> None:
    first = synthetic.result()
    p99 = first["latency_us"]["read"]["p99"]
    told = rows(
        first,
        changed(
            iops=2 * first["iops"],
            bandwidth_mib_s=first["bandwidth_mib_s"] / 2,
            latency_us__read__p99=0.79 * p99,
            latency_us__read__p50=1.2 * first["latency_us"]["read"]["p50"],
            write_amplification=first["write_amplification"] * 1.5,
            utilisation__dies=[0.9] * 64,
            simulated_s=first["simulated_s"] / 2,
        ),
    )
    assert told["requests/s"].told(1) == "× 2.00 better"
    assert told["bandwidth"].told(1) == "× 0.500 worse"
    assert told["read p99"].told(1) == "× 0.790 better"
    assert told["read p50"].told(1) == "× 1.20 worse"
    assert told["write amplification"].told(1) == "× 1.50 worse"
    for neither in ("dies busy", "simulated time", "requests"):
        assert told[neither].marks == ["", ""]
    assert told["read p99"].told(0) == ""


def test_what_is_alike_is_not_marked() -> None:
    first = synthetic.result()
    told = rows(first, changed(iops=1.009 * first["iops"], bandwidth_mib_s=1.011 * first["bandwidth_mib_s"]))
    assert told["requests/s"].told(1) == "× 1.01"
    assert told["bandwidth"].told(1) == "× 1.01 better"


def test_small_ratios_are_told_by_their_inverse() -> None:
    first = changed(latency_us__write__p99=5_500.0, latency_us__write__p50=100.0, latency_us__write__mean=100.0)
    told = rows(
        first, changed(latency_us__write__p99=1.1044, latency_us__write__p50=10.0, latency_us__write__mean=9.99)
    )
    assert told["write p99"].told(1) == "1/4,980 better"
    assert told["write p50"].told(1) == "× 0.100 better"
    assert told["write mean"].told(1) == "1/10.0 better"


def test_nought_has_a_mark_but_no_inverse() -> None:
    first, none = synthetic.result(), changed(gc_affected_requests=0)
    assert rows(first, none)["delayed by GC"].told(1) == "× 0 better"
    assert rows(none, first)["delayed by GC"].told(1) == "worse"


def test_totals_are_marked_only_for_as_much_work() -> None:
    first = synthetic.result()
    less = {"flash__erases": 10, "gc_affected_requests": 3}
    assert rows(first, changed(**less))["blocks erased"].marks == ["", "better"]
    other = rows(first, changed(**less, requests=first["requests"] // 2))
    assert other["blocks erased"].marks == ["", ""]
    assert other["delayed by GC"].marks == ["", ""]


def test_another_load_is_neither_better_nor_worse() -> None:
    first = synthetic.result()
    other = changed(iops=3 * first["iops"], workload={"jobs": [{"name": "oltp"}]})
    assert not any(any(row.marks) for row in rows(first, other).values())
    runs = [compare.Run("a", first), compare.Run("b", other)]
    assert compare.other_loads(runs) == "b: not marked better or worse, because the workload differs."
    assert compare.marked(runs) in compare.html(runs)
    assert not compare.other_loads([runs[0], runs[0]])


def test_what_may_be_chance_is_not_marked() -> None:
    def seeds(*values: float) -> dict[str, Any]:
        told = {"key": "iops", "values": list(values), "mean": sum(values) / len(values), "ci95": 1.0}
        return synthetic.result() | {"repeats": {"n": len(values), "seeds": [1, 2, 3], "asked": 3, "figures": [told]}}

    apart, near = rows(seeds(100, 101, 102), seeds(200, 201, 202)), rows(seeds(100, 150, 200), seeds(110, 160, 210))
    assert apart["requests/s"].told(1) == "× 1.99 better"
    assert near["requests/s"].told(1) == "(× 1.07)"


@pytest.mark.parametrize("figure", keyfigures.FIGURES, ids=lambda figure: figure.name)
def test_every_figure_says_which_way_is_better(figure: keyfigures.KeyFigure) -> None:
    assert figure.good in (keyfigures.MORE, keyfigures.LESS, "")
    neutral = {"requests", "simulated time", "victim blocks", "dies busy", "channels busy"}
    assert (figure.good == "") == (figure.name in neutral or figure.name.startswith("reads rebuilt"))
