//! The data interfaces of ONFI and their timing modes, as one table.
//!
//! Sources: ONFI 1.0 (SDR), 2.3 (NV-DDR), 3.2 and 4.0 (NV-DDR2), 4.0 to 4.2 (NV-DDR3), 5.0 and 5.1 (NV-LPDDR4), the tables of
//! timing modes. The cycle of a mode is the average clock period of the standard (tCK, tRC, tDSC), in whole picoseconds as
//! printed there; a double-data-rate bus moves two bytes in it. Commands and addresses of NV-DDR take one tCAD each; those of
//! NV-DDR2 and later take one tWC of 25 ns, since CLE and ALE cycles stay single-rate there.
//!
//! Checked: tWC, tRC, tCK, tWB, tRR and tWHR of SDR and NV-DDR equal those in the Linux kernel's table of the same modes
//! (drivers/mtd/nand/raw/nand_timings.c). That table has a tADL of 400 ns throughout, as ONFI 4.0 raised it, and a tCCS of 500 ns, the
//! value for parts that state none; here tADL is that of ONFI 1.0 to 3.2 and tCCS the usual 200 ns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::time::{Time, NS};

/// A data interface by its ONFI name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Interface {
    /// Single data rate, 8 bits, one byte a cycle (ONFI 1.0): 10 to 50 MT/s.
    #[serde(rename = "sdr")]
    Sdr,
    /// Source-synchronous double data rate (ONFI 2.0): 40 to 200 MT/s.
    #[serde(rename = "nv-ddr")]
    NvDdr,
    /// Toggle-like double data rate at 1.8 V (ONFI 3.0): 66 to 533 MT/s, 800 with ONFI 4.0.
    #[serde(rename = "nv-ddr2")]
    NvDdr2,
    /// The same at 1.2 V (ONFI 4.0 to 4.2): 66 to 1600 MT/s.
    #[default]
    #[serde(rename = "nv-ddr3")]
    NvDdr3,
    /// Low-swing, terminated (ONFI 5.0 and 5.1): 66 to 3600 MT/s.
    #[serde(rename = "nv-lpddr4")]
    NvLpddr4,
}

/// One timing mode of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Transfers (bytes on an 8-bit bus) a microsecond, rounded down, as the standard names the mode.
    pub rate_mt_s: u32,
    /// Cycle of a data transfer to the package, in picoseconds.
    pub write_cycle: Time,
    /// Cycle of a data transfer from the package, in picoseconds.
    pub read_cycle: Time,
    /// Bytes moved in a cycle.
    pub bytes_per_cycle: u32,
    /// Command or address cycle, in picoseconds.
    pub latch_cycle: Time,
    /// tADL: last address cycle to first data byte.
    pub t_adl: Time,
    /// tWB: last command cycle to busy.
    pub t_wb: Time,
    /// tRR: ready to first data byte out.
    pub t_rr: Time,
    /// tCCS: change of column or plane to first data byte.
    pub t_ccs: Time,
    /// tWHR: command to status byte.
    pub t_whr: Time,
}

/// An SDR mode: tWC, tRC, and the waits tADL, tWB, tRR, tCCS and tWHR, in nanoseconds.
const fn sdr(rate: u32, wc: Time, rc: Time, waits: [Time; 5]) -> Mode {
    let [adl, wb, rr, ccs, whr] = waits;
    Mode {
        rate_mt_s: rate,
        write_cycle: wc * NS,
        read_cycle: rc * NS,
        bytes_per_cycle: 1,
        latch_cycle: wc * NS,
        t_adl: adl * NS,
        t_wb: wb * NS,
        t_rr: rr * NS,
        t_ccs: ccs * NS,
        t_whr: whr * NS,
    }
}

const fn ddr(rate: u32, cycle: Time, adl: Time) -> Mode {
    Mode {
        rate_mt_s: rate,
        write_cycle: cycle,
        read_cycle: cycle,
        bytes_per_cycle: 2,
        latch_cycle: 25 * NS,
        t_adl: adl * NS,
        t_wb: 100 * NS,
        t_rr: 20 * NS,
        t_ccs: 200 * NS,
        t_whr: 80 * NS,
    }
}

/// SDR modes 0 to 5.
const SDR: &[Mode] = &[
    sdr(10, 100, 100, [200, 200, 40, 500, 120]),
    sdr(20, 45, 50, [100, 100, 20, 200, 80]),
    sdr(28, 35, 35, [100, 100, 20, 200, 80]),
    sdr(33, 30, 30, [100, 100, 20, 200, 80]),
    sdr(40, 25, 25, [70, 100, 20, 200, 80]),
    sdr(50, 20, 20, [70, 100, 20, 200, 80]),
];

