//! Lines per CPU second of each reader, and nanoseconds per generated request.
//!
//! `cargo run --release --example readspeed [TRACE FORMAT]` measures on files made up here, or on a given trace.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;
use wordline_base::Stream;
use wordline_workload::{info, JobOptions, Load, LoadFile, Rw, TraceFormat, TraceOptions, TraceReader};

const LINES: u64 = 3_000_000;

/// CPU seconds of this process so far, user and system; wall time where the system does not tell.
fn cpu_s(start: Instant) -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = |n| stat.rsplit(") ").next()?.split(' ').nth(n)?.parse::<f64>().ok();
    match (ticks(11), ticks(12)) {
        (Some(user), Some(system)) => (user + system) / 100.0,
        _ => start.elapsed().as_secs_f64(),
    }
}

fn make(format: TraceFormat, out: &mut dyn Write) -> std::io::Result<()> {
    let mut random = Stream::new(1, "readspeed", 0);
    if format == TraceFormat::Csv {
        writeln!(out, "time_us,op,offset_bytes,size_bytes")?;
    }
    let mut ns = 0;
    for _ in 0..LINES {
        ns += random.below(200) * 100;
        let (block, pages, read) = (random.below(1 << 23) * 8, random.below(16) + 1, random.below(2));
        let word = ["Write", "Read"][read as usize];
        let ticks = 128_166_372_003_061_629 + ns / 100;
        match format {
            TraceFormat::Msr => writeln!(out, "{ticks},host,0,{word},{},{},{}", block * 512, pages * 4096, ns % 9999)?,
            TraceFormat::Csv => {
                writeln!(out, "{}.{:03},{word},{},{}", ns / 1000, ns % 1000, block * 512, pages * 4096)?
            }
            TraceFormat::Disksim => {
                writeln!(out, "{}.{:06} 0 {block} {} {read}", ns / 1_000_000, ns % 1_000_000, pages * 8)?
            }
            _ => writeln!(out, "{ns} 0 {block} {} {read}", pages * 8)?,
        }
    }
    Ok(())
}

fn measure(name: &str, path: &Path, format: TraceFormat) {
    let options = TraceOptions { format: Some(format), ..TraceOptions::default() };
    let start = Instant::now();
    let before = cpu_s(start);
    let mut reader = TraceReader::open(path, &options).expect("the trace opens");
    let mut sum = 0_u64;
    let mut lines = 0_u64;
    while let Some(record) = reader.next_record().expect("the trace is well-formed") {
        sum = sum.wrapping_add(record.offset ^ u64::from(record.bytes));
        lines += 1;
    }
    let seconds = cpu_s(start) - before;
    println!("{name:<24} {:>7.2} million lines per CPU second   (check {sum:x})", lines as f64 / seconds / 1e6);
}

fn generate(name: &str, job: JobOptions) {
    const REQUESTS: u64 = 10_000_000;
    let job = JobOptions { number_ios: Some(REQUESTS), ..job };
    let spec = LoadFile { job: vec![job], ..LoadFile::default() };
    let mut load = Load::open(&spec, Path::new("."), 100_000_000_000, 1).expect("the job fits");
    let start = Instant::now();
    let before = cpu_s(start);
    let mut sum = 0_u64;
    while let Some(request) = load.streams[0].next().expect("the job runs") {
        sum = sum.wrapping_add(request.offset ^ request.arrival);
    }
    let ns = (cpu_s(start) - before) * 1e9 / REQUESTS as f64;
    println!("{name:<24} {ns:>7.1} ns per request   (check {sum:x})");
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [path, format] = &arguments[..] {
        let format = *TraceFormat::ALL.iter().find(|f| f.name() == format).expect("a format's name");
        measure(path, Path::new(path), format);
        return Ok(());
    }
    let folder = std::env::temp_dir();
    for format in [TraceFormat::Msr, TraceFormat::Disksim, TraceFormat::Mqsim, TraceFormat::Csv] {
        let plain = folder.join(format!("readspeed-{}", std::process::id()));
        make(format, &mut BufWriter::new(File::create(&plain)?))?;
        measure(&format!("{} plain", format.name()), &plain, format);
        let packed = plain.with_extension("zst");
        zstd::stream::copy_encode(File::open(&plain)?, File::create(&packed)?, 3)?;
        measure(&format!("{} zst", format.name()), &packed, format);
        let mut gz = flate2::write::GzEncoder::new(File::create(&packed)?, flate2::Compression::default());
        std::io::copy(&mut File::open(&plain)?, &mut gz)?;
        gz.finish()?;
        measure(&format!("{} gz", format.name()), &packed, format);
        if format == TraceFormat::Msr {
            let start = Instant::now();
            let before = cpu_s(start);
            info(&plain, &TraceOptions::default()).expect("the trace is well-formed");
            println!(
                "{:<24} {:>7.2} million lines per CPU second",
                "info",
                LINES as f64 / (cpu_s(start) - before) / 1e6
            );
        }
        std::fs::remove_file(&plain)?;
        std::fs::remove_file(&packed)?;
    }
    let random =
        |word: &str| JobOptions { rw: Rw::RandRw, random_distribution: word.to_owned(), ..JobOptions::default() };
    generate("sequential", JobOptions::default());
    generate("random map", random("random"));
    generate("norandommap", JobOptions { norandommap: true, ..random("random") });
    generate("zipf:1.1", random("zipf:1.1"));
    generate("zipf:0.9", random("zipf:0.9"));
    generate("pareto:0.2", random("pareto:0.2"));
    generate("normal:10", random("normal:10"));
    generate("rate", JobOptions { rate_iops: Some(1e6), ..random("random") });
    Ok(())
}
