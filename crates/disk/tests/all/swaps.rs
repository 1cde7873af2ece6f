//! Views, pauses and swaps of a disk that clients use.

use super::{Client, Dice, Live, DRIVE, READ, WRITE};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wordline_disk::{Pace, Refused};
use wordline_drive::Drive;

/// The test drive with other sections behind its own, buffered so that a drain has something to do.
fn with(sections: &str) -> String {
    format!("{DRIVE}[buffer]\npolicy = \"fifo\"\ncapacity_kib = 256\n{sections}")
}

fn drive(text: &str) -> Box<Drive> {
    Box::new(Drive::new(&wordline_drive::load::from_text("small", text).unwrap(), 1).unwrap())
}

/// Writes and verifies at random within the first `span` bytes until `stop`; gives how many commands that were.
fn verify(client: &mut Client, span: u64, stop: &AtomicBool, progress: &AtomicU64) {
    let mut array = vec![0_u8; span as usize];
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    while !stop.load(Ordering::Relaxed) {
        let bytes = 4096 * (1 + dice.below(4));
        let offset = 4096 * dice.below((span - bytes) / 4096);
        let part = offset as usize..(offset + bytes) as usize;
        if dice.below(3) > 0 {
            let fill = dice.below(255) as u8 + 1;
            array[part.clone()].fill(fill);
            client.does(WRITE, offset, bytes as u32, &array[part]);
        } else {
            let seen = client.read(offset, bytes as usize);
            assert!(seen == array[part], "{bytes} bytes at {offset}");
        }
        progress.fetch_add(1, Ordering::Relaxed);
    }
    for (at, part) in array.chunks(1 << 20).enumerate() {
        assert!(client.read((at as u64) << 20, part.len()) == part, "MiB {at}");
    }
}

fn wait_for(mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(10), "it never comes");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whatever the pace, data stay, and so do maps, valid counts and wear: the shadow disk of the drives compares them.
fn swapped_under_load(pace: Pace) {
    let shadow = "[verify]\nshadow = true\n";
    let live = Live::of(&with(shadow), pace, false);
    let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
    let span = 3 * live.bytes / 4;
    let mut client = live.client();
    let control = live.control.clone();
    thread::scope(|scope| {
        let load = scope.spawn(|| verify(&mut client, span, &stop, &progress));
        let mut erases = 0;
        for (victim, arbiter) in
            [("fifo", "reads-first"), ("best-of", "first-come"), ("random", "priority"), ("greedy", "reads-first")]
        {
            let before = progress.load(Ordering::Relaxed);
            wait_for(|| progress.load(Ordering::Relaxed) > before + 200);
            let next = with(&format!("[victim]\npolicy = \"{victim}\"\n[arbiter]\npolicy = \"{arbiter}\"\n{shadow}"));
            let done = control.swap(0, drive(&next)).unwrap();
            assert!(done.old.metrics.requests() > 0 && done.old.in_flight() == 0);
            done.old.kernel().audit().unwrap();
            let worn: u32 = done.old.kernel().blocks().records().iter().map(|block| block.erases).sum();
            assert!(worn >= erases, "wear stays");
            erases = worn;
            drop(done);
            control.settle(0);
        }
        let before = progress.load(Ordering::Relaxed);
        wait_for(|| progress.load(Ordering::Relaxed) > before + 200);
        stop.store(true, Ordering::Relaxed);
        load.join().unwrap();
        let told = control.view(0, true).unwrap().document();
        let least = told["wear"]["most"].as_u64().unwrap();
        assert!(erases == 0 || least > 0, "the new drive has the wear of the old");
    });
    drop(client);
    let closed = live.close();
    closed.drive.kernel().audit().unwrap();
    assert_eq!(closed.live["errors"], 0);
}

#[test]
fn data_stay_whatever_drive_takes_over_under_load() {
    swapped_under_load(Pace::Jump);
}

