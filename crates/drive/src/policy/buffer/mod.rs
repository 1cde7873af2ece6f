//! Family `buffer`: the write buffer in the drive's DRAM.

use wordline_firmware::policy::Build;

/// Decides how much is buffered.
pub trait Buffer {
    /// Capacity in units of `unit_bytes`; 0 acknowledges a write only when it is in flash.
    fn units(&self, unit_bytes: u32) -> u32;
}

wordline_firmware::policies! {
    family "buffer" decides "how writes are buffered in DRAM";
    trait Buffer, config BufferConfig, policy BufferPolicy;
    members {
        /// Writes are acknowledged when they are in flash.
        "none" => none::None,
        /// Writes are acknowledged when they are in the buffer, and leave it in order.
        "fifo" => fifo::Fifo,
    }
    guest guest::Guest;
    methods {
        fn units(self: &Self, unit_bytes: u32) -> u32;
    }
}

/// Units that a number of KiB hold.
fn units_of(kib: u32, unit_bytes: u32) -> u32 {
    (u64::from(kib) * 1024 / u64::from(unit_bytes)) as u32
}

/// What is wrong with a buffer of so many KiB, if anything.
fn capacity_problem(kib: u32, build: &Build<'_>) -> Option<String> {
    let (least, most) = (4 * (build.geometry.page_bytes / 1024), 1 << 22);
    (!(least..=most).contains(&kib)).then(|| format!("must lie between {least} (four pages) and {most}"))
}
