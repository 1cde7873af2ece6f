//! Guests that decide by a rule of the test.

use serde_json::{json, Map, Value};
use std::sync::Arc;
use wordline_drive::guests::{
    Build, ByTask, CacheView, Constraint, GuestArbiter, GuestCollect, GuestDispatch, GuestFreeBlock, GuestMapping,
    GuestPlacement, GuestUpkeep, GuestVictim, Maker, Occasion, Refusal, SpaceView, StageView, Tells, UpkeepView,
    VictimView, Waiting,
};

/// Decision rules of the guests in these tests.
pub type Choice = fn(&VictimView<'_>, u64) -> Result<Option<u32>, Refusal>;

#[derive(Clone, Debug)]
pub struct Chooser {
    pub choice: Choice,
    asked: u64,
}

impl Tells for Chooser {}

impl GuestVictim for Chooser {
    fn choose(&mut self, view: &VictimView<'_>) -> Result<Option<u32>, Refusal> {
        self.asked += 1;
        (self.choice)(view, self.asked)
    }

    fn closed(&mut self, view: &VictimView<'_>, block: u32) -> Result<(), Refusal> {
        assert!(view.is_closed(block));
        Ok(())
    }

    fn fork(&self) -> Box<dyn GuestVictim> {
        Box::new(self.clone())
    }
}

/// Collects when this number of blocks is free.
#[derive(Clone, Debug)]
pub struct Below(u32);

impl Tells for Below {}

impl GuestCollect for Below {
    fn wants(&mut self, view: &SpaceView) -> Result<bool, Refusal> {
        Ok(view.free + view.running < self.0)
    }

    fn fork(&self) -> Box<dyn GuestCollect> {
        Box::new(self.clone())
    }
}

/// Ranks as `least-erased` does, this number of times.
#[derive(Clone, Debug)]
pub struct Ranker(u64);

impl Tells for Ranker {}

impl GuestFreeBlock for Ranker {
    fn rank(&mut self, erases: u32, order: u32) -> Result<u64, Refusal> {
        self.0 = self.0.checked_sub(1).ok_or("tired")?;
        Ok(u64::from(erases) << 32 | u64::from(order))
    }

    fn fork(&self) -> Box<dyn GuestFreeBlock> {
        Box::new(self.clone())
    }
}

#[derive(Debug)]
pub struct Guest {
    pub family: &'static str,
    pub name: &'static str,
    pub choice: Choice,
    pub options: Map<String, Value>,
}

impl Maker for Guest {
    fn family(&self) -> &str {
        self.family
    }

    fn name(&self) -> &str {
        self.name
    }

    fn summary(&self) -> &str {
        "a guest"
    }

    fn options(&self) -> &Map<String, Value> {
        &self.options
    }

    fn victim(&self, _: &Map<String, Value>, _: &Build<'_>) -> Result<Box<dyn GuestVictim>, String> {
        Ok(Box::new(Chooser { choice: self.choice, asked: 0 }))
    }

    fn collect(&self, options: &Map<String, Value>, _: &Build<'_>) -> Result<Box<dyn GuestCollect>, String> {
        let below = options["below"].as_u64().ok_or("below is no number")?;
        Ok(Box::new(Below(below as u32)))
    }

    fn free_block(&self, options: &Map<String, Value>, _: &Build<'_>) -> Result<Box<dyn GuestFreeBlock>, String> {
        let below = options["below"].as_u64().ok_or("below is no number")?;
        Ok(Box::new(Ranker(below)))
    }
}

pub fn guest(family: &'static str, choice: Choice) -> Arc<dyn Maker> {
    let options = json!({"below": {"type": "integer", "default": 3}}).as_object().cloned().unwrap_or_default();
    Arc::new(Guest { family, name: "guest", choice, options })
}

/// Decision rules of the guests that look at operations: the first value counts the questions.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    Place(fn(u64, u32) -> Result<Constraint, Refusal>),
    Serve(fn(u64, &[Waiting]) -> Result<usize, Refusal>),
    Send(fn(u64, &StageView<'_>) -> Result<Option<usize>, Refusal>),
    Leave(fn(u64, &CacheView<'_>) -> Result<u32, Refusal>),
    Move(Occasion, fn(u64, &UpkeepView<'_>) -> Result<Option<u32>, Refusal>),
}

/// A guest with a rule.
#[derive(Clone, Debug)]
pub struct Ruled {
    pub rule: Rule,
    asked: u64,
}

impl Ruled {
    fn count(&mut self) -> u64 {
        self.asked += 1;
        self.asked
    }
}

impl Tells for Ruled {}

impl GuestPlacement for Ruled {
    fn place(&mut self, page: u32, _: Option<u32>) -> Result<Constraint, Refusal> {
        let Rule::Place(rule) = self.rule else { return Err("no rule".into()) };
        rule(self.count(), page)
    }

    fn fork(&self) -> Box<dyn GuestPlacement> {
        Box::new(self.clone())
    }
}

impl GuestArbiter for Ruled {
    fn choose(&mut self, waiting: &[Waiting]) -> Result<usize, Refusal> {
        assert!(waiting.len() > 1);
        let Rule::Serve(rule) = self.rule else { return Err("no rule".into()) };
        rule(self.count(), waiting)
    }

    fn fork(&self) -> Box<dyn GuestArbiter> {
        Box::new(self.clone())
    }
}

impl GuestUpkeep for Ruled {
    fn occasion(&self) -> Occasion {
        let Rule::Move(occasion, _) = self.rule else { return Occasion::Never };
        occasion
    }

    fn next(&mut self, view: &UpkeepView<'_>) -> Result<Option<u32>, Refusal> {
        let Rule::Move(_, rule) = self.rule else { return Err("no rule".into()) };
        rule(self.count(), view)
    }

    fn fork(&self) -> Box<dyn GuestUpkeep> {
        Box::new(self.clone())
    }
}

impl GuestDispatch for Ruled {
    fn sees_all(&self) -> bool {
        true
    }

    fn takes_shares(&self) -> bool {
        false
    }

    fn next(&mut self, view: &StageView<'_>, _: &ByTask<f64>) -> Result<Option<usize>, Refusal> {
        assert!(!view.staged.is_empty());
        let Rule::Send(rule) = self.rule else { return Err("no rule".into()) };
        rule(self.count(), view)
    }

    fn fork(&self) -> Box<dyn GuestDispatch> {
        Box::new(self.clone())
    }
}

impl GuestMapping for Ruled {
    fn evict(&mut self, view: &CacheView<'_>) -> Result<u32, Refusal> {
        assert!(!view.oldest.is_empty() && view.oldest.iter().all(|&(held, _)| held != view.coming));
        let Rule::Leave(rule) = self.rule else { return Err("no rule".into()) };
        rule(self.count(), view)
    }

    fn used(&mut self, _: u32) -> Result<(), Refusal> {
        Ok(())
    }

    fn fork(&self) -> Box<dyn GuestMapping> {
        Box::new(self.clone())
    }
}

#[derive(Debug)]
pub struct RuledMaker {
    pub family: &'static str,
    rule: Rule,
    pub options: Map<String, Value>,
}

impl Maker for RuledMaker {
    fn family(&self) -> &str {
        self.family
    }

    fn name(&self) -> &str {
        "guest"
    }

    fn summary(&self) -> &str {
        "a guest"
    }

    fn options(&self) -> &Map<String, Value> {
        &self.options
    }

    fn arbiter(&self, _: &Map<String, Value>, _: &Build<'_>) -> Result<Box<dyn GuestArbiter>, String> {
        Ok(Box::new(Ruled { rule: self.rule, asked: 0 }))
    }

    fn mapping(&self, _: &Map<String, Value>, _: &Build<'_>) -> Result<Box<dyn GuestMapping>, String> {
        Ok(Box::new(Ruled { rule: self.rule, asked: 0 }))
    }

    fn dispatch(&self, _: &Map<String, Value>, _: &Build<'_>) -> Result<Box<dyn GuestDispatch>, String> {
        Ok(Box::new(Ruled { rule: self.rule, asked: 0 }))
    }

    fn upkeep(&self, _: &Map<String, Value>, _: &Build<'_>) -> Result<Box<dyn GuestUpkeep>, String> {
        Ok(Box::new(Ruled { rule: self.rule, asked: 0 }))
    }

    fn placement(&self, _: &Map<String, Value>, _: &Build<'_>) -> Result<Box<dyn GuestPlacement>, String> {
        Ok(Box::new(Ruled { rule: self.rule, asked: 0 }))
    }
}

pub fn ruled(family: &'static str, rule: Rule) -> Arc<dyn Maker> {
    let options = match rule {
        Rule::Move(..) => json!({
            "window_pages": {"type": "integer", "default": 8},
            "blocks_at_once": {"type": "integer", "default": 1},
        }),
        Rule::Send(_) => json!({"depth": {"type": "integer", "default": 4}}),
        _ => json!({}),
    };
    Arc::new(RuledMaker { family, rule, options: options.as_object().cloned().unwrap_or_default() })
}
