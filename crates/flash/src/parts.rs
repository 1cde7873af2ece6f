//! The parts of commands and their names, for reports.

use wordline_base::Time;
use wordline_nand::chain::Cycle;
use wordline_nand::log::Stage;
use wordline_nand::{Kind, Segment, Timing};

/// Cuts a use of the bus into its stages; neighbours of one stage are joined.
pub(crate) fn cut(
    segment: Segment,
    timing: &Timing,
    data: Time,
    start: Time,
    add: &mut impl FnMut(&'static str, Time, Time),
) {
    let mut at = start;
    let mut open: Option<(&'static str, Time)> = None;
    for &cycle in segment.spec().cycles {
        let name = match cycle {
            Cycle::Command(_) => "CLE",
            Cycle::PageAddress | Cycle::BlockAddress | Cycle::ColumnAddress | Cycle::ByteAddress => "ALE",
            Cycle::DataIn => "TIR",
            Cycle::DataOut => "TOR",
            _ => "wait",
        };
        let took = timing.cycle(cycle).unwrap_or(data);
        match open {
            Some((last, _)) if last == name => {}
            Some((last, since)) => {
                add(last, since, at);
                open = Some((name, at));
            }
            None => open = Some((name, at)),
        }
        at += took;
    }
    if let Some((last, since)) = open {
        add(last, since, at);
    }
}

/// What a command does.
pub(crate) fn operation(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Program => "program",
        Kind::Erase => "erase",
        Kind::Copyback => "copyback",
    }
}

/// What an array does.
pub(crate) fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Ton => "TON",
        Stage::Tin => "TIN",
        Stage::Ber => "BER",
        Stage::Dummy => "dummy",
        Stage::Register => "register",
        Stage::Feature => "feature",
        Stage::Suspend => "suspend",
        Stage::Resume => "resume",
    }
}
