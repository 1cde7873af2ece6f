//! What no server of one thread can do better on a machine: how late a thread is that does nothing but wait for its deadlines, how long a
//! system call takes that wakes a client, and how far from their times replies leave where there is no protocol, no drive and no data. For a
//! benchmark.

use crate::calls::Calls;
use crate::protocol::wire::REQUEST_BYTES;
use crate::scheduling::Scheduling;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::Builder;
use std::time::{Duration, Instant};

/// From one deadline to the next: the latencies of a benchmark.
const EVERY: Duration = Duration::from_micros(105);
/// It sleeps up to so long before a deadline, and spins from there, as the server does.
const SPIN: Duration = Duration::from_micros(50);
/// Requests that are read, and replies that leave, with one call at most.
const MOST: usize = 16;
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

/// How far from its time each reply leaves, in percent of the delay, where a client has `depth` requests in flight, and each is answered after
/// the same delay by a loop that does nothing else.
///
/// # Errors
/// When the system has no more threads or descriptors, or a thread fails.
pub fn answering(depth: usize, time: Duration) -> io::Result<Vec<f64>> {
    let (near, far) = UnixStream::pair()?;
    near.set_nonblocking(true)?;
    let client = Builder::new().name("wordline-floor".into()).spawn(move || ask(far, depth))?;
    let server = Builder::new().name("wordline-timer".into()).spawn(move || answer(&near, time))?;
    let done = server.join();
    let _ = client.join();
    done.unwrap_or_else(|_| Err(io::Error::other("a thread has failed")))
}

/// Keeps requests in flight until nobody answers any more; waits by poll, as libnbd and QEMU do.
fn ask(mut server: UnixStream, depth: usize) -> io::Result<()> {
    server.write_all(&vec![0; REQUEST_BYTES * depth])?;
    loop {
        poll(&mut [PollFd::new(&server, PollFlags::IN)], None)?;
        server.read_exact(&mut [0; REPLY])?;
        server.write_all(&[0; REQUEST_BYTES])?;
    }
}

/// Answers what a client asks, each request after the same delay.
fn answer(mut client: &UnixStream, time: Duration) -> io::Result<Vec<f64>> {
    let _ = Scheduling::raise();
    let (start, mut calls, mut off) = (Instant::now(), Calls::default(), Vec::new());
    let (mut due, mut input, bytes) = (VecDeque::new(), [0; REQUEST_BYTES * MOST], vec![0; REPLY * MOST]);
    loop {
        let now = Instant::now();
        if now.duration_since(start) >= time {
            return Ok(off);
        }
        if due.front().is_some_and(|first| *first <= now) {
            let count = due.iter().take(MOST).take_while(|due| **due <= now + calls.half()).count();
            let apart = due.drain(..count).map(|due: Instant| now.max(due) - now.min(due));
            off.extend(apart.map(|apart| 100.0 * apart.as_secs_f64() / EVERY.as_secs_f64()));
            client.write_all(&bytes[..REPLY * count])?;
            calls.took(now.elapsed());
            continue;
        }
        match client.read(&mut input) {
            Ok(got) => due.extend((0..got / REQUEST_BYTES).map(|_| now + EVERY)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
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

    /// Measures for longer and longer until there is enough: a busy machine may not let the threads run for a while.
    fn in_time<T>(measured: impl Fn(Duration) -> io::Result<T>, is_enough: impl Fn(&T) -> bool) -> T {
        let times = (0..11).map(|doubled| Duration::from_millis(20 << doubled));
        times.map(|time| measured(time).unwrap()).find(is_enough).expect("20 s are enough for a few requests")
    }

    #[test]
    fn all_requests_are_answered_near_their_times() {
        let off = in_time(|time| answering(4, time), |off| off.len() >= 4);
        assert!(off.iter().all(|percent| (0.0..1e6).contains(percent)));
    }

    #[test]
    fn a_deadline_is_never_seen_before_its_time() {
        let (late, calls) = in_time(measure, |(late, calls)| !late.is_empty() && !calls.is_empty());
        assert!(late.iter().chain(&calls).all(|us| (0.0..1e6).contains(us)));
        assert!(calls.iter().all(|us| *us > 0.0));
    }
}
