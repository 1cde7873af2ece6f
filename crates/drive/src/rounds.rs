//! Progress of a run towards steady state: the drive's state when measuring started, and write amplification by round.
//!
//! A round is a fifth of the capacity. A run is in steady state if it wrote five whole rounds, its last five pass the
//! test of the preconditioning ([`is_steady`]), and blocks were erased in each of them: a drive that is still being
//! filled has a constant write amplification of 1 and is not in steady state.

use serde_json::{json, Value};
use wordline_firmware::blocks::Blocks;
use wordline_firmware::{Counters, Plan};

/// Rounds over which the tracked value has to be steady.
const WINDOW: usize = 5;

/// Whether the last five rounds are steady: range at most 20 % of the mean, slope excursion at most 10 %.
#[must_use]
pub fn is_steady(rounds: &[f64]) -> bool {
    let Some(window) = rounds.len().checked_sub(WINDOW).map(|from| &rounds[from..]) else { return false };
    let mean = window.iter().sum::<f64>() / WINDOW as f64;
    let (least, most) = window.iter().fold((f64::MAX, f64::MIN), |(a, b), &v| (a.min(v), b.max(v)));
    let middle = (WINDOW - 1) as f64 / 2.0;
    let covariance: f64 = window.iter().enumerate().map(|(i, &v)| (i as f64 - middle) * (v - mean)).sum();
    let variance: f64 = (0..WINDOW).map(|i| (i as f64 - middle).powi(2)).sum();
    let excursion = (covariance / variance * (WINDOW - 1) as f64).abs();
    most - least <= 0.2 * mean && excursion <= 0.1 * mean
}

/// Rounds that make one capacity, and that are looked at.
const ROUNDS: usize = 5;

/// The counters at the end of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mark {
    host_units: u64,
    programs: u64,
    erases: u64,
}

/// What a run began with and how it wrote.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds {
    /// Units of a round.
    round: u64,
    units_per_page: u32,
    /// Units written by the host at which the round under way ends.
    pub(crate) due: u64,
    /// The beginning and the ends of the last rounds.
    marks: [Mark; ROUNDS + 1],
    /// Whole rounds so far.
    whole: u64,
    /// Share of the capacity that held data when measuring began.
    filled: f64,
    /// Blocks erased by then since the drive was new.
    erases: u64,
}

impl Rounds {
    /// Of a drive as it is, whose counters are at zero.
    pub(crate) fn new(plan: &Plan, blocks: &Blocks) -> Self {
        let valid: u64 = blocks.records().iter().map(|block| u64::from(block.valid)).sum();
        let round = (u64::from(plan.logical_units) / ROUNDS as u64).max(1);
        Self {
            round,
            units_per_page: plan.units_per_page,
            due: round,
            marks: Default::default(),
            whole: 0,
            filled: valid as f64 / f64::from(plan.units().max(1)),
            erases: blocks.records().iter().map(|block| u64::from(block.erases)).sum(),
        }
    }

    /// The host has written as much as ends the round, or more.
    #[cold]
    pub(crate) fn end(&mut self, counters: &Counters) {
        self.marks.rotate_left(1);
        self.marks[ROUNDS] =
            Mark { host_units: counters.host_units, programs: counters.programs(), erases: counters.erases() };
        self.whole += 1;
        // A request of several rounds is one.
        self.due = counters.host_units - counters.host_units % self.round + self.round;
    }

    /// Write amplification of the last rounds, five at most.
    #[must_use]
    pub fn amplification(&self) -> Vec<f64> {
        let pages = |units: u64| units as f64 / f64::from(self.units_per_page);
        let of = |pair: &[Mark]| {
            (pair[1].programs - pair[0].programs) as f64 / pages(pair[1].host_units - pair[0].host_units)
        };
        self.last().windows(2).map(of).collect()
    }

    /// True if the run was in steady state at its end; `None` if it wrote nothing.
    #[must_use]
    pub fn steady(&self, counters: &Counters) -> Option<bool> {
        let erased = || self.last().windows(2).all(|pair| pair[1].erases > pair[0].erases);
        (counters.host_units > 0).then(|| is_steady(&self.amplification()) && erased())
    }

    fn last(&self) -> &[Mark] {
        &self.marks[ROUNDS - self.whole.min(ROUNDS as u64) as usize..]
    }

    /// How the drive was when measuring began.
    pub(crate) fn at_start(&self) -> Value {
        json!({"filled": self.filled, "erases": self.erases})
    }

    /// How much of the capacity the run wrote, of `bytes` in all, and how evenly.
    pub(crate) fn written(&self, bytes: u64, capacity: u64, counters: &Counters) -> Value {
        json!({
            "of_capacity": bytes as f64 / capacity as f64,
            "steady": self.steady(counters),
            "rounds": self.amplification(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_firmware::task::{Action, Class, Task};

    fn rounds() -> Rounds {
        Rounds { round: 100, units_per_page: 1, due: 100, marks: Default::default(), whole: 0, filled: 1.0, erases: 0 }
    }

    /// Counters after so many units, pages programmed, and blocks erased.
    fn counters(host_units: u64, programs: u64, erases: u64) -> Counters {
        let mut counters = Counters { host_units, ..Counters::default() };
        counters.ops[Class::HOST_WRITE.index()] = programs;
        counters.ops[Class::new(Task::GC, Action::Erase).index()] = erases;
        counters
    }

    /// Rounds of these pages programmed, each of which erases so many blocks.
    fn after(pages: &[u64], erases: u64) -> (Rounds, Counters) {
        let (mut rounds, mut now) = (rounds(), Counters::default());
        for (nth, &pages) in pages.iter().enumerate() {
            now = counters(100 * (nth as u64 + 1), now.programs() + pages, now.erases() + erases);
            assert_eq!(rounds.due, now.host_units);
            rounds.end(&now);
        }
        (rounds, now)
    }

    #[test]
    fn five_even_rounds_that_erase_are_a_steady_state() {
        let (rounds, now) = after(&[300, 200, 205, 200, 195, 200], 1);
        assert_eq!(rounds.amplification(), [2.0, 2.05, 2.0, 1.95, 2.0]);
        assert_eq!(rounds.steady(&now), Some(true));
    }

    #[test]
    fn fewer_rounds_or_rising_ones_are_none() {
        let (rounds, now) = after(&[200; 4], 1);
        assert_eq!((rounds.amplification().len(), rounds.steady(&now)), (4, Some(false)));
        let (rounds, now) = after(&[100, 120, 140, 160, 180], 1);
        assert_eq!(rounds.steady(&now), Some(false));
    }

    #[test]
    fn filling_is_none_however_even() {
        let (rounds, now) = after(&[100; 9], 0);
        assert_eq!(rounds.amplification(), [1.0; 5]);
        assert_eq!(rounds.steady(&now), Some(false));
    }

    #[test]
    fn a_run_that_writes_nothing_is_neither() {
        assert_eq!(rounds().steady(&Counters::default()), None);
        assert_eq!(rounds().steady(&counters(1, 1, 0)), Some(false));
    }

    #[test]
    fn a_request_of_several_rounds_is_one() {
        let mut rounds = rounds();
        rounds.end(&counters(350, 700, 1));
        assert_eq!((rounds.due, rounds.amplification()), (400, vec![2.0]));
    }
}
