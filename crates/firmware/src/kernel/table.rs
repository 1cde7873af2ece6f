//! The mapping table in flash: loads of map units that a lookup lacks, and writes of those that leave memory with
//! changed entries.
//!
//! Map units are units behind those of the host: they have places, move with GC, and count as valid data. A request of
//! the host waits for the map units that it lacks; others go on. The task that needs a map unit reads it, and writes the
//! one that leaves for it. Nothing waits for an entry that changes: the map of the kernel is the truth, and the cost
//! follows. So no write depends on room in the cache, and no erase on a write of the table. The host does not wait for
//! a read that another task has queued: it reads the map unit itself.
//!
//! With map zones, a map unit is the table of a zone, and takes several units of flash: *pieces*. All are read, and all are written.

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
use wordline_base::{prefetch, Divisor};

/// What is under way for a map unit.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// It is being read, and memory does not have it yet: pieces that are still to come.
    loading: u32,
    /// Some of its reads are the host's.
    for_host: bool,
    /// An entry changed meanwhile.
    changed: bool,
    /// It left memory and waits to be written: pieces without their page. Until all have theirs, its data are at hand.
    leaving: u32,
    /// It left memory once more while only some had theirs, with other changes.
    leaves_again: bool,
}

impl State {
    fn is_loading(&self) -> bool {
        self.loading > 0
    }

    fn is_leaving(&self) -> bool {
        self.leaving > 0
    }
}

/// The mapping table of a drive that keeps it in flash.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// Units of the host.
    logical: u32,
    /// The unit that the first piece of the first map unit is.
    first: u32,
    entries: Divisor,
    /// Pieces of a map unit.
    pieces: Divisor,
    states: Vec<State>,
    /// By piece: true if it is still to be read.
    missing: Vec<bool>,
    /// Operations that wait for each map unit.
    waiting: Vec<Fifo>,
    /// Reads and writes of map units.
    under_way: u32,
}

