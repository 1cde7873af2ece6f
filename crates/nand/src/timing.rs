//! The times of a package: the chains of [`crate::chain`] priced with the mode of its interface.

use crate::chain::{self, Cycle, Segment};
use crate::config::{NandConfig, PageOrder};
use crate::interface::Mode;
use serde::{Deserialize, Serialize};
use wordline_base::{ps_from_us, Time};

/// Most page classes (bits a cell).
pub const MAX_CLASSES: usize = 4;
/// Distance of the page sets of jung13 (section 2.7.2: "typically 2 or 4").
const LAMBDA_ALPHA: u32 = 2;
const LAMBDA_BETA: u32 = 4;

/// A use of the bus: a fixed part and a part for each cycle of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusTime {
    fixed: Time,
    cycle: Time,
    bytes_per_cycle: u32,
}

impl BusTime {
    /// Duration with `bytes` of data, in picoseconds.
    #[inline]
    #[must_use]
    pub fn with(&self, bytes: u32) -> Time {
        // Interfaces move one or two bytes a cycle, so a shift divides.
        self.fixed + Time::from((bytes + self.bytes_per_cycle - 1) >> (self.bytes_per_cycle - 1)) * self.cycle
    }
}

/// All times of a package, in picoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Address of the only or last plane of a read.
    pub read: BusTime,
    /// Address of an earlier plane of a multi-plane read.
    pub read_queue: BusTime,
    /// Data out of a single-plane read.
    pub read_out: BusTime,
    /// Data out of one plane of a multi-plane read.
    pub read_out_plane: BusTime,
    /// Address and data of the only or last plane of a program.
    pub program: BusTime,
    /// Address and data of an earlier plane of a multi-plane program.
    pub program_queue: BusTime,
    /// Address of the only or last plane of an erase.
    pub erase: BusTime,
    /// Address of an earlier plane of a multi-plane erase.
    pub erase_queue: BusTime,
    /// tDBSY.
    pub t_dbsy: Time,
    /// tBERS.
    pub t_bers: Time,
    t_r: [Time; MAX_CLASSES],
    t_prog: [Time; MAX_CLASSES],
    class_of_page: Vec<u8>,
}

/// Why a `[nand]` section cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{key} = {value}: {problem}")]
pub struct TimingError {
    /// Key within the section.
    pub key: &'static str,
    /// What was given.
    pub value: String,
    /// What is wrong, and what would be right.
    pub problem: String,
}

fn price(segment: &Segment, mode: &Mode, config: &NandConfig) -> BusTime {
    let mut time = BusTime { fixed: 0, cycle: 0, bytes_per_cycle: mode.bytes_per_cycle };
    for cycle in segment.cycles {
        match cycle {
            Cycle::Command(_) => time.fixed += mode.latch_cycle,
            Cycle::PageAddress => time.fixed += mode.latch_cycle * Time::from(config.page_address_cycles),
            Cycle::BlockAddress => time.fixed += mode.latch_cycle * Time::from(config.block_address_cycles),
            Cycle::DataIn => time.cycle = mode.write_cycle,
            Cycle::DataOut => time.cycle = mode.read_cycle,
            Cycle::Tadl => time.fixed += mode.t_adl,
            Cycle::Twb => time.fixed += mode.t_wb,
            Cycle::Trr => time.fixed += mode.t_rr,
            Cycle::Tccs => time.fixed += mode.t_ccs,
        }
    }
    time
}

/// The class of every page of a block.
fn classes(order: PageOrder, pages: u32, count: usize) -> Vec<u8> {
    let set = |lambda: u32, ends: u32, run: u32| {
        // A page is LSB at the ends of the block, or where its distance from the start falls into the run of an LSB pair.
        (0..pages).map(|n| u8::from(!(n < ends || n >= pages - ends || n % lambda < run))).collect()
    };
    match order {
        PageOrder::Cyclic => (0..pages).map(|n| (n as usize % count) as u8).collect(),
        PageOrder::Alpha => set(LAMBDA_ALPHA, 2.min(pages / 2), 1),
        PageOrder::Beta => set(LAMBDA_BETA, LAMBDA_BETA.min(pages / 2), 2),
    }
}

