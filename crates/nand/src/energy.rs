//! Energy of a package from the time each of its stages took.
//!
//! Source: ONFI names the currents (Open NAND Flash Interface Specification, DC and operating characteristics): ICC1
//! array read, ICC2 array program, ICC3 array erase, ICC4R and ICC4W bursts on the bus, ICC5 bus idle, ISB standby, all
//! from VCC; ICCQ4R and ICCQ4W are the bursts' share from VCCQ, the supply of the I/O drivers. Energy is current x
//! supply x time.
//! The defaults are those of SimpleSSD 3 where it has the current, and assumed where the key says so.
//! Simplified: a current is the mean of its stage; command and address cycles cost ICC5, because the waits between them
//! outlast the cycles; VCCQ counts only in bursts; the current of an array grows with the planes at work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use wordline_base::time::{Time, S};

/// Supplies and currents of one package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EnergyConfig {
    /// VCC: supply of the array, in volts. Nominal value of 2.7 to 3.6 V parts.
    pub vcc_v: f64,
    /// VCCQ: supply of the I/O drivers, in volts. NV-DDR3 has 1.2; older interfaces have 1.8 or 3.3.
    pub vccq_v: f64,
    /// ICC1: array read of one plane, in milliamperes from VCC. Default as in SimpleSSD 3.
    pub icc1_read_ma: f64,
    /// ICC2: array program of one plane, in milliamperes from VCC. Default as in SimpleSSD 3.
    pub icc2_program_ma: f64,
    /// ICC3: array erase of one plane, in milliamperes from VCC. Default as in SimpleSSD 3.
    pub icc3_erase_ma: f64,
    /// ICC4R: burst of data out, in milliamperes from VCC. Default as in SimpleSSD 3.
    pub icc4r_ma: f64,
    /// ICC4W: burst of data in, in milliamperes from VCC. Default as in SimpleSSD 3.
    pub icc4w_ma: f64,
    /// ICCQ4R: burst of data out, in milliamperes from VCCQ. Assumed: eight data lines and two strobes of 5 pF each draw
    /// about 14 at 1.2 V, 800 MT/s and random data.
    pub iccq4r_ma: f64,
    /// ICCQ4W: burst of data in, in milliamperes from VCCQ. Assumed: less than for data out, as the package drives no
    /// line.
    pub iccq4w_ma: f64,
    /// ICC5: bus idle, here command and address cycles, in milliamperes from VCC. Default as in SimpleSSD 3.
    pub icc5_bus_idle_ma: f64,
    /// ISB: standby of one die, in microamperes from VCC. Default as in SimpleSSD 3; data sheets allow 50.
    pub isb_standby_ua: f64,
}

impl Default for EnergyConfig {
    fn default() -> Self {
        Self {
            vcc_v: 3.3,
            vccq_v: 1.2,
            icc1_read_ma: 25.0,
            icc2_program_ma: 25.0,
            icc3_erase_ma: 25.0,
            icc4r_ma: 10.0,
            icc4w_ma: 10.0,
            iccq4r_ma: 14.0,
            iccq4w_ma: 5.0,
            icc5_bus_idle_ma: 5.0,
            isb_standby_ua: 30.0,
        }
    }
}

/// Why a `[nand.energy]` section cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: {problem}")]
pub struct EnergyError {
    /// Key within the section.
    pub key: &'static str,
    /// What was given.
    pub value: String,
    /// What is wrong, and what to write instead.
    pub problem: String,
}

impl EnergyConfig {
    /// The section of so many packages in lockstep: the cells of all work at once, all hear commands and addresses, and stand by;
    /// one at a time drives the data on the bus, or takes them from there.
    #[must_use]
    pub fn of_gang(&self, members: u32) -> Self {
        let all = |of_one: f64| of_one * f64::from(members);
        Self {
            icc1_read_ma: all(self.icc1_read_ma),
            icc2_program_ma: all(self.icc2_program_ma),
            icc3_erase_ma: all(self.icc3_erase_ma),
            icc5_bus_idle_ma: all(self.icc5_bus_idle_ma),
            isb_standby_ua: all(self.isb_standby_ua),
            ..self.clone()
        }
    }

