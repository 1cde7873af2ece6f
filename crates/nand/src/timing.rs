//! Times of a package: the chains of [`crate::chain`] with the durations of its interface mode.

use crate::chain::{self, Cycle, Segment, SEGMENTS};
use crate::command::{Command, Kind};
use crate::config::{LatencyModel, NandConfig, PageOrder};
use crate::geometry::PageAddress;
use crate::interface::{Interface, Mode};
use serde::{Deserialize, Serialize};
use wordline_base::{ps_from_us, Time};

/// Maximum number of page classes (bits per cell).
pub const MAX_CLASSES: usize = 4;
/// tFEAT, the maximum in ONFI.
const T_FEAT: Time = 1_000_000;

/// Duration of a bus use: a fixed part and a part per data cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusTime {
    fixed: Time,
    cycle: Time,
    /// Bytes in a cycle, less one.
    round: u32,
    /// Binary logarithm of the bytes in a cycle.
    shift: u32,
}

impl BusTime {
    /// Duration with `bytes` of data, in picoseconds.
    #[inline]
    #[must_use]
    pub fn with(&self, bytes: u32) -> Time {
        // A bus moves one, two or four bytes in a cycle, so a shift divides.
        self.fixed + Time::from((bytes + self.round) >> self.shift) * self.cycle
    }
}

/// Fixed part of a bus use, by stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fixed {
    /// CLE: command cycles.
    pub command: Time,
    /// ALE: address cycles.
    pub address: Time,
    /// The waits tADL, tWB, tRR, tCCS and tWHR.
    pub wait: Time,
}

/// Durations of single cycles and waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Cycles {
    latch: Time,
    page_address: u32,
    block_address: u32,
    adl: Time,
    wb: Time,
    rr: Time,
    ccs: Time,
    whr: Time,
}

/// Busy times that are the same for all pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    /// tDBSY, between the planes of a command.
    pub dummy: Time,
    /// Minimum tRCBSY: data register to cache register.
    pub cache_read: Time,
    /// Minimum tCBSY: cache register to data register.
    pub cache_program: Time,
    /// Suspension of the array.
    pub suspend: Time,
    /// Resumption of the array.
    pub resume: Time,
    /// tFEAT: SET FEATURES.
    pub feature: Time,
}

/// All times of a package, in picoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    bus: [BusTime; SEGMENTS],
    fixed: [Fixed; SEGMENTS],
    cycles: Cycles,
    /// True if a program loads the part of its page without data, too.
    pub loads_whole_pages: bool,
    /// Busy times that are the same for all pages.
    pub pauses: Pauses,
    /// tBERS.
    pub t_bers: Time,
    t_r: [Time; MAX_CLASSES],
    t_prog: [Time; MAX_CLASSES],
    /// tR and tPROG in SLC mode.
    slc: (Time, Time),
    /// Half the spread of tPROG within a class, in 1/65,536 of tPROG.
    spread: u32,
    class_of_page: Vec<u8>,
}

/// An error in a `[nand]` section.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{key} = {value}: {problem}")]
pub struct TimingError {
    /// Key within the section.
    pub key: &'static str,
    /// The value given.
    pub value: String,
    /// The problem, and the valid values.
    pub problem: String,
}

/// The timing mode of a configuration, with the width and the cycle of its bus.
///
/// # Errors
/// Names the key that cannot be used with the interface, and the valid values.
pub(crate) fn bus_mode(config: &NandConfig) -> Result<Mode, TimingError> {
    let (interface, name) = (config.interface, config.interface.name());
    let wrong = |key: &'static str, value: String, problem: String| Err(TimingError { key, value, problem });
    let Some(mut mode) = interface.mode(config.rate_mt_s) else {
        let rates: Vec<String> = interface.modes().iter().map(|m| m.rate_mt_s.to_string()).collect();
        return wrong("rate_mt_s", config.rate_mt_s.to_string(), format!("{name} has the rates {}", rates.join(", ")));
    };
    match (config.bus_bits, interface) {
        (8, _) => {}
        (bits @ (16 | 32), Interface::Sdr) => mode.bytes_per_cycle = bits / 8,
        (bits @ (16 | 32), _) => {
            return wrong("bus_bits", bits.to_string(), format!("{name} has 8 data lines; only sdr can have 16 or 32"))
        }
        (bits, _) => return wrong("bus_bits", bits.to_string(), "must be 8, 16 or 32".into()),
    }
    if let Some(cycle) = config.cycle_ns {
        if interface != Interface::Sdr {
            let problem = format!("is for sdr; the cycles of {name} are those of rate_mt_s");
            return wrong("cycle_ns", cycle.to_string(), problem);
        }
        if !(1.0..=1_000.0).contains(&cycle) {
            return wrong("cycle_ns", cycle.to_string(), "must lie between 1 and 1,000 nanoseconds".into());
        }
        let cycle = ps_from_us(cycle / 1e3);
        (mode.write_cycle, mode.read_cycle, mode.latch_cycle) = (cycle, cycle, cycle);
    }
    Ok(mode)
}

