//! A failed member, and its rebuild on a spare: which stripes are on the spare, and when the next may begin.

use wordline_base::Time;

/// The failure of a member that is to come, or has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The member.
    pub member: u32,
    /// From the start of the run until it fails.
    pub after: Time,
    /// When that is, once a run has begun.
    pub at: Option<Time>,
    /// True if it has failed.
    pub failed: bool,
}

/// A rebuild.
#[derive(Clone, Debug)]
pub struct Rebuild {
    /// Time from the start of a stripe to that of the next, at least.
    gap: Time,
    /// Most stripes at a time.
    depth: usize,
    stripes: u64,
    /// The first stripe that has not begun.
    next: u64,
    /// When it may begin.
    due: Time,
    /// Stripes that have begun and are not done.
    under_way: Vec<u64>,
    /// When it began.
    pub begun: Time,
    /// When it was done.
    pub ended: Option<Time>,
    stopped: bool,
}

impl Rebuild {
    /// A rebuild of so many stripes from `now` on, of `chunk` bytes each on the spare, at most `rate` bytes a second.
    pub fn new(now: Time, stripes: u64, chunk: u64, rate: Option<f64>, depth: u32) -> Self {
        let gap = rate.map_or(0, |rate| (chunk as f64 / rate * 1e12).round() as Time);
        let under_way = Vec::with_capacity(depth as usize);
        Self {
            gap,
            depth: depth as usize,
            stripes,
            next: 0,
            due: now,
            under_way,
            begun: now,
            ended: None,
            stopped: false,
        }
    }

    /// True if the spare holds a stripe.
    pub fn holds(&self, stripe: u64) -> bool {
        stripe < self.next && !self.under_way.contains(&stripe)
    }

    /// When the next stripe may begin, if one is left and not too many are under way.
    pub fn due(&self) -> Option<Time> {
        let free = !self.stopped && self.next < self.stripes && self.under_way.len() < self.depth;
        free.then_some(self.due)
    }

    /// Begins the next stripe, if it is due.
    pub fn begin(&mut self, now: Time) -> Option<u64> {
        self.due().filter(|&due| due <= now)?;
        let stripe = self.next;
        self.next += 1;
        self.due = now + self.gap;
        self.under_way.push(stripe);
        Some(stripe)
    }

    /// A stripe is on the spare.
    pub fn done(&mut self, stripe: u64, now: Time) {
        self.under_way.retain(|&other| other != stripe);
        if self.under_way.is_empty() && self.next == self.stripes {
            self.ended = Some(now);
        }
    }

    /// Stripes on the spare.
    pub fn stripes_done(&self) -> u64 {
        self.next - self.under_way.len() as u64
    }

    /// Begins no more stripes.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Goes on after a stop.
    pub fn resume(&mut self, now: Time) {
        if std::mem::take(&mut self.stopped) {
            self.due = self.due.max(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_base::time::MS;

    #[test]
    fn stripes_begin_at_the_pace_and_not_too_many_at_a_time() {
        // 64 KiB at 64 MiB a second: 1,024 stripes a second.
        let mut rebuild = Rebuild::new(MS, 3, 64 << 10, Some(64.0 * 1_048_576.0), 2);
        let gap = 976_562_500;
        assert_eq!((rebuild.begin(MS), rebuild.begin(MS)), (Some(0), None));
        assert_eq!(rebuild.due(), Some(MS + gap));
        assert_eq!(rebuild.begin(MS + gap), Some(1));
        assert_eq!(rebuild.due(), None, "two are under way");
        assert!(!rebuild.holds(0) && !rebuild.holds(1));
        rebuild.done(1, 5 * MS);
        assert!(!rebuild.holds(0) && rebuild.holds(1) && !rebuild.holds(2));
        assert_eq!(rebuild.begin(5 * MS), Some(2));
        rebuild.done(0, 6 * MS);
        assert_eq!((rebuild.stripes_done(), rebuild.ended), (2, None));
        rebuild.done(2, 7 * MS);
        assert_eq!((rebuild.stripes_done(), rebuild.ended), (3, Some(7 * MS)));
    }
}
