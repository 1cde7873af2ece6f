//! The room that dies have for what the commit stage sends to them, and what they have, counted for each die and task.

use super::{Load, Stage};
use crate::task::{Class, CLASSES, TASKS};

impl Stage {
    /// True if operations of background tasks wait at a die.
    pub fn has_background(&self, die: u32) -> bool {
        let waiting = &self.loads[die as usize].waiting;
        (0..CLASSES as u8).map(Class::numbered).any(|class| !class.is_host() && waiting[class.index()] > 0)
    }

    /// True if a die has room for another operation of a class, or for units of the page that waits there.
    #[inline]
    pub fn has_room(&self, die: u32, class: Class) -> bool {
        let load = &self.loads[die as usize];
        load.held < self.depth || (class.is_write() && self.lacking(die, class) > 0) || !self.holds(class)
    }

    /// True if a die of a drive whose writes each fill a page has room for one operation.
    #[inline(always)]
    pub fn has_one_place(&self, die: u32) -> bool {
        self.loads[die as usize].all + 1 == self.depth
    }

    /// True if a die has room for another program, whatever waits there for company.
    #[inline]
    pub fn has_room_for_program(&self, die: u32, class: Class) -> bool {
        self.loads[die as usize].held < self.depth || !self.holds(class)
    }

    /// Units that the page of a class lacks that waits at a die.
    #[inline]
    pub fn lacking(&self, die: u32, class: Class) -> u32 {
        let over = self.units_per_program.remainder(self.loads[die as usize].waiting[class.index()]);
        if over == 0 {
            0
        } else {
            self.units_per_program.get() - over
        }
    }

    /// The programs of so many units, and whether the last of them lacks some.
    #[inline]
    pub(super) fn pages(&self, units: u32) -> (u32, bool) {
        let whole = self.units_per_program.quotient(units);
        let partial = whole * self.units_per_program.get() < units;
        (whole + u32::from(partial), partial)
    }

    /// Operations of a class wait for a die from now on, or, if negative, no longer.
    #[inline(always)]
    pub fn count_waiting(&mut self, die: u32, class: Class, change: i32) {
        if class.is_write() {
            return self.count_units(die, class, change);
        }
        let waiting = &mut self.loads[die as usize].waiting[class.index()];
        *waiting = waiting.checked_add_signed(change).expect("an operation leaves a die that it waits for");
        self.shift(die, class, change);
    }

    /// The same of units of writes.
    fn count_units(&mut self, die: u32, class: Class, change: i32) {
        let waiting = &mut self.loads[die as usize].waiting[class.index()];
        let before = *waiting;
        let after = before.checked_add_signed(change).expect("an operation leaves a die that it waits for");
        *waiting = after;
        let (programs, partial) = self.grown(before, after, change);
        if programs == 0 && partial == 0 {
            return;
        }
        let load = &mut self.loads[die as usize];
        load.partial = load.partial.wrapping_add_signed(partial);
        self.shift(die, class, programs);
    }

    /// Programs more, and programs more that lack units, when units that wait for a die become more or less. A unit mostly comes or
    /// goes alone.
    #[inline]
    fn grown(&self, before: u32, after: u32, change: i32) -> (i32, i32) {
        let each = self.units_per_program.get();
        if each == 1 {
            return (change, 0);
        }
        if change.unsigned_abs() == each {
            // A whole program, whatever is left beside it.
            return (change.signum(), 0);
        }
        if change.abs() == 1 {
            // With more units it is the one before the first of a page that counts, with fewer the first.
            let over = self.units_per_program.remainder(before.min(after));
            let (first, last) = (i32::from(over == 0), i32::from(over + 1 == each));
            return (change * first, change * (first - last));
        }
        let ((before, partly), (after, partial)) = (self.pages(before), self.pages(after));
        (after as i32 - before as i32, i32::from(partial) - i32::from(partly))
    }

    /// A command with so many pages of a class runs from now on. Those of its reads that still count as waiting take their own places.
    #[inline]
    pub fn count_start(&mut self, die: u32, class: Class, pages: i32) {
        let starting = std::mem::take(&mut self.starting);
        if starting > 0 {
            let waiting = &mut self.loads[die as usize].waiting[class.index()];
            *waiting = waiting.checked_sub(starting).expect("an operation leaves a die that it waits for");
        }
        let more = pages - starting as i32;
        if more != 0 {
            self.shift(die, class, more);
        }
    }

    /// A command with so many pages of a task runs from now on, or, if negative, has ended.
    pub fn count_running(&mut self, die: u32, class: Class, change: i32) {
        self.shift(die, class, change);
    }

    #[inline(always)]
    fn shift(&mut self, die: u32, class: Class, change: i32) {
        let (load, task) = (&mut self.loads[die as usize], &mut self.outstanding[class.task().index()]);
        load.all = load.all.checked_add_signed(change).expect("a die gives back what it has");
        *task = task.checked_add_signed(change).expect("a task has what its dies have");
        if self.tags.is_some() {
            return self.shift_held(die, class, change);
        }
        load.held = load.all;
        self.balance += change;
        self.open_if(die, true);
    }

    /// Counts what a die has of a device queue, of which only some classes are held.
    #[inline(never)]
    fn shift_held(&mut self, die: u32, class: Class, change: i32) {
        if self.holds(class) {
            let load = &mut self.loads[die as usize];
            load.held = load.held.checked_add_signed(change).expect("a die gives back what it was sent");
            self.balance += change;
            if let Some(tags) = self.tags.as_mut().filter(|tags| tags.rules.by_package) {
                // Dies of a package that was taken before and after have no more and no less room.
                if let Some((dies, is_free)) = tags.count_sent(die, change) {
                    dies.for_each(|die| self.open_if(die, is_free));
                }
                return;
            }
        } else if change < 0 {
            // A page may have become free for a write.
            self.dirty |= !self.has_nothing();
        }
        self.weigh(die);
    }

    /// True if nothing waits, and no die has anything: so it must be at rest.
    pub fn is_empty(&self) -> bool {
        let idle = |load: &Load| load.all == 0 && load.partial == 0 && load.waiting == [0; CLASSES];
        self.has_nothing() && self.outstanding == [0; TASKS] && self.loads.iter().all(idle)
    }

    /// Notes whether a die of a device queue may have room.
    fn weigh(&mut self, die: u32) {
        self.open_if(die, self.tags.as_ref().is_none_or(|tags| tags.is_free(die)));
    }

    /// The same of any die, if it is known whether its package is free.
    #[inline]
    fn open_if(&mut self, die: u32, free: bool) {
        let load = &mut self.loads[die as usize];
        let open = (load.held < self.depth && free) || load.partial > 0;
        if load.open != open {
            load.open = open;
            self.dies[die as usize / 64].open ^= 1 << (die % 64);
        }
    }
}
