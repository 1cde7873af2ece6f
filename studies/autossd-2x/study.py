"""AutoSSD against Vanilla, RAIN and QoSFC at twice the intensity: figures 10 and 11 of kim18."""

from __future__ import annotations

from dataclasses import replace

from wordline.studies import against_rain, windows
from wordline.studies.autossd import SYSTEMS, Traced
from wordline.studies.context import Context
from wordline.studies.outcome import Outcome

SHOWN = "DTRS"
"""The trace of figure 11."""


def run(context: Context) -> Outcome:
    """All figures from the same runs."""
    if context.instead:
        return against_rain.judged(Traced(context, faster=2), "-2x")
    results = Traced(context, faster=2, also=windows.asked(context, (SHOWN,))).runs(SYSTEMS)
    outcome = against_rain.compared(context, results, "-2x")
    window = windows.figures(results, SHOWN, seconds=20)
    return replace(outcome, figures=[*outcome.figures, *window, against_rain.distribution(results, SHOWN)])
