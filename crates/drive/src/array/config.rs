//! An array file: its keys, and the checks that need no drive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::event::MAX_INDEX;
use wordline_firmware::ConfigError;

/// The most members of an array.
pub const MOST_MEMBERS: u32 = 64;
/// The usual stripe, in KiB.
const USUAL_STRIPE: u32 = 64;
/// The largest stripe, in KiB.
const LARGEST_STRIPE: u32 = 65_536;

/// An array of drives, as a file describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ArrayFile {
    /// Short name of the array.
    pub name: String,
    /// Description of the array, in one line.
    pub title: String,
    /// Source of its figures.
    pub source: String,
    /// Members and layout.
    pub array: ArrayConfig,
}

/// How addresses lie on members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArrayKind {
    /// Stripes go round all members. Members have one capacity.
    #[default]
    Raid0,
    /// The addresses of the members follow each other. Members may differ in capacity.
    Join,
    /// Stripes with rotating parity in the left-symmetric layout: the parity of stripe s is on member N - 1 - s mod N, and its
    /// data begin on the member behind. Members have one capacity; at least three.
    Raid5,
}

impl ArrayKind {
    /// The name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Raid0 => "raid0",
            Self::Join => "join",
            Self::Raid5 => "raid5",
        }
    }
}

/// The drives of an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Members {
    /// So many of `array.drive`.
    Count(u32),
    /// Each by its preset or file; a relative path starts at the array file.
    Drives(Vec<String>),
}

impl Default for Members {
    fn default() -> Self {
        Self::Count(0)
    }
}

impl Members {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        match self {
            Self::Count(count) => *count,
            Self::Drives(drives) => u32::try_from(drives.len()).unwrap_or(u32::MAX),
        }
    }

    fn written(&self) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::Drives(drives) => format!("{drives:?}"),
        }
    }
}

/// Members and layout of an array.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ArrayConfig {
    /// How addresses lie on members: `raid0`, `join` or `raid5`.
    pub kind: ArrayKind,
    /// How many members of the drive in `drive`, such as 6, or a list of drives, such as `["a.toml", "b.toml"]`; 64 at most.
    pub members: Members,
    /// The drive of all members, a preset or a file, where `members` is a number. A relative path starts at the array file.
    pub drive: Option<String>,
    /// Bytes of a stripe on each member, in KiB (a *chunk*): a multiple of 4, up to 65536. Absent: 64. Not for `join`.
    pub stripe_kib: Option<u32>,
    /// Requests that each queue of the array holds, those that wait for a member included. Absent: as many as the queues of its
    /// members hold together. A member whose queue is full then holds others up once all of these wait for it; with more, later.
    pub queue_depth: Option<u32>,
    /// `raid5`: the member that fails, counted from 0. Absent: none does.
    pub fail_member: Option<u32>,
    /// `raid5`: simulated seconds from the start of the run until it fails; 0 or absent: it has failed before the run begins.
    pub fail_at_s: Option<f64>,
    /// `raid5`: a spare drive, like the first member, on which a failed member is rebuilt at once.
    pub spare: bool,
    /// `raid5` with a spare: the most MiB a second to rebuild, counted as they are written to the spare. Absent: as fast as the
    /// members allow.
    pub rebuild_mib_s: Option<f64>,
    /// `raid5` with a spare: stripes that are rebuilt at a time, 1 to 64. Absent: 4.
    pub rebuild_depth: Option<u32>,
}

/// Stripes rebuilt at a time, if nothing else is said.
const USUAL_REBUILD_DEPTH: u32 = 4;

impl ArrayConfig {
    /// Bytes of a stripe on each member; 0 where addresses are joined.
    #[must_use]
    pub fn chunk(&self) -> u64 {
        match self.kind {
            ArrayKind::Join => 0,
            _ => u64::from(self.stripe_kib.unwrap_or(USUAL_STRIPE)) << 10,
        }
    }

    /// Stripes that are rebuilt at a time.
    #[must_use]
    pub fn at_a_time(&self) -> u32 {
        self.rebuild_depth.unwrap_or(USUAL_REBUILD_DEPTH)
    }

