//! Packers, redundancies and deallocations from outside: whatever they decide, the data stay whole and the books right.

use crate::common::request;
use serde_json::{json, Map, Value};
use std::sync::Arc;
use wordline_base::{Op, Stream};
use wordline_drive::guests::{
    AroundView, Build, Class, Figures, GuestPack, GuestRedundancy, GuestTrim, Maker, Raid, Refusal, Tells,
};
use wordline_drive::load::load_with;
use wordline_drive::Drive;

/// Says yes to some questions, by their number.
#[derive(Clone, Debug)]
struct Fickle {
    asked: u64,
    /// Of so many questions, one is answered with no.
    period: u64,
    figures: Figures,
}

impl Fickle {
    fn next(&mut self) -> Result<bool, Refusal> {
        self.asked += 1;
        Ok(!self.asked.is_multiple_of(self.period))
    }
}

impl Tells for Fickle {}

impl GuestPack for Fickle {
    fn mixes(&self) -> bool {
        true
    }

    fn joins(&mut self, lead: Class, other: Class) -> Result<bool, Refusal> {
        assert!(lead.task() != other.task() && lead.action() == other.action());
        self.next()
    }

    fn fork(&self) -> Box<dyn GuestPack> {
        Box::new(self.clone())
    }
}

impl GuestRedundancy for Fickle {
    fn figures(&self) -> Figures {
        self.figures
    }

    fn goes_around(&mut self, view: &AroundView) -> Result<bool, Refusal> {
        assert!(view.wait > 0 || view.held);
        self.next()
    }

    fn fork(&self) -> Box<dyn GuestRedundancy> {
        Box::new(self.clone())
    }
}

impl GuestTrim for Fickle {
    fn invalidates(&mut self, _: u32, count: u32) -> Result<bool, Refusal> {
        assert!(count > 0);
        self.next()
    }

    fn fork(&self) -> Box<dyn GuestTrim> {
        Box::new(self.clone())
    }
}

#[derive(Debug)]
struct FickleMaker {
    family: &'static str,
    options: Map<String, Value>,
    fickle: Fickle,
}

impl Maker for FickleMaker {
    fn family(&self) -> &str {
        self.family
    }

    fn name(&self) -> &str {
        "fickle"
    }

    fn summary(&self) -> &str {
        "a guest"
    }

    fn options(&self) -> &Map<String, Value> {
        &self.options
    }

    fn pack(&self, _: &Map<String, Value>, _: &Build<'_>) -> Result<Box<dyn GuestPack>, String> {
        Ok(Box::new(self.fickle.clone()))
    }

    fn redundancy(&self, _: &Map<String, Value>, _: &Build<'_>) -> Result<Box<dyn GuestRedundancy>, String> {
        Ok(Box::new(self.fickle.clone()))
    }

    fn trim(&self, _: &Map<String, Value>, _: &Build<'_>) -> Result<Box<dyn GuestTrim>, String> {
        Ok(Box::new(self.fickle.clone()))
    }
}

fn fickle(family: &'static str, period: u64, figures: Figures) -> Arc<dyn Maker> {
    let options = match family {
        "pack" => json!({
            "window": {"type": "integer", "default": 8},
            "gather": {"type": "boolean", "default": false},
            "cache": {"type": "boolean", "default": false},
            "passes": {"type": "integer", "default": 16},
        }),
        _ => json!({}),
    };
    let options = options.as_object().cloned().unwrap_or_default();
    Arc::new(FickleMaker { family, options, fickle: Fickle { asked: 0, period, figures } })
}

const SHAPE: [&str; 9] = [
    "geometry.channels=2",
    "geometry.packages_per_channel=1",
    "geometry.dies_per_package=2",
    "geometry.planes_per_die=2",
    "geometry.blocks_per_plane=48",
    "geometry.pages_per_block=16",
    "precondition.fill=false",
    "precondition.overwrites=0",
    "verify.shadow=true",
];

/// Writes, reads and trims at random, with several under way; then all is recounted.
fn busy(sets: &[&str], guest: Arc<dyn Maker>) -> Drive {
    let policy = format!("{}.policy=fickle", guest.family());
    let sets: Vec<String> = SHAPE.iter().chain(sets).map(|set| (*set).to_owned()).chain([policy]).collect();
    let config = load_with("demo", &sets, &[guest]).unwrap_or_else(|error| panic!("{sets:?}: {error}")).0.value;
    let mut drive = Drive::new(&config, 7).expect("it is accepted");
    let (units, bytes) = (u64::from(drive.kernel().plan().logical_units), drive.kernel().plan().unit_bytes);
    let mut random = Stream::new(1, "company", 0);
    for at in 0..6 * units {
        while !drive.has_slot(0) {
            assert!(drive.step().unwrap_or_else(|fault| panic!("{sets:?}: {fault}")), "it has stopped: {sets:?}");
            drive.completions().clear();
        }
        let (op, unit) = match at {
            _ if at < units => (Op::Write, at),
            _ if at % 29 == 0 => (Op::Trim, random.below(units)),
            _ if at % 3 == 0 => (Op::Read, random.below(units)),
            _ => (Op::Write, random.below(units)),
        };
        drive.submit(drive.now(), request(op, unit * u64::from(bytes), bytes)).expect("a slot is free");
    }
    drive.drain().unwrap_or_else(|fault| panic!("{sets:?}: {fault}"));
    drive.kernel().audit().unwrap_or_else(|problem| panic!("{sets:?}: {problem}"));
    drive
}

