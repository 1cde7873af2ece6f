"""The figures of a run: contents, conditions, and the common axis of all figures over time."""

from __future__ import annotations

import math
import random
import re
from typing import Any

import numpy
import pytest
import synthetic
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from wordline.base import drawing, palette, units
from wordline.report import compare, comparefigures, divisions, figures, maps
from wordline.report import page as report
from wordline.results import amplification, causes

STEPS = 40


def whole_result() -> dict[str, Any]:
    """A made-up result with every part used by figures, including those that only some results have."""
    result = synthetic.result()
    rng = random.Random(7)
    result["cdf"] |= {
        op: synthetic.distribution(synthetic.latencies(rng, 5_000, 300, 0.4, 0)) for op in ("flush", "trim")
    }
    series, steps = result["series"], len(result["series"]["start_s"])
    for op, middle in (("read", 95), ("write", 24), ("flush", 700)):
        mean = [middle * (1 + 0.3 * rng.random()) for _ in range(steps)]
        series[f"{op}_latency_mean_us"] = mean
        series[f"{op}_latency_p99_us"] = [None if n % 9 == 0 else 6 * us for n, us in enumerate(mean)]
        series[f"{op}_latency_max_us"] = [20 * us for us in mean]
    series["programs"] = [result["flash"]["programs"] / steps] * steps
    result["activity"] = activity(result["simulated_s"], dies=8, channels=4)
    result["latency_over_time"] = latency_over_time(rng, result["simulated_s"])
    result["time_of"] = time_of(rng, result)
    return result


def activity(end_s: float, dies: int, channels: int) -> dict[str, Any]:
    rows = lambda count, most: [[most * (1 + math.sin(n + t / 5)) / 2 for t in range(STEPS)] for n in range(count)]  # noqa: E731
    return {
        "interval_s": end_s / STEPS,
        "end_s": end_s,
        "stage": synthetic.stage(STEPS),
        "dies": rows(dies, 0.9),
        "dies_gc": rows(dies, 0.5),
        "channels": rows(channels, 0.031),
    }


def latency_over_time(rng: random.Random, end_s: float) -> dict[str, Any]:
    """Counts by latency and time: two humps, and a tail that comes and goes."""
    up_to = [2.0 ** (n / 4) for n in range(5, 64)]

    def column(hump: float, many: int, t: int) -> list[int]:
        tail = 5.0 if 15 < t < 25 else 2.0
        drawn = (hump * math.exp(rng.gauss(0, 0.5)) * (1 + tail * rng.random() ** 8) for _ in range(many))
        counts = [0] * len(up_to)
        for us in drawn:
            counts[max(0, min(len(counts) - 1, int(4 * math.log2(us)) - 4))] += 1
        return counts[: 1 + max(at for at, count in enumerate(counts) if count)]

    ops = {"read": (95.0, 400), "write": (24.0, 200), "flush": (700.0, 30)}
    return {
        "interval_s": end_s / STEPS,
        "up_to_us": up_to,
        **{op: [column(*of, t) for t in range(STEPS)] for op, of in ops.items()},
    }


def time_of(rng: random.Random, result: dict[str, Any]) -> dict[str, Any]:
    """The causes of reads and writes, over time, and by latency: slower requests have more GC."""
    told: dict[str, Any] = {"series": {"interval_s": result["simulated_s"] / STEPS}, "by_latency": {}}
    kinds = {
        "read": ("link", "wait_die_own", "wait_die_read", "wait_die_gc", "array_read"),
        "write": ("link", "wait_buffer_gc", "wait_buffer_read", "wait_buffer_program", "wait_buffer_space"),
    }
    for op, keys in kinds.items():
        told["series"][op] = {key: [rng.random() for _ in range(STEPS)] for key in keys}
        told[op] = {key: sum(told["series"][op].get(key, [])) for key in (cause.key for cause in causes.CAUSES)}
        requests = [60_000, 28_000, 1_000, 900, 90, 8, 3]
        classes: dict[str, Any] = {"up_to_us": [20.0 * 5.0**n for n in range(7)], "requests": requests}
        for key in keys:
            gc = key.endswith("gc")
            classes[key] = [1e-5 * many * 5.0**n * (3.0**n if gc else 4.0) for n, many in enumerate(requests)]
        told["by_latency"][op] = classes
    return told


def drawn(figure: drawing.Drawing, inches: tuple[float, float] = drawing.WIDE) -> Figure:
    """A figure as drawn for a file."""
    with drawing.colours(palette.LIGHT):
        made = Figure(figsize=(inches[0], inches[1] * figure.height), layout="constrained")
        figure.plot(made)
        drawing.line_up(made)
    return made


def panels(made: Figure, mark: str = "time") -> list[Axes]:
    """Axes by their labels."""
    return [axes for axes in made.axes if (axes.get_gid() or "").startswith(mark)]


