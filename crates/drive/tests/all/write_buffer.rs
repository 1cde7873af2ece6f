//! The write buffer, request by request: trims, overwrites of a part, and writes that may not wait.

use crate::common::{config, one, request, ONE_PLANE};
use wordline_base::{Op, Request};
use wordline_drive::Drive;

/// Data that were acknowledged from the write buffer and then trimmed do not reappear.
#[test]
fn trim_reaches_the_write_buffer() {
    let buffer = "policy = \"fifo\", capacity_kib = 256 }\n mapping = { policy = \"page\", unit_kib = 4";
    let mut drive = Drive::new(&config(&ONE_PLANE.replace("policy = \"none\"", buffer)), 1).expect("accepted");
    // A quarter of a page waits in the buffer for more data.
    one(&mut drive, request(Op::Write, 0, 4_096));
    one(&mut drive, request(Op::Trim, 0, 4_096));
    drive.drain().expect("the drive comes to rest");
    one(&mut drive, request(Op::Read, 0, 4_096));
    assert_eq!(drive.kernel().counters().reads(), 0, "the unit was given back");
}

/// Two acknowledged writes of a logical page, the first of a part of it: the second wins.
#[test]
fn acknowledged_writes_keep_their_order() {
    let text = ONE_PLANE.replace("policy = \"none\"", "policy = \"fifo\", capacity_kib = 256");
    let mut drive = Drive::new(&config(&text), 1).expect("accepted");
    one(&mut drive, request(Op::Write, 0, 16_384));
    drive.drain().expect("the drive comes to rest");
    drive.start_measuring();
    one(&mut drive, request(Op::Write, 0, 4_096));
    one(&mut drive, request(Op::Write, 0, 16_384));
    drive.drain().expect("the drive comes to rest");
    // In order: old data are read once, merged and programmed; then the whole logical page. Out of order: the part is
    // merged twice, the second time over the newer data.
    assert_eq!(drive.kernel().counters().merge_reads, 1);
    let version =
        serde_json::to_value(&drive).expect("a drive can be written out")["kernel"]["shadow"]["expected"][0].clone();
    assert_eq!(version, 3, "the third write is the last");
}

/// A FUA write of a part of a logical page, and a newer write that waits for more data at the same die: the FUA write
/// is not delayed.
#[test]
fn a_hurried_write_passes_one_that_waits() {
    let buffer = "policy = \"fifo\", capacity_kib = 256 }\n mapping = { policy = \"page\", unit_kib = 4";
    let mut drive = Drive::new(&config(&ONE_PLANE.replace("policy = \"none\"", buffer)), 1).expect("accepted");
    one(&mut drive, request(Op::Write, 0, 4_096));
    one(&mut drive, request(Op::Flush, 0, 0));
    let now = drive.now();
    // Its old data are read first; meanwhile the other write starts to wait.
    drive.submit(now, Request { arrival: now, fua: true, ..request(Op::Write, 0, 512) }).expect("there is a slot");
    drive.submit(now, Request { arrival: now, ..request(Op::Write, 65_536, 4_096) }).expect("there is a slot");
    while drive.step().expect("no rule is broken") {}
    assert_eq!(drive.completions().len(), 2, "both are done, or the drive has stalled");
}
