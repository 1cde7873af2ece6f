"""Several runs side by side: main figures as ratios to the first, what differs in the settings, figures overlaid."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordline.base import units
from wordline.base.drawing import (
    BLUE,
    GOLD,
    GREEN,
    ORANGE,
    PAPER,
    PURPLE,
    TEAL,
    Drawing,
    any_value,
    is_narrow,
    latency_ticks,
    line,
    time_axes,
)
from wordline.report import charts, figures
from wordline.report import page as report
from wordline.results import causes, checking, jobs, limits, repeats, story
from wordline.results.keyfigures import FIGURES, LATENCIES, KeyFigure, value_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import Console

LOOKS = ((BLUE, "-"), (ORANGE, "--"), (GREEN, ":"), (PURPLE, "-."), (TEAL, (0, (6, 1))), (GOLD, (0, (1, 1))))
"""Colour and style of each run."""

MOST = len(LOOKS)

THROUGHPUT = (("read MiB/s", "read_mib_s"), ("write MiB/s", "write_mib_s"))
"""Panels of throughput over time: label and key of the series."""

Result = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A result and what it is called."""

    name: str
    result: Result


def named(read: Sequence[tuple[str, Result]]) -> list[Run]:
    """Calls each result by its file, with as much of the path as tells them apart."""
    paths = [Path(name) for name, _ in read]
    for depth in range(1, 1 + max(len(path.parts) for path in paths)):
        names = ["/".join(path.with_suffix("").parts[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            break
    else:
        names = [f"{n + 1}: {path.stem}" for n, path in enumerate(paths)]
    return [Run(name, result) for name, (_, result) in zip(names, read, strict=True)]


@dataclass(frozen=True)
class Row:
    """A figure of each run: over all its seeds, if it has them."""

    name: str
    texts: list[str]
    ratios: list[float | None]
    """To the first run; None where there is none."""
    apart: list[bool | None]
    """Whether it differs from that of the first run by more than chance explains; None where that cannot be told."""
    key: str
    """Where it is in a result (see :func:`wordline.results.keyfigures.value_of`)."""
    values: list[float | None]
    """In the units of a result."""
    ci95: list[float | None]
    """Half of each 95 % interval; None where there is one seed."""

    def ratio_text(self, n: int) -> str:
        """``× 1.23`` behind the value of run ``n``, in brackets if it may be chance; nothing for the first."""
        ratio = self.ratios[n]
        if n == 0 or ratio is None:
            return ""
        text = f"× {units.three(ratio)}"
        return f"({text})" if self.apart[n] is False else text


def of_jobs(runs: Sequence[Run]) -> Iterator[tuple[KeyFigure, Callable[[Result], float | None]]]:
    """The figures of each job that all of the runs have, with where they are in a result. They are of one seed."""
    for name in jobs.common([run.result for run in runs])[: jobs.MOST_SHOWN]:
        yield (
            KeyFigure(f"{name}: requests/s", "jobs.iops", units.short),
            lambda result, name=name: jobs.named(result, name)["iops"],
        )
        for op in ("read", "write"):
            for key in ("mean", "p99"):

                def latency(result: Result, name: str = name, op: str = op, key: str = key) -> float | None:
                    return (jobs.named(result, name)["latency_us"].get(op) or {}).get(key)

                yield KeyFigure(f"{name}: {op} {LATENCIES[key]}", f"jobs.latency_us.{op}.{key}", units.latency), latency


def rows(runs: Sequence[Run]) -> Iterator[Row]:
    """The main figures that any of the runs has, and those of their jobs."""
    for figure, value_in in (*((figure, None) for figure in FIGURES), *of_jobs(runs)):
        over_seeds = [None if value_in else repeats.figure(run.result, figure.key) for run in runs]
        values = [
            told["mean"] if told else value_in(run.result) if value_in else value_of(run.result, figure.key)
            for run, told in zip(runs, over_seeds, strict=True)
        ]
        if not any(value is not None and value != 0 for value in values):
            continue
        first, samples = values[0], [[] if told is None else told["values"] for told in over_seeds]
        yield Row(
            figure.name,
            [_text(figure, value, told) for value, told in zip(values, over_seeds, strict=True)],
            [value / first if value is not None and first else None for value in values],
            # What is the same in every run, such as a fixed number of requests, is no difference that might be chance.
            [None, *(None if sample == samples[0] else repeats.apart(samples[0], sample) for sample in samples[1:])],
            figure.key,
            values,
            [None if told is None else told["ci95"] for told in over_seeds],
        )


def _text(figure: KeyFigure, value: float | None, over_seeds: Result | None) -> str:
    if value is None:
        return units.NOTHING
    half = None if over_seeds is None else over_seeds["ci95"]
    return figure.text(value) if half is None else f"{figure.text(value)} ± {figure.text(half)}"


def noise(runs: Sequence[Run], told: Sequence[Row]) -> list[str]:
    """Which differences from the first run are more than chance; of single seeds, that this cannot be told."""
    if len({run.result.get("outcome") or run.result["digest"] for run in runs}) == 1:
        return []
    single = [run for run in runs if (repeats.block(run.result) or {"n": 1})["n"] < 2]
    if len(single) == len(runs):
        return ["Each result is of one seed, so noise cannot be told from effect: run each with --repeat 10."]
    sentences = []
    if single:
        names = " and ".join(run.name for run in single)
        sentences.append(
            f"One seed alone stands behind {names}: noise cannot be told from effect there without --repeat 10."
        )
    for n, run in enumerate(runs):
        rows_of = [row for row in told if row.apart[n] is not None]
        if n == 0 or not rows_of:
            continue
        outside = [row.name for row in rows_of if row.apart[n]]
        inside = [row.name for row in rows_of if not row.apart[n]]
        text = "no difference lies outside the 95 % intervals"
        if outside:
            text = f"outside the 95 % intervals: {', '.join(outside)}"
            text += f"; within them, and in brackets: {', '.join(inside)}" if inside else ""
        sentences.append(f"{run.name} beside {runs[0].name}: {text}.")
    return sentences


KINDS = {"trace": "trace", "job": "jobs"}
"""The parts of a load: their keys in a workload file and in the description of one that was opened."""


def kinds(result: Result) -> dict[str, str]:
    """What a load consists of, each part in words."""
    load = result.get("workload") or {}
    said = {}
    if load.get("trace"):
        said["trace"] = f"replays the trace {load['trace'].get('file') or ''}".rstrip()
    if load.get("jobs"):
        names = [str(job.get("name")) for job in load["jobs"]]
        said["job"] = f"runs the job{'' if len(names) == 1 else 's'} {', '.join(names)}"
    return said


def _of_absent(key: str, absent: set[str]) -> bool:
    """Whether a key of a load is about a part that not all loads have."""
    words = key.removeprefix("options.").split(".")
    return any(words[0] in (part, KINDS[part]) for part in absent)


def differences(runs: Sequence[Run]) -> Iterator[tuple[str, list[str]]]:
    """What differs in what was run: keys of the drive, then of the load, then seed, version and state at the start.

    Of a trace beside jobs it is said that they are that; no key of one has a counterpart in the other.
    """
    parts = [kinds(run.result) for run in runs]
    absent = {part for part in KINDS if 0 < sum(part in said for said in parts) < len(parts)}
    for section in ("config", "workload"):
        if section == "workload" and absent:
            yield "load", [" and ".join(said.values()) or units.NOTHING for said in parts]
        flats = [dict(checking.flat(run.result.get(section) or {})) for run in runs]
        keys = dict.fromkeys(key for flat in flats for key in flat)
        for key in keys:
            texts = [checking.value_text(flat.get(key)) for flat in flats]
            # Where a trace lies says nothing of what it holds, and what was asked of a job shows in what it became.
            if section == "workload" and (key == "trace.path" or key.startswith("options.job")):
                continue
            if section == "workload" and _of_absent(key, absent):
                continue
            if len(set(texts)) > 1:
                yield key if section == "config" else f"load: {key}", texts
    for key in ("seed", "version", "snapshot"):
        texts = [checking.value_text(run.result.get(key)) for run in runs]
        if len(set(texts)) > 1:
            yield key, texts


def states(run: Run) -> Iterator[str]:
    """Whether the drive of a run was worn in, and how much the run wrote."""
    fresh, wrote = story.fresh(run.result), story.wrote(run.result)
    if fresh:
        yield f"{run.name}: {fresh}"
    if wrote:
        yield f"{run.name}: {wrote}"


def show(console: Console, runs: Sequence[Run]) -> None:
    """Prints the main figures with their ratios, and what differs."""
    from rich.table import Table
    from rich.text import Text

    from wordline.base.console import hanging

    for run in runs:
        for text in states(run):
            hanging(console, Text(text), 0, 0)
    console.print()
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="bold")
    table.add_column("")
    for n, run in enumerate(runs):
        table.add_column(run.name, justify="right", overflow="fold")
        if n:
            table.add_column("", style="dim")
    told = list(rows(runs))
    for row in told:
        cells = [cell for n, text in enumerate(row.texts) for cell in ((text, row.ratio_text(n)) if n else (text,))]
        table.add_row(row.name, *cells)
    console.print(table)
    for text in noise(runs, told):
        console.print()
        hanging(console, Text(text), 0, 0)
    differing = list(differences(runs))
    console.print()
    if not differing:
        same = len({run.result["digest"] for run in runs}) == 1
        console.print("No difference in drive, load or seed" + ("; the results are the same." if same else "."))
        return
    console.print("What differs")
    table = Table(box=None, padding=(0, 1), pad_edge=False, show_header=False)
    for _ in range(len(runs) + 1):
        table.add_column(overflow="fold")
    for key, texts in differing:
        table.add_row(key, *texts)
    console.print(table)


def html(runs: Sequence[Run]) -> str:
    """The whole page."""
    found = drawings(runs)
    told = list(rows(runs))
    looks = [colour.rpartition(" ")[2] for colour, _ in LOOKS]
    return report.render(
        "compare.html.j2",
        title=" and ".join([", ".join(run.name for run in runs[:-1]), runs[-1].name]),
        runs=[
            {
                "name": run.name,
                "colour": colour,
                "story": story.opening(run.result) + limits.sentences(run.result),
                "partial": story.partial(run.result),
            }
            for run, colour in zip(runs, looks, strict=False)
        ],
        rows=told,
        noise=noise(runs, told),
        differences=list(differences(runs)),
        same=len({run.result["digest"] for run in runs}) == 1,
        drawings=defaultdict(lambda: None, found),
        timed=[(key, found[key]) for key in ("latency", "throughput") if key in found],
        charts=charts.of_runs(runs, [("latency", latency_panels(runs)), ("throughput", THROUGHPUT)]).json(),
        provenance=[(run.name, run.result["digest"], run.result["seed"], run.result["version"]) for run in runs],
    )


def drawings(runs: Sequence[Run]) -> dict[str, Drawing]:
    """The figures by their place in the page."""
    found = {
        "distribution": distribution(runs),
        "where": where(runs),
        "latency": latency_over_time(runs),
        "throughput": over_time(runs, "Throughput over time", "What the drives completed.", THROUGHPUT),
    }
    return {place: figure for place, figure in found.items() if figure is not None}


def distribution(runs: Sequence[Run]) -> Drawing | None:
    """Latency distributions to the tail, one panel for reads and one for writes."""
    panels = {}
    for op in causes.OPS:
        curves = {}
        for n, run in enumerate(runs):
            points = [(us, 1 - q) for us, q in (run.result.get("cdf") or {}).get(op) or [] if us > 0 and q < 1]
            if len(points) > 1:
                curves[n] = points
        if curves:
            panels[op] = curves
    if not panels:
        return None

    def plot(figure: Figure) -> None:
        shape = (len(panels), 1) if is_narrow(figure) else (1, len(panels))
        for axes, (op, curves) in zip(figure.subplots(*shape, squeeze=False).flat, panels.items(), strict=True):
            for n, points in curves.items():
                colour, style = LOOKS[n]
                figures.tail(axes, points, color=colour, linestyle=style)
            figures.nines(axes, curves.values())
            axes.set_title(f"{op}s", loc="left", fontsize=10)
        _legend(figure, runs)

    words = "Share of requests done within a latency. Each step up is ten times rarer: the slowest are at the top."
    return Drawing("Latency distributions", words, plot, height=1.3)


def _legend(figure: Figure, runs: Sequence[Run]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=colour, linestyle=style) for (colour, style), _ in zip(LOOKS, runs, strict=False)]
    figure.legend(
        handles, [run.name for run in runs], loc="outside upper left", ncols=1 if is_narrow(figure) else 3,
    )  # fmt: skip


def where(runs: Sequence[Run]) -> Drawing | None:
    """Mean latency of each run, divided by cause."""
    panels = {}
    for op in causes.OPS:
        parts = [list(causes.shares(run.result, op)) for run in runs]
        if any(parts):
            panels[op] = parts
    if not panels:
        return None

    def plot(figure: Figure) -> None:
        shape = (len(panels), 1) if is_narrow(figure) else (1, len(panels))
        named: dict[str, Any] = {}
        for axes, (op, bars) in zip(figure.subplots(*shape, squeeze=False).flat, panels.items(), strict=True):
            _means(axes, op, bars, runs, named)
        order = [cause.name for cause in causes.CAUSES if cause.name in named]
        columns = 3 if is_narrow(figure) else 6
        figure.legend([named[name] for name in order], order, loc="outside lower left", ncols=columns, handlelength=1.2)

    words = "Mean latency, divided by what requests spent it on. The parts of a bar add up to the mean."
    return Drawing("Where the time went", words, plot, height=0.6 + 0.12 * len(runs))


def _means(axes: Axes, op: str, bars: list[Any], runs: Sequence[Run], named: dict[str, Any]) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for row, (parts, run) in enumerate(zip(bars, runs, strict=True)):
        left = 0.0
        for cause, seconds, _ in parts:
            mean = 1e6 * seconds / run.result["latency_us"][op]["count"]
            named[cause.name] = axes.barh(
                row, mean, left=left, height=0.62, color=cause.colour, hatch=cause.hatch, edgecolor=PAPER, linewidth=0.5
            )
            left += mean
    axes.set_yticks(range(len(runs)), [run.name for run in runs])
    axes.set_ylim(len(runs) - 0.5, -0.5)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda us, _: units.latency(us) if us else "0"))
    axes.grid(visible=False, axis="y")
    axes.set_title(f"{op}s", loc="left", fontsize=10)


