//! Charges: what commands took of cells and buses, by who pays for them. From these times comes the energy of each payer.
//!
//! A use is charged when it has ended. Of a command that several pay for, the cells of a plane are charged to the payer of that plane,
//! command and address cycles by planes, and data by bytes.

use wordline_base::Time;
use wordline_nand::chain::{self, Cycle, SEGMENTS};
use wordline_nand::energy::Activity;
use wordline_nand::log::{Pass, Stage, Use, What};
use wordline_nand::timing::Fixed;
use wordline_nand::{Segment, Timing};

/// Payers at most.
pub const PAYERS: usize = 8;

/// What a payer has of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Its planes.
    pub planes: u8,
    /// Bytes of its data on the bus.
    pub bytes: u32,
}

/// Who pays for a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Payers {
    /// Nobody.
    #[default]
    None,
    /// One alone.
    One(u8),
    /// Several.
    Some(Shares),
}

/// By payer, what it has of a command.
pub type Shares = [Share; PAYERS];

/// The times that each payer is charged with.
#[derive(Clone, Debug)]
pub(crate) struct Charges {
    fixed: [Fixed; SEGMENTS],
    /// By segment, whether its data go to the package.
    takes_in: [bool; SEGMENTS],
    sums: [Activity; PAYERS],
}

impl Charges {
    pub fn new(timing: &Timing) -> Self {
        let takes_in = chain::ALL.map(|segment| segment.spec().cycles.contains(&Cycle::DataIn));
        Self { fixed: chain::ALL.map(|segment| timing.fixed(segment)), takes_in, sums: [Activity::default(); PAYERS] }
    }

    /// What each has been charged with. Standby is charged to nobody.
    pub fn sums(&self) -> &[Activity; PAYERS] {
        &self.sums
    }

    /// Forgets all charges.
    pub fn reset(&mut self) {
        self.sums = [Activity::default(); PAYERS];
    }

    /// Charges one payer with what a command did.
    #[inline]
    pub fn add(&mut self, entry: &Use, payer: u8) {
        let Self { fixed, takes_in, sums } = self;
        used(fixed, takes_in, entry, &mut sums[usize::from(payer)]);
    }

    /// Charges one payer with a use of the bus, and with what the array did after it.
    #[inline]
    pub fn add_pass(&mut self, pass: &Pass, payer: u8) {
        let Self { fixed, takes_in, sums } = self;
        let sum = &mut sums[usize::from(payer)];
        if pass.on_bus > 0 {
            on_bus(fixed, takes_in, (pass.segment, pass.on_bus), sum);
        }
        in_array(Stage::behind(pass.segment), pass.busy * Time::from(pass.planes), sum);
    }

    /// Charges those who share a command with what it did.
    pub fn divide(&mut self, entry: &Use, shares: &Shares) {
        let mut used = Activity::default();
        self::used(&self.fixed, &self.takes_in, entry, &mut used);
        let mut left = shares
            .iter()
            .fold((0, 0), |(planes, bytes), share| (planes + u64::from(share.planes), bytes + u64::from(share.bytes)));
        for (sum, share) in self.sums.iter_mut().zip(shares).filter(|(_, share)| share.planes > 0) {
            // Of what is left, so that nothing is lost by rounding.
            *sum += take(&mut used, share, left);
            left = (left.0 - u64::from(share.planes), left.1 - u64::from(share.bytes));
        }
    }
}

/// Adds the times of an entry.
#[inline]
fn used(fixed: &[Fixed; SEGMENTS], takes_in: &[bool; SEGMENTS], entry: &Use, sum: &mut Activity) {
    let time = entry.end - entry.start;
    match entry.what {
        What::Array(stage) => in_array(stage, time * Time::from(entry.planes), sum),
        What::Bus(segment) => on_bus(fixed, takes_in, (segment, time), sum),
    }
}

