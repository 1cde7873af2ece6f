//! Write amplification under uniform random writes against the closed forms.
//!
//! The drive writes single logical pages at random until it is in steady state, untimed, with GC over the whole drive.
//! Its geometry makes effects outside the formulas small: thousands of blocks, and one plane, so that two blocks are
//! open (host and GC). A victim is chosen when the host opens a block and fewer than two are free then, so with one
//! block free: together three blocks that cannot be victims.

use crate::common::{config, long};
use wordline_drive::config::PreconditionConfig;
use wordline_drive::precondition::precondition;
use wordline_drive::{Drive, DriveConfig};
use wordline_theory as theory;

const PAGES: u32 = 64;
const RATIOS: [f64; 4] = [1.075, 1.15, 1.28, 1.5];

fn text(shape: &str, placement: &str, scope: &str, victim: &str, ratio: f64) -> DriveConfig {
    config(&format!(
        r#"
        geometry = {{ {shape}, pages_per_block = {PAGES}, page_kib = 16 }}
        nand = {{ read_us = 20.0, program_us = 100.0, erase_us = 1000.0 }}
        capacity = {{ raw_over_logical = {ratio} }}
        placement = {{ policy = "{placement}" }}
        collect = {{ policy = "on-demand", scope = "{scope}", reserve_blocks = 1, start_blocks = 2 }}
        victim = {{ {victim} }}
        arbiter = {{ policy = "priority" }}
        buffer = {{ policy = "none" }}
        link = {{ policy = "nvme" }}
        queue = {{ queues = 1, depth = 64 }}
        "#
    ))
}

/// Write amplification in steady state, over `measured` times the capacity, after the fill and `before` times.
fn measure(config: &DriveConfig, seed: u64, before: f64, measured: f64, timed: bool) -> f64 {
    let mut drive = Drive::new(config, seed).expect("accepted");
    let age = PreconditionConfig { fill: true, overwrites: before, ..PreconditionConfig::default() };
    precondition(&mut drive, &age, seed, &mut |_| true).expect("no rule is broken");
    let go_on = PreconditionConfig { overwrites: measured, timed, ..PreconditionConfig::default() };
    let done = precondition(&mut drive, &go_on, seed + 1, &mut |_| true).expect("no rule is broken");
    drive.kernel().audit().expect("the books balance");
    done.write_amplification.expect("there were writes")
}

/// Raw over logical capacity as in the formulas, with `reserved` blocks that cannot be victims.
fn alpha(config: &DriveConfig, reserved: u64) -> f64 {
    let plan = *Drive::new(config, 1).expect("accepted").kernel().plan();
    let blocks = u64::from(plan.raw_units / plan.units_per_block);
    theory::spare_ratio(blocks, reserved, plan.units_per_block, u64::from(plan.logical_units))
        .expect("there is spare space")
}

/// A random block among those that are not full, as in the simulated policy: a draw without gain is repeated.
/// [`theory::random`] draws full blocks too, and moves them without gain.
///
/// Let a page be overwritten at rate 1, and a block that is not full be drawn at rate `r`. Between two draws a block is
/// full for `1 / b` on average, loses a page, and then lives for another `1 / r`; its valid pages add up to
/// `b / b + (b - 1) / (1 + r)` over that time. Their mean over time is `b / alpha`:
///
/// ```text
/// (1 + (b - 1) / (1 + r)) / (1 / b + 1 / r) = b / alpha    =>    r = 1 / (alpha - 1)
/// ```
///
/// A block is rewritten once in `1 / b + 1 / r` with `b` pages, while the host writes `b / alpha` pages per unit of
/// time: write amplification is `alpha / (alpha - 1 + 1 / b)`, and without repeated draws `alpha / (alpha - 1)`.
fn random_with_gain(alpha: f64, b: f64) -> f64 {
    let found = alpha / (alpha - 1.0 + 1.0 / b);
    assert!(found < theory::random(alpha).unwrap());
    found
}

type Formula = fn(f64) -> f64;

const VICTIMS: [(&str, &str, Formula); 4] = [
    ("greedy", "policy = \"greedy\"", |alpha| theory::greedy(alpha, PAGES).unwrap()),
    ("fifo", "policy = \"fifo\"", |alpha| theory::fifo(alpha).unwrap()),
    ("best of 10", "policy = \"best-of\", d = 10", |alpha| theory::best_of_d(alpha, PAGES, 10).unwrap()),
    ("random", "policy = \"random\"", |alpha| random_with_gain(alpha, f64::from(PAGES))),
];

