//! The roles of all ranges of the disk that have one: ranges that do not overlap, in order.

use super::role::{Claim, Role};
use std::collections::BTreeMap;
use std::ops::Bound;

/// A range with its role, or with none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The first byte.
    pub start: u64,
    /// The first byte behind it.
    pub end: u64,
    /// Its role, if it has one.
    pub role: Option<Role>,
}

/// The roles of the disk.
#[derive(Default)]
pub struct Ranges {
    /// End and role by the first byte.
    map: BTreeMap<u64, (u64, Role)>,
}

impl Ranges {
    /// How many ranges there are.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// The piece at `at`, up to `end` at most.
    pub fn at(&self, at: u64, end: u64) -> Piece {
        let before = self.map.range(..=at).next_back().filter(|(_, (last, _))| *last > at);
        if let Some((_, &(last, role))) = before {
            return Piece { start: at, end: last.min(end), role: Some(role) };
        }
        let next = self.map.range((Bound::Excluded(at), Bound::Unbounded)).next().map_or(end, |(start, _)| *start);
        Piece { start: at, end: next.min(end), role: None }
    }

    /// All pieces from `start` to `end`, in order.
    pub fn pieces(&self, start: u64, end: u64) -> impl Iterator<Item = Piece> + '_ {
        let mut at = start;
        std::iter::from_fn(move || {
            let piece = (at < end).then(|| self.at(at, end))?;
            at = piece.end;
            Some(piece)
        })
    }

    /// Gives a claim all ranges that yield to it; the pieces that changed, as they were before.
    pub fn take(&mut self, claim: Claim) -> Vec<Piece> {
        let free = |piece: &Piece| piece.role.is_none_or(|role| role.yields_to(claim.role));
        let taken: Vec<Piece> = self.pieces(claim.start, claim.end).filter(free).collect();
        for piece in &taken {
            self.cut(piece.start, piece.end);
            self.insert(piece.start, piece.end, claim.role);
        }
        taken
    }

    /// Takes back what a claim still has; the ranges that have no role now.
    pub fn give(&mut self, claim: Claim) -> Vec<(u64, u64)> {
        let own = |piece: &Piece| piece.role == Some(claim.role);
        let given: Vec<(u64, u64)> =
            self.pieces(claim.start, claim.end).filter(own).map(|piece| (piece.start, piece.end)).collect();
        for (start, end) in &given {
            self.cut(*start, *end);
        }
        given
    }

    /// Takes back all ranges of a volume; the ranges that have no role now.
    pub fn give_volume(&mut self, volume: u64) -> Vec<(u64, u64)> {
        let mut given = Vec::new();
        self.map.retain(|start, (end, role)| {
            let own = role.volume == volume;
            if own {
                given.push((*start, *end));
            }
            !own
        });
        given
    }

    /// Removes all roles from `start` to `end`.
    fn cut(&mut self, start: u64, end: u64) {
        if let Some((&first, &(last, role))) = self.map.range(..start).next_back() {
            if last > start {
                self.map.insert(first, (start, role));
                if last > end {
                    self.map.insert(end, (last, role));
                }
            }
        }
        while let Some((&first, &(last, role))) = self.map.range(start..end).next() {
            self.map.remove(&first);
            if last > end {
                self.map.insert(end, (last, role));
            }
        }
    }

    /// Adds a range where there is none, as one with neighbours of the same role.
    fn insert(&mut self, mut start: u64, mut end: u64, role: Role) {
        if let Some((&first, &(last, before))) = self.map.range(..start).next_back() {
            if last == start && before == role {
                start = first;
            }
        }
        if let Some(&(last, after)) = self.map.get(&end) {
            if after == role {
                self.map.remove(&end);
                end = last;
            }
        }
        self.map.insert(start, (end, role));
    }
}

#[cfg(test)]
mod tests {
    use super::super::role::{Part, Rank};
    use super::*;

    fn role(owner: u64) -> Role {
        Role::owned(0, owner, Part::Kept)
    }

    fn claim(start: u64, end: u64, role: Role) -> Claim {
        Claim { start, end, role }
    }

    fn all(ranges: &Ranges, end: u64) -> Vec<(u64, u64, Option<u64>)> {
        ranges.pieces(0, end).map(|piece| (piece.start, piece.end, piece.role.map(|role| role.owner))).collect()
    }

    #[test]
    fn a_claim_takes_from_equals_and_not_from_heavier_ones() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.take(claim(10, 20, role(1))), [Piece { start: 10, end: 20, role: None }]);
        ranges.take(claim(14, 16, Role::fixed(0, Part::Kept)));
        let taken = ranges.take(claim(12, 30, role(2)));
        let was = |start, end, role| Piece { start, end, role };
        assert_eq!(taken, [was(12, 14, Some(role(1))), was(16, 20, Some(role(1))), was(20, 30, None)]);
        assert_eq!(
            all(&ranges, 40),
            [(0, 10, None), (10, 12, Some(1)), (12, 14, Some(2)), (14, 16, Some(0)), (16, 30, Some(2)), (30, 40, None)]
        );
        assert_eq!(ranges.at(14, 40).role.unwrap().rank, Rank::Fixed);
    }

    #[test]
    fn what_the_user_wants_kept_is_kept_by_others_but_never_dropped() {
        let user = |part| Role { rank: Rank::User, volume: 0, owner: 0, part };
        let mut ranges = Ranges::default();
        ranges.take(claim(0, 10, user(Part::Kept)));
        ranges.take(claim(20, 30, user(Part::Data)));
        assert_eq!(ranges.take(claim(0, 30, Role::owned(0, 5, Part::Data))).len(), 1);
        assert_eq!(ranges.take(claim(0, 30, role(6))).len(), 2);
        assert_eq!(all(&ranges, 30), [(0, 20, Some(6)), (20, 30, Some(0))]);
        assert_eq!(ranges.take(claim(20, 25, Role::table(Part::Kept))).len(), 1);
    }

    #[test]
    fn only_what_is_still_owned_is_given_back() {
        let mut ranges = Ranges::default();
        ranges.take(claim(0, 100, role(1)));
        ranges.take(claim(40, 60, role(2)));
        assert_eq!(ranges.give(claim(0, 50, role(1))), [(0, 40)]);
        assert_eq!(all(&ranges, 100), [(0, 40, None), (40, 60, Some(2)), (60, 100, Some(1))]);
        ranges.take(claim(0, 10, Role::owned(7, 3, Part::Kept)));
        assert_eq!(ranges.give_volume(0), [(40, 60), (60, 100)]);
        assert_eq!(ranges.len(), 1);
    }

    #[test]
    fn neighbours_of_one_role_are_one_range() {
        let mut ranges = Ranges::default();
        ranges.take(claim(0, 10, role(1)));
        ranges.take(claim(20, 30, role(1)));
        assert_eq!(ranges.take(claim(5, 25, role(1))), [Piece { start: 10, end: 20, role: None }]);
        assert_eq!(ranges.len(), 1);
        assert_eq!(all(&ranges, 30), [(0, 30, Some(1))]);
    }
}
