//! The command chains of ONFI as one table: what goes over the pins for each operation, in order.
//!
//! A chain is cut into *segments*: a segment is what the bus carries without a pause, and ends with the die busy. The
//! names are those of the standard: READ PAGE 00h-30h, READ PAGE MULTI-PLANE 00h-32h, CHANGE READ COLUMN ENHANCED 06h-E0h,
//! PROGRAM PAGE 80h-10h, PROGRAM PAGE MULTI-PLANE 80h-11h, BLOCK ERASE 60h-D0h, BLOCK ERASE MULTI-PLANE 60h-D1h (ONFI 4.2,
//! section 5). The end of an array operation is seen on R/B_n, so no status cycle is part of a chain.

/// One item of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycle {
    /// CLE: a command byte.
    Command(u8),
    /// ALE: a page address (column and row).
    PageAddress,
    /// ALE: a block address (row).
    BlockAddress,
    /// TIR: the data of one page into the register.
    DataIn,
    /// TOR: data of one page out of the register.
    DataOut,
    /// Wait tADL.
    Tadl,
    /// Wait tWB.
    Twb,
    /// Wait tRR.
    Trr,
    /// Wait tCCS.
    Tccs,
}

/// What a segment leaves the die doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    /// tDBSY, until the next plane can be addressed.
    Dummy,
    /// TON: tR of the page.
    Read,
    /// TIN: tPROG of the page.
    Program,
    /// BER: tBERS.
    Erase,
    /// Nothing: the next segment or the end.
    Idle,
}

/// What one use of the bus carries, and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The name for reference pages.
    pub name: &'static str,
    /// What the bus carries.
    pub cycles: &'static [Cycle],
    /// What the die does afterwards.
    pub busy: Busy,
}

use Cycle::{BlockAddress, Command, DataIn, DataOut, PageAddress, Tadl, Tccs, Trr, Twb};

/// READ PAGE: the address of the only or last plane.
pub const READ: Segment =
    Segment { name: "READ PAGE", cycles: &[Command(0x00), PageAddress, Command(0x30), Twb], busy: Busy::Read };
/// READ PAGE MULTI-PLANE: the address of a plane that is not the last.
pub const READ_QUEUE: Segment = Segment {
    name: "READ PAGE MULTI-PLANE",
    cycles: &[Command(0x00), PageAddress, Command(0x32), Twb],
    busy: Busy::Dummy,
};
/// Data out after a single-plane read: the column was in the address already.
pub const READ_OUT: Segment = Segment { name: "data out", cycles: &[Trr, DataOut], busy: Busy::Idle };
/// CHANGE READ COLUMN ENHANCED: selects the plane before its data come out.
pub const READ_OUT_PLANE: Segment = Segment {
    name: "CHANGE READ COLUMN ENHANCED",
    cycles: &[Command(0x06), PageAddress, Command(0xe0), Tccs, DataOut],
    busy: Busy::Idle,
};
/// PROGRAM PAGE: address and data of the only or last plane.
pub const PROGRAM: Segment = Segment {
    name: "PROGRAM PAGE",
    cycles: &[Command(0x80), PageAddress, Tadl, DataIn, Command(0x10), Twb],
    busy: Busy::Program,
};
/// PROGRAM PAGE MULTI-PLANE: address and data of a plane that is not the last.
pub const PROGRAM_QUEUE: Segment = Segment {
    name: "PROGRAM PAGE MULTI-PLANE",
    cycles: &[Command(0x80), PageAddress, Tadl, DataIn, Command(0x11), Twb],
    busy: Busy::Dummy,
};
/// BLOCK ERASE: the address of the only or last plane.
pub const ERASE: Segment =
    Segment { name: "BLOCK ERASE", cycles: &[Command(0x60), BlockAddress, Command(0xd0), Twb], busy: Busy::Erase };
/// BLOCK ERASE MULTI-PLANE: the address of a plane that is not the last.
pub const ERASE_QUEUE: Segment = Segment {
    name: "BLOCK ERASE MULTI-PLANE",
    cycles: &[Command(0x60), BlockAddress, Command(0xd1), Twb],
    busy: Busy::Dummy,
};

/// All segments, for reference pages and tests.
pub const ALL: [Segment; 8] = [READ, READ_QUEUE, READ_OUT, READ_OUT_PLANE, PROGRAM, PROGRAM_QUEUE, ERASE, ERASE_QUEUE];