/// Values as the user wrote them: a lone one without brackets.
fn shown(values: &[f64]) -> String {
    match values {
        [value] => value.to_string(),
        _ => format!("{values:?}"),
    }
}

fn class_times(key: &'static str, values: &[f64]) -> Result<[Time; MAX_CLASSES], TimingError> {
    let wrong = |problem: &str| TimingError { key, value: shown(values), problem: problem.into() };
    if values.is_empty() || values.len() > MAX_CLASSES {
        return Err(wrong("give one value, or one for each page class (2 for MLC, 3 for TLC, 4 for QLC)"));
    }
    if values.iter().any(|&us| !(0.001..=1e6).contains(&us)) {
        return Err(wrong("each must lie between 0.001 and 1,000,000 microseconds"));
    }
    let mut times = [ps_from_us(values[0]); MAX_CLASSES];
    for (time, &us) in times.iter_mut().zip(values) {
        *time = ps_from_us(us);
    }
    Ok(times)
}

fn one_time(key: &'static str, us: f64) -> Result<Time, TimingError> {
    if (0.0..=1e6).contains(&us) {
        return Ok(ps_from_us(us));
    }
    Err(TimingError { key, value: us.to_string(), problem: "must lie between 0 and 1,000,000 microseconds".into() })
}

impl Timing {
    /// Prices the chains for a configuration and a block of `pages_per_block` pages.
    ///
    /// # Errors
    /// Names the key, its value and the valid choices when the section cannot be used.
    pub fn new(config: &NandConfig, pages_per_block: u32) -> Result<Self, TimingError> {
        let mode = config.interface.mode(config.rate_mt_s).ok_or_else(|| {
            let rates: Vec<String> = config.interface.modes().iter().map(|m| m.rate_mt_s.to_string()).collect();
            TimingError {
                key: "rate_mt_s",
                value: config.rate_mt_s.to_string(),
                problem: format!("{} has the rates {}", config.interface.name(), rates.join(", ")),
            }
        })?;
        let (reads, programs) = (config.read_us.values(), config.program_us.values());
        let count = reads.len().max(programs.len());
        if reads.len() != programs.len() && reads.len() != 1 && programs.len() != 1 {
            return Err(TimingError {
                key: "program_us",
                value: format!("{programs:?}"),
                problem: format!("has {} page classes but read_us has {}", programs.len(), reads.len()),
            });
        }
        if config.page_order != PageOrder::Cyclic && count != 2 {
            return Err(TimingError {
                key: "page_order",
                value: format!("{:?}", config.page_order).to_lowercase(),
                problem: format!("needs two page classes (LSB, MSB), but {count} are given; write 'cyclic'"),
            });
        }
        for (key, value) in
            [("page_address_cycles", config.page_address_cycles), ("block_address_cycles", config.block_address_cycles)]
        {
            if !(1..=8).contains(&value) {
                return Err(TimingError { key, value: value.to_string(), problem: "must lie between 1 and 8".into() });
            }
        }
        let price = |segment: &Segment| price(segment, &mode, config);
        Ok(Self {
            read: price(&chain::READ),
            read_queue: price(&chain::READ_QUEUE),
            read_out: price(&chain::READ_OUT),
            read_out_plane: price(&chain::READ_OUT_PLANE),
            program: price(&chain::PROGRAM),
            program_queue: price(&chain::PROGRAM_QUEUE),
            erase: price(&chain::ERASE),
            erase_queue: price(&chain::ERASE_QUEUE),
            t_dbsy: one_time("dummy_busy_us", config.dummy_busy_us)?,
            t_bers: one_time("erase_us", config.erase_us)?,
            t_r: class_times("read_us", &reads)?,
            t_prog: class_times("program_us", &programs)?,
            class_of_page: classes(config.page_order, pages_per_block, count),
        })
    }

    /// The class of a page offset, 0 the fastest.
    #[inline]
    #[must_use]
    pub fn class(&self, page: u32) -> usize {
        usize::from(self.class_of_page[page as usize])
    }

