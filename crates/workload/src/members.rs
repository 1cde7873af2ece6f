//! The devices of a trace on the members of an array of joined drives.

use crate::error::{option, WorkloadError};
use crate::options::TraceOptions;

/// The addresses that a workload runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// All bytes.
    pub bytes: u64,
    /// First byte of each member of an array of joined drives, and the end of the last; empty for anything else.
    pub starts: Vec<u64>,
}

impl Space {
    /// The addresses of one drive, or of an array whose members share them.
    #[must_use]
    pub fn whole(bytes: u64) -> Self {
        Self { bytes, starts: Vec::new() }
    }

    /// Members of joined drives.
    #[must_use]
    pub fn members(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }
}

/// The order of people: `msn_2` before `msn_10`.
fn in_order(name: &str) -> Vec<(bool, u64, String)> {
    let mut parts: Vec<(bool, u64, String)> = Vec::new();
    for char in name.chars() {
        let digit = char.is_ascii_digit();
        match parts.last_mut() {
            Some((number, value, text)) if *number == digit => {
                text.push(char);
                *value = if digit { text.parse().unwrap_or(u64::MAX) } else { 0 };
            }
            _ => parts.push((digit, u64::from(char.to_digit(10).unwrap_or(0)), char.to_string())),
        }
    }
    // Numbers compare by value; the text decides between 1 and 01.
    parts
}

/// The member of each device, in the order of `names`: as the options say, or the devices in the order of their names.
///
/// # Errors
/// Names the option and the devices that do not go together.
pub(crate) fn members_of(names: &[String], options: &TraceOptions, members: usize) -> Result<Vec<u32>, WorkloadError> {
    let given = &options.member_devices;
    let all = names.join(", ");
    let wrong = |problem: String| Err(option("trace.member_devices", format!("{given:?}"), problem));
    if names.is_empty() {
        let problem = "the trace names no devices; leave it out, or use \"merge\"";
        return Err(option("trace.devices", "\"members\"", problem));
    }
    if given.is_empty() {
        if names.len() > members {
            let problem = format!(
                "the trace has {} devices ({all}) for {members} members; say which go together by trace.member_devices, such as \
                 [[{:?}, {:?}], …]",
                names.len(),
                names[0],
                names[names.len() - 1]
            );
            return Err(option("trace.devices", "\"members\"", problem));
        }
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by_key(|&device| in_order(&names[device]));
        let mut of = vec![0; names.len()];
        order.iter().enumerate().for_each(|(member, &device)| of[device] = member as u32);
        return Ok(of);
    }
    if given.len() > members {
        return wrong(format!("it has devices for {} members, and the array has {members}", given.len()));
    }
    let listed = |name: &String| given.iter().filter(|list| list.contains(name)).count();
    for name in given.iter().flatten() {
        if !names.contains(name) {
            return wrong(format!("the trace has no device {name:?}; it has {all}"));
        }
        if listed(name) > 1 || given.iter().any(|list| list.iter().filter(|other| *other == name).count() > 1) {
            return wrong(format!("the device {name:?} is there twice"));
        }
    }
    match names.iter().find(|name| listed(name) == 0) {
        Some(name) => {
            wrong(format!("it has no place for the device {name:?}; to leave its requests out, use `device`"))
        }
        None => {
            Ok(names.iter().map(|name| given.iter().position(|list| list.contains(name)).unwrap_or(0) as u32).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|&name| name.to_owned()).collect()
    }

    fn with(lists: &[&[&str]]) -> TraceOptions {
        TraceOptions { member_devices: lists.iter().map(|list| names(list)).collect(), ..TraceOptions::default() }
    }

    #[test]
    fn devices_go_to_members_by_name_or_as_listed() {
        let seen = names(&["msn_10", "msn_2", "msn_0"]);
        let of = |options: &TraceOptions| members_of(&seen, options, 3).expect("they go together");
        assert_eq!(of(&with(&[])), [2, 1, 0]);
        assert_eq!(of(&with(&[&["msn_0", "msn_10"], &[], &["msn_2"]])), [0, 2, 0]);
    }

    #[test]
    fn what_does_not_go_together_is_named() {
        let seen = names(&["a", "b", "c"]);
        let told =
            |options: &TraceOptions, members| members_of(&seen, options, members).expect_err("wrong").to_string();
        assert!(told(&with(&[]), 2).contains("3 devices (a, b, c) for 2 members"));
        assert!(told(&with(&[&["a"], &["b"]]), 2).contains("no place for the device \"c\""));
        assert!(told(&with(&[&["a", "b", "d"], &["c"]]), 2).contains("no device \"d\"; it has a, b, c"));
        assert!(told(&with(&[&["a", "b"], &["b", "c"]]), 2).contains("\"b\" is there twice"));
        assert!(told(&with(&[&["a"], &["b"], &["c"]]), 2).contains("devices for 3 members"));
    }
}
