"""GC that takes waiting host operations along, on dies of four planes: section 6.6 of choi18."""

from __future__ import annotations

from wordline.studies import parallel_gc as scheme
from wordline.studies.context import Context
from wordline.studies.outcome import Outcome
from wordline.studies.packages import mean, resolved
from wordline.studies.parallel_gc import BASELINE, OPS, PAR, PARALLEL, SYSTEMS, VIC, Drive

PLANES = 4


def run(context: Context) -> Outcome:
    """Caught requests and plane utilisation, as in figures 9 and 10."""
    drive = Drive(context, shape(context))
    gaps = drive.gaps()
    systems = (BASELINE, *PARALLEL)
    results = drive.runs(gaps, {it: SYSTEMS[it] for it in systems})
    volumes = list(gaps)
    values = {
        op: {(system, it): scheme.caught_ms(context, results, op, system, it) for system in systems for it in volumes}
        for op in OPS
    }
    by = {(op, it): mean(scheme.against(values[op], it, volumes)) - 100 for op in OPS for it in PARALLEL}
    used = {system: [scheme.utilisation(results[system, it]) for it in volumes] for system in systems}
    planes, reads = "choi18.four-planes", "choi18.four-planes-read-vic"
    published = context.published(planes)[0]
    return Outcome(
        measured={planes: [mean(used[it]) for it in PARALLEL], reads: by["read", VIC]},
        tables=[
            scheme.caught_table(volumes, values, "The mean change is the mean over the volumes."),
            scheme.company_table(volumes, results),
        ],
        figures=[
            scheme.planes_figure(volumes, used, planes, published),
            scheme.normalised(
                "caught-reads",
                "Response time of reads caught by GC",
                "Mean response times of reads that GC delayed, against the baseline.",
                volumes,
                values["read"],
                [(reads, VIC, context.published(reads)[0])],
            ),
        ],
        discussed={f"{op}s, {it}": value for (op, it), value in by.items()}
        | {f"{op}s along": 100 * mean(scheme.along(results, PAR, it, op) for it in volumes) for op in OPS}
        | {"rise": mean(used[PAR]) - mean(used[BASELINE]), "published rise": published - mean(used[BASELINE])},
    )


def shape(context: Context) -> dict[str, int]:
    """The geometry with four planes a die, in the same capacity."""
    geometry = resolved("choi18")["geometry"]
    key = {"blocks": "blocks_per_plane", "dies": "dies_per_package"}[context.choice("shape")]
    return {"planes_per_die": PLANES, key: geometry[key] * geometry["planes_per_die"] // PLANES}
