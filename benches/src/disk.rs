//! `make bench-disk`: how well the live disk keeps the delays of its drive, and how many requests it takes.
//!
//! A client in the same process keeps a number of random reads of 4 KiB in flight, and notes when it sent each and had its reply; it waits
//! by poll, as libnbd and QEMU do. What the server notes of the same request tells the modelled latency. The drive is the demo with a read
//! time of 100 µs, so that every latency is at least that; its pages are written before. The bare loop answers each request after as long,
//! and has neither protocol nor drive. "Loaded" is a busy thread for each core beside server and client; "first" the same with a client
//! that goes before the busy threads, as the server does: one that does not may have to wait for a core.

use cpu_time::ThreadTime;
use rustix::event::{poll, PollFd, PollFlags};
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::io::{Read, Result, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wordline_disk::store::{self, Kind};
use wordline_disk::{Address, Answered, Entry, Listener, Offer, Options, Pace, Scheduling, Server};
use wordline_drive::Drive;

const READ: u16 = 0;
const WRITE: u16 = 1;
const BYTES: u32 = 4096;
/// Written before, and read from: 32 MiB.
const SPAN: u64 = 32 << 20;
const SECONDS: Duration = Duration::from_secs(3);
/// Requests without delay.
const REQUESTS: u64 = 400_000;

/// What a client saw: when it sent each request and had its reply, by cookie.
type Seen = BTreeMap<u64, (Instant, Instant)>;

/// All measurements, as JSON; printed as tables on the way.
pub fn all() -> Value {
    println!("random reads of 4 KiB, latency and error of the delay        bare loop    server (late)      with taking      client sees");
    println!(
        "{:>6} {:<7} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "depth", "cores", "requests", "modelled", "p50", "p99", "p50", "p99", "p50", "p99", "p50", "p99", "way"
    );
    let mut rows = Vec::new();
    let mut floors = Vec::new();
    for cores in [Cores::Idle, Cores::Loaded, Cores::First] {
        if cores != Cores::First {
            match floor(cores == Cores::Loaded) {
                Ok(row) => floors.push(row),
                Err(error) => eprintln!("floor: {error}"),
            }
        }
        for depth in [1, 8, 32] {
            match accuracy(depth, cores) {
                Ok(row) => rows.push(row),
                Err(error) => eprintln!("depth {depth}: {error}"),
            }
        }
    }
    let speed = speed().unwrap_or_else(|error| json!({"error": error.to_string()}));
    println!("without delay: {speed}");
    json!({"accuracy": rows, "floor": floors, "speed": speed})
}

/// What else the cores do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cores {
    /// Nothing.
    Idle,
    /// A busy thread on each.
    Loaded,
    /// The same, but the client goes before.
    First,
}

/// How late a thread is that does nothing but wait for deadlines, and how long a call takes that wakes a client.
fn floor(loaded: bool) -> Result<Value> {
    let measured = beside(loaded, || wordline_disk::floor::measure(SECONDS))?;
    let (mut late, mut calls) = measured;
    let row = json!({
        "loaded": loaded,
        "timer_late_us": [at(&mut late, 0.5), at(&mut late, 0.99)],
        "call_us": [at(&mut calls, 0.5), at(&mut calls, 0.99)],
    });
    println!(
        "a timer alone, {}: late {:.2} µs, p99 {:.2} µs; a call that wakes a client {:.2} µs, p99 {:.2} µs",
        if loaded { "loaded" } else { "idle" },
        row["timer_late_us"][0].as_f64().unwrap_or(f64::NAN),
        row["timer_late_us"][1].as_f64().unwrap_or(f64::NAN),
        row["call_us"][0].as_f64().unwrap_or(f64::NAN),
        row["call_us"][1].as_f64().unwrap_or(f64::NAN),
    );
    Ok(row)
}

/// Does something, beside a busy thread for each core if `loaded`.
fn beside<T>(loaded: bool, work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..if loaded { cores } else { 0 } {
            scope.spawn(|| {
                let mut sum = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    sum = std::hint::black_box(sum.wrapping_mul(3).wrapping_add(1));
                }
            });
        }
        let done = work();
        stop.store(true, Ordering::Relaxed);
        done
    })
}

