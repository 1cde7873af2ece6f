//! Lazy wear leveling: when GC has erased a block that is worn above the average, data that stay move into it.
//!
//! Source: Chang and Huang, LCTES 2011 (chang11), 3.2 and 3.3 (Algorithm 1), 4.1 (equation 1), 4.2.
//! Faithful: only erases of GC call for a move; the block's P/E cycles are compared with the average before the erase, and must
//! exceed it by more than `delta_cycles`; the logical block whose data move has no page in a log block, and is the next such one
//! in a permutation of all logical blocks; the block that it leaves is erased in place of the one that it takes. The search ends
//! after one period, and nothing moves then. Tuning: a session ends after so many erases by wear leveling; g is their ratio to
//! the erases of GC; the next threshold is the square root of g times this one times 100 over `-lambda_percent`.
//! Assumed: the permutation is a linear congruential generator modulo the next power of two, of which numbers that are too large
//! are left out; the average is over all blocks of the domain of GC, which data do not leave; a logical block is passed over while
//! something is under way for it, or while it has no data. With block mapping (not in the source) full data blocks in which all is
//! valid stand for such logical blocks, and their data go to the most worn free block. Simplified: the choice takes no time, and
//! P/E cycles need no reads of flash. Left out: other mappings, whose blocks take data of several others.

use super::{Erased, Leveling, Occasion, Session, Upkeep, UpkeepView};
use crate::policy::{About, Build};
use crate::task::Task;
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "lazy wear leveling: when GC has erased a block that is worn more than `delta_cycles` above the average, data that stay \
        move into it; with `lambda_percent` the threshold is tuned by sessions",
    source: "Chang and Huang, LCTES 2011 (chang11), 3 and 4",
    note: "Algorithm 1 and tuning as published, with log blocks; with block mapping full blocks in which all is valid stand for logical \
        blocks without sector mapping; not with page mapping",
};

/// Options of lazy wear leveling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// P/E cycles above the average of its domain (the drive, or the plane with collect.scope = "plane") beyond which a block that GC
    /// has erased takes data that stay, above 0: the threshold, with `lambda_percent` that of the first session.
    pub delta_cycles: f64,
    /// Limit on the growth of the overhead when the threshold falls, in percent per P/E cycle of threshold, below 0. After each session
    /// the threshold becomes the least that keeps to it. Absent: the threshold stays.
    pub lambda_percent: Option<f64>,
    /// Erases by wear leveling in a session, from 1.
    pub session_erases: u32,
    /// Outstanding page moves per block, 1 to 65,535.
    pub window_pages: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { delta_cycles: 16.0, lambda_percent: None, session_erases: 1_000, window_pages: 8 }
    }
}

/// Lazy wear leveling.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lazy {
    options: Options,
    /// By domain: where the permutation of places has come to.
    at: Vec<u32>,
    /// Erases of the session: of GC, and by wear leveling.
    session: (u64, u32),
    leveling: Leveling,
}

impl Lazy {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let Options { delta_cycles, lambda_percent, session_erases, window_pages } = *options;
        if !(delta_cycles > 0.0 && delta_cycles.is_finite()) {
            return Err(ConfigError::new("wear.delta_cycles", delta_cycles, "must be above 0; chang11 uses 16"));
        }
        if let Some(lambda) = lambda_percent.filter(|&lambda| !(lambda < 0.0 && lambda.is_finite())) {
            let problem = "must be below 0, such as -0.1; leave it out for a threshold that stays";
            return Err(ConfigError::new("wear.lambda_percent", lambda, problem));
        }
        if session_erases == 0 {
            return Err(ConfigError::new("wear.session_erases", session_erases, "must be at least 1"));
        }
        if !(1..=65_535).contains(&window_pages) {
            return Err(ConfigError::new("wear.window_pages", window_pages, "must be 1 to 65,535"));
        }
        if build.blocks_together > 1 {
            let problem = "does not go with superblocks, whose blocks are erased together: leave redundancy.policy out, or use \
                wear.policy = \"static\"";
            return Err(ConfigError::new("wear.policy", "lazy", problem));
        }
        Ok(Self::with(options, build.domains))
    }

    fn with(options: &Options, domains: u32) -> Self {
        Self {
            leveling: Leveling { delta: options.delta_cycles, ..Leveling::default() },
            options: options.clone(),
            at: vec![0; domains as usize],
            session: (0, 0),
        }
    }

    /// Goes on where the same policy of a drive with as many domains was, with its own options.
    pub(super) fn restore(&mut self, saved: Self) {
        if self.at.len() != saved.at.len() {
            return;
        }
        let goes_on = self.options.lambda_percent.is_some() && saved.leveling.delta.is_finite();
        let delta = if goes_on { saved.leveling.delta } else { self.options.delta_cycles };
        (self.at, self.session) = (saved.at, saved.session);
        self.leveling = Leveling { delta, ..saved.leveling };
    }

    /// True if a block is worn beyond the threshold, given its P/E cycles, those of all blocks of its domain, and how many these are.
    fn is_elder(&self, cycles: u32, (all, blocks): (u64, u32)) -> bool {
        f64::from(cycles) - all as f64 / f64::from(blocks) > self.leveling.delta
    }

    /// The first of `count` places, in the order of the permutation of a domain, that has something; none after one period.
    fn search(&mut self, domain: u32, count: u32, has: impl Fn(u32) -> Option<u32>) -> Option<u32> {
        let at = &mut self.at[domain as usize];
        (0..count).find_map(|_| {
            *at = next_place(*at, count);
            has(*at)
        })
    }

    /// Takes note of an erase; at the end of a session it tunes the threshold.
    fn count(&mut self, task: Task, deviation: impl FnOnce() -> f64) {
        if task == Task::GC {
            self.leveling.gc_erases += 1;
            self.session.0 += 1;
        }
        if task != Task::WEAR {
            return;
        }
        self.leveling.wear_erases += 1;
        self.session.1 += 1;
        let (of_gc, by_wear) = self.session;
        if by_wear < self.options.session_erases || of_gc == 0 {
            return;
        }
        self.session = (0, 0);
        let (delta, overhead) = (self.leveling.delta, f64::from(by_wear) / of_gc as f64);
        self.leveling.sessions.push(Session { delta, overhead, deviation: deviation() });
        if let Some(lambda) = self.options.lambda_percent {
            self.leveling.delta = tuned(delta, overhead, lambda);
        }
    }
}

