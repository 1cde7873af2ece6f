//! How a package is divided.

use serde::{Deserialize, Serialize};

/// Most planes of one die that one multi-plane command can address.
pub const MAX_PLANES: usize = 8;

/// The shape of one package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageGeometry {
    /// Dies (LUNs) in the package.
    pub dies: u32,
    /// Planes in a die, at most [`MAX_PLANES`].
    pub planes: u32,
    /// Blocks in a plane.
    pub blocks: u32,
    /// Pages in a block, at most 65,535.
    pub pages: u32,
    /// Bytes of user data in a page.
    pub page_bytes: u32,
}

impl PackageGeometry {
    /// Blocks in the whole package.
    #[must_use]
    pub fn total_blocks(&self) -> u64 {
        u64::from(self.dies) * u64::from(self.planes) * u64::from(self.blocks)
    }
}

/// The address of a page within one die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageAddress {
    /// Plane within the die.
    pub plane: u32,
    /// Block within the plane.
    pub block: u32,
    /// Page within the block; ignored by erase.
    pub page: u32,
}
