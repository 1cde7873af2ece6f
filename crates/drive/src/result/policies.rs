//! Parts of a result that only drives with certain policies have, with time and without.

use super::us;
use crate::drive::Reading;
use serde_json::{json, Value};
use wordline_firmware::policy::redundancy::Stripe;
use wordline_firmware::policy::upkeep::{Leveling, Session};
use wordline_firmware::{Counters, Plan};

/// Adds the parts that a drive has.
pub(crate) fn add(document: &mut Value, plan: &Plan, reading: &Reading) {
    let counters = &reading.counters;
    if plan.has_map() {
        document["mapping_table"] = mapping_table(plan, counters);
    }
    if plan.logs.is_some() {
        document["log_blocks"] = log_blocks(counters);
        if plan.schedules_merges {
            document["scheduled_merges"] = scheduled_merges(counters);
        }
    }
    if let Some(told) = &reading.leveling {
        document["wear_leveling"] = leveling(told);
    }
    if !reading.of_guests.is_empty() {
        document["policy_figures"] = reading.of_guests.clone().into();
    }
    if let Some(stripe) = plan.stripe {
        document["superblocks"] = superblocks(stripe, counters);
    }
    if let Some(raid) = plan.raid {
        document["parity"] = parity(raid.dies, plan, counters);
    }
    if plan.slc.is_some() {
        document["slc"] = json!({"pages": counters.slc_pages, "blocks": reading.slc_blocks});
    }
}

/// Lookups of a drive that keeps its mapping table in flash.
fn mapping_table(plan: &Plan, counters: &Counters) -> Value {
    let (hit_rate, reads, writes) = counters.map_since(&Counters::default());
    let mut table = json!({
        "map_units": plan.map_units,
        "lookups": counters.map_lookups,
        "hits": counters.map_hits,
        "hit_rate": hit_rate,
        "reads": reads,
        "writes": writes,
    });
    if plan.zones.is_some() {
        table["zone_loads"] = counters.map_loads.into();
        table["zone_stores"] = counters.map_stores.into();
    }
    table
}

/// Merges of log blocks with logical blocks.
fn log_blocks(counters: &Counters) -> Value {
    let [switch, partial, full] = counters.merges;
    json!({
        "merges": counters.log_merges,
        "mean_us": (counters.log_merges > 0).then(|| us(counters.log_merge_time as f64) / counters.log_merges as f64),
        "switch_merges": switch,
        "partial_merges": partial,
        "full_merges": full,
    })
}

/// Threshold and sessions of lazy wear leveling.
fn leveling(told: &Leveling) -> Value {
    let each = |of: fn(&Session) -> f64| told.sessions.iter().map(of).collect::<Vec<f64>>();
    json!({
        "delta": told.delta,
        "gc_erases": told.gc_erases,
        "wear_erases": told.wear_erases,
        "overhead": (told.gc_erases > 0).then(|| told.wear_erases as f64 / told.gc_erases as f64),
        "sessions": {
            "delta": each(|session| session.delta),
            "overhead": each(|session| session.overhead),
            "stddev": each(|session| session.deviation),
        },
    })
}

/// Merges that the collect policy schedules over idle periods or divides into steps, by why they started.
fn scheduled_merges(counters: &Counters) -> Value {
    let [on_demand, look_ahead, proactive, retroactive, partial] = counters.merges_by_cause;
    json!({
        "on_demand": on_demand,
        "look_ahead": look_ahead,
        "proactive": proactive,
        "retroactive": retroactive,
        "partial": partial,
        "interruptions": counters.interruptions,
        "pressed": counters.pressed_merges,
        "delay_blocks": counters.delay_blocks,
    })
}

/// Superblocks, parity, and reads that were rebuilt from it.
fn superblocks(stripe: Stripe, counters: &Counters) -> Value {
    json!({
        "blocks": stripe.blocks(),
        "parity_pages": counters.parity_pages,
        "rebuilt_reads": counters.rebuilt_reads,
        "rebuilding_reads": counters.part_reads,
    })
}

/// Parity of logical pages, and reads that were rebuilt from it.
fn parity(pages: u32, plan: &Plan, counters: &Counters) -> Value {
    json!({
        "stripe_pages": pages,
        "programmed_pages": counters.parity_units as f64 / f64::from(plan.units_per_page),
        "reads": counters.parity_reads,
        "rebuilt_reads": counters.rebuilt_reads,
        "rebuilding_reads": counters.part_reads,
    })
}
