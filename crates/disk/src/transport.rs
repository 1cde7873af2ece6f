//! What a command and its reply take on their way between client and server: measured at the start, on a pair of sockets and with a
//! client in a thread. Replies then go out earlier by that much.

use crate::protocol::wire::REQUEST_BYTES;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Round trips, of which the first are left out.
const ROUNDS: usize = 200;
const WARM_UP: usize = 20;
/// Each of the measurements ends after so long: on a busy machine a round trip may take milliseconds.
const MOST: Duration = Duration::from_millis(100);
/// A client that waits for so long sleeps, and its core with it.
const SLEEP: Duration = Duration::from_micros(150);
/// One that waits for so long has given its core up; to get it back takes longer than to be told of the next reply.
const DOZE: Duration = Duration::from_micros(30);
/// No more is taken for the way itself.
const LONGEST: Duration = Duration::from_micros(60);
/// Length of a reply without data.
const REPLY_BYTES: usize = 16;

/// What a command and its reply take on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transport {
    /// Where the client sleeps until its reply comes: it has nothing else in progress.
    pub asleep: Duration,
    /// Where it waits for some reply, and not for long.
    pub dozing: Duration,
    /// Where it is busy with other requests.
    pub awake: Duration,
}

impl Transport {
    /// What the way of a command takes whose client has nothing else in progress, if it is `alone`, and else hears from the server each `gap`.
    pub fn way(&self, alone: bool, gap: Duration) -> Duration {
        match alone {
            true => self.asleep,
            false if gap >= DOZE / 2 => self.dozing,
            false => self.awake,
        }
    }

    /// Measures all. `begin` is called once the client is a thread of its own: what it does to this thread, the client does not inherit.
    ///
    /// # Errors
    /// When the system has no sockets or threads left.
    pub fn measure(sleeps: bool, begin: impl FnOnce()) -> io::Result<Self> {
        let (mut near, far) = UnixStream::pair()?;
        let client = Builder::new().name("wordline-echo".into()).spawn(move || echo(far))?;
        begin();
        let all = [Duration::ZERO, DOZE, SLEEP].map(|delay| turns(&mut near, delay, sleeps));
        drop(near);
        let trips = client.join().unwrap_or_default();
        let mut rest = &trips[..];
        let mut ways = [Duration::ZERO; 3];
        for (way, turns) in ways.iter_mut().zip(all) {
            let turns = turns?;
            *way = usual(rest, &turns);
            rest = &rest[turns.len().min(rest.len())..];
        }
        let [awake, dozing, asleep] = ways;
        // The system may have given the core to others for most of a measurement.
        let dozing = dozing.min(asleep);
        Ok(Self { awake: awake.min(dozing), dozing, asleep })
    }
}

/// A client that asks until nobody answers any more; gives the start and the end of each round trip.
fn echo(mut server: UnixStream) -> Vec<(Instant, Instant)> {
    let mut trips = Vec::new();
    loop {
        let start = Instant::now();
        if server.write_all(&[0; REQUEST_BYTES]).and_then(|()| server.read_exact(&mut [0; REPLY_BYTES])).is_err() {
            return trips;
        }
        trips.push((start, Instant::now()));
    }
}

/// Answers a client each time after `delay`; gives when each command came and when its reply left.
fn turns(client: &mut UnixStream, delay: Duration, sleeps: bool) -> io::Result<Vec<(Instant, Instant)>> {
    let spin = Timespec { tv_sec: 0, tv_nsec: 0 };
    let (end, mut turns) = (Instant::now() + MOST, Vec::with_capacity(ROUNDS));
    while turns.len() < ROUNDS && (turns.len() <= WARM_UP || Instant::now() < end) {
        loop {
            let mut fds = [PollFd::new(client, PollFlags::IN)];
            if poll(&mut fds, (!sleeps).then_some(&spin))? > 0 {
                break;
            }
        }
        let heard = Instant::now();
        client.read_exact(&mut [0; REQUEST_BYTES])?;
        while heard.elapsed() < delay {
            std::hint::spin_loop();
        }
        turns.push((heard, Instant::now()));
        client.write_all(&[0; REPLY_BYTES])?;
    }
    Ok(turns)
}

/// Both ways together, undisturbed: the lower quartile, since on a busy machine the median may be that of waiting for a core.
fn usual(trips: &[(Instant, Instant)], turns: &[(Instant, Instant)]) -> Duration {
    let way = |((start, end), (heard, sent)): (&(Instant, Instant), &(Instant, Instant))| {
        heard.saturating_duration_since(*start) + end.saturating_duration_since(*sent)
    };
    let mut ways: Vec<Duration> = trips.iter().zip(turns).skip(WARM_UP).map(way).collect();
    ways.sort_unstable();
    ways.get(ways.len() / 4).copied().unwrap_or_default().min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_takes_some_microseconds() {
        for sleeps in [false, true] {
            let measured = Transport::measure(sleeps, || ()).unwrap();
            let Transport { awake, dozing, asleep } = measured;
            assert!(awake > Duration::ZERO && awake <= dozing && dozing <= asleep && asleep <= LONGEST, "{measured:?}");
        }
    }

    #[test]
    fn a_client_that_waits_longer_is_reached_later() {
        let [awake, dozing, asleep] = [3, 16, 20].map(Duration::from_micros);
        let transport = Transport { asleep, dozing, awake };
        assert_eq!(transport.way(true, Duration::ZERO), asleep);
        assert_eq!(
            [5, 14, 15, 80].map(|us| transport.way(false, Duration::from_micros(us))),
            [awake, awake, dozing, dozing]
        );
    }
}