#[test]
fn data_stay_at_the_pace_of_the_clock() {
    swapped_under_load(Pace::Wall(20.0));
}

#[test]
fn a_drive_of_another_shape_is_refused_and_the_disk_goes_on() {
    let live = Live::of(&with(""), Pace::Wall(1.0), false);
    let mut client = live.client();
    client.does(WRITE, 0, 8192, &[3; 8192]);
    let other = drive(&with("").replace("channels = 2", "channels = 1"));
    let refused = live.control.swap(0, other).unwrap_err();
    assert!(matches!(&refused, Refused::Misfit(error) if error.key == "geometry"), "{refused}");
    live.control.pause(true);
    assert!(matches!(live.control.swap(0, drive(&with(""))), Err(Refused::Paused)));
    live.control.pause(false);
    assert_eq!(client.read(0, 8192), [3; 8192]);
    live.control.swap(0, drive(&with(""))).unwrap();
    assert_eq!(client.read(0, 8192), [3; 8192]);
    let control = live.control.clone();
    live.close();
    assert!(control.view(0, false).is_none(), "it has ended");
    assert!(matches!(control.set_pace(1.0), Err(Refused::Ended)));
}

/// While it is paused nothing is answered that takes time; afterwards the delay is that of the drive, not of the pause.
#[test]
fn a_paused_disk_answers_nothing_until_it_is_resumed() {
    for pace in [Pace::Wall(1.0), Pace::Jump] {
        let live = Live::of(&with(""), pace, false);
        let mut client = live.client();
        client.does(WRITE, 0, 4096, &[1; 4096]);
        live.control.pause(true);
        client.ask(READ, 7, 0, 4096, &[]).unwrap();
        wait_for(|| live.control.view(0, false).unwrap().in_progress == 1);
        let (one, other) = (live.control.view(0, false).unwrap(), live.control.view(0, false).unwrap());
        assert!(one.paused && one.clock_s == other.clock_s, "time stands still");
        client.stream.set_read_timeout(Some(Duration::from_millis(60))).unwrap();
        client.answer().unwrap_err();
        client.stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        live.control.pause(false);
        assert_eq!(client.answer().unwrap(), (7, 0));
        std::io::Read::read_exact(&mut client.stream, &mut [0; 4096]).unwrap();
        let closed = live.close();
        let read = closed.requests.last().unwrap();
        assert!(read.latency() < 10_000_000_000, "{} ps: the pause is no part of it", read.latency());
    }
}

#[test]
fn a_view_tells_what_clients_do() {
    let live = Live::of(&with(""), Pace::Wall(1.0), false);
    let mut client = live.client();
    for at in 0..64 {
        client.does(WRITE, at * 65536, 65536, &vec![at as u8; 65536]);
    }
    live.control.set_pace(0.5).unwrap();
    let view = live.control.view(0, true).unwrap();
    assert_eq!((view.pace, view.paused, view.clients), (Some(0.5), false, 1));
    let told = view.document();
    assert_eq!(told["latency"]["write"]["requests"], 64);
    assert_eq!(told["latency"]["write"]["bytes"], 64 * 65536);
    let classes: u64 = told["latency"]["write"]["classes"].as_array().unwrap().iter().filter_map(|n| n.as_u64()).sum();
    assert_eq!(classes, 64);
    assert_eq!(told["live"]["server"]["commands"]["write"], 64);
    assert_eq!(told["dies"]["doing"].as_array().unwrap().len(), 4);
    assert_eq!(told["map"]["state"].as_str().unwrap().len(), 160);
    let held: f64 = told["dies"]["held_s"]["write"].as_array().unwrap().iter().filter_map(|s| s.as_f64()).sum();
    assert!(held > 0.0);
    live.close();
    let jumps = Live::new(Pace::Jump, false);
    assert!(matches!(jumps.control.set_pace(0.5), Err(Refused::Jumps)));
    jumps.close();
}
