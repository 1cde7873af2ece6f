//! Family `link`: how long command and data take to and from the host.

use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// Time on the link for a number of bytes: a fixed part, a part for each packet, and the bytes at the link's rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// Fixed time, in picoseconds.
    pub fixed: Time,
    /// Bytes of overhead in each packet.
    pub packet_overhead: u32,
    /// Payload bytes in a packet.
    pub packet_bytes: u32,
    /// Picoseconds for `per` bytes.
    pub picoseconds: u64,
    /// See `picoseconds`.
    pub per: u64,
}

impl Transfer {
    /// Time for `bytes` of payload, rounded up to whole picoseconds.
    #[inline]
    #[must_use]
    pub fn time(&self, bytes: u32) -> Time {
        let packets = u64::from(bytes.div_ceil(self.packet_bytes.max(1)));
        let on_wire = u64::from(bytes) + packets * u64::from(self.packet_overhead);
        self.fixed + (on_wire * self.picoseconds).div_ceil(self.per)
    }

    /// The rate that payload comes to with packets of full size, in bytes a second.
    #[must_use]
    pub fn bandwidth(&self) -> f64 {
        let packet = f64::from(self.packet_bytes);
        let share = packet / (packet + f64::from(self.packet_overhead));
        share * 1e12 * self.per as f64 / self.picoseconds as f64
    }
}

/// What a link costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCosts {
    /// Time that a command takes on the link.
    pub command: Time,
    /// From the command on the link to its being fetched, in which the link is free for others.
    pub latency: Time,
    /// Time that a completion takes on the link.
    pub completion: Time,
    /// Data from the host.
    pub data_in: Transfer,
    /// Data to the host.
    pub data_out: Transfer,
    /// Whether only one direction can be used at a time.
    pub half_duplex: bool,
    /// Commands that the protocol lets a queue hold.
    pub most_depth: u32,
    /// Queues that the protocol allows.
    pub most_queues: u32,
    /// Depth of a queue where the drive file gives none.
    pub usual_depth: u32,
}

/// Decides how long command and data take.
pub trait Link {
    /// The costs, fixed for a drive.
    fn costs(&self) -> LinkCosts;
}

wordline_firmware::policies! {
    family "link" decides "how long command and data take to and from the host";
    trait Link, config LinkConfig, policy LinkPolicy;
    members {
        /// PCI Express with NVMe queues.
        "nvme" => nvme::Nvme,
        /// Serial ATA with native command queueing.
        "sata" => sata::Sata,
    }
    methods {
        fn costs(self: &Self) -> LinkCosts;
    }
}
