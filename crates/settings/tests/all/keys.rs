//! The reference of keys, and the search for the nearest word.

use crate::common::Drive;
use serde_json::json;
use wordline_settings::{keys, nearest, Choice, KeyDoc, VariantOf};

fn key(name: &str) -> KeyDoc {
    keys::<Drive>().into_iter().find(|k| k.key == name).unwrap_or_else(|| panic!("no key {name}"))
}

#[test]
fn all_keys_in_order() {
    let all: Vec<String> = keys::<Drive>().into_iter().map(|k| k.key).collect();
    let expected = "name geometry geometry.channels geometry.dies geometry.spare geometry.order geometry.paired \
        geometry.seed nand nand.read_us nand.rate_mt_s nand.cell victim victim.policy victim.d victim.age_ms \
        victim.window job job[].rw job[].depth namespace namespace.* namespace.*.size_gib start start.queue link \
        link.sata link.sata.gb_s link.pcie link.pcie.lanes notes";
    assert_eq!(all.join(" "), expected.split_whitespace().collect::<Vec<_>>().join(" "));
}

#[test]
fn kinds_defaults_and_words() {
    let channels = key("geometry.channels");
    assert_eq!((channels.kind.as_str(), channels.doc.as_str()), ("integer from 1 to 64", "Number of channels."));
    assert_eq!((channels.default, channels.required), (Some(json!(8)), false));
    assert_eq!(key("geometry.spare").doc, "Spare share of the capacity.");
    assert_eq!(key("geometry.dies").kind, "integer");
    assert_eq!(key("geometry.order").kind, "array of integer");
    assert_eq!(key("start").kind, "integer or table or array of integer");
    assert!(key("nand.read_us").required);
    assert_eq!(key("job").kind, "array of tables");
    assert_eq!(key("job[].rw").kind, "one of read, write");
    assert!(key("nand.cell").choices.contains(&Choice { name: "slc".to_string(), doc: "One bit.".to_string() }));
}

#[test]
fn variants_and_their_options() {
    let tag = key("victim.policy");
    assert_eq!(tag.kind, "one of greedy, best_of, cost_benefit");
    assert_eq!(tag.default, Some(json!("greedy")));
    assert_eq!(tag.choices[1].doc, "The best of some random blocks.");
    let option = key("victim.d");
    let variant = VariantOf { tag: "victim.policy".to_string(), name: "best_of".to_string() };
    assert_eq!((option.variant, option.default), (Some(variant), Some(json!(4))));
    assert_eq!(key("victim.window").variant.map(|v| v.name).as_deref(), Some("cost_benefit"));
}

/// A recursive type ends.
#[test]
fn recursion_ends() {
    #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    struct Tree {
        name: String,
        children: Vec<Tree>,
        other: Option<Box<Tree>>,
    }
    let all: Vec<String> = keys::<Tree>().into_iter().map(|k| k.key).collect();
    assert_eq!(all, ["name", "children", "other"]);
    let text = "name = 'a'\n[[children]]\nname = 'b'\nchildren = []\nnam = 3";
    let error = wordline_settings::load_text::<Tree>("t", text, None, &[], &|_| None, &[]).err();
    let expected = "t:5:1: unknown key 'children.0.nam' (value 3); did you mean 'children.0.name'?";
    assert_eq!(error.map(|e| e.to_string()).as_deref(), Some(expected));
}

/// A tag among the other keys of its section, by `flatten`.
#[test]
fn flattened_enums() {
    use crate::common::Victim;
    #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema, Debug)]
    struct Collector {
        reserve: u8,
        #[serde(flatten)]
        victim: Victim,
    }
    let load = |text: &str, sets: &[String]| {
        wordline_settings::load_text::<Collector>("t", text, None, sets, &|_| None, &[]).map_err(|e| e.to_string())
    };
    let both = load("policy = 'best_of'\nd = 7\nreserve = 3", &[]).expect("loads").value;
    assert_eq!((both.reserve, both.victim), (3, Victim::BestOf { d: 7 }));
    let changed = load("policy = 'best_of'\nd = 7\nreserve = 3", &["policy=greedy".to_string()]).expect("loads").value;
    assert_eq!((changed.reserve, changed.victim), (3, Victim::Greedy));
    let misfit = "t:2:1: 'd' (value 7) does not fit policy 'greedy'; it is an option of policy 'best_of'";
    assert_eq!(load("policy = 'greedy'\nd = 7\nreserve = 3", &[]).err().as_deref(), Some(misfit));
    let missing = "t:1:1: 'policy' is missing; expected one of greedy, best_of, cost_benefit";
    assert_eq!(load("reserve = 3", &[]).err().as_deref(), Some(missing));
    let all: Vec<String> = keys::<Collector>().into_iter().map(|k| k.key).collect();
    assert_eq!(all, ["policy", "reserve", "d", "age_ms", "window"]);
}

#[test]
fn nearest_words() {
    let words = ["greedy", "cost_benefit", "d_choices", "fifo", "d"];
    let near = |word| nearest(word, words);
    assert_eq!(near("greddy"), Some("greedy"));
    assert_eq!(near("Cost-Benefit"), Some("cost_benefit"));
    assert_eq!(near("FIFO"), Some("fifo"));
    assert_eq!(near("x"), None);
    assert_eq!(near(""), None);
    assert_eq!(near("something else"), None);
    assert_eq!(near(&"g".repeat(1000)), None);
}
