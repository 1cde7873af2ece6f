//! Where the addresses of an array lie on its members: stripes, joined members, and stripes with parity.

use super::config::ArrayKind;
use wordline_workload::Space;

/// A range of one member, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece {
    /// The member.
    pub member: u32,
    /// First byte.
    pub offset: u64,
    /// Length.
    pub bytes: u64,
}

/// The addresses of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Stripes over all members.
    Stripe {
        /// Members.
        members: u32,
        /// Bytes of a stripe on each.
        chunk: u64,
        /// Whole stripes.
        stripes: u64,
    },
    /// One member behind another: where each begins, and the end of the last.
    Join {
        /// First byte of each, and the end.
        starts: Vec<u64>,
    },
    /// Stripes with parity.
    Parity(Parity),
}

/// Stripes with parity in the left-symmetric layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parity {
    /// Members.
    pub members: u32,
    /// Bytes of a stripe on each.
    pub chunk: u64,
    /// Whole stripes.
    pub stripes: u64,
}

impl Parity {
    /// Bytes of data in a stripe.
    #[must_use]
    pub fn stripe_bytes(&self) -> u64 {
        self.chunk * u64::from(self.members - 1)
    }

    /// The member with the parity of a stripe: the last one first, then downwards.
    #[must_use]
    pub fn parity_of(&self, stripe: u64) -> u32 {
        self.members - 1 - (stripe % u64::from(self.members)) as u32
    }

    /// The member with a chunk of a stripe: they follow the parity, round and round.
    #[must_use]
    pub fn member_of(&self, stripe: u64, chunk: u32) -> u32 {
        (self.parity_of(stripe) + 1 + chunk) % self.members
    }
}

impl Layout {
    /// The layout of members with so many bytes; `chunk` is that of a stripe on each.
    #[must_use]
    pub fn new(kind: ArrayKind, sizes: &[u64], chunk: u64) -> Self {
        let members = sizes.len() as u32;
        let stripes = || sizes.iter().min().map_or(0, |least| least / chunk);
        match kind {
            ArrayKind::Raid0 => Self::Stripe { members, chunk, stripes: stripes() },
            ArrayKind::Raid5 => Self::Parity(Parity { members, chunk, stripes: stripes() }),
            ArrayKind::Join => {
                let mut starts = vec![0];
                sizes.iter().for_each(|bytes| starts.push(starts[starts.len() - 1] + bytes));
                Self::Join { starts }
            }
        }
    }

