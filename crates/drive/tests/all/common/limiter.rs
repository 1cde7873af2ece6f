//! An SLC cache from outside: that of the drive, limited during the run by a rule.

use serde_json::{json, Map, Value};
use std::sync::Arc;
use wordline_base::Stream;
use wordline_drive::guests::{Build, GuestSlc, Maker, Refusal, SlcSize, SlcView, Tells};
use wordline_drive::DriveConfig;
use wordline_firmware::policy::slc::SlcConfig;

/// The limit of a domain; the stream is its chance.
pub type Rule = fn(&SlcView, &mut Stream) -> Option<u32>;

/// Limits by a rule.
#[derive(Clone, Debug)]
struct Limiter {
    rule: Rule,
    random: Stream,
}

impl Tells for Limiter {}

impl GuestSlc for Limiter {
    fn limits(&self) -> bool {
        true
    }

    fn limit(&mut self, view: &SlcView) -> Result<Option<u32>, Refusal> {
        Ok((self.rule)(view, &mut self.random))
    }

    fn fork(&self) -> Box<dyn GuestSlc> {
        Box::new(self.clone())
    }
}

#[derive(Debug)]
struct LimiterMaker {
    size: SlcSize,
    rule: Rule,
    options: Map<String, Value>,
}

impl Maker for LimiterMaker {
    fn family(&self) -> &str {
        "slc"
    }

    fn name(&self) -> &str {
        "limiter"
    }

    fn summary(&self) -> &str {
        "a guest"
    }

    fn options(&self) -> &Map<String, Value> {
        &self.options
    }

    fn slc(&self, _: &Map<String, Value>, build: &Build<'_>) -> Result<(Option<SlcSize>, Box<dyn GuestSlc>), String> {
        let random = Stream::new(build.seed, "limiter", 0);
        Ok((Some(self.size), Box::new(Limiter { rule: self.rule, random })))
    }
}

/// Limits the SLC cache of a drive by a rule.
pub fn limit(config: &mut DriveConfig, rule: Rule) {
    let size = match &config.firmware.slc {
        SlcConfig::Fixed(options) => SlcSize { most: options.blocks, spare: Some(0), fixed: true },
        SlcConfig::Dynamic(options) => SlcSize { most: options.most_blocks, spare: options.free_blocks, fixed: false },
        other => panic!("no cache to limit: {other:?}"),
    };
    config.firmware.slc = serde_json::from_value(json!({"policy": "limiter"})).expect("it is a section");
    config.firmware.seat(&[Arc::new(LimiterMaker { size, rule, options: Map::new() }) as Arc<dyn Maker>]);
    config.parts().expect("it is accepted with the guest");
}