OVER_TIME = ("latency", "latencies", "throughput", "causes", "space", "stage", "dies-map", "channels-map")


def test_a_result_with_everything_has_every_figure() -> None:
    assert list(figures.all_of(whole_result())) == [
        *("distribution", "where", "bands", *OVER_TIME, "channels", "dies"),
    ]
    assert set(report.TIMED) == set(OVER_TIME)
    page = report.html(whole_result())
    assert all(f'id="{section}"' in page for section in ("bands", "latencies-over-time", "latency-over-time"))
    assert not re.search(r'(?:id|class)="(?:time|scale-time|data|xaxis)\d*"', page), (
        "names of axes repeat in every figure"
    )


@pytest.mark.parametrize("inches", [drawing.WIDE, drawing.NARROW])
def test_all_figures_over_time_have_one_axis(inches: tuple[float, float]) -> None:
    found = figures.all_of(whole_result())
    places = set()
    for key in OVER_TIME:
        made = drawn(found[key], inches)
        assert panels(made)
        for axes in panels(made):
            box = axes.get_position()
            places.add((round(box.x0, 6), round(box.x1, 6), *axes.get_xlim()))
            written = axes.yaxis.get_tightbbox()
            assert written.x0 >= 0, f"{key}: what stands beside the axis is on the page"
    assert len(places) == 1
    (left, right, first, last) = places.pop()
    assert 0.1 < left < 0.25 and 0.8 < right < 0.95
    assert (first, last) == (0, whole_result()["simulated_s"])


def test_figures_over_time_of_a_comparison_have_that_axis_too() -> None:
    runs = compare.named([("a.json", whole_result()), ("b.json", whole_result())])
    own = drawn(figures.all_of(whole_result())["latency"])
    for key in ("latency", "throughput"):
        made = drawn(comparefigures.all_of(runs)[key])
        for axes in panels(made):
            assert axes.get_yscale() == ("log" if key == "latency" else "linear")
            assert axes.get_position().x0 == pytest.approx(panels(own)[0].get_position().x0)
            assert axes.get_position().x1 == pytest.approx(panels(own)[0].get_position().x1)


def test_tails_over_time_are_compared_by_operation() -> None:
    result = whole_result()
    runs = compare.named([("a.json", result), ("b.json", whole_result())])
    shown = comparefigures.latency_over_time(runs)
    assert shown is not None and shown.title == "p99 over time" and "of an operation" in shown.words
    axes_of = panels(drawn(shown))
    assert [axes.get_ylabel() for axes in axes_of] == ["reads", "writes", "flushes"]
    assert {axes.get_yscale() for axes in axes_of} == {"log"}
    line = axes_of[0].get_lines()[0]
    known = [us for us in result["series"]["read_latency_p99_us"] if us is not None]
    assert [us for us in line.get_ydata() if not math.isnan(us)] == known, "no value is no nought"
    # With few points, the mean.
    tails = result["series"]["read_latency_p99_us"]
    result["series"]["read_latency_p99_us"] = [us if n % 3 == 0 else None for n, us in enumerate(tails)]
    shown = comparefigures.latency_over_time(runs)
    assert shown is not None and shown.title == "Mean latency over time"
    assert len(panels(drawn(shown))) == 3
    old = comparefigures.latency_over_time(compare.named([("a", synthetic.result()), ("b", synthetic.result(seed=2))]))
    assert old is not None and old.title == "p99 over time" and "of all operations" in old.words


def test_latency_is_drawn_by_operation_where_a_result_has_that() -> None:
    result = whole_result()
    by_op = figures.latency_over_time(result["series"], 10.0)
    assert by_op is not None and by_op.words.startswith("Each operation by itself")
    made = drawn(by_op)
    assert [axes.get_ylabel() for axes in panels(made)] == ["reads", "writes", "flushes"]
    line = next(line for line in panels(made)[2].get_lines() if line.get_label() == "p99")
    wanted = [math.nan if us is None else us for us in result["series"]["flush_latency_p99_us"]]
    numpy.testing.assert_array_equal(line.get_ydata(), wanted)
    together = figures.latency_over_time(synthetic.result()["series"], 10.0)
    assert together is not None and together.words.startswith("All requests")
    assert len(panels(drawn(together))) == 1


def test_the_distribution_has_a_curve_for_each_operation() -> None:
    result = whole_result()
    (axes,) = drawn(figures.all_of(result)["distribution"]).axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert list(lines) == ["read", "write", "flush", "trim"]
    slower = [(us, max(1 - share, 1e-9)) for us, share in result["cdf"]["flush"] if share < 1]
    numpy.testing.assert_allclose(lines["flush"].get_xydata(), slower)
    names = [axes.yaxis.get_major_formatter()(p, 0) for p in (0.5, 0.01, 0.001, 1e-9)]
    assert names == ["p50", "p99", "p99.9", "p99.9999999"]


