//! The mapping table in flash: loads of map units that a lookup lacks, and writes of those that leave memory with
//! changed entries.
//!
//! Map units are units behind those of the host: they have places, move with GC, and count as valid data. A request of
//! the host waits for the map units that it lacks; others go on. The task that needs a map unit reads it, and writes the
//! one that leaves for it. Nothing waits for an entry that changes: the map of the kernel is the truth, and the cost
//! follows. So no write depends on room in the cache, and no erase on a write of the table. The host does not wait for
//! a read that another task has queued: it reads the map unit itself.

use super::ready::Ready;
use super::serve::Span;
use super::{HostDone, Kernel};
use crate::map::Place;
use crate::ops::{Fifo, FlashOp, Role, NONE};
use crate::policy::mapping::MappingPolicy;
use crate::policy::placement::Constraint;
use crate::task::{Action, Class, Task};
use crate::Plan;
use std::ops::Range;
use wordline_base::Divisor;

/// What is under way for a map unit.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// It is being read, and memory does not have it yet.
    loading: bool,
    /// One of its reads is the host's.
    for_host: bool,
    /// An entry changed meanwhile.
    changed: bool,
    /// It left memory and waits to be written: until it has its page, its data are at hand.
    leaving: bool,
}

/// The mapping table of a drive that keeps it in flash.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// The unit that the first map unit is.
    first: u32,
    entries: Divisor,
    states: Vec<State>,
    /// Operations that wait for each map unit.
    waiting: Vec<Fifo>,
    /// Reads and writes of map units.
    under_way: u32,
}

impl Table {
    /// The table of a drive, if its mapping keeps it in flash.
    pub fn of(plan: &Plan, mapping: &MappingPolicy) -> Option<Box<Self>> {
        let entries = Divisor::new(mapping.entries()?);
        let units = plan.map_units as usize;
        let (states, waiting) = (vec![State::default(); units], vec![Fifo::default(); units]);
        Some(Box::new(Self { first: plan.logical_units, entries, states, waiting, under_way: 0 }))
    }

    /// True if nothing is under way.
    pub fn is_at_rest(&self) -> bool {
        self.under_way == 0
    }

    /// The map unit with the entry of a unit of the host.
    #[inline]
    fn map_unit(&self, unit: u32) -> u32 {
        self.entries.quotient(unit)
    }

    /// The units of the host whose entries a map unit has.
    fn units_of(&self, map_unit: u32) -> Range<u32> {
        let entries = self.entries.get();
        map_unit * entries..((map_unit + 1) * entries).min(self.first)
    }
}

impl Kernel {
    fn table(&mut self) -> &mut Table {
        self.table.as_mut().expect("the mapping keeps its table in flash")
    }

    fn state(&mut self, map_unit: u32) -> &mut State {
        &mut self.table().states[map_unit as usize]
    }

    /// Looks the entries of units up for the host, which are in one map unit; false if that is being read.
    pub(super) fn finds_entries(&mut self, first: u32, units: u32) -> bool {
        let map_unit = self.table().map_unit(first);
        let found = self.mapping.use_entry(map_unit) || self.bring(map_unit, Task::HOST, false);
        self.counters.map_lookups += u64::from(units);
        self.counters.map_hits += if found { u64::from(units) } else { 0 };
        found
    }

    /// Gets a map unit that memory lacks, for a task; true if that takes no read. An entry of it changes if `changes`.
    fn bring(&mut self, map_unit: u32, task: Task, changes: bool) -> bool {
        let unit = self.table().first + map_unit;
        let state = self.state(map_unit);
        if state.loading {
            state.changed |= changes;
            if task == Task::HOST && !changes && !state.for_host {
                // A request waits for it, and the read of another task may wait for its turn for long.
                state.for_host = true;
                let place = self.map.place(unit).expect("it is being read");
                self.load(unit, place, task);
            }
            return false;
        }
        if state.leaving {
            // Its write takes all entries as they are when it gets its page.
            self.admit(map_unit, task, false);
            return true;
        }
        match self.map.place(unit) {
            Some(place) => {
                let for_host = task == Task::HOST;
                *self.state(map_unit) = State { loading: true, for_host, changed: changes, leaving: false };
                self.load(unit, place, task);
                false
            }
            // It was never written: it has no entries yet.
            None => {
                self.admit(map_unit, task, changes);
                true
            }
        }
    }

