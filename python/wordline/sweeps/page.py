"""The report of a sweep: what each factor changes, figures over the factors, the best trade-offs, and all points."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from wordline import _core
from wordline.base import units
from wordline.base.drawing import MAP, Drawing, is_narrow, plain_latency
from wordline.base.palette import BLUE, FAINT, INK
from wordline.report import page
from wordline.results.keyfigures import FIGURES, KeyFigure
from wordline.sweeps.outcome import Sweep, cell
from wordline.sweeps.space import SEED
from wordline.sweeps.work import PointJob

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

KEYS = ("iops", "latency_us.read.p99", "latency_us.write.p99", "latency_us.write.p99_9", "write_amplification")
"""Main figures of the page."""

TRADES = (("latency_us.read.p99_9", "latency_us.write.p99_9"), "iops")
"""The figures of the trade-off: the first latency that the points have, and throughput."""

MOST_FACTORS = 6
"""Factors that have panels of their own."""

MOST_LISTED = 6
"""Points of the front that the text names."""

FEW = 8
"""A factor with more values than these is drawn as a scatter of its points."""


def html(sweep: Sweep) -> str:
    """The page: one HTML file, for a browser."""
    done = [job for job in sweep.jobs if job.figures is not None]
    factors = [name for name in sweep.columns if name != SEED and len(values_of(done, name)) > 1]
    figures = [figure for figure in FIGURES if figure.key in KEYS and len(known(done, figure)) == len(done) > 0]
    heads, rows = sweep.rows()
    seeds = len({job.point.seed for job in sweep.jobs})
    return page.render(
        "sweep.html.j2",
        title=sweep.title or "Sweep",
        lines=list(story(sweep, done, seeds)),
        alarm=sweep.interrupted,
        effects=[(name, [ratio(done, name, figure) for figure in figures]) for name in factors],
        figures=[figure.name for figure in figures],
        drawings=list(drawings(done, factors, figures)),
        heads=heads,
        rows=rows,
        failed=[(named(job), job.error) for job in sweep.jobs if job.error is not None],
    )


def story(sweep: Sweep, done: Sequence[PointJob], seeds: int) -> Iterator[str]:
    """What was run, in sentences."""
    if sweep.interrupted:
        yield f"Interrupted: {len(done)} of {units.some(len(sweep), 'point')} were run."
    failed = len(sweep.failed)
    told = f"{units.some(len(done), 'run')} with results"
    yield f"{told}, {failed} failed." if failed else f"{told}."
    if seeds > 1:
        yield f"Figures are means over {seeds} seeds."
    yield f"Wordline {_core.version()}."


def values_of(jobs: Sequence[PointJob], name: str) -> list[Any]:
    """The values of a factor: numbers in order of size, others in order of appearance."""
    found = list(dict.fromkeys(cell(job.point.factors[name]) for job in jobs))
    values = {cell(job.point.factors[name]): job.point.factors[name] for job in jobs}
    if all(_is_number(values[text]) for text in found):
        found.sort(key=lambda text: values[text])
    return [values[text] for text in found]


def known(jobs: Sequence[PointJob], figure: KeyFigure) -> list[float]:
    """A figure of all jobs that have it and are above 0."""
    return [value for job in jobs if (value := (job.figures or {}).get(figure.key))]


def means(jobs: Sequence[PointJob], name: str, figure: KeyFigure) -> list[tuple[Any, float, float, float]]:
    """For each value of a factor: mean, least and largest of a figure."""
    found = []
    for value in values_of(jobs, name):
        of_value = known([job for job in jobs if cell(job.point.factors[name]) == cell(value)], figure)
        found.append((value, statistics.fmean(of_value), min(of_value), max(of_value)))
    return found


def ratio(jobs: Sequence[PointJob], name: str, figure: KeyFigure) -> str:
    """The largest mean of a figure over the smallest, by values of a factor, or by thirds of them if they are many."""
    values = values_of(jobs, name)
    if len(values) <= FEW or not all(map(_is_number, values)):
        found = [mean for _, mean, *_ in means(jobs, name, figure)]
    else:
        cuts = [values[len(values) * third // 3] for third in (1, 2)]
        thirds: list[list[PointJob]] = [[], [], []]
        for job in jobs:
            thirds[sum(job.point.factors[name] >= cut for cut in cuts)].append(job)
        found = [statistics.fmean(known(third, figure)) for third in thirds]
    return f"× {units.three(max(found) / min(found))}"


def named(job: PointJob) -> str:
    """A point by its factors, without the seed."""
    factors = job.point.factors.items()
    return ", ".join(f"{name} = {cell(value)}" for name, value in factors if name != SEED) or "the point"


def drawings(jobs: Sequence[PointJob], factors: list[str], figures: list[KeyFigure]) -> Iterator[Drawing]:
    """The figures of the page, as far as there is something to draw."""
    if factors and figures:
        yield small_multiples(jobs, factors[:MOST_FACTORS], figures)
    pair = [name for name in factors if len(values_of(jobs, name)) <= FEW][:2]
    if len(pair) == 2 and is_full(jobs, pair):
        yield heat_maps(jobs, pair[0], pair[1], figures)
    trade = trade_off(jobs)
    if trade is not None:
        yield trade


def small_multiples(jobs: Sequence[PointJob], factors: list[str], figures: list[KeyFigure]) -> Drawing:
    """A panel for each figure and factor."""

    def plot(figure: Figure) -> None:
        narrow = is_narrow(figure)
        shape = (len(figures) * len(factors), 1) if narrow else (len(figures), len(factors))
        panels = figure.subplots(*shape, squeeze=False)
        for row, main in enumerate(figures):
            for column, name in enumerate(factors):
                axes = panels[row * len(factors) + column][0] if narrow else panels[row][column]
                effect(axes, jobs, name, main)
                if narrow or row == len(figures) - 1:
                    axes.set_xlabel(name)
                along(axes.yaxis, main)
                if not narrow and column > 0:
                    axes.set_ylabel("")

    words = (
        "The mean of each figure at each value of a factor, with the range over all other factors and seeds. "
        "A factor with many values shows its points."
    )
    return Drawing("Figures by factor", words, plot, 0.2 + 0.7 * len(figures), tall=float(len(factors)))


def effect(axes: Axes, jobs: Sequence[PointJob], name: str, main: KeyFigure) -> None:
    """Draws a figure over a factor."""
    values = values_of(jobs, name)
    numbers = all(_is_number(value) for value in values)
    if numbers and len(values) > FEW:
        # Only figures that all have are drawn.
        axes.plot([job.point.factors[name] for job in jobs], known(jobs, main), ".", color=INK)
    else:
        found = means(jobs, name, main)
        places = [value for value, *_ in found] if numbers else list(range(len(found)))
        axes.vlines(places, [low for *_, low, _ in found], [high for *_, high in found], color=FAINT)
        style = "o-" if numbers else "o"
        axes.plot(places, [mean for _, mean, *_ in found], style, color=INK, markersize=4)
        if not numbers:
            axes.set_xticks(places, [shorter(cell(value)) for value, *_ in found])
            axes.set_xlim(-0.5, len(found) - 0.5)
    axes.set_ylim(bottom=0)


def heat_maps(jobs: Sequence[PointJob], first: str, second: str, figures: list[KeyFigure]) -> Drawing:
    """A map of each figure over two factors."""
    rows, columns = values_of(jobs, first), values_of(jobs, second)

    def plot(figure: Figure) -> None:
        from matplotlib.colors import LinearSegmentedColormap, to_rgb

        # A picture cannot follow the page from light to dark, so its low end is transparent.
        colour = to_rgb(MAP)
        shades = LinearSegmentedColormap.from_list("sweep", [(*colour, 0.0), (*colour, 0.6)])
        across = 1 if is_narrow(figure) else min(3, len(figures))
        panels = list(figure.subplots(-(-len(figures) // across), across, squeeze=False).flat)
        for axes, main in zip(panels, figures, strict=False):
            cells = [[mean_at(jobs, {first: row, second: column}, main) for column in columns] for row in rows]
            top = max(max(row) for row in cells)
            axes.imshow(cells, cmap=shades, vmin=0, vmax=top, aspect="auto")
            for at, row in enumerate(cells):
                for beside, value in enumerate(row):
                    axes.text(beside, at, main.text(value), ha="center", va="center", fontsize=8, color=INK)
            axes.set_xticks(range(len(columns)), [shorter(cell(value)) for value in columns])
            axes.set_yticks(range(len(rows)), [shorter(cell(value)) for value in rows])
            axes.set_title(main.name, loc="left", fontsize=10)
            axes.set_xlabel(second)
            axes.set_ylabel(first)
            axes.grid(False)
        for spare in panels[len(figures) :]:
            spare.set_visible(False)

    height = -(-len(figures) // 3) * (0.5 + 0.1 * len(rows))
    words = f"Means over seeds and all other factors, by {first} and {second}."
    return Drawing("Two factors together", words, plot, 0.2 + height, tall=float(min(3, len(figures))))


def trade_off(jobs: Sequence[PointJob]) -> Drawing | None:
    """Throughput and tail latency of all points; those that no other beats in both are marked."""
    keys, rate = TRADES
    figures = {figure.key: figure for figure in FIGURES}
    tail = next((figures[key] for key in keys if len(known(jobs, figures[key])) == len(jobs)), None)
    places: dict[str, list[PointJob]] = {}
    for job in jobs:
        places.setdefault(named(job), []).append(job)
    if tail is None or len(places) < 3:
        return None
    of = [tuple(statistics.fmean(known(there, figures[key])) for key in (rate, tail.key)) for there in places.values()]
    best = front(of)

    def plot(figure: Figure) -> None:
        axes = figure.subplots()
        axes.plot([x for x, _ in of], [y for _, y in of], ".", color=FAINT)
        axes.plot([of[at][0] for at in best], [of[at][1] for at in best], "o-", color=BLUE, markersize=5)
        along(axes.xaxis, figures[rate])
        along(axes.yaxis, tail)
        axes.set_ylim(bottom=0)

    names = list(places)
    listed = [f"{names[at]}: {units.short(of[at][0])}/s, {tail.text(of[at][1])}" for at in best]
    more = f", and {len(listed) - MOST_LISTED} more" if len(listed) > MOST_LISTED else ""
    words = (
        f"Each point by its throughput and its {tail.name}, as means over seeds. No other has more requests/s and "
        "a lower latency than those on the line (the Pareto front), from the left: "
        f"{'; '.join(listed[:MOST_LISTED])}{more}."
    )
    return Drawing("Throughput and tail latency", words, plot)


def front(of: Sequence[tuple[float, float]]) -> list[int]:
    """Which pairs no other beats: more of the first and less of the second. By the first, upward."""
    found: list[int] = []
    least = float("inf")
    for at in sorted(range(len(of)), key=lambda at: (-of[at][0], of[at][1])):
        if of[at][1] < least:
            found.append(at)
            least = of[at][1]
    return found[::-1]


def is_full(jobs: Sequence[PointJob], pair: Sequence[str]) -> bool:
    """True if there is a run at each combination of values of two factors."""
    there = {tuple(cell(job.point.factors[name]) for name in pair) for job in jobs}
    return len(there) == len(values_of(jobs, pair[0])) * len(values_of(jobs, pair[1]))


def mean_at(jobs: Sequence[PointJob], where: dict[str, Any], main: KeyFigure) -> float:
    """The mean of a figure of the points with these values."""
    there = [job for job in jobs if all(cell(job.point.factors[name]) == cell(value) for name, value in where.items())]
    return statistics.fmean(known(there, main))


def along(axis: Axis, main: KeyFigure) -> None:
    """Writes the values of a figure at its axis, and its name beside."""
    write = plain_latency if main.text is units.latency else main.text
    axis.set_major_formatter(lambda value, _: write(value) if value else "0")
    axis.set_label_text(main.name.replace("write amplification", "write\namplification"))


def shorter(text: str) -> str:
    """A value of a factor below an axis."""
    return text if len(text) <= 14 else f"{text[:13]}…"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
