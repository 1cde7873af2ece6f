//! Rows of requests on their way to the thread that writes them: packed, because what one processor writes and another reads is dear
//! by the cache line.

use wordline_base::{Op, Time};
use wordline_drive::observe::RequestRow;
use wordline_drive::parts::{Part, PARTS};

/// Words that go to the other thread at a time; a few more in fact, the end of a row.
const ROOM: usize = 1 << 14;
/// The longest row: four words, the start in the flash, and all parts.
const LONGEST: usize = 5 + PARTS;
const GC_AFFECTED: u64 = 1 << 2;
const IN_FLASH: u64 = 1 << 3;
/// The parts that are not 0 follow as bits.
const FIRST_PART: u32 = 4;

/// Packed rows. When a request got its slot, and when it was done, follow from its parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packed {
    words: Vec<u64>,
    /// So many of the words are of rows.
    used: usize,
}

impl Packed {
    /// No rows, with room for as many as go at a time.
    pub fn new() -> Self {
        Self { words: vec![0; ROOM + LONGEST], used: 0 }
    }

    pub fn clear(&mut self) {
        self.used = 0;
    }

    /// Whether it holds as many as go at a time.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.used >= ROOM
    }

    /// Adds a row, unless it is full.
    #[inline]
    pub fn push(&mut self, row: &RequestRow) {
        debug_assert_eq!(row.arrival + row.parts.iter().sum::<Time>(), row.completion);
        let words = &mut self.words[self.used..][..LONGEST];
        let mut flags = row.op as u64;
        if row.gc_affected {
            flags |= GC_AFFECTED;
        }
        let mut count = 4;
        if let Some(start) = row.flash_start {
            flags |= IN_FLASH;
            words[count] = start;
            count += 1;
        }
        for (part, &time) in row.parts.iter().enumerate() {
            // Written in any case, and kept if it is something.
            words[count] = time;
            let some = u64::from(time > 0);
            count += some as usize;
            flags |= some << (FIRST_PART + part as u32);
        }
        // So many requests that 48 bits do not count them take centuries.
        words[0] = row.number << 16 | u64::from(row.stream);
        words[1] = row.offset;
        words[2] = row.arrival;
        words[3] = u64::from(row.bytes) << 32 | flags;
        self.used += count;
    }

    /// Takes the rows out, in their order.
    pub fn unpack(&self, rows: &mut Vec<RequestRow>) {
        let mut words = self.words[..self.used].iter().copied();
        let mut next = || words.next();
        while let Some(first) = next() {
            let mut word = || next().expect("a row is complete");
            let (offset, arrival, last) = (word(), word(), word());
            let flash_start = (last & IN_FLASH > 0).then(&mut word);
            let mut parts = [0; PARTS];
            for (part, time) in parts.iter_mut().enumerate() {
                if last >> (FIRST_PART + part as u32) & 1 == 1 {
                    *time = word();
                }
            }
            rows.push(RequestRow {
                number: first >> 16,
                stream: first as u16,
                op: Op::ALL[(last & 3) as usize],
                offset,
                bytes: (last >> 32) as u32,
                arrival,
                submitted: arrival + parts[Part::Waiting as usize],
                flash_start,
                completion: arrival + parts.iter().sum::<Time>(),
                gc_affected: last & GC_AFFECTED > 0,
                parts,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_base::Stream;

    #[test]
    fn rows_come_out_as_they_went_in() {
        let mut random = Stream::new(1, "packed", 0);
        let mut some = move |below: u64| random.below(below);
        let rows: Vec<RequestRow> = (0..3_000)
            .map(|number| {
                let parts: [Time; PARTS] = std::array::from_fn(|_| if some(3) == 0 { some(1 << 50) } else { 0 });
                let arrival = some(1 << 60);
                RequestRow {
                    number,
                    stream: some(1 << 16) as u16,
                    op: Op::ALL[some(4) as usize],
                    offset: some(u64::MAX),
                    bytes: some(1 << 32) as u32,
                    arrival,
                    submitted: arrival + parts[Part::Waiting as usize],
                    flash_start: (some(2) == 0).then(|| some(1 << 60)),
                    completion: arrival + parts.iter().sum::<Time>(),
                    gc_affected: some(2) == 0,
                    parts,
                }
            })
            .collect();
        let mut packed = Packed::new();
        let mut found = Vec::new();
        for row in &rows {
            packed.push(row);
            if packed.is_full() {
                packed.unpack(&mut found);
                packed.clear();
            }
        }
        packed.unpack(&mut found);
        assert_eq!(found, rows);
    }
}
