//! Address cycles of a page: two column cycles, then the row.
//!
//! The row is ONFI's (4.2, section 3.1): from its lowest bit page, plane (the low bits of the block), block and die
//! (LUN). Each field has as many bits as its count needs; column and row go over the bus low byte first.

use super::PinsError;
use crate::config::NandConfig;
use crate::geometry::{PackageGeometry, PageAddress, MAX_PLANES};

/// Column cycles of an address.
pub const COLUMN_CYCLES: usize = 2;
/// Maximum cycles of an address.
pub(crate) const MAX_CYCLES: usize = 8;

/// Position of each field in an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    page_bits: u32,
    plane_bits: u32,
    block_bits: u32,
    row_cycles: usize,
}

/// Bits needed for `count` values.
fn bits(count: u32) -> u32 {
    u32::BITS - count.saturating_sub(1).leading_zeros()
}

impl Layout {
    /// The layout for a geometry and the address cycles of the configuration.
    ///
    /// # Errors
    /// The geometry is invalid, the column does not have two cycles, or the row is too short for the geometry.
    pub fn new(geometry: &PackageGeometry, config: &NandConfig) -> Result<Self, PinsError> {
        let limits = [
            ("dies", geometry.dies, 255),
            ("planes", geometry.planes, MAX_PLANES as u32),
            ("blocks", geometry.blocks, u32::MAX),
            ("pages", geometry.pages, 65_535),
            ("page_bytes", geometry.page_bytes, 65_536),
        ];
        for (field, value, most) in limits {
            if value == 0 || value > most {
                return Err(PinsError::Geometry { field, value, most });
            }
        }
        let (page, block) = (config.page_address_cycles, config.block_address_cycles);
        if page as usize > MAX_CYCLES || page.checked_sub(COLUMN_CYCLES as u32) != Some(block) {
            return Err(PinsError::Cycles { page, block });
        }
        let layout = Self {
            page_bits: bits(geometry.pages),
            plane_bits: bits(geometry.planes),
            block_bits: bits(geometry.blocks),
            row_cycles: block as usize,
        };
        let needed = layout.page_bits + layout.plane_bits + layout.block_bits + bits(geometry.dies);
        if needed > 8 * block || geometry.total_blocks() > u64::from(u32::MAX) {
            return Err(PinsError::Row { needed, cycles: block });
        }
        Ok(layout)
    }

    /// Cycles of a row address.
    #[must_use]
    pub fn row_cycles(&self) -> usize {
        self.row_cycles
    }

    /// Cycles of a page address: column and row.
    #[must_use]
    pub fn page_cycles(&self) -> usize {
        COLUMN_CYCLES + self.row_cycles
    }

    /// Bits of the plane in the row.
    #[must_use]
    pub fn plane_bits(&self) -> u32 {
        self.plane_bits
    }

    /// The address cycles of a page of a die and a column in it.
    #[must_use]
    pub fn page(&self, die: u32, at: PageAddress, column: u32) -> Vec<u8> {
        let mut cycles = column.to_le_bytes()[..COLUMN_CYCLES].to_vec();
        cycles.extend(self.row(die, at));
        cycles
    }

    /// The address cycles of a row: a block to erase, or a die for its status.
    #[must_use]
    pub fn row(&self, die: u32, at: PageAddress) -> Vec<u8> {
        let block = u64::from(at.block) << self.plane_bits | u64::from(at.plane);
        let above = u64::from(die) << self.block_bits << self.plane_bits | block;
        let row = above << self.page_bits | u64::from(at.page);
        row.to_le_bytes()[..self.row_cycles].to_vec()
    }

    /// The column in the first cycles of an address.
    pub(crate) fn column(cycles: &[u8]) -> u32 {
        cycles.iter().take(COLUMN_CYCLES).zip([0, 8]).map(|(&byte, shift)| u32::from(byte) << shift).sum()
    }

    /// The die and page in the cycles of a row, whether they exist or not.
    pub(crate) fn named(&self, cycles: &[u8]) -> (u32, PageAddress) {
        let mut rest = cycles.iter().rev().fold(0_u64, |row, &byte| row << 8 | u64::from(byte));
        let mut take = |bits: u32| {
            let field = rest & ((1 << bits) - 1);
            rest >>= bits;
            field as u32
        };
        let (page, plane, block) = (take(self.page_bits), take(self.plane_bits), take(self.block_bits));
        (u32::try_from(rest).unwrap_or(u32::MAX), PageAddress { plane, block, page })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_in_the_order_of_onfi() {
        let geometry = PackageGeometry { dies: 2, planes: 2, blocks: 1024, pages: 64, page_bytes: 2048 };
        let layout = Layout::new(&geometry, &NandConfig::default()).unwrap();
        let at = PageAddress { plane: 1, block: 5, page: 3 };
        // Page 3 in bits 0 to 5, plane 1 in bit 6, block 5 in bits 7 to 16, die 1 in bit 17.
        let row = 3 | 1 << 6 | 5 << 7 | 1 << 17;
        assert_eq!(layout.row(1, at), [row as u8, (row >> 8) as u8, (row >> 16) as u8]);
        assert_eq!(layout.page(1, at, 0x0102)[..2], [2, 1]);
        assert_eq!(layout.named(&layout.row(1, at)), (1, at));
        assert_eq!(Layout::column(&[2, 1]), 0x0102);
    }

    #[test]
    fn what_cannot_be_addressed_is_refused() {
        let geometry = PackageGeometry { dies: 2, planes: 4, blocks: 2048, pages: 576, page_bytes: 16_384 };
        let config = NandConfig::default();
        assert!(Layout::new(&geometry, &config).is_ok(), "10 + 2 + 11 + 1 bits fill three cycles");
        let larger = PackageGeometry { dies: 4, ..geometry };
        assert_eq!(Layout::new(&larger, &config), Err(PinsError::Row { needed: 25, cycles: 3 }));
        let longer = NandConfig { page_address_cycles: 6, block_address_cycles: 4, ..config.clone() };
        assert!(Layout::new(&larger, &longer).is_ok());
        let endless = NandConfig { block_address_cycles: u32::MAX, ..config.clone() };
        assert_eq!(Layout::new(&geometry, &endless), Err(PinsError::Cycles { page: 5, block: u32::MAX }));
        let uneven = NandConfig { page_address_cycles: 6, ..config };
        assert_eq!(Layout::new(&geometry, &uneven), Err(PinsError::Cycles { page: 6, block: 3 }));
        let empty = PackageGeometry { planes: 0, ..geometry };
        assert_eq!(Layout::new(&empty, &longer), Err(PinsError::Geometry { field: "planes", value: 0, most: 8 }));
    }
}