const OF_DRIVE: [&str; 3] = ["collect.scope=drive", "placement.policy=least-busy", "capacity.raw_over_logical=1.5"];
const OF_PLANE: [&str; 3] = ["collect.scope=plane", "placement.policy=static", "capacity.raw_over_logical=1.5"];
/// With a page of parity for each page of data.
const MIRRORED: [&str; 3] = ["collect.scope=drive", "placement.policy=least-busy", "capacity.raw_over_logical=2.7"];
const MIRRORED_BY_PLANE: [&str; 3] =
    ["collect.scope=plane", "placement.policy=static", "capacity.raw_over_logical=2.7"];
/// With one for three.
const PROTECTED: [&str; 3] = ["collect.scope=drive", "placement.policy=least-busy", "capacity.raw_over_logical=2.0"];

#[test]
fn commands_of_any_two_tasks_are_whole() {
    let mut shared = 0;
    for (base, more) in [
        (OF_DRIVE, &["mapping.unit_kib=4"][..]),
        (OF_DRIVE, &["mapping.unit_kib=4", "buffer.policy=fifo", "buffer.capacity_kib=256", "pack.gather=true"]),
        (OF_DRIVE, &["mapping.policy=cached", "mapping.unit_kib=4", "mapping.cache_kib=64"]),
        (OF_DRIVE, &["mapping.policy=block"]),
        (MIRRORED, &["redundancy.policy=rain", "redundancy.dies=2", "mapping.unit_kib=4"]),
        (OF_DRIVE, &["dispatch.policy=priority", "mapping.unit_kib=4"]),
        (OF_DRIVE, &["refresh.policy=scrub", "refresh.start_reads=30", "refresh.stop_reads=20", "wear.policy=static"]),
        (OF_PLANE, &["mapping.unit_kib=4", "collect.into=shared-block"]),
        (OF_PLANE, &["mapping.unit_kib=4", "collect.into=paired-blocks"]),
        (OF_PLANE, &["collect.hold_below_blocks=4", "collect.copyback=internal"]),
        (MIRRORED_BY_PLANE, &["redundancy.policy=ttflash", "redundancy.dies=2", "mapping.unit_kib=4"]),
        (OF_PLANE, &["slc.policy=dynamic", "nand.slc_read_us=25", "nand.slc_program_us=200", "mapping.unit_kib=4"]),
        (
            OF_PLANE,
            &["nand.reliability.program_fail=0.01", "nand.reliability.endurance=30", "capacity.replacement_blocks=4"],
        ),
    ] {
        for period in [2, 3, u64::MAX] {
            let drive = busy(&[&base, more].concat(), fickle("pack", period, Figures::default()));
            shared += u32::from(drive.kernel().counters().joined.iter().sum::<u64>() > 0);
        }
    }
    assert!(shared > 20, "commands were shared in {shared} of 39 cases");
}

#[test]
fn any_read_that_can_be_rebuilt_may_be() {
    let superblock = Figures { superblock: Some((2, true)), has_ways_around: true, ..Figures::default() };
    let in_turn = Figures { superblock: Some((4, true)), erases_in_turn: true, ..superblock };
    let raid = Figures { raid: Some(Raid { dies: 2, open: 8 }), has_ways_around: true, ..Figures::default() };
    let turns = Figures { collects_in_turn: true, ..raid };
    let mut rebuilt = 0;
    for (base, figures, more) in [
        (MIRRORED, superblock, &["mapping.unit_kib=4"][..]),
        (PROTECTED, in_turn, &["pack.policy=planes", "pack.join_gc=true"]),
        (PROTECTED, in_turn, &["dispatch.policy=one-queue"]),
        (MIRRORED_BY_PLANE, raid, &["mapping.unit_kib=4"]),
        (MIRRORED_BY_PLANE, turns, &["collect.hold_below_blocks=4"]),
    ] {
        for period in [2, u64::MAX] {
            let drive = busy(&[&base, more].concat(), fickle("redundancy", period, figures));
            rebuilt += u32::from(drive.kernel().counters().rebuilt_reads > 0);
        }
    }
    assert!(rebuilt > 5, "reads were rebuilt in {rebuilt} of 10 cases");
}

#[test]
fn any_deallocation_may_be_ignored() {
    for more in
        [&["mapping.unit_kib=4", "buffer.policy=fifo", "buffer.capacity_kib=256"][..], &["mapping.policy=block"]]
    {
        busy(&[&OF_DRIVE, more].concat(), fickle("trim", 2, Figures::default()));
    }
}
