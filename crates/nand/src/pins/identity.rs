//! Identification of a package: READ ID, READ PARAMETER PAGE and the features.
//!
//! The bytes of manufacturer and device are invented; they are not registered.

use crate::config::NandConfig;
use crate::geometry::PackageGeometry;
use crate::interface::{Interface, Mode};
use crate::timing::Timing;
use wordline_base::time::{NS, US};
use wordline_base::Time;

use super::layout::{Layout, COLUMN_CYCLES};

/// The invented byte of the manufacturer.
pub const MANUFACTURER: u8 = 0x57;
/// The invented byte of the device.
pub const DEVICE: u8 = 0x4c;
/// READ ID at address 00h: manufacturer and device; array and organisation are in the parameter page.
pub const ID: [u8; 5] = [MANUFACTURER, DEVICE, 0, 0, 0];
/// READ ID at address 20h.
pub const ONFI: [u8; 4] = *b"ONFI";
/// Bytes of a parameter page.
pub const PARAMETER_BYTES: usize = 256;
/// Copies of the parameter page in the register.
pub const PARAMETER_COPIES: usize = 3;
/// Bytes of a feature.
pub const FEATURE_BYTES: usize = 4;
/// The feature of the data interface and its timing mode.
pub const TIMING_MODE: u8 = 0x01;
/// The feature of the drive strength.
pub const DRIVE_STRENGTH: u8 = 0x10;
/// Drive strengths that can be set: 0 to 3.
const DRIVE_STRENGTHS: u8 = 4;

/// CRC-16 of ONFI: polynomial 8005h, start 4F4Eh, high bit first.
#[must_use]
pub fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0x4f4e, |crc, &byte| {
        (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x8005 })
    })
}

/// Timing modes of an interface as bits.
fn mode_bits(interface: Interface) -> u64 {
    (1 << interface.modes().len()) - 1
}

fn whole_us(time: Time) -> u16 {
    u16::try_from(time.div_ceil(US)).unwrap_or(u16::MAX)
}

fn whole_ns(time: Time) -> u16 {
    u16::try_from(time.div_ceil(NS)).unwrap_or(u16::MAX)
}

/// Bits per cell, from the page classes of the configuration.
fn bits_per_cell(config: &NandConfig) -> u8 {
    config.read_us.values().len().max(config.program_us.values().len()).min(4) as u8
}

/// One copy of the parameter page (ONFI 4.2, section 5.7.1).
#[must_use]
pub fn parameter_page(
    geometry: &PackageGeometry,
    layout: &Layout,
    config: &NandConfig,
    timing: &Timing,
    mode: &Mode,
) -> Vec<u8> {
    let mut page = vec![0; PARAMETER_BYTES];
    let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
    let several = |bit: u16| u16::from(geometry.planes > 1) << bit;
    let has = |interface: Interface, bit: u16| u16::from(config.interface == interface) << bit;
    put(0, &ONFI);
    // Revision 4.2 and all before it.
    put(4, &0x0ffe_u16.to_le_bytes());
    let features = u16::from(geometry.dies > 1) << 1
        | several(3)
        | several(6)
        | has(Interface::NvDdr, 5)
        | has(Interface::NvDdr2, 10)
        | has(Interface::NvDdr3, 13);
    put(6, &features.to_le_bytes());
    // Cache program, cache read, features, status enhanced, copyback, change read column enhanced.
    put(8, &0b0101_1111_u16.to_le_bytes());
    put(14, &[PARAMETER_COPIES as u8]);
    put(32, b"WORDLINE    ");
    put(44, b"SIMULATED PACKAGE   ");
    put(64, &[MANUFACTURER]);
    put(80, &geometry.page_bytes.to_le_bytes());
    put(92, &geometry.pages.to_le_bytes());
    put(96, &(geometry.planes * geometry.blocks).to_le_bytes());
    put(100, &[geometry.dies as u8, (COLUMN_CYCLES as u8) << 4 | layout.row_cycles() as u8, bits_per_cell(config)]);
    let endurance = config.reliability.endurance;
    // Endurance as value times a power of ten; 0 where no limit is modelled.
    let power = (0..9).find(|&power| endurance / 10_u32.pow(power) <= 255).unwrap_or(9);
    put(105, &[(endurance / 10_u32.pow(power)) as u8, power as u8]);
    put(110, &[config.reliability.nop.min(255) as u8]);
    put(113, &[layout.plane_bits() as u8]);
    // No restriction on block addresses; cache program and cache read of several planes.
    put(114, &[if geometry.planes > 1 { 0b1_0110 } else { 0 }]);
    let sdr = if config.interface == Interface::Sdr { mode_bits(Interface::Sdr) } else { 0 };
    put(129, &(sdr as u16).to_le_bytes());
    let slowest = |time: &dyn Fn(u32) -> Time| (0..geometry.pages).map(time).max().unwrap_or(0);
    put(133, &whole_us(slowest(&|page| timing.t_prog(page))).to_le_bytes());
    put(135, &whole_us(timing.t_bers).to_le_bytes());
    put(137, &whole_us(slowest(&|page| timing.t_r(page))).to_le_bytes());
    put(139, &whole_ns(mode.t_ccs).to_le_bytes());
    let modes = mode_bits(config.interface);
    match config.interface {
        Interface::NvDdr => put(141, &[modes as u8]),
        Interface::NvDdr2 => put(142, &[modes as u8, 0]),
        _ => {}
    }
    put(152, &whole_us(slowest(&|page| timing.t_r(page))).to_le_bytes());
    put(154, &whole_ns(mode.t_adl).to_le_bytes());
    match config.interface {
        // One bit for modes 0 to 3 together; those above follow in order.
        Interface::NvDdr3 => put(160, &((modes >> 3) as u16).to_le_bytes()),
        Interface::NvDdr2 => put(162, &[(modes >> 8) as u8]),
        _ => {}
    }
    let crc = crc16(&page[..PARAMETER_BYTES - 2]);
    page[PARAMETER_BYTES - 2..].copy_from_slice(&crc.to_le_bytes());
    page
}

