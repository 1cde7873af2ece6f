//! The SLC cache: which blocks the host opens in SLC mode.
//!
//! The mode is chosen when the host opens a block, and only then; so a plane has one open block of the host, as without a cache.
//! Moved data never go to blocks in SLC mode.

use super::{Space, Stream, STREAMS};
use crate::blocks::Blocks;
use crate::Plan;
use serde::{Deserialize, Serialize};

/// How large the cache may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SlcRoom {
    /// Blocks of a domain in SLC mode, at most.
    most: u32,
    /// Free blocks of a domain that are left for other uses.
    spare: u32,
    /// Units that a program in SLC mode takes from what its block could hold.
    cost: u32,
    /// False while data are written as if the drive had had time to empty the cache.
    on: bool,
}

impl SlcRoom {
    pub(super) fn of(plan: &Plan) -> Option<Self> {
        let slc = plan.slc?;
        Some(Self { most: slc.most, spare: slc.spare, cost: plan.units_per_block.div_ceil(slc.programs), on: true })
    }
}

impl Space {
    /// Switches the cache on or off: blocks that are open keep their mode.
    pub fn set_slc(&mut self, on: bool) {
        if let Some(room) = &mut self.slc {
            room.on = on;
        }
    }

    /// Limits the blocks of a domain in SLC mode: the host opens no more in this mode until there are fewer. True if it may open one now
    /// and might not before.
    pub fn limit_slc(&mut self, blocks: &Blocks, domain: u32, limit: u32) -> bool {
        let opens = |space: &Self| space.slc_room(blocks, domain) >= space.blocks_together;
        let opened = opens(self);
        self.slc_limits.resize(self.domains.len(), u32::MAX);
        self.slc_limits[domain as usize] = limit;
        !opened && opens(self)
    }

    /// Says in which planes of those given the host opens blocks in SLC mode; in all others as before. True if it does in one now, and
    /// did not before, or the reverse.
    pub fn choose_slc(&mut self, planes: std::ops::Range<u32>, opens: impl Fn(u32) -> bool) -> bool {
        self.slc_planes.resize(self.open.len() / STREAMS, true);
        let mut has_changed = false;
        for plane in planes {
            has_changed |= std::mem::replace(&mut self.slc_planes[plane as usize], opens(plane)) != opens(plane);
        }
        has_changed
    }

    /// Blocks of a domain that the host may still open in SLC mode.
    pub fn slc_room(&self, blocks: &Blocks, domain: u32) -> u32 {
        let Some(room) = self.slc.filter(|room| room.on) else { return 0 };
        let most = self.slc_limits.get(domain as usize).map_or(room.most, |&limit| room.most.min(limit));
        let left = most.saturating_sub(blocks.slc_in_domain(domain));
        let left = left.min(blocks.free_in_domain(domain).saturating_sub(room.spare));
        left - left % self.blocks_together
    }

    /// True if a block that a stream opens in a plane now is in SLC mode.
    pub(super) fn opens_slc(&self, blocks: &Blocks, plane: u32, stream: Stream) -> bool {
        stream == Stream::Host
            && self.slc_room(blocks, blocks.domain_of_plane(plane)) >= self.blocks_together
            && self.slc_planes.get(plane as usize).is_none_or(|&opens| opens)
    }

    /// Units that the host pays for a program where it is paced.
    #[inline]
    pub(super) fn cost_of_program(&self, slc: bool) -> u32 {
        match self.slc {
            Some(room) if slc => room.cost,
            _ => self.units_per_program.get(),
        }
    }

    /// A page and its mode as one number, if there is a cache: twice the page, and one more in SLC mode. Else the page.
    #[inline]
    pub(super) fn page_and_mode(&self, page: u32, slc: bool) -> u32 {
        if self.slc.is_some() {
            2 * page + u32::from(slc)
        } else {
            page
        }
    }

    /// True if the next page of a stream in a plane, as [`Self::next_page`] tells it, is in SLC mode.
    #[inline]
    pub fn is_slc(&self, page: u32) -> bool {
        self.slc.is_some() && page & 1 == 1
    }
}
