//! The command chains of ONFI as one table: bus cycles of each operation, in order.
//!
//! A chain is cut into *segments*: a segment is what the bus carries without a pause, and ends with the die busy or not. The
//! names are those of the standard (ONFI 4.2, section 5); suspend and resume, which ONFI does not define, carry the opcodes of
//! Micron's data sheets. [`OPERATIONS`] says which segments make up each operation mode, and the reference page is printed
//! from it. The end of an array operation is seen on R/B_n, so no status cycle is part of a chain.

use serde::{Deserialize, Serialize};

/// One item of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycle {
    /// CLE: a command byte.
    Command(u8),
    /// ALE: a page address (column and row).
    PageAddress,
    /// ALE: a block address (row).
    BlockAddress,
    /// ALE: a column address, two bytes.
    ColumnAddress,
    /// ALE: one byte, the number of a feature or an identifier.
    ByteAddress,
    /// TIR: data into the register.
    DataIn,
    /// TOR: data out of the register.
    DataOut,
    /// Wait tADL.
    Tadl,
    /// Wait tWB.
    Twb,
    /// Wait tRR.
    Trr,
    /// Wait tCCS.
    Tccs,
    /// Wait tWHR.
    Twhr,
}

/// What a segment leaves the die doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    /// tDBSY, until the next plane can be addressed.
    Dummy,
    /// TON: tR of the page.
    Read,
    /// tRCBSY: until the array is done with the page before, and its data have moved to the cache register.
    ReadCache,
    /// TIN: tPROG of the page.
    Program,
    /// tCBSY: until the array is done with the page before, and the data have moved to the data register.
    ProgramCache,
    /// BER: tBERS.
    Erase,
    /// The time to suspend: the array comes to rest.
    Suspend,
    /// The rest of the suspended operation.
    Resume,
    /// tRST.
    Reset,
    /// tFEAT.
    Feature,
    /// Nothing: the next segment or the end.
    Idle,
}

/// What one use of the bus carries, and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The name in the standard.
    pub name: &'static str,
    /// What the bus carries.
    pub cycles: &'static [Cycle],
    /// What the die does afterwards.
    pub busy: Busy,
}

use Cycle::{
    BlockAddress, ByteAddress, ColumnAddress, Command, DataIn, DataOut, PageAddress, Tadl, Tccs, Trr, Twb, Twhr,
};

