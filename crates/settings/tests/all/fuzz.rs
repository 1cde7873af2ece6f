//! Any bytes give a value or a message, never a panic.

use crate::common::{names, preset, Drive};
use wordline_settings::{load_file, load_text};

/// A small generator: a seed is enough to repeat a case.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below.max(1)
    }
}

const TEXT: &str = r#"extends = "enterprise"
name = "fuzz"
geometry = { channels = 8, dies = 4, spare = 0.07, order = [0, 1, 2, 3], seed = 0xff }
start = { queue = 3 }
link.sata.gb_s = 6
notes = [1, 2.5, { a = 2020-01-01 }]
[nand]
read_us = 50
rate_mt_s = 400
cell = 'slc'
[victim]
policy = "best_of"
d = 10
[[job]]
rw = "read"
depth = 2
[[job]]
rw = "write"
[namespace."a b"]
size_gib = 3
"#;

const PIECES: &[&str] = &[
    "=",
    ".",
    "[",
    "]",
    "[[",
    "{",
    "}",
    "\"",
    "'",
    "\n",
    ",",
    "-1",
    "1e999",
    "nan",
    "99999999999999999999999999",
    "é",
    "\u{feff}",
    "\0",
    "extends",
    "victim.policy",
    "job.0",
    "0",
    "true",
    "'''",
    "#",
    "\\u0000",
    "x_us",
    " ",
    "greedy",
    "a=b",
];

fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    // Few at a time: an early error in a text hides later ones.
    for _ in 0..random.next(4) {
        let at = random.next(bytes.len() + 1);
        match random.next(5) {
            // A digit or letter within a word, so that much still parses and reaches the checks.
            0 | 1 if at < bytes.len() && bytes[at].is_ascii_alphanumeric() => bytes[at] = b"0123abde"[random.next(8)],
            0 if at < bytes.len() => bytes[at] = random.next(256) as u8,
            2 => {
                let end = (at + random.next(20)).min(bytes.len());
                bytes.drain(at..end);
            }
            3 => {
                let end = (at + random.next(40)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let to = random.next(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            _ => {
                let piece = PIECES[random.next(PIECES.len())].bytes();
                bytes.splice(at..at, piece);
            }
        }
    }
}

fn random_set(random: &mut Random) -> String {
    let mut bytes = ["job.1.depth=4", "victim.policy=greedy", "geometry.order.1=2", "notes.a.0=[1,{b=2}]"]
        [random.next(4)]
    .as_bytes()
    .to_vec();
    mutate(random, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn mutated_bytes_never_panic() {
    let path = std::env::temp_dir().join(format!("wordline-settings-{}-fuzz.toml", std::process::id()));
    let (mut loaded, mut refused) = (0, 0);
    for seed in 1..=4000_u64 {
        // Printed only if the case fails; the seed repeats it.
        println!("seed {seed}");
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut bytes = TEXT.as_bytes().to_vec();
        mutate(&mut random, &mut bytes);
        let sets: Vec<String> = (0..random.next(3)).map(|_| random_set(&mut random)).collect();
        let result = if seed % 10 == 0 {
            std::fs::write(&path, &bytes).expect("written");
            load_file::<Drive>(&path, &sets, &preset, &names())
        } else {
            load_text::<Drive>("fuzz", &String::from_utf8_lossy(&bytes), None, &sets, &preset, &names())
        };
        match result {
            Ok(_) => loaded += 1,
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
        }
    }
    std::fs::remove_file(&path).expect("removed");
    assert!(loaded > 50 && refused > 500, "the mutations should be neither harmless nor hopeless: {loaded} {refused}");
}

#[test]
fn depth_never_overflows() {
    for text in [
        "x=".to_string() + &"[".repeat(100_000),
        "a.".repeat(100_000) + "b=1",
        "notes=".to_string() + &"{a=".repeat(100_000),
    ] {
        load_text::<Drive>("deep", &text, None, &[], &preset, &names()).expect_err("too deep");
        load_text::<Drive>("deep", "", None, &[text], &preset, &names()).expect_err("too deep");
    }
    let deep = format!("notes={}{}", "[".repeat(70), "]".repeat(70));
    load_text::<Drive>("deep", &deep, None, &[], &preset, &names()).expect("deep enough");
}
