//! Parallel ATA with Ultra DMA.
//!
//! Source: ATA/ATAPI-7, volume 2 (Ultra DMA modes 0 to 6, of which mode 6 is called ATA-133; registers in PIO mode 4; tagged command
//! queuing, 32 commands). The drive of dirik09 (section 3) has mode 6.
//! Faithful: 16 bits with each edge of the strobe, one direction at a time, a CRC word at the end of a burst; a command of 48-bit
//! addressing is twelve writes of registers, its end a read of the status. Assumed: a transfer is one burst up to 128 KiB; before it the
//! host gives the SERVICE command and reads the tag; all registers take a PIO cycle of 120 ns. Simplified: the end of one burst and the
//! start of the next take no time.

use super::{Link, LinkCosts, Transfer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::time::{Time, NS};
use wordline_firmware::policy::{About, Build};
use wordline_firmware::ConfigError;

pub(crate) const ABOUT: About = About {
    summary: "parallel ATA with Ultra DMA up to mode 6 (ATA-133), half duplex, with tagged queuing of up to 32 commands",
    source: "ATA/ATAPI-7, volume 2; dirik09 section 3",
    note: "a transfer is one burst up to 128 KiB, after a SERVICE command (assumed)",
};

/// Options of a parallel ATA link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Ultra DMA mode, 0 to 6: 16.7, 25, 33.3, 44.4, 66.7, 100 or 133.3 MB/s.
    pub udma_mode: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { udma_mode: 6 }
    }
}

/// Typical time of two words, t2CYCTYP, in nanoseconds, by Ultra DMA mode.
const TWO_WORDS_NS: [Time; 7] = [240, 160, 120, 90, 60, 40, 30];
const BYTES_OF_TWO_WORDS: u64 = 4;
/// A register access, t0 of PIO mode 4.
const REGISTER: Time = 120 * NS;
/// Features, count and the three parts of the address, each twice, then device and command.
const COMMAND_REGISTERS: Time = 12;
/// The SERVICE command, and the tag.
const SERVICE_REGISTERS: Time = 2;
const CRC: u32 = 2;
const BURST: u32 = 128 << 10;

/// A parallel ATA link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ata {
    costs: LinkCosts,
}

impl Ata {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        let Some(&two_words) = TWO_WORDS_NS.get(options.udma_mode as usize) else {
            return Err(ConfigError::new("link.udma_mode", options.udma_mode, "must lie between 0 and 6"));
        };
        Ok(Self { costs: costs(two_words * NS) })
    }
}

/// The transfer times of a mode that moves two words in `two_words` picoseconds.
const fn costs(two_words: Time) -> LinkCosts {
    let data = Transfer {
        fixed: SERVICE_REGISTERS * REGISTER,
        packet_overhead: CRC,
        packet_bytes: BURST,
        picoseconds: two_words,
        per: BYTES_OF_TWO_WORDS,
    };
    LinkCosts {
        command: COMMAND_REGISTERS * REGISTER,
        latency: 0,
        completion: REGISTER,
        data_in: data,
        data_out: data,
        half_duplex: true,
        most_depth: 32,
        most_queues: 1,
        usual_depth: 32,
    }
}

impl Link for Ata {
    fn costs(&self) -> LinkCosts {
        self.costs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_the_rates_of_the_standard() {
        // Decimal MB/s.
        let named = [16.7, 25.0, 33.3, 44.4, 66.7, 100.0, 133.3];
        for (two_words, named) in TWO_WORDS_NS.iter().zip(named) {
            let rate = 1e3 * BYTES_OF_TWO_WORDS as f64 / *two_words as f64;
            assert!((rate - named).abs() < 0.06, "{rate} is not {named}");
        }
    }

    #[test]
    fn four_kibibytes_in_mode_6_by_hand() {
        let costs = costs(TWO_WORDS_NS[6] * NS);
        // Twelve registers of 120 ns; SERVICE and the tag, then 4,098 bytes at 7.5 ns; the status.
        assert_eq!(costs.command, 1_440_000);
        assert_eq!(costs.data_in.time(4_096), 240_000 + 30_735_000);
        assert_eq!(costs.completion, 120_000);
        // Three bursts of 128 KiB at most have three CRC words.
        assert_eq!(costs.data_out.time(300 << 10), 240_000 + (307_200 + 6) * 7_500);
    }
}
