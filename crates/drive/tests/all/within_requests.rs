//! Multi-plane commands of one request only (`pack.across_requests = false`), however they are put together.

use crate::common::random_drive::random_config_of_commands;
use crate::common::{between, chance, closed_loop, for_seeds, long, pick, request};
use wordline_base::{Op, Stream};
use wordline_drive::{Drive, DriveConfig};
use wordline_firmware::task::Class;

/// Operations of the host in multi-plane commands after a load of requests of a page each; none if there is no such drive.
fn shared(seed: u64, across: bool) -> Option<(u64, DriveConfig, Drive)> {
    let random = &mut Stream::new(seed, "within-requests", 0);
    let config = random_config_of_commands(random, across)?;
    let mut drive = Drive::new(&config, seed).ok().filter(|drive| drive.kernel().plan().units_per_program == 1)?;
    let unit = u64::from(drive.kernel().plan().unit_bytes);
    let units = (drive.logical_bytes() / unit).min(400);
    let (depth, reads) = (between(random, 4, 40), *pick(random, &[30, 60, 90]));
    // What is written in order lies side by side.
    closed_loop(&mut drive, depth, units, |at| request(Op::Write, at * unit, unit as u32));
    let mut at = 0;
    closed_loop(&mut drive, depth, 600, |_| {
        at = if chance(random, 70) { (at + 1) % units } else { random.below(units) };
        request(if chance(random, reads) { Op::Read } else { Op::Write }, at * unit, unit as u32)
    });
    drive.drain().expect("the drive comes to rest");
    let shared = drive.kernel().counters().multi_plane;
    Some((shared[Class::HOST_READ.index()] + shared[Class::HOST_WRITE.index()], config, drive))
}

#[test]
fn no_command_serves_two_requests() {
    // Drives whose commands would serve several: all, with reads beside suspended commands, where the mapping fixes pages, by deadlines.
    let mut would = [0; 4];
    for_seeds("within_requests", "no_command_serves_two_requests", if long() { 6_000 } else { 1_000 }, |seed| {
        let Some((several, config, drive)) = shared(seed, false) else { return };
        assert_eq!(several, 0, "operations share commands of several requests");
        if shared(seed, true).is_some_and(|(several, ..)| several > 0) {
            let suspended = drive.kernel().counters().suspensions > 0;
            let (mapping, dispatch) = (config.firmware.mapping.name(), config.firmware.dispatch.name());
            let kinds = [true, suspended, mapping == "block", dispatch == "deadline"];
            would.iter_mut().zip(kinds).for_each(|(count, is)| *count += u32::from(is));
        }
    });
    let one = std::env::var_os("WORDLINE_SEED").is_some();
    assert!(one || would[0] > 60 && would[1..].iter().all(|&count| count > 5), "{would:?}");
}
