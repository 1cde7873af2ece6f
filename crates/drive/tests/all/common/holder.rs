//! A collect policy from outside that answers each step of a collection by a rule, and says by another where moved data go.

use serde_json::{json, Map, Value};
use std::sync::Arc;
use wordline_base::Stream;
use wordline_drive::guests::{Build, GuestCollect, Maker, MoveView, Refusal, SpaceView, StepView, Target, Tells};
use wordline_drive::DriveConfig;

/// True to go on; the stream is its chance.
pub type Rule = fn(&StepView, &mut Stream) -> bool;

/// Where a moved unit goes in a drive with so many channels and dies; the stream is its chance.
pub type Wish = fn(&MoveView, (u32, u32), &mut Stream) -> Target;

/// Starts collections as `on-demand` does.
#[derive(Clone, Debug)]
struct Holder {
    start: u32,
    stop: u32,
    active: Vec<bool>,
    rule: Option<Rule>,
    wish: Option<Wish>,
    places: (u32, u32),
    random: Stream,
}

impl Tells for Holder {}

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

    fn places(&self) -> bool {
        self.wish.is_some()
    }

    fn place(&mut self, view: &MoveView) -> Result<Target, Refusal> {
        let (channels, dies) = self.places;
        assert!(view.die < dies && view.channel == view.die / (dies / channels) && view.valid > 0, "{view:?}");
        let wish = self.wish.ok_or("it has no wish")?;
        Ok(wish(view, self.places, &mut self.random))
    }

    fn fork(&self) -> Box<dyn GuestCollect> {
        Box::new(self.clone())
    }
}

#[derive(Debug)]
struct HolderMaker {
    rule: Option<Rule>,
    wish: Option<Wish>,
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
            wish: self.wish,
            places: (build.geometry.channels, build.geometry.dies()),
            random: Stream::new(build.seed, "holder", 0),
        }))
    }
}

/// Lets a drive that is accepted collect by a guest with its thresholds, which answers each step by a rule, if there is one.
pub fn hold(config: &mut DriveConfig, rule: Option<Rule>) {
    hold_and_place(config, rule, None);
}

/// The same of a guest that says by a rule where moved data go, if there is one.
pub fn hold_and_place(config: &mut DriveConfig, rule: Option<Rule>, wish: Option<Wish>) {
    let plan = *config.parts().expect("it is accepted").plan();
    let mut section = serde_json::to_value(&config.firmware.collect).expect("is JSON");
    section["policy"] = json!("holder");
    section["reserve_blocks"] = json!(plan.reserve_blocks);
    section["start_blocks"] = json!(plan.start_blocks);
    section["stop_blocks"] = json!(plan.stop_blocks);
    if wish.is_some() {
        section["moves_to"] = json!("any-die");
    }
    config.firmware.collect = serde_json::from_value(section).expect("it is a section");
    config.firmware.seat(&[Arc::new(HolderMaker { rule, wish, options: Map::new() }) as Arc<dyn Maker>]);
    config.parts().expect("it is accepted with the guest");
}
