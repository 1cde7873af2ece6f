"""AutoSSD against Vanilla, RAIN and QoSFC under traces: figures 5 to 8 of kim18."""

from __future__ import annotations

from dataclasses import replace

from wordline.studies import against_rain, windows
from wordline.studies.autossd import AUTO, RAIN, SYSTEMS, Drive, Runs, Traced
from wordline.studies.context import Context
from wordline.studies.outcome import Outcome

BURSTY, READ = "RAD-AS", "LM-TBE"
"""The traces of figures 6 and 7."""
BROKEN_DOWN = "MSN-BEFS"
"""The trace of figure 8."""


def run(context: Context) -> Outcome:
    """All figures from the same runs, except those of read scrubbing."""
    if context.instead:
        return against_rain.judged(Traced(context))
    results = Traced(context, also=windows.asked(context, (BURSTY,))).runs(SYSTEMS)
    scrubbed = scrubbing(context)
    outcome = against_rain.compared(context, results)
    figures = [
        *outcome.figures,
        *windows.figures(results, BURSTY, seconds=10),
        against_rain.distribution(results, BURSTY),
        *windows.figures(scrubbed, READ, seconds=20, scrubbing=True),
        against_rain.distribution(scrubbed, READ),
        against_rain.waits(results, BROKEN_DOWN),
    ]
    waiting = {
        f"waits for GC, {system}": results[system, BROKEN_DOWN]["time_of"]["read"]["wait_die_gc"]
        * 1e6
        / results[system, BROKEN_DOWN]["by_op"]["read"]["requests"]
        for system in (RAIN, AUTO)
    }
    return replace(outcome, figures=figures, discussed={**outcome.discussed, **waiting})


def scrubbing(context: Context) -> Runs:
    """The systems of figure 7 on drives whose earlier reads are those of section 4, so that read scrubbing runs."""
    reads = Drive(context).chapter["scrubbed_reads"]
    traced = Traced(context, also=windows.asked(context, (READ,)), reads_before=reads)
    return traced.runs(windows.WATCHED, [READ])