def host(*written_mib_s: float) -> dict[str, Any]:
    """A result in intervals of a second, with these host writes."""
    pages = sum(written_mib_s) * 64
    return {
        "simulated_s": len(written_mib_s) * 1.0,
        "drive": {"page_bytes": 16384},
        "flash": {"programs": pages * 2},
        "series": {
            "interval_s": 1.0,
            "start_s": [float(n) for n in range(len(written_mib_s))],
            "write_mib_s": list(written_mib_s),
            "free_blocks": [9.0] * len(written_mib_s),
        },
    }


def test_write_amplification_adds_up_and_has_no_spikes() -> None:
    # The host writes only a page in the middle, while GC programs as much as before.
    result = host(*[1.0] * 30, 1 / 64, *[0.0] * 29, *[1.0] * 40)
    programs = [100.0] * 30 + [100.0] * 30 + [100.0] * 40
    result["series"]["programs"] = programs
    result["flash"]["programs"] = sum(programs)
    told = amplification.over_time(result)
    assert told is not None
    whole = sum(programs) / (64 * sum(result["series"]["write_mib_s"]))
    assert told.since_start[-1] == pytest.approx(whole)
    assert told.window_s == 5.0
    assert told.rolling[10] == pytest.approx(100 / 64)
    assert told.rolling[45] is None, "the host wrote nothing then"
    rolling = [value for value in told.rolling if value is not None]
    assert max(rolling) < 100 / 64 / amplification.LITTLE
    assert 100 / (1 / 64 * 64) == 100, "the interval itself"


def test_write_amplification_is_left_out_where_it_is_not_known() -> None:
    result = host(*[1.0] * 20)
    result["series"]["write_amplification"] = [2.0] * 20
    told = amplification.over_time(result)
    assert told is not None and told.since_start[-1] == pytest.approx(2.0) and told.rolling[7] == pytest.approx(2.0)
    # A tenth of the programs fell into intervals without writes, whose write amplification is null.
    result["series"]["write_amplification"] = [None, None] + [2.0] * 18
    assert amplification.over_time(result) is None
    without = figures.space_over_time(result)
    assert without is not None and without.title == "Free space over time"
    assert amplification.over_time(host(0.0, 0.0)) is None
    assert amplification.over_time({}) is None


def test_the_last_interval_counts_as_long_as_it_was() -> None:
    result = host(*[1.0] * 20)
    result["simulated_s"] = 19.5
    result["series"]["programs"] = [128.0] * 19 + [64.0]
    result["flash"]["programs"] = 128 * 19 + 64
    told = amplification.over_time(result)
    assert told is not None and told.since_start == pytest.approx([2.0] * 20)


def strengths(axes: Axes) -> Any:  # noqa: ANN401
    """Colour intensity of each pixel of a map, 0 to 1."""
    (image,) = axes.get_images()
    return image.get_array()[..., 3] / 255


def test_maps_have_a_true_scale() -> None:
    rows = [[0.0, 0.031], [0.01, 0.0]]
    shown = maps.channels_map({"interval_s": 0.5, "channels": rows}, 1.0)
    assert shown is not None and "Largest: 3.1 %." in shown.words
    made = drawn(shown)
    numpy.testing.assert_allclose(strengths(panels(made)[0]), rows, atol=0.002)
    (scale,) = panels(made, "scale")
    assert [label.get_text() for label in scale.get_yticklabels()] == ["0 %", "50 %", "100 %"]
    bar = strengths(scale)[:, 0]
    assert bar[0] == 1 and bar[-1] == 0 and (numpy.diff(bar) <= 0).all()
    beside, box = scale.get_position(), panels(made)[0].get_position()
    assert beside.x0 > box.x1 and (beside.y0, beside.y1) == pytest.approx((box.y0, box.y1))


def test_only_what_collection_held_has_its_colour() -> None:
    shown = maps.dies_map(activity(10.0, dies=4, channels=1), 10.0)
    assert shown is not None
    colours = [tuple(panel.get_images()[0].get_array()[0, 0, :3]) for panel in panels(drawn(shown))]
    wanted = [
        tuple(round(255 * part) for part in to_rgba(drawing.MAPS[name])[:3]) for name in (drawing.MAP, drawing.MAP_GC)
    ]
    assert colours == wanted


