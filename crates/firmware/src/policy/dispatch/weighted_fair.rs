//! Weighted fair queueing of tasks at each die: QoSFC.
//!
//! Source: kim18 (5.2), the system called QoSFC: "schedules using weighted fair queueing (WFQ) and represents a
//! work-conserving system that does not reserve resources. It maintains virtual time as a measure of progress for each FTL
//! task at each flash memory resource."
//! Faithful: a virtual time for each task and die; no operation waits that a die has room for. Assumed: start-time fair
//! queueing, as the source tells no formula: an operation starts at the later of its task's virtual finish and the die's
//! virtual time, and finishes after its nominal time in the array divided by its task's share.

pub use super::DepthOptions as Options;
use super::{Dispatch, StageView};
use crate::policy::{About, Build};
use crate::task::{ByTask, TASKS};
use crate::ConfigError;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "weighted fair queueing of tasks at each die (QoSFC)",
    source: "kim18 5.2",
    note: "virtual time by task and die as published; start-time fair queueing with nominal array times",
};

/// Weighted fair queueing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WeightedFair {
    depth: u32,
    shares: ByTask<f64>,
    /// By die: the virtual start of what was sent last, and the virtual finish of each task.
    dies: Vec<(f64, ByTask<f64>)>,
}

impl WeightedFair {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let dies = vec![(0.0, [0.0; TASKS]); build.geometry.dies() as usize];
        Ok(Self { depth: options.checked()?, shares: [1.0; TASKS], dies })
    }

    /// Goes on with the virtual times of a drive that was saved.
    pub(super) fn restore(&mut self, saved: Self) -> Result<(), String> {
        let possible = |time: &f64| time.is_finite() && *time >= 0.0;
        let sound = saved.dies.iter().all(|(time, finish)| possible(time) && finish.iter().all(possible));
        if !sound || saved.dies.len() != self.dies.len() {
            return Err("the virtual times of its dies are impossible".into());
        }
        self.dies = saved.dies;
        Ok(())
    }
}

impl Dispatch for WeightedFair {
    fn depth(&self) -> Option<u32> {
        Some(self.depth)
    }

    fn takes_shares(&self) -> bool {
        true
    }

    fn share(&mut self, shares: &ByTask<f64>) {
        self.shares = *shares;
    }

    fn next(&mut self, view: &StageView<'_>) -> Option<usize> {
        let mut best: Option<(f64, u64, usize)> = None;
        for (at, staged) in view.staged.iter().enumerate() {
            let Some(die) = staged.die else { continue };
            let (time, finish) = &self.dies[die as usize];
            let start = time.max(finish[staged.class.task().index()]);
            if best.is_none_or(|other| (start, staged.sequence) < (other.0, other.1)) {
                best = Some((start, staged.sequence, at));
            }
        }
        let (start, _, at) = best?;
        let staged = view.staged[at];
        let (time, finish) = &mut self.dies[staged.die? as usize];
        let task = staged.class.task().index();
        *time = start;
        finish[task] = start + view.times[staged.class.action() as usize] as f64 / self.shares[task];
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::dispatch::Staged;
    use crate::task::{Action, Class, Task};

    fn fair(host: f64, gc: f64) -> WeightedFair {
        let mut shares = [1.0; TASKS];
        (shares[Task::HOST.index()], shares[Task::GC.index()]) = (host, gc);
        WeightedFair { depth: 4, shares, dies: vec![(0.0, [0.0; TASKS]); 2] }
    }

    const HOST: Class = Class::HOST_READ;
    const GC: Class = Class::new(Task::GC, Action::Program);

    fn view<'a>(staged: &'a [Staged], times: &'a [u64; 3]) -> StageView<'a> {
        StageView { staged, dues: &[], outstanding: &[0; TASKS], times }
    }

    /// How many of so many choices the host has on a die for which both tasks always have work.
    fn of_host(fair: &mut WeightedFair, times: [u64; 3], count: u64) -> u64 {
        let choose = |turn| {
            let staged = [HOST, GC].map(|class| Staged { class, sequence: turn, die: Some(0) });
            u64::from(fair.next(&view(&staged, &times)) == Some(0))
        };
        (0..count).map(choose).sum()
    }

    #[test]
    fn time_at_a_die_is_divided_as_the_shares_are() {
        // Reads of 50, programs of 500: at equal shares ten reads for each program.
        assert_eq!(of_host(&mut fair(50.0, 50.0), [50, 500, 5_000], 1_100), 1_000);
        // With three times its share, thirty.
        assert_eq!(of_host(&mut fair(75.0, 25.0), [50, 500, 5_000], 3_100), 3_000);
    }

    #[test]
    fn a_task_alone_takes_all_and_owes_nothing_afterwards() {
        let mut fair = fair(50.0, 50.0);
        let times = [100, 100, 100];
        for turn in 0..1_000 {
            let staged = [Staged { class: GC, sequence: turn, die: Some(0) }];
            assert_eq!(fair.next(&view(&staged, &times)), Some(0));
        }
        let host = of_host(&mut fair, times, 1_000);
        assert!((499..=501).contains(&host), "{host}");
        // A die that is full is passed over.
        let staged = [Staged { class: HOST, sequence: 0, die: None }, Staged { class: GC, sequence: 1, die: Some(1) }];
        assert_eq!(fair.next(&view(&staged, &times)), Some(1));
    }
}
