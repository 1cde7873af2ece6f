//! A collect policy from outside that answers each step of a collection by a rule.

use serde_json::{json, Map, Value};
use std::sync::Arc;
use wordline_base::Stream;
use wordline_drive::guests::{Build, GuestCollect, Maker, Refusal, SpaceView, StepView};
use wordline_drive::DriveConfig;

/// True to go on; the stream is its chance.
pub type Rule = fn(&StepView, &mut Stream) -> bool;

/// Starts collections as `on-demand` does.
#[derive(Clone, Debug)]
struct Holder {
    start: u32,
    stop: u32,
    active: Vec<bool>,
    rule: Option<Rule>,
    random: Stream,
}

impl GuestCollect for Holder {
    fn wants(&mut self, view: &SpaceView) -> Result<bool, Refusal> {
        let active = &mut self.active[view.domain as usize];
        *active = view.free < self.start || (*active && view.free < self.stop);
        Ok(*active && view.free + view.running < self.stop)
    }

    fn steps(&self) -> bool {
        self.rule.is_some()
    }

    fn step(&mut self, view: &StepView) -> Result<bool, Refusal> {
        assert!(view.running > 0 && (!view.erases || view.unread + view.on_the_way == 0), "{view:?}");
        assert!(view.die_works || !view.die_serves_host, "{view:?}");
        let rule = self.rule.ok_or("it has no rule")?;
        Ok(rule(view, &mut self.random))
    }

    fn fork(&self) -> Box<dyn GuestCollect> {
        Box::new(self.clone())
    }
}

#[derive(Debug)]
struct HolderMaker {
    rule: Option<Rule>,
    options: Map<String, Value>,
}

impl Maker for HolderMaker {
    fn family(&self) -> &str {
        "collect"
    }

    fn name(&self) -> &str {
        "holder"
    }

    fn summary(&self) -> &str {
        "a guest"
    }

    fn options(&self) -> &Map<String, Value> {
        &self.options
    }

    fn collect(&self, options: &Map<String, Value>, build: &Build<'_>) -> Result<Box<dyn GuestCollect>, String> {
        let number = |key: &str| options[key].as_u64().map(|number| number as u32).ok_or(format!("{key} is missing"));
        Ok(Box::new(Holder {
            start: number("start_blocks")?,
            stop: number("stop_blocks")?,
            active: vec![false; build.domains as usize],
            rule: self.rule,
            random: Stream::new(build.seed, "holder", 0),
        }))
    }
}

/// Lets a drive that is accepted collect by a guest with its thresholds, which answers each step by a rule, if there is one.
pub fn hold(config: &mut DriveConfig, rule: Option<Rule>) {
    let plan = *config.parts().expect("it is accepted").plan();
    let mut section = serde_json::to_value(&config.firmware.collect).expect("is JSON");
    section["policy"] = json!("holder");
    section["reserve_blocks"] = json!(plan.reserve_blocks);
    section["start_blocks"] = json!(plan.start_blocks);
    section["stop_blocks"] = json!(plan.stop_blocks);
    config.firmware.collect = serde_json::from_value(section).expect("it is a section");
    config.firmware.seat(&[Arc::new(HolderMaker { rule, options: Map::new() }) as Arc<dyn Maker>]);
    config.parts().expect("it is accepted with the guest");
}
