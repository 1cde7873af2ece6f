//! Guest: an external host interface.
//!
//! Source: whoever wrote it.
//! Faithful: the times that it gives, asked for once, when the drive is built; and, if it says so, that of each transfer, asked for before
//! it begins. Simplified: by its costs, data take a fixed time, and their bytes and those around each packet the line rate, as with `nvme`
//! and `sata`. What is transferred goes in the order of coming, whatever the policy says.

use super::{Link, LinkCosts, Transfer};
use serde::{Deserialize, Serialize};
use wordline_base::Time;
use wordline_firmware::policy::{Build, Carrier, GuestLink, GuestOptions};
use wordline_firmware::ConfigError;

/// The section of a guest.
pub type Options = GuestOptions;

/// The longest fixed time: a second.
const LONGEST: Time = 1_000_000_000_000;
/// The largest packet, in bytes.
const MOST_PACKET: u32 = 1 << 24;
/// The slowest line, in picoseconds for a byte: 1 MB/s.
const SLOWEST: u64 = 1_000_000;
/// The largest fraction of picoseconds and bytes: the time of the longest transfer fits into 64 bits.
const MOST_FRACTION: u64 = 1 << 30;
/// The longest queue, and the most queues, that a drive can have.
const MOST: u32 = 65_535;

/// What an external host interface says when it is built.
#[derive(Debug)]
pub struct Figures {
    /// Its transfer times.
    pub costs: LinkCosts,
    /// Who says how long each transfer takes, if anybody does.
    pub carrier: Option<Box<dyn GuestLink>>,
}

/// An external host interface.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Guest {
    costs: LinkCosts,
    #[serde(skip)]
    carrier: Option<Carrier>,
}

impl Guest {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let error = |problem: String| options.error("link", problem);
        let figures = options.maker("link")?.figures(&options.options, build).map_err(error)?;
        let figures = figures.downcast::<Figures>().map_err(|_| error("it gives no transfer times".into()))?;
        let Figures { costs, carrier } = *figures;
        match problem(&costs) {
            Some(problem) => Err(error(problem)),
            None => Ok(Self { costs, carrier: carrier.map(|carrier| Carrier::new(&options.policy, carrier)) }),
        }
    }

    /// Who says how long each transfer takes, if anybody does.
    pub(crate) fn into_carrier(self) -> Option<Carrier> {
        self.carrier
    }
}

/// What is wrong with transfer times, if anything.
fn problem(costs: &LinkCosts) -> Option<String> {
    let us = |time: Time| time as f64 / 1e6;
    let fixed = [
        ("command_us", costs.command),
        ("latency_us", costs.latency),
        ("completion_us", costs.completion),
        ("data_in.fixed_us", costs.data_in.fixed),
        ("data_out.fixed_us", costs.data_out.fixed),
    ];
    if let Some((name, time)) = fixed.into_iter().find(|&(_, time)| time > LONGEST) {
        return Some(format!("its {name} is {}: must lie between 0 and 1,000,000", us(time)));
    }
    for (name, data) in [("data_in", &costs.data_in), ("data_out", &costs.data_out)] {
        let Transfer { packet_bytes, packet_overhead, picoseconds, per, .. } = *data;
        if !(1..=MOST_PACKET).contains(&packet_bytes) {
            return Some(format!("its {name}.packet_bytes is {packet_bytes}: must lie between 1 and {MOST_PACKET}"));
        }
        if packet_overhead > packet_bytes {
            return Some(format!("its {name}.packet_overhead is {packet_overhead}: must be at most packet_bytes"));
        }
        let fits = |number: u64| (1..=MOST_FRACTION).contains(&number);
        if !fits(picoseconds) || !fits(per) || picoseconds > SLOWEST * per || per > 10 * picoseconds {
            return Some(format!("its {name}.mb_per_s must lie between 1 and 10,000,000"));
        }
    }
    if !(1..=MOST).contains(&costs.most_queues) {
        return Some(format!("its most_queues is {}: must lie between 1 and {MOST}", costs.most_queues));
    }
    if !(1..=MOST).contains(&costs.most_depth) {
        return Some(format!("its most_depth is {}: must lie between 1 and {MOST}", costs.most_depth));
    }
    if !(1..=costs.most_depth).contains(&costs.usual_depth) {
        let (depth, most) = (costs.usual_depth, costs.most_depth);
        return Some(format!("its usual_depth is {depth}: must lie between 1 and most_depth, {most}"));
    }
    None
}

impl Link for Guest {
    fn costs(&self) -> LinkCosts {
        self.costs
    }
}
