//! `make bench`: speed of the engine on one thread, case by case.
//!
//! Every case runs in its own process, so that its peak memory is separate. Rates are per second of user CPU time. Events per
//! request are counted too, and instructions with valgrind installed, both as the difference of two runs of different length on
//! a smaller drive of the same shape, for replay on the drive itself.

mod cases;
mod counts;
mod disk;
mod growth;
mod measure;
mod readers;
mod tables;
mod untimed;

use serde_json::{json, Value};
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--case", name] => one(name, 1.0, false),
        ["--case", name, how @ ("--small" | "--share"), share] => match share.parse() {
            Ok(share) if share > 0.0 => one(name, share, how == "--small"),
            _ => {
                eprintln!("{how} {share}: must be a number above 0, such as 0.5");
                ExitCode::from(2)
            }
        },
        ["--write-trace", file, lines] => write_trace(Path::new(file), lines),
        ["--list"] => {
            let list: String = cases::every().map(|case| format!("{:22} {}\n", case.name, case.title)).collect();
            // A reader that has seen enough is no error.
            let _ = std::io::stdout().write_all(list.as_bytes());
            ExitCode::SUCCESS
        }
        ["--count", "--events", ref names @ ..] if known(names) => print(counts::document(names, false)),
        ["--count", ref names @ ..] if known(names) => print(counts::document(names, true)),
        ["--record", file] => print(counts::record(Path::new(file)).map(|()| file.into())),
        ["--point", name] => point(name, None),
        ["--point", name, how @ ("--reads" | "--overwrites"), count] => {
            point(name, count.parse().ok().map(|count| (how == "--overwrites", count)))
        }
        ["--growth"] => growth_alone(),
        ["--disk"] => disk_alone(),
        [] => all(&[]),
        ref names if known(names) => all(names),
        _ => {
            eprintln!(
                "usage: wordline-bench [CASE…] | --list | --case NAME [--small SHARE | --share SHARE] | --count [--events] [CASE…] | --record FILE | --growth | --disk"
            );
            ExitCode::from(2)
        }
    }
}

fn known(names: &[&str]) -> bool {
    names.iter().all(|name| cases::find(name).is_some())
}