    /// Checks every key.
    ///
    /// # Errors
    /// Names the key, its value and its allowed range.
    pub fn check(&self) -> Result<(), EnergyError> {
        let volts = [("vcc_v", self.vcc_v), ("vccq_v", self.vccq_v)].map(|(key, v)| (key, v, 0.5, 5.5, "V"));
        let milliamperes = [
            ("icc1_read_ma", self.icc1_read_ma),
            ("icc2_program_ma", self.icc2_program_ma),
            ("icc3_erase_ma", self.icc3_erase_ma),
            ("icc4r_ma", self.icc4r_ma),
            ("icc4w_ma", self.icc4w_ma),
            ("iccq4r_ma", self.iccq4r_ma),
            ("iccq4w_ma", self.iccq4w_ma),
            ("icc5_bus_idle_ma", self.icc5_bus_idle_ma),
        ]
        .map(|(key, v)| (key, v, 0.0, 1_000.0, "mA"));
        let microamperes = [("isb_standby_ua", self.isb_standby_ua, 0.0, 10_000.0, "uA")];
        for (key, value, least, most, unit) in volts.into_iter().chain(milliamperes).chain(microamperes) {
            // Also catches what is no number.
            if !(least..=most).contains(&value) {
                let problem = format!("must lie between {least} and {most} {unit}");
                return Err(EnergyError { key, value: value.to_string(), problem });
            }
        }
        Ok(())
    }
}

/// Time of each stage of one package, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// Array reads, summed over planes: two planes for 50 us are 100 us.
    pub read: Time,
    /// Array programs, summed over planes.
    pub program: Time,
    /// Array erases, summed over planes.
    pub erase: Time,
    /// Command cycles on the bus, with their waits.
    pub command: Time,
    /// Address cycles on the bus.
    pub address: Time,
    /// Data to the package on the bus.
    pub data_in: Time,
    /// Data from the package on the bus.
    pub data_out: Time,
    /// Elapsed time, summed over dies.
    pub die_time: Time,
    /// Time outside standby, summed over dies.
    pub busy: Time,
}

impl AddAssign for Activity {
    /// Adds time to time, stage by stage.
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.read += other.read;
        self.program += other.program;
        self.erase += other.erase;
        self.command += other.command;
        self.address += other.address;
        self.data_in += other.data_in;
        self.data_out += other.data_out;
        self.die_time += other.die_time;
        self.busy += other.busy;
    }
}

/// Energy by stage, in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Energy {
    /// Array reads.
    pub read_j: f64,
    /// Array programs.
    pub program_j: f64,
    /// Array erases.
    pub erase_j: f64,
    /// Command cycles.
    pub command_j: f64,
    /// Address cycles.
    pub address_j: f64,
    /// Data to the package.
    pub data_in_j: f64,
    /// Data from the package.
    pub data_out_j: f64,
    /// Standby of idle dies.
    pub standby_j: f64,
}

impl Energy {
    /// The increase since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            read_j: self.read_j - before.read_j,
            program_j: self.program_j - before.program_j,
            erase_j: self.erase_j - before.erase_j,
            command_j: self.command_j - before.command_j,
            address_j: self.address_j - before.address_j,
            data_in_j: self.data_in_j - before.data_in_j,
            data_out_j: self.data_out_j - before.data_out_j,
            standby_j: self.standby_j - before.standby_j,
        }
    }

    /// The energy of an activity. The configuration must have been checked.
    #[must_use]
    pub fn of(activity: &Activity, config: &EnergyConfig) -> Self {
        let joules = |watts: f64, time: Time| watts * (time as f64 / S as f64);
        let from_vcc = |milliamperes: f64| milliamperes * 1e-3 * config.vcc_v;
        let from_vccq = |milliamperes: f64| milliamperes * 1e-3 * config.vccq_v;
        // Rounding of the caller's sums must not turn a drive that never rests into a source of energy.
        let idle = activity.die_time.saturating_sub(activity.busy);
        Self {
            read_j: joules(from_vcc(config.icc1_read_ma), activity.read),
            program_j: joules(from_vcc(config.icc2_program_ma), activity.program),
            erase_j: joules(from_vcc(config.icc3_erase_ma), activity.erase),
            command_j: joules(from_vcc(config.icc5_bus_idle_ma), activity.command),
            address_j: joules(from_vcc(config.icc5_bus_idle_ma), activity.address),
            data_in_j: joules(from_vcc(config.icc4w_ma) + from_vccq(config.iccq4w_ma), activity.data_in),
            data_out_j: joules(from_vcc(config.icc4r_ma) + from_vccq(config.iccq4r_ma), activity.data_out),
            standby_j: joules(from_vcc(config.isb_standby_ua * 1e-3), idle),
        }
    }

    /// Energy of the arrays.
    #[must_use]
    pub fn cells(&self) -> f64 {
        self.read_j + self.program_j + self.erase_j
    }

    /// Energy of the bus.
    #[must_use]
    pub fn bus(&self) -> f64 {
        self.command_j + self.address_j + self.data_in_j + self.data_out_j
    }

    /// All of it.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.cells() + self.bus() + self.standby_j
    }
}

