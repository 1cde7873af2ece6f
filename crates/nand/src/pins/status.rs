//! The status register of a die, bit by bit (ONFI 4.2, section 5.13).

/// A command was rejected since the last RESET.
pub const FAIL: u8 = 1 << 0;
/// The previous command was rejected, too.
pub const FAILC: u8 = 1 << 1;
/// Command specific; here: a program or erase is suspended.
pub const CSP: u8 = 1 << 3;
/// The array is idle.
pub const ARDY: u8 = 1 << 5;
/// The die accepts commands (R/B_n of a single die).
pub const RDY: u8 = 1 << 6;
/// Not write protected.
pub const WP_N: u8 = 1 << 7;

/// The ready lines at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// R/B_n: the die accepts commands.
    pub ready: bool,
    /// ARDY: its array is idle, too.
    pub array_ready: bool,
}
