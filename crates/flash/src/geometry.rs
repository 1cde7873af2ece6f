//! The `[geometry]` section of a drive file and the numbering of dies and planes that follows from it.
//!
//! Dies are numbered channel by channel, package by package, die by die; planes follow their die, blocks their plane.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_nand::{PackageGeometry, MAX_PLANES};

/// The largest page, of all members of a gang together.
const MOST_PAGE_KIB: u32 = 256;

/// Shape of the flash: channels, packages, dies, planes, blocks, pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GeometryConfig {
    /// Channels (independent buses) of the controller.
    pub channels: u32,
    /// Packages (ways) on each channel; with `gang`, gangs of packages.
    pub packages_per_channel: u32,
    /// Packages in lockstep behind one chip enable (a gang, Micron's superblocks): 1, 2, 4, 8 or 16. To the firmware a gang is one
    /// package whose pages and blocks are so many times as large: all members read, program and erase at once, in the time of one,
    /// and their data follow each other on the bus. `page_kib` is a page of one member. A bad block of a member spoils those of all
    /// (dirik09, section 5.2).
    pub gang: u32,
    /// Dies (LUNs) in each package.
    pub dies_per_package: u32,
    /// Planes in each die, 1 to 8.
    pub planes_per_die: u32,
    /// Blocks in each plane.
    pub blocks_per_plane: u32,
    /// Pages in each block, at most 65,535.
    pub pages_per_block: u32,
    /// User data in each page, in KiB; a power of two.
    pub page_kib: u32,
    /// Pages of a block that one program writes (one-shot programming), 1 to 16: those of a word line, 3 with TLC. They follow each
    /// other, and `nand.program_us` is the time of all of them. Reads are of single pages.
    pub pages_per_program: u32,
    /// Pages of a block in SLC mode (pSLC: one bit a cell), for `slc.policy`. Absent: a third of `pages_per_block`, as with TLC.
    pub slc_pages_per_block: Option<u32>,
}

impl Default for GeometryConfig {
    fn default() -> Self {
        Self {
            channels: 4,
            packages_per_channel: 1,
            gang: 1,
            dies_per_package: 2,
            planes_per_die: 2,
            blocks_per_plane: 128,
            pages_per_block: 256,
            page_kib: 16,
            pages_per_program: 1,
            slc_pages_per_block: None,
        }
    }
}

/// Why a `[geometry]` section cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: {problem}")]
pub struct GeometryError {
    /// Key within the section.
    pub key: &'static str,
    /// What was given.
    pub value: u64,
    /// What is wrong, and what to write instead.
    pub problem: String,
}

/// A checked geometry with its derived figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// Channels of the controller.
    pub channels: u32,
    /// Packages on each channel; each is a gang, if packages work in lockstep.
    pub packages: u32,
    /// Packages of a gang; 1 if each works by itself.
    pub gang: u32,
    /// Dies in each package.
    pub dies_per_package: u32,
    /// Planes in each die.
    pub planes_per_die: u32,
    /// Blocks in each plane.
    pub blocks_per_plane: u32,
    /// Pages in each block.
    pub pages_per_block: u32,
    /// Bytes in each page, of all members of a gang together.
    pub page_bytes: u32,
    /// Pages of a block that one program writes.
    pub pages_per_program: u32,
    /// Pages of a block in SLC mode, one for each program.
    pub slc_pages_per_block: u32,
}

impl Geometry {
    /// Checks a section.
    ///
    /// # Errors
    /// Names the key and value that is zero, too large, or exceeds the range of 32-bit page numbers.
    pub fn new(config: &GeometryConfig) -> Result<Self, GeometryError> {
        let planes = MAX_PLANES as u32;
        for (key, value, most) in [
            ("channels", config.channels, 1_024),
            ("packages_per_channel", config.packages_per_channel, 1_024),
            ("dies_per_package", config.dies_per_package, 256),
            ("planes_per_die", config.planes_per_die, planes),
            ("blocks_per_plane", config.blocks_per_plane, 1 << 24),
            ("pages_per_block", config.pages_per_block, 65_535),
            ("page_kib", config.page_kib, MOST_PAGE_KIB),
            ("pages_per_program", config.pages_per_program, 16),
        ] {
            if value == 0 || value > most {
                let problem = format!("must lie between 1 and {most}");
                return Err(GeometryError { key, value: u64::from(value), problem });
            }
        }
        if !config.page_kib.is_power_of_two() {
            let problem = format!("must be a power of two, such as {}", config.page_kib.next_power_of_two());
            return Err(GeometryError { key: "page_kib", value: u64::from(config.page_kib), problem });
        }
        if ![1, 2, 4, 8, 16].contains(&config.gang) {
            let problem = "must be 1, 2, 4, 8 or 16".into();
            return Err(GeometryError { key: "gang", value: u64::from(config.gang), problem });
        }
        if config.page_kib * config.gang > MOST_PAGE_KIB {
            let problem = format!(
                "makes pages of {} KiB from page_kib = {}; at most {MOST_PAGE_KIB} are possible",
                config.page_kib * config.gang,
                config.page_kib
            );
            return Err(GeometryError { key: "gang", value: u64::from(config.gang), problem });
        }
        if !config.pages_per_block.is_multiple_of(config.pages_per_program) {
            let problem = format!("must divide pages_per_block = {}", config.pages_per_block);
            let value = u64::from(config.pages_per_program);
            return Err(GeometryError { key: "pages_per_program", value, problem });
        }
        let slc_pages = config.slc_pages_per_block.unwrap_or((config.pages_per_block / 3).max(1));
        if slc_pages == 0 || slc_pages > config.pages_per_block {
            let problem = format!("must lie between 1 and pages_per_block = {}", config.pages_per_block);
            return Err(GeometryError { key: "slc_pages_per_block", value: u64::from(slc_pages), problem });
        }
        let geometry = Self {
            channels: config.channels,
            packages: config.packages_per_channel,
            gang: config.gang,
            dies_per_package: config.dies_per_package,
            planes_per_die: config.planes_per_die,
            blocks_per_plane: config.blocks_per_plane,
            pages_per_block: config.pages_per_block,
            page_bytes: config.page_kib * config.gang * 1024,
            pages_per_program: config.pages_per_program,
            slc_pages_per_block: slc_pages,
        };
        let dies =
            u64::from(config.channels) * u64::from(config.packages_per_channel) * u64::from(config.dies_per_package);
        // Each die has two lanes of events.
        let most_dies = u64::from(wordline_base::event::MAX_INDEX / 2);
        if dies > most_dies {
            let problem = format!("channels x packages x dies gives {dies} dies; at most {most_dies} are possible");
            return Err(GeometryError { key: "channels", value: u64::from(config.channels), problem });
        }
        let pages = dies as u128
            * u128::from(config.planes_per_die)
            * u128::from(config.blocks_per_plane)
            * u128::from(config.pages_per_block);
        if pages >= u128::from(u32::MAX) {
            let problem = format!(
                "the geometry has {pages} pages; at most {} are possible (fewer blocks or larger pages)",
                u32::MAX - 1
            );
            return Err(GeometryError { key: "blocks_per_plane", value: u64::from(config.blocks_per_plane), problem });
        }
        Ok(geometry)
    }

