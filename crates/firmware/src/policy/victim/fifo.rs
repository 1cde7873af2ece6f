//! FIFO: the block that was closed first.
//!
//! Source: Menon (1995) for log-structured arrays; analysed for flash by Robinson (1996) and Desnoyers (2014), where
//! it equals LRU under uniform writes.
//! Faithful: the order of closing in each domain. Simplified: a block without a page to gain is passed over and goes
//! to the end of the order, as if it had been copied.

use super::Victim;
use crate::blocks::VictimView;
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

pub(crate) const ABOUT: About = About {
    summary: "the block that was closed first",
    source: "Menon, VLDB 1995; Desnoyers, ACM TOS 10:2 (2014)",
    note: "a block without an invalid page moves to the end of the order without being copied",
};

/// FIFO has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// FIFO victim choice: the closed blocks of each domain with their erase counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fifo {
    order: Vec<VecDeque<(u32, u32)>>,
}

impl Fifo {
    pub(super) fn new(_: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self { order: vec![VecDeque::new(); build.domains as usize] })
    }

    /// Continues from the saved state: every closed block of a domain is in its order once, next to blocks erased since
    /// they were added.
    pub(super) fn restore<'a>(
        &mut self,
        saved: Self,
        view_of: impl Fn(u32) -> VictimView<'a>,
    ) -> Result<(), String> {
        if saved.order.len() != self.order.len() {
            return Err("the order of victim blocks belongs to another drive".into());
        }
        for (domain, order) in (0..).zip(&saved.order) {
            let view = view_of(domain);
            let (mut found, mut listed) = (0, vec![false; view.blocks() as usize]);
            for &(block, erases) in order {
                if block >= view.blocks() {
                    return Err(format!("block {block}, in the order of victim blocks, does not exist"));
                }
                if view.is_closed(block) && view.erases(block) == erases {
                    if view.is_elsewhere(block) || std::mem::replace(&mut listed[block as usize], true) {
                        return Err(format!("block {block} is twice in the order of victim blocks, or in another \
                            domain"));
                    }
                    found += 1;
                }
            }
            if found != view.closed_count() {
                return Err(format!("{found} of {} closed blocks are to be collected", view.closed_count()));
            }
        }
        self.order = saved.order;
        Ok(())
    }
}

impl Victim for Fifo {
    fn choose(&mut self, view: &VictimView<'_>) -> Option<u32> {
        let order = &mut self.order[view.domain() as usize];
        let (mut aside, mut found) = (Vec::new(), None);
        for _ in 0..order.len() {
            let (block, erases) = order.pop_front()?;
            // Blocks that were collected for another reason are dropped: their erase count has moved on.
            if !view.is_closed(block) || view.erases(block) != erases {
                continue;
            }
            if view.is_on_busy_die(block) {
                aside.push((block, erases));
            } else if view.gains(block) {
                order.push_front((block, erases));
                found = Some(block);
                break;
            } else {
                order.push_back((block, erases));
            }
        }
        aside.into_iter().rev().for_each(|entry| order.push_front(entry));
        found
    }

    fn closed(&mut self, view: &VictimView<'_>, block: u32) {
        self.order[view.domain() as usize].push_back((block, view.erases(block)));
    }

    fn ranked(&self) -> bool {
        false
    }
}
