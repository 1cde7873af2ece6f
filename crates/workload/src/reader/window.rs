//! How far requests of a trace lie from their turn: the window of sorting that puts them in order.
//!
//! A window of N requests hands out the earliest of the last N + 1 that were read. So a request comes in time if at most N requests
//! before it belong behind it, and the window that a trace needs is the most of these that any of its requests has.

use super::join::one_behind_another;
use super::source::{Shared, Source, LARGEST_WINDOW};
use crate::error::WorkloadError;
use crate::files;
use crate::options::{Spread, TraceOptions};
use crate::progress::{Reading, Watch, REPORTED};
use std::collections::VecDeque;
use std::path::Path;

/// Times in one piece of a [`Ranking`], at most.
const PIECE: usize = 1024;

/// Reason why a trace is not in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Disorder {
    /// The window that sorts each of its files; none if that would be larger than possible.
    pub window: Option<u32>,
    /// True if files that are read one behind another overlap in time.
    pub across: bool,
}

/// The times of the requests so far in order, the latest `LARGEST_WINDOW` of them at least.
#[derive(Default)]
struct Ranking {
    /// Sorted pieces, one after the other; none is empty.
    pieces: VecDeque<Vec<u128>>,
    count: usize,
}

impl Ranking {
    /// Takes a time in; gives how many are later.
    fn add(&mut self, time: u128) -> usize {
        let mut later = 0;
        let mut at = self.pieces.len();
        while at > 1 && self.pieces[at - 1][0] > time {
            at -= 1;
            later += self.pieces[at].len();
        }
        if at == 0 {
            self.pieces.push_back(Vec::with_capacity(PIECE));
            at = 1;
        }
        let piece = &mut self.pieces[at - 1];
        let place = piece.partition_point(|&other| other <= time);
        later += piece.len() - place;
        piece.insert(place, time);
        if piece.len() == PIECE {
            let upper = piece.split_off(PIECE / 2);
            self.pieces.insert(at, upper);
        }
        self.count += 1;
        if self.count - self.pieces[0].len() > LARGEST_WINDOW as usize {
            self.count -= self.pieces.pop_front().map_or(0, |piece| piece.len());
        }
        later
    }
}

/// The option that sorts the trace at `path`, found by reading it once. `None` if `watch` stopped the reading.
///
/// # Errors
/// As for reading a trace.
pub(crate) fn needed(path: &Path, options: &TraceOptions, watch: Watch<'_>) -> Result<Option<Disorder>, WorkloadError> {
    let paths = files::expand(path, options)?;
    // As recorded in the files: neither sorted nor spread.
    let raw = TraceOptions { sort_window: Some(0), spread: Some(Spread::None), ..options.clone() };
    let mut shared = Shared::of(options);
    let (mut window, mut across, mut requests) = (0, false, 0_u64);
    let mut latest = 0;
    for (passed, file) in paths.iter().enumerate() {
        let (mut source, _) = Source::open(file, &raw)?;
        let (mut ranking, mut end) = (Ranking::default(), latest);
        while let Some(item) = source.next(&mut shared)? {
            let time = item.parsed.time;
            across |= passed > 0 && time < latest;
            end = end.max(time);
            window = window.max(ranking.add(time));
            requests += 1;
            if window > LARGEST_WINDOW as usize {
                return Ok(Some(Disorder { window: None, across }));
            }
            let fraction = (passed as f64 + source.progress()) / paths.len() as f64;
            if requests.is_multiple_of(REPORTED) && !watch(Reading { fraction, requests }) {
                return Ok(None);
            }
        }
        latest = end;
    }
    let across = across && one_behind_another(paths.len(), options);
    Ok(Some(Disorder { window: u32::try_from(window).ok(), across }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_base::Stream;

    #[test]
    fn the_rank_of_a_time_is_counted_over_many_pieces() {
        let mut random = Stream::new(1, "window-test", 0);
        let (mut ranking, mut plain) = (Ranking::default(), Vec::new());
        for n in 0..20_000_u64 {
            let time = u128::from(n + random.below(3000));
            let later = plain.len() - plain.partition_point(|&other| other <= time);
            assert_eq!(ranking.add(time), later);
            plain.insert(plain.len() - later, time);
        }
        assert!(ranking.pieces.len() > 20);
    }
}
