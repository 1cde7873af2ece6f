"""Several runs side by side: main figures as ratios to the first, differing settings, figures overlaid."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordline.base import palette, units
from wordline.report import charts, comparefigures, comparelives
from wordline.report import page as report
from wordline.results import checking, jobs, keyfigures, limits, repeats, replayed, story
from wordline.results.keyfigures import FIGURES, LATENCIES, LESS, MORE, KeyFigure, value_of
from wordline.results.reading import is_replay

if TYPE_CHECKING:
    from rich.console import Console

    from wordline.base.drawing import Drawing

MOST = len(comparefigures.LOOKS)

ONE_SEED = "has one seed, so noise cannot be separated from effect:"

Result = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A result and its name."""

    name: str
    result: Result


def named(read: Sequence[tuple[str, Result]]) -> list[Run]:
    """Names each result by its file, with enough of the path to be unique."""
    paths = [Path(name) for name, _ in read]
    for depth in range(1, 1 + max(len(path.parts) for path in paths)):
        names = ["/".join(path.with_suffix("").parts[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            break
    else:
        names = [f"{n + 1}: {path.stem}" for n, path in enumerate(paths)]
    return [Run(name, result) for name, (_, result) in zip(names, read, strict=True)]


def of_replays(runs: Sequence[Run]) -> bool:
    """True if the results are of replays, which have no times; all are of one kind."""
    return is_replay(runs[0].result)


@dataclass(frozen=True)
class Row:
    """A figure of each run: over all its seeds, if it has them."""

    name: str
    texts: list[str]
    ratios: list[float | None]
    """To the first run; None where there is none."""
    apart: list[bool | None]
    """True if it differs from the first run by more than chance; None if unknown."""
    marks: list[str]
    """``better`` or ``worse`` than the first run; empty where it is neither."""
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
        # Both values are in their columns, so the ratio is brief: "1/4,980", not "× 0.000201".
        text = f"1/{units.three(1 / ratio)}" if 0 < ratio < SMALL else f"× {units.three(ratio)}"
        return f"({text})" if self.apart[n] is False else text

    def told(self, n: int) -> str:
        """The ratio with its mark: ``× 0.79 better``."""
        return f"{self.ratio_text(n)} {self.marks[n]}".strip()


SMALL = 0.1
"""Ratios below this are shown by their inverse."""

ALIKE = 0.01
"""Figures that differ by less than this share are neither better nor worse."""


def mark(figure: KeyFigure, first: float | None, value: float | None) -> str:
    """``better`` or ``worse`` than the first run; empty if neither."""
    if not figure.good or first is None or value is None or abs(value - first) < ALIKE * abs(first) or value == first:
        return ""
    return "better" if (value > first) == (figure.good == MORE) else "worse"


def of_jobs(runs: Sequence[Run]) -> Iterator[tuple[KeyFigure, Callable[[Result], float | None]]]:
    """The figures of each job that all of the runs have, with where they are in a result. They are of one seed."""
    for name in jobs.common([run.result for run in runs])[: jobs.MOST_SHOWN]:
        yield (
            KeyFigure(f"{name}: requests/s", "jobs.iops", units.short, MORE),
            lambda result, name=name: jobs.named(result, name)["iops"],
        )
        for op in ("read", "write"):
            for key in ("mean", "p99"):

                def latency(result: Result, name: str = name, op: str = op, key: str = key) -> float | None:
                    return (jobs.named(result, name)["latency_us"].get(op) or {}).get(key)

                what = f"{name}: {op} {LATENCIES[key]}"
                yield KeyFigure(what, f"jobs.latency_us.{op}.{key}", units.latency, LESS), latency


def rows(runs: Sequence[Run]) -> Iterator[Row]:
    """The main figures that any of the runs has, and those of their jobs."""
    loads = [kinds(run.result) for run in runs]
    done = [run.result["requests"] for run in runs]
    main = keyfigures.replayed() if of_replays(runs) else FIGURES
    of_policies = keyfigures.of_policies(run.result for run in runs)
    for figure, value_in in (*((figure, None) for figure in (*main, *of_policies)), *of_jobs(runs)):
        over_seeds = [None if value_in else repeats.figure(run.result, figure.key) for run in runs]
        values = [
            told["mean"] if told else value_in(run.result) if value_in else value_of(run.result, figure.key)
            for run, told in zip(runs, over_seeds, strict=True)
        ]
        if not any(value is not None and value != 0 for value in values):
            continue
        first, samples = values[0], [[] if told is None else told["values"] for told in over_seeds]
        # A figure that is the same in every run, such as a fixed number of requests, is no difference by chance.
        apart = [None if sample == samples[0] else repeats.apart(samples[0], sample) for sample in samples]
        yield Row(
            figure.name,
            [_text(figure, value, told) for value, told in zip(values, over_seeds, strict=True)],
            [value / first if value is not None and first else None for value in values],
            apart,
            [
                mark(figure, first, value)
                if loads[n] == loads[0] and apart[n] is not False and (done[n] == done[0] or not figure.total)
                else ""
                for n, value in enumerate(values)
            ],
            figure.key,
            values,
            [None if told is None else told["ci95"] for told in over_seeds],
        )


def _text(figure: KeyFigure, value: float | None, over_seeds: Result | None) -> str:
    if value is None:
        return units.NOTHING
    half = None if over_seeds is None else over_seeds["ci95"]
    return figure.text(value) if half is None else f"{figure.text(value)} ± {figure.text(half)}"


def other_loads(runs: Sequence[Run]) -> str:
    """Runs with another workload than the first, for which better and worse mean nothing; empty if none."""
    names = [run.name for run in runs if kinds(run.result) != kinds(runs[0].result)]
    return f"{' and '.join(names)}: not marked better or worse, because the workload differs." if names else ""


def marked(runs: Sequence[Run]) -> str:
    """The rule for marks, in a sentence."""
    return other_loads(runs) or (
        "Differences of 1 % or more are marked better or worse; totals, such as blocks erased, only between runs of as "
        "many requests. Neutral figures, such as die utilisation, have no mark."
    )


def noise(runs: Sequence[Run], told: Sequence[Row]) -> list[str]:
    """Differences from the first run that are more than chance; for single seeds, a note that this is unknown."""
    if len({run.result.get("outcome") or run.result["digest"] for run in runs}) == 1:
        return []
    if of_replays(runs):
        return [f"Each replay {ONE_SEED} replay with other seeds, by --seed."]
    single = [run for run in runs if (repeats.block(run.result) or {"n": 1})["n"] < 2]
    if len(single) == len(runs):
        return [f"Each result {ONE_SEED} run each with --repeat 10."]
    sentences = []
    if single:
        names = " and ".join(run.name for run in single)
        sentences.append(f"{names}: only one seed, so noise cannot be separated from effect; run with --repeat 10.")
    for n, run in enumerate(runs):
        rows_of = [row for row in told if row.apart[n] is not None]
        if n == 0 or not rows_of:
            continue
        outside = [row.name for row in rows_of if row.apart[n]]
        inside = [row.name for row in rows_of if not row.apart[n]]
        text = "no difference is outside the 95 % intervals"
        if outside:
            text = f"outside the 95 % intervals: {', '.join(outside)}"
            text += f"; within them, and in brackets: {', '.join(inside)}" if inside else ""
        sentences.append(f"{run.name} against {runs[0].name}: {text}.")
    return sentences


KINDS = {"trace": "trace", "job": "jobs"}
"""The parts of a workload: their keys in a workload file and in a result."""


def kinds(result: Result) -> dict[str, str]:
    """The parts of a workload, each in words."""
    load = result.get("workload") or {}
    said = {}
    if load.get("trace"):
        said["trace"] = f"replays the trace {load['trace'].get('file') or ''}".rstrip()
    if load.get("jobs"):
        names = [str(job.get("name")) for job in load["jobs"]]
        said["job"] = f"runs the job{'' if len(names) == 1 else 's'} {', '.join(names)}"
    return said


def _of_absent(key: str, absent: set[str]) -> bool:
    """True if a key belongs to a part that not all workloads have."""
    words = key.removeprefix("options.").split(".")
    return any(words[0] in (part, KINDS[part]) for part in absent)


def differences(runs: Sequence[Run]) -> Iterator[tuple[str, list[str]]]:
    """Differing settings: keys of the drive, then of the workload, then seed, version and state at the start.

    A trace against jobs is one difference: their keys have no counterparts.
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
            # The path of a trace says nothing of its contents; options of a job show in the resolved job.
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
    """State of the drive at the start, and how much the run wrote; of a replay, how the life of the drive ended."""
    yield from (f"{run.name}: {text}" for text in said(run.result))


def said(result: Result) -> list[str]:
    """The same without the name."""
    told = (replayed.ending(result),) if is_replay(result) else (story.fresh(result), story.wrote(result))
    return [text for text in told if text]


def told_of(result: Result) -> list[str]:
    """A result in a few sentences."""
    if is_replay(result):
        return [*said(result), *replayed.paragraph(result)]
    return story.opening(result) + limits.sentences(result)


def figures_of(runs: Sequence[Run]) -> dict[str, Drawing]:
    """The figures by their place in the page."""
    return comparelives.all_of(runs) if of_replays(runs) else comparefigures.all_of(runs)


def show(console: Console, runs: Sequence[Run]) -> None:
    """Prints the main figures with their ratios, and the differences."""
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
        cells = [cell for n, text in enumerate(row.texts) for cell in ((text, row.told(n)) if n else (text,))]
        table.add_row(row.name, *cells)
    console.print(table)
    for text in (*filter(None, [other_loads(runs)]), *noise(runs, told)):
        console.print()
        hanging(console, Text(text), 0, 0)
    differing = list(differences(runs))
    console.print()
    if not differing:
        same = len({run.result["digest"] for run in runs}) == 1
        console.print("No difference in drive, workload or seed" + ("; the results are the same." if same else "."))
        return
    console.print("Differences")
    table = Table(box=None, padding=(0, 1), pad_edge=False, show_header=False)
    for _ in range(len(runs) + 1):
        table.add_column(overflow="fold")
    for key, texts in differing:
        table.add_row(key, *texts)
    console.print(table)


def html(runs: Sequence[Run]) -> str:
    """The whole page."""
    found = figures_of(runs)
    told = list(rows(runs))
    timed = [(key, found[key]) for key in ("latency", "throughput") if key in found]
    return report.render(
        "compare.html.j2",
        title=" and ".join([", ".join(run.name for run in runs[:-1]), runs[-1].name]),
        runs=[
            {
                "name": run.name,
                "colour": palette.of_page(colour),
                "story": told_of(run.result),
                "partial": replayed.PARTIAL
                if of_replays(runs) and run.result["partial"]
                else story.partial(run.result),
            }
            for run, (colour, _) in zip(runs, comparefigures.LOOKS, strict=False)
        ],
        rows=told,
        marked=marked(runs),
        noise=noise(runs, told),
        differences=list(differences(runs)),
        same=len({run.result["digest"] for run in runs}) == 1,
        drawings=defaultdict(lambda: None, found),
        timed=timed,
        charts="" if of_replays(runs) else charts.of_runs(runs, comparefigures.panels(runs)).json(),
        provenance=[(run.name, run.result["digest"], run.result["seed"], run.result["version"]) for run in runs],
    )
