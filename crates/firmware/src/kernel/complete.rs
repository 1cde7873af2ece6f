//! Completion: the command of a die has ended, and its operations go back to their tasks.

use super::{Fault, HostDone, Kernel};
use crate::ops::{FlashOp, Role, NONE};
use crate::task::{Action, Class, Task};
use wordline_base::time::END_OF_TIME;
use wordline_base::Time;

impl Kernel {
    /// The command of a die has ended: its operations go back to their tasks.
    #[inline]
    pub(super) fn complete(&mut self, die: u32) -> Result<(), Fault> {
        self.busy -= 1;
        let now = self.now;
        let instant = self.instant;
        let state = &mut self.dies[die as usize];
        let (class, count, pages) = (state.class, usize::from(state.count), state.pages);
        let (collector_end, since, mixed) = (state.collector_end, state.since, state.mixed);
        (state.busy, state.mixed, state.count) = (false, false, 0);
        let takes_no_time = instant && class.task() == Task::GC;
        let of_gc = class.task() == Task::GC && !takes_no_time;
        if of_gc {
            state.collector_end = now;
        }
        if state.counted != END_OF_TIME {
            let from = std::mem::replace(&mut state.counted, now);
            self.plane_use.add(now - from, (now - since.max(from)) * count as Time);
        }
        if mixed {
            self.divide_time(die, &pages[..count], now - since);
        } else {
            self.dies[die as usize].occupied[class.counted().index()] += now - since;
        }
        if of_gc && self.awaiting > 0 {
            self.let_go(die);
        }
        if self.notes.is_some() && !takes_no_time {
            self.witness_idle(die);
        }
        if mixed {
            self.hand_back_each(die, &pages[..count], collector_end)?;
        } else {
            self.hand_back(die, class, &pages[..count], collector_end)?;
        }
        if self.straight_by_stage && self.has_nothing_sent(die) {
            return Ok(());
        }
        self.mark(die);
        if self.follows_ends {
            self.may_be_free(die);
        }
        if self.holding.asks {
            self.holding.changed(die);
        }
        // A shared write may have waited for any die.
        self.shared_dirty |= self.shared_count > 0 && !self.dies[die as usize].queued;
        Ok(())
    }

    /// Gives the operations of a command of several tasks back to them.
    #[cold]
    pub(super) fn hand_back_each(&mut self, die: u32, pages: &[u32], collector_end: Time) -> Result<(), Fault> {
        pages.iter().try_for_each(|page| {
            let class = self.slab.get(*page).class;
            self.hand_back(die, class, std::slice::from_ref(page), collector_end)
        })
    }

    /// Gives the operations of a command of a die back to their tasks. GC had let go of the die at `collector_end`.
    #[inline(always)]
    pub(super) fn hand_back(
        &mut self,
        die: u32,
        class: Class,
        pages: &[u32],
        collector_end: Time,
    ) -> Result<(), Fault> {
        if let Some(stage) = &mut self.stage {
            stage.count_running(die, class, -(pages.len() as i32));
        }
        if class.moves() {
            self.moved_in(class.task(), pages);
            return Ok(());
        }
        if class.is_map_write() {
            self.map_written(class, pages);
            return Ok(());
        }
        for &page in pages {
            let mut slot = page;
            while slot != NONE {
                let op = *self.slab.get(slot);
                // Freed slots are linked by the same field: what follows must be known before.
                if op.role == Role::Map {
                    self.map_read(slot, &op, class.is_host() && op.ready < collector_end);
                } else if class.is_host() {
                    let gc_affected = op.ready < collector_end;
                    if op.is_of_overwriting() && class == Class::HOST_READ {
                        self.merged(slot, gc_affected);
                    } else if op.role == Role::Part {
                        self.part_read(slot, &op, gc_affected);
                    } else if op.role == Role::Old {
                        self.old_read(slot, &op, gc_affected);
                    } else {
                        self.host_done(slot, &op, op.delayed || gc_affected);
                    }
                } else if class.action() == Action::Erase {
                    self.emptied(slot, &op)?;
                } else if op.role == Role::Copy {
                    self.copied(slot, &op);
                } else if !self.detours || !self.move_is_computed(slot, &op) {
                    self.moved_out(slot, &op);
                }
                slot = op.next;
            }
        }
        Ok(())
    }

    /// Units of jobs are written: neighbours of one job are told to it together.
    #[inline]
    fn moved_in(&mut self, task: Task, pages: &[u32]) {
        let (mut job, mut units) = (NONE, 0);
        for &page in pages {
            let mut slot = page;
            while slot != NONE {
                let FlashOp { owner, next, .. } = *self.slab.get(slot);
                self.slab.remove(slot);
                if owner != job && units > 0 {
                    self.written(task, job, std::mem::take(&mut units));
                }
                (job, units, slot) = (owner, units + 1, next);
            }
        }
        self.look_at_wishes();
        // In cache mode a command may end whose pages were handed back before.
        if units > 0 {
            self.written(task, job, units);
        }
    }

    #[inline]
    fn written(&mut self, task: Task, job: u32, units: u32) {
        self.counters.moved[task.index()] += u64::from(units);
        self.arrived(job, units);
    }

    /// Old data that a write needs are there: the whole unit can be written.
    pub(super) fn merged(&mut self, slot: u32, gc_affected: bool) {
        if self.slab.get(slot).role == Role::Change {
            self.counters.parity_reads += 1;
        } else {
            self.counters.merge_reads += 1;
        }
        if self.notes.is_some() {
            let op = *self.slab.get(slot);
            self.witness_end(slot, &op, true, false);
        }
        let op = self.slab.get_mut(slot);
        op.class = Class::HOST_WRITE;
        op.delayed |= gc_affected;
        self.enqueue(slot);
    }

    #[inline(always)]
    pub(super) fn host_done(&mut self, slot: u32, op: &FlashOp, gc_affected: bool) {
        self.slab.remove(slot);
        if self.notes.is_some() {
            self.witness_end(slot, op, false, gc_affected);
        }
        if op.buffered {
            let units = u32::from(op.units);
            self.buffer.leave(op.held, op.ordinal, units);
            self.more_units -= units - 1;
        }
        let mut bytes = 0;
        if op.class == Class::HOST_READ {
            bytes = op.bytes;
            if self.shelf.is_some() {
                self.note_from_flash(op);
            }
        }
        self.done.push(HostDone { request: op.owner, units: u32::from(op.units), bytes, gc_affected });
    }
}
