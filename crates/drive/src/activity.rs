//! How busy dies and channels were over time, and with whose work: a small picture of every run.
//!
//! The drive keeps sums of busy time anyway; they are looked at whenever an interval ends, at exactly that time. So a request
//! costs nothing here. When there are too many intervals, two become one.

use crate::drive::Drive;
use serde_json::{json, Value};
use wordline_base::time::US;
use wordline_base::Time;
use wordline_firmware::policy::arbiter::{Class, CLASSES};

/// Most intervals, and most values of a picture: a die in an interval is one.
const MOST_INTERVALS: usize = 200;
const MOST_VALUES: usize = 1 << 14;
const SHORTEST: Time = 100 * US;

/// Sums of busy time at the ends of intervals.
#[derive(Clone, Debug)]
pub struct Activity {
    start: Time,
    interval: Time,
    /// When the current interval ends.
    pub(crate) due: Time,
    most: usize,
    /// Values of one look: the classes of each die, then the channels.
    width: usize,
    /// One look behind the other, the first at the start.
    looks: Vec<Time>,
}

impl Default for Activity {
    fn default() -> Self {
        Self { start: 0, interval: SHORTEST, due: Time::MAX, most: MOST_INTERVALS, width: 0, looks: Vec::new() }
    }
}

impl Activity {
    /// From now on.
    pub(crate) fn new(drive: &Drive) -> Self {
        let geometry = *drive.kernel().flash().geometry();
        let dies = geometry.dies() as usize;
        let mut activity = Self {
            start: drive.now(),
            due: drive.now() + SHORTEST,
            // An even number, so that pairs of intervals become one.
            most: (MOST_VALUES / dies).clamp(16, MOST_INTERVALS) & !1,
            width: dies * CLASSES + geometry.channels as usize,
            ..Self::default()
        };
        look(drive, drive.now(), &mut activity.looks);
        activity
    }

    /// Ends the intervals that end up to `now`; the drive is as it was before its event of that time.
    pub(crate) fn advance(&mut self, drive: &Drive, now: Time) {
        while self.due <= now {
            look(drive, self.due, &mut self.looks);
            if self.looks.len() / self.width > self.most {
                self.halve();
            }
            self.due = self.start + self.interval * (self.looks.len() / self.width) as Time;
        }
    }

    /// Keeps every second look.
    fn halve(&mut self) {
        let looks = self.looks.len() / self.width;
        for at in 1..=looks / 2 {
            self.looks.copy_within(2 * at * self.width..(2 * at + 1) * self.width, at * self.width);
        }
        self.looks.truncate((looks / 2 + 1) * self.width);
        self.interval *= 2;
    }

    /// Busy shares up to now in thousandths: for each task, and for the channels, a list of intervals for each unit.
    #[must_use]
    pub fn document(&self, drive: &Drive) -> Value {
        let geometry = *drive.kernel().flash().geometry();
        let dies = geometry.dies() as usize;
        let mut looks = self.looks.clone();
        let last = self.start + self.interval * (looks.len() / self.width.max(1)).saturating_sub(1) as Time;
        if drive.now() > last {
            look(drive, drive.now(), &mut looks);
        }
        let rows: Vec<&[Time]> = looks.chunks(self.width.max(1)).collect();
        let end = |index: usize| (self.start + self.interval * index as Time).min(drive.now());
        let shares = |of: &dyn Fn(&[Time]) -> Time| -> Vec<u64> {
            let share = |(index, pair): (usize, &[&[Time]])| {
                let length = (end(index + 1) - end(index)).max(1);
                ((of(pair[1]) - of(pair[0])) * 1_000 + length / 2) / length
            };
            rows.windows(2).enumerate().map(share).collect()
        };
        let of_dies = |classes: &[Class]| -> Vec<Vec<u64>> {
            let sum = |row: &[Time], die: usize| classes.iter().map(|&c| row[die * CLASSES + c as usize]).sum::<Time>();
            (0..dies).map(|die| shares(&|row| sum(row, die))).collect()
        };
        let channels: Vec<Vec<u64>> =
            (0..geometry.channels as usize).map(|channel| shares(&|row| row[dies * CLASSES + channel])).collect();
        json!({
            "interval_s": self.interval as f64 / 1e12,
            "end_s": (drive.now() - self.start) as f64 / 1e12,
            "unit": "thousandths",
            "dies": {
                "host_read": of_dies(&[Class::HostRead]),
                "host_write": of_dies(&[Class::HostWrite]),
                "gc": of_dies(&[Class::GcRead, Class::GcWrite, Class::GcErase]),
            },
            "channels": channels,
        })
    }
}

fn look(drive: &Drive, at: Time, into: &mut Vec<Time>) {
    let flash = drive.kernel().flash();
    (0..flash.geometry().dies()).for_each(|die| into.extend(drive.kernel().occupied(die, at)));
    into.extend((0..flash.geometry().channels).map(|channel| flash.channel_used(channel, at)));
}
