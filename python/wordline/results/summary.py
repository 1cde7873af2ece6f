"""The summary of a run on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wordline.base import units
from wordline.base.console import facts, hanging
from wordline.results import (
    arrays,
    collections,
    deadlines,
    jobs,
    live,
    log_blocks,
    lookups,
    policies,
    redundancy,
    slc,
    story,
    tasks,
)

OPS = ("read", "write", "trim", "flush")

COLUMNS = {
    "mean": "mean",
    "p50": "p50",
    "p90": "p90",
    "p99": "p99",
    "p99_9": "p99.9",
    "p99_99": "p99.99",
    "max": "max",
}


def show(console: Console, result: dict[str, Any]) -> None:
    """Prints the summary of ``result``."""
    fresh = story.fresh(result)
    if fresh:
        hanging(console, Text(fresh, style="bold yellow"), 0, 0)
    console.print(Text(story.headline(result), style="bold"))
    if result.get("partial"):
        hanging(console, Text(f"PARTIAL: {story.partial(result)}.", style="bold red"), 0, 0)
    console.print()
    late = [("" if number else "Deadlines", told) for number, told in enumerate(deadlines.summed_up(result))]
    facts(console, [*throughput(result), *steadiness(result), *late, *live.listed(result)])
    console.print()
    console.print(latency_table(result))
    jobs.show(console, result)
    arrays.show(console, result)
    console.print()
    facts(console, [*flash(result), *effort(result)])
    if result.get("repeats"):
        show_repeats(console, result)


def show_repeats(console: Console, result: dict[str, Any]) -> None:
    """Prints the main figures over all seeds, and how the runs differ, if any were completed."""
    from wordline.results import repeats

    told = repeats.block(result)
    if told is None:
        return
    console.print()
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    table.add_column(f"Over {units.some(told['n'], 'seed')}", style="cyan")
    for head in repeats.HEADS:
        table.add_column(head, justify="right", no_wrap=True)
    for row in repeats.rows(result):
        table.add_row(*row)
    console.print(table)
    varied = repeats.varied(result)
    if varied:
        hanging(console, Text(varied), 0, 0)
    hanging(console, Text(f"The figures above are from seed {result['seed']}."), 0, 0)


def throughput(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Throughput, amounts, and waiting for queue slots."""
    moved = [
        f"{units.size(of_op['bytes'])} {verb}"
        for op, verb in (("read", "read"), ("write", "written"), ("trim", "trimmed"))
        if (of_op := result["by_op"].get(op)) and of_op.get("bytes")
    ]
    rate = f"{units.short(result['iops'])} requests/s, {units.bandwidth(result['bandwidth_mib_s'])}"
    yield "Throughput", rate + (f"; {', '.join(moved)}" if moved else "")
    yield from written(result)
    yield from story.left_out_of(result)
    waiting = result.get("waiting_us") or {}
    if waiting.get("max"):
        yield (
            "Waiting",
            f"{units.latency(waiting['mean'])} for a queue slot on average, {units.latency(waiting['max'])} at most",
        )


def written(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """How close the run came to steady state."""
    text, why = story.wrote(result), story.unsteady(result)
    if text:
        yield "Wear-in", f"{text}; {why}" if why else text


def steadiness(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Outcome of the steady-state criteria of jobs."""
    for state in result.get("steady_state") or []:
        unit = "%" if state["limit_in_percent"] else ""
        wanted = f"{state['criterion']} within {state['limit']:g}{unit} over {state['window_s']:g} s"
        if state["attained"]:
            found = f"reached at {state['at_s']:.4g} s, with {state['measured']:.3g}{unit}"
        elif state["measured"] is None:
            found = "NOT reached: the job ended before a whole window was seen"
        else:
            found = f"NOT reached: {state['measured']:.3g}{unit} when the job ended"
        yield "Steady state", f"{state['job']}: {wanted}: {found}"


def latency_table(result: dict[str, Any]) -> Table:
    """Latency by operation, with percentiles."""
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    table.add_column("Latency", style="cyan", min_width=7)
    for header in ("requests", *COLUMNS.values()):
        table.add_column(header, justify="right", no_wrap=True)
    present = [op for op in OPS if (result["latency_us"].get(op) or {}).get("count")]
    # With one kind of request, "all" would repeat it.
    for op in present if len(present) == 1 else [*present, "all"]:
        of_op = result["latency_us"].get(op) or {}
        number = units.short(of_op["count"]) if of_op.get("count", 0) >= 1e6 else units.count(of_op.get("count") or 0)
        table.add_row(
            op, number, *(units.latency(of_op.get(key)) for key in COLUMNS), style="bold" if op == "all" else None
        )
    return table


MUCH_PADDING = 0.1
"""The part of programs from which padding is told with write amplification."""


def padding(result: dict[str, Any]) -> float | None:
    """The part of all programmed data that is padding; None without programs."""
    ops, drive = result["flash"], result["drive"]
    programmed = ops["programs"] * drive["page_bytes"]
    return ops["padded_units"] * drive["unit_bytes"] / programmed if programmed else None


def flash(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Flash operations, garbage collection, wear, energy and utilisation."""
    ops = result["flash"]
    yield from arrays.listed(result)
    yield (
        "Flash",
        f"{units.some(ops['reads'], 'page')} read, {units.some(ops['programs'], 'page')} programmed, "
        f"{units.some(ops['erases'], 'block')} erased",
    )
    amplification = result.get("write_amplification")
    if amplification is not None:
        padded = padding(result)
        worth_it = padded is not None and padded >= MUCH_PADDING
        of_it = f"; {units.percent(padded)} of what was programmed is padding" if worth_it else ""
        yield "", f"write amplification {units.three(amplification)}{of_it}"
    yield "GC", collections.summed_up(result)
    joined = collections.shared(result)
    if joined:
        yield "", joined
    looked_up = lookups.summed_up(result)
    if looked_up:
        yield "Map", looked_up
    merged = log_blocks.summed_up(result)
    if merged:
        yield "Merges", merged
    scheduled = log_blocks.scheduled(result)
    if scheduled:
        yield "", scheduled
    protected = redundancy.summed_up(result)
    if protected:
        yield "Parity", protected
    cached = slc.summed_up(result)
    if cached:
        yield "SLC cache", cached
    for _, title, figures in tasks.used(result):
        yield title[0].upper() + title[1:], tasks.moved(figures)
    yield from policies.summed_up(result)
    wear = result["wear"]
    if wear["max"]:
        yield "Wear", f"{units.three(wear['mean'])} P/E cycles a block on average, {units.count(wear['max'])} at most"
    if result.get("energy_j") is not None:
        yield "Energy", units.scaled(result["energy_j"], [(1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ")])
    after = story.afterwards(result)
    if after:
        yield "Afterwards", after
    busy = story.parts(result)
    if busy:
        yield "Busy", ", ".join(part.words() for part in busy)
        yield "", story.verdict(result)


def effort(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """CPU time, and what identifies the run."""
    cpu = result.get("cpu_s")
    if cpu:
        yield (
            "Computing",
            f"{units.duration(cpu)} of CPU time, {units.short(round(result['requests'] / cpu))} requests/s",
        )
    yield "Digest", f"{result['digest']} (seed {result['seed']}, wordline {result['version']})"
