//! The list of all formats, with names, order of detection and documentation.
//!
//! A new format is a file beside this one, with its [`Format`], and a line of this list. It knows neither this list nor
//! `TraceOptions`: what its user says comes in [`Opening`](super::parser::Opening).

use super::parser::{never, Format};
use super::sample::Sample;
use super::{
    alibaba, arc, blkparse, blktrace, cloudphysics, csv, disksim, emmc, etw, fio, fiu, hp, msr, parquet, pattern, spc,
    srt, systor, tencent, vscsi, wiscsee,
};
use crate::error::{option, WorkloadError};
use crate::format_options::FormatOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

macro_rules! formats {
    ($($(#[doc = $doc:literal])+ $id:ident = $name:literal, $about:path;)+) => {
        /// The layout of a trace.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum TraceFormat {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $id,)+
            /// A table in memory. No file has this format, so it cannot be written in one.
            #[serde(rename = "table", skip_deserializing)]
            Table,
        }

        impl TraceFormat {
            /// All file formats, in the order of detection.
            pub const ALL: [TraceFormat; [$($name),+].len()] = [$(TraceFormat::$id),+];

            /// The name written in a workload file.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(TraceFormat::$id => $name,)+ TraceFormat::Table => "table" }
            }

            /// Description with columns and units.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(TraceFormat::$id => concat!($($doc),+).trim_ascii(),)+ TraceFormat::Table => "A table in memory." }
            }

            pub(crate) fn about(self) -> &'static Format {
                match self { $(TraceFormat::$id => &$about,)+ TraceFormat::Table => &csv::FORMAT }
            }
        }
    };
}

formats! {
    /// blktrace: binary records as the kernel writes them, versions 7 and 8, either byte order; time in ns, 512-byte sectors.
    Blktrace = "blktrace", blktrace::FORMAT;
    /// HP Labs SRT: a text header, then big-endian records of 56 bytes; time in µs, 256-byte sectors.
    HpSrt = "hp-srt", srt::FORMAT;
    /// CloudPhysics vscsi: little-endian records, version 1 of 32 or version 2 of 40 bytes; time in µs, 512-byte blocks, size
    /// in bytes, SCSI commands.
    Vscsi = "vscsi", vscsi::FORMAT;
    /// A Parquet table with the columns of a CSV trace.
    Parquet = "parquet", parquet::FORMAT;
    /// MSR Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`; time in 100 ns ticks, Read or Write
    /// in any case, bytes.
    Msr = "msr", msr::FORMAT;
    /// SPC / UMass: `ASU,LBA,Size,Opcode,Timestamp` and optional fields; time in s, 512-byte blocks, size in bytes, r or w in
    /// any case.
    Spc = "spc", spc::FORMAT;
    /// Alibaba 2020: `device_id,opcode,offset,length,timestamp`; R or W, bytes, time in µs since 1970.
    Alibaba = "alibaba", alibaba::FORMAT;
    /// Systor '17: `Timestamp,Response,IOType,LUN,Offset,Size` with a header; time in s since 1970, R or W, bytes.
    Systor17 = "systor17", systor::FORMAT;
    /// CloudPhysics CSV: `version,time,op,size,lbn` with a header; time in µs, SCSI commands in hexadecimal, size in bytes,
    /// 512-byte blocks.
    Cloudphysics = "cloudphysics", cloudphysics::FORMAT;
    /// Microsoft production servers: the text of ETW disk events, columns named in a header up to `EndHeader`; time in µs,
    /// bytes in hexadecimal.
    Etw = "etw", etw::FORMAT;
    /// fio I/O logs: version 2 (`file action offset length`, `wait` in µs) and 3 (`timestamp file action offset length`,
    /// time in µs); bytes.
    Fio = "fio-iolog", fio::FORMAT;
    /// blkparse text in its default layout: `maj,min cpu seq time pid action RWBS sector + n [process]`; time in s, 512-byte
    /// sectors.
    Blkparse = "blkparse", blkparse::FORMAT;
    /// FIU: `time pid process lba blocks R|W major minor md5`; time in ns, 512-byte blocks.
    Fiu = "fiu", fiu::FORMAT;
    /// WiscSee: `pid event read|write|discard offset size time pre_wait sync`; bytes, time in s.
    Wiscsee = "wiscsee", wiscsee::FORMAT;
    /// HP Labs traces decoded to text: `time disk offset size R|W start end queue`; time in s, bytes.
    Hp = "hp", hp::FORMAT;
    /// Smartphone eMMC: `lba sectors bytes flags t_request t_process t_submit t_done`; 512-byte sectors, time in s, bit 0 of the
    /// flags = write.
    Emmc = "emmc", emmc::FORMAT;
    /// DiskSim ASCII: `time device block blocks op`; time in ms, 512-byte blocks, op 1 = read, 0 = write.
    Disksim = "disksim", disksim::FORMAT;
    /// DiskSim ASCII with sizes in 4 KiB pages; addresses stay in 512-byte blocks.
    Disksim4k = "disksim-4k", disksim::FORMAT;
    /// MQSim: DiskSim's columns with time in ns; op 1 = read, 0 = write.
    Mqsim = "mqsim", disksim::FORMAT;
    /// SSDSim: DiskSim's columns with time in ns; op 1 = read, 0 = write.
    Ssdsim = "ssdsim", disksim::FORMAT;
    /// Tencent CBS 2018: `Timestamp,Offset,Size,IOType,VolumeID`; time in whole s, 512-byte sectors, 0 = read, 1 = write.
    Tencent = "tencent", tencent::FORMAT;
    /// ARC lists: `start_block blocks ignored request_number`; 512-byte blocks, reads only, no time stamps.
    Arc = "arc", arc::FORMAT;
    /// CSV: columns named in a header line, separated by commas, tabs or semicolons.
    Csv = "csv", csv::FORMAT;
    /// Any text, read by the regular expression in `pattern`.
    Pattern = "pattern", pattern::FORMAT;
}

/// Refuses options that a format would ignore.
pub(crate) fn check_options(format: TraceFormat, options: &FormatOptions) -> Result<(), WorkloadError> {
    for (key, given) in options.special() {
        if given && !format.about().takes.contains(&key) {
            let takers = TraceFormat::ALL.iter().filter(|other| other.about().takes.contains(&key));
            let names: Vec<_> = takers.map(|other| other.name()).collect();
            let problem =
                format!("does not apply to a trace of format {}; it is for {}", format.name(), names.join(", "));
            let value = serde_json::to_value(options).unwrap_or_default()[key].to_string();
            return Err(option(&format!("trace.{key}"), value, problem));
        }
    }
    Ok(())
}

/// All formats as a table in Markdown.
#[must_use]
pub fn format_table() -> String {
    let mut table = String::from("| format | columns and units | detected | peculiarities |\n|---|---|---|---|\n");
    let bar = |text: &str| text.replace('|', "\\|");
    for format in TraceFormat::ALL {
        let about = format.about();
        let found =
            if std::ptr::fn_addr_eq(about.recognise, never as fn(&Sample) -> Option<String>) { "no" } else { "yes" };
        let _ = writeln!(table, "| `{}` | {} | {found} | {} |", format.name(), bar(format.title()), bar(about.notes));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_five_column_formats_are_those_that_their_reader_has_units_for() {
        let listed = TraceFormat::ALL.into_iter().filter(|format| format.about().notes == disksim::FORMAT.notes);
        let names: Vec<_> = listed.map(TraceFormat::name).collect();
        assert_eq!(names, disksim::FAMILY.map(|(name, _)| name));
    }
}
