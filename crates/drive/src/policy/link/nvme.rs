//! PCI Express with NVMe queues.
//!
//! Source: PCI Express Base Specification 6.0 (rates and codings of generations 1 to 6), NVM Express Base
//! Specification 2.0 (64-byte submission entries, 16-byte completion entries, up to 65,535 queues of 65,536 entries).
//! Faithful: rates after coding, both directions at once, a header of 24 bytes on every packet (framing, sequence
//! number, 16-byte header, LCRC). Simplified: read requests and doorbells take no separate interface time but are part
//! of latency_us; flow control never stalls; generation 6 is taken as its FLIT rate (236 of 256 bytes) with the same
//! header.

use super::{Link, LinkCosts, Transfer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::ps_from_us;
use wordline_firmware::policy::{About, Build};
use wordline_firmware::ConfigError;

pub(crate) const ABOUT: About = About {
    summary: "PCI Express generation x lanes, full duplex, with NVMe queues",
    source: "PCI Express Base Specification 6.0; NVM Express Base Specification 2.0",
    note: "24 header bytes per packet; doorbells and read requests are part of latency_us",
};

/// Options of a PCI Express link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Generation, 1 to 6: 2.5, 5, 8, 16, 32 or 64 GT/s per lane.
    pub pcie_generation: u32,
    /// Lanes: 1, 2, 4, 8 or 16.
    pub pcie_lanes: u32,
    /// Maximum payload bytes of a packet: 128, 256, 512, 1024, 2048 or 4096.
    pub max_payload_bytes: u32,
    /// Time from the doorbell to the fetched command, without the transfer of the command itself, in microseconds.
    pub latency_us: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { pcie_generation: 3, pcie_lanes: 4, max_payload_bytes: 256, latency_us: 0.5 }
    }
}

const PACKET_OVERHEAD: u32 = 24;
const SUBMISSION_ENTRY: u32 = 64;
const COMPLETION_ENTRY: u32 = 16;

/// Picoseconds for a number of bytes on one lane, after coding, by generation.
const RATES: [(u64, u64); 6] = [
    // 2.5 and 5 GT/s with 8b/10b: 4 ns and 2 ns a byte.
    (4_000, 1),
    (2_000, 1),
    // 8, 16 and 32 GT/s with 128b/130b: 130 bits carry 16 bytes.
    (130 * 1_000, 16 * 8),
    (130 * 1_000, 16 * 16),
    (130 * 1_000, 16 * 32),
    // 64 GT/s in FLITs: 256 bytes carry 236.
    (256 * 8 * 1_000, 236 * 64),
];

/// A PCI Express link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Nvme {
    costs: LinkCosts,
}

impl Nvme {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        let generation = options.pcie_generation;
        let Some(&(picoseconds, per)) = (generation as usize).checked_sub(1).and_then(|at| RATES.get(at)) else {
            return Err(ConfigError::new("link.pcie_generation", generation, "must lie between 1 and 6"));
        };
        let lanes = options.pcie_lanes;
        if ![1, 2, 4, 8, 16].contains(&lanes) {
            return Err(ConfigError::new("link.pcie_lanes", lanes, "must be 1, 2, 4, 8 or 16"));
        }
        let payload = options.max_payload_bytes;
        if !payload.is_power_of_two() || !(128..=4096).contains(&payload) {
            let problem = "must be 128, 256, 512, 1024, 2048 or 4096";
            return Err(ConfigError::new("link.max_payload_bytes", payload, problem));
        }
        if !(0.0..=1e6).contains(&options.latency_us) {
            return Err(ConfigError::new("link.latency_us", options.latency_us, "must lie between 0 and 1,000,000"));
        }
        let data = Transfer {
            fixed: 0,
            packet_overhead: PACKET_OVERHEAD,
            packet_bytes: payload,
            picoseconds,
            per: per * u64::from(lanes),
        };
        Ok(Self {
            costs: LinkCosts {
                command: data.time(SUBMISSION_ENTRY),
                latency: ps_from_us(options.latency_us),
                completion: data.time(COMPLETION_ENTRY),
                data_in: data,
                data_out: data,
                half_duplex: false,
                most_depth: 65_535,
                most_queues: 65_535,
                usual_depth: 1_024,
            },
        })
    }
}

impl Link for Nvme {
    fn costs(&self) -> LinkCosts {
        self.costs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_standard() {
        // GB/s of a lane after coding: 0.25, 0.5, 0.985, 1.969, 3.938, 7.375.
        let expected = [0.25, 0.5, 0.984_6, 1.969_2, 3.938_5, 7.375];
        for ((picoseconds, per), expected) in RATES.iter().zip(expected) {
            let rate = 1e3 * *per as f64 / *picoseconds as f64;
            assert!((rate / expected - 1.0).abs() < 1e-3, "{rate} {expected}");
        }
    }
}
