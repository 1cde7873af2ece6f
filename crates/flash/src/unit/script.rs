//! Block migration (jung13, section 2.8.3), one command after the other: destinations are erased, pages copied,
//! sources erased.
//!
//! Each plane of a die has its share of the blocks; each die migrates `blocks` of its own. The host holds one page per
//! plane at a time, in cache mode as many as its queue is deep.

use super::outcome::{Books, Outcome};
use super::plant::Plant;
use super::{Drawing, Experiment, Migration, UnitError};
use crate::array::Progress;
use crate::geometry::Geometry;
use wordline_nand::{Command, Kind, PageAddress};

struct Shape {
    planes: u32,
    pages: u32,
    bytes: u32,
    /// Pages read before they are programmed.
    run: u32,
    cache: bool,
    internal: bool,
}

pub fn migrate(
    experiment: &Experiment,
    mode: Migration,
    blocks: u32,
    mut drawing: Option<&mut Drawing>,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Outcome, UnitError> {
    let geometry = experiment.geometry()?;
    let multi = matches!(mode, Migration::Multi | Migration::MultiCache | Migration::MultiInternal);
    let cache = matches!(mode, Migration::Cache | Migration::MultiCache);
    let planes = if multi { experiment.host.planes_per_command.max(2) } else { 1 };
    if planes > geometry.planes_per_die {
        let problem = "a multi-plane migration needs a die with two or more planes";
        return Err(UnitError::value("package.planes", geometry.planes_per_die, problem));
    }
    let share = geometry.planes_per_die;
    if blocks == 0
        || !blocks.is_multiple_of(share)
        || u64::from(blocks / share) * 2 > u64::from(geometry.blocks_per_plane)
    {
        let problem = format!(
            "must be a multiple of the planes of a die ({share}), and source and destination must fit into {} blocks a plane",
            geometry.blocks_per_plane
        );
        return Err(UnitError::value("load.blocks", blocks, problem));
    }
    let shape = Shape {
        planes,
        pages: geometry.pages_per_block,
        bytes: geometry.page_bytes,
        run: if cache { experiment.host.queue_depth.min(geometry.pages_per_block) } else { 1 },
        cache,
        internal: matches!(mode, Migration::Internal | Migration::MultiInternal),
    };
    let script = write(&shape, &geometry, blocks / share);
    let mut plant = Plant::new(experiment, geometry)?;
    fill(&mut plant, &geometry, blocks / share)?;
    if experiment.stage_log {
        plant.record();
    }
    let mut books = Books::new(experiment);
    if let Some(drawing) = &mut drawing {
        drawing.begin(&mut plant, experiment, None);
    }
    let ran = play(&mut plant, &script, geometry.dies(), &mut books, progress);
    if let Some(drawing) = &mut drawing {
        drawing.end(&mut plant, &ran);
    }
    ran?;
    let pages = u64::from(blocks) * u64::from(geometry.pages_per_block) * u64::from(geometry.dies());
    Ok(books.close(&mut plant, &geometry, experiment, pages, pages * u64::from(geometry.page_bytes)))
}

/// Fills the source blocks.
fn fill(plant: &mut Plant, geometry: &Geometry, per_plane: u32) -> Result<(), UnitError> {
    for die in 0..geometry.dies() {
        for plane in 0..geometry.planes_per_die {
            for block in 0..per_plane {
                for page in 0..geometry.pages_per_block {
                    plant.fill(die, PageAddress { plane, block, page })?;
                }
            }
        }
    }
    Ok(())
}

/// Appends all commands of a die in order; a command in cache mode continues the previous one of the same kind.
fn write(shape: &Shape, geometry: &Geometry, per_plane: u32) -> Vec<Command> {
    let mut script = Vec::new();
    let groups = geometry.planes_per_die / shape.planes;
    let each = || (0..per_plane).flat_map(move |block| (0..groups).map(move |group| (block, group * shape.planes)));
    let erase = |script: &mut Vec<Command>, block, first| {
        let mut command = Command::new(Kind::Erase);
        (first..first + shape.planes).for_each(|plane| command.add(PageAddress { plane, block, page: 0 }, 0));
        script.push(command);
    };
    for (block, first) in each() {
        erase(&mut script, per_plane + block, first);
    }
    for (block, first) in each() {
        let planes = first..first + shape.planes;
        let at = |block, plane, page| PageAddress { plane, block, page };
        if shape.internal {
            for page in 0..shape.pages {
                let mut command = Command::new(Kind::Copyback);
                for plane in planes.clone() {
                    command.add_move(at(block, plane, page), at(per_plane + block, plane, page), 0);
                }
                script.push(command);
            }
            continue;
        }
        for start in (0..shape.pages).step_by(shape.run as usize) {
            let end = (start + shape.run).min(shape.pages);
            for (kind, block) in [(Kind::Read, block), (Kind::Program, per_plane + block)] {
                for page in start..end {
                    let mut command = Command::new(kind);
                    // The last command of a run has no follower, so it ends the cache mode.
                    command.cache = shape.cache && page + 1 < end;
                    planes.clone().for_each(|plane| command.add(at(block, plane, page), shape.bytes));
                    script.push(command);
                }
            }
        }
    }
    for (block, first) in each() {
        erase(&mut script, block, first);
    }
    script
}

/// Every die executes the script.
fn play(
    plant: &mut Plant,
    script: &[Command],
    dies: u32,
    books: &mut Books,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<(), UnitError> {
    let mut next = vec![0; dies as usize];
    for die in 0..dies {
        books.issued(&script[0]);
        plant.begin(die, &script[0])?;
        next[die as usize] = 1;
    }
    let mut steps = 0_u64;
    while let Some((time, die)) = plant.next() {
        steps += 1;
        if steps.is_multiple_of(1 << 16) && !progress(next[0] as f64 / script.len() as f64) {
            return Err(UnitError::Interrupted);
        }
        let at = &mut next[die as usize];
        match plant.step(time, die) {
            Progress::Busy => {}
            Progress::Ready { .. } => {
                if script[*at - 1].cache {
                    books.issued(&script[*at]);
                    plant.follow(die, &script[*at])?;
                    *at += 1;
                } else {
                    plant.finish(die)?;
                }
            }
            Progress::Done => {
                if let Some(command) = script.get(*at) {
                    books.issued(command);
                    plant.begin(die, command)?;
                    *at += 1;
                }
            }
        }
    }
    Ok(())
}