def latency_panels(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """The tail over time; the mean where a run has too few requests in its intervals for that."""
    tail = all(any_value((run.result.get("series") or {}).get("latency_p99_us")) for run in runs)
    return [("latency", "latency_p99_us" if tail else "latency_mean_us")]


def latency_over_time(runs: Sequence[Run]) -> Drawing | None:
    """Tail or mean of all runs over time."""
    panels = latency_panels(runs)
    if panels[0][1] == "latency_p99_us":
        words = "Latency within which 99 % of the requests of an interval were done, where it has 1,000 or more."
        return over_time(runs, "99th percentile over time", words, panels)
    return over_time(runs, "Mean latency over time", "Mean latency of the requests of an interval.", panels)


def over_time(runs: Sequence[Run], title: str, words: str, panels: Sequence[tuple[str, str]]) -> Drawing | None:
    """Series of all runs, a panel for each kind, over the longest of the runs."""
    drawn = [
        (label, key)
        for label, key in panels
        if any(any_value((run.result.get("series") or {}).get(key)) for run in runs)
    ]
    if not drawn:
        return None

    def plot(figure: Figure) -> None:
        axes_of = figure.subplots(len(drawn), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (label, key) in zip(axes_of, drawn, strict=True):
            values = []
            for (colour, style), run in zip(LOOKS, runs, strict=False):
                series = run.result.get("series") or {}
                column = [value or None for value in series.get(key) or []]
                if key.startswith("latency"):
                    values += [value for value in column if value]
                else:
                    column = [value or 0.0 for value in column]
                if column:
                    line(axes, figures.middles(series), column, color=colour, linestyle=style)
            if values:
                axes.set_yscale("log")
                latency_ticks(axes.yaxis, min(values), max(values))
                axes.set_ylabel(label)
            else:
                figures.rate_axis(axes, label)
        time_axes(figure, axes_of, max(figures.end(run.result) for run in runs))
        _legend(figure, runs)

    return Drawing(title, words, plot, height=0.5 + 0.65 * len(drawn))
