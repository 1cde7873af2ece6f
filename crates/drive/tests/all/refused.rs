//! What is wrong is refused, with its name: absurd values in the file of a drive, and requests that do not fit.

use crate::common::{chance, config, for_seeds, long, pick, request, ONE_PLANE};
use wordline_base::{Op, Request, Stream};
use wordline_drive::load::from_text;
use wordline_drive::{Drive, SubmitError};

/// Absurd values among valid ones are rejected with their key, or accepted; they never crash the check.
#[test]
fn nonsense_is_refused() {
    let (mut refused, count) = (0, if long() { 40_000 } else { 4_000 });
    for_seeds("refused", "nonsense_is_refused", count, |seed| {
        let random = &mut Stream::new(seed, "nonsense", 0);
        let sizes = [0, 1, 2, 3, 7, 255, 256, 1_024, 65_535, 65_536, 1 << 24, u64::from(u32::MAX)];
        let ratios = ["-1.0", "0.0", "1.0", "1.0000001", "1.07", "2.0", "100.0", "1e300", "inf", "nan"];
        let times = ["-1.0", "0.0", "1e-9", "50.0", "1e6", "1e7", "1e300", "nan", "inf"];
        let mut size = |usual: u64| if chance(random, 15) { *pick(random, &sizes) } else { usual };
        let geometry = format!(
            "channels = {}, packages_per_channel = {}, dies_per_package = {}, planes_per_die = {}, blocks_per_plane = {}, \
             pages_per_block = {}, page_kib = {}",
            size(2), size(1), size(2), size(2), size(64), size(64), size(16)
        );
        let collect = format!(
            "policy = \"on-demand\", scope = \"plane\", reserve_blocks = {}, start_blocks = {}, stop_blocks = {}, \
             window_pages = {}, blocks_at_a_time = {}",
            size(1),
            size(2),
            size(2),
            size(8),
            size(1)
        );
        let rest = format!(
            "mapping = {{ policy = \"page\", unit_kib = {} }}\n queue = {{ queues = {}, depth = {} }}\n\
             buffer = {{ policy = \"fifo\", capacity_kib = {} }}\n pack = {{ policy = \"planes\", window = {} }}\n\
             victim = {{ policy = \"best-of\", d = {} }}",
            size(4),
            size(1),
            size(64),
            size(1_024),
            size(8),
            size(10)
        );
        let mut figure = |list: &[&'static str], usual| if chance(random, 10) { *pick(random, list) } else { usual };
        let text = format!(
            "geometry = {{ {geometry} }}\n collect = {{ {collect} }}\n {rest}\n capacity = {{ raw_over_logical = {} }}\n\
             nand = {{ read_us = {}, program_us = [{}, {}], erase_us = {}, dummy_busy_us = {} }}\n\
             link = {{ policy = \"nvme\", latency_us = {} }}\n precondition = {{ overwrites = {} }}",
            figure(&ratios, "1.28"), figure(&times, "50.0"), figure(&times, "300.0"), figure(&times, "900.0"),
            figure(&times, "3000.0"), figure(&times, "0.5"), figure(&times, "0.5"), figure(&ratios, "2.0")
        );
        match from_text("nonsense", &text) {
            Ok(config) => {
                let derived = config.parts().expect("checked").derived();
                assert!(derived.logical_bytes > 0 && derived.logical_bytes < derived.raw_bytes, "{text}");
                assert!(derived.spare_blocks_per_domain > derived.reserve_blocks, "{text}");
            }
            Err(error) => {
                refused += 1;
                let words = error.to_string();
                assert!(words.contains('=') || words.contains(':'), "an error names its key: {words}");
            }
        }
    });
    if std::env::var_os("WORDLINE_SEED").is_none() {
        assert!(refused > count / 4 && refused < count, "{refused} of {count} refused");
    }
}

/// A request that does not fit is rejected, and the drive is unchanged.
#[test]
fn misfits_are_refused() {
    let mut drive = Drive::new(&config(ONE_PLANE), 1).expect("accepted");
    let end = drive.logical_bytes();
    for (bad, past) in [
        (request(Op::Read, 0, 0), false),
        (request(Op::Read, 1, 512), false),
        (request(Op::Write, 0, 513), false),
        (request(Op::Read, end, 512), true),
        (request(Op::Write, end - 512, 1024), true),
        (request(Op::Trim, u64::MAX - 511, 512), true),
        (request(Op::Read, 0, u32::MAX - 511), true),
    ] {
        let error = drive.submit(0, bad).expect_err("it does not fit");
        assert_eq!(matches!(error, SubmitError::PastEnd { .. }), past, "{error}");
        assert_eq!(matches!(error, SubmitError::Unaligned { .. }), !past, "{error}");
    }
    let late = Request { arrival: 5, ..request(Op::Read, 0, 512) };
    assert!(matches!(drive.submit(4, late), Err(SubmitError::OutOfTime { .. })));
    assert_eq!((drive.in_flight(), drive.next_event()), (0, None));
    // Two slots in each of two queues; streams alternate between the queues.
    for stream in [0, 1, 2, 3] {
        assert!(drive.has_slot(stream));
        drive.submit(10, Request { stream, ..request(Op::Write, 0, 512) }).expect("there is a slot");
    }
    assert!(!drive.has_slot(0) && !drive.has_slot(1));
    assert_eq!(drive.submit(10, request(Op::Flush, 0, 0)), Err(SubmitError::QueueFull));
    assert!(matches!(drive.submit(9, request(Op::Flush, 0, 0)), Err(SubmitError::OutOfTime { .. })));
    drive.drain().expect("the drive comes to rest");
    assert_eq!(drive.completions().len(), 4);
}