/// Prints what came out, or why nothing did.
fn print(outcome: Result<Value, String>) -> ExitCode {
    match outcome {
        Ok(value) => {
            println!("{value:#}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one case in this process and prints what it measured as a line of JSON.
fn one(name: &str, share: f64, small: bool) -> ExitCode {
    let Some(case) = cases::find(name) else {
        eprintln!("no such case: {name}");
        return ExitCode::from(2);
    };
    println!("{}", (case.run)(case, share, small));
    ExitCode::SUCCESS
}

/// Writes the trace that the cases of replay read.
fn write_trace(file: &Path, lines: &str) -> ExitCode {
    let written = lines
        .parse()
        .map_err(|_| format!("{lines}: no number of lines"))
        .and_then(|lines| cases::write_trace(file, lines).map_err(|error| format!("{}: {error}", file.display())));
    print(written.map(|()| file.to_string_lossy().into()))
}

/// Measures one point of the table of growth in this process.
fn point(name: &str, counted: Option<(bool, u64)>) -> ExitCode {
    print(growth::one(name, counted).ok_or_else(|| format!("no such point: {name}")))
}

/// The table of growth, added to the figures in `bench.json` if that is here.
fn growth_alone() -> ExitCode {
    let Some(rows) = growth::table(child) else {
        eprintln!("growth: failed");
        return ExitCode::FAILURE;
    };
    add("growth", rows)
}

/// The measurements of the live disk, added likewise.
fn disk_alone() -> ExitCode {
    add("disk", disk::all())
}

/// Adds a part to the figures in `bench.json`.
fn add(part: &str, value: Value) -> ExitCode {
    let old = std::fs::read("bench.json").ok().and_then(|text| serde_json::from_slice(&text).ok());
    let mut document: Value = old.unwrap_or_else(|| json!({"schema": 1, "version": env!("CARGO_PKG_VERSION")}));
    document[part] = value;
    write(&document)
}

fn write(document: &Value) -> ExitCode {
    if let Err(error) = std::fs::write("bench.json", format!("{document:#}\n")) {
        eprintln!("bench.json: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn child(arguments: &[&str]) -> Option<Value> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program).args(arguments).output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

/// Where the instructions of a case go, by callgrind; nothing without valgrind.
fn profile(name: &str) -> Vec<String> {
    let Ok(program) = std::env::current_exe() else { return Vec::new() };
    let file = std::env::temp_dir().join(format!("wordline-bench-{}.callgrind", std::process::id()));
    let ran = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(program)
        .args(["--case", name, "--small", "1.0"])
        .output();
    let annotated = ran.and_then(|_| Command::new("callgrind_annotate").arg(&file).output());
    // Without the file there was nothing to annotate either.
    let _ = std::fs::remove_file(&file);
    let Ok(output) = annotated else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let short = |line: &str| {
        let line = line.split(" [").next().unwrap_or(line).trim();
        let (figures, place) = line.split_once(')').unwrap_or((line, ""));
        format!("{}){}", figures, place.rsplit('/').next().map(|p| format!(" {p}")).unwrap_or_default())
    };
    text.lines().filter(|line| line.contains("%)") && !line.contains("TOTALS")).take(10).map(short).collect()
}

fn all(names: &[&str]) -> ExitCode {
    let mut rows = Vec::new();
    let valgrind = counts::has_valgrind();
    println!(
        "{:<22} {:>13} {:>13} {:>7} {:>12} {:>7} {:>9} {:>9}",
        "case", "rate", "to reach", "x", "instructions", "events", "seconds", "MiB"
    );
    for case in cases::every().filter(|case| names.is_empty() || names.contains(&case.name)) {
        let Some(mut result) = child(&["--case", case.name]) else {
            eprintln!("{}: failed", case.name);
            return ExitCode::FAILURE;
        };
        let counted = counts::of(case, valgrind);
        let instructions = counted.and_then(|counts| counts.instructions);
        let events = counted.map(|counts| counts.events);
        let rate = result["rate"].as_f64().unwrap_or(0.0);
        let target = case.target;
        println!(
            "{:<22} {:>13} {:>13} {:>7.2} {:>12} {:>7} {:>9.2} {:>9.0}",
            case.name,
            measure::grouped(rate),
            measure::grouped(target),
            if case.lower_is_better { target / rate } else { rate / target },
            instructions.map_or_else(|| "-".to_owned(), |n| format!("{n:.0}")),
            events.map_or_else(|| "-".to_owned(), |n| format!("{n:.2}")),
            result["cpu_s"].as_f64().unwrap_or(0.0),
            result["peak_mib"].as_f64().unwrap_or(0.0),
        );
        println!("    {} [{}]", case.title, case.unit);
        if let Some(extra) = result["extra"].as_object() {
            let extra: Vec<String> = extra.iter().map(|(key, value)| format!("{key} {value}")).collect();
            println!("    {}", extra.join(", "));
        }
        result["name"] = case.name.into();
        result["title"] = case.title.into();
        result["unit"] = case.unit.into();
        result["target"] = target.into();
        result["instructions"] = json!(instructions);
        result["events"] = json!(events);
        rows.push(result);
    }
    println!(
        "instructions and events are counted on 16 planes of 32 blocks, whose collector moves more than that of the full drive; those of replay on the full drive"
    );
    let hottest = rows.iter().max_by(|a, b| {
        let count = |row: &Value| row["instructions"].as_f64().unwrap_or(0.0);
        count(a).total_cmp(&count(b))
    });
    let hottest = hottest.and_then(|row| Some((row["name"].as_str()?.to_owned(), row["instructions"].as_f64()?)));
    let lines = hottest.as_ref().map_or_else(Vec::new, |(name, _)| profile(name));
    if let Some((name, _)) = hottest.as_ref().filter(|_| !lines.is_empty()) {
        println!("instructions of '{name}', ageing of the drive included, by function:");
        lines.iter().for_each(|line| println!("    {line}"));
    }
    let document = json!({"profile": {"case": hottest.map(|h| h.0), "functions": lines}, "schema": 1, "version": env!("CARGO_PKG_VERSION"), "cases": rows});
    let written = write(&document);
    if names.is_empty() && written == ExitCode::SUCCESS {
        return growth_alone();
    }
    written
}
