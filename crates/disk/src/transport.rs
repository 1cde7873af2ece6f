//! What a command and its reply take on their way between client and server: measured at the start, on a pair of sockets and with a
//! client in a thread. Replies then go out earlier by that much.

use crate::protocol::wire::REQUEST_BYTES;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Round trips, of which the first are left out.
const ROUNDS: usize = 400;
const WARM_UP: usize = 100;
/// Length of a reply without data.
const REPLY_BYTES: usize = 16;

/// The median of what a round trip takes from the client to the server and back, without the server's work between. `begin` is called
/// once the client is a thread of its own: what it does to this thread, the client does not inherit.
///
/// # Errors
/// When the system has no sockets or threads left.
pub fn measure(sleeps: bool, begin: impl FnOnce()) -> io::Result<Duration> {
    let (mut near, mut far) = UnixStream::pair()?;
    let client =
        Builder::new().name("wordline-echo".into()).spawn(move || -> io::Result<Vec<(Instant, Instant)>> {
            let mut trips = Vec::with_capacity(ROUNDS);
            for _ in 0..ROUNDS {
                let start = Instant::now();
                far.write_all(&[0; REQUEST_BYTES])?;
                far.read_exact(&mut [0; REPLY_BYTES])?;
                trips.push((start, Instant::now()));
            }
            Ok(trips)
        })?;
    begin();
    let mut turns = Vec::with_capacity(ROUNDS);
    let spin = Timespec { tv_sec: 0, tv_nsec: 0 };
    for _ in 0..ROUNDS {
        loop {
            let mut fds = [PollFd::new(&near, PollFlags::IN)];
            if poll(&mut fds, (!sleeps).then_some(&spin))? > 0 {
                break;
            }
        }
        let heard = Instant::now();
        near.read_exact(&mut [0; REQUEST_BYTES])?;
        turns.push((heard, Instant::now()));
        near.write_all(&[0; REPLY_BYTES])?;
    }
    let trips = client.join().unwrap_or_else(|_| Err(io::Error::other("the client of the measurement failed")))?;
    let way = |((start, end), (heard, sent)): (&(Instant, Instant), &(Instant, Instant))| {
        heard.saturating_duration_since(*start) + end.saturating_duration_since(*sent)
    };
    let mut offsets: Vec<Duration> = trips.iter().zip(&turns).skip(WARM_UP).map(way).collect();
    offsets.sort_unstable();
    Ok(offsets.get(offsets.len() / 2).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_takes_some_microseconds() {
        for sleeps in [false, true] {
            let offset = measure(sleeps, || ()).unwrap();
            assert!(offset < Duration::from_millis(10), "{offset:?}");
        }
    }
}
