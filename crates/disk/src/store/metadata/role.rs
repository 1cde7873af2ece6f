//! What a range of the disk is, and who says so.

/// The volume of ranges that belong to none: partition tables, and rules of the user.
pub const DISK: u64 = u64::MAX;

/// The owner of ranges that several files share: no single file gives them up.
pub const SHARED: u64 = u64::MAX;

/// How much a claim weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// A file owns the range.
    Owned,
    /// It has its place by the geometry of the file system.
    Fixed,
    /// The user says so.
    User,
    /// It tells where volumes are, or what is on one.
    Table,
}

/// What the blocks of a file hold, at the leaves of its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leaf {
    /// File data: dropped.
    Data,
    /// Metadata: kept.
    Kept,
}

/// What a range is. All but [`Part::Data`] is kept; what the contents of a range say about others is examined whenever they change, for
/// all but the first two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// File data.
    Data,
    /// Metadata that say nothing about other ranges.
    Kept,
    /// Blocks that a pattern of the user matched, by its place in the list of patterns.
    Pattern(u32),
    /// The first 2 KiB of a disk or a partition: a partition table, or the head of a file system.
    Start,
    /// The table of a logical partition. `left` bounds the chain.
    Ebr { extended: u64, left: u8 },
    /// The header of a GUID partition table, with the bytes of a sector.
    GptHeader { sector: u32 },
    /// Its entries.
    GptEntries { sector: u32, each: u32 },
    /// Group descriptors of ext. `start` is where that of `group` is.
    ExtDescriptors { start: u64, group: u32 },
    /// The inode table of a group of ext, from byte `start` on.
    ExtInodes { start: u64, group: u32 },
    /// A block of an extent tree; `depth` as in its head.
    ExtExtents { depth: u8, leaf: Leaf },
    /// A block of pointers: `level` 1 points to the file's blocks.
    ExtPointers { level: u8, leaf: Leaf },
    /// A run of the master file table of NTFS, from byte `start` on; `first` is its first record.
    MftRecords { start: u64, first: u64 },
}

/// What a range is, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Role {
    /// The weight of the claim.
    pub rank: Rank,
    /// The first byte of the volume, or [`DISK`].
    pub volume: u64,
    /// The file that owns it (inode, or record of the MFT), [`SHARED`], or 0 for none.
    pub owner: u64,
    /// What it is.
    pub part: Part,
}

/// A range of bytes of the disk with its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    /// The first byte.
    pub start: u64,
    /// The first byte behind it.
    pub end: u64,
    /// What it is.
    pub role: Role,
}

impl Role {
    /// A role that follows from the geometry of a volume.
    pub fn fixed(volume: u64, part: Part) -> Self {
        Self { rank: Rank::Fixed, volume, owner: 0, part }
    }

    /// A role that a partition table gives.
    pub fn table(part: Part) -> Self {
        Self { rank: Rank::Table, volume: DISK, owner: 0, part }
    }

    /// A role that a file gives.
    pub fn owned(volume: u64, owner: u64, part: Part) -> Self {
        Self { rank: Rank::Owned, volume, owner, part }
    }

    /// True if a range of this role may get the other: that weighs as much, or keeps what the user wants kept.
    pub fn yields_to(self, other: Self) -> bool {
        let as_wanted = self.rank == Rank::User && self.is_kept() && other.is_kept();
        self != other && (self.rank <= other.rank || as_wanted)
    }

    /// True if the contents are kept.
    pub fn is_kept(self) -> bool {
        self.part != Part::Data
    }

    /// True if the contents say something about other ranges.
    pub fn is_watched(self) -> bool {
        !matches!(self.part, Part::Data | Part::Kept | Part::Pattern(_))
    }
}

impl Part {
    /// The part of the leaves of a file.
    pub fn of(leaf: Leaf) -> Self {
        match leaf {
            Leaf::Data => Self::Data,
            Leaf::Kept => Self::Kept,
        }
    }
}