impl Table {
    /// The table of a drive, if its mapping keeps it in flash.
    pub fn of(plan: &Plan, mapping: &MappingPolicy) -> Option<Box<Self>> {
        let entries = Divisor::new(mapping.entries()?);
        let units = plan.map_parts() as usize;
        Some(Box::new(Self {
            logical: plan.logical_units,
            first: plan.first_map_unit(),
            entries,
            pieces: Divisor::new(plan.zones.map_or(1, |zones| zones.table_units)),
            states: vec![State::default(); units],
            missing: vec![false; plan.map_units as usize],
            waiting: vec![Fifo::default(); units],
            under_way: 0,
        }))
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

    /// True of units of the host; false of those that the table lies in.
    #[inline]
    pub fn has_entry(&self, unit: u32) -> bool {
        unit < self.first
    }

    /// Asks for what is kept about the map unit with the entry of a unit of the host.
    #[inline]
    pub fn expect(&self, unit: u32, mapping: &MappingPolicy) {
        let map_unit = self.map_unit(unit);
        prefetch(&self.states, map_unit as usize);
        prefetch(&self.waiting, map_unit as usize);
        mapping.expect_entry(map_unit);
    }

    /// The same a little later, when what was asked for then is at hand.
    #[inline]
    pub fn expect_soon(&self, unit: u32, mapping: &MappingPolicy) {
        mapping.expect_entry_soon(self.map_unit(unit));
    }

    /// The same once more, when that is at hand, too.
    #[inline]
    pub fn expect_neighbours(&self, unit: u32, mapping: &MappingPolicy) {
        mapping.expect_neighbours(self.map_unit(unit));
    }

    /// The unit of flash that the map unit with the entry of a unit of the host begins with.
    #[inline]
    pub fn unit_of_map(&self, unit: u32) -> u32 {
        self.first + self.map_unit(unit) * self.pieces.get()
    }

    /// The units of the host whose entries a map unit has.
    fn units_of(&self, map_unit: u32) -> Range<u32> {
        let entries = self.entries.get();
        map_unit * entries..(map_unit + 1).saturating_mul(entries).min(self.logical)
    }

    /// The units of flash that a map unit takes.
    fn pieces_of(&self, map_unit: u32) -> Range<u32> {
        let pieces = self.pieces.get();
        self.first + map_unit * pieces..self.first + (map_unit + 1) * pieces
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
        let state = self.state(map_unit);
        if state.is_loading() {
            state.changed |= changes;
            if task == Task::HOST && !changes && !state.for_host {
                // A request waits for it, and the read of another task may wait for its turn for long.
                state.for_host = true;
                self.load(map_unit, task);
            }
            return false;
        }
        if state.is_leaving() {
            // Its write takes all entries as they are when it gets its page; what changes later is another change.
            self.admit(map_unit, task, changes);
            return true;
        }
        let pieces = self.table().pieces_of(map_unit);
        if self.map.place(pieces.start).is_none() {
            // It was never written: it has no entries yet.
            self.admit(map_unit, task, changes);
            return true;
        }
        let for_host = task == Task::HOST;
        let table = self.table();
        table.missing[(pieces.start - table.first) as usize..(pieces.end - table.first) as usize].fill(true);
        *self.state(map_unit) = State { loading: pieces.len() as u32, for_host, changed: changes, ..State::default() };
        self.load(map_unit, task);
        false
    }

    /// Reads the pieces of a map unit that are still to come.
    fn load(&mut self, map_unit: u32, task: Task) {
        for unit in self.table().pieces_of(map_unit) {
            let table = self.table();
            if table.missing[(unit - table.first) as usize] {
                let place = self.map.place(unit).expect("all pieces were written");
                self.read_piece(unit, place, task);
            }
        }
    }

    /// Reads a piece of a map unit, which is a unit of the drive.
    fn read_piece(&mut self, unit: u32, place: Place, task: Task) {
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
        self.expect_leaving();
        if !evicted.changed {
            return;
        }
        let pieces = self.table().pieces.get();
        let state = self.state(evicted.map_unit);
        if state.is_leaving() {
            // Pieces that have their page do not have these changes.
            state.leaves_again |= state.leaving < pieces;
            return;
        }
        self.write_back(evicted.map_unit, task);
    }

    /// Asks for what will be needed when the next map unit leaves memory.
    #[inline]
    fn expect_leaving(&self) {
        let (Some(table), Some(next)) = (&self.table, self.mapping.leaves_next()) else { return };
        prefetch(&table.states, next as usize);
        self.map.expect(table.pieces_of(next).start);
        self.mapping.expect_entry(next);
    }

    /// Writes all pieces of a map unit.
    fn write_back(&mut self, map_unit: u32, task: Task) {
        let pieces = self.table().pieces_of(map_unit);
        self.state(map_unit).leaving = pieces.len() as u32;
        self.counters.map_stores += 1;
        for unit in pieces {
            self.table().under_way += 1;
            self.counters.map_writes[task.index()] += 1;
            let stamp = self.shadow.as_mut().map_or(0, |shadow| shadow.version());
            let class = Class::map_write(task);
            let slot = self.slab.insert(FlashOp { class, unit, stamp, ..FlashOp::default() });
            self.enqueue(slot);
        }
    }

    /// A unit got another place: its entry changes, for the task of the operation. The places of map units are known in memory.
    #[inline]
    pub(super) fn entry_changed(&mut self, unit: u32, class: Class) {
        let Some(table) = &self.table else { return };
        if table.has_entry(unit) {
            let map_unit = table.map_unit(unit);
            if !self.mapping.change_entry(map_unit) {
                self.bring(map_unit, class.task(), true);
            }
        } else if class.is_map_write() {
            self.piece_bound(unit, class);
        }
    }

    /// A piece of a map unit got its page.
    #[inline(never)]
    fn piece_bound(&mut self, unit: u32, class: Class) {
        let table = self.table();
        let piece = unit - table.first;
        table.under_way -= 1;
        let (map_unit, pieces) = (table.pieces.quotient(piece), table.pieces.get());
        let state = self.state(map_unit);
        let is_first = state.leaving == pieces;
        state.leaving -= 1;
        let again = state.leaving == 0 && std::mem::take(&mut state.leaves_again);
        if is_first {
            // What changes from now on, the pieces before lack.
            self.mapping.written(map_unit);
        }
        if again {
            self.write_back(map_unit, class.task());
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
        if all.start <= units.start && units.end <= all.end && !state.is_loading() && !state.is_leaving() {
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
            } else if self.shelf.is_some() {
                self.note_read(at);
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
            if self.straight_by_stage {
                return self.read_by_stage(span, like);
            }
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
        let map_place = self.map.place(table.pieces_of(map_unit).start);
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
        let piece = op.unit - table.first;
        if !std::mem::take(&mut table.missing[piece as usize]) {
            // Another read of it ended before.
            return;
        }
        let map_unit = table.pieces.quotient(piece);
        let state = self.state(map_unit);
        state.loading -= 1;
        if state.is_loading() {
            return;
        }
        let changed = std::mem::take(self.state(map_unit)).changed;
        self.counters.map_loads += 1;
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
            if self.dies[die as usize].waiting != Ready::NOTHING {
                self.mark(die);
            }
        }
    }
}