/// The features that can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Features {
    interface: Interface,
    mode: u8,
    drive_strength: u8,
}

impl Features {
    /// The features of a package at the configured rate.
    pub(crate) fn new(config: &NandConfig) -> Self {
        let mode = config.interface.modes().iter().position(|mode| mode.rate_mt_s == config.rate_mt_s).unwrap_or(0);
        Self { interface: config.interface, mode: mode as u8, drive_strength: 2 }
    }

    /// Code of the interface in feature 01h: 0 SDR, 1 NV-DDR, 2 NV-DDR2, 3 the interfaces of 1.2 V.
    fn interface_bits(self) -> u8 {
        match self.interface {
            Interface::Sdr => 0,
            Interface::NvDdr => 1,
            Interface::NvDdr2 => 2,
            Interface::NvDdr3 | Interface::NvLpddr4 => 3,
        }
    }

    pub(crate) fn has(address: u8) -> bool {
        matches!(address, TIMING_MODE | DRIVE_STRENGTH)
    }

    /// The four bytes of a feature; zeros for one that does not exist. The timing mode has four bits, so modes above 15
    /// show as 15.
    pub(crate) fn get(self, address: u8) -> [u8; FEATURE_BYTES] {
        match address {
            TIMING_MODE => [self.interface_bits() << 4 | self.mode.min(15), 0, 0, 0],
            DRIVE_STRENGTH => [self.drive_strength, 0, 0, 0],
            _ => [0; FEATURE_BYTES],
        }
    }

    /// Sets a feature; with another timing mode, its rate. `None` for an invalid value.
    pub(crate) fn set(&mut self, address: u8, value: [u8; FEATURE_BYTES]) -> Option<Option<u32>> {
        let [first, ..] = value;
        match address {
            TIMING_MODE if first >> 4 == self.interface_bits() => {
                let mode = self.interface.modes().get(usize::from(first & 15))?;
                self.mode = first & 15;
                Some(Some(mode.rate_mt_s))
            }
            DRIVE_STRENGTH if first < DRIVE_STRENGTHS => {
                self.drive_strength = first;
                Some(None)
            }
            _ => None,
        }
    }
}

/// The identifier at an address of READ ID.
pub(crate) fn identifier(address: u8) -> Option<&'static [u8]> {
    match address {
        0x00 => Some(&ID),
        0x20 => Some(&ONFI),
        _ => None,
    }
}
