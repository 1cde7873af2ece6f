//! Writes of drives whose write buffer keeps logical pages as an external policy says.

use super::Drive;

impl Drive {
    /// As [`Drive::write`], where the policy is asked what the buffer keeps, and then what leaves it.
    #[cold]
    pub(super) fn write_or_keep(&mut self, slot: u32) -> bool {
        let state = self.slots[slot as usize];
        let unit_bytes = u64::from(self.plan.unit_bytes);
        let (start, end) = (state.request.offset, state.request.offset + u64::from(state.request.bytes));
        let units_end = end.div_ceil(unit_bytes) as u32;
        let wholes = start.div_ceil(unit_bytes) as u32..(end / unit_bytes) as u32;
        let (mut unit, mut done) = (state.next_unit, 0);
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
        unit == units_end
    }
}