    /// Bytes that the host sees.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Stripe { members, chunk, stripes } => u64::from(*members) * chunk * stripes,
            Self::Join { starts } => starts[starts.len() - 1],
            Self::Parity(parity) => parity.stripe_bytes() * parity.stripes,
        }
    }

    /// The addresses for a workload: those of members are known where they are joined.
    #[must_use]
    pub fn space(&self) -> Space {
        match self {
            Self::Join { starts } => Space { bytes: self.bytes(), starts: starts.clone() },
            _ => Space::whole(self.bytes()),
        }
    }

    /// The pieces of a range, neighbours on a member as one, in the order of their first bytes. With parity, the data alone.
    pub fn pieces(&self, offset: u64, bytes: u64, out: &mut Vec<Piece>) {
        out.clear();
        let end = offset + bytes;
        let mut at = offset;
        while at < end {
            let (member, begin, room) = self.place(at);
            let bytes = room.min(end - at);
            match out.iter_mut().rfind(|piece| piece.member == member) {
                Some(piece) if piece.offset + piece.bytes == begin => piece.bytes += bytes,
                _ => out.push(Piece { member, offset: begin, bytes }),
            }
            at += bytes;
        }
    }

    /// The member and its byte that hold a byte of the array, and how many follow there.
    fn place(&self, at: u64) -> (u32, u64, u64) {
        match self {
            Self::Stripe { members, chunk, .. } => {
                let (nth, within) = (at / chunk, at % chunk);
                let (stripe, member) = (nth / u64::from(*members), nth % u64::from(*members));
                (member as u32, stripe * chunk + within, chunk - within)
            }
            Self::Join { starts } => {
                let member = starts.partition_point(|&start| start <= at) - 1;
                (member as u32, at - starts[member], starts[member + 1] - at)
            }
            Self::Parity(parity) => {
                let (stripe, inside) = (at / parity.stripe_bytes(), at % parity.stripe_bytes());
                let (nth, within) = ((inside / parity.chunk) as u32, inside % parity.chunk);
                (parity.member_of(stripe, nth), stripe * parity.chunk + within, parity.chunk - within)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: u64 = 1 << 10;

    fn pieces(layout: &Layout, offset: u64, bytes: u64) -> Vec<(u32, u64, u64)> {
        let mut out = Vec::new();
        layout.pieces(offset, bytes, &mut out);
        out.iter().map(|piece| (piece.member, piece.offset, piece.bytes)).collect()
    }

    /// Three members of 130 KiB, stripes of 16 KiB: eight whole stripes, the rest is not used.
    #[test]
    fn stripes_go_round_the_members() {
        let layout = Layout::new(ArrayKind::Raid0, &[130 * K; 3], 16 * K);
        assert_eq!(layout.bytes(), 3 * 8 * 16 * K);
        assert_eq!(pieces(&layout, 0, 4 * K), [(0, 0, 4 * K)]);
        assert_eq!(pieces(&layout, 16 * K, 4 * K), [(1, 0, 4 * K)]);
        assert_eq!(pieces(&layout, 3 * 16 * K + 512, 512), [(0, 16 * K + 512, 512)]);
        // From the middle of the second chunk for four chunks: members 1, 2, 0, 1, whose two pieces are neighbours.
        assert_eq!(pieces(&layout, 24 * K, 56 * K), [(1, 8 * K, 8 * K + 16 * K), (2, 0, 16 * K), (0, 16 * K, 16 * K)]);
        assert_eq!(pieces(&layout, layout.bytes() - 512, 512), [(2, 8 * 16 * K - 512, 512)]);
    }

    #[test]
    fn joined_members_follow_each_other() {
        let layout = Layout::new(ArrayKind::Join, &[10 * K, 20 * K, 5 * K], 0);
        assert_eq!(layout.bytes(), 35 * K);
        assert_eq!(pieces(&layout, 9 * K, 25 * K), [(0, 9 * K, K), (1, 0, 20 * K), (2, 0, 4 * K)]);
        assert_eq!(pieces(&layout, 10 * K, 512), [(1, 0, 512)]);
        assert_eq!(pieces(&layout, 35 * K - 512, 512), [(2, 5 * K - 512, 512)]);
    }

    /// Four members. Rows are stripes, as the layout is usually drawn: P3 in row 0, then P2, P1, P0, and P3 again.
    #[test]
    fn parity_rotates_left_and_data_follow_it() {
        let Layout::Parity(parity) = Layout::new(ArrayKind::Raid5, &[80 * K; 4], 16 * K) else { panic!("parity") };
        let rows: Vec<Vec<u32>> = (0..5).map(|s| (0..3).map(|nth| parity.member_of(s, nth)).collect()).collect();
        assert_eq!(rows, [[0, 1, 2], [3, 0, 1], [2, 3, 0], [1, 2, 3], [0, 1, 2]]);
        assert_eq!((0..5).map(|s| parity.parity_of(s)).collect::<Vec<_>>(), [3, 2, 1, 0, 3]);
        let layout = Layout::Parity(parity);
        assert_eq!(layout.bytes(), 5 * 3 * 16 * K);
        // The third chunk of stripe 0 on member 2, and the first of stripe 1 on member 3.
        assert_eq!(pieces(&layout, 2 * 16 * K, 32 * K), [(2, 0, 16 * K), (3, 16 * K, 16 * K)]);
        // In this layout any four chunks in a row lie on four members.
        for first in 0..11 {
            let mut members: Vec<u32> = (first..first + 4).map(|nth| pieces(&layout, nth * 16 * K, 512)[0].0).collect();
            members.sort_unstable();
            assert_eq!(members, [0, 1, 2, 3], "from chunk {first}");
        }
    }
}
