//! A drive whose blocks have reached their endurance ends its run, and says so.

use crate::common::{drive, one, request};
use wordline_base::{Op, Request};
use wordline_drive::run::RunError;
use wordline_drive::{Drive, Fault, Reason};

const PAGE: u64 = 16_384;

fn build(endurance: u32) -> Drive {
    let text = format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
                      blocks_per_plane = 16, pages_per_block = 8, page_kib = 16 }}
        nand = {{ reliability = {{ endurance = {endurance} }} }}
        capacity = {{ raw_over_logical = 2.0 }}
        buffer = {{ policy = "none" }}
        "#
    );
    drive(&text, 1)
}

/// Overwrites in order until the flash is worn out.
fn worn(drive: &mut Drive) -> Fault {
    let pages = drive.logical_bytes() / PAGE;
    for nth in 0.. {
        let now = drive.now();
        let write = Request { arrival: now, ..request(Op::Write, nth % pages * PAGE, PAGE as u32) };
        drive.submit(now, write).expect("there is a slot");
        loop {
            match drive.step() {
                Ok(true) if drive.completions().is_empty() => {}
                Ok(true) => break,
                Ok(false) => panic!("the drive stalled"),
                Err(fault) => return fault,
            }
        }
        drive.completions().clear();
    }
    unreachable!("nothing is written for ever")
}

#[test]
fn the_story_names_block_and_key() {
    for endurance in [1, 5] {
        let mut drive = build(endurance);
        let fault = worn(&mut drive);
        let &Reason::WornOut { time, block, erases, .. } = fault.reason() else { panic!("{fault}") };
        assert_eq!((time, erases), (drive.now(), endurance));
        assert_eq!(drive.kernel().blocks().get(block).erases, endurance);
        // Blocks are written in turn, so all of them are near their end.
        assert!(drive.kernel().blocks().records().iter().all(|block| block.erases + 1 >= endurance));
        let told = RunError::from(fault).to_string();
        let story = format!(
            "the drive is worn out after {:.6} s: block {block} of plane 0, die 0, on channel 0, package 0 has reached the \
             {endurance} P/E cycles of nand.reliability.endurance",
            time as f64 / 1e12
        );
        assert_eq!(told, story);
    }
}

#[test]
fn without_a_limit_nothing_wears_out() {
    let mut drive = build(0);
    let pages = drive.logical_bytes() / PAGE;
    for nth in 0..20 * pages {
        one(&mut drive, request(Op::Write, nth % pages * PAGE, PAGE as u32));
    }
    assert!(drive.kernel().blocks().records().iter().all(|block| block.erases > 5));
}