#[test]
fn write_amplification_follows_the_closed_forms() {
    let blocks = if long() { 16_384 } else { 2_048 };
    let shape = format!(
        "channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1, blocks_per_plane = {blocks}"
    );
    println!("{:<12}{:>12}{:>12}{:>12}{:>12}", "victim", "raw/logical", "formula", "simulated", "difference");
    let mut worst: f64 = 0.0;
    for (name, victim, formula) in VICTIMS {
        for ratio in RATIOS {
            let config = text(&shape, "least-busy", "drive", victim, ratio);
            let expected = formula(alpha(&config, 3));
            let found = measure(&config, 1, 1.5, 1.0, false);
            let difference = found / expected - 1.0;
            println!("{name:<12}{ratio:>12.3}{expected:>12.4}{found:>12.4}{:>11.2}%", 100.0 * difference);
            worst = worst.max(difference.abs());
        }
    }
    assert!(worst < 0.03, "the formulas are missed by up to {:.1} %", 100.0 * worst);
}

/// GC plane by plane costs more than GC over the drive: a plane has fewer blocks to choose from, the planes do not fill
/// evenly, and each keeps a block free where the drive needs one in all. The number of open blocks is the same.
#[test]
fn plane_local_collection_costs_more() {
    let shape =
        "channels = 2, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 2, blocks_per_plane = 256";
    println!("{:<12}{:>12}{:>14}{:>20}{:>20}", "victim", "raw/logical", "drive", "plane, least-busy", "plane, static");
    let best_of = VICTIMS[2];
    for (name, victim, _) in [VICTIMS[0], VICTIMS[1], best_of] {
        for ratio in RATIOS.into_iter().step_by(if long() { 1 } else { 2 }) {
            let [drive, plane, fixed] = [("least-busy", "drive"), ("least-busy", "plane"), ("static", "plane")]
                .map(|(placement, scope)| measure(&text(shape, placement, scope, victim, ratio), 1, 1.5, 1.0, false));
            let more = |value: f64| format!("{value:.3} ({:+.1} %)", 100.0 * (value / drive - 1.0));
            println!("{name:<12}{ratio:>12.3}{drive:>14.3}{:>20}{:>20}", more(plane), more(fixed));
            assert!(plane > 0.99 * drive, "{name} {ratio}: plane by plane {plane}, over the drive {drive}");
            assert!(fixed > 0.99 * drive, "{name} {ratio}: plane by plane {fixed}, over the drive {drive}");
        }
    }
}

/// Timing changes nothing: 64 writes in flight, GC at its own pace.
#[test]
fn timed_runs_agree() {
    let shape =
        "channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1, blocks_per_plane = 2048";
    for (name, victim, formula) in [VICTIMS[0], VICTIMS[1]] {
        let config = text(shape, "least-busy", "drive", victim, 1.28);
        let (untimed, timed) = (measure(&config, 1, 1.5, 0.7, false), measure(&config, 1, 1.5, 0.7, true));
        let expected = formula(alpha(&config, 3));
        println!("{name}: formula {expected:.4}, untimed {untimed:.4}, timed {timed:.4}");
        assert!((timed / untimed - 1.0).abs() < 0.03, "{name}: timed {timed}, untimed {untimed}");
        assert!((timed / expected - 1.0).abs() < 0.03, "{name}: timed {timed}, formula {expected}");
    }
}

/// A block of 64 pages with four logical pages each is like a block of 256 small pages: the rest of a victim shares
/// pages with the next one, so almost nothing is padded. One more block cannot be a victim: the one whose last logical
/// pages wait.
#[test]
fn small_units_follow_the_closed_form_of_large_blocks() {
    let shape =
        "channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1, blocks_per_plane = 1024";
    for ratio in [1.15, 1.28] {
        let mut config = text(shape, "least-busy", "drive", "policy = \"greedy\"", ratio);
        config.firmware.mapping = serde_json::from_str(r#"{"policy": "page", "unit_kib": 4}"#).expect("legal");
        let expected = theory::greedy(alpha(&config, 4), 4 * PAGES).unwrap();
        let mut drive = Drive::new(&config, 1).expect("accepted");
        let age = PreconditionConfig { fill: true, overwrites: 1.5, ..PreconditionConfig::default() };
        precondition(&mut drive, &age, 1, &mut |_| true).expect("no rule is broken");
        let before = *drive.kernel().counters();
        let go_on = PreconditionConfig { overwrites: 1.0, ..PreconditionConfig::default() };
        let done = precondition(&mut drive, &go_on, 2, &mut |_| true).expect("no rule is broken");
        let found = done.write_amplification.expect("there were writes");
        let after = drive.kernel().counters();
        let padded = (after.padded_units - before.padded_units) as f64;
        let moved = (after.moved_units() - before.moved_units()) as f64;
        println!(
            "{ratio}: formula {expected:.4}, simulated {found:.4}; padded {:.4} % of what moved",
            100.0 * padded / moved
        );
        assert!((found / expected - 1.0).abs() < 0.015, "{ratio}: {found}, by the formula {expected}");
        // With one block in reserve there is not always space for a second victim: then the last logical pages get
        // their own page.
        assert!(padded < 2e-3 * moved, "{padded} units were padded, {moved} moved");
    }
}
