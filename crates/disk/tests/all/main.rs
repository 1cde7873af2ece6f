//! The live disk with clients in the same process.

mod client;
mod swaps;

use client::{Client, FLUSH, READ, TRIM, WRITE, ZERO};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wordline_disk::store::{self, Kind};
use wordline_disk::{Address, Closed, Control, Entry, Listener, Offer, Options, Pace, Server};
use wordline_drive::Drive;

const DRIVE: &str = r#"
title = "small"
[geometry]
channels = 2
packages_per_channel = 1
dies_per_package = 2
planes_per_die = 1
blocks_per_plane = 40
pages_per_block = 64
page_kib = 16
[capacity]
raw_over_logical = 1.28
[queue]
depth = 32
"#;

struct Live {
    socket: PathBuf,
    bytes: u64,
    control: Control,
    thread: Option<JoinHandle<Vec<Closed>>>,
}

impl Live {
    fn new(pace: Pace, low_cpu: bool) -> Self {
        Self::of(DRIVE, pace, low_cpu)
    }

    fn of(drive: &str, pace: Pace, low_cpu: bool) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let socket = std::env::temp_dir().join(format!("wordline-live-{}-{number}.sock", std::process::id()));
        let config = wordline_drive::load::from_text("small", drive).unwrap();
        let drive = Drive::new(&config, 1).unwrap();
        let bytes = drive.logical_bytes();
        let entry = Entry { name: String::new(), description: String::new(), bytes: 0 };
        let offer = Offer { entry, drive, store: store::open(&Kind::Memory, bytes).unwrap(), recorder: None };
        let listener = Listener::bind(&Address::Unix(socket.clone())).unwrap();
        let server =
            Server::new(listener, vec![offer], Options { pace, low_cpu, keep_requests: true, keys: None }).unwrap();
        let control = server.control();
        Self { socket, bytes, control, thread: Some(thread::spawn(move || server.run())) }
    }

    fn client(&self) -> Client {
        Client::new(&self.socket)
    }

    /// Stops the server, and gives its only export, whose drive did not fail.
    fn close(self) -> Closed {
        let closed = self.end();
        assert!(closed.fault.is_none() && closed.unsaved.is_none());
        closed
    }

    /// Stops the server, and gives its only export.
    fn end(mut self) -> Closed {
        self.control.stop();
        let closed = self.thread.take().unwrap().join().unwrap();
        assert!(!self.socket.exists(), "the socket is gone");
        closed.into_iter().next().unwrap()
    }
}

/// A small generator of test data: the sequence of Marsaglia's xorshift.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn data_agree_with_an_array_whatever_connection_asks() {
    let live = Live::new(Pace::Jump, false);
    let mut clients = [live.client(), live.client()];
    let mut array = vec![0_u8; live.bytes as usize];
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    for step in 0..3000_u32 {
        let client = &mut clients[dice.below(2) as usize];
        let unit = [1, 512, 4096][dice.below(3) as usize];
        let offset = dice.below(live.bytes / unit) * unit;
        let bytes = ((1 + dice.below(200_000 / unit)) * unit).min(live.bytes - offset) as usize;
        let part = offset as usize..offset as usize + bytes;
        match dice.below(8) {
            0..=2 => {
                let data: Vec<u8> = part.clone().map(|at| (at as u32 / 3 + step) as u8).collect();
                client.does(WRITE, offset, bytes as u32, &data);
                array[part].copy_from_slice(&data);
            }
            3 => {
                client.does(ZERO, offset, bytes as u32, &[]);
                array[part].fill(0);
            }
            // What was trimmed reads as zeros here, though a client may not rely on it.
            4 => {
                client.does(TRIM, offset, bytes as u32, &[]);
                array[part].fill(0);
            }
            5 => client.does(FLUSH, 0, 0, &[]),
            _ => assert!(client.read(offset, bytes) == array[part], "step {step}: {bytes} bytes at {offset}"),
        }
    }
    let closed = live.close();
    assert_eq!(closed.live["errors"], 0);
    assert_eq!(closed.live["connections"], 2);
    let commands: u64 = closed.live["commands"].as_object().unwrap().values().filter_map(|n| n.as_u64()).sum();
    assert_eq!(commands, 3000);
    // Zeros may be three requests of the drive, and a short trim none.
    assert!(closed.requests.len() > 2950 && closed.drive.metrics.requests() as usize > closed.requests.len());
}

