//! Merging of files, presets and overrides.

use crate::common::*;
use std::path::{Path, PathBuf};
use wordline_settings::{load_file, load_text, Origin, SettingsError};

fn file(name: &str, line: usize, column: usize) -> Origin {
    Origin::File { name: name.to_string(), line, column }
}

#[test]
fn defaults_alone() {
    let loaded = load("", &[]);
    assert_eq!(loaded.value.geometry, Geometry::default());
    assert_eq!(loaded.value.victim, Victim::Greedy);
    assert_eq!(loaded.resolved["geometry"]["channels"], 8);
    assert_eq!(loaded.resolved["victim"]["policy"], "greedy");
    assert!(loaded.origins.is_empty());
}

#[test]
fn a_chain_of_layers_and_where_each_value_came_from() {
    let loaded = load("extends = 'consumer'\n[geometry]\ndies = 2\n", &["geometry.seed=18446744073709551615"]);
    let geometry = &loaded.value.geometry;
    assert_eq!((geometry.channels, geometry.dies, geometry.seed), (4, 2, u64::MAX));
    assert_eq!(loaded.value.victim, Victim::BestOf { d: 10 });
    let origins: Vec<_> = loaded.origins.iter().map(|(k, o)| (k.as_str(), o.clone())).collect();
    assert_eq!(
        origins,
        [
            ("geometry.channels", file("preset:consumer", 3, 1)),
            ("geometry.dies", file("my.toml", 3, 1)),
            ("geometry.seed", Origin::Set("geometry.seed=18446744073709551615".to_string())),
            ("name", file("preset:enterprise", 1, 1)),
            ("victim.d", file("preset:enterprise", 6, 1)),
            ("victim.policy", file("preset:enterprise", 5, 1)),
        ]
    );
    assert_eq!(loaded.resolved, serde_json::to_value(&loaded.value).expect("serialises"));
}

#[test]
fn another_variant_drops_the_options_of_the_old_one() {
    let base = "extends = 'enterprise'\n";
    assert_eq!(load(base, &["victim.policy=greedy"]).value.victim, Victim::Greedy);
    assert!(!load(base, &["victim.policy=greedy"]).origins.contains_key("victim.d"));
    // Naming the same variant again keeps them; an option alone changes only itself.
    assert_eq!(load(base, &["victim.policy=best_of"]).value.victim, Victim::BestOf { d: 10 });
    assert_eq!(load(base, &["victim.d=3"]).value.victim, Victim::BestOf { d: 3 });
    // Overrides are one layer: their order does not matter between tag and option.
    let sets = ["victim.age_ms=5", "victim.policy=cost_benefit"];
    let expected = Victim::CostBenefit(CostBenefit { age_ms: 5.0, window: None });
    assert_eq!(load(base, &sets).value.victim, expected);
    assert_eq!(load(&format!("{base}[victim]\npolicy = 'cost_benefit'\nage_ms = 5"), &[]).value.victim, expected);
    // A change to another variant and back keeps nothing of the first.
    let away = format!("{base}victim.policy = 'greedy'");
    assert_eq!(load(&away, &["victim.policy=best_of"]).value.victim, Victim::BestOf { d: 4 });
}

/// Two variants with options in common: in name and meaning, or in name alone.
mod common_options {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Config {
        #[serde(default)]
        pub map: Map,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(tag = "policy", rename_all = "snake_case")]
    pub enum Map {
        Plain(Plain),
        Cached(Cached),
    }

    impl Default for Map {
        fn default() -> Self {
            Map::Plain(Plain::default())
        }
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    pub struct Plain {
        /// Size of a unit.
        pub unit: Option<u32>,
        /// Idle time before the first one.
        pub idle: u32,
        /// Names of a list.
        pub order: Vec<String>,
        /// Whether it copies.
        pub copies: bool,
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    pub struct Cached {
        /// Size of a unit.
        pub unit: Option<u32>,
        /// Idle time that counts as long.
        pub idle: u32,
        /// Names of a list.
        pub order: String,
        /// Size of the cache.
        pub cache: u32,
    }
}

#[test]
fn an_option_of_both_variants_is_kept() {
    use common_options::{Cached, Config, Map, Plain};
    let text = "map = { policy = 'plain', unit = 4, idle = 7, order = ['a'], copies = true }";
    let load = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_string()).collect();
        load_text::<Config>("my.toml", text, None, &sets, &preset, &names())
    };
    let map = |sets: &[&str]| load(sets).expect("it is accepted").value.map;
    // The unit is the same option of both; what only has its name is lost: another meaning, another kind.
    let cached = |unit, cache| Map::Cached(Cached { unit, cache, ..Cached::default() });
    assert_eq!(map(&["map.policy=cached"]), cached(Some(4), 0));
    assert_eq!(map(&["map.policy=cached", "map.unit=8", "map.cache=2"]), cached(Some(8), 2));
    let loaded = load(&["map.policy=cached"]).expect("it is accepted");
    assert!(matches!(loaded.origins["map.unit"], Origin::File { .. }), "{:?}", loaded.origins);
    // A layer may take an option away. It is told where, and a word of that name is no value elsewhere.
    assert_eq!(map(&["map.policy=cached", "map.unit=absent"]), cached(None, 0));
    let without = Map::Plain(Plain { unit: None, ..Plain::default() });
    assert_eq!(map(&["map.unit=absent", "map.idle=absent", "map.order=absent", "map.copies=absent"]), without);
    let loaded = load(&["map.unit=absent"]).expect("it is accepted");
    assert_eq!(loaded.origins["map.unit"], Origin::Set("map.unit=absent".to_string()));
    assert_eq!(loaded.resolved["map"]["unit"], serde_json::Value::Null);
    assert_eq!(map(&["map.policy=cached", "map.order=absent"]), {
        Map::Cached(Cached { unit: Some(4), order: "absent".into(), ..Cached::default() })
    });
    assert!(load(&["map.policy=absent"]).is_err());
    assert!(load(&["map=absent"]).is_err());
}