    /// Reads the map unit that is a unit of the drive.
    fn load(&mut self, unit: u32, place: Place, task: Task) {
        self.table().under_way += 1;
        self.counters.map_reads[task.index()] += 1;
        let class = Class::new(task, Action::Read);
        let bytes = self.plan.unit_bytes;
        let op = FlashOp { class, unit, source: place, bytes, role: Role::Map, ..FlashOp::default() };
        let slot = self.slab.insert(op);
        self.enqueue(slot);
    }

    /// Memory gets a map unit. The one that leaves is written if it has changed.
    fn admit(&mut self, map_unit: u32, task: Task, changed: bool) {
        let Some(evicted) = self.mapping.admit(map_unit, changed) else { return };
        if !evicted.changed || self.state(evicted.map_unit).leaving {
            return;
        }
        self.state(evicted.map_unit).leaving = true;
        self.table().under_way += 1;
        self.counters.map_writes[task.index()] += 1;
        let (class, unit) = (Class::map_write(task), self.table().first + evicted.map_unit);
        let stamp = self.shadow.as_mut().map_or(0, |shadow| shadow.version());
        let slot = self.slab.insert(FlashOp { class, unit, stamp, ..FlashOp::default() });
        self.enqueue(slot);
    }

    /// A unit got another place: its entry changes, for the task of the operation.
    #[cold]
    pub(super) fn entry_changed(&mut self, unit: u32, class: Class) {
        let table = self.table();
        let Some(map_unit) = unit.checked_sub(table.first) else {
            let map_unit = table.map_unit(unit);
            if !self.mapping.change_entry(map_unit) {
                self.bring(map_unit, class.task(), true);
            }
            return;
        };
        // The places of map units are known in memory.
        if class.is_map_write() {
            self.state(map_unit).leaving = false;
            self.table().under_way -= 1;
            self.mapping.written(map_unit);
        }
    }

    /// The host gave a unit back, with the others of a TRIM. Of a map unit all of whose units go, nothing is read.
    pub(super) fn entry_given_back(&mut self, unit: u32, all: Range<u32>) {
        let table = self.table();
        let map_unit = table.map_unit(unit);
        if self.mapping.change_entry(map_unit) {
            return;
        }
        let (units, state) = (self.table().units_of(map_unit), *self.state(map_unit));
        if all.start <= units.start && units.end <= all.end && !state.loading && !state.leaving {
            self.admit(map_unit, Task::HOST, true);
        } else {
            self.bring(map_unit, Task::HOST, true);
        }
    }

    /// The end of the units from `at` on, up to `end`, whose entries are in one map unit and that are not in the write
    /// buffer.
    fn end_of_lookup(&mut self, at: u32, end: u32) -> u32 {
        let table = self.table();
        let map_unit = table.map_unit(at);
        let end = end.min(table.units_of(map_unit).end);
        (at + 1..end).find(|&unit| self.buffer.holds(unit)).unwrap_or(end)
    }

    /// Reads units of the host, as far as their entries are known; the others wait. Returns the units and bytes that
    /// wait.
    pub(super) fn read_by_map(&mut self, whole: Span, like: &FlashOp) -> (u32, u32) {
        let unit_bytes = self.plan.unit_bytes;
        let (mut units_waiting, mut bytes_waiting) = (0, 0);
        let Span { first: mut at, mut skip, bytes: mut left, .. } = whole;
        while at < whole.end {
            let is_buffered = self.buffer.holds(at);
            let end = if is_buffered { at + 1 } else { self.end_of_lookup(at, whole.end) };
            let bytes = ((end - at) * unit_bytes - skip).min(left);
            if !is_buffered {
                let span = Span { first: at, end, skip, bytes };
                let (units, bytes) = self.read_or_wait(span, like);
                units_waiting += units;
                bytes_waiting += bytes;
            }
            left -= bytes;
            skip = 0;
            at = end;
        }
        (units_waiting, bytes_waiting)
    }

