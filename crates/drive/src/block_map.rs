//! Map of the drive's blocks over a run: valid data, erases and state of each block.
//!
//! A *moment* is the state of all blocks at one time. There are at most 64 of them: when they become too many, every second one
//! is dropped. A *cell* is a block, or some neighbouring blocks of a plane where a drive has many.

use base64::prelude::{Engine, BASE64_STANDARD};
use flate2::write::ZlibEncoder;
use flate2::Compression;
use serde_json::{json, Map, Value};
use std::io::Write;
use wordline_base::time::{MS, US};
use wordline_base::Time;
use wordline_firmware::blocks::{Block, Status};
use wordline_firmware::Kernel;
use wordline_flash::Geometry;

/// Most moments, that at the end of the figures included.
const MOST_MOMENTS: usize = 64;
/// Most cells; a drive with more planes has no map.
const MOST_CELLS: u32 = 4096;
/// A look at a block costs some nanoseconds, and may come as often as this.
const TIME_PER_BLOCK: Time = 64 * US;
/// The states that are told; what is left is closed.
const STATES: [&str; 5] = ["free", "open", "victim", "spare", "bad"];

/// Which of [`STATES`] that is.
fn state(status: Status) -> Option<usize> {
    match status {
        Status::Free => Some(0),
        Status::Open => Some(1),
        Status::Victim => Some(2),
        Status::Spare => Some(3),
        Status::Bad => Some(4),
        Status::Closed | Status::Kept => None,
    }
}

/// The state of all cells at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Moment {
    at: Time,
    /// Valid share, in 255ths.
    valid: Vec<u8>,
    /// Erases of all blocks of a cell.
    erases: Vec<u64>,
    /// Share of the blocks in each of [`STATES`], in 255ths.
    states: [Vec<u8>; STATES.len()],
}

impl Moment {
    /// Takes the state of cells of one block each, of so many units.
    fn look_at_each(&mut self, blocks: &[Block], units: u64) {
        let told = self.valid.iter_mut().zip(&mut self.erases);
        for (cell, (block, (valid, erases))) in blocks.iter().zip(told).enumerate() {
            *valid = share(u64::from(block.valid), units);
            *erases = u64::from(block.erases);
            if let Some(state) = state(block.status) {
                self.states[state][cell] = 255;
            }
        }
    }
}

/// The blocks over a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockMap {
    start: Time,
    /// From one moment to the next.
    length: Time,
    blocks_per_cell: u32,
    moments: Vec<Moment>,
}

/// The blocks at one time, as [`picture`] took them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    map: BlockMap,
    geometry: Geometry,
}

/// The blocks now; `None` for a drive with too many planes.
pub(crate) fn picture(kernel: &Kernel, now: Time) -> Option<Picture> {
    BlockMap::new(kernel, now).map(|map| Picture { map, geometry: *kernel.flash().geometry() })
}

impl Picture {
    /// As JSON, a cell for a block or for some neighbours of a plane. `valid` has a byte a cell in base 64, the valid share in 255ths;
    /// `state` a letter: that of its blocks which comes first in `victim`, `open`, `bad`, `free`, `spare`, and `closed`.
    pub fn document(&self) -> Value {
        let Self { map, geometry } = self;
        let moment = &map.moments[0];
        let letter = |cell: usize| {
            let has = |state: &usize| moment.states[*state][cell] > 0;
            // All of a cell, where that is told of free ones: some would hide the others.
            let whole = |state: &usize| moment.states[*state][cell] == 255;
            let first = [2, 1, 4].iter().find(|state| has(state)).or_else(|| [0, 3].iter().find(|state| whole(state)));
            first.map_or('c', |&state| STATES[state].chars().next().expect("a name"))
        };
        json!({
            "channels": geometry.channels,
            "dies_per_channel": geometry.dies_per_channel(),
            "planes_per_die": geometry.planes_per_die,
            "blocks_per_plane": geometry.blocks_per_plane,
            "blocks_per_cell": map.blocks_per_cell,
            "valid": BASE64_STANDARD.encode(&moment.valid),
            "state": (0..moment.valid.len()).map(letter).collect::<String>(),
            "erases": map.means(geometry.blocks_per_plane).swap_remove(0),
        })
    }
}