/// The next number of a permutation of the numbers below `count`.
fn next_place(place: u32, count: u32) -> u32 {
    // Full period modulo any power of two: the factor is 1 modulo 4, and the summand odd (Hull and Dobell 1962).
    const FACTOR: u32 = 1_664_525;
    const SUMMAND: u32 = 1_013_904_223;
    // Above 2^31 the product wraps around just where it should.
    let mask = count.checked_next_power_of_two().unwrap_or(0).wrapping_sub(1);
    let mut next = place & mask;
    loop {
        next = next.wrapping_mul(FACTOR).wrapping_add(SUMMAND) & mask;
        if next < count {
            return next;
        }
    }
}

/// The threshold of the next session: where the overhead K / (2 delta) grows by `lambda` percent per P/E cycle of threshold.
fn tuned(delta: f64, overhead: f64, lambda: f64) -> f64 {
    (100.0 / -lambda).sqrt() * (overhead * delta).sqrt()
}

impl Upkeep for Lazy {
    fn occasion(&self) -> Occasion {
        Occasion::Erase
    }

    fn next(&mut self, _: &UpkeepView<'_>) -> Option<u32> {
        // It moves data when it is told of an erase.
        None
    }

    fn window(&self) -> u32 {
        self.options.window_pages
    }

    fn goes_with_logs(&self) -> bool {
        true
    }

    fn needs_whole_blocks(&self) -> bool {
        true
    }

    fn most(&self) -> u32 {
        1
    }

    fn opens_worn(&self) -> bool {
        true
    }

    fn follows_erases(&self) -> bool {
        true
    }

    fn erased(&mut self, view: &UpkeepView<'_>, Erased { block, task }: Erased) -> Option<u32> {
        self.count(task, || view.deviation());
        let domain = view.domain(block);
        let (all, blocks) = view.erases_in(domain);
        // As both were before this erase.
        if task != Task::GC || !self.is_elder(view.erases(block) - 1, (all - 1, blocks)) {
            return None;
        }
        let here = |place| view.staying(place).filter(|&from| view.domain(from) == domain);
        self.search(domain, view.places(), here)
    }

