"""AutoSSD against Vanilla, RAIN and QoSFC under traces: figures 5 to 8 of kim18."""

from __future__ import annotations

from dataclasses import replace

from wordline.studies import against_rain, windows
from wordline.studies.autossd import AUTO, RAIN, SYSTEMS, Traced
from wordline.studies.context import Context
from wordline.studies.outcome import Outcome

BURSTY, READ = "RAD-AS", "LM-TBE"
"""The traces of figures 6 and 7."""
BROKEN_DOWN = "MSN-BEFS"
"""The trace of figure 8."""


def run(context: Context) -> Outcome:
    """All figures from the same runs."""
    results = Traced(context, also=windows.asked(context, (BURSTY, READ))).runs(SYSTEMS)
    outcome = against_rain.compared(context, results)
    figures = [
        *outcome.figures,
        *windows.figures(results, BURSTY, seconds=10),
        against_rain.distribution(results, BURSTY),
        *windows.figures(results, READ, seconds=20, scrubbing=True),
        against_rain.distribution(results, READ),
        against_rain.waits(results, BROKEN_DOWN),
    ]
    waiting = {
        f"waits for GC, {system}": results[system, BROKEN_DOWN]["time_of"]["read"]["wait_die_gc"]
        * 1e6
        / results[system, BROKEN_DOWN]["by_op"]["read"]["requests"]
        for system in (RAIN, AUTO)
    }
    return replace(outcome, figures=figures, discussed={**outcome.discussed, **waiting})