/// A share in 255ths: 0 only for none, 255 only for all.
fn share(part: u64, whole: u64) -> u8 {
    match part {
        0 => 0,
        _ if part == whole => 255,
        _ => (((part * 510 + whole) / (2 * whole)) as u8).clamp(1, 254),
    }
}

/// Moments of cells as text: the growth of each since the moment before, packed.
fn packed<'a>(moments: impl Iterator<Item = &'a [u8]>) -> String {
    let mut before: Option<&[u8]> = None;
    // The encoder makes room anew for each piece that it gets, so it gets one.
    let mut growth: Vec<u8> = Vec::new();
    for moment in moments {
        match before {
            Some(before) => growth.extend(moment.iter().zip(before).map(|(now, before)| now.wrapping_sub(*before))),
            None => growth.extend_from_slice(moment),
        }
        before = Some(moment);
    }
    // Mostly zeros, and what does not repeat: to look for more saves a tenth of the bytes, and takes ten times as long.
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&growth).expect("memory takes it");
    BASE64_STANDARD.encode(encoder.finish().expect("memory takes it"))
}

impl BlockMap {
    /// The state at `now`; `None` for a drive with too many planes.
    pub fn new(kernel: &Kernel, now: Time) -> Option<Self> {
        let geometry = kernel.flash().geometry();
        let planes = geometry.planes();
        let fits = |size: &u32| planes * geometry.blocks_per_plane.div_ceil(*size) <= MOST_CELLS;
        let blocks_per_cell = (planes <= MOST_CELLS).then(|| (1..=geometry.blocks_per_plane).find(fits))??;
        let mut length = MS / 8;
        while length < u64::from(geometry.blocks()) * TIME_PER_BLOCK {
            length *= 2;
        }
        let mut map = Self { start: now, length, blocks_per_cell, moments: Vec::new() };
        let first = map.moment(kernel, now);
        map.moments.push(first);
        Some(map)
    }

    /// When the next moment comes.
    pub fn due(&self) -> Time {
        self.start + self.moments.len() as Time * self.length
    }

    /// Takes the moments up to `now`; nothing of what happens at `now` may have happened.
    pub fn look(&mut self, kernel: &Kernel, now: Time) {
        while now >= self.due() {
            if self.moments.len() + 1 < MOST_MOMENTS {
                let moment = self.moment(kernel, self.due());
                self.moments.push(moment);
            } else {
                let mut nth = 0..;
                self.moments.retain(|_| nth.next().is_some_and(|nth: usize| nth.is_multiple_of(2)));
                self.length *= 2;
            }
        }
    }

    fn moment(&self, kernel: &Kernel, at: Time) -> Moment {
        let units_per_block = u64::from(kernel.plan().units_per_block);
        let blocks_per_plane = kernel.flash().geometry().blocks_per_plane;
        let records = kernel.blocks().records();
        let cells =
            records.len() / blocks_per_plane as usize * blocks_per_plane.div_ceil(self.blocks_per_cell) as usize;
        let mut moment = Moment {
            at: at - self.start,
            valid: vec![0; cells],
            erases: vec![0; cells],
            states: STATES.map(|_| vec![0; cells]),
        };
        if self.blocks_per_cell == 1 {
            moment.look_at_each(records, units_per_block);
            return moment;
        }
        let planes = records.chunks(blocks_per_plane as usize);
        let blocks_of = planes.flat_map(|plane| plane.chunks(self.blocks_per_cell as usize));
        for (cell, blocks) in blocks_of.enumerate() {
            let count = blocks.len() as u64;
            let (mut valid, mut erases, mut states) = (0, 0, [0; STATES.len()]);
            for block in blocks {
                valid += u64::from(block.valid);
                erases += u64::from(block.erases);
                if let Some(state) = state(block.status) {
                    states[state] += 1;
                }
            }
            moment.valid[cell] = share(valid, count * units_per_block);
            moment.erases[cell] = erases;
            moment.states.iter_mut().zip(states).for_each(|(told, part)| told[cell] = share(part, count));
        }
        moment
    }

