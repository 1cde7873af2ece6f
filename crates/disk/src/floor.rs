//! What no server can do better on a machine: how late a thread is that does nothing but wait for its deadlines, and how long a system call
//! takes that wakes a client. For a benchmark.

use crate::scheduling::Scheduling;
use rustix::event::{poll, Timespec};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::Builder;
use std::time::{Duration, Instant};

/// From one deadline to the next: the latencies of a benchmark.
const EVERY: Duration = Duration::from_micros(105);
/// It sleeps up to so long before a deadline, and spins from there, as the server does.
const SPIN: Duration = Duration::from_micros(50);
/// Bytes of a reply with 4 KiB of data.
const REPLY: usize = 16 + 4096;

/// How much too late deadlines were seen, then how long the calls took, in microseconds; each for half of the time.
///
/// # Errors
/// When the system has no sockets or threads left.
pub fn measure(time: Duration) -> io::Result<(Vec<f64>, Vec<f64>)> {
    let (mut near, mut far) = UnixStream::pair()?;
    let client = Builder::new().name("wordline-floor".into()).spawn(move || {
        let mut reply = [0; REPLY];
        while far.read_exact(&mut reply).is_ok() {}
    })?;
    let work = move || {
        let _ = Scheduling::raise();
        let late = deadlines(time / 2, |_| Ok(()))?;
        let mut calls = Vec::new();
        deadlines(time / 2, |now| {
            near.write_all(&[0; REPLY])?;
            calls.push(now.elapsed().as_nanos() as f64 / 1e3);
            Ok(())
        })?;
        Ok((late, calls))
    };
    let done = Builder::new().name("wordline-timer".into()).spawn(work)?.join();
    let _ = client.join();
    done.unwrap_or_else(|_| Err(io::Error::other("a thread has failed")))
}

/// Waits for deadlines, and does something at each; gives how late they were seen.
fn deadlines(time: Duration, mut work: impl FnMut(Instant) -> io::Result<()>) -> io::Result<Vec<f64>> {
    let (start, mut late) = (Instant::now(), Vec::new());
    let mut due = start + EVERY;
    while due < start + time {
        let mut now = Instant::now();
        while now < due {
            let sleep = due.saturating_duration_since(now).saturating_sub(SPIN);
            let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(sleep.subsec_nanos()) };
            // Interrupted, it comes back at once.
            let _ = poll(&mut [], Some(&timeout));
            now = Instant::now();
        }
        late.push(now.saturating_duration_since(due).as_nanos() as f64 / 1e3);
        work(now)?;
        due = (due + EVERY).max(now);
    }
    Ok(late)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_never_seen_before_its_time() {
        let (late, calls) = measure(Duration::from_millis(20)).unwrap();
        assert!(!late.is_empty() && !calls.is_empty());
        assert!(late.iter().chain(&calls).all(|us| (0.0..1e6).contains(us)));
        assert!(calls.iter().all(|us| *us > 0.0));
    }
}