    /// The shape of one package.
    #[must_use]
    pub fn package(&self) -> PackageGeometry {
        PackageGeometry {
            dies: self.dies_per_package,
            planes: self.planes_per_die,
            blocks: self.blocks_per_plane,
            pages: self.pages_per_block,
            page_bytes: self.page_bytes,
        }
    }

    /// Dies in the drive.
    #[inline]
    #[must_use]
    pub fn dies(&self) -> u32 {
        self.channels * self.packages * self.dies_per_package
    }

    /// Dies on one channel.
    #[inline]
    #[must_use]
    pub fn dies_per_channel(&self) -> u32 {
        self.packages * self.dies_per_package
    }

    /// Planes in the drive.
    #[inline]
    #[must_use]
    pub fn planes(&self) -> u32 {
        self.dies() * self.planes_per_die
    }

    /// Blocks in the drive.
    #[inline]
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.planes() * self.blocks_per_plane
    }

    /// Pages in the drive.
    #[must_use]
    pub fn pages(&self) -> u64 {
        u64::from(self.blocks()) * u64::from(self.pages_per_block)
    }

    /// Programs that fill a block.
    #[inline]
    #[must_use]
    pub fn programs_per_block(&self) -> u32 {
        self.pages_per_block / self.pages_per_program
    }

    /// Bytes that one program writes in a plane.
    #[inline]
    #[must_use]
    pub fn program_bytes(&self) -> u32 {
        self.page_bytes * self.pages_per_program
    }

    /// Bytes of user data that all pages hold.
    #[must_use]
    pub fn raw_bytes(&self) -> u64 {
        self.pages() * u64::from(self.page_bytes)
    }

    /// The plane at the given place.
    #[must_use]
    pub fn plane_at(&self, channel: u32, package: u32, die: u32, plane: u32) -> u32 {
        ((channel * self.packages + package) * self.dies_per_package + die) * self.planes_per_die + plane
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_and_overflow_are_refused_by_name() {
        let config = GeometryConfig { channels: 0, ..GeometryConfig::default() };
        assert_eq!(Geometry::new(&config).unwrap_err().to_string(), "channels = 0: must lie between 1 and 1024");
        let config = GeometryConfig { blocks_per_plane: 1 << 24, channels: 64, ..GeometryConfig::default() };
        assert!(Geometry::new(&config).unwrap_err().to_string().contains("at most 4294967294 are possible"));
        let config = GeometryConfig { page_kib: 12, ..GeometryConfig::default() };
        assert!(Geometry::new(&config).unwrap_err().to_string().contains("such as 16"));
    }

    #[test]
    fn a_gang_is_a_package_with_larger_pages() {
        let alone = GeometryConfig { packages_per_channel: 4, page_kib: 2, ..GeometryConfig::default() };
        let gang = GeometryConfig { packages_per_channel: 1, gang: 4, ..alone.clone() };
        let [alone, gang] = [alone, gang].map(|config| Geometry::new(&config).unwrap());
        assert_eq!((gang.page_bytes, gang.dies()), (4 * alone.page_bytes, alone.dies() / 4));
        assert_eq!(gang.raw_bytes(), alone.raw_bytes());
        let wrong = |gang, page_kib| Geometry::new(&GeometryConfig { gang, page_kib, ..GeometryConfig::default() });
        assert_eq!(wrong(3, 2).unwrap_err().to_string(), "gang = 3: must be 1, 2, 4, 8 or 16");
        let large = "gang = 16: makes pages of 512 KiB from page_kib = 32; at most 256 are possible";
        assert_eq!(wrong(16, 32).unwrap_err().to_string(), large);
    }

    #[test]
    fn planes_are_numbered_from_the_channel_down() {
        let geometry = Geometry::new(&GeometryConfig { packages_per_channel: 3, ..GeometryConfig::default() }).unwrap();
        assert_eq!(geometry.plane_at(0, 0, 0, 1), 1);
        assert_eq!(geometry.plane_at(0, 0, 1, 0), 2);
        assert_eq!(geometry.plane_at(0, 1, 0, 0), 4);
        assert_eq!(geometry.plane_at(1, 0, 0, 0), 12);
        assert_eq!(geometry.plane_at(3, 2, 1, 1), geometry.planes() - 1);
    }
}
