//! The event loop before other threads: a reply that is due cannot wait for the time slice of another.

use std::num::NonZeroU64;
use thread_priority::{
    set_thread_priority_and_policy, thread_native_id, RealtimeThreadSchedulePolicy, ThreadPriority,
    ThreadPriorityValue, ThreadSchedulePolicy,
};

/// How the system schedules this thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// As all others.
    Normal,
    /// With the highest of the ordinary priorities.
    Raised,
    /// Before all that are not real time themselves.
    RealTime,
}

impl Scheduling {
    /// Raises this thread as far as the system allows, and lets it wake it without delay.
    pub fn raise() -> Self {
        // By default the system may wake a thread 50 µs late, to wake several at once. It matters for accuracy only.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let lowest = ThreadPriorityValue::try_from(1).map(ThreadPriority::Crossplatform);
        let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
        if lowest.is_ok_and(|lowest| set_thread_priority_and_policy(thread_native_id(), lowest, policy).is_ok()) {
            return Self::RealTime;
        }
        match rustix::process::setpriority_process(None, -20) {
            Ok(()) => Self::Raised,
            Err(_) => Self::Normal,
        }
    }

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Raised => "raised",
            Self::RealTime => "real-time",
        }
    }
}