    /// Checks all that needs no drive.
    ///
    /// # Errors
    /// Names the first key that cannot be used, and what would be right.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_members()?;
        self.check_stripe()?;
        if let Some(depth) = self.queue_depth.filter(|depth| !(1..=MAX_INDEX).contains(depth)) {
            return Err(ConfigError::new("array.queue_depth", depth, format!("must lie between 1 and {MAX_INDEX}")));
        }
        self.check_failure()
    }

    fn check_members(&self) -> Result<(), ConfigError> {
        let (count, written) = (self.members.count(), self.members.written());
        let wrong = |problem: String| Err(ConfigError::new("array.members", &written, problem));
        let least = if self.kind == ArrayKind::Raid5 { 3 } else { 1 };
        if count == 0 {
            return wrong("give the number of members, as in members = 6, or a list of drives".into());
        }
        if count < least {
            return wrong(format!("{} takes at least {least} members", self.kind.name()));
        }
        if count > MOST_MEMBERS {
            return wrong(format!("an array has at most {MOST_MEMBERS} members"));
        }
        match (&self.members, &self.drive) {
            (Members::Count(_), None) => {
                let problem = format!("is missing; name the drive of the {count} members, as in drive = \"demo\"");
                Err(ConfigError::new("array.drive", "(absent)", problem))
            }
            (Members::Drives(_), Some(drive)) => {
                let problem = "goes with a number of members; the list in array.members names the drives already";
                Err(ConfigError::new("array.drive", format!("{drive:?}"), problem))
            }
            _ => Ok(()),
        }
    }

    fn check_stripe(&self) -> Result<(), ConfigError> {
        let Some(kib) = self.stripe_kib else { return Ok(()) };
        let wrong = |problem: String| Err(ConfigError::new("array.stripe_kib", kib, problem));
        if self.kind == ArrayKind::Join {
            return wrong("a joined array has no stripes; leave it out, or use kind = \"raid0\"".into());
        }
        if kib == 0 || kib > LARGEST_STRIPE || !kib.is_multiple_of(4) {
            let below = (kib / 4 * 4).clamp(4, LARGEST_STRIPE);
            let above = (below + 4).min(LARGEST_STRIPE);
            let near = if below == above || kib < below || kib > LARGEST_STRIPE {
                format!("the nearest is {below}")
            } else {
                format!("the nearest are {below} and {above}")
            };
            return wrong(format!("must be a multiple of 4, from 4 to {LARGEST_STRIPE}; {near}"));
        }
        Ok(())
    }

    fn check_failure(&self) -> Result<(), ConfigError> {
        let written = [
            ("fail_member", self.fail_member.map(|value| value.to_string())),
            ("fail_at_s", self.fail_at_s.map(|value| value.to_string())),
            ("spare", self.spare.then(|| "true".to_owned())),
            ("rebuild_mib_s", self.rebuild_mib_s.map(|value| value.to_string())),
            ("rebuild_depth", self.rebuild_depth.map(|value| value.to_string())),
        ];
        let wrong = |key: &str, value: &dyn ToString, problem: &str| {
            Err(ConfigError::new(format!("array.{key}"), value.to_string(), problem))
        };
        if let (true, Some((key, value))) = (
            self.kind != ArrayKind::Raid5,
            written.iter().find_map(|(key, value)| value.as_ref().map(|value| (key, value))),
        ) {
            let problem = format!("goes with kind = \"raid5\" alone, and this is \"{}\"", self.kind.name());
            return wrong(key, value, &problem);
        }
        if let Some(member) = self.fail_member.filter(|&member| member >= self.members.count()) {
            let problem = format!("there are members 0 to {}", self.members.count() - 1);
            return wrong("fail_member", &member, &problem);
        }
        if let Some(seconds) = self.fail_at_s {
            if self.fail_member.is_none() {
                return wrong("fail_at_s", &seconds, "says when a member fails; name it in array.fail_member");
            }
            if !(0.0..=9e6).contains(&seconds) {
                return wrong("fail_at_s", &seconds, "must lie between 0 and 9000000 seconds");
            }
        }
        let rebuild = written[3..].iter().find_map(|(key, value)| value.as_ref().map(|value| (key, value)));
        if let (false, Some((key, value))) = (self.spare, rebuild) {
            return wrong(key, value, "is for a rebuild, which needs spare = true");
        }
        if let Some(rate) = self.rebuild_mib_s.filter(|rate| !(0.001..=1e6).contains(rate)) {
            return wrong("rebuild_mib_s", &rate, "must lie between 0.001 and 1000000; leave it out for no limit");
        }
        if let Some(depth) = self.rebuild_depth.filter(|depth| !(1..=64).contains(depth)) {
            return wrong("rebuild_depth", &depth, "must lie between 1 and 64");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn six(kind: ArrayKind) -> ArrayConfig {
        ArrayConfig { kind, members: Members::Count(6), drive: Some("demo".into()), ..ArrayConfig::default() }
    }

    fn wrong(config: &ArrayConfig) -> String {
        config.check().expect_err("it is wrong").to_string()
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for kind in [ArrayKind::Raid0, ArrayKind::Join, ArrayKind::Raid5] {
            six(kind).check().expect("six drives make any array");
        }
        let few = ArrayConfig { members: Members::Count(2), ..six(ArrayKind::Raid5) };
        assert_eq!(wrong(&few), "array.members = 2: raid5 takes at least 3 members");
        let none = ArrayConfig { members: Members::default(), ..six(ArrayKind::Join) };
        assert!(wrong(&none).contains("members = 6"));
        let unnamed = ArrayConfig { drive: None, ..six(ArrayKind::Raid0) };
        assert!(wrong(&unnamed).starts_with("array.drive = (absent): is missing"));
        let twice = ArrayConfig { members: Members::Drives(vec!["demo".into()]), ..six(ArrayKind::Raid0) };
        assert!(wrong(&twice).contains("names the drives already"));
        let join = ArrayConfig { stripe_kib: Some(64), ..six(ArrayKind::Join) };
        assert!(wrong(&join).contains("has no stripes"));
        for (key, config) in [
            ("spare", ArrayConfig { spare: true, ..six(ArrayKind::Raid0) }),
            ("fail_member", ArrayConfig { fail_member: Some(1), ..six(ArrayKind::Join) }),
            ("fail_member", ArrayConfig { fail_member: Some(6), ..six(ArrayKind::Raid5) }),
            ("fail_at_s", ArrayConfig { fail_at_s: Some(1.0), ..six(ArrayKind::Raid5) }),
            ("rebuild_mib_s", ArrayConfig { rebuild_mib_s: Some(9.0), ..six(ArrayKind::Raid5) }),
            ("rebuild_depth", ArrayConfig { spare: true, rebuild_depth: Some(0), ..six(ArrayKind::Raid5) }),
        ] {
            assert!(wrong(&config).starts_with(&format!("array.{key} = ")), "{}", wrong(&config));
        }
    }

    #[test]
    fn a_wrong_stripe_names_the_nearest_ones() {
        let of = |kib| wrong(&ArrayConfig { stripe_kib: Some(kib), ..six(ArrayKind::Raid0) });
        assert!(of(6).ends_with("the nearest are 4 and 8"), "{}", of(6));
        assert!(of(0).ends_with("the nearest is 4"), "{}", of(0));
        assert!(of(70_000).ends_with("the nearest is 65536"), "{}", of(70_000));
    }
}