#[test]
fn overrides() {
    let loaded = load("extends = 'jobs'", &["name=drives/a=b.bin", "job.1.rw=read", "job.1.depth = 8"]);
    assert_eq!(loaded.value.name, "drives/a=b.bin");
    assert_eq!(
        serde_json::to_value(&loaded.value.job[1]).expect("serialises"),
        serde_json::json!({"rw": "read", "depth": 8})
    );
    assert_eq!(loaded.origins["job.0.rw"], file("preset:jobs", 2, 1));
    assert_eq!(loaded.origins["job.1.rw"], Origin::Set("job.1.rw=read".to_string()));
    // Later ones win; arrays are replaced as a whole, and their elements can then be set.
    let sets = ["name=x", "name=\"3\"", "job=[{rw='read'}]", "job.0.rw=write", "geometry.order=[3,2,1,0]"];
    let loaded = load("extends = 'jobs'", &sets);
    assert_eq!(loaded.value.name, "3");
    assert_eq!(loaded.value.job.len(), 1);
    assert_eq!(loaded.value.job[0].rw, Rw::Write);
    assert_eq!(loaded.value.geometry.order, [3, 2, 1, 0]);
    let loaded = load("", &["geometry.order.2=9", "namespace.\"a b\".size_gib=7", "notes.x.y=[1, 'z']"]);
    assert_eq!(loaded.value.geometry.order, [0, 1, 9, 3]);
    assert_eq!(loaded.value.namespace["a b"].size_gib, 7);
    assert_eq!(loaded.value.notes, serde_json::json!({"x": {"y": [1, "z"]}}));
}

#[test]
fn forms_that_do_not_mix_replace_each_other() {
    let loaded = load("extends = 'waiting'\nstart = 5\n[link.pcie]\nlanes = 4", &[]);
    assert_eq!(loaded.value.start, Start::AfterS(5));
    assert_eq!(loaded.value.link, Some(Link::Pcie { lanes: 4 }));
    assert_eq!(load("extends = 'waiting'", &["link.sata.gb_s=3"]).value.link, Some(Link::Sata { gb_s: 3 }));
    assert_eq!(load("extends = 'waiting'", &["link=ideal"]).value.link, Some(Link::Ideal));
    assert_eq!(load("extends = 'waiting'", &[]).value.start, Start::When { queue: 3 });
    assert_eq!(load("start = [1, 2]", &[]).value.start, Start::Steps(vec![1, 2]));
}

/// A directory for one test.
fn directory(test: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("wordline-settings-{}-{test}", std::process::id()));
    std::fs::create_dir_all(&path).expect("a directory for the test");
    path
}

fn from_file(path: &Path) -> Result<Drive, SettingsError> {
    load_file::<Drive>(path, &[], &preset, &names()).map(|loaded| loaded.value)
}

#[test]
fn files_extend_files_beside_them() {
    let dir = directory("beside");
    std::fs::create_dir_all(dir.join("base")).expect("a directory");
    std::fs::write(dir.join("top.toml"), "extends = 'base/low.toml'\ngeometry.dies = 9").expect("written");
    std::fs::write(dir.join("base/low.toml"), "extends = '../lowest.toml'\ngeometry.channels = 2").expect("written");
    std::fs::write(dir.join("lowest.toml"), "extends = 'enterprise'\nname = 'lowest'").expect("written");
    let drive = from_file(&dir.join("top.toml")).expect("loads");
    assert_eq!((drive.name.as_str(), drive.geometry.channels, drive.geometry.dies), ("lowest", 2, 9));
    let text = load_text::<Drive>("-", "extends = './top.toml'", Some(&dir), &[], &preset, &names()).expect("loads");
    assert_eq!(text.value, drive);
    // A circle is found however the path is written.
    std::fs::write(dir.join("lowest.toml"), "extends = 'base/../top.toml'").expect("written");
    let error = from_file(&dir.join("top.toml")).expect_err("a circle").to_string();
    assert!(error.contains("lowest.toml:1:11: 'extends' goes in a circle: "), "{error}");
    std::fs::remove_dir_all(dir).expect("removed");
}

#[test]
fn files_that_are_none() {
    let message = |name: &str| from_file(Path::new(name)).expect_err("no such file").to_string();
    assert_eq!(message("no/where.toml"), "no/where.toml: no such file");
    assert_eq!(
        message("enterprize"),
        "enterprize: no such file or preset; did you mean 'enterprise'? \
         The presets are: enterprise, consumer, loop_a, loop_b, jobs, waiting, halfway"
    );
    assert_eq!(from_file(Path::new("enterprise")).expect("a preset").geometry.channels, 16);
    let dir = directory("none");
    assert_eq!(message(&dir.display().to_string()), format!("{}: this is a directory, not a file", dir.display()));
    std::fs::remove_dir_all(dir).expect("removed");
}

#[test]
fn files_that_are_not_text() {
    let dir = directory("binary");
    let path = dir.join("binary.toml");
    for (bytes, expected) in [
        (&b"name = 'a'\nx\xffy"[..], "2:2: not a text file (byte 0xff at offset 12 is not UTF-8)"),
        (&b"ab\0"[..], "1:3: not a text file (byte 0x00 at offset 2 does not occur in text)"),
    ] {
        std::fs::write(&path, bytes).expect("written");
        let message = from_file(&path).expect_err("not text").to_string();
        assert_eq!(message, format!("{}:{expected}; a configuration is TOML in UTF-8", path.display()));
    }
    std::fs::remove_dir_all(dir).expect("removed");
}