/// Adds the times of cells, of all planes together.
#[inline]
fn in_array(stage: Stage, in_planes: Time, sum: &mut Activity) {
    match stage {
        Stage::Ton => sum.read += in_planes,
        Stage::Tin => sum.program += in_planes,
        Stage::Ber => sum.erase += in_planes,
        _ => {}
    }
}

/// Adds the time of a segment on the bus.
#[inline]
fn on_bus(
    fixed: &[Fixed; SEGMENTS],
    takes_in: &[bool; SEGMENTS],
    (segment, time): (Segment, Time),
    sum: &mut Activity,
) {
    let Fixed { command, address, wait } = fixed[segment as usize];
    let data = time.saturating_sub(command + address + wait);
    (sum.command, sum.address) = (sum.command + command, sum.address + address);
    *if takes_in[segment as usize] { &mut sum.data_in } else { &mut sum.data_out } += data;
}

/// Takes out of `used` the part of a payer, where payers have so many planes and bytes left together.
fn take(used: &mut Activity, share: &Share, (planes, bytes): (u64, u64)) -> Activity {
    let cut = |time: &mut Time, part: u64, all: u64| {
        let part = if all == 0 { 0 } else { (u128::from(*time) * u128::from(part) / u128::from(all)) as Time };
        *time -= part;
        part
    };
    let by_planes = |time: &mut Time| cut(time, share.planes.into(), planes);
    let by_bytes = |time: &mut Time| cut(time, share.bytes.into(), bytes);
    Activity {
        read: by_planes(&mut used.read),
        program: by_planes(&mut used.program),
        erase: by_planes(&mut used.erase),
        command: by_planes(&mut used.command),
        address: by_planes(&mut used.address),
        data_in: by_bytes(&mut used.data_in),
        data_out: by_bytes(&mut used.data_out),
        ..Activity::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_nand::NandConfig;

    fn entry(what: What, planes: u8, time: Time) -> Use {
        Use { held: false, what, planes, ready: 5, start: 7, end: 7 + time }
    }

    fn charges() -> Charges {
        let fixed = Fixed { command: 10, address: 20, wait: 3 };
        Charges {
            fixed: [fixed; SEGMENTS],
            ..Charges::new(&Timing::new(&NandConfig::default(), 16).expect("the default is legal"))
        }
    }

    #[test]
    fn one_payer_is_charged_with_all() {
        let mut charges = charges();
        let segment = chain::ALL.into_iter().find(|segment| segment.spec().cycles.contains(&Cycle::DataIn)).unwrap();
        charges.add(&entry(What::Bus(segment), 2, 133), 1);
        charges.add(&entry(What::Array(Stage::Tin), 2, 600), 1);
        charges.add(&entry(What::Array(Stage::Dummy), 2, 600), 1);
        let mut expected = [Activity::default(); PAYERS];
        expected[1] = Activity { command: 10, address: 20, data_in: 100, program: 1200, ..Activity::default() };
        assert_eq!(charges.sums(), &expected);
        charges.reset();
        assert_eq!(charges.sums(), &[Activity::default(); PAYERS]);
    }

    #[test]
    fn a_shared_command_is_charged_by_planes_and_bytes() {
        // Payer 0 reads 4 KiB of one plane, payer 2 reads 16 KiB of each of three.
        let mut shares = [Share::default(); PAYERS];
        shares[0] = Share { planes: 1, bytes: 4 };
        shares[2] = Share { planes: 3, bytes: 48 };
        let mut charges = charges();
        charges.divide(&entry(What::Array(Stage::Ton), 4, 50), &shares);
        charges.divide(&entry(What::Bus(Segment::ReadOut), 4, 33 + 520), &shares);
        let [first, _, third, ..] = charges.sums();
        // Of the 10 and 20 of cycles a quarter each, rounded down; the rest is the other's.
        assert_eq!(*first, Activity { read: 50, command: 2, address: 5, data_out: 40, ..Activity::default() });
        assert_eq!(*third, Activity { read: 150, command: 8, address: 15, data_out: 480, ..Activity::default() });
    }
}
