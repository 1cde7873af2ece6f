//! The recorder of a drive's flash: every use of the bus and of the cells as an entry, or sums by command and by payer.

use crate::charges::{Charges, Payers, Shares, PAYERS};
use crate::spending::{Spending, Spent, Tally};
use wordline_base::Time;
use wordline_nand::energy::Activity;
use wordline_nand::log::{Entry, Log, Pass, Use};
use wordline_nand::Timing;

/// An entry of the log with the place in the drive and the number of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The die in the drive.
    pub die: u32,
    /// The number of its command, in the order of the starts.
    pub command: u64,
    /// What happened.
    pub entry: Entry,
}

/// A command that a lane runs, or has run.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    number: u64,
    tally: Tally,
    payer: Payer,
}

/// Who pays for a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Payer {
    #[default]
    None,
    One(u8),
    /// As the lane's shares say.
    Several,
}

/// The log of a drive's flash.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// True if every use of the bus and of the cells is recorded as an entry; else only sums are.
    logs: bool,
    entries: Vec<Logged>,
    spending: Spending,
    started: u64,
    /// True if the time of the next command is added up.
    adds_next: bool,
    /// Who pays for the next command, and their shares if several do.
    pays_next: Payer,
    next_shares: Shares,
    charges: Charges,
    /// By lane, while several have paid for a command: their shares of the current one, and of the one before.
    shares: Vec<[Shares; 2]>,
    /// By lane: the current command, and the one before.
    current: Vec<[Current; 2]>,
}

impl Recorder {
    /// Nothing is recorded yet of so many lanes.
    pub fn new(lanes: usize, timing: &Timing) -> Self {
        Self {
            logs: false,
            entries: Vec::new(),
            spending: Spending::new(lanes),
            started: 0,
            adds_next: false,
            pays_next: Payer::None,
            next_shares: Shares::default(),
            charges: Charges::new(timing),
            shares: Vec::new(),
            current: vec![Default::default(); lanes],
        }
    }

    /// Whether every use of the bus and of the cells is recorded as an entry from now on.
    pub fn log_entries(&mut self, logs: bool) {
        self.logs = logs;
    }

    /// True if sums alone are recorded of what a lane does, and there are some.
    #[inline]
    pub fn sums(&self, lane: u32) -> bool {
        !self.logs && self.hears(lane)
    }

    /// The recorder as the main lane of a die sees it of which sums alone are recorded.
    #[inline]
    pub fn sums_of(&mut self, die: u32) -> Sums<'_> {
        debug_assert!(!self.logs, "entries are recorded, too");
        Sums { recorder: self, die }
    }

    /// True if anything of what a lane does is recorded.
    #[inline]
    pub fn hears(&self, lane: u32) -> bool {
        let of_use = |it: &Current| it.tally != Tally::NONE || it.payer != Payer::None;
        let [current, before] = &self.current[lane as usize];
        self.logs || of_use(current) || of_use(before)
    }

    /// The same of the command that begins next, for sums alone.
    #[inline]
    pub fn sums_next(&self) -> bool {
        !self.logs && (self.adds_next || self.pays_next != Payer::None)
    }

    /// The recorder as a lane of a die sees it.
    #[inline]
    pub fn of_lane(&mut self, lane: u32, die: u32) -> LaneLog<'_> {
        let commands = self.current[lane as usize];
        LaneLog { recorder: self, commands, lane, die }
    }

    /// Sums the time of the command that starts next.
    pub fn add_up_next(&mut self) {
        self.adds_next = true;
    }

    /// Who pays for the command that starts next.
    pub fn charge_next(&mut self, payers: Payers) {
        self.pays_next = match payers {
            Payers::None => Payer::None,
            Payers::One(payer) => Payer::One(payer),
            Payers::Some(shares) => {
                self.next_shares = shares;
                Payer::Several
            }
        };
    }

    /// One pays for the command that starts next, and its time is summed or not.
    #[inline]
    pub fn hear_next(&mut self, adds_up: bool, payer: u8) {
        (self.adds_next, self.pays_next) = (adds_up, Payer::One(payer));
    }

    /// What each payer has been charged with.
    pub fn charged(&self) -> &[Activity; PAYERS] {
        self.charges.sums()
    }

    /// Forgets all charges.
    pub fn reset_charges(&mut self) {
        self.charges.reset();
    }

    /// A lane begins a command, which may follow another in cache mode.
    #[inline(always)]
    pub fn begin(&mut self, now: Time, lane: u32, follows: bool) {
        self.started += 1;
        let adds = std::mem::take(&mut self.adds_next);
        let tally = if adds { self.spending.begin(lane, now) } else { Tally::NONE };
        let payer = std::mem::take(&mut self.pays_next);
        if payer == Payer::Several {
            self.share(lane);
        }
        let commands = &mut self.current[lane as usize];
        // Nothing more comes of the one before, unless this one follows it in cache mode.
        let before = if follows { commands[0] } else { Current::default() };
        *commands = [Current { number: self.started, tally, payer }, before];
    }

    /// The next command of a lane has several who pay.
    #[cold]
    fn share(&mut self, lane: u32) {
        self.shares.resize(self.current.len(), Default::default());
        let of_lane = &mut self.shares[lane as usize];
        *of_lane = [self.next_shares, of_lane[0]];
    }

    /// What a lane does belongs to the commands of another.
    pub fn take_over(&mut self, lane: u32, other: u32) {
        self.current[lane as usize] = self.current[other as usize];
        if !self.shares.is_empty() {
            self.shares[lane as usize] = self.shares[other as usize];
        }
    }

    /// Where the time of the command is added up that a lane began last.
    #[inline]
    pub fn tally(&self, lane: u32) -> Tally {
        self.current[lane as usize][0].tally
    }

    /// The number of the command that a lane began last.
    pub fn number(&self, lane: u32) -> u64 {
        self.current[lane as usize][0].number
    }

    /// How the time of a command was spent so far.
    #[inline]
    pub fn spent(&self, tally: Tally) -> Option<&Spent> {
        self.spending.of(tally)
    }

    /// The entries; the caller drains them.
    pub fn entries(&mut self) -> &mut Vec<Logged> {
        &mut self.entries
    }
}