fn accuracy(depth: u64, cores: Cores) -> Result<Value> {
    let client = |socket: &Path| {
        if cores == Cores::First {
            Scheduling::raise();
        }
        reads(socket, depth, |_, start| start.elapsed() < SECONDS)
    };
    // A thread of its own: its priority ends with it.
    let apart = |socket: &Path| {
        thread::scope(|scope| scope.spawn(|| client(socket)).join())
            .unwrap_or_else(|_| Err(std::io::Error::other("the client failed")))
    };
    let mut bare = beside(cores != Cores::Idle, || wordline_disk::floor::answering(depth as usize, SECONDS))?;
    let (answered, live, seen, _) = beside(cores != Cores::Idle, || served(Pace::Wall(1.0), apart))?;
    let name = format!("{cores:?}").to_lowercase();
    let modelled: BTreeMap<u64, &Answered> = answered.iter().map(|one| (one.cookie, one)).collect();
    let (mut late, mut delay, mut client, mut latency, mut apart) = (vec![], vec![], vec![], vec![], vec![]);
    for (cookie, (sent, had)) in &seen {
        let Some(one) = modelled.get(cookie) else { continue };
        let model = one.latency() as f64;
        let took = had.duration_since(*sent).as_nanos() as f64 * 1e3;
        let off = one.sent.abs_diff(one.completed);
        late.push(100.0 * off as f64 / model);
        delay.push(100.0 * (off + one.taken - one.arrival) as f64 / model);
        client.push(100.0 * (took - model).abs() / model);
        apart.push((took - model) / 1e6);
        latency.push(model / 1e6);
    }
    let row = json!({
        "depth": depth,
        "cores": name,
        "requests": latency.len(),
        "modelled_us": at(&mut latency, 0.5),
        "bare_error_percent": [at(&mut bare, 0.5), at(&mut bare, 0.99)],
        "server_error_percent": [at(&mut late, 0.5), at(&mut late, 0.99)],
        "delay_error_percent": [at(&mut delay, 0.5), at(&mut delay, 0.99)],
        "client_error_percent": [at(&mut client, 0.5), at(&mut client, 0.99)],
        "client_apart_us": [at(&mut apart, 0.01), at(&mut apart, 0.5), at(&mut apart, 0.99)],
        "transport_us": live["transport_us"],
        "scheduling": live["scheduling"],
    });
    let pair = |key: &str| [0, 1].map(|at| format!("{:8.2}", row[key][at].as_f64().unwrap_or(f64::NAN))).join(" ");
    println!(
        "{depth:>6} {name:<7} {:>9} {:>6.0} µs {} {} {} {} {:>5.1} µs",
        row["requests"],
        row["modelled_us"].as_f64().unwrap_or(f64::NAN),
        pair("bare_error_percent"),
        pair("server_error_percent"),
        pair("delay_error_percent"),
        pair("client_error_percent"),
        row["transport_us"][if depth == 1 { "asleep" } else { "dozing" }].as_f64().unwrap_or(f64::NAN),
    );
    Ok(row)
}

/// Requests per second without delays, of the wall and of the server's CPU time.
fn speed() -> Result<Value> {
    let started = Instant::now();
    let (_, live, seen, cpu_s) = served(Pace::Jump, |socket| reads(socket, 32, |asked, _| asked < REQUESTS))?;
    let first = seen.values().map(|(sent, _)| *sent).min().unwrap_or(started);
    let last = seen.values().map(|(_, had)| *had).max().unwrap_or(started);
    let requests = live["commands"]["read"].as_f64().unwrap_or(0.0);
    Ok(json!({
        "requests": requests,
        "requests_per_s": (requests / last.duration_since(first).as_secs_f64()).round(),
        "requests_per_cpu_s": (requests / cpu_s).round(),
    }))
}

type Measured = (Vec<Answered>, Value, Seen, f64);

