//! Suspension: a program or an erase is suspended for host reads that wait for its die, and resumes after them.
//!
//! A command can be suspended only while the array is busy. A die is checked when a read starts to wait for it, when it
//! starts a program or erase while reads already wait, and at each of its events; a check while the bus still carries
//! the command schedules another one for the start of the array operation.

use super::attend::Batch;
use super::{Fault, Kernel};
use crate::map::Place;
use crate::policy::suspend::Running;
use crate::task::{Class, Task, CLASSES};
use serde::{Deserialize, Serialize};
use wordline_base::time::END_OF_TIME;
use wordline_base::{EventQueue, Time};
use wordline_flash::Kind;

/// Work of a die beside a suspended command.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Interruption {
    /// True if the command of the die is suspended, or about to be.
    active: bool,
    /// True if a check is scheduled.
    appointed: bool,
    /// Suspensions of the command so far.
    suspensions: u32,
    /// Array time of the command, or its remainder.
    array: Time,
    /// The read beside it.
    reads: Batch,
}

impl Kernel {
    fn reads_wait(&self, die: u32) -> bool {
        self.dies[die as usize].waiting.has(Class::HOST_READ)
    }

    /// A read has started to wait for a die: if the die is busy, check it.
    pub(super) fn press(&mut self, die: u32) {
        if self.timed && self.dies[die as usize].busy && self.suspend.interrupts() {
            self.pressed.push_back(die);
        }
    }

    /// A command is about to start.
    pub(super) fn watch(&mut self, die: u32) {
        let timing = self.flash.timing();
        let in_package = die % self.flash.geometry().dies_per_package;
        let command = &self.running[die as usize];
        let array = match command.kind {
            Kind::Program => timing.t_prog_of(in_package, command),
            Kind::Erase => timing.t_bers,
            Kind::Read | Kind::Copyback => return,
        };
        let state = &mut self.interruptions[die as usize];
        state.suspensions = 0;
        state.array = array;
        if self.reads_wait(die) {
            self.pressed.push_back(die);
        }
    }

    /// An event of a die that leaves it busy, or (`beside`, while nothing is suspended) an appointment.
    pub(super) fn look_again(&mut self, die: u32, beside: bool, queue: &mut EventQueue) -> Result<(), Fault> {
        let Some(state) = self.interruptions.get_mut(die as usize) else { return Ok(()) };
        state.appointed &= !beside;
        self.look(die, queue)
    }

    /// Suspends the command of a die if ready reads wait and the policy wants it.
    pub(super) fn look(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        let state = self.interruptions[die as usize];
        if !self.dies[die as usize].busy || state.active || state.appointed || !self.reads_wait(die) {
            return Ok(());
        }
        let command = &self.running[die as usize];
        if !matches!(command.kind, Kind::Program | Kind::Erase) || command.cache {
            return Ok(());
        }
        let left = self.flash.suspendable(self.now, die);
        let running = Running {
            erase: command.kind == Kind::Erase,
            left: left.unwrap_or(state.array),
            suspensions: state.suspensions,
        };
        if !self.suspend.suspends(&running) || self.next_beside(die).is_none() {
            return Ok(());
        }
        match left {
            Some(left) => self.interrupt(die, left, queue),
            None => {
                self.appoint(die, state.array, queue);
                Ok(())
            }
        }
    }

    /// Comes back when a command that takes `array` in the cells is to be there.
    fn appoint(&mut self, die: u32, array: Time, queue: &mut EventQueue) {
        let due = self.flash.due(die);
        // Before its last plane is on the bus the die has events of its own, which come sooner.
        if due < END_OF_TIME && due > self.now + array {
            self.interruptions[die as usize].appointed = true;
            self.flash.appoint(due - array, self.flash.aside(die), queue);
        }
    }

    fn interrupt(&mut self, die: u32, left: Time, queue: &mut EventQueue) -> Result<(), Fault> {
        if !self.flash.suspend(self.now, die, queue)? {
            return Ok(());
        }
        self.counters.suspensions += 1;
        let pauses = self.flash.timing().pauses;
        // The cells worked on until the bus had carried the suspension.
        let stopped = self.flash.due(self.flash.aside(die)) - pauses.suspend;
        let state = &mut self.interruptions[die as usize];
        state.active = true;
        state.suspensions += 1;
        state.array = self.now + left - stopped + pauses.resume;
        Ok(())
    }

