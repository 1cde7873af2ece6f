//! The commands that run, and how the time of each is spent.

use wordline_base::Time;
use wordline_firmware::policy::arbiter::Class;
use wordline_flash::log::{Stage, What};
use wordline_flash::Logged;

/// Commands of a lane that may be asked for: in cache mode, the current, the one before, and the one that has just ended.
const KEPT: usize = 4;

/// How the time of a command was spent so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent {
    command: u64,
    pub class: Class,
    pub begun: Time,
    pub wait_bus: Time,
    pub bus: Time,
    pub read: Time,
    pub program: Time,
}

impl Spent {
    const NOTHING: Self =
        Self { command: 0, class: Class::HostRead, begun: 0, wait_bus: 0, bus: 0, read: 0, program: 0 };
}

/// The latest commands of each lane.
#[derive(Clone, Debug)]
pub(super) struct Commands {
    dies: usize,
    lanes: Vec<[Spent; KEPT]>,
    turns: Vec<u8>,
}

impl Commands {
    pub fn new(dies: u32) -> Self {
        let dies = dies as usize;
        Self { dies, lanes: vec![[Spent::NOTHING; KEPT]; 2 * dies], turns: vec![0; 2 * dies] }
    }

    /// A lane has begun a command.
    pub fn begin(&mut self, lane: u32, command: u64, class: Class, now: Time) {
        let lane = lane as usize;
        let turn = (usize::from(self.turns[lane]) + 1) % KEPT;
        self.turns[lane] = turn as u8;
        self.lanes[lane][turn] = Spent { command, class, begun: now, ..Spent::NOTHING };
    }

    /// A command that a lane has begun, if it is still known.
    #[inline]
    pub fn of_lane(&mut self, lane: usize, command: u64) -> Option<&mut Spent> {
        let turn = usize::from(self.turns[lane]);
        let lane = &mut self.lanes[lane];
        if lane[turn].command == command {
            return Some(&mut lane[turn]);
        }
        (1..KEPT)
            .map(|back| (turn + KEPT - back) % KEPT)
            .find(|&at| lane[at].command == command)
            .map(|at| &mut lane[at])
    }

    /// Adds what a command did; gives whose it is.
    #[inline]
    pub fn add(&mut self, logged: &Logged) -> Option<Class> {
        let (die, entry) = (logged.die as usize, &logged.entry);
        let aside = self.dies + die;
        let lane = if self.of_lane(die, logged.command).is_some() { die } else { aside };
        let spent = self.of_lane(lane, logged.command)?;
        let time = entry.end - entry.start;
        match entry.what {
            What::Bus(_) => {
                spent.wait_bus += entry.start - entry.ready;
                spent.bus += time;
            }
            What::Array(Stage::Ton) => spent.read += time,
            What::Array(Stage::Tin) => spent.program += time,
            What::Array(_) => {}
        }
        Some(spent.class)
    }
}