/// Serves a drive to a client; gives what the server noted, its figures, what the client saw, and the server's CPU time.
fn served(pace: Pace, client: impl FnOnce(&Path) -> Result<Seen>) -> Result<Measured> {
    let sets = ["nand.read_us=100", "precondition.fill=false", "precondition.overwrites=0"].map(str::to_owned);
    let (loaded, parts) = wordline_drive::load("demo", &sets).map_err(std::io::Error::other)?;
    let drive = Drive::new(&loaded.value, 1).map_err(std::io::Error::other)?;
    let socket: PathBuf = std::env::temp_dir().join(format!("wordline-bench-{}.sock", std::process::id()));
    let listener = Listener::bind(&Address::Unix(socket.clone())).map_err(std::io::Error::other)?;
    let entry = Entry { name: String::new(), description: String::new(), bytes: 0 };
    let store = store::open(&Kind::Memory, parts.logical_bytes()).map_err(std::io::Error::other)?;
    let options = Options { pace, low_cpu: false, keep_requests: pace != Pace::Jump, keys: None };
    let offer = Offer { entry, drive, store, recorder: None };
    let server = Server::new(listener, vec![offer], options).map_err(std::io::Error::other)?;
    let control = server.control();
    let thread = thread::spawn(move || {
        let start = ThreadTime::now();
        (server.run(), start.elapsed().as_secs_f64())
    });
    let seen = client(&socket);
    control.stop();
    let (closed, cpu_s) = thread.join().map_err(|_| std::io::Error::other("the server failed"))?;
    let closed = closed.into_iter().next().ok_or_else(|| std::io::Error::other("no export"))?;
    Ok((closed.requests, closed.live, seen?, cpu_s))
}

/// Keeps `depth` reads in flight as long as `more` says so.
fn reads(socket: &Path, depth: u64, more: impl Fn(u64, Instant) -> bool) -> Result<Seen> {
    let mut stream = UnixStream::connect(socket)?;
    stream.read_exact(&mut [0; 18])?;
    stream.write_all(&[&b"\0\0\0\x03IHAVEOPT"[..], &1_u32.to_be_bytes(), &0_u32.to_be_bytes()].concat())?;
    stream.read_exact(&mut [0; 10])?;
    let chunk = vec![7; 1 << 20];
    for at in (0..SPAN).step_by(chunk.len()) {
        ask(&mut stream, WRITE, u64::MAX, at, &chunk)?;
        stream.read_exact(&mut [0; 16])?;
    }
    // Until the write buffer is in flash.
    thread::sleep(Duration::from_millis(300));
    let (mut seen, mut sent, mut place, mut asked) = (Seen::new(), BTreeMap::new(), 1_u64, 0);
    let start = Instant::now();
    let mut reply = [0; 16 + BYTES as usize];
    loop {
        while (sent.len() as u64) < depth && more(asked, start) {
            // Marsaglia's xorshift.
            place ^= place << 13;
            place ^= place >> 7;
            place ^= place << 17;
            sent.insert(asked, Instant::now());
            ask(&mut stream, READ, asked, place % (SPAN / u64::from(BYTES)) * u64::from(BYTES), &[])?;
            asked += 1;
        }
        if sent.is_empty() {
            return Ok(seen);
        }
        // A client that sleeps in a read is woken whenever the server takes a command, for nothing: the system cannot tell that from a reply.
        poll(&mut [PollFd::new(&stream, PollFlags::IN)], None)?;
        stream.read_exact(&mut reply)?;
        let had = Instant::now();
        let cookie =
            u64::from_be_bytes([reply[8], reply[9], reply[10], reply[11], reply[12], reply[13], reply[14], reply[15]]);
        if let Some(asked_at) = sent.remove(&cookie) {
            seen.insert(cookie, (asked_at, had));
        }
    }
}

fn ask(stream: &mut UnixStream, kind: u16, cookie: u64, offset: u64, data: &[u8]) -> Result<()> {
    let mut request = Vec::with_capacity(28 + data.len());
    request.extend(0x2560_9513_u32.to_be_bytes());
    request.extend(u32::from(kind).to_be_bytes());
    request.extend(cookie.to_be_bytes());
    request.extend(offset.to_be_bytes());
    request.extend(if data.is_empty() { BYTES } else { data.len() as u32 }.to_be_bytes());
    request.extend(data);
    stream.write_all(&request)
}

/// The value that a share of all does not exceed.
fn at(values: &mut [f64], share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = ((values.len() as f64 * share).ceil() as usize).max(1) - 1;
    values.get(rank).copied()
}