/// NV-DDR modes 0 to 5.
const NV_DDR: &[Mode] = &[
    ddr(40, 50_000, 100),
    ddr(66, 30_000, 100),
    ddr(100, 20_000, 70),
    ddr(133, 15_000, 70),
    ddr(166, 12_000, 70),
    ddr(200, 10_000, 70),
];

/// NV-DDR2, NV-DDR3 and NV-LPDDR4 modes; each interface uses a prefix of this list.
const NV_DDR2_ON: &[Mode] = &[
    ddr(66, 30_000, 150),
    ddr(80, 25_000, 150),
    ddr(133, 15_000, 150),
    ddr(166, 12_000, 150),
    ddr(200, 10_000, 150),
    ddr(266, 7_500, 150),
    ddr(333, 6_000, 150),
    ddr(400, 5_000, 150),
    ddr(533, 3_750, 150),
    ddr(667, 3_000, 150),
    ddr(800, 2_500, 150),
    ddr(933, 2_143, 150),
    ddr(1066, 1_875, 150),
    ddr(1200, 1_667, 150),
    ddr(1333, 1_500, 150),
    ddr(1466, 1_364, 150),
    ddr(1600, 1_250, 150),
    ddr(1800, 1_111, 150),
    ddr(2000, 1_000, 150),
    ddr(2200, 909, 150),
    ddr(2400, 833, 150),
    ddr(2800, 714, 150),
    ddr(3200, 625, 150),
    ddr(3600, 556, 150),
];

impl Interface {
    /// All interfaces with their names.
    pub const ALL: [(Interface, &'static str); 5] = [
        (Interface::Sdr, "sdr"),
        (Interface::NvDdr, "nv-ddr"),
        (Interface::NvDdr2, "nv-ddr2"),
        (Interface::NvDdr3, "nv-ddr3"),
        (Interface::NvLpddr4, "nv-lpddr4"),
    ];

    /// The name used in configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(interface, _)| *interface == self).map_or("", |(_, name)| name)
    }

    /// The timing modes that the standard defines for the interface, slowest first.
    #[must_use]
    pub fn modes(self) -> &'static [Mode] {
        let up_to = |rate: u32| {
            let count = NV_DDR2_ON.iter().filter(|mode| mode.rate_mt_s <= rate).count();
            &NV_DDR2_ON[..count]
        };
        match self {
            Interface::Sdr => SDR,
            Interface::NvDdr => NV_DDR,
            Interface::NvDdr2 => up_to(800),
            Interface::NvDdr3 => up_to(1600),
            Interface::NvLpddr4 => up_to(3600),
        }
    }

    /// The mode of `rate_mt_s`, if the interface has it.
    #[must_use]
    pub fn mode(self, rate_mt_s: u32) -> Option<Mode> {
        self.modes().iter().copied().find(|mode| mode.rate_mt_s == rate_mt_s)
    }
}

impl Mode {
    /// Time to move `bytes` into the package. A double-data-rate bus moves whole pairs.
    #[inline]
    #[must_use]
    pub fn data_in(&self, bytes: u32) -> Time {
        Time::from(bytes.div_ceil(self.bytes_per_cycle)) * self.write_cycle
    }

    /// Time to move `bytes` out of the package.
    #[inline]
    #[must_use]
    pub fn data_out(&self, bytes: u32) -> Time {
        Time::from(bytes.div_ceil(self.bytes_per_cycle)) * self.read_cycle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_cycles_of_a_mode_agree() {
        for (interface, name) in Interface::ALL {
            for mode in interface.modes() {
                let rate = 1e6 * f64::from(mode.bytes_per_cycle) / mode.read_cycle as f64;
                // Names are rounded down to whole MT/s, cycles to whole picoseconds.
                let rounding = 1.0 + rate * 0.5 / mode.read_cycle as f64;
                assert!((rate - f64::from(mode.rate_mt_s)).abs() < rounding, "{name} {} is {rate}", mode.rate_mt_s);
            }
        }
    }

    #[test]
    fn fastest_modes_are_those_of_the_standards() {
        let fastest: Vec<u32> = Interface::ALL.iter().map(|(i, _)| i.modes().last().unwrap().rate_mt_s).collect();
        assert_eq!(fastest, [50, 200, 800, 1600, 3600]);
    }
}