macro_rules! segments {
    ($($(#[$doc:meta])* $id:ident = $name:literal, [$($cycle:expr),*], $busy:ident;)*) => {
        /// A segment, by what it is for.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum Segment {
            $($(#[$doc])* $id,)*
        }

        /// All segments.
        pub const ALL: [Segment; SEGMENTS] = [$(Segment::$id),*];

        const SPECS: [Spec; SEGMENTS] = [$(Spec { name: $name, cycles: &[$($cycle),*], busy: Busy::$busy }),*];
    };
}

/// How many segments there are.
pub const SEGMENTS: usize = 28;

segments! {
    /// The address of the only or last plane of a read.
    #[default]
    Read = "READ PAGE", [Command(0x00), PageAddress, Command(0x30), Twb], Read;
    /// The address of a plane of a read that is not the last.
    ReadQueue = "READ PAGE MULTI-PLANE", [Command(0x00), PageAddress, Command(0x32), Twb], Dummy;
    /// Data out after a single-plane read: the column was in the address already.
    ReadOut = "data out", [Trr, DataOut], Idle;
    /// Selects a plane and column, then its data come out.
    ReadOutPlane = "CHANGE READ COLUMN ENHANCED", [Command(0x06), PageAddress, Command(0xe0), Tccs, DataOut], Idle;
    /// The next page of the block is read while the one before it comes out.
    CacheSequential = "READ PAGE CACHE SEQUENTIAL", [Command(0x31), Twb], ReadCache;
    /// Another page is read while the one before it comes out.
    CacheRandom = "READ PAGE CACHE RANDOM", [Command(0x00), PageAddress, Command(0x31), Twb], ReadCache;
    /// The last page read moves to the cache register.
    CacheEnd = "READ PAGE CACHE LAST", [Command(0x3f), Twb], ReadCache;
    /// The source of the only or last plane of an internal data move.
    CopybackRead = "COPYBACK READ", [Command(0x00), PageAddress, Command(0x35), Twb], Read;
    /// The destination of a plane that is not the last.
    CopybackProgramQueue = "COPYBACK PROGRAM MULTI-PLANE", [Command(0x85), PageAddress, Command(0x11), Twb], Dummy;
    /// The destination of the only or last plane.
    CopybackProgram = "COPYBACK PROGRAM", [Command(0x85), PageAddress, Command(0x10), Twb], Program;
    /// Address and data of a plane of a program that is not the last.
    ProgramQueue = "PROGRAM PAGE MULTI-PLANE", [Command(0x80), PageAddress, Tadl, DataIn, Command(0x11), Twb], Dummy;
    /// Address and data of the only or last plane of a program.
    Program = "PROGRAM PAGE", [Command(0x80), PageAddress, Tadl, DataIn, Command(0x10), Twb], Program;
    /// The same, and the register takes the data of another program while the cells are written.
    ProgramCache = "PROGRAM PAGE CACHE", [Command(0x80), PageAddress, Tadl, DataIn, Command(0x15), Twb], ProgramCache;
    /// The address of a plane of an erase that is not the last.
    EraseQueue = "BLOCK ERASE MULTI-PLANE", [Command(0x60), BlockAddress, Command(0xd1), Twb], Dummy;
    /// The address of the only or last plane of an erase.
    Erase = "BLOCK ERASE", [Command(0x60), BlockAddress, Command(0xd0), Twb], Erase;
    /// A program gives the array free.
    ProgramSuspend = "PROGRAM SUSPEND", [Command(0x84), Twb], Suspend;
    /// It takes the array again.
    ProgramResume = "PROGRAM RESUME", [Command(0x13), Twb], Resume;
    /// An erase gives the array free.
    EraseSuspend = "ERASE SUSPEND", [Command(0x61), Twb], Suspend;
    /// It takes the array again.
    EraseResume = "ERASE RESUME", [Command(0xd2), Twb], Resume;
    /// The status of the die that was addressed last.
    Status = "READ STATUS", [Command(0x70), Twhr, DataOut], Idle;
    /// The status of a die and plane.
    StatusEnhanced = "READ STATUS ENHANCED", [Command(0x78), BlockAddress, Twhr, DataOut], Idle;
    /// Ends whatever runs.
    Reset = "RESET", [Command(0xff), Twb], Reset;
    /// Manufacturer and device, or the letters ONFI.
    ReadId = "READ ID", [Command(0x90), ByteAddress, Twhr, DataOut], Idle;
    /// The parameter page moves to the register.
    ParameterPage = "READ PARAMETER PAGE", [Command(0xec), ByteAddress, Twb], Read;
    /// The four bytes of a feature move to the register.
    GetFeatures = "GET FEATURES", [Command(0xee), ByteAddress, Twb], Feature;
    /// Four bytes set a feature.
    SetFeatures = "SET FEATURES", [Command(0xef), ByteAddress, Tadl, DataIn, Twb], Feature;
    /// Another column of the page in the register.
    ChangeReadColumn = "CHANGE READ COLUMN", [Command(0x05), ColumnAddress, Command(0xe0), Tccs, DataOut], Idle;
    /// Ends whatever runs and leaves the interface as it is.
    SynchronousReset = "SYNCHRONOUS RESET", [Command(0xfc), Twb], Reset;
}

impl Segment {
    /// What it carries, and what follows.
    #[must_use]
    #[inline]
    pub const fn spec(self) -> &'static Spec {
        &SPECS[self as usize]
    }

    /// True if pages of data go over the bus, and not only commands and addresses.
    #[inline]
    #[must_use]
    pub const fn moves_data(self) -> bool {
        matches!(
            self,
            Self::ReadOut
                | Self::ReadOutPlane
                | Self::ProgramQueue
                | Self::Program
                | Self::ProgramCache
                | Self::ChangeReadColumn
        )
    }
}

/// How often a segment comes in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Once.
    Once,
    /// For every plane.
    EachPlane,
    /// For every plane but the last.
    EachPlaneButLast,
    /// For every further page of a sequence, and for every plane of it.
    EachFurtherPage,
    /// For every page of a sequence but the last.
    EachPageButLast,
}

/// An operation mode: its chain of segments. Several dies of a package run any of them interleaved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its name, as the field calls it.
    pub name: &'static str,
    /// The segments in their order.
    pub chain: &'static [(Segment, Times)],
}

