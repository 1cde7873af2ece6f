//! The policy families of the drive outside its firmware: host interface, write buffer.

pub mod buffer;
pub mod link;

use wordline_firmware::policy::Member;

/// The members of all families, including those of the firmware, in the order of a drive file's sections.
#[must_use]
pub fn catalogue() -> Vec<Member> {
    [link::LinkConfig::members(), buffer::BufferConfig::members(), wordline_firmware::policy::catalogue()].concat()
}
