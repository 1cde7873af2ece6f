//! The reads and writes that a request takes in one stripe with parity.
//!
//! For each run of bytes of the chunks, the parity is made from what takes fewest reads: the old data and the old parity
//! (read-modify-write), or the data that stay (reconstruct-write); of two that take as many, the first. A whole stripe takes none.

use super::layout::{Parity, Piece};

/// How the parity of some bytes was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Methods {
    /// All data are new: nothing is read.
    pub full: bool,
    /// From old data and old parity.
    pub modify: bool,
    /// From the data that stay.
    pub reconstruct: bool,
}

/// What is done in a stripe: all reads, then all writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StripePlan {
    /// Ranges to read, by member.
    pub reads: Vec<Piece>,
    /// Ranges to write, by member.
    pub writes: Vec<Piece>,
    /// How parity is made.
    pub methods: Methods,
    /// Bytes read of a member's chunk with parity.
    pub parity_read: u64,
    /// Bytes written there.
    pub parity_written: u64,
}

impl StripePlan {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
        (self.methods, self.parity_read, self.parity_written) = (Methods::default(), 0, 0);
    }
}

/// The range of a stripe that a request covers: stripe, and first and last byte of its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The stripe.
    pub stripe: u64,
    /// First byte.
    pub from: u64,
    /// Byte behind the last.
    pub to: u64,
}

impl Span {
    /// The bytes of the chunks that it touches, of any chunk.
    #[must_use]
    pub fn rows(&self, parity: &Parity) -> (u64, u64) {
        let (first, last) = (self.from / parity.chunk, (self.to - 1) / parity.chunk);
        if first != last {
            return (0, parity.chunk);
        }
        (self.from - first * parity.chunk, self.to - first * parity.chunk)
    }
}

/// Makes neighbours and overlaps on a member one range.
fn tidy(pieces: &mut Vec<Piece>) {
    pieces.sort_unstable();
    let mut kept = 0;
    for at in 0..pieces.len() {
        let piece = pieces[at];
        if kept > 0 && pieces[kept - 1].member == piece.member {
            let last = &mut pieces[kept - 1];
            if piece.offset <= last.offset + last.bytes {
                last.bytes = last.bytes.max(piece.offset + piece.bytes - last.offset);
                continue;
            }
        }
        pieces[kept] = piece;
        kept += 1;
    }
    pieces.truncate(kept);
}

/// The runs of bytes of a chunk in which `span` covers the same chunks, and whether it covers one.
struct Runs {
    first: u64,
    last: u64,
    from: u64,
    to: u64,
    cuts: [u64; 4],
}

impl Runs {
    fn new(parity: &Parity, span: Span) -> Self {
        let (first, last) = (span.from / parity.chunk, (span.to - 1) / parity.chunk);
        let (from, to) = (span.from - first * parity.chunk, span.to - last * parity.chunk);
        let (low, high) = (from.min(to), from.max(to));
        Self { first, last, from, to, cuts: [0, low, high, parity.chunk] }
    }

    fn covers(&self, chunk: u64, run: u64) -> bool {
        let begun = chunk > self.first || (chunk == self.first && run >= self.from);
        let going = chunk < self.last || (chunk == self.last && run < self.to);
        begun && going
    }

    fn each(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.cuts.windows(2).map(|pair| (pair[0], pair[1])).filter(|(from, to)| from < to)
    }
}

/// The plan of a write; `missing` is the member that cannot be used.
pub fn write(parity: &Parity, span: Span, missing: Option<u32>, plan: &mut StripePlan) {
    plan.clear();
    let data = parity.members - 1;
    let holder = parity.parity_of(span.stripe);
    let base = span.stripe * parity.chunk;
    let runs = Runs::new(parity, span);
    for (from, to) in runs.each() {
        let piece = |member| Piece { member, offset: base + from, bytes: to - from };
        let covers = |chunk: u32| runs.covers(u64::from(chunk), from);
        let written = (0..data).filter(|&chunk| covers(chunk)).count() as u32;
        if written == 0 {
            continue;
        }
        let of = |chunk| parity.member_of(span.stripe, chunk);
        let present = |member: u32| missing != Some(member);
        plan.writes.extend((0..data).filter(|&chunk| covers(chunk)).map(of).filter(|&m| present(m)).map(piece));
        if !present(holder) {
            continue;
        }
        plan.writes.push(piece(holder));
        plan.parity_written += to - from;
        let lost = (0..data).find(|&chunk| !present(of(chunk)));
        // The old data of a missing member cannot be read: if they are overwritten, parity is made of the rest; if they stay, it
        // must be made of the old parity.
        let modify = match lost {
            Some(chunk) => !covers(chunk),
            None => written < data && written < data - written,
        };
        if modify {
            plan.methods.modify = true;
            plan.parity_read += to - from;
            plan.reads.extend((0..data).filter(|&chunk| covers(chunk)).map(of).map(piece));
            plan.reads.push(piece(holder));
        } else {
            let stay = (0..data).filter(|&chunk| !covers(chunk));
            plan.reads.extend(stay.map(of).map(piece));
            if written == data {
                plan.methods.full = true;
            } else {
                plan.methods.reconstruct = true;
            }
        }
    }
    tidy(&mut plan.reads);
    tidy(&mut plan.writes);
}

