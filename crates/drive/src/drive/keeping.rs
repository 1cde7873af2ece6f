//! Reads and writes of drives whose write buffer keeps logical pages as an external policy says.

use super::Drive;
use std::ops::Range;
use wordline_base::Request;

impl Drive {
    /// As [`Drive::write`], where the policy is asked what the buffer keeps, and then what leaves it.
    #[cold]
    pub(super) fn write_or_keep(&mut self, slot: u32) -> bool {
        let state = self.slots[slot as usize];
        let end = state.request.offset + u64::from(state.request.bytes);
        let units_end = end.div_ceil(u64::from(self.plan.unit_bytes)) as u32;
        let wholes = self.whole_units(&state.request);
        let mut unit = state.next_unit;
        loop {
            let mut done = 0;
            self.kernel.cover(wholes.clone());
            while unit < units_end && (self.kernel.buffer().has_room() || self.kernel.keeps(unit)) {
                let whole = wholes.contains(&unit);
                done += u32::from(self.kernel.write_or_keep(self.now, slot, unit, whole, state.request.fua));
                unit += 1;
            }
            self.kernel.cover(0..0);
            let state = &mut self.slots[slot as usize];
            state.next_unit = unit;
            state.units -= done;
            self.kernel.make_room(self.now, unit < units_end);
            // What was only read makes room at once.
            if unit == units_end || !self.kernel.buffer().has_room() {
                return unit == units_end;
            }
        }
    }

    /// Asks the policy which of the whole logical pages are kept that reads have brought from flash. Room that it makes beyond what
    /// one takes is for writes that wait for some.
    #[cold]
    pub(super) fn keep_reads(&mut self) {
        while let Some(read) = self.kernel.take_from_flash() {
            let wholes = self.whole_units(&self.slots[read.request as usize].request);
            for unit in read.unit.max(wholes.start)..(read.unit + read.units).min(wholes.end) {
                self.kernel.keep_read(self.now, unit, read.source, !self.blocked.is_empty());
                if self.kernel.buffer().has_room() {
                    self.unblock();
                }
            }
        }
    }

    /// The units that a request covers as a whole.
    fn whole_units(&self, request: &Request) -> Range<u32> {
        let unit_bytes = u64::from(self.plan.unit_bytes);
        let end = request.offset + u64::from(request.bytes);
        request.offset.div_ceil(unit_bytes) as u32..(end / unit_bytes) as u32
    }
}