    /// tR of a page offset.
    #[inline]
    #[must_use]
    pub fn t_r(&self, page: u32) -> Time {
        self.t_r[self.class(page) & (MAX_CLASSES - 1)]
    }

    /// tPROG of a page offset.
    #[inline]
    #[must_use]
    pub fn t_prog(&self, page: u32) -> Time {
        self.t_prog[self.class(page) & (MAX_CLASSES - 1)]
    }

    /// Mean tPROG over the pages of a block, for formulas.
    #[must_use]
    pub fn mean_t_prog(&self) -> f64 {
        let pages = self.class_of_page.len() as u32;
        (0..pages).map(|page| self.t_prog(page) as f64).sum::<f64>() / f64::from(pages)
    }

    /// Mean tR over the pages of a block, for formulas.
    #[must_use]
    pub fn mean_t_r(&self) -> f64 {
        let pages = self.class_of_page.len() as u32;
        (0..pages).map(|page| self.t_r(page) as f64).sum::<f64>() / f64::from(pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ByClass;
    use crate::interface::Interface;

    #[test]
    fn chains_add_up_by_hand_on_sdr_mode_5() {
        let config = NandConfig { interface: Interface::Sdr, rate_mt_s: 50, ..NandConfig::default() };
        let timing = Timing::new(&config, 64).unwrap();
        // 00h + 5 address cycles + 30h at tWC = 20 ns, then tWB = 100 ns.
        assert_eq!(timing.read.with(0), 240_000);
        // tRR = 20 ns, then 2,048 bytes at tRC = 20 ns.
        assert_eq!(timing.read_out.with(2_048), 20_000 + 40_960_000);
        // 80h + 5 address cycles, tADL = 70 ns, 2,048 bytes, 10h, tWB.
        assert_eq!(timing.program.with(2_048), 120_000 + 70_000 + 40_960_000 + 20_000 + 100_000);
        // 60h + 3 address cycles + D0h, tWB.
        assert_eq!(timing.erase.with(0), 200_000);
        // 06h + 5 address cycles + E0h, tCCS = 200 ns, data.
        assert_eq!(timing.read_out_plane.with(512), 140_000 + 200_000 + 10_240_000);
    }

    #[test]
    fn double_data_rate_moves_pairs() {
        let timing = Timing::new(&NandConfig::default(), 64).unwrap();
        // NV-DDR3 at 800 MT/s: 2.5 ns a pair; commands and addresses 25 ns each; tADL 150 ns.
        assert_eq!(timing.read_out.with(16_384), 20_000 + 8_192 * 2_500);
        assert_eq!(timing.read_out.with(3), timing.read_out.with(4));
        assert_eq!(timing.program.with(16_384), 6 * 25_000 + 150_000 + 8_192 * 2_500 + 25_000 + 100_000);
    }

    #[test]
    fn page_sets_follow_their_definitions() {
        let config = NandConfig {
            program_us: ByClass::Each(vec![250.0, 2_200.0]),
            page_order: PageOrder::Alpha,
            ..NandConfig::default()
        };
        let timing = Timing::new(&config, 8).unwrap();
        assert_eq!((0..8).map(|p| timing.class(p)).collect::<Vec<_>>(), [0, 0, 0, 1, 0, 1, 0, 0]);
        let timing = Timing::new(&NandConfig { page_order: PageOrder::Beta, ..config }, 16).unwrap();
        let classes: Vec<_> = (0..16).map(|p| timing.class(p)).collect();
        assert_eq!(classes, [0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0]);
        assert_eq!(timing.t_prog(6), 2_200_000_000);
        assert_eq!(timing.t_r(6), timing.t_r(0));
    }

    #[test]
    fn a_wrong_rate_names_the_right_ones() {
        let config = NandConfig { interface: Interface::NvDdr, rate_mt_s: 400, ..NandConfig::default() };
        let error = Timing::new(&config, 64).unwrap_err().to_string();
        assert_eq!(error, "rate_mt_s = 400: nv-ddr has the rates 40, 66, 100, 133, 166, 200");
    }
}
