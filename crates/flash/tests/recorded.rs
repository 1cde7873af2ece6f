//! What is recorded of commands changes nothing of what they do: neither sums of their time nor a log of them, on dies that read, program and
//! erase in SLC mode and outside of it.

use wordline_base::{EventQueue, Stream, Time};
use wordline_flash::config::ByClass;
use wordline_flash::{Command, Flash, Geometry, GeometryConfig, Kind, NandConfig, PageAddress, Progress, Timing};

const PAGES: u32 = 12;
const DIES: u32 = 4;
const PLANES: u32 = 4;
const BLOCKS: u32 = 4;
const PAGE_BYTES: u32 = 4_096;
const SLC_READ: Time = 25_000_000;
const SLC_PROGRAM: Time = 200_000_000;

/// What is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recorded {
    Nothing,
    Sums,
    Log,
}

fn flash(recorded: Recorded) -> Flash {
    let geometry = GeometryConfig {
        channels: 1,
        packages_per_channel: 1,
        dies_per_package: DIES,
        planes_per_die: PLANES,
        blocks_per_plane: BLOCKS,
        pages_per_block: PAGES,
        page_kib: 4,
        slc_pages_per_block: Some(PAGES / 2),
        ..GeometryConfig::default()
    };
    let nand = NandConfig {
        read_us: ByClass::Each(vec![40.0, 60.0]),
        program_us: ByClass::Each(vec![400.0, 900.0]),
        slc_read_us: Some(25.0),
        slc_program_us: Some(200.0),
        ..NandConfig::default()
    };
    let timing = Timing::new(&nand, PAGES).expect("the times are sound");
    let mut flash = Flash::new(Geometry::new(&geometry).expect("the shape is sound"), timing, 0);
    flash.record(recorded == Recorded::Log, recorded != Recorded::Nothing);
    flash
}

/// A command for a die, mostly a legal one.
fn draw(flash: &Flash, die: u32, random: &mut Stream) -> Command {
    let planes = [1, 1, 2, 4][random.below(4) as usize];
    let block = random.below(u64::from(BLOCKS)) as u32;
    let first = if planes == 1 { random.below(u64::from(PLANES)) as u32 } else { 0 };
    let at = |plane| flash.page_record(die, &PageAddress { plane, block, page: 0 });
    let (written, slc) = (at(first).next_page, block < BLOCKS / 2);
    let pages = if slc { PAGES / 2 } else { PAGES };
    let kind = match random.below(8) {
        0..=4 if written < pages => Kind::Program,
        5 if written == pages => Kind::Erase,
        _ => Kind::Read,
    };
    let page = match kind {
        Kind::Program => written,
        Kind::Read => random.below(u64::from(written.max(1))) as u32,
        _ => 0,
    };
    let mut command = Command::new(kind);
    command.slc = slc && kind != Kind::Erase;
    for plane in first..first + planes {
        command.add(PageAddress { plane, block, page }, PAGE_BYTES);
    }
    command
}

/// Works at random; tells each event and each refusal, then what dies and buses have done.
fn work(recorded: Recorded, seed: u64) -> Vec<String> {
    let (mut flash, mut queue) = (flash(recorded), EventQueue::default());
    let (mut random, mut told, mut now): (_, _, Time) = (Stream::new(seed, "recorded", 0), Vec::new(), 0);
    for _ in 0..800 {
        let die = random.below(u64::from(DIES)) as u32;
        let command = draw(&flash, die, &mut random);
        if recorded == Recorded::Sums {
            flash.hear_next(true, 0);
        }
        told.push(format!("{:?}", flash.begin(now, die, &command, &mut queue)));
        for _ in 0..random.below(4) {
            let Some(event) = queue.pop() else { break };
            now = event.time;
            let progress = flash.step(now, event.index, &mut queue);
            told.push(format!("{now} {} {progress:?} {}", event.index, flash.due(event.index)));
        }
    }
    told.extend((0..DIES).map(|die| format!("{:?}", flash.die_times(die))));
    told.push(format!("{:?} {}", flash.channel_times(0), flash.bus_free_at(0)));
    told.extend(flash.block_records().map(|record| format!("{record:?}")));
    told
}

#[test]
fn what_is_recorded_of_commands_changes_nothing() {
    let mut slow = 0;
    for seed in 0..100 {
        let plain = work(Recorded::Nothing, seed);
        slow += plain.iter().filter(|line| line.contains("Done")).count();
        for recorded in [Recorded::Sums, Recorded::Log] {
            let other = work(recorded, seed);
            let differs = plain.iter().zip(&other).position(|(one, other)| one != other);
            assert_eq!(differs, None, "seed {seed}, {recorded:?}: the first line that differs");
            assert_eq!(plain.len(), other.len(), "seed {seed}, {recorded:?}");
        }
    }
    assert!(slow > 10_000, "{slow} commands have ended: too few to tell");
}

/// From the start of a command on an idle drive to its end, without the time on the bus.
fn alone(recorded: Recorded, command: &Command, flash: &mut Flash) -> Time {
    let mut queue = EventQueue::default();
    let (begun, used) = (flash.bus_free_at(0), flash.channel_times(0).busy);
    if recorded == Recorded::Sums {
        flash.hear_next(true, 0);
    }
    flash.begin(begun, 0, command, &mut queue).expect("it is legal");
    while let Some(event) = queue.pop() {
        if flash.step(event.time, event.index, &mut queue) == Progress::Done {
            return event.time - begun - (flash.channel_times(0).busy - used);
        }
    }
    panic!("it has not ended");
}

#[test]
fn commands_in_slc_mode_take_its_times_in_all_planes() {
    // 0.5 us of tDBSY between two planes.
    let dummy = 500_000;
    for recorded in [Recorded::Nothing, Recorded::Sums, Recorded::Log] {
        for planes in [1, 2, 4] {
            let mut flash = flash(recorded);
            for (kind, time) in [(Kind::Program, SLC_PROGRAM), (Kind::Read, SLC_READ)] {
                let mut command = Command::new(kind);
                command.slc = true;
                for plane in 0..planes {
                    command.add(PageAddress { plane, block: 0, page: 0 }, PAGE_BYTES);
                }
                let took = alone(recorded, &command, &mut flash);
                let pauses = Time::from(planes - 1) * dummy;
                assert_eq!(took, time + pauses, "{kind:?} of {planes} planes, {recorded:?}");
            }
        }
    }
}
