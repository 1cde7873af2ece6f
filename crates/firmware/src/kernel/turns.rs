//! Collection in turn: of the dies that share parity, at most one is collected at a time, so that reads of it can be rebuilt.
//!
//! A die that wants a victim waits until the one that is collected has erased its own; then those that wait go first, in
//! the order of the group. So each of them gets its turn.

use super::Kernel;
use crate::space::Stream;
use crate::task::Task;

/// The groups of dies that share parity, and who waits.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    groups: Vec<Vec<u32>>,
    /// By die.
    group: Vec<u32>,
    waits: Vec<bool>,
    /// True while a die gets its turn: all its planes may start.
    granting: bool,
}

impl Turns {
    pub fn new(groups: Vec<Vec<u32>>, dies: u32) -> Self {
        let mut group = vec![0; dies as usize];
        for (number, members) in (0..).zip(&groups) {
            members.iter().for_each(|&die| group[die as usize] = number);
        }
        Self { groups, group, waits: vec![false; dies as usize], granting: false }
    }

    fn members(&self, die: u32) -> &[u32] {
        &self.groups[self.group[die as usize] as usize]
    }
}

impl Kernel {
    /// True if GC may take a victim in a domain, which is a plane; else its die waits for its turn.
    #[cold]
    pub(super) fn has_turn(&mut self, domain: u32) -> bool {
        let Some(turns) = &mut self.turns else { return true };
        let die = self.planes_per_die.quotient(domain);
        let is_collected = self.dies[die as usize].collections > 0;
        let mut others = turns.members(die).iter().map(|&other| other as usize).filter(|&other| other != die as usize);
        let must_wait = others
            .any(|other| self.dies[other].collections > 0 || (is_collected && turns.waits[other] && !turns.granting));
        turns.waits[die as usize] = must_wait;
        !must_wait
    }

    /// A victim of a die is erased: if it was the last, another die of its group has its turn.
    #[cold]
    pub(super) fn pass_turn(&mut self, die: u32) {
        let Some(turns) = &self.turns else { return };
        if self.dies[die as usize].collections > 0 {
            return;
        }
        let members = turns.members(die);
        let (count, own) =
            (members.len(), members.iter().position(|&member| member == die).expect("a die is in its group"));
        // Itself comes last: another of its planes may wait.
        for step in 1..=count {
            let Some(turns) = &mut self.turns else { return };
            let other = turns.members(die)[(own + step) % count];
            if !std::mem::take(&mut turns.waits[other as usize]) {
                continue;
            }
            turns.granting = true;
            let planes = self.planes_per_die.get();
            (other * planes..(other + 1) * planes).for_each(|plane| self.collect(plane));
            if let Some(turns) = &mut self.turns {
                turns.granting = false;
            }
            if self.dies[other as usize].collections > 0 {
                return;
            }
        }
    }

    /// True if another die waits for the turn of a die while one of its planes has no room for data of the host.
    pub(super) fn is_waited_for(&self, die: u32) -> bool {
        let Some(turns) = &self.turns else { return false };
        let planes = self.planes_per_die.get();
        let lacks_room = |plane| !self.space.has_room(&self.blocks, plane, Stream::Host);
        turns.members(die).iter().any(|&other| {
            other != die && turns.waits[other as usize] && (other * planes..(other + 1) * planes).any(lacks_room)
        })
    }

    /// Victims of GC in progress in the planes of a die.
    #[must_use]
    pub fn victims_of(&self, die: u32) -> u32 {
        self.dies[die as usize].collections
    }

    /// A victim of a plane is erased.
    #[inline]
    pub(super) fn turn_ends(&mut self, plane: u32) {
        if self.turns.is_some() {
            self.pass_turn(self.planes_per_die.quotient(plane));
        }
    }

    /// True if the last units of a victim do not wait for the next one of their domain.
    #[inline]
    pub(super) fn victims_end_alone(&self, task: Task) -> bool {
        // Another task may have nothing to move for long; a die that GC holds serves nobody until then, and others wait for the turn.
        self.closing || task != Task::GC || self.hold_below > 0 || self.turns.is_some()
    }
}