def test_the_map_of_latencies_counts_requests() -> None:
    told = {"interval_s": 1.0, "up_to_us": [1.0, 2.0, 4.0, 8.0, 16.0], "read": [[0, 0, 1], [0, 0, 0, 100]]}
    shown = maps.latency_map(told, 2.0)
    assert shown is not None and "full colour 100 requests" in shown.words
    made = drawn(shown)
    (panel,) = panels(made)
    # Empty classes at the ends are hidden; a doubling has eight pixels, the slowest is on top.
    assert panel.get_ylim() == pytest.approx((math.log10(2), math.log10(8)))
    seen = strengths(panel)
    assert seen.shape == (16, 2)
    numpy.testing.assert_allclose(seen[:8, 1], 1)
    numpy.testing.assert_allclose(seen[8:, 0], maps.LEAST, atol=0.003)
    assert not seen[:8, 0].any() and not seen[8:, 1].any()
    (scale,) = panels(made, "scale")
    assert [label.get_text() for label in scale.get_yticklabels()] == ["1", "10", "100"]
    assert scale.get_yticks() == pytest.approx([0, 0.5, 1])
    assert maps.latency_map({}, 2.0) is None
    assert maps.latency_map({**told, "read": [[], [0]]}, 2.0) is None


def test_a_map_of_one_request_is_drawn() -> None:
    shown = maps.latency_map({"interval_s": 1.0, "up_to_us": [1.0], "write": [[1]]}, 1.0)
    assert shown is not None and "full colour 1 request." in shown.words
    assert strengths(panels(drawn(shown))[0]).min() == 1


def test_causes_by_percentile_are_those_of_its_class() -> None:
    result = whole_result()
    classes = result["time_of"]["by_latency"]["read"]
    # 90,001 requests: p99 is the 89,101st, p99.9 the 89,911th, and 9 are beyond p99.99.
    bands = divisions.bands_of(classes)
    assert [(band.name, band.requests) for band in bands] == [
        ("p50", 60_000),
        ("p99", 900),
        ("p99.9", 90),
        ("slowest", 11),
    ]
    assert bands[1].seconds["wait_die_gc"] == classes["wait_die_gc"][3]
    assert bands[3].seconds["wait_die_gc"] == pytest.approx(sum(classes["wait_die_gc"][5:]))
    for band in bands:
        assert sum(share for _, share in band.parts) == pytest.approx(1)
    shown = divisions.bands(result)
    assert shown is not None
    made = drawn(shown)
    assert [axes.get_title(loc="left") for axes in made.axes] == ["reads", "writes"]
    reads = made.axes[0]
    assert [label.get_text() for label in reads.get_yticklabels()] == ["p50", "p99", "p99.9", "slowest"]
    share = bands[3].seconds["wait_die_gc"] / sum(bands[3].seconds.values())
    gc = to_rgba(palette.LIGHT["--gc"])
    bar = next(patch for patch in reads.patches if patch.get_y() > 2.5 and patch.get_facecolor() == gc)
    assert bar.get_width() == pytest.approx(share)
    written = [text.get_text() for text in reads.texts]
    assert f"die held by GC {100 * share:.0f} %" in written
    mean = 1e6 * sum(bands[3].seconds.values()) / 11
    assert units.latency(mean) in written and "11" in written


def classes(*requests: int) -> dict[str, list[float]]:
    """Requests by class of latency; each took a second."""
    return {"requests": list(requests), "link": [float(number) for number in requests]}


@pytest.mark.parametrize(
    ("requests", "wanted"),
    [
        ((1_000,), [("p50\np99\nslowest", 1_000)]),
        ((999,), [("p50\nslowest", 999)]),
        ((20,), [("p50\nslowest", 20)]),
        ((19,), []),
        ((10, 9_989, 1), [("p50\np99\np99.9", 9_989), ("slowest", 1)]),
        ((5_000, 4_990, 4, 3, 3), [("p50", 5_000), ("p99\np99.9", 4_990), ("slowest", 10)]),
        ((5_000, 4_990, 4, 3, 2, 1), [("p50", 5_000), ("p99\np99.9", 4_990), ("slowest", 10)]),
        ((500, 490, 10), [("p50", 500), ("p99", 490), ("slowest", 10)]),
        ((501, 490, 5, 4), [("p50", 501), ("p99", 490), ("slowest", 9)]),
    ],
)
def test_what_is_told_needs_ten_requests(requests: tuple[int, ...], wanted: list[tuple[str, int]]) -> None:
    assert [(band.name, band.requests) for band in divisions.bands_of(classes(*requests))] == wanted


def test_a_result_without_classes_has_no_such_figure() -> None:
    result = whole_result()
    del result["time_of"]["by_latency"]
    assert divisions.bands(result) is None
    assert "bands" not in figures.all_of(synthetic.result())


def test_labels_stand_on_the_page_s_own_colours() -> None:
    svg = figures.all_of(whole_result())["where"].wide
    labels = re.findall(r'<text[^>]*style="[^"]*fill: ([^;"]+)', svg)
    assert labels and set(labels) <= {"var(--ink)", "var(--faint)"}
