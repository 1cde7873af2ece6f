//! The status register of a die, bit by bit (ONFI 4.2, section 5.13).

/// A command was refused since the last RESET.
pub const FAIL: u8 = 1 << 0;
/// So was the command before the last one.
pub const FAILC: u8 = 1 << 1;
/// Command specific; here: a program or an erase is suspended.
pub const CSP: u8 = 1 << 3;
/// The array rests.
pub const ARDY: u8 = 1 << 5;
/// The die takes commands (R/B_n of a die that is alone).
pub const RDY: u8 = 1 << 6;
/// Not write protected.
pub const WP_N: u8 = 1 << 7;

/// What a die and the pins say at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// R/B_n: the die takes commands.
    pub ready: bool,
    /// ARDY: its array rests, too.
    pub array_ready: bool,
}
