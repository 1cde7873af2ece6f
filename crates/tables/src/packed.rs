//! Packed rows of requests for the writer thread: data passed between CPUs cost one transfer per cache line.

use wordline_base::{Op, Time};
use wordline_drive::observe::RequestRow;
use wordline_drive::parts::{Part, PARTS};

/// Words sent to the other thread at a time, plus the end of a row.
const ROOM: usize = 1 << 15;
/// Fixed words of a row.
const HEAD: usize = 10;
/// The longest row: the head, the start in the flash, and all parts, of two words each.
const LONGEST: usize = HEAD + 2 * (1 + PARTS);
const GC_AFFECTED: u32 = 1 << 2;
const IN_FLASH: u32 = 1 << 3;
const STREAM: u32 = 16;
/// One word has a bit for each part that is not 0, another for each part of two words.
const _: () = assert!(PARTS <= u32::BITS as usize);

/// Packed rows. The times of slot and completion follow from a request's parts; most parts are below 4.3 ms, 32 bits of
/// picoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packed {
    words: Vec<u32>,
    /// Number of used words.
    used: usize,
}

fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

impl Packed {
    /// No rows, with space for one batch.
    pub fn new() -> Self {
        Self { words: vec![0; ROOM + LONGEST], used: 0 }
    }

    pub fn clear(&mut self) {
        self.used = 0;
    }

    /// True if a batch is complete.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.used >= ROOM
    }

    /// Adds a row, unless it is full.
    #[inline]
    pub fn push(&mut self, row: &RequestRow) {
        debug_assert_eq!(row.arrival + row.parts.iter().sum::<Time>(), row.completion);
        let words = &mut self.words[self.used..][..LONGEST];
        let mut flags = row.op as u32 | u32::from(row.stream) << STREAM;
        if row.gc_affected {
            flags |= GC_AFFECTED;
        }
        let mut count = HEAD;
        if let Some(start) = row.flash_start {
            flags |= IN_FLASH;
            words[count..count + 2].copy_from_slice(&halves(start));
            count += 2;
        }
        let (mut told, mut wide_ones) = (0, 0);
        for (part, &time) in row.parts.iter().enumerate() {
            // Written in any case, and kept if not 0.
            let [low, high] = halves(time);
            let (some, wide) = (u32::from(time > 0), u32::from(high > 0));
            words[count] = low;
            count += some as usize;
            words[count] = high;
            count += wide as usize;
            told |= some << part;
            wide_ones |= wide << part;
        }
        words[0] = flags;
        words[1] = row.bytes;
        (words[2], words[3]) = (told, wide_ones);
        words[4..6].copy_from_slice(&halves(row.number));
        words[6..8].copy_from_slice(&halves(row.offset));
        words[8..HEAD].copy_from_slice(&halves(row.arrival));
        self.used += count;
    }

    /// Takes the rows out, in order.
    pub fn unpack(&self, rows: &mut Vec<RequestRow>) {
        let mut words = self.words[..self.used].iter().map(|&word| u64::from(word));
        let mut next = || words.next();
        while let Some(flags) = next() {
            let mut word = || next().expect("a row is complete");
            let flags = flags as u32;
            let bytes = word() as u32;
            let (told, wide) = (word(), word());
            let mut long = || word() | word() << 32;
            let (number, offset, arrival) = (long(), long(), long());
            let flash_start = (flags & IN_FLASH > 0).then(&mut long);
            let mut parts = [0; PARTS];
            for (part, time) in parts.iter_mut().enumerate() {
                if told >> part & 1 > 0 {
                    *time = word();
                }
                if wide >> part & 1 > 0 {
                    *time |= word() << 32;
                }
            }
            rows.push(RequestRow {
                number,
                stream: (flags >> STREAM) as u16,
                op: Op::ALL[(flags & 3) as usize],
                offset,
                bytes,
                arrival,
                submitted: arrival + parts[Part::WAITING.index()],
                flash_start,
                completion: arrival + parts.iter().sum::<Time>(),
                gc_affected: flags & GC_AFFECTED > 0,
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
                let parts: [Time; PARTS] = std::array::from_fn(|_| [0, some(1 << 20), some(1 << 50)][some(3) as usize]);
                let arrival = some(1 << 60);
                RequestRow {
                    number,
                    stream: some(1 << 16) as u16,
                    op: Op::ALL[some(4) as usize],
                    offset: some(u64::MAX),
                    bytes: some(1 << 32) as u32,
                    arrival,
                    submitted: arrival + parts[Part::WAITING.index()],
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
