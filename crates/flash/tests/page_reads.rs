//! Reads of one page, which need no command to be put together: with the same times, books and refusals as any other command.

use wordline_base::{EventQueue, Stream, Time};
use wordline_flash::config::ByClass;
use wordline_flash::{Command, Flash, Geometry, GeometryConfig, Kind, NandConfig, PageAddress, Progress, Timing};

const PAGES: u32 = 12;
const DIES: u32 = 8;
const PLANES: u32 = 2;

/// Flash in which the first half of each block is written. What is recorded takes the way of all commands.
fn flash(recorded: bool) -> Flash {
    let geometry = GeometryConfig {
        channels: 2,
        packages_per_channel: 2,
        planes_per_die: PLANES,
        blocks_per_plane: 3,
        pages_per_block: PAGES,
        ..GeometryConfig::default()
    };
    let nand = NandConfig { read_us: ByClass::Each(vec![20.0, 60.0]), ..NandConfig::default() };
    let timing = Timing::new(&nand, PAGES).expect("the times are sound");
    let mut flash = Flash::new(Geometry::new(&geometry).expect("the shape is sound"), timing, 0);
    for die in 0..DIES {
        for (plane, block) in (0..PLANES).flat_map(|plane| (0..3).map(move |block| (plane, block))) {
            flash.commit_programs(0, die, PageAddress { plane, block, page: 0 }, PAGES / 2).expect("it was erased");
        }
    }
    flash.record(false, recorded);
    flash
}

/// Works at random; tells each event and each refusal, then what dies and buses have done.
fn work(flash: &mut Flash, seed: u64, by_page: bool) -> Vec<String> {
    let (mut random, mut queue) = (Stream::new(seed, "page-reads", 0), EventQueue::default());
    let (mut busy, mut told, mut now): (_, _, Time) = ([false; DIES as usize], Vec::new(), 0);
    for _ in 0..600 {
        let die = random.below(u64::from(DIES)) as u32;
        let program = random.below(5) == 0;
        let page = PageAddress {
            plane: random.below(u64::from(PLANES)) as u32,
            block: random.below(3) as u32,
            page: random.below(u64::from(PAGES)) as u32,
        };
        let mut command = Command::new(if program { Kind::Program } else { Kind::Read });
        command.add(page, 512 * (1 + random.below(32) as u32));
        let (first, bytes) = (command.pages()[0], command.bytes()[0]);
        let two = random.below(6) == 0;
        if two {
            command.add(PageAddress { plane: 1 - page.plane, ..page }, 4096);
        }
        // Commands for busy dies and for pages that are not written are refused.
        let begun = if by_page && !program && !two {
            flash.read_page(now, die, first, bytes, &mut queue)
        } else {
            flash.begin(now, die, &command, &mut queue)
        };
        busy[die as usize] |= begun.is_ok();
        told.push(format!("{begun:?}"));
        for _ in 0..random.below(4) {
            let Some(event) = queue.pop() else { break };
            now = event.time;
            let progress = flash.step(now, event.index, &mut queue);
            busy[event.index as usize] &= progress != Progress::Done;
            told.push(format!("{now} {} {progress:?} {}", event.index, flash.due(event.index)));
        }
    }
    told.extend((0..DIES).map(|die| format!("{die}: {:?} {}", flash.die_times(die), busy[die as usize])));
    told.extend((0..2).map(|channel| format!("{:?} {}", flash.channel_times(channel), flash.bus_free_at(channel))));
    told.extend(flash.block_records().map(|record| format!("{record:?}")));
    told
}

#[test]
fn a_read_of_one_page_is_a_command_like_others() {
    for seed in 0..60 {
        let any = work(&mut flash(true), seed, false);
        assert!(
            any.iter().any(|line| line.contains("Err"))
                && any.iter().any(|line| line.ends_with("Done 9223372036854775808"))
        );
        assert_eq!(any, work(&mut flash(false), seed, false), "seed {seed}");
        assert_eq!(any, work(&mut flash(false), seed, true), "seed {seed}, page by page");
        assert_eq!(any, work(&mut flash(true), seed, true), "seed {seed}, recorded");
    }
}