    /// The command of a die is suspended: reads can go.
    pub(super) fn opened(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        let state = &mut self.dies[die as usize];
        if state.class.task() == Task::GC {
            state.collector_end = self.now;
        }
        self.next_read_or_resume(die, queue)
    }

    /// A read beside a suspended command has ended.
    pub(super) fn read_beside(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        let reads = std::mem::take(&mut self.interruptions[die as usize].reads);
        let collector_end = self.dies[die as usize].collector_end;
        self.hand_back(die, Class::HOST_READ, &reads.pages[..usize::from(reads.count)], collector_end)?;
        self.next_read_or_resume(die, queue)
    }

    fn next_read_or_resume(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        let Some((plane, slot)) = self.next_beside(die) else {
            self.interruptions[die as usize].active = false;
            self.flash.resume(self.now, die, queue)?;
            return Ok(());
        };
        self.bind_beside(die, plane, slot)?;
        self.count_command(die, Class::HOST_READ);
        let lane = self.flash.aside(die);
        self.foresee(Class::HOST_READ, None);
        self.flash.begin(self.now, lane, &self.command, queue)?;
        if self.notes.is_some() {
            let Batch { count, pages } = self.interruptions[die as usize].reads;
            self.witness(lane, Class::HOST_READ, (count, pages));
        }
        Ok(())
    }

    /// The oldest host read that can go beside the suspended (or running) command of a die: its plane and itself. Reads whose
    /// data have moved are sent after them.
    fn next_beside(&mut self, die: u32) -> Option<(u32, u32)> {
        let planes = self.flash.geometry().planes_per_die;
        loop {
            let oldest = |plane: u32| {
                let fifo = &self.queues[plane as usize * CLASSES + Class::HOST_READ.index()];
                let slot =
                    fifo.find(&self.slab, fifo.len, |op| self.is_apart(die, op.source) || !self.is_current(op))?;
                Some((self.slab.get(slot).sequence, plane, slot))
            };
            let (sequence, plane, slot) = (die * planes..(die + 1) * planes).filter_map(oldest).min()?;
            if self.is_current(self.slab.get(slot)) {
                return Some((plane, slot));
            }
            self.take_read(plane, Class::HOST_READ, u32::MAX, |_, op| op.sequence == sequence);
            self.reroute(slot);
        }
    }

    /// True if a place is neither in a block that the die's command erases nor in a page that it programs.
    fn is_apart(&self, die: u32, place: Place) -> bool {
        let (command, at) = (&self.running[die as usize], self.address(place));
        command.pages().iter().all(|other| {
            let same_block = (other.plane, other.block) == (at.plane, at.block);
            !same_block || (command.kind == Kind::Program && other.page != at.page)
        })
    }

    /// Binds a read beside a suspended command, with partners of other planes.
    fn bind_beside(&mut self, die: u32, plane: u32, slot: u32) -> Result<(), Fault> {
        let op = *self.slab.get(slot);
        let (planes, window, page) =
            (self.flash.geometry().planes_per_die, self.pack.window(), self.page_of(op.source));
        self.take_read(plane, Class::HOST_READ, u32::MAX, |_, other| other.sequence == op.sequence);
        self.command.clear(Kind::Read);
        let mut reads = Batch::default();
        let add = |kernel: &mut Self, reads: &mut Batch, slot| {
            reads.pages[usize::from(reads.count)] = slot;
            reads.count += 1;
            kernel.add_page_read(slot)
        };
        add(self, &mut reads, slot)?;
        for partner in (die * planes..(die + 1) * planes).filter(|&partner| partner != plane) {
            let from = self.first_of_page(page);
            let command = &reads.pages[..usize::from(reads.count)];
            let fits = |kernel: &Self, op: &_| {
                kernel.joins(op, from) && kernel.is_apart(die, op.source) && kernel.is_of_request(command, op)
            };
            let found = if self.refuses {
                self.take_agreed(die, command, (partner, Class::HOST_READ), window, fits)
            } else {
                self.take_read(partner, Class::HOST_READ, window, fits)
            };
            if let Some(slot) = found {
                add(self, &mut reads, slot)?;
            }
        }
        self.interruptions[die as usize].reads = reads;
        Ok(())
    }
}