    /// Reads units whose entries are in one map unit, or lets them wait for it. Returns the units and bytes that wait.
    fn read_or_wait(&mut self, span: Span, like: &FlashOp) -> (u32, u32) {
        let units = span.end - span.first;
        if self.finds_entries(span.first, units) {
            return self.read_span(span, like, None);
        }
        let Span { first: unit, skip, bytes, .. } = span;
        let slot = self.slab.insert(FlashOp { unit, units: units as u16, source: skip, bytes, ..*like });
        self.await_entry(slot);
        (units, bytes)
    }

    /// An operation waits for the entries of its units.
    pub(super) fn await_entry(&mut self, slot: u32) {
        let op = self.slab.get_mut(slot);
        op.ready = self.now;
        let (unit, buffered) = (op.unit, op.buffered);
        let table = self.table.as_mut().expect("the mapping keeps its table in flash");
        let map_unit = table.map_unit(unit);
        let map_place = self.map.place(table.first + map_unit);
        table.waiting[map_unit as usize].push(&mut self.slab, slot);
        if buffered && self.notes.is_some() {
            // What holds up the read of its map unit holds up the buffer.
            if let Some(place) = map_place {
                self.witness_wait(slot, Constraint::Plane(self.plane_of(place)));
            }
        }
    }

    /// A map unit has been read: what waited for it goes on.
    pub(super) fn map_read(&mut self, slot: u32, op: &FlashOp, gc_affected: bool) {
        if self.notes.is_some() && op.class.is_host() {
            self.witness_end(slot, op, false, gc_affected);
        }
        self.slab.remove(slot);
        let table = self.table();
        table.under_way -= 1;
        let map_unit = op.unit - table.first;
        if !self.state(map_unit).loading {
            // Another read of it ended before.
            return;
        }
        let changed = std::mem::take(self.state(map_unit)).changed;
        self.admit(map_unit, op.class.task(), changed);
        let mut waiting = std::mem::take(&mut self.table().waiting[map_unit as usize]);
        while let Some(slot) = waiting.pop(&self.slab) {
            self.resume(slot, gc_affected);
        }
    }

    /// An operation of the host has its entries.
    fn resume(&mut self, slot: u32, gc_affected: bool) {
        let mut op = *self.slab.get(slot);
        let since = op.ready;
        op.delayed |= gc_affected;
        if op.class.is_write() {
            self.aim_write(&mut op);
            *self.slab.get_mut(slot) = op;
            self.witness_lookup(slot, since);
            self.enqueue(slot);
            return;
        }
        self.slab.remove(slot);
        let units = u32::from(op.units);
        let span = Span { first: op.unit, end: op.unit + units, skip: op.source, bytes: op.bytes };
        let (waiting, for_bytes) = self.read_span(span, &op, Some(since));
        if waiting < units {
            let (units, bytes) = (units - waiting, op.bytes - for_bytes);
            self.done.push(HostDone { request: op.owner, units, bytes, gc_affected: op.delayed });
        }
    }

    /// Pages of the mapping table are written.
    pub(super) fn map_written(&mut self, class: Class, pages: &[u32]) {
        for &page in pages {
            let mut slot = page;
            while slot != NONE {
                let op = *self.slab.get(slot);
                if self.notes.is_some() && class.is_host() {
                    self.witness_end(slot, &op, false, false);
                }
                self.slab.remove(slot);
                slot = op.next;
            }
        }
    }

    /// Programs of the mapping table need not wait for company any more.
    pub(super) fn push_table_out(&mut self) {
        if !self.follows_units {
            return;
        }
        self.shared_dirty |= self.shared_count > 0;
        if let Some(stage) = &mut self.stage {
            stage.dirty = true;
        }
        for die in 0..self.dies.len() as u32 {
            if self.waiting[die as usize] != Ready::NOTHING {
                self.mark(die);
            }
        }
    }
}