/// How soon after its time it comes is for the benchmark.
#[test]
fn no_reply_comes_before_its_time() {
    for low_cpu in [false, true] {
        let live = Live::new(Pace::Wall(1.0), low_cpu);
        let mut client = live.client();
        client.does(WRITE, 0, 1 << 20, &vec![7; 1 << 20]);
        client.does(FLUSH, 0, 0, &[]);
        let started = Instant::now();
        for at in 0..100_u64 {
            assert_eq!(client.read(at * 8192, 4096), [7; 4096]);
        }
        let took = started.elapsed();
        let closed = live.close();
        let reads = &closed.requests[2..];
        assert_eq!(reads.len(), 100);
        assert!(reads.iter().all(|read| read.sent >= read.completed && read.completed > read.taken));
        let modelled: u64 = reads.iter().map(|read| read.latency()).sum();
        // A flash page takes tens of microseconds to read; what a busy machine adds is unknown.
        assert!(modelled / 100 > 20_000_000, "{modelled}");
        let offset = closed.live["transport_us"]["asleep"].as_f64().unwrap();
        let least = modelled as f64 / 1e12 - 100.0 * offset / 1e6;
        assert!(took.as_secs_f64() > least, "{took:?} for {least} s");
    }
}

#[test]
fn a_slower_pace_makes_longer_delays() {
    let live = Live::new(Pace::Wall(0.01), false);
    let mut client = live.client();
    client.does(WRITE, 0, 4096, &[1; 4096]);
    client.does(FLUSH, 0, 0, &[]);
    let started = Instant::now();
    client.read(0, 4096);
    let took = started.elapsed();
    let closed = live.close();
    let modelled = closed.requests[2].latency();
    let least = Duration::from_nanos(modelled / 1000 * 100) - Duration::from_micros(200);
    assert!(took > least, "{took:?} for {modelled} ps");
}

#[test]
fn later_requests_delay_earlier_ones_as_they_would_in_a_device() {
    let live = Live::new(Pace::Wall(0.05), false);
    let mut client = live.client();
    client.does(WRITE, 0, 1 << 20, &vec![7; 1 << 20]);
    client.does(FLUSH, 0, 0, &[]);
    // More than the drive takes at once: the rest waits for slots.
    for cookie in 0..100 {
        client.ask(READ, cookie, cookie * 4096, 4096, &[]).unwrap();
    }
    let mut got: Vec<u64> = (0..100)
        .map(|_| {
            let (cookie, error) = client.answer().unwrap();
            assert_eq!(error, 0);
            client.stream.read_exact(&mut [0; 4096]).unwrap();
            cookie
        })
        .collect();
    got.sort_unstable();
    assert!(got.iter().copied().eq(0..100));
    let closed = live.close();
    let reads = &closed.requests[2..];
    let (least, most) =
        (reads.iter().map(|r| r.latency()).min().unwrap(), reads.iter().map(|r| r.latency()).max().unwrap());
    assert!(most > 5 * least, "a hundred reads of four dies queue up: {least} to {most} ps");
}