/// The recorder as a die's lane sees it.
pub struct LaneLog<'a> {
    recorder: &'a mut Recorder,
    commands: [Current; 2],
    lane: u32,
    die: u32,
}

impl Log for LaneLog<'_> {
    #[inline]
    fn is_whole(&self) -> bool {
        self.recorder.logs
    }

    fn enter(&mut self, entry: &Entry) {
        self.add(&entry.in_short());
        let command = self.commands[usize::from(entry.held)];
        self.recorder.entries.push(Logged { die: self.die, command: command.number, entry: *entry });
    }

    #[inline(never)]
    fn add(&mut self, entry: &Use) {
        let command = self.commands[usize::from(entry.held)];
        if let Some(spent) = self.recorder.spending.of_mut(command.tally) {
            spent.add(entry);
        }
        match command.payer {
            Payer::None => {}
            Payer::One(payer) => self.recorder.charges.add(entry, payer),
            Payer::Several => {
                let Recorder { charges, shares, .. } = &mut *self.recorder;
                charges.divide(entry, &shares[self.lane as usize][usize::from(entry.held)]);
            }
        }
    }
}

/// The recorder as the main lane of a die sees it of which sums alone are recorded.
pub struct Sums<'a> {
    recorder: &'a mut Recorder,
    die: u32,
}

impl Sums<'_> {
    /// Several pay for it.
    #[cold]
    fn share_pass(&mut self, pass: Pass) {
        pass.uses().for_each(|used| self.add(&used));
    }
}

impl Log for Sums<'_> {
    #[inline(always)]
    fn is_whole(&self) -> bool {
        false
    }

    fn enter(&mut self, entry: &Entry) {
        self.add(&entry.in_short());
    }

    fn add(&mut self, entry: &Use) {
        self.recorder.of_lane(self.die, self.die).add(entry);
    }

    #[inline(always)]
    fn add_pass(&mut self, pass: &Pass) {
        let Recorder { spending, charges, current, .. } = &mut *self.recorder;
        let Current { tally, payer, .. } = current[self.die as usize][0];
        if payer == Payer::Several {
            return self.share_pass(*pass);
        }
        if let Some(spent) = spending.of_mut(tally) {
            spent.add_pass(pass);
        }
        if let Payer::One(payer) = payer {
            charges.add_pass(pass, payer);
        }
    }
}
