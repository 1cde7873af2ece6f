//! Who works on which bytes of which stripes with parity: work on the same bytes follows in the order of its coming, since parity is
//! read and written in two steps.

use std::ops::Range;

/// Ranges are rounded outwards to this many bytes, as an array of Linux keeps stripes in pages.
const ROW: u64 = 4096;

/// A range of bytes of the chunks of some stripes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Claim {
    job: u32,
    stripes: Range<u64>,
    rows: Range<u64>,
    held: bool,
}

impl Claim {
    fn meets(&self, other: &Self) -> bool {
        let apart = |a: &Range<u64>, b: &Range<u64>| a.end <= b.start || b.end <= a.start;
        !apart(&self.stripes, &other.stripes) && !apart(&self.rows, &other.rows)
    }
}

/// Claims in the order of their coming.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    list: Vec<Claim>,
    waiting: usize,
}

impl Claims {
    /// A job claims bytes `rows` of the chunks of `stripes`; true if it has them at once.
    pub fn claim(&mut self, job: u32, stripes: Range<u64>, rows: Range<u64>) -> bool {
        let rows = rows.start / ROW * ROW..rows.end.div_ceil(ROW) * ROW;
        let mut claim = Claim { job, stripes, rows, held: false };
        claim.held = !self.list.iter().any(|other| other.meets(&claim));
        self.waiting += usize::from(!claim.held);
        self.list.push(claim);
        self.list[self.list.len() - 1].held
    }

    /// A job is done; `begins` gets those that have their bytes now.
    ///
    /// # Panics
    /// If the job holds nothing.
    pub fn release(&mut self, job: u32, begins: &mut Vec<u32>) {
        let at = self.list.iter().position(|claim| claim.job == job && claim.held).expect("the job holds a claim");
        let gone = self.list.remove(at);
        if self.waiting == 0 {
            return;
        }
        for at in at..self.list.len() {
            let claim = &self.list[at];
            if claim.held || !claim.meets(&gone) || self.list[..at].iter().any(|other| other.meets(claim)) {
                continue;
            }
            self.list[at].held = true;
            self.waiting -= 1;
            begins.push(self.list[at].job);
        }
    }

    /// True if nobody claims anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_meet_follow_each_other_in_order() {
        let mut claims = Claims::default();
        let mut begins = Vec::new();
        assert!(claims.claim(0, 5..6, 0..4096));
        assert!(claims.claim(1, 5..6, 4096..8192), "other bytes of the stripe");
        assert!(claims.claim(2, 6..7, 0..4096), "another stripe");
        assert!(!claims.claim(3, 5..6, 100..200), "the same page of the chunks");
        assert!(!claims.claim(4, 4..9, 0..65_536), "a trim of several stripes");
        assert!(!claims.claim(5, 5..6, 0..512), "behind the one that waits");
        claims.release(0, &mut begins);
        assert_eq!(begins, [3]);
        claims.release(2, &mut begins);
        claims.release(1, &mut begins);
        assert_eq!(begins, [3], "the trim waits for job 3");
        claims.release(3, &mut begins);
        assert_eq!(begins, [3, 4]);
        claims.release(4, &mut begins);
        assert_eq!(begins, [3, 4, 5]);
        claims.release(5, &mut begins);
        assert!(claims.is_empty());
    }
}
