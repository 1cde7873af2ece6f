//! Open blocks and promises from a snapshot.

use super::{Space, Stream, Tally, NONE, STREAMS};
use crate::blocks::{Blocks, Status};

impl Space {
    /// True if what was saved agrees with `blocks`, which were checked, and has the sizes of space like this.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn check_saved(&self, like: &Self, blocks: &Blocks) -> Result<(), String> {
        let sizes = |space: &Self| (space.open.len(), space.turns.len(), space.domains.len(), space.programs_per_block);
        if sizes(self) != sizes(like) {
            return Err("the open blocks are of another drive".into());
        }
        self.check_stripes(like, blocks)?;
        let mut room = vec![0_u64; self.domains.len()];
        for (slot, &block) in self.open.iter().enumerate().filter(|(_, &block)| block != NONE) {
            let plane = (slot / STREAMS) as u32;
            let record = blocks.records().get(block as usize).filter(|record| record.status == Status::Open);
            let Some(record) = record.filter(|_| blocks.plane_of(block) == plane) else {
                return Err(format!("block {block} is written to in plane {plane}, but is not open there"));
            };
            if self.is_for_collector(slot) {
                room[blocks.domain_of_plane(plane) as usize] += u64::from(self.programs_per_block - record.write_point);
            }
        }
        // As many entries as open blocks, each in its plane: a plane whose two entries are one block lacks another.
        let twice =
            self.open.chunks(STREAMS).find(|pair| pair[0] != NONE && pair.iter().all(|&block| block == pair[0]));
        if let Some(pair) = twice {
            return Err(format!("block {} is written to by host and collector", pair[0]));
        }
        if let Some(turn) = self.turns.iter().find(|&&turn| usize::from(turn) >= STREAMS) {
            return Err(format!("a plane writes to its open block {turn}, but has only {STREAMS}"));
        }
        room[0] += u64::from(self.room_in_stripes(blocks, Stream::Collector));
        for (domain, (tally, room)) in self.domains.iter().zip(room).enumerate() {
            let at_rest = Tally { collector_room: tally.collector_room, ..Tally::default() };
            if *tally != at_rest || u64::from(tally.collector_room) != room {
                return Err(format!("domain {domain} has {tally:?}, but the collector has {room} pages left there"));
            }
        }
        Ok(())
    }

    /// Goes on where space of the same configuration was saved with `blocks`; it was checked.
    pub fn restore(&mut self, saved: Self, blocks: &Blocks) {
        (self.open, self.turns, self.domains) = (saved.open, saved.turns, saved.domains);
        self.opened.take_over(&self.open);
        self.stripes = saved.stripes;
        self.count_host_room(blocks);
    }
}
