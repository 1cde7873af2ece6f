//! Family `link`: the host interface and its transfer times.

use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// Time on the host interface for a number of bytes: a fixed part, a part for each packet, and the bytes at the line
/// rate.
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

    /// Payload rate with packets of full size, in bytes per second.
    #[must_use]
    pub fn bandwidth(&self) -> f64 {
        let packet = f64::from(self.packet_bytes);
        let share = packet / (packet + f64::from(self.packet_overhead));
        share * 1e12 * self.per as f64 / self.picoseconds as f64
    }
}

/// The last numbers of bytes whose times were asked for, and these times: mostly the same few numbers come again, and two divisions are
/// spared. Each number has its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastTimes([(u32, Time); LAST_TIMES]);

/// A power of two.
const LAST_TIMES: usize = 8;

impl Default for LastTimes {
    fn default() -> Self {
        Self([(u32::MAX, 0); LAST_TIMES])
    }
}

impl LastTimes {
    /// The place of a number of bytes: most are few sectors or powers of two, and those that are common together have places of their own.
    #[inline(always)]
    fn place(bytes: u32) -> usize {
        (bytes.wrapping_mul(0x9e37_79b1) >> (u32::BITS - LAST_TIMES.ilog2())) as usize
    }

    /// The time of bytes, if these were the last of their place.
    #[inline(always)]
    pub fn known(&self, bytes: u32) -> Option<Time> {
        let (known, time) = self.0[Self::place(bytes)];
        // No request has as many as are in an empty place.
        (known == bytes).then_some(time)
    }

    /// The time of bytes, known from now on.
    #[inline(never)]
    fn find(&mut self, transfer: &Transfer, bytes: u32) -> Time {
        let time = transfer.time(bytes);
        self.note(bytes, time);
        time
    }

    /// The time of these bytes is known from now on.
    pub fn note(&mut self, bytes: u32, time: Time) {
        self.0[Self::place(bytes)] = (bytes, time);
    }
}

/// Transfer times of a host interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCosts {
    /// Time of a command on the interface.
    pub command: Time,
    /// Time from the command on the interface until it is fetched; the interface is free meanwhile.
    pub latency: Time,
    /// Time of a completion on the interface.
    pub completion: Time,
    /// Data from the host.
    pub data_in: Transfer,
    /// Data to the host.
    pub data_out: Transfer,
    /// True for half duplex: one direction at a time.
    pub half_duplex: bool,
    /// Maximum queue depth of the protocol.
    pub most_depth: u32,
    /// Maximum queues of the protocol.
    pub most_queues: u32,
    /// Queue depth if the drive file gives none.
    pub usual_depth: u32,
}

/// Transfer times of data that are mostly of one size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkTimes {
    costs: LinkCosts,
    last_in: LastTimes,
    last_out: LastTimes,
}

impl LinkTimes {
    pub fn new(costs: LinkCosts) -> Self {
        Self { costs, last_in: LastTimes::default(), last_out: LastTimes::default() }
    }

    /// The time of a command, its latency too.
    #[inline]
    pub fn command(&self) -> Time {
        self.costs.command + self.costs.latency
    }

    /// The time of a completion.
    #[inline]
    pub fn completion(&self) -> Time {
        self.costs.completion
    }

    /// The time of data from the host.
    #[inline]
    pub fn data_in(&mut self, bytes: u32) -> Time {
        let Self { costs, last_in, .. } = self;
        last_in.known(bytes).unwrap_or_else(|| last_in.find(&costs.data_in, bytes))
    }

    /// The time of data to the host.
    #[inline]
    pub fn data_out(&mut self, bytes: u32) -> Time {
        let Self { costs, last_out, .. } = self;
        last_out.known(bytes).unwrap_or_else(|| last_out.find(&costs.data_out, bytes))
    }
}

/// Decides the transfer times of commands and data.
pub trait Link {
    /// The transfer times, fixed for a drive.
    fn costs(&self) -> LinkCosts;
}

wordline_firmware::policies! {
    family "link" decides "the transfer times of commands and data between host and drive";
    trait Link, config LinkConfig, policy LinkPolicy;
    members {
        /// PCI Express with NVMe queues.
        "nvme" => nvme::Nvme,
        /// Serial ATA with native command queueing.
        "sata" => sata::Sata,
        /// Parallel ATA with Ultra DMA.
        "ata" => ata::Ata,
    }
    guest guest::Guest;
    methods {
        fn costs(self: &Self) -> LinkCosts;
    }
}