    /// As the result has it, up to `now`.
    pub fn document(&self, kernel: &Kernel, now: Time) -> Value {
        let mut whole = self.clone();
        whole.look(kernel, now);
        let last = whole.moment(kernel, now);
        // Of two at one time the later tells what the last completion left.
        whole.moments.retain(|moment| moment.at < last.at);
        whole.moments.push(last);
        let geometry = kernel.flash().geometry();
        let mut states = Map::new();
        for (at, name) in STATES.iter().enumerate() {
            if whole.moments.iter().any(|moment| moment.states[at].iter().any(|&share| share > 0)) {
                let told = packed(whole.moments.iter().map(|moment| &moment.states[at][..]));
                states.insert((*name).into(), told.into());
            }
        }
        json!({
            "channels": geometry.channels,
            "dies_per_channel": geometry.dies_per_channel(),
            "planes_per_die": geometry.planes_per_die,
            "blocks_per_plane": geometry.blocks_per_plane,
            "blocks_per_cell": self.blocks_per_cell,
            "at_s": whole.moments.iter().map(|moment| moment.at as f64 / 1e12).collect::<Vec<_>>(),
            "valid": packed(whole.moments.iter().map(|moment| &moment.valid[..])),
            "erases": whole.erases(geometry.blocks_per_plane),
            "states": states,
        })
    }

    /// Mean erases by moment and cell.
    fn means(&self, blocks_per_plane: u32) -> Vec<Vec<f64>> {
        let cells = blocks_per_plane.div_ceil(self.blocks_per_cell);
        let mean = |(cell, &sum): (usize, &u64)| {
            let first = cell as u32 % cells * self.blocks_per_cell;
            sum as f64 / f64::from(self.blocks_per_cell.min(blocks_per_plane - first))
        };
        self.moments.iter().map(|moment| moment.erases.iter().enumerate().map(mean).collect()).collect()
    }

    /// Mean erases by cell, as steps above the least.
    fn erases(&self, blocks_per_plane: u32) -> Value {
        let means = self.means(blocks_per_plane);
        let all = || means.iter().flatten().copied();
        let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
        let step = match most - least {
            0.0 => 0.0,
            range if self.blocks_per_cell == 1 && range <= 255.0 => 1.0,
            range => range / 255.0,
        };
        let steps = |mean: &f64| if step > 0.0 { ((mean - least) / step).round() as u8 } else { 0 };
        let bytes: Vec<Vec<u8>> = means.iter().map(|moment| moment.iter().map(steps).collect()).collect();
        json!({"least": least, "step": step, "data": packed(bytes.iter().map(|moment| &moment[..]))})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_and_all_are_told_exactly() {
        assert_eq!([share(0, 9), share(9, 9), share(1, 1_000_000), share(999_999, 1_000_000)], [0, 255, 1, 254]);
        for whole in 2..255 {
            for part in 0..=whole {
                let told = u64::from(share(part, whole));
                assert_eq!((told * whole * 2 + 255) / 510, part, "{part} of {whole}");
            }
        }
    }

    #[test]
    fn what_is_packed_can_be_unpacked() {
        let moments: [&[u8]; 3] = [&[0, 255, 7], &[1, 0, 7], &[0, 0, 9]];
        let bytes = BASE64_STANDARD.decode(packed(moments.into_iter())).unwrap();
        let mut decoder = flate2::write::ZlibDecoder::new(Vec::new());
        decoder.write_all(&bytes).unwrap();
        assert_eq!(decoder.finish().unwrap(), [0, 255, 7, 1, 1, 0, 255, 0, 2]);
    }
}
