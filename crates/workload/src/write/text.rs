//! Traces as lines of text.

use super::names::{Names, Style};
use super::sink::Sink;
use super::{OutputFormat, SECTOR};
use crate::reader::Record;
use std::io::{self, Write};
use wordline_base::Op;

/// The device of a trace without device names.
const NAMELESS: &str = "trace";

pub(super) struct Text {
    sink: Sink,
    format: OutputFormat,
    names: Names,
    line: Vec<u8>,
    begun: bool,
    /// Devices whose file is opened in fio's log, in order.
    opened: Vec<u32>,
    /// Time of the last request.
    last: u128,
}

/// `ps` in units of 10^`power` ps, with as many decimals as necessary.
fn decimal(line: &mut Vec<u8>, ps: u128, power: u32) {
    let unit = 10_u128.pow(power);
    number(line, ps / unit);
    let mut rest = ps % unit;
    if rest > 0 {
        let mut digits = power as usize;
        while rest.is_multiple_of(10) {
            rest /= 10;
            digits -= 1;
        }
        let _ = write!(line, ".{rest:0digits$}");
    }
}

fn number(line: &mut Vec<u8>, number: u128) {
    // Formatting 128-bit numbers is much slower.
    let _ = match u64::try_from(number) {
        Ok(number) => write!(line, "{number}"),
        Err(_) => write!(line, "{number}"),
    };
}

impl Text {
    pub fn new(sink: Sink, format: OutputFormat, note: Option<&str>) -> Self {
        let style = match format {
            OutputFormat::Msr => Style::HostAndDisk,
            OutputFormat::Disksim | OutputFormat::Mqsim | OutputFormat::Ssdsim => Style::Number,
            OutputFormat::Fio | OutputFormat::Csv | OutputFormat::Parquet => Style::Word,
        };
        let names = Names::new(style);
        let mut text = Self { sink, format, names, line: Vec::new(), begun: false, opened: Vec::new(), last: 0 };
        note.into_iter().flat_map(str::lines).for_each(|line| text.comment(line));
        text
    }

    /// Writes a line that is no request, before all requests; nothing if the format has no place for it.
    pub fn comment(&mut self, text: &str) {
        if self.format == OutputFormat::Csv {
            self.line.extend(format!("# {text}\n").bytes());
        }
    }

    /// Text before the first request.
    fn begin(&mut self) {
        self.begun = true;
        match self.format {
            OutputFormat::Csv => {
                let device = if self.names.get(0).is_some() { "device," } else { "" };
                self.line.extend(format!("time_us,{device}op,offset_bytes,size_bytes,fua\n").bytes());
            }
            OutputFormat::Fio => self.line.extend(b"fio version 3 iolog\n"),
            _ => {}
        }
    }

    #[inline]
    pub fn write(&mut self, record: &Record, devices: &[String]) -> io::Result<()> {
        self.names.learn(devices);
        if !self.begun {
            self.begin();
        }
        self.last = record.time_ps;
        match self.format {
            OutputFormat::Msr => self.msr(record),
            OutputFormat::Disksim => self.five_columns(record, 9),
            OutputFormat::Mqsim | OutputFormat::Ssdsim => self.five_columns(record, 3),
            OutputFormat::Fio => self.fio(record),
            OutputFormat::Csv | OutputFormat::Parquet => self.csv(record),
        }
        self.sink.write(&self.line)?;
        self.line.clear();
        Ok(())
    }

    fn msr(&mut self, record: &Record) {
        number(&mut self.line, record.time_ps / 100_000);
        let device = self.names.get(record.device).unwrap_or("trace,0");
        let op = if record.op == Op::Read { "Read" } else { "Write" };
        // The response time is unknown and written as 0.
        let _ = writeln!(self.line, ",{device},{op},{},{},0", record.offset, record.bytes);
    }

    fn five_columns(&mut self, record: &Record, power: u32) {
        decimal(&mut self.line, record.time_ps, power);
        let device = self.names.get(record.device).unwrap_or("0");
        let (block, blocks) = (record.offset / SECTOR, u64::from(record.bytes) / SECTOR);
        let _ = writeln!(self.line, " {device} {block} {blocks} {}", u8::from(record.op == Op::Read));
    }

    fn fio(&mut self, record: &Record) {
        let us = record.time_ps / 1_000_000;
        let name = self.names.get(record.device).unwrap_or(NAMELESS);
        // Files must be named and opened before first use.
        if !self.opened.contains(&record.device) {
            let _ = write!(self.line, "{us} {name} add\n{us} {name} open\n");
            self.opened.push(record.device);
        }
        let action = match record.op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "sync",
        };
        let _ = writeln!(self.line, "{us} {name} {action} {} {}", record.offset, record.bytes);
    }

    fn csv(&mut self, record: &Record) {
        decimal(&mut self.line, record.time_ps, 6);
        self.line.push(b',');
        if let Some(device) = self.names.get(record.device) {
            self.line.extend(device.bytes());
            self.line.push(b',');
        }
        let op = match record.op {
            Op::Read => 'R',
            Op::Write => 'W',
            Op::Trim => 'T',
            Op::Flush => 'F',
        };
        let _ = writeln!(self.line, "{op},{},{},{}", record.offset, record.bytes, u8::from(record.fua));
    }

    /// Ends the file; returns the written device names.
    pub fn finish(mut self) -> io::Result<Vec<String>> {
        if !self.begun {
            self.begin();
        }
        if self.format == OutputFormat::Fio {
            for &device in &self.opened {
                let name = self.names.get(device).unwrap_or(NAMELESS);
                let _ = writeln!(self.line, "{} {name} close", self.last / 1_000_000);
            }
        }
        self.sink.write(&self.line)?;
        self.sink.finish()?;
        Ok(self.names.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_short() {
        let of = |ps, power| {
            let mut line = Vec::new();
            decimal(&mut line, ps, power);
            String::from_utf8(line).unwrap()
        };
        assert_eq!(of(1_500_000_000, 9), "1.5");
        assert_eq!(of(1, 9), "0.000000001");
        assert_eq!(of(7_000_000_000, 9), "7");
        assert_eq!(of(12_003_400, 6), "12.0034");
        assert_eq!(of(u128::from(u64::MAX) * 1_000_000, 6), u64::MAX.to_string());
        assert_eq!(of(1 << 80, 3), "1208925819614629174706.176");
    }
}
