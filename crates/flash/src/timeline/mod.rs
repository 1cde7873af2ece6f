//! Timeline of the flash and of the requests that it serves.
//!
//! Below one root: the host with a track for each queue slot (requests overlap, slots do not); then each channel with its bus, and
//! its packages with their own share of that bus, their dies and planes. A slice lies
//!
//! - on a slot from the time at which a request got it to the request's completion;
//! - on a *bus* for each segment that it carries, by its name in the standard;
//! - on a *package bus* for each part of the package's segments: CLE, ALE, TIR, TOR and the waits between them;
//! - on a *die* for each command, from the time at which the die took it to its last use of bus or array;
//! - on a *plane* for each stage of its array. Where a tDBSY passes while the cells work (cache mode), only they are drawn.
//!
//! A die works on one command at a time, with two exceptions. A suspended command is two slices or more, and what runs beside
//! it lies between them. In cache mode a command is not over when the next one begins: its slice on the die ends there, and what is
//! left of it (data out, or the cells that are written) lies on a track of its own, the *command before*. So no track overlaps.
//!
//! Slices of a command, on its die, its planes and the buses, are in the group of its task, so that the viewer draws what each task does in
//! one colour. Requests are not: reads and writes of the host are told apart by their names.
//!
//! Flows lead from a request to every piece of every command that serves it. A slice that reaches beyond the window is cut there, and says
//! from when to when it really lasted.

mod bus;
mod die;
mod pen;
mod slots;

pub use pen::{Cut, Summary};
pub use wordline_timeline::TimelineError;

use crate::array::Flash;
use crate::geometry::Geometry;
use crate::parts::stage_name;
use crate::recorder::Logged;
use bus::{Bus, Use};
use die::Die;
use pen::Pen;
use slots::Slots;
use std::io::Write;
use wordline_base::{Divisor, Request, Time};
use wordline_nand::chain;
use wordline_nand::log::{Stage, What};
use wordline_nand::Timing;
use wordline_timeline::{Arg, Event, TrackId};

/// Slices that a timeline holds if nobody says otherwise: with their names and arguments about 170 MB, which the viewer still
/// opens in a browser.
pub const MOST_SLICES: u64 = 2_000_000;

/// Selection of the timeline's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The name of the root.
    pub title: String,
    /// From when to when, in picoseconds since `origin`.
    pub window: (Time, Time),
    /// Time of the flash that counts as zero.
    pub origin: Time,
    /// The timeline is cut at the time at which it holds so many slices.
    pub most_slices: u64,
    /// Queues of the host; 0 without one.
    pub queues: u32,
    /// Slots of each. Slot `s` is of queue `s / depth`.
    pub depth: u32,
    /// True if dies work in cache mode.
    pub caches: bool,
}

/// A plane: its track, and until when its array is drawn.
#[derive(Debug)]
struct Plane {
    track: TrackId,
    until: Time,
}

/// A timeline that is being drawn while the flash works. Memory grows with dies and slots, not with time.
#[derive(Debug)]
pub struct Picture {
    pen: Pen,
    slots: Slots,
    buses: Vec<Bus>,
    dies: Vec<Die>,
    planes: Vec<Plane>,
    timing: Timing,
    geometry: Geometry,
    dies_per_package: Divisor,
    /// No use of a bus is told later than this after its start.
    horizon: Time,
    flows: u64,
    /// Slices of the buses that wait to be drawn.
    waiting: u64,
}