impl AddAssign for Energy {
    /// Adds package to package, stage by stage.
    fn add_assign(&mut self, other: Self) {
        self.read_j += other.read_j;
        self.program_j += other.program_j;
        self.erase_j += other.erase_j;
        self.command_j += other.command_j;
        self.address_j += other.address_j;
        self.data_in_j += other.data_in_j;
        self.data_out_j += other.data_out_j;
        self.standby_j += other.standby_j;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_base::time::{MS, US};

    fn assert_close(got: f64, want: f64) {
        assert!((got - want).abs() <= 1e-12 * want.abs(), "{got} is not {want}");
    }

    #[test]
    fn stages_by_hand() {
        let config = EnergyConfig { icc2_program_ma: 20.0, icc3_erase_ma: 30.0, ..EnergyConfig::default() };
        let activity = Activity {
            read: 50 * US,
            program: 500 * US,
            erase: 3 * MS,
            command: 2 * US,
            address: US,
            data_in: 10 * US,
            data_out: 20 * US,
            die_time: 4 * S,
            busy: S,
        };
        let energy = Energy::of(&activity, &config);
        // 25 mA x 3.3 V x 50 us.
        assert_close(energy.read_j, 4.125e-6);
        // 20 mA x 3.3 V x 500 us.
        assert_close(energy.program_j, 33e-6);
        // 30 mA x 3.3 V x 3 ms.
        assert_close(energy.erase_j, 297e-6);
        // 5 mA x 3.3 V x 2 us, and half of it.
        assert_close(energy.command_j, 33e-9);
        assert_close(energy.address_j, 16.5e-9);
        // (10 mA x 3.3 V + 5 mA x 1.2 V) x 10 us = 39 mW x 10 us.
        assert_close(energy.data_in_j, 390e-9);
        // (10 mA x 3.3 V + 14 mA x 1.2 V) x 20 us = 49.8 mW x 20 us.
        assert_close(energy.data_out_j, 996e-9);
        // 30 uA x 3.3 V x 3 s.
        assert_close(energy.standby_j, 297e-6);
        assert_close(energy.cells(), 334.125e-6);
        assert_close(energy.bus(), 1.4355e-6);
        assert_close(energy.total(), 632.5605e-6);
    }

    #[test]
    fn the_cells_of_a_gang_work_together_and_its_data_go_one_after_the_other() {
        let config = EnergyConfig::default();
        let activity = Activity { read: 50 * US, command: US, data_out: 20 * US, die_time: S, ..Activity::default() };
        let [one, four] = [1, 4].map(|members| Energy::of(&activity, &config.of_gang(members)));
        assert_close(four.read_j, 4.0 * one.read_j);
        assert_close(four.command_j, 4.0 * one.command_j);
        assert_close(four.standby_j, 4.0 * one.standby_j);
        assert_eq!(four.data_out_j, one.data_out_j);
    }

    #[test]
    fn nothing_done_costs_nothing_and_sums_add_up() {
        let config = EnergyConfig::default();
        assert_eq!(Energy::of(&Activity::default(), &config).total(), 0.0);
        // A die busier than the clock allows is not paid for it.
        let overrun = Activity { die_time: S, busy: 2 * S, ..Activity::default() };
        assert_eq!(Energy::of(&overrun, &config).standby_j, 0.0);
        let activity = Activity { read: US, program: 2 * US, erase: 3 * US, command: 4 * US, ..Activity::default() };
        let rest =
            Activity { address: 5 * US, data_in: 6 * US, data_out: 7 * US, die_time: 8 * US, ..Activity::default() };
        let mut sum = Energy::of(&activity, &config);
        sum += Energy::of(&rest, &config);
        let whole = Activity {
            address: rest.address,
            data_in: rest.data_in,
            data_out: rest.data_out,
            die_time: rest.die_time,
            ..activity
        };
        assert_eq!(sum, Energy::of(&whole, &config));
    }

    #[test]
    fn errors_name_the_key() {
        assert_eq!(EnergyConfig::default().check(), Ok(()));
        let shown = |config: EnergyConfig| config.check().unwrap_err().to_string();
        assert_eq!(
            shown(EnergyConfig { vccq_v: 0.0, ..EnergyConfig::default() }),
            "vccq_v = 0: must lie between 0.5 and 5.5 V"
        );
        assert_eq!(
            shown(EnergyConfig { icc4r_ma: -1.0, ..EnergyConfig::default() }),
            "icc4r_ma = -1: must lie between 0 and 1000 mA"
        );
        assert_eq!(
            shown(EnergyConfig { isb_standby_ua: f64::NAN, ..EnergyConfig::default() }),
            "isb_standby_ua = NaN: must lie between 0 and 10000 uA"
        );
    }
}
