//! The page on tables, generated from their columns.

use crate::column::Column;
use crate::{columns, SCHEMA};
use std::fmt::Write;
use wordline_drive::parts::Features;
use wordline_drive::Tasks;

const HEAD: &str = include_str!("page.md");

/// The page in Markdown.
#[must_use]
pub fn page() -> String {
    let mut page = HEAD.replace("{schema}", &SCHEMA.to_string());
    section(
        &mut page,
        "requests",
        "A row for each completed request, in the order of completion.",
        &columns::requests(Tasks::ALL, Features::ALL),
    );
    section(
        &mut page,
        "intervals",
        "A row for each interval with any activity, for the drive as a whole. `map_hit_rate` to `map_writes` are those of a \
         drive with its mapping table in flash (see `mapping`), those from `most_reads` on of one on which operations wait in a \
         commit stage (see `dispatch`).",
        &columns::intervals(Tasks::ALL, [true; 3]),
    );
    let unit = |what: &str| format!("A row for each interval and each {what} that was active in it.");
    section(&mut page, "channels", &unit("channel"), &columns::channels(Tasks::ALL));
    section(&mut page, "dies", &unit("die"), &columns::dies(Tasks::ALL));
    section(&mut page, "planes", &unit("plane"), &columns::planes(Tasks::ALL));
    section(&mut page, "blocks", "A row for each block, with its state at the last completion.", &columns::blocks());
    page
}

fn section<R>(page: &mut String, name: &str, about: &str, columns: &[Column<R>]) {
    // Writing to a text cannot fail.
    let _ = write!(page, "\n## {name}\n\n{about}\n\n| column | type | meaning |\n|---|---|---|\n");
    for column in columns {
        let _ = writeln!(page, "| `{}` | {} | {} |", column.name, column.kind(), column.doc);
    }
}