impl Picture {
    /// Starts a timeline.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(writer: Box<dyn Write>, flash: &Flash, frame: &Frame) -> Result<Self, TimelineError> {
        let geometry = *flash.geometry();
        let (mut pen, root) = Pen::new(writer, frame)?;
        let slots = Slots::new(&mut pen, root, frame)?;
        let (mut buses, mut dies, mut planes) = (Vec::new(), Vec::new(), Vec::new());
        for channel in 0..geometry.channels {
            let channel = pen.track(root, &format!("channel {channel}"))?;
            let bus = pen.track(channel, "bus")?;
            let mut packages = Vec::new();
            for package in 0..geometry.packages {
                let package = pen.track(channel, &format!("package {package}"))?;
                packages.push(pen.track(package, "package bus")?);
                for die in 0..geometry.dies_per_package {
                    let track = pen.track(package, &format!("die {die}"))?;
                    let before = if frame.caches { Some(pen.track(track, "command before")?) } else { None };
                    dies.push(Die::new(track, before));
                    for plane in 0..geometry.planes_per_die {
                        planes.push(Plane { track: pen.track(track, &format!("plane {plane}"))?, until: 0 });
                    }
                }
            }
            buses.push(Bus::new(bus, packages));
        }
        Ok(Self {
            pen,
            slots,
            buses,
            dies,
            planes,
            timing: flash.timing().clone(),
            geometry,
            dies_per_package: Divisor::new(geometry.dies_per_package),
            horizon: horizon(flash.timing(), &geometry),
            flows: 0,
            waiting: 0,
        })
    }

    /// A request gets a slot, which must be free.
    pub fn begin(&mut self, slot: u32, now: Time, request: &Request) {
        self.slots.begin(slot, now, request);
    }

    /// The request of a slot is done.
    pub fn end(&mut self, slot: u32, now: Time) {
        self.slots.end(&mut self.pen, slot, now);
    }

    /// A lane of the flash has begun a command for `task`, and for the request in a slot. Has to be told before the command's entries
    /// are taken; once for each request, or without one.
    pub fn serve(&mut self, lane: u32, command: u64, task: &'static str, slot: Option<u32>) {
        let dies = self.dies.len() as u32;
        let (die, aside) = if lane >= dies { (lane - dies, 1) } else { (lane, 0) };
        let service = self.dies[die as usize].service(aside, command, task);
        let Some((slot, open)) = slot.and_then(|slot| Some((slot, self.slots.get_mut(slot)?))) else { return };
        if service.requests.iter().all(|&(_, id)| id != open.id) {
            self.flows += 1;
            service.requests.push((slot, open.id));
            service.flows.push(self.flows);
            open.flows.push(self.flows);
        }
    }

    /// Takes what was recorded until `now`.
    pub fn take(&mut self, now: Time, entries: &mut Vec<Logged>) {
        for logged in entries.drain(..) {
            self.enter(&logged);
            let die = &mut self.dies[logged.die as usize];
            die.draw(&mut self.pen, &self.slots);
            let channel = logged.die / self.geometry.dies_per_channel();
            let before = now.saturating_sub(self.horizon);
            self.waiting -= self.buses[channel as usize].draw(&mut self.pen, before, &self.timing);
        }
        self.pen.limit(now, self.waiting);
    }

    /// True if all that can be seen is drawn at `now`.
    #[must_use]
    pub fn is_over(&self, now: Time) -> bool {
        self.pen.is_over(now.saturating_sub(self.horizon))
    }

    /// Ends the timeline at `now`. `cut` says why the run was not carried to its end: the file holds this mark, and what was recorded
    /// until then.
    ///
    /// # Errors
    /// The first error that came up while it was written.
    pub fn finish(mut self, now: Time, cut: Option<Cut>) -> Result<Summary, TimelineError> {
        if let Some(cut) = cut {
            self.pen.cut(now, cut);
        }
        self.slots.finish(&mut self.pen, now);
        for die in &mut self.dies {
            die.close();
            die.draw(&mut self.pen, &self.slots);
        }
        for bus in &mut self.buses {
            bus.draw(&mut self.pen, Time::MAX, &self.timing);
        }
        self.pen.finish()
    }

    fn enter(&mut self, logged: &Logged) {
        let die = &mut self.dies[logged.die as usize];
        let task = die.task(logged.command);
        die.enter(logged);
        match logged.entry.what {
            What::Array(stage) => self.draw_stage(logged, stage, task),
            What::Bus(segment) => {
                let package = self.dies_per_package.quotient(logged.die);
                let of_package = self.dies_per_package.remainder(logged.die);
                let (channel, package) = (package / self.geometry.packages, package % self.geometry.packages);
                let entry = &logged.entry;
                let one = Use {
                    start: entry.start,
                    end: entry.end,
                    ready: entry.ready,
                    segment,
                    bytes: entry.bytes,
                    package,
                    die: of_package,
                    command: logged.command,
                    task,
                };
                self.waiting += one.slices();
                self.buses[channel as usize].push(one);
            }
        }
    }

    /// A stage of an array, on each plane that takes part.
    fn draw_stage(&mut self, logged: &Logged, stage: Stage, task: Option<&'static str>) {
        let entry = &logged.entry;
        let first = (logged.die * self.geometry.planes_per_die) as usize;
        let page = u64::from(entry.page.page);
        let args = [
            ("command", Arg::Uint(logged.command)),
            ("page", Arg::Uint(page)),
            ("task", Arg::Text(task.unwrap_or(""))),
        ];
        let args = if task.is_some() { &args[..] } else { &args[..2] };
        for plane in (0..self.geometry.planes_per_die).filter(|plane| entry.plane_mask & 1 << plane != 0) {
            let plane = &mut self.planes[first + plane as usize];
            // Another page is addressed while the cells work.
            let start = if stage == Stage::Dummy { entry.start.max(plane.until) } else { entry.start };
            if start >= entry.end {
                continue;
            }
            plane.until = entry.end;
            let event = Event { name: stage_name(stage), args, group: task, ..Event::default() };
            self.pen.slice(plane.track, start, entry.end, &event);
        }
    }
}

/// The longest time from the start of a use of a bus to the moment at which it is told: it is told when what the die does after it
/// has ended.
fn horizon(timing: &Timing, geometry: &Geometry) -> Time {
    let on_bus = chain::ALL.iter().map(|&segment| timing.on_bus(segment, geometry.page_bytes)).max().unwrap_or(0);
    // The spread of tPROG at most doubles it.
    let of_page = |page| timing.t_r(page).max(2 * timing.t_prog(page));
    let cells = (0..geometry.pages_per_block).map(of_page).max().unwrap_or(0).max(timing.t_bers);
    let pauses = &timing.pauses;
    let rest = pauses.dummy.max(pauses.feature).max(pauses.suspend) + pauses.resume;
    on_bus + cells + rest
}