fn price(segment: Segment, mode: &Mode, config: &NandConfig) -> (BusTime, Fixed) {
    let mut fixed = Fixed::default();
    let mut cycle_time = 0;
    for cycle in segment.spec().cycles {
        match cycle {
            Cycle::Command(_) => fixed.command += mode.latch_cycle,
            Cycle::PageAddress => fixed.address += mode.latch_cycle * Time::from(config.page_address_cycles),
            Cycle::BlockAddress => fixed.address += mode.latch_cycle * Time::from(config.block_address_cycles),
            Cycle::ColumnAddress => fixed.address += 2 * mode.latch_cycle,
            Cycle::ByteAddress => fixed.address += mode.latch_cycle,
            Cycle::DataIn => cycle_time = mode.write_cycle,
            Cycle::DataOut => cycle_time = mode.read_cycle,
            Cycle::Tadl => fixed.wait += mode.t_adl,
            Cycle::Twb => fixed.wait += mode.t_wb,
            Cycle::Trr => fixed.wait += mode.t_rr,
            Cycle::Tccs => fixed.wait += mode.t_ccs,
            Cycle::Twhr => fixed.wait += mode.t_whr,
        }
    }
    let whole = fixed.command + fixed.address + fixed.wait;
    let (round, shift) = (mode.bytes_per_cycle - 1, mode.bytes_per_cycle.trailing_zeros());
    (BusTime { fixed: whole, cycle: cycle_time, round, shift }, fixed)
}

/// Class of each page of a block.
fn classes(config: &NandConfig, pages: u32, count: usize) -> Result<Vec<u8>, TimingError> {
    let of = |lambda: u32, ends: u32| {
        let (ends, run) = (ends.min(pages / 2), lambda / count as u32);
        // The ends of the block are of the fastest class; between them the classes alternate in runs of pages.
        let inner = |n: u32| (n % lambda / run) as u8;
        (0..pages).map(|n| if n < ends || n >= pages - ends { 0 } else { inner(n) }).collect()
    };
    let few = count as u32;
    let lambda = match (config.page_lambda, config.page_order) {
        (None, PageOrder::Beta) => 2 * few,
        (None, _) => few,
        (Some(lambda), _) => lambda,
    };
    if lambda == 0 || !lambda.is_multiple_of(few) {
        return Err(TimingError {
            key: "page_lambda",
            value: lambda.to_string(),
            problem: format!("must be a multiple of the number of page classes, which is {few}"),
        });
    }
    if config.page_lambda.is_some() && config.page_order == PageOrder::Cyclic {
        return Err(TimingError {
            key: "page_lambda",
            value: lambda.to_string(),
            problem: "has a meaning only with page_order 'alpha' or 'beta'".into(),
        });
    }
    Ok(match config.page_order {
        PageOrder::Cyclic => (0..pages).map(|n| (n as usize % count) as u8).collect(),
        PageOrder::Alpha => of(lambda, few),
        PageOrder::Beta => of(lambda, lambda),
    })
}

/// Times by class under the latency model; `mean` is over the pages of a block.
fn modelled(
    key: &'static str,
    model: LatencyModel,
    times: [Time; MAX_CLASSES],
    typical: Option<f64>,
    classes: &[u8],
) -> Result<[Time; MAX_CLASSES], TimingError> {
    let given = typical.map(|us| class_times(key, &[us])).transpose()?;
    Ok(match (model, given) {
        (LatencyModel::Variation, _) => times,
        (LatencyModel::Worst, _) => [*times.iter().max().expect("there are four"); MAX_CLASSES],
        (LatencyModel::Typical, Some(given)) => given,
        (LatencyModel::Typical, None) => {
            let sum: u128 = classes.iter().map(|&class| u128::from(times[usize::from(class)])).sum();
            [(sum / classes.len() as u128) as Time; MAX_CLASSES]
        }
    })
}

