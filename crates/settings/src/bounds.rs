//! The range of a number, from its Rust type and from what the field's schema adds.

use crate::document::{Data, Node};
use crate::schema::View;
use serde_json::Value;

/// The range of a Rust integer type, by the format that schemars gives it.
pub(crate) fn integer_range(format: &str) -> (i128, i128) {
    match format {
        "uint8" => (0, u8::MAX.into()),
        "uint16" => (0, u16::MAX.into()),
        "uint32" => (0, u32::MAX.into()),
        "uint64" | "uint" => (0, u64::MAX.into()),
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN.into(), u64::MAX.into()),
    }
}

/// What is wrong with a number that is out of its range; nothing for what is in range or no number.
pub(crate) fn broken_bound(view: View<'_>, node: &Node) -> Option<String> {
    match node.data {
        Data::Integer(i) => broken_type_bound(view, i).or_else(|| broken_schema_bound(view, i as f64)),
        Data::Float(x) => broken_schema_bound(view, x),
        _ => None,
    }
}

/// Exact to the last integer, where a float would round.
fn broken_type_bound(view: View<'_>, i: i128) -> Option<String> {
    if view.types().contains(&"number") {
        return None;
    }
    let (mut least, mut most) = integer_range(view.keyword("format").and_then(Value::as_str).unwrap_or(""));
    for bound in view.keywords("minimum").filter_map(integer) {
        least = least.max(bound);
    }
    for bound in view.keywords("maximum").filter_map(integer) {
        most = most.min(bound);
    }
    match i {
        i if i < 0 && least == 0 => Some("it cannot be negative: the smallest is 0".to_string()),
        i if i < least => Some(format!("the smallest is {least}")),
        i if i > most => Some(format!("the largest is {most}")),
        _ => None,
    }
}

fn integer(value: &Value) -> Option<i128> {
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from))
}

fn broken_schema_bound(view: View<'_>, x: f64) -> Option<String> {
    let check = |word, broken: &dyn Fn(f64) -> bool, says: &str| {
        let bound = view.keywords(word).find(|bound| bound.as_f64().is_some_and(broken))?;
        let zero = bound.as_f64() == Some(0.0);
        let sign = if zero && word == "minimum" { "it cannot be negative: " } else { "" };
        Some(format!("{sign}{says} {}", plain(bound)))
    };
    check("minimum", &|bound| x < bound, "the smallest is")
        .or_else(|| check("maximum", &|bound| x > bound, "the largest is"))
        .or_else(|| check("exclusiveMinimum", &|bound| x <= bound, "it must be greater than"))
        .or_else(|| check("exclusiveMaximum", &|bound| x >= bound, "it must be less than"))
}

/// A bound as a person writes it: `1` where JSON has `1.0`.
pub(crate) fn plain(bound: &Value) -> String {
    match bound.as_f64() {
        Some(x) if x.fract() == 0.0 && x.abs() < 1e15 => format!("{x:.0}"),
        _ => bound.to_string(),
    }
}