use Segment as S;
use Times::{EachFurtherPage, EachPageButLast, EachPlane, EachPlaneButLast, Once};

/// The sixteen operation modes.
pub const OPERATIONS: [Operation; 16] = [
    Operation { name: "read", chain: &[(S::Read, Once), (S::ReadOut, Once)] },
    Operation {
        name: "multi-plane read",
        chain: &[(S::ReadQueue, EachPlaneButLast), (S::Read, Once), (S::ReadOutPlane, EachPlane)],
    },
    Operation {
        name: "cache read, sequential",
        chain: &[
            (S::Read, Once),
            (S::CacheSequential, EachFurtherPage),
            (S::ReadOut, EachPageButLast),
            (S::CacheEnd, Once),
            (S::ReadOut, Once),
        ],
    },
    Operation {
        name: "multi-plane cache read, sequential",
        chain: &[
            (S::ReadQueue, EachPlaneButLast),
            (S::Read, Once),
            (S::CacheSequential, EachFurtherPage),
            (S::ReadOutPlane, EachPageButLast),
            (S::CacheEnd, Once),
            (S::ReadOutPlane, EachPlane),
        ],
    },
    Operation {
        name: "cache read, random",
        chain: &[
            (S::Read, Once),
            (S::CacheRandom, EachFurtherPage),
            (S::ReadOut, EachPageButLast),
            (S::CacheEnd, Once),
            (S::ReadOut, Once),
        ],
    },
    Operation {
        name: "multi-plane cache read, random",
        chain: &[
            (S::ReadQueue, EachPlaneButLast),
            (S::Read, Once),
            (S::ReadQueue, EachPlaneButLast),
            (S::CacheRandom, EachFurtherPage),
            (S::ReadOutPlane, EachPageButLast),
            (S::CacheEnd, Once),
            (S::ReadOutPlane, EachPlane),
        ],
    },
    Operation { name: "program", chain: &[(S::Program, Once)] },
    Operation { name: "multi-plane program", chain: &[(S::ProgramQueue, EachPlaneButLast), (S::Program, Once)] },
    Operation { name: "cache program", chain: &[(S::ProgramCache, EachPageButLast), (S::Program, Once)] },
    Operation {
        name: "multi-plane cache program",
        chain: &[
            (S::ProgramQueue, EachPlaneButLast),
            (S::ProgramCache, EachPageButLast),
            (S::ProgramQueue, EachPlaneButLast),
            (S::Program, Once),
        ],
    },
    Operation { name: "internal data move", chain: &[(S::CopybackRead, Once), (S::CopybackProgram, Once)] },
    Operation {
        name: "multi-plane internal data move",
        chain: &[
            (S::ReadQueue, EachPlaneButLast),
            (S::CopybackRead, Once),
            (S::CopybackProgramQueue, EachPlaneButLast),
            (S::CopybackProgram, Once),
        ],
    },
    Operation {
        name: "internal data move with data out",
        chain: &[(S::CopybackRead, Once), (S::ReadOut, Once), (S::CopybackProgram, Once)],
    },
    Operation {
        name: "multi-plane internal data move with data out",
        chain: &[
            (S::ReadQueue, EachPlaneButLast),
            (S::CopybackRead, Once),
            (S::ReadOutPlane, EachPlane),
            (S::CopybackProgramQueue, EachPlaneButLast),
            (S::CopybackProgram, Once),
        ],
    },
    Operation { name: "erase", chain: &[(S::Erase, Once)] },
    Operation { name: "multi-plane erase", chain: &[(S::EraseQueue, EachPlaneButLast), (S::Erase, Once)] },
];
