//! What a request costs in figures that no other program on the machine changes: instructions, and events of the drive.
//!
//! Both are the difference of two runs of different length, so that making and preconditioning the drive cancel.

use crate::cases::{self, Case, Counted};
use serde_json::{json, Map, Value};
use std::path::Path;
use std::process::{Command, Stdio};

/// Shares of the small length that the two runs have.
const OF_SMALL: [&str; 2] = ["0.5", "1.0"];

/// Shares of the whole length that the two runs have on the drive of the case.
const OF_FULL: [&str; 2] = ["0.02", "0.04"];

/// What a case costs.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Instructions a request (or page) in user mode; none without valgrind.
    pub instructions: Option<f64>,
    /// Events of the drive a request (or page).
    pub events: f64,
}

/// What one run counted since its process began.
struct Run {
    work: f64,
    events: f64,
    instructions: Option<f64>,
}

/// True if instructions can be counted.
pub fn has_valgrind() -> bool {
    let ran = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    ran.is_ok_and(|status| status.success())
}

/// Counts a case, its instructions too if wanted. None if it fails, or has nothing to count.
pub fn of(case: &Case, with_instructions: bool) -> Option<Counts> {
    let (how, shares) = match case.counted {
        Counted::No => return None,
        Counted::Small => ("--small", OF_SMALL),
        Counted::Full => ("--share", OF_FULL),
    };
    let [short, long] = shares.map(|share| run(&["--case", case.name, how, share], with_instructions));
    difference(&short?, &long?)
}

/// Instructions a request between two runs of this program, which differ in length; None without valgrind.
pub fn between(short: &[&str], long: &[&str]) -> Option<f64> {
    instructions(&run(short, true)?, &run(long, true)?)
}

/// As [`between`], of some functions alone with all that they call; none of them calls another. `*` stands for any part of a name.
pub fn within(functions: &[&str], short: &[&str], long: &[&str]) -> Option<f64> {
    let mut valgrind = vec!["--tool=callgrind".to_owned(), "--callgrind-out-file=/dev/null".to_owned()];
    valgrind.extend(functions.iter().map(|function| format!("--toggle-collect={function}")));
    instructions(&run_in(Some(&valgrind), short)?, &run_in(Some(&valgrind), long)?)
}

fn difference(short: &Run, long: &Run) -> Option<Counts> {
    let events = (long.events - short.events) / (long.work - short.work);
    Some(Counts { instructions: instructions(short, long), events })
}

fn instructions(short: &Run, long: &Run) -> Option<f64> {
    let more = long.instructions.zip(short.instructions).map(|(long, short)| long - short);
    more.map(|more| more / (long.work - short.work))
}

fn run(arguments: &[&str], with_instructions: bool) -> Option<Run> {
    let all = ["--tool=cachegrind", "--cache-sim=no", "--branch-sim=no", "--cachegrind-out-file=/dev/null"];
    let all = all.map(str::to_owned);
    run_in(with_instructions.then_some(&all[..]), arguments)
}

/// Runs this program, under valgrind if it has options.
fn run_in(valgrind: Option<&[String]>, arguments: &[&str]) -> Option<Run> {
    let program = std::env::current_exe().ok()?;
    let with_instructions = valgrind.is_some();
    let mut command = match valgrind {
        Some(options) => {
            let mut command = Command::new("valgrind");
            command.args(options).arg(program);
            command
        }
        None => Command::new(program),
    };
    let output = command.args(arguments).output().ok()?;
    let result: Value = serde_json::from_slice(&output.stdout).ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let instructions = text.lines().find_map(total);
    if with_instructions && instructions.is_none() {
        return None;
    }
    Some(Run { work: result["work"].as_f64()?, events: result["events"].as_f64()?, instructions })
}

/// The number of instructions in a line such as `==1== I refs: 1,234`.
fn total(line: &str) -> Option<f64> {
    let (what, count) = line.split_once("refs:")?;
    let count: String = count.chars().filter(char::is_ascii_digit).collect();
    what.trim_end().ends_with('I').then(|| count.parse().ok())?
}

/// The figures of cases, or of all that are counted if none is named, with what instructions depend on besides the program:
/// compiler and processor.
pub fn document(names: &[&str], with_instructions: bool) -> Result<Value, String> {
    if with_instructions && !has_valgrind() {
        return Err("counting instructions needs valgrind; events alone are counted with --events".to_owned());
    }
    let mut figures = Map::new();
    let wanted = |case: &&Case| names.is_empty() || names.contains(&case.name);
    for case in cases::every().filter(|case| case.counted != Counted::No).filter(wanted) {
        let counts = of(case, with_instructions).ok_or_else(|| format!("{}: failed", case.name))?;
        let mut row = Map::new();
        if let Some(instructions) = counts.instructions {
            row.insert("instructions".to_owned(), rounded(instructions, 10.0).into());
        }
        row.insert("events".to_owned(), rounded(counts.events, 10_000.0).into());
        figures.insert(case.name.to_owned(), row.into());
    }
    Ok(json!({"rustc": env!("WORDLINE_RUSTC"), "processor": std::env::consts::ARCH, "cases": figures}))
}

/// Writes the figures of all cases that are counted: what the tests compare with.
pub fn record(path: &Path) -> Result<(), String> {
    let document = document(&[], true)?;
    std::fs::write(path, format!("{document:#}\n")).map_err(|error| format!("{}: {error}", path.display()))
}

fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}