/// The plan of a read in a stripe one of whose members is missing: its data are made from all others. Gives the bytes so made.
pub fn read(parity: &Parity, span: Span, missing: u32, plan: &mut StripePlan) -> u64 {
    plan.clear();
    let base = span.stripe * parity.chunk;
    let mut made = 0;
    for chunk in span.from / parity.chunk..=(span.to - 1) / parity.chunk {
        let from = span.from.max(chunk * parity.chunk) - chunk * parity.chunk;
        let to = span.to.min((chunk + 1) * parity.chunk) - chunk * parity.chunk;
        let piece = |member| Piece { member, offset: base + from, bytes: to - from };
        let member = parity.member_of(span.stripe, chunk as u32);
        if member == missing {
            made += to - from;
            plan.reads.extend((0..parity.members).filter(|&other| other != missing).map(piece));
            plan.parity_read += to - from;
        } else {
            plan.reads.push(piece(member));
        }
    }
    tidy(&mut plan.reads);
    made
}

/// The plan to rebuild the chunk of a member.
pub fn rebuild(parity: &Parity, stripe: u64, missing: u32, plan: &mut StripePlan) {
    plan.clear();
    let piece = |member| Piece { member, offset: stripe * parity.chunk, bytes: parity.chunk };
    plan.reads.extend((0..parity.members).filter(|&member| member != missing).map(piece));
    plan.writes.push(piece(missing));
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_base::Stream;

    const K: u64 = 1 << 10;

    fn of(members: u32) -> Parity {
        Parity { members, chunk: 16 * K, stripes: 8 }
    }

    fn plan(members: u32, span: (u64, u64, u64), missing: Option<u32>) -> StripePlan {
        let mut plan = StripePlan::default();
        write(&of(members), Span { stripe: span.0, from: span.1, to: span.2 }, missing, &mut plan);
        plan
    }

    fn told(pieces: &[Piece]) -> Vec<(u32, u64, u64)> {
        pieces.iter().map(|piece| (piece.member, piece.offset / K, piece.bytes / K)).collect()
    }

    /// Five members: a small write reads old data and old parity and writes both, two reads and two writes.
    #[test]
    fn a_small_write_is_two_reads_and_two_writes() {
        let done = plan(5, (0, 20 * K, 24 * K), None);
        assert_eq!(told(&done.reads), [(1, 4, 4), (4, 4, 4)]);
        assert_eq!(told(&done.writes), [(1, 4, 4), (4, 4, 4)]);
        assert_eq!(done.methods, Methods { modify: true, ..Methods::default() });
        assert_eq!((done.parity_read, done.parity_written), (4 * K, 4 * K));
    }

    #[test]
    fn a_whole_stripe_reads_nothing() {
        let done = plan(4, (1, 0, 48 * K), None);
        assert_eq!(told(&done.reads), []);
        assert_eq!(told(&done.writes), [(0, 16, 16), (1, 16, 16), (2, 16, 16), (3, 16, 16)]);
        assert_eq!(done.methods, Methods { full: true, ..Methods::default() });
    }

    /// Five members: three chunks of four are written, so reading the fourth takes one read, and the other way four.
    #[test]
    fn most_of_a_stripe_is_reconstructed() {
        let done = plan(5, (0, 0, 48 * K), None);
        assert_eq!(told(&done.reads), [(3, 0, 16)]);
        assert_eq!(done.methods, Methods { reconstruct: true, ..Methods::default() });
        // Three members: a small write takes one read this way, and two the other.
        let done = plan(3, (0, 0, 4 * K), None);
        assert_eq!(told(&done.reads), [(1, 0, 4)]);
        // Four members: two reads either way.
        let done = plan(4, (0, 0, 4 * K), None);
        assert_eq!(told(&done.reads), [(0, 0, 4), (3, 0, 4)]);
        assert!(done.methods.modify);
    }

    /// From the last quarter of a chunk to the first quarter of the next but one: each run of bytes has its own chunks.
    #[test]
    fn runs_of_a_ragged_write_differ() {
        let done = plan(5, (0, 12 * K, 36 * K), None);
        // 0 to 4 KiB: chunks 1 and 2; 4 to 12: chunk 1; 12 to 16: chunks 0 and 1. Two of four are reconstructed, one is modified.
        assert_eq!(done.methods, Methods { modify: true, reconstruct: true, full: false });
        assert_eq!(told(&done.reads), [(0, 0, 4), (1, 4, 8), (2, 12, 4), (3, 0, 4), (3, 12, 4), (4, 4, 8)]);
        assert_eq!(told(&done.writes), [(0, 12, 4), (1, 0, 16), (2, 0, 4), (4, 0, 16)]);
    }

    /// Byte by byte, with real parity: whatever is written, whichever member is missing, every byte can be read back.
    #[test]
    fn parity_is_right_after_any_writes() {
        const CHUNK: usize = 16;
        let mut random = Stream::new(7, "stripe-plan", 0);
        let mut seen = [0_u32; 4];
        for round in 0..400_u64 {
            let members = 3 + (round % 4) as u32;
            let parity = Parity { members, chunk: CHUNK as u64, stripes: 1 };
            let data = (members - 1) as usize;
            let stripe = round % u64::from(members);
            let at = |member: u32, byte: usize| member as usize * CHUNK + byte;
            let mut disk = vec![0_u8; members as usize * CHUNK];
            let mut want = vec![0_u8; data * CHUNK];
            let missing = (round % 3 == 0).then(|| random.below(u64::from(members)) as u32);
            let mut plan = StripePlan::default();
            let base = stripe * parity.chunk;
            for _ in 0..12 {
                let from = random.below((data * CHUNK) as u64);
                let to = from + 1 + random.below((data * CHUNK) as u64 - from);
                write(&parity, Span { stripe, from, to }, missing, &mut plan);
                let seen_by = |pieces: &[Piece], member: u32, byte: usize| {
                    let place = base + byte as u64;
                    pieces.iter().any(|p| p.member == member && (p.offset..p.offset + p.bytes).contains(&place))
                };
                let before = disk.clone();
                let mut fresh = want.clone();
                (from..to).for_each(|byte| fresh[byte as usize] = random.below(256) as u8);
                for byte in 0..CHUNK {
                    let holder = parity.parity_of(stripe);
                    let covered = |chunk: usize| (from..to).contains(&((chunk * CHUNK + byte) as u64));
                    for chunk in 0..data {
                        let member = parity.member_of(stripe, chunk as u32);
                        let writes = seen_by(&plan.writes, member, byte);
                        assert_eq!(writes, covered(chunk) && missing != Some(member));
                        if writes {
                            disk[at(member, byte)] = fresh[chunk * CHUNK + byte];
                        }
                    }
                    let touched = (0..data).any(covered);
                    assert_eq!(seen_by(&plan.writes, holder, byte), touched && missing != Some(holder));
                    if !touched || missing == Some(holder) {
                        continue;
                    }
                    // Only what was read may be used.
                    let old = |member: u32| {
                        assert_ne!(missing, Some(member), "a missing member is read");
                        before[at(member, byte)]
                    };
                    let made = if seen_by(&plan.reads, holder, byte) {
                        let changed = (0..data).filter(|&chunk| covered(chunk));
                        changed.fold(old(holder), |sum, chunk| {
                            let member = parity.member_of(stripe, chunk as u32);
                            assert!(seen_by(&plan.reads, member, byte));
                            sum ^ old(member) ^ fresh[chunk * CHUNK + byte]
                        })
                    } else {
                        (0..data).fold(0, |sum, chunk| {
                            let member = parity.member_of(stripe, chunk as u32);
                            if covered(chunk) {
                                return sum ^ fresh[chunk * CHUNK + byte];
                            }
                            assert!(seen_by(&plan.reads, member, byte));
                            sum ^ old(member)
                        })
                    };
                    disk[at(holder, byte)] = made;
                }
                want = fresh;
                seen[0] += u32::from(plan.methods.full);
                seen[1] += u32::from(plan.methods.modify);
                seen[2] += u32::from(plan.methods.reconstruct);
            }
            // A member that was there all the time fails now, too.
            let gone = missing.unwrap_or(random.below(u64::from(members)) as u32);
            for (nth, &byte) in want.iter().enumerate() {
                let member = parity.member_of(stripe, (nth / CHUNK) as u32);
                let made = read(&parity, Span { stripe, from: nth as u64, to: nth as u64 + 1 }, gone, &mut plan);
                let read: u8 = plan.reads.iter().fold(0, |sum, piece| {
                    assert_ne!(piece.member, gone);
                    sum ^ disk[at(piece.member, (piece.offset - base) as usize)]
                });
                assert_eq!(read, byte, "round {round}, byte {nth}");
                assert_eq!(made > 0, member == gone);
                seen[3] += made as u32;
            }
        }
        assert!(seen.iter().all(|&count| count > 100), "{seen:?}");
    }

    #[test]
    fn a_read_of_a_missing_chunk_reads_all_others_once() {
        let mut plan = StripePlan::default();
        // Chunk 0 is there, chunk 1 (on member 1) is not; chunk 2 is wanted itself and for chunk 1.
        let made = read(&of(4), Span { stripe: 0, from: 8 * K, to: 48 * K }, 1, &mut plan);
        assert_eq!(made, 16 * K);
        assert_eq!(told(&plan.reads), [(0, 0, 16), (2, 0, 16), (3, 0, 16)]);
        rebuild(&of(4), 2, 1, &mut plan);
        assert_eq!(told(&plan.reads), [(0, 32, 16), (2, 32, 16), (3, 32, 16)]);
        assert_eq!(told(&plan.writes), [(1, 32, 16)]);
    }
}