/// Values as the user wrote them; a single one without brackets.
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

/// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), used as a hash of an address.
fn splitmix(address: u64) -> u64 {
    let mut z = address.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Timing {
    /// Computes the times for a configuration and blocks of `pages_per_block` pages.
    ///
    /// # Errors
    /// Names the invalid key, its value and the valid choices.
    pub fn new(config: &NandConfig, pages_per_block: u32) -> Result<Self, TimingError> {
        let mode = bus_mode(config)?;
        let (reads, programs) = (config.read_us.values(), config.program_us.values());
        let count = reads.len().max(programs.len());
        if reads.len() != programs.len() && reads.len() != 1 && programs.len() != 1 {
            return Err(TimingError {
                key: "program_us",
                value: format!("{programs:?}"),
                problem: format!("has {} page classes but read_us has {}", programs.len(), reads.len()),
            });
        }
        if config.page_order != PageOrder::Cyclic && count < 2 {
            return Err(TimingError {
                key: "page_order",
                value: format!("{:?}", config.page_order).to_lowercase(),
                problem: "needs two or more page classes (LSB, MSB), but one time is given for all; write 'cyclic'"
                    .into(),
            });
        }
        if !(0.0..=50.0).contains(&config.spread_percent) {
            return Err(TimingError {
                key: "spread_percent",
                value: config.spread_percent.to_string(),
                problem: "must lie between 0 and 50 percent".into(),
            });
        }
        for (key, value) in
            [("page_address_cycles", config.page_address_cycles), ("block_address_cycles", config.block_address_cycles)]
        {
            if !(1..=8).contains(&value) {
                return Err(TimingError { key, value: value.to_string(), problem: "must lie between 1 and 8".into() });
            }
        }
        let class_of_page = classes(config, pages_per_block, count)?;
        let model = |key, times: &[f64], typical_key, typical| {
            modelled(typical_key, config.latency_model, class_times(key, times)?, typical, &class_of_page)
        };
        let t_r = model("read_us", &reads, "typical_read_us", config.typical_read_us)?;
        let t_prog = model("program_us", &programs, "typical_program_us", config.typical_program_us)?;
        let slc = |key, given: Option<f64>, other| given.map_or(Ok(other), |us| Ok(class_times(key, &[us])?[0]));
        let priced = chain::ALL.map(|segment| price(segment, &mode, config));
        Ok(Self {
            cycles: Cycles {
                latch: mode.latch_cycle,
                page_address: config.page_address_cycles,
                block_address: config.block_address_cycles,
                adl: mode.t_adl,
                wb: mode.t_wb,
                rr: mode.t_rr,
                ccs: mode.t_ccs,
                whr: mode.t_whr,
            },
            bus: priced.map(|(bus, _)| bus),
            fixed: priced.map(|(_, fixed)| fixed),
            loads_whole_pages: config.load_whole_pages,
            pauses: Pauses {
                dummy: one_time("dummy_busy_us", config.dummy_busy_us)?,
                cache_read: one_time("cache_read_busy_us", config.cache_read_busy_us)?,
                cache_program: one_time("cache_program_busy_us", config.cache_program_busy_us)?,
                suspend: one_time("suspend_us", config.suspend_us)?,
                resume: one_time("resume_us", config.resume_us)?,
                feature: T_FEAT,
            },
            t_bers: one_time("erase_us", config.erase_us)?,
            slc: (
                slc("slc_read_us", config.slc_read_us, t_r[usize::from(class_of_page[0])])?,
                slc("slc_program_us", config.slc_program_us, t_prog[usize::from(class_of_page[0])])?,
            ),
            t_r,
            t_prog,
            spread: (config.spread_percent / 100.0 * 65_536.0) as u32,
            class_of_page,
        })
    }

    /// Duration of a bus segment with `bytes` of data, in picoseconds.
    #[inline]
    #[must_use]
    pub fn on_bus(&self, segment: Segment, bytes: u32) -> Time {
        self.bus[segment as usize].with(bytes)
    }

    /// The same without data.
    #[inline(always)]
    pub(crate) fn on_bus_without_data(&self, segment: Segment) -> Time {
        self.bus[segment as usize].fixed
    }

    /// Duration of an item of a segment; `None` for data, whose duration depends on their bytes.
    #[must_use]
    pub fn cycle(&self, cycle: Cycle) -> Option<Time> {
        let Cycles { latch, page_address, block_address, adl, wb, rr, ccs, whr } = self.cycles;
        Some(match cycle {
            Cycle::Command(_) | Cycle::ByteAddress => latch,
            Cycle::ColumnAddress => 2 * latch,
            Cycle::PageAddress => latch * Time::from(page_address),
            Cycle::BlockAddress => latch * Time::from(block_address),
            Cycle::Tadl => adl,
            Cycle::Twb => wb,
            Cycle::Trr => rr,
            Cycle::Tccs => ccs,
            Cycle::Twhr => whr,
            Cycle::DataIn | Cycle::DataOut => return None,
        })
    }

    /// The fixed part of a segment, by stage.
    #[must_use]
    pub fn fixed(&self, segment: Segment) -> Fixed {
        self.fixed[segment as usize]
    }

    /// Class of a page offset; 0 is the fastest.
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

    /// tPROG of a page offset, without the spread within its class.
    #[inline]
    #[must_use]
    pub fn t_prog(&self, page: u32) -> Time {
        self.t_prog[self.class(page) & (MAX_CLASSES - 1)]
    }

    /// tR of a page of a command.
    #[inline]
    #[must_use]
    pub fn t_r_of(&self, command: &Command, page: u32) -> Time {
        if command.slc {
            self.slc.0
        } else {
            self.t_r(page)
        }
    }

    /// tPROG of a command on a die: that of its slowest page, with the spread within their classes. In SLC mode there is none.
    #[inline(always)]
    #[must_use]
    pub fn t_prog_of(&self, die: u32, command: &Command) -> Time {
        if command.slc {
            return self.slc.1;
        }
        let pages = if command.kind == Kind::Copyback { command.targets() } else { command.pages() };
        if self.has_spread() {
            return self.longest_program(die, pages);
        }
        self.t_prog(pages[0].page)
    }

    /// The same of a program of one page outside of SLC mode.
    #[inline(always)]
    #[must_use]
    pub fn t_prog_alone(&self, die: u32, page: PageAddress) -> Time {
        if self.has_spread() {
            return self.longest_program(die, &[page]);
        }
        self.t_prog(page.page)
    }

    /// tPROG of the slowest of the pages of a command, which differ within their class.
    #[inline(never)]
    fn longest_program(&self, die: u32, pages: &[PageAddress]) -> Time {
        pages.iter().map(|&page| self.t_prog_at(die, page)).max().unwrap_or(0)
    }

    /// True if tPROG varies within a class.
    #[inline]
    #[must_use]
    pub fn has_spread(&self) -> bool {
        self.spread != 0
    }

    /// tPROG of a page of a die, with the spread within its class.
    #[inline]
    #[must_use]
    pub fn t_prog_at(&self, die: u32, at: PageAddress) -> Time {
        let time = self.t_prog(at.page);
        if self.spread == 0 {
            return time;
        }
        // The factor of a page is a hash of its address, so every program of the page takes the same time.
        let block = u64::from(die) << 56 ^ u64::from(at.plane) << 48 ^ u64::from(at.block) << 16 ^ u64::from(at.page);
        let even = u128::from(splitmix(block) >> 47);
        let low = u128::from(time) * u128::from(65_536 - self.spread);
        ((low + u128::from(time) * even * u128::from(self.spread) / 65_536) >> 16) as Time
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

    #[test]
    fn chains_add_up_by_hand_on_sdr_mode_5() {
        let config = NandConfig { interface: Interface::Sdr, rate_mt_s: 50, ..NandConfig::default() };
        let timing = Timing::new(&config, 64).unwrap();
        // 00h + 5 address cycles + 30h at tWC = 20 ns, then tWB = 100 ns.
        assert_eq!(timing.on_bus(Segment::Read, 0), 240_000);
        // tRR = 20 ns, then 2,048 bytes at tRC = 20 ns.
        assert_eq!(timing.on_bus(Segment::ReadOut, 2_048), 20_000 + 40_960_000);
        // 80h + 5 address cycles, tADL = 70 ns, 2,048 bytes, 10h, tWB.
        assert_eq!(timing.on_bus(Segment::Program, 2_048), 120_000 + 70_000 + 40_960_000 + 20_000 + 100_000);
        // 60h + 3 address cycles + D0h, tWB.
        assert_eq!(timing.on_bus(Segment::Erase, 0), 200_000);
        // 06h + 5 address cycles + E0h, tCCS = 200 ns, data.
        assert_eq!(timing.on_bus(Segment::ReadOutPlane, 512), 140_000 + 200_000 + 10_240_000);
    }

    #[test]
    fn a_wide_bus_moves_more_data_in_a_cycle_and_no_other_cycle_is_shorter() {
        let config = NandConfig { interface: Interface::Sdr, rate_mt_s: 50, ..NandConfig::default() };
        let bus = |bus_bits, cycle_ns| Timing::new(&NandConfig { bus_bits, cycle_ns, ..config.clone() }, 64).unwrap();
        // 32 bits at 25 MHz: 512 data cycles of 40 ns. 80h, 5 address cycles and 10h take 40 ns each; tADL = 70 ns and tWB = 100 ns
        // are those of the mode.
        let wide = bus(32, Some(40.0));
        assert_eq!(wide.on_bus(Segment::ReadOut, 2_048), 20_000 + 512 * 40_000);
        assert_eq!(wide.on_bus(Segment::Program, 2_048), 240_000 + 70_000 + 512 * 40_000 + 40_000 + 100_000);
        assert_eq!(wide.on_bus(Segment::ReadOut, 2_045), wide.on_bus(Segment::ReadOut, 2_048));
        // 16 bits with the cycle of the mode, 20 ns: commands and addresses as on 8 bits.
        let (double, single) = (bus(16, None), bus(8, None));
        assert_eq!(double.on_bus(Segment::ReadOut, 2_048), 20_000 + 1_024 * 20_000);
        assert_eq!(double.on_bus(Segment::Read, 0), single.on_bus(Segment::Read, 0));
        // 8 bits at 100 MHz.
        assert_eq!(bus(8, Some(10.0)).on_bus(Segment::ReadOut, 2_048), 20_000 + 20_480_000);
    }

    #[test]
    fn a_bus_that_the_interface_cannot_have_is_refused() {
        let sdr = NandConfig { interface: Interface::Sdr, rate_mt_s: 50, ..NandConfig::default() };
        let shown = |config: &NandConfig| Timing::new(config, 64).unwrap_err().to_string();
        assert_eq!(shown(&NandConfig { bus_bits: 12, ..sdr.clone() }), "bus_bits = 12: must be 8, 16 or 32");
        let zero = shown(&NandConfig { cycle_ns: Some(0.0), ..sdr });
        assert_eq!(zero, "cycle_ns = 0: must lie between 1 and 1,000 nanoseconds");
        let wide = shown(&NandConfig { bus_bits: 16, ..NandConfig::default() });
        assert_eq!(wide, "bus_bits = 16: nv-ddr3 has 8 data lines; only sdr can have 16 or 32");
        let slow = shown(&NandConfig { cycle_ns: Some(40.0), ..NandConfig::default() });
        assert_eq!(slow, "cycle_ns = 40: is for sdr; the cycles of nv-ddr3 are those of rate_mt_s");
    }

    #[test]
    fn double_data_rate_moves_pairs() {
        let timing = Timing::new(&NandConfig::default(), 64).unwrap();
        // NV-DDR3 at 800 MT/s: 2.5 ns a pair; commands and addresses 25 ns each; tADL 150 ns.
        assert_eq!(timing.on_bus(Segment::ReadOut, 16_384), 20_000 + 8_192 * 2_500);
        assert_eq!(timing.on_bus(Segment::ReadOut, 3), timing.on_bus(Segment::ReadOut, 4));
        assert_eq!(timing.on_bus(Segment::Program, 16_384), 6 * 25_000 + 150_000 + 8_192 * 2_500 + 25_000 + 100_000);
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
