"""Block migration within a package, in six modes."""

from __future__ import annotations

from wordline.studies.context import Context
from wordline.studies.outcome import Lines, Outcome, Published, Stack, Table
from wordline.studies.packages import STAGES, above, gain, mean

SLOW = ("legacy", "cache", "2x")
FAST = ("2x-cache", "internal", "2x-internal")
MODES = (*SLOW, *FAST)
BLOCKS = (2, 4, 8, 16, 32)
REGISTER_STAGES = ("tor", "tir")


def run(context: Context) -> Outcome:
    """Time, energy and stages of every mode and number of blocks."""
    chapter = context.chapter()
    compared, against, alike = (context.choice(key) for key in ("compared", "against", "alike"))
    results = context.packages(
        {
            (mode, blocks): chapter.experiment(
                {"kind": "migrate", "mode": mode, "blocks": blocks},
                host={
                    "planes_per_command": 2 if mode.startswith("2x") else 1,
                    "cache": mode.endswith("cache"),
                    "queue_depth": chapter.application_depth,
                },
            )
            for mode in MODES
            for blocks in BLOCKS
        }
    )
    most = BLOCKS[-1]
    took_s = {key: result["simulated_s"] for key, result in results.items()}
    energy = {key: result["energy_j"]["total"] for key, result in results.items()}
    stages = {mode: results[mode, most]["stages_us"] for mode in MODES}
    on_registers = {mode: sum(stages[mode][stage] for stage in REGISTER_STAGES) for mode in MODES}
    spread = {
        blocks: gain(max(energy[mode, blocks] for mode in MODES), min(energy[mode, blocks] for mode in MODES))
        for blocks in BLOCKS
    }
    slow = SLOW if against == "slow" else (against,)
    slow_ms = 1000 * mean(took_s[it, compared] for it in slow)
    expected_ms = above(slow_ms, context.published("jung13.migration-speed")[0])
    pages = most * chapter.shape("MLC1")["pages_per_block"]

    def against_legacy(mode: str) -> float:
        """Time of a mode over legacy mode, in percent, with the most blocks."""
        return gain(took_s[mode, most], took_s["legacy", most])

    def a_page_us(*of: str) -> float:
        """The mean time of a page in stages of legacy mode."""
        return sum(stages["legacy"][stage] for stage in of) / pages

    return Outcome(
        measured={
            "jung13.migration-speed": gain(
                mean(took_s[it, compared] for it in FAST), mean(took_s[it, compared] for it in slow)
            ),
            "jung13.migration-energy": {f"{blocks} blocks": spread[blocks] <= alike for blocks in BLOCKS},
            "jung13.migration-no-registers": {
                mode: (on_registers[mode] == 0) == mode.endswith("internal") for mode in MODES
            },
        },
        tables=[
            Table(
                "Time, ms",
                ("mode", *(f"{blocks} blocks" for blocks in BLOCKS), f"against legacy, {most} blocks, %"),
                [
                    (
                        mode,
                        *(1000 * took_s[mode, blocks] for blocks in BLOCKS),
                        against_legacy(mode),
                    )
                    for mode in MODES
                ],
            ),
            Table(
                "Energy, mJ",
                ("mode", *(f"{blocks} blocks" for blocks in BLOCKS)),
                [
                    *((mode, *(1000 * energy[mode, blocks] for blocks in BLOCKS)) for mode in MODES),
                    ("highest over lowest, %", *(spread[blocks] for blocks in BLOCKS)),
                ],
            ),
            Table(
                f"Energy by part, {most} blocks, mJ",
                ("mode", "cells", "bus", "standby"),
                [
                    (mode, *(1000 * results[mode, most]["energy_j"][part] for part in ("cells", "bus", "standby")))
                    for mode in MODES
                ],
            ),
            Table(
                f"Time in each stage, {most} blocks, ms",
                ("mode", *map(str.upper, STAGES)),
                [(mode, *(stages[mode][stage] / 1000 for stage in STAGES)) for mode in MODES],
            ),
        ],
        figures=[
            Lines(
                "time",
                "Time of a migration",
                "Time by number of blocks: internal data move on two planes is the fastest.",
                "blocks",
                "ms",
                [str(blocks) for blocks in BLOCKS],
                {mode: [1000 * took_s[mode, blocks] for blocks in BLOCKS] for mode in MODES},
                [
                    Published(
                        "jung13.migration-speed",
                        f"published mean of {', '.join(FAST)}, relative to {', '.join(slow)} as measured",
                        BLOCKS.index(compared),
                        expected_ms,
                        expected_ms,
                    )
                ],
            ),
            Stack(
                "stages",
                f"Time in each stage, {most} blocks",
                "Time in each stage by mode; internal modes have neither TOR nor TIR.",
                "ms",
                list(MODES),
                {
                    stage.upper(): [stages[mode][stage] / 1000 for mode in MODES]
                    for stage in STAGES
                    if any(stages[mode][stage] for mode in MODES)
                },
            ),
        ],
        discussed={f"saved, {mode}": -against_legacy(mode) for mode in MODES if mode != "legacy"}
        | {
            "energy apart, most": max(spread.values()),
            "page read": a_page_us("ton"),
            "page on the bus": a_page_us(*REGISTER_STAGES),
            "page programmed": a_page_us("tin"),
        },
    )