    fn leveling(&self) -> Option<&Leveling> {
        Some(&self.leveling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Tasks;
    use wordline_flash::{Geometry, GeometryConfig};

    fn lazy(delta_cycles: f64, lambda_percent: Option<f64>, session_erases: u32) -> Lazy {
        Lazy::with(&Options { delta_cycles, lambda_percent, session_erases, ..Options::default() }, 1)
    }

    #[test]
    fn an_elder_is_above_the_average_by_more_than_the_threshold() {
        let policy = lazy(2.5, None, 1);
        // Four blocks with 10 P/E cycles: an average of 2.5. The sixth cycle is the first above 5.
        assert!(!policy.is_elder(5, (10, 4)));
        assert!(policy.is_elder(6, (10, 4)));
        // Below the average.
        assert!(!policy.is_elder(0, (10, 4)));
    }

    #[test]
    fn each_period_visits_every_place_once() {
        for count in [1, 2, 3, 5, 8, 12, 100, 1_000, 40_960] {
            let mut place = 0;
            for _ in 0..2 {
                let mut seen = vec![false; count as usize];
                for _ in 0..count {
                    place = next_place(place, count);
                    assert!(!std::mem::replace(&mut seen[place as usize], true), "{place} of {count} comes again");
                }
            }
        }
        // Modulo 8 from 0 on: 1,013,904,223 is 7, and the factor is 5. So 7, 2, 1, 4, 3, 6, 5, 0; of five places 2, 1, 4, 3, 0.
        let mut place = 0;
        let mut next = || {
            place = next_place(place, 5);
            place
        };
        assert_eq!([next(), next(), next(), next(), next(), next()], [2, 1, 4, 3, 0, 2]);
        assert!(next_place(7, u32::MAX) < u32::MAX);
    }

    #[test]
    fn a_search_goes_on_where_the_last_one_ended_and_gives_up_after_a_period() {
        let mut policy = lazy(1.0, None, 1);
        let odd = |place: u32| (place % 2 == 1).then_some(place);
        // The order is 2, 1, 4, 3, 0.
        assert_eq!([policy.search(0, 5, odd), policy.search(0, 5, odd), policy.search(0, 5, odd)], [
            Some(1),
            Some(3),
            Some(1)
        ]);
        let asked = std::cell::RefCell::new(Vec::new());
        let none = |place| {
            asked.borrow_mut().push(place);
            None
        };
        assert_eq!(policy.search(0, 5, none), None);
        assert_eq!(asked.take(), [4, 3, 0, 2, 1]);
    }

    /// The source's example (4.2): an overhead of 2.1 % at a threshold of 16 gives 18.3 with -0.1.
    #[test]
    fn the_threshold_is_tuned_as_in_the_example() {
        assert!((tuned(16.0, 0.021, -0.1) - 18.3).abs() < 0.05);
        // K = 2 x 16 x 0.021 = 0.672; the slope of K / (2 delta) there is -0.1 % per cycle.
        let (delta, k) = (tuned(16.0, 0.021, -0.1), 0.672);
        assert!((-k / (2.0 * delta * delta) - -0.001).abs() < 1e-12);
        // The threshold does not depend on that of the session, as long as K stays.
        assert!((tuned(40.0, k / 80.0, -0.1) - delta).abs() < 1e-9);
    }

    #[test]
    fn a_session_ends_with_the_erases_of_wear_leveling() {
        let mut policy = lazy(4.0, Some(-0.5), 2);
        let mut count = |task, times: u32| (0..times).for_each(|_| policy.count(task, || 1.5));
        count(Task::GC, 50);
        count(Task::WEAR, 1);
        count(Task::REFRESH, 7);
        count(Task::GC, 50);
        count(Task::WEAR, 1);
        // 2 / 100, and the root of 200 x 0.02 x 4.
        count(Task::GC, 30);
        let first = Session { delta: 4.0, overhead: 0.02, deviation: 1.5 };
        let Leveling { delta, gc_erases, wear_erases, sessions } = policy.leveling.clone();
        assert_eq!((sessions, gc_erases, wear_erases), (vec![first], 130, 2));
        assert!((delta - 4.0).abs() < 1e-12);
        let mut count = |task, times: u32| (0..times).for_each(|_| policy.count(task, || 1.0));
        count(Task::WEAR, 2);
        assert!((policy.leveling.delta - (200.0 * (2.0 / 30.0) * 4.0_f64).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_threshold_that_was_tuned_goes_on() {
        let mut tuning = lazy(4.0, Some(-0.5), 1);
        (0..10).for_each(|_| tuning.count(Task::GC, || 0.0));
        tuning.count(Task::WEAR, || 0.0);
        let delta = tuning.leveling.delta;
        let mut other = lazy(7.0, Some(-0.1), 1);
        other.restore(tuning.clone());
        assert_eq!((other.leveling.delta, other.leveling.sessions.len()), (delta, 1));
        let mut fixed = lazy(7.0, None, 1);
        fixed.restore(tuning);
        assert_eq!((fixed.leveling.delta, fixed.leveling.gc_erases), (7.0, 10));
    }

    #[test]
    fn wrong_values_are_refused_with_the_nearest_choice() {
        let geometry = Geometry::new(&GeometryConfig::default()).unwrap();
        let build = |blocks_together| Build {
            geometry: &geometry,
            units_per_program: 1,
            plane_local: false,
            domains: 1,
            blocks_together,
            tasks: Tasks::BASIC,
            seed: 1,
        };
        let wrong = |options: Options| Lazy::new(&options, &build(1)).unwrap_err().to_string();
        let default = Options::default;
        let error = wrong(Options { delta_cycles: 0.0, ..default() });
        assert_eq!(error, "wear.delta_cycles = 0: must be above 0; chang11 uses 16");
        assert!(wrong(Options { delta_cycles: f64::NAN, ..default() }).contains("above 0"));
        let error = wrong(Options { lambda_percent: Some(0.1), ..default() });
        assert!(error.starts_with("wear.lambda_percent = 0.1: must be below 0, such as -0.1"), "{error}");
        assert!(wrong(Options { session_erases: 0, ..default() }).contains("wear.session_erases = 0: must be at least 1"));
        assert!(wrong(Options { window_pages: 0, ..default() }).contains("must be 1 to 65,535"));
        let error = Lazy::new(&default(), &build(4)).unwrap_err().to_string();
        assert!(error.contains("wear.policy = lazy: does not go with superblocks"), "{error}");
        assert!(Lazy::new(&default(), &build(1)).is_ok());
    }
}
