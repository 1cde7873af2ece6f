//! Serial ATA with native command queueing.
//!
//! Source: Serial ATA Revision 3.0 (frame information structures, 8b/10b coding, at most 8,192 bytes in a Data FIS), ATA
//! Command Set (NCQ, 32 commands).
//! Faithful: 300 and 600 MB/s after coding, one direction at a time, command and acknowledgement (Register FIS, 20 bytes
//! each), DMA Setup (28), Data (4 + payload), Set Device Bits (8). Simplified: 16 bytes around every FIS stand for SOF, CRC, EOF
//! and the handshake primitives (assumed).

use super::{Link, LinkCosts, Transfer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::Time;
use wordline_firmware::policy::{About, Build};
use wordline_firmware::ConfigError;

pub(crate) const ABOUT: About = About {
    summary: "Serial ATA at 3 or 6 Gb/s, half duplex, with NCQ of up to 32 commands",
    source: "Serial ATA Revision 3.0; ATA Command Set",
    note: "16 bytes around every FIS stand for its primitives (assumed)",
};

/// Options of a Serial ATA link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Line rate in Gb/s: 1.5, 3 or 6.
    pub rate_gb_s: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { rate_gb_s: 6.0 }
    }
}

const AROUND_FIS: u32 = 16;
const REGISTER_FIS: u32 = 20;
const DMA_SETUP_FIS: u32 = 28;
const SET_DEVICE_BITS_FIS: u32 = 8;
const DATA_HEADER: u32 = 4;
const DATA_PAYLOAD: u32 = 8_192;

/// A Serial ATA link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sata {
    costs: LinkCosts,
}

impl Sata {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        // 8b/10b: ten bits on the wire for a byte, so 10 ns at 1 Gb/s.
        let picoseconds = match options.rate_gb_s {
            1.5 => 20_000,
            3.0 => 10_000,
            6.0 => 5_000,
            rate => return Err(ConfigError::new("link.rate_gb_s", rate, "must be 1.5, 3 or 6")),
        };
        let per = 3;
        let fis = |bytes: u32| (Time::from(bytes + AROUND_FIS) * picoseconds).div_ceil(per);
        let data = Transfer {
            fixed: fis(DMA_SETUP_FIS),
            packet_overhead: DATA_HEADER + AROUND_FIS,
            packet_bytes: DATA_PAYLOAD,
            picoseconds,
            per,
        };
        Ok(Self {
            costs: LinkCosts {
                command: 2 * fis(REGISTER_FIS),
                latency: 0,
                completion: fis(SET_DEVICE_BITS_FIS),
                data_in: data,
                data_out: data,
                half_duplex: true,
                most_depth: 32,
                most_queues: 1,
                usual_depth: 32,
            },
        })
    }
}

impl Link for Sata {
    fn costs(&self) -> LinkCosts {
        self.costs
    }
}
