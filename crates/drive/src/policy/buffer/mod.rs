//! Family `buffer`: the write buffer in the drive's DRAM.

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
    methods {
        fn units(self: &Self, unit_bytes: u32) -> u32;
    }
}