#[test]
fn a_client_that_stalls_or_lies_harms_no_other() {
    let live = Live::new(Pace::Jump, true);
    let mut good = live.client();
    good.does(WRITE, 0, 4096, &[5; 4096]);
    let silent = Client::raw(&live.socket);
    let mut half = live.client();
    half.ask(WRITE, 1, 4096, 1 << 20, &[6; 1000]).unwrap();
    let mut noise = Client::raw(&live.socket);
    noise.stream.write_all(&[0xAB; 5000]).unwrap();
    let mut liar = live.client();
    liar.ask(READ, 3, live.bytes - 1, 4096, &[]).unwrap();
    assert_eq!(liar.answer().unwrap(), (3, 22));
    let mut gone = live.client();
    gone.ask(READ, 4, 0, 1 << 20, &[]).unwrap();
    drop(gone);
    // It asks for far more than it ever reads.
    let mut greedy = live.client();
    greedy.stream.set_nonblocking(true).unwrap();
    let mut asked = 0_u32;
    while asked < 20_000 && greedy.ask(READ, 2, 0, 1 << 20, &[]).is_ok() {
        asked += 1;
    }
    for round in 0..50_u8 {
        good.does(WRITE, 8192, 4096, &[round; 4096]);
        assert_eq!(good.read(8192, 4096), [round; 4096]);
    }
    assert_eq!(good.read(0, 4096), [5; 4096]);
    assert_eq!(good.read(4096, 1), [0], "half a write is none");
    let mut byte = [0];
    noise.stream.read_exact(&mut [0; 18]).unwrap();
    assert_eq!(noise.stream.read(&mut byte).unwrap_or(0), 0, "who breaks the protocol is left");
    let started = Instant::now();
    let closed = live.close();
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!(closed.live["errors"], 0, "a refused command never reached the drive");
    drop((silent, half, greedy));
}

#[test]
fn a_client_that_was_held_back_gets_all_its_replies() {
    let live = Live::new(Pace::Jump, false);
    let mut client = live.client();
    client.stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut reader = Client { stream: client.stream.try_clone().unwrap() };
    let asks = thread::spawn(move || {
        for cookie in 0..300 {
            client.ask(READ, cookie, 0, 1 << 20, &[]).unwrap();
        }
        client
    });
    // By now more than 64 MiB are asked for.
    thread::sleep(Duration::from_millis(50));
    for cookie in 0..300 {
        assert_eq!(reader.answer().unwrap(), (cookie, 0));
        reader.stream.read_exact(&mut vec![0; 1 << 20]).unwrap();
    }
    drop(asks.join().unwrap());
    assert_eq!(live.close().live["read_bytes"], 300_u64 << 20);
}

#[test]
fn a_drive_that_wears_out_answers_errors_from_then_on() {
    let mortal = r#"
title = "mortal"
geometry = { channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
             blocks_per_plane = 16, pages_per_block = 8, page_kib = 16 }
nand = { reliability = { endurance = 3 } }
capacity = { raw_over_logical = 2.0 }
buffer = { policy = "none" }
"#;
    for pace in [Pace::Jump, Pace::Wall(1.0)] {
        let live = Live::of(mortal, pace, true);
        let mut client = live.client();
        let pages = live.bytes / 16_384;
        // Several in flight: all of them are answered when the drive fails.
        for cookie in 0..1000 {
            client.ask(WRITE, cookie, cookie % pages * 16_384, 16_384, &[cookie as u8; 16_384]).unwrap();
            if cookie >= 8 {
                let error = client.answer().unwrap().1;
                assert!(error == 0 || error == 5, "{error}");
            }
        }
        let left: Vec<u32> = (0..8).map(|_| client.answer().unwrap().1).collect();
        assert_eq!(left, [5; 8]);
        client.ask(READ, 1, 0, 4096, &[]).unwrap();
        assert_eq!(client.answer().unwrap(), (1, 5));
        assert!(live.control.status().errors <= 1000);
        let closed = live.end();
        let story = closed.fault.unwrap().to_string();
        assert!(story.contains("nand.reliability.endurance"), "{story}");
        assert!(closed.live["errors"].as_u64().unwrap() > 300);
    }
}
